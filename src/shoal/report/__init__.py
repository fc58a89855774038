"""From a release to one HTML file that needs nothing else: no script, no font, no network.

The report reads the certificate and the description of a release; it computes no metric of its own.
"""

from shoal.report.page import render

__all__ = ["render"]
