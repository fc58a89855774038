"""Progress of long calls, shown on a terminal or in a notebook.

Functions take ``progress``: a function (step, fraction done), True, False, or None. None shows progress in a notebook,
or in a session or script on a terminal, and only if the call takes longer than a second. Only steps are shown, never
data.
"""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from shoal.formatting import fixed

Progress = Callable[[str, float | None], None]
"""Called with the current step and, if known, the fraction of it that is done."""

ProgressOption = Progress | bool | None
"""A callback, or whether to show progress; None shows it on a terminal and in a notebook."""
DISPLAY_DELAY_SECONDS = 1.0
"""Seconds before progress is shown that was not requested."""


def quiet(step: str, done: float | None = None) -> None:
    """Ignore progress."""


@contextmanager
def show_progress(option: ProgressOption) -> Iterator[Progress]:
    """Yield the progress callback; its display is removed at the end."""
    if option is None:
        option = sys.stderr.isatty() or _in_notebook()
        delay = DISPLAY_DELAY_SECONDS
    else:
        delay = 0.0
    if callable(option):
        yield option
    elif not option:
        yield quiet
    elif _in_notebook():
        with _in_cell(delay) as show:
            yield show
    else:
        with on_terminal(delay) as show:
            yield show


@contextmanager
def on_terminal(delay: float = 0.0) -> Iterator[Progress]:
    """Show a progress bar on standard error."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("starting", total=None)
    start = time.monotonic()

    def show(step: str, done: float | None = None) -> None:
        bar.update(
            task, description=escape(_printable(step)), total=None if done is None else 1.0, completed=done or 0.0
        )
        if not bar.live.is_started and time.monotonic() - start >= delay:
            bar.start()

    try:
        if not delay:
            bar.start()
        yield show
    finally:
        bar.stop()


@contextmanager
def _in_cell(delay: float) -> Iterator[Progress]:
    """Show a line below a notebook cell, overwritten at each step."""
    from IPython.display import HTML, display

    start = time.monotonic()
    handle: list[Callable[..., None]] = []

    def write(text: str) -> None:
        if handle:
            handle[0](HTML(text))
        else:
            handle.append(display(HTML(text), display_id=True).update)

    def show(step: str, done: float | None = None) -> None:
        if time.monotonic() - start >= delay:
            part = "" if done is None else f" <progress value='{fixed(done, 3)}' max='1'></progress>"
            write(f"<small>shoal: {html.escape(_printable(step))}{part}</small>")

    try:
        yield show
    finally:
        if handle:
            write("")


def _in_notebook() -> bool:
    """Return whether a kernel runs this code, so that cells can show HTML."""
    shell = sys.modules.get("IPython")
    return shell is not None and getattr(shell.get_ipython(), "kernel", None) is not None


def _printable(text: str) -> str:
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)
