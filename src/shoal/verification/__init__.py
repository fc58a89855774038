"""Check a table against models, and verify every release a second time before it is published."""
