"""Full-domain recoding: one level per column for all rows, found by a search of the lattice of levels."""
