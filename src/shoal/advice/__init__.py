"""Help to plan a release: profile a table, draft a plan, try methods, explore and explain."""
