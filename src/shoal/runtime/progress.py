"""Who waits should see for what: the step at work, on a terminal or in a notebook.

Functions take ``progress``: a function of their own (step, part done), True, False, or None. None shows progress where
somebody looks, that is in a notebook, or in an interactive session or script on a terminal; and only where it takes
longer than a second. What is shown are steps, never data.
"""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["Progress", "Watch", "on_terminal", "quiet", "watching"]

Progress = Callable[[str, float | None], None]
"""Called with what is being done and, where known, which part of it is done."""

Watch = Progress | bool | None
"""A function that is told, or whether to show; None: where somebody looks."""
PATIENCE = 1.0
"""Seconds before anything is shown to one who did not ask."""


def quiet(step: str, done: float | None = None) -> None:
    """Progress that nobody watches."""


@contextmanager
def watching(asked: Watch) -> Iterator[Progress]:
    """The function to tell progress to; what it shows is gone at the end."""
    if asked is None:
        asked = sys.stderr.isatty() or _in_notebook()
        patience = PATIENCE
    else:
        patience = 0.0
    if callable(asked):
        yield asked
    elif not asked:
        yield quiet
    elif _in_notebook():
        with _in_cell(patience) as show:
            yield show
    else:
        with on_terminal(patience) as show:
            yield show


@contextmanager
def on_terminal(patience: float = 0.0) -> Iterator[Progress]:
    """A bar on standard error."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("starting", total=None)
    start = time.monotonic()

    def show(step: str, done: float | None = None) -> None:
        bar.update(task, description=escape(_shown(step)), total=None if done is None else 1.0, completed=done or 0.0)
        if not bar.live.is_started and time.monotonic() - start >= patience:
            bar.start()

    try:
        if not patience:
            bar.start()
        yield show
    finally:
        bar.stop()


@contextmanager
def _in_cell(patience: float) -> Iterator[Progress]:
    """A line under a notebook's cell, written over at each step."""
    from IPython.display import HTML, display

    start = time.monotonic()
    handle: list[Callable[..., None]] = []

    def write(text: str) -> None:
        if handle:
            handle[0](HTML(text))
        else:
            handle.append(display(HTML(text), display_id=True).update)

    def show(step: str, done: float | None = None) -> None:
        if time.monotonic() - start >= patience:
            part = "" if done is None else f" <progress value='{done:.3f}' max='1'></progress>"
            write(f"<small>shoal: {html.escape(_shown(step))}{part}</small>")

    try:
        yield show
    finally:
        if handle:
            write("")


def _in_notebook() -> bool:
    """Whether a kernel runs this code, so that cells can show HTML."""
    shell = sys.modules.get("IPython")
    return shell is not None and getattr(shell.get_ipython(), "kernel", None) is not None


def _shown(text: str) -> str:
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)
