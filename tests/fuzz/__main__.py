"""``python -m tests.fuzz --seconds 600 --seed 1``: fresh cases until the time is over; status 1 if any failed.

The cases run in a process of their own, which tells when each begins and ends: one that lasts too long, takes too much
memory or dies is a finding, and the process is begun anew after it. The methods are compiled before the time begins. A
case that lasts too long is tried once more, since what was compiled for it by then is kept: a hang hangs again.
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
from tests.fuzz.cases import Case, make_case
from tests.fuzz.replay import run_case

CORPUS = Path(__file__).parent.parent / "corpus"
ROOM = 6 << 30  # bytes that the process of cases may take beside what its libraries have
BEGIN, END = "begin", "end"


def work(first: int, step: int) -> None:
    """Run cases for ever, and tell of each on standard output."""
    told = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    import shoal.cli.app  # noqa: F401

    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() if Path("/proc").is_dir() else 0
    resource.setrlimit(resource.RLIMIT_AS, (now + ROOM, now + ROOM))
    seed = first
    while True:
        print(BEGIN, seed, file=told)
        with tempfile.TemporaryDirectory(prefix="shoal-fuzz-") as folder:
            found = run_case(make_case(seed), Path(folder)) or ""
        print(END, seed, " ".join(found.split())[:500], file=told)
        seed += step


class Watch:
    """The process of cases, and what it told last."""

    def __init__(self, first: int, environment: dict[str, str]) -> None:
        command = [sys.executable, "-m", "tests.fuzz", "--work", str(first)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        )
        self.told: list[str] = []
        self.news = threading.Event()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.told.append(line.rstrip("\n"))
            self.news.set()
        self.told.append("")  # it has ended
        self.news.set()

    def next_line(self, seconds: float) -> str | None:
        """What is told next; empty if the process has ended, None if it says nothing for so long."""
        deadline = time.monotonic() + seconds
        while not self.told:
            self.news.clear()
            if not self.told and not self.news.wait(max(0.0, deadline - time.monotonic())):
                return None
        return self.told.pop(0)

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()


def save(case: Case, finding: str) -> Path:
    """Keep a case in the corpus, under a name that tells what it was."""
    CORPUS.mkdir(exist_ok=True)
    word = re.sub(r"[^a-z0-9]+", "-", finding.lower())[:60].strip("-")
    kept = replace(case, finding=finding)
    path = CORPUS / f"{word}-{hashlib.sha256(kept.to_json().encode()).hexdigest()[:8]}.json"
    path.write_text(kept.to_json(), encoding="utf-8")
    return path


def shrink(case: Case, limit: float) -> Case:
    """The same case with the commands alone that are needed, if it still fails quickly."""
    until = time.monotonic() + limit
    for command in reversed(case.commands):
        fewer = tuple(other for other in case.commands if other != command)
        if not fewer or time.monotonic() > until:
            continue
        with tempfile.TemporaryDirectory() as folder:
            if run_case(replace(case, commands=fewer), Path(folder)):
                case = replace(case, commands=fewer)
    return case


def hunt(seconds: float, seed: int, patience: float, keep: bool) -> int:
    """Fresh cases until the time is over; how many kinds of findings there were."""
    print(f"seed {seed}", flush=True)
    compile_methods()
    ends = time.monotonic() + seconds
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    watch, current, cases, late = Watch(seed, environment), seed, 0, -1
    kinds: Counter[str] = Counter()
    while time.monotonic() < ends:
        line = watch.next_line(patience if cases else 120.0)
        finding = ""
        if line is None and current != late:
            late = current
            watch.stop()
            watch = Watch(current, environment)
        elif line is None or line == "":
            finding = "hang" if line is None else f"the process ended ({watch.process.poll()})"
            watch.stop()
            watch = Watch(current + 1, environment)
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
    watch.stop()
    print(f"{cases} cases, {sum(kinds.values())} findings of {len(kinds)} kinds", flush=True)
    return len(kinds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=None, help="by default a fresh one")
    parser.add_argument("--patience", type=float, default=30, help="seconds after which a case is a hang")
    parser.add_argument("--keep", action=argparse.BooleanOptionalAction, default=True, help="save what fails")
    parser.add_argument("--work", type=int, default=None, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work is not None:
        work(given.work, 1)
    chosen = given.seed if given.seed is not None else secrets.randbelow(10**9) * 1000
    sys.exit(1 if hunt(given.seconds, chosen, given.patience, given.keep) else 0)
