"""The plan: what the user asks for, read from TOML or written in Python."""
