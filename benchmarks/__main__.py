"""Benchmarks, one after the other; each prints Markdown tables. At the end docs/benchmarks.md is written anew.

python -m benchmarks                 # all
python -m benchmarks check risk      # these; the page keeps what was measured of the others
python -m benchmarks --against FILE  # and status 1 where a time or a peak is above 1.15 times that of an earlier run
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import against, page

HERE = Path(__file__).parent
SKIP = {"__init__", "__main__", "against", "measure", "page", "two_trees"}


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
    measured = {}
    results = {name: result for name, result in page.load().items() if name in names}
    failed = []
    for name in chosen or names:
        print(f"\n## {name.replace('_', ' ')}", flush=True)
        result = run(name)
        if result is None:
            failed.append(name)
        elif result["entries"]:
            results[name] = measured[name] = result
    page.write(results)
    if failed:
        print(f"\nFailed, and not on the page: {', '.join(failed)}", file=sys.stderr)
    grew = False
    if earlier is not None:
        found = against.compare(earlier, measured)
        grew = any(one.ratio > against.LARGEST_RATIO for one in found)
        print("\n" + "\n".join(against.tell(found)))
    return 1 if failed or grew else 0


def run(name: str) -> dict | None:
    """Run one benchmark in a process of its own and gather what it recorded; None if it failed."""
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "results.jsonl"
        record.touch()
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", f"benchmarks.{name}"],
            check=False,
            cwd=HERE.parent,
            env={**os.environ, "SHOAL_RESULTS": str(record)},
        )
        seconds = time.perf_counter() - start
        if done.returncode:
            return None
        entries = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    return {"about": about(name), "machine": page.machine(), "seconds": seconds, "entries": entries}


def about(name: str) -> str:
    """The docstring of a benchmark without its commands, which are indented."""
    text = ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text(encoding="utf-8"))) or ""
    return "\n".join(line for line in text.splitlines() if not line.startswith((" ", "python "))).strip()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
