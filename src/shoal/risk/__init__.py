"""What an intruder gains from a table: risks in figures, and attacks; see :mod:`shoal.audit.attack` and `assessing`."""
