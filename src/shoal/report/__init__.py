"""Reports on releases, each a single self-contained HTML file.

A report has no script, no font and no network access. It reads the certificate and the description of a release and
computes no metric.
"""

from shoal.report.page import render

__all__ = ["render"]
