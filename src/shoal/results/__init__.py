"""A release, its certificate, and the figures that describe it."""
