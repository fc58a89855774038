"""Reports on releases, each a single self-contained HTML file.

A report has no script, no font and no network access. It computes no metric. The external report reads the certificate
and the facts of the released table; the internal report is for the owner, and reads all figures of the release.
"""

from shoal.report.external_page import render
from shoal.report.page import render_internal

__all__ = ["render", "render_internal"]
