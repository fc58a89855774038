"""How pages look, and cells of notebooks: see :mod:`shoal.showing.style`."""

from shoal.showing.style import STYLE

__all__ = ["STYLE"]
