"""``shoal compile``: compile all methods, so that no first run has to."""

from __future__ import annotations

import time
from typing import Annotated

import typer

__all__ = ["compile_all"]


def compile_all(
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing.")] = False,
) -> None:
    """Compile every method now, once after an installation.

    Methods are compiled when they first run, which can take a minute; the result is kept on disk. This does it for all
    of them, in about two minutes on two cores.
    """
    from shoal.cli.console import output, progress
    from shoal.compilation import compile_methods

    start = time.perf_counter()
    with progress(quiet) as show:
        compile_methods(show)
    if not quiet:
        output.print(f"All methods are compiled ({time.perf_counter() - start:.0f} s).", markup=False)
