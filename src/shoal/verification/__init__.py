"""Checks of tables against models, and independent verification."""
