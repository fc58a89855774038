"""Benchmarks, one after the other; each prints Markdown tables. After each, docs/benchmarks.md is written anew.

One that fails or takes too long costs itself alone: what it measured before is kept, and the others go on. Where all
are asked for, those that are left when the time is over are not begun, and the page keeps what it has of them.

python -m benchmarks                 # all, those beside peers and limits first; a quarter of an hour at most
python -m benchmarks check risk      # these; the page keeps what was measured of the others
python -m benchmarks --against FILE  # and status 1 where a time or a peak is above 1.15 times that of an earlier run
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import against, page

HERE = Path(__file__).parent
SKIP = {"__init__", "__main__", "against", "measure", "page", "record", "two_trees"}
FIRST = (
    "wide_lattices", "full_domain", "microaggregation", "cold", "spark", "local_recoding", "explore", "check",
    "pycanon", "peers",
)  # fmt: skip
"""What stands beside a peer or a limit, in the order in which it is run; the others follow."""
APART = ("bounds", "first_calls", "real_tables")
"""What takes minutes and is run by its name alone."""
MOST_SECONDS = 240.0
"""One benchmark is ended after so long."""
LONGER = {"spark": 420.0}
"""But these, which start several sessions."""
ALL_SECONDS = 780.0
"""After so long none is begun, where all are asked for."""


def main(*asked: str) -> int:
    earlier: dict[str, dict] | None = None
    chosen = list(asked)
    if "--against" in chosen:
        place = chosen.index("--against")
        if place + 1 == len(chosen):
            print("--against needs the file of an earlier run, such as docs/benchmarks.json.", file=sys.stderr)
            return 2
        earlier = json.loads(Path(chosen[place + 1]).read_text(encoding="utf-8"))
        del chosen[place : place + 2]
    names = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in SKIP)
    unknown = set(chosen) - set(names)
    if unknown:
        print(f"No benchmark is named {', '.join(sorted(unknown))}; there are {', '.join(names)}.", file=sys.stderr)
        return 2
    measured: dict[str, dict] = {}
    results = {name: result for name, result in page.load().items() if name in names}
    failed, left = [], []
    start = time.monotonic()
    for name in chosen or ordered(names):
        if not chosen and time.monotonic() - start > ALL_SECONDS:
            left.append(name)
            continue
        print(f"\n## {name.replace('_', ' ')}", flush=True)
        result = run(name)
        if not result["whole"]:
            failed.append(name)
        if result["entries"]:
            results[name] = measured[name] = result
            page.write(results)
    if left:
        print(f"\nNot begun, for the time was over: {', '.join(left)}", file=sys.stderr)
    if failed:
        print(f"\nFailed; the page has what they measured before: {', '.join(failed)}", file=sys.stderr)
    grew = False
    if earlier is not None:
        found = against.compare(earlier, measured)
        grew = any(one.ratio > against.LARGEST_RATIO for one in found)
        print("\n" + "\n".join(against.tell(found)))
    return 1 if failed or grew else 0


def ordered(names: list[str]) -> list[str]:
    """What is run where nothing is asked for."""
    first = [name for name in FIRST if name in names]
    return [*first, *(name for name in names if name not in first and name not in APART)]


def run(name: str, most: float | None = None) -> dict:
    """Run one benchmark in a process of its own and gather what it recorded; whole, or as far as it came."""
    most = most or LONGER.get(name, MOST_SECONDS)
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "results.jsonl"
        record.touch()
        start = time.perf_counter()
        with subprocess.Popen(
            [sys.executable, "-m", f"benchmarks.{name}"],
            cwd=HERE.parent,
            env={**os.environ, "SHOAL_RESULTS": str(record)},
            start_new_session=True,
        ) as process:
            try:
                whole = process.wait(most) == 0
            except subprocess.TimeoutExpired:
                print(f"{name} was ended after {most:.0f} seconds.", file=sys.stderr)
                whole = False
            finally:
                with contextlib.suppress(ProcessLookupError):  # and what it has started
                    os.killpg(process.pid, signal.SIGTERM)
        seconds = time.perf_counter() - start
        entries = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    told = {"about": about(name), "machine": page.machine(), "seconds": seconds, "entries": entries}
    return told | {"whole": whole}


def about(name: str) -> str:
    """The docstring of a benchmark without its commands, which are indented."""
    text = ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text(encoding="utf-8"))) or ""
    return "\n".join(line for line in text.splitlines() if not line.startswith((" ", "python "))).strip()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
