"""Plan editor of ``shoal serve``: web pages, and the same as an HTTP API.

The state of the page is a plan file in a project's folder, so the command line can run the same bytes. The server
computes nothing itself: a separate worker process (:mod:`shoal.web.worker`) produces every figure with the functions
that the commands call. Needs ``shoal[web]``.
"""
