"""Information loss and utility of releases.

:mod:`shoal.audit.compare` compares a release with its original.
"""
