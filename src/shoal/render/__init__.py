"""How results are shown: as text of 80 columns, and as HTML in a notebook's cell made of the report's own parts.

A result says what there is to show as a :class:`Sheet`; :class:`Shown` makes both of it. Everything on a sheet is text
that may come from data, and is escaped here.
"""

from shoal.render.summary import Grid, Page, Sheet, Shown, figure_of

__all__ = ["Grid", "Page", "Sheet", "Shown", "figure_of"]
