"""Releases, their certificates, and the figures that describe them."""
