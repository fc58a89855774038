"""The page of ``shoal serve``: an editor of a plan in a browser, and the same as an HTTP API.

The state of the page is a plan file in a project's folder, so that whatever is done here can be run on the command line
with the same bytes. Nothing is computed here: every figure comes from a process of its own (:mod:`shoal.web.worker`) that
calls what the commands call. Needs ``shoal[web]``.
"""
