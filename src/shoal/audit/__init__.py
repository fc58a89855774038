"""Examine tables from outside: attacks, risk and comparison with the original."""
