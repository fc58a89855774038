"""Generators of the documentation site: pages, pictures and checks."""
