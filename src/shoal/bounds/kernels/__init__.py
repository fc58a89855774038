"""Compiled code of the bounds."""

from __future__ import annotations
