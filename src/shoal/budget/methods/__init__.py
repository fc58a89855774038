"""Grids that do not depend on single rows: recoding against an intruder who knows every row but one."""
