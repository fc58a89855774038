"""Run one case in a folder and evaluate its outcome."""

from __future__ import annotations

from pathlib import Path

from tools.fuzz.cases import Case
from tools.fuzz.harness import call, files_of, find_leaks, within
from tools.fuzz.judge import judge


def run_case(case: Case, folder: Path) -> str | None:
    """Return the first fault, with its command, or None."""
    for name, raw in case.files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(raw)
        path.chmod(0o600)  # required of a key file
    for command in case.commands:
        with within(folder):
            done = call(command)
        try:
            wrong = judge(folder, command, done, case.secrets)
        except Exception as error:  # an output that cannot be read is a finding
            wrong = f"the judge cannot read it ({type(error).__name__}: {error})"
        if wrong:
            return f"{' '.join(command)}: {wrong}"
    documents = {
        name: raw.decode("latin-1")
        for name, raw in files_of(folder).items()
        if name not in case.files and name.endswith((".certificate.json", ".recoding"))
    }
    leaks = find_leaks(case.secrets, documents)
    return f"wrote a value: {leaks[0]}" if leaks else None
