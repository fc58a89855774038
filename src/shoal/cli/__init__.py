"""Command line: one module per command, thin over the library."""

from __future__ import annotations


def main() -> None:
    """Run ``shoal`` (entry point)."""
    from shoal.cli.app import run
    from shoal.runtime.lean_imports import assume_dedicated_process

    assume_dedicated_process()
    run()
