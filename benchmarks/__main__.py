"""Run benchmarks in order, and write docs/benchmarks.md after each.

Each benchmark prints Markdown tables. One that fails or times out does not affect the others: what it measured before
is recorded. When all are run, no benchmark starts after the total time limit, and the page retains earlier results.

python -m benchmarks                 # all, those with peers and limits first; a quarter of an hour at most
python -m benchmarks check risk      # these; the page retains the results of the others
python -m benchmarks --against FILE  # exit status 1 if a time or a peak is above 1.15 times that of an earlier run
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
NOT_BENCHMARKS = {"__init__", "__main__", "against", "measure", "page", "record", "two_trees"}
RUN_FIRST = (
    "wide_lattices", "full_domain", "microaggregation", "cold", "spark", "local_recoding", "explore", "check",
    "pycanon", "peers",
)  # fmt: skip
"""Benchmarks with a peer or a limit, in the order in which they are run; the others follow."""
RUN_BY_NAME_ONLY = ("billion", "bounds", "first_calls", "real_tables")
"""Benchmarks that take minutes and run only if they are named."""
MAX_SECONDS = 240.0
"""The time limit of one benchmark."""
MAX_SECONDS_BY_NAME = {"spark": 420.0}
"""Longer time limits for benchmarks that start several sessions."""
MAX_TOTAL_SECONDS = 780.0
"""The total time limit of a run of all benchmarks: none starts later."""


def main(*arguments: str) -> int:
    earlier: dict[str, dict] | None = None
    chosen = list(arguments)
    if "--against" in chosen:
        index = chosen.index("--against")
        if index + 1 == len(chosen):
            print("--against needs the file of an earlier run, such as docs/benchmarks.json.", file=sys.stderr)
            return 2
        earlier = json.loads(Path(chosen[index + 1]).read_text(encoding="utf-8"))
        del chosen[index : index + 2]
    names = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in NOT_BENCHMARKS)
    unknown = set(chosen) - set(names)
    if unknown:
        print(f"No benchmark is named {', '.join(sorted(unknown))}; there are {', '.join(names)}.", file=sys.stderr)
        return 2
    measured: dict[str, dict] = {}
    results = {name: result for name, result in page.load().items() if name in names}
    failed, left = [], []
    start = time.monotonic()
    for name in chosen or ordered(names):
        if not chosen and time.monotonic() - start > MAX_TOTAL_SECONDS:
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
        print("\n" + "\n".join(against.format_comparison(found)))
    return 1 if failed or grew else 0


def ordered(names: list[str]) -> list[str]:
    """Return the benchmarks of a run of all, in order."""
    first = [name for name in RUN_FIRST if name in names]
    return [*first, *(name for name in names if name not in first and name not in RUN_BY_NAME_ONLY)]


def run(name: str, time_limit: float | None = None) -> dict:
    """Run one benchmark in a separate process, and collect its records.

    The result is complete, or has what was recorded before a failure.
    """
    time_limit = time_limit or MAX_SECONDS_BY_NAME.get(name, MAX_SECONDS)
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
                whole = process.wait(time_limit) == 0
            except subprocess.TimeoutExpired:
                print(f"{name} was ended after {time_limit:.0f} seconds.", file=sys.stderr)
                whole = False
            finally:
                with contextlib.suppress(ProcessLookupError):  # also ends its child processes
                    os.killpg(process.pid, signal.SIGTERM)
        seconds = time.perf_counter() - start
        entries = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    result = {"about": about(name), "machine": page.machine(), "seconds": seconds, "entries": entries}
    return result | {"whole": whole}


def about(name: str) -> str:
    """Return the docstring of a benchmark without its command lines.

    Command lines are indented, or begin with ``python``.
    """
    text = ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text(encoding="utf-8"))) or ""
    return "\n".join(line for line in text.splitlines() if not line.startswith((" ", "python "))).strip()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
