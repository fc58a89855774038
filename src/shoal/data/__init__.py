"""Small data of shoal's own: the twelve patients of the papers, and a generator of census-like tables."""
