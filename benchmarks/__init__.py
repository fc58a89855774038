"""Benchmarks: run them all with ``make bench``, one with ``python -m benchmarks.NAME``."""
