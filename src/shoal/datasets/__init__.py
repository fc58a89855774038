"""Small data sets: patients of the papers, and generated tables."""
