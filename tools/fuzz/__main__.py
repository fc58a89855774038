"""Fuzz the command line for a given time; status 1 if a case failed.

    python -m tools.fuzz --seconds 600 --seed 1

The cases run in a separate process, which reports when each begins and ends: a case that exceeds its time or memory, or
ends the process, is a finding, and the process is restarted after it. The methods are compiled before the time begins.
A case that exceeds its time is tried once more, since functions compiled for it are then cached: a hang hangs again.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import resource
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from shoal.api.compile import compile_methods
from tools.fuzz.cases import Case, make_case
from tools.fuzz.replay import run_case

CORPUS = Path(__file__).parents[2] / "tests" / "corpus"
MEMORY_BYTES = 6 << 30  # bytes that the process may use in addition to its libraries
BEGIN, END = "begin", "end"


def work(first: int, step: int) -> None:
    """Run cases forever, and report each on standard output."""
    report = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    import shoal.cli.app  # noqa: F401

    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() if Path("/proc").is_dir() else 0
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY_BYTES, now + MEMORY_BYTES))
    seed = first
    while True:
        print(BEGIN, seed, file=report)
        with tempfile.TemporaryDirectory(prefix="shoal-fuzz-") as folder:
            found = run_case(make_case(seed), Path(folder)) or ""
        print(END, seed, " ".join(found.split())[:500], file=report)
        seed += step


class CaseProcess:
    """The process that runs the cases, and the lines it has printed."""

    def __init__(self, first: int, environment: dict[str, str]) -> None:
        command = [sys.executable, "-m", "tools.fuzz", "--work", str(first)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        )
        self.lines: list[str] = []
        self.news = threading.Event()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            self.news.set()
        self.lines.append("")  # it has ended
        self.news.set()

    def next_line(self, seconds: float) -> str | None:
        """Return the next line that the process prints.

        Return an empty line if the process has ended, None if it prints nothing in this time.
        """
        deadline = time.monotonic() + seconds
        while not self.lines:
            self.news.clear()
            if not self.lines and not self.news.wait(max(0.0, deadline - time.monotonic())):
                return None
        return self.lines.pop(0)

    def stop(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.wait()


def save(case: Case, finding: str) -> Path:
    """Save a case in the corpus under a name that describes the finding."""
    CORPUS.mkdir(exist_ok=True)
    word = re.sub(r"[^a-z0-9]+", "-", finding.lower())[:60].strip("-")
    saved = replace(case, finding=finding)
    path = CORPUS / f"{word}-{hashlib.sha256(saved.to_json().encode()).hexdigest()[:8]}.json"
    path.write_text(saved.to_json(), encoding="utf-8")
    return path


def shrink(case: Case, limit: float) -> Case:
    """Drop the commands of a case that the failure does not need."""
    until = time.monotonic() + limit
    for command in reversed(case.commands):
        remaining = tuple(other for other in case.commands if other != command)
        if not remaining or time.monotonic() > until:
            continue
        with tempfile.TemporaryDirectory() as folder:
            if run_case(replace(case, commands=remaining), Path(folder)):
                case = replace(case, commands=remaining)
    return case


def run_campaign(seconds: float, seed: int, patience: float, keep: bool) -> int:
    """Run new cases until the time is over; return the number of findings."""
    print(f"seed {seed}", flush=True)
    compile_methods()
    ends = time.monotonic() + seconds
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    runner, current, cases, late = CaseProcess(seed, environment), seed, 0, -1
    kinds: Counter[str] = Counter()
    while time.monotonic() < ends:
        line = runner.next_line(patience if cases else 120.0)
        finding = ""
        if line is None and current != late:
            late = current
            runner.stop()
            runner = CaseProcess(current, environment)
        elif line is None or line == "":
            finding = "hang" if line is None else f"the process ended ({runner.process.poll()})"
            runner.stop()
            runner = CaseProcess(current + 1, environment)
        elif line.startswith(BEGIN):
            current = int(line.split()[1])
        else:
            cases += 1
            finding = line.split(" ", 2)[2] if line.count(" ") > 1 else ""
        if finding:
            kind = re.sub(r"[0-9'\"].*", "", finding.partition(": ")[2] or finding)[:60] + finding[:40]
            kinds[kind] += 1
            if kinds[kind] == 1:
                print(f"case {current}: {finding}", flush=True)
                if keep:
                    case = make_case(current)
                    quick = not finding.startswith(("hang", "the process"))
                    print(f"  kept in {save(shrink(case, 20.0) if quick else case, finding)}", flush=True)
    runner.stop()
    print(f"{cases} cases, {sum(kinds.values())} findings of {len(kinds)} kinds", flush=True)
    return len(kinds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=None, help="by default a fresh one")
    parser.add_argument("--patience", type=float, default=30, help="seconds after which a case is a hang")
    parser.add_argument("--keep", action=argparse.BooleanOptionalAction, default=True, help="save what fails")
    parser.add_argument("--work", type=int, default=None, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work is not None:
        work(given.work, 1)
    chosen = given.seed if given.seed is not None else secrets.randbelow(10**9) * 1000
    sys.exit(1 if run_campaign(given.seconds, chosen, given.patience, given.keep) else 0)
