"""Full-domain recoding: one level per column for all rows.

The levels are found by a search of the generalization lattice.
"""
