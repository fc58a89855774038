"""Patterns by anti-unification: what rows have in common is published, and no hierarchy is needed."""
