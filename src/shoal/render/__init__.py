"""Display of results as text of 80 columns and as HTML in notebooks.

A result provides a :class:`Summary`; :class:`Displayable` renders it both ways. The HTML is made of the parts of the
report. All content of a summary is text that may come from data, and is escaped here.
"""

from shoal.render.grid import Grid, Marked
from shoal.render.summary import Displayable, Page, Summary

__all__ = ["Displayable", "Grid", "Marked", "Page", "Summary"]
