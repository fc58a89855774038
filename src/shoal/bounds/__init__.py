"""What no release of a kind can undercut: lower bounds of the loss, by arithmetic that no search uses."""

from __future__ import annotations

from shoal.bounds.bound import Bound

__all__ = ["Bound"]
