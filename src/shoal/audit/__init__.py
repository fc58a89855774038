"""Audit of tables: attacks, risk, and comparison with the original."""
