"""Benchmarks of shoal.

Run all of them with ``make bench``, one with ``python -m benchmarks.NAME``.
"""
