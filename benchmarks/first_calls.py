"""First and second call of each method in a fresh installation.

A wheel of ``make wheel`` is installed in a separate environment. Before each method the unpacked compiled code is
removed, so that every first call has only what came with the wheel; with ``bare`` not even that, and everything is
compiled. Each call is in a separate process, on 1,000 rows of a census with k = 5 and, if the method supports it,
p = 2.

python -m benchmarks.first_calls WHEEL [bare] [METHOD ...]
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

from benchmarks.measure import show

METHODS = (
    "full-domain", "top-down", "mondrian", "switching", "local-suppression", "refine", "anti-unification", "mdav",
    "cbfs", "v-mdav", "k-first", "p-first", "univariate", "auto",
)  # fmt: skip
CALL = """
import json, os, sys, time, warnings
warnings.simplefilter("ignore")
begun = time.perf_counter()
import shoal
from shoal.datasets.census import QUASI_IDENTIFIERS, SENSITIVE, census_table
import shoal.kernels.cache
from numba.core.event import Listener, register

class Counting(Listener):
    compiled = 0
    def on_start(self, event):
        Counting.compiled += 1
    def on_end(self, event):
        pass

register("numba:compile", Counting())
table, method = census_table(1_000), sys.argv[1]
more = {} if method == "anti-unification" else {"p": 2}
def call():
    began = time.perf_counter()
    shoal.anonymize(
        table, quasi_identifiers=list(QUASI_IDENTIFIERS), sensitive=[SENSITIVE], k=5, method=method, **more
    )
    return time.perf_counter() - began
loaded = time.perf_counter() - begun
first = call()
cpu = sum(os.times()[:4])
print(json.dumps([loaded + first, cpu, call(), Counting.compiled]))
"""


def main(wheel: str, *arguments: str) -> None:
    bare = "bare" in arguments
    methods = [name for name in arguments if name != "bare"] or METHODS
    with tempfile.TemporaryDirectory(prefix="shoal-first-") as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder) / "bin" / "python")
        empty = _size(Path(folder))
        began = time.perf_counter()
        subprocess.run([python, "-m", "pip", "install", "--quiet", wheel], check=True)
        installing = time.perf_counter() - began
        given = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        command = [python, "-P", "-c", "import shoal; print(shoal.__path__[0])"]
        found = subprocess.run(command, env=given, capture_output=True, text=True, check=True)
        kernels = Path(found.stdout.strip()) / "kernels"
        size = _size(Path(folder))
        if bare:
            for file in kernels.glob("*.tar.xz"):
                file.unlink()
        rows = []
        for method in methods:
            for store in (kernels / "__pycache__").glob("numba-*"):
                shutil.rmtree(store)
            done = subprocess.run(
                [python, "-P", "-c", CALL, method], env=given, capture_output=True, text=True, check=True
            )
            rows.append((method, *json.loads(done.stdout)))
    show(
        f"First calls {'with nothing compiled' if bare else 'with the compiled code of a wheel'}",
        ("method", "first call, with loading (s)", "CPU seconds", "second call (s)", "functions compiled"),
        rows,
        f"The wheel was installed in {installing:.0f} s; the environment grew from {empty} to {size} MB.",
    )


def _size(folder: Path) -> int:
    return sum(file.lstat().st_size for file in folder.rglob("*") if not file.is_dir()) >> 20


if __name__ == "__main__":
    main(*sys.argv[1:])
