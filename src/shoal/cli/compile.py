"""``shoal compile``: compile all methods before their first run."""

from __future__ import annotations

import json
import time
from typing import Annotated

import typer

from shoal.formatting import fixed


def compile_all(
    as_json: Annotated[bool, typer.Option("--json", help="Output JSON.")] = False,
) -> None:
    """Compile every method now, once after an installation.

    Methods are compiled when they first run, which can take a minute; the result is kept on disk. This does it for all
    of them, in about two minutes on two cores.
    """
    from shoal.api.compile import compile_methods
    from shoal.cli.console import output, progress

    start = time.perf_counter()
    with progress(as_json) as show:
        compile_methods(show)
    seconds = time.perf_counter() - start
    if as_json:
        print(json.dumps({"seconds": seconds}))
        return
    output.print(f"All methods are compiled ({fixed(seconds, 0)} s).", markup=False)
