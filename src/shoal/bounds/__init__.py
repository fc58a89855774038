"""Lower bounds of the information loss of a release.

The bounds are computed independently of every search.
"""

from __future__ import annotations

from shoal.bounds.bound import Bound

__all__ = ["Bound"]
