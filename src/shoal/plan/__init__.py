"""Plan of a release, read from TOML or built in Python."""
