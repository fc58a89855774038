"""Measurement of time and memory, and recording of results.

Each measured subject runs in a separate process: wall time and peak memory, best of several runs. Results are printed
as a Markdown table and, if the environment variable SHOAL_RESULTS names a file, appended to it as a line of JSON, from
which :mod:`benchmarks.page` makes docs/benchmarks.md.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

CHILD = """
import json, resource, sys, time
setup, run = sys.argv[1], sys.argv[2]
scope = {}
exec(setup, scope)
times = []
for _ in range(int(sys.argv[3])):
    start = time.perf_counter()
    exec(run, scope)
    times.append(time.perf_counter() - start)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"seconds": min(times), "all": times, "peak_mb": peak, "answer": scope.get("answer")}))
"""


def measure(setup: str, run: str, *, repeat: int = 1, python: str = sys.executable) -> dict:
    """Run ``run`` after ``setup`` in a fresh process.

    ``answer`` is the final value of the variable of that name in the process.
    """
    done = subprocess.run([python, "-c", CHILD, setup, run, str(repeat)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


def cell(value: object) -> str:
    """Format a cell of a table; measured numbers have three digits."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def markdown(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(cell(value).replace("|", "\\|") for value in row) + " |" for row in rows]
    return "\n".join(lines)


def show(title: str, header: Sequence[str], rows: Sequence[Sequence[object]], note: str = "") -> None:
    """Print and record a table, with a note on how to read it.

    Every table of times also has a peak of memory.
    """
    if not any("MB" in head.split() for head in header):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        note = f"{note} Peak memory of the process that measured this: {peak:,.0f} MB.".strip()
    print(f"\n### {title}\n\n{markdown(header, rows)}" + (f"\n\n{note}" if note else ""), flush=True)
    _record({"kind": "table", "title": title, "header": header, "rows": rows, "says": note})


def draw(
    title: str,
    x_title: str,
    y_title: str,
    series: Mapping[str, Sequence[tuple[float, float]]],
    *,
    log_x: bool = True,
    log_y: bool = True,
) -> None:
    """Record a line chart; the page draws it."""
    axes = {"x_title": x_title, "y_title": y_title, "log_x": log_x, "log_y": log_y}
    _record({"kind": "chart", "title": title, "series": series, **axes})


def _record(entry: Mapping[str, object]) -> None:
    path = os.environ.get("SHOAL_RESULTS")
    if path:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry, default=_plain) + "\n")


def _plain(value: object) -> object:
    """Convert a NumPy number to a Python number."""
    return value.item() if hasattr(value, "item") else str(value)
