"""Planning aids: profile, draft, trials of methods, explore and explain."""
