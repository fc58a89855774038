"""How things are measured: each subject in a process of its own, wall time and peak memory, best of a few runs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence

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
    """Run ``run`` after ``setup`` in a fresh process; ``answer`` is what the code left in that name."""
    done = subprocess.run([python, "-c", CHILD, setup, run, str(repeat)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


def show(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a Markdown table."""
    print(f"\n### {title}\n")
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row) + " |")
