"""How groups are found: one file per method."""

from __future__ import annotations

from shoal.methods.base import Method, Problem, Progress, quiet
from shoal.methods.full_domain import FullDomain
from shoal.methods.levels import Levels

__all__ = ["METHODS", "FullDomain", "Levels", "Method", "Problem", "Progress", "quiet"]

METHODS: dict[str, type[Method]] = {method.name: method for method in (Levels, FullDomain)}
