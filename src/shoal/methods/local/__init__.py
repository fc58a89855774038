"""Local recoding: groups of their own shape, by cutting, exchanging and hiding single cells."""
