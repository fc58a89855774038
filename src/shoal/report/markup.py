"""The parts of pages, which notebooks show too: see :mod:`shoal.showing.markup`."""

from shoal.showing.markup import bar, figure, number, percent, prose, table, text

__all__ = ["bar", "figure", "number", "percent", "prose", "table", "text"]
