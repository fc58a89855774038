"""Run a command in this process and keep everything that it tells: what is printed, logged, warned and written."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Outcome", "call", "files_of", "places_of", "within"]


@dataclass(frozen=True)
class Outcome:
    """How a command ended, and what it told."""

    status: int
    out: str
    err: str
    log: str

    @property
    def told(self) -> dict[str, str]:
        """All of it, by where it was told."""
        return {"standard output": self.out, "standard error": self.err, "the log": self.log}


def call(arguments: Sequence[str]) -> Outcome:
    """Run ``shoal`` with these arguments; an error that leaves its edge is status 70."""
    from shoal.cli.app import run

    out, err, log = io.StringIO(), io.StringIO(), io.StringIO()
    handler = logging.StreamHandler(log)
    root, before = logging.getLogger(), sys.argv
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    sys.argv = ["shoal", *arguments]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
            warnings.simplefilter("always")
            try:
                run()
            except SystemExit as end:
                status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
            except Exception as error:  # what leaves `run` is a traceback on the terminal
                status = 70
                print(f"Traceback: {type(error).__name__}: {error}", file=err)
    finally:
        sys.argv = before
        root.removeHandler(handler)
        root.setLevel(level)
    return Outcome(status, out.getvalue(), err.getvalue(), log.getvalue())


@contextlib.contextmanager
def within(folder: Path) -> Iterator[None]:
    """Work in a folder for a while."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file in a folder by its path in it, hidden ones included."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def places_of(secrets: Iterable[str], told: dict[str, str]) -> list[str]:
    """Where a secret was told. Numbers are looked for in all the ways in which they are commonly written."""
    return [
        f"{secret} in {place}"
        for secret in secrets
        for place, text in told.items()
        if any(form.casefold() in text.casefold() for form in _forms(secret))
    ]


def _forms(secret: str) -> set[str]:
    forms = {secret, repr(secret)[1:-1]}
    if re.fullmatch(r"-?\d+", secret):
        forms.add(f"{int(secret):,}")
    return forms
