"""Small data of shoal's own: the twelve patients of the papers, and generators of census-like tables and of visits."""
