"""Run a command in this process and capture all of its output.

This includes the log, warnings and files.
"""

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


@dataclass(frozen=True)
class Outcome:
    """Exit status and captured output of a command."""

    status: int
    out: str
    err: str
    log: str

    @property
    def outputs(self) -> dict[str, str]:
        """The captured texts by stream."""
        return {"standard output": self.out, "standard error": self.err, "the log": self.log}


def call(arguments: Sequence[str]) -> Outcome:
    """Run ``shoal`` with these arguments.

    An exception that leaves the command is reported as status 70.
    """
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
            except Exception as error:  # an exception that leaves `run` is a traceback on the terminal
                status = 70
                print(f"Traceback: {type(error).__name__}: {error}", file=err)
    finally:
        sys.argv = before
        root.removeHandler(handler)
        root.setLevel(level)
    return Outcome(status, out.getvalue(), err.getvalue(), log.getvalue())


@contextlib.contextmanager
def within(folder: Path) -> Iterator[None]:
    """Change to a folder temporarily."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def files_of(folder: Path) -> dict[str, bytes]:
    """Read every file of a folder, hidden ones included, by path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def find_leaks(secrets: Iterable[str], texts: dict[str, str]) -> list[str]:
    """List the secrets that some texts contain, each with the text's name.

    Numbers are searched for in all common notations.
    """
    return [
        f"{secret} in {name}"
        for secret in secrets
        for name, text in texts.items()
        if any(form.casefold() in text.casefold() for form in _forms(secret))
    ]


def _forms(secret: str) -> set[str]:
    forms = {secret, repr(secret)[1:-1]}
    if re.fullmatch(r"-?\d+", secret):
        forms.add(f"{int(secret):,}")
    return forms
