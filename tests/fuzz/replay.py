"""Run one case in a folder, and say what is wrong with how it was answered."""

from __future__ import annotations

from pathlib import Path

from tests.fuzz.cases import Case
from tests.fuzz.harness import call, files_of, places_of, within
from tests.fuzz.judge import judge

__all__ = ["run_case"]


def run_case(case: Case, folder: Path) -> str | None:
    """The first thing that is wrong, with its command; None where nothing is."""
    for name, raw in case.files.items():
        place = folder / name
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(raw)
        place.chmod(0o600)  # of a key nobody else may know
    for command in case.commands:
        with within(folder):
            done = call(command)
        try:
            wrong = judge(folder, command, done, case.secrets)
        except Exception as error:  # a judge that cannot read an answer has found one that cannot be read
            wrong = f"the judge cannot read it ({type(error).__name__}: {error})"
        if wrong:
            return f"{' '.join(command)}: {wrong}"
    beside = {
        name: raw.decode("latin-1")
        for name, raw in files_of(folder).items()
        if name not in case.files and name.endswith((".certificate.json", ".recoding"))
    }
    leaks = places_of(case.secrets, beside)
    return f"wrote a value: {leaks[0]}" if leaks else None
