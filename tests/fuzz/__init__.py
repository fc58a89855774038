"""Structured fuzzing: cases that are nearly right, run through the command line, and judged.

``python -m tests.fuzz --seconds 600`` makes fresh cases and saves what fails in ``tests/corpus/``, from where the tests
replay it.
"""
