"""What makes the documentation site of the pages in docs/: reference pages, tutorials as pages, pictures, checks."""
