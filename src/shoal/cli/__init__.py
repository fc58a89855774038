"""The command line: one file per command, thin over the library."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Entry point of ``shoal``."""
    from shoal.cli.app import run
    from shoal.runtime.lean_imports import be_alone

    be_alone()
    run()
