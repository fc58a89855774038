"""Structured fuzzing of the command line with almost valid cases.

``python -m tools.fuzz --seconds 600`` makes new cases, evaluates the outcome of each, and saves failing ones in
``tests/corpus/``, from where the tests replay them.
"""
