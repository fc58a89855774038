"""The ``shoal`` command: subcommands, error messages and exit status.

Exit status: 0 success; 1 the answer is no; 2 invalid input; 3 infeasible; 70 internal error.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Annotated, NoReturn, TextIO

import typer

from shoal.api.commands import COMMANDS
from shoal.errors import ShoalError, ShoalWarning
from shoal.runtime import signals

INTERRUPTED_STATUS = 130


def make_app(*names: str) -> typer.Typer:
    """Build the command line with these commands, all by default.

    Commands that are not used need not be imported.
    """
    made = typer.Typer(
        name="shoal",
        help="Anonymize tables about people, and verify the result before it is published.",
        epilog="Exit status: 0 success, 1 the answer is no, 2 invalid input, 3 infeasible, 70 internal error.",
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(main)
    for name in names or COMMANDS:
        module, _, attribute = COMMANDS[name].entry.partition(".")
        found = getattr(importlib.import_module(f"shoal.cli.{module}"), attribute)
        if isinstance(found, typer.Typer):
            made.add_typer(found, name=name)
        else:
            made.command(name)(found)
    return made


def __getattr__(name: str) -> typer.Typer:
    """Build ``app``, the whole command line, when it is first used."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()["app"] = make_app()
    return found


def _print_version(requested: bool) -> None:
    if requested:
        version(as_json=False)
        raise typer.Exit


def main(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Anonymize tables about people, with proof that the result is safe."""


def version(
    as_json: Annotated[bool, typer.Option("--json", help="Output JSON.")] = False,
) -> None:
    """Print the version of shoal."""
    from shoal import __version__

    print(json.dumps({"version": __version__}) if as_json else __version__)


def run() -> NoReturn:
    """Run a command; print an error as one line on standard error."""
    wants_json = "--json" in sys.argv
    gc.set_threshold(100_000, 20, 20)  # importing libraries allocates much and frees little: collect rarely
    with signals.handle_signals(), _warnings_as_lines():
        try:
            requested = sys.argv[1] if len(sys.argv) > 1 else ""
            requested = "version" if requested == "--version" else requested  # needs no other command
            chosen = make_app(requested) if requested in COMMANDS else make_app()
            status = chosen(sys.argv[1:] or ["--help"], standalone_mode=False) or 0
        except BaseException as error:
            number = signals.received_signal()
            if number is not None:  # engines raise errors of their own types
                _fail(_interruption_message(), "Interrupted", 128 + number, wants_json)
            if isinstance(error, Exception):
                _report_error(error, wants_json)
            raise
        if status == INTERRUPTED_STATUS:
            _fail(_interruption_message(), "Interrupted", INTERRUPTED_STATUS, wants_json)
        sys.exit(status)


@contextmanager
def _warnings_as_lines() -> Iterator[None]:
    """Print shoal's own warnings as single lines on standard error."""
    with warnings.catch_warnings():
        warnings.filterwarnings("default", category=DeprecationWarning, module=r"shoal\b")
        standard = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, ShoalWarning | DeprecationWarning):
                print(f"Warning: {message}", file=sys.stderr)
            else:
                standard(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        yield


def _report_error(error: Exception, wants_json: bool) -> NoReturn:
    if isinstance(error, ShoalError):
        data = {"code": error.code, "where": list(error.where)} if error.code else {}
        _fail(str(error), type(error).__name__, error.exit_status, wants_json, data)
    if hasattr(error, "format_message"):  # an invalid option or argument
        _fail(f"{error.format_message().rstrip('.')}. See shoal COMMAND --help.", "Usage", 2, wants_json)
    if os.environ.get("SHOAL_DEBUG"):
        raise error
    _fail(
        f"A fault in shoal ({_describe(error)}); please report it with this line. SHOAL_DEBUG=1 shows the whole trace, "
        f"which may show data.",
        "Fault",
        70,
        wants_json,
    )


def _interruption_message() -> str:
    """Describe the state of the output after an interruption.

    A release is written completely or not at all.
    """
    output = sys.modules.get("shoal.io.publish")
    written = output.published if output is not None else []
    if not written:
        return "Interrupted; no release was written."
    return f"Interrupted after the release was written: {str(written[-1])!r} and what belongs to it are whole."


def _describe(error: BaseException) -> str:
    """Return the type of a foreign error and its last location in shoal.

    The text of the error is left out because it may quote data.
    """
    location = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] == "shoal":
            location = f" at {module}:{line}"
    return f"{type(error).__name__}{location}"


def _fail(
    message: str, kind: str, status: int, wants_json: bool, data: Mapping[str, object] = MappingProxyType({})
) -> NoReturn:
    variables = sys.modules.get("shoal.plan.variables")
    message = variables.mask_values(message) if variables is not None else message
    if wants_json:
        print(json.dumps({"error": message, "kind": kind, "exit_status": status, **data}))
    # one line, without control characters
    line = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in " ".join(message.split()))
    print(f"Error: {line}", file=sys.stderr)
    sys.exit(status)
