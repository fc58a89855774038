"""Patterns by anti-unification: rows publish what they have in common.

No hierarchy is needed.
"""
