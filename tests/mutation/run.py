"""A tree of one's own for every worker, and children that are forked with all heavy imports done.

A mutant is written into a worker's copy of the project; a child forked from this process runs the tests there. The
child has numpy, DuckDB, pytest and the others in memory already, but nothing of shoal, which it imports with the fault.
So a mutant costs the tests alone. The compiler is off in all of them: kernels are plain Python.
"""

from __future__ import annotations

import compileall
import contextlib
import importlib
import os
import py_compile
import resource
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["BROKEN", "Job", "Outcome", "make_tree", "preload", "run_all"]

HEAVY = (
    "numpy", "numba", "duckdb", "pyarrow", "pyarrow.parquet", "pyarrow.csv", "pandas", "polars", "pydantic", "typer",
    "typer.testing", "rich", "narwhals", "hypothesis", "hypothesis.extra.numpy", "pytest", "sklearn.ensemble",
    "tomli_w", "scipy.stats", "multiprocessing", "sqlite3",
)  # fmt: skip
COPIED = ("src", "tests", "docs", "examples", "benchmarks", "pyproject.toml", "README.md")
BROKEN = 70
"""The status of a child that did not come to do its job."""
MEMORY = 12 << 30
FILE = 1 << 30


@dataclass(frozen=True)
class Job:
    """Something for a child to do in a tree; `seconds` are of a processor, and the clock gets eight times that."""

    name: str
    do: Callable[[Path], int]
    seconds: float
    changed: tuple[str, str] | None = None
    """A file of the tree and the text it has meanwhile."""
    fresh: bool = True
    """Whether it imports shoal and the tests anew, or has them from the process that forks it."""


@dataclass(frozen=True)
class Outcome:
    """How a child ended: its status, None where it took too long, and the end of what it printed."""

    job: Job
    tree: Path
    status: int | None
    seconds: float
    printed: str


def preload() -> None:
    """Import what is heavy, once, for all children."""
    for name in HEAVY:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def make_tree(project: Path, tree: Path) -> None:
    """A copy of the project; its bytecode is valid by content, not by time, so that no mutant meets another's."""
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    ignored = shutil.ignore_patterns("__pycache__", "node_modules", ".hypothesis", "mutation")
    for name in COPIED:
        if (project / name).is_dir():
            shutil.copytree(project / name, tree / name, ignore=ignored)
        elif (project / name).exists():
            shutil.copy2(project / name, tree / name)
    hook = project / "tests" / "mutation" / "tracing.py"
    (tree / "src" / "sitecustomize.py").write_text(
        f"import runpy\nrunpy.run_path({str(hook)!r})['start_here']({str(tree / 'src' / 'shoal') + '/'!r})\n"
    )
    compileall.compile_dir(tree / "src", quiet=2, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)


def run_all(jobs: Iterable[Job], trees: list[Path]) -> Iterable[Outcome]:
    """Every job in a free tree, as many at a time as there are trees; outcomes as they come."""
    waiting = iter(jobs)
    running: dict[int, tuple[Job, Path, float, str | None]] = {}
    free = list(trees)
    more = True
    while more or running:
        while free and more:
            job = next(waiting, None)
            if job is None:
                more = False
                break
            tree = free.pop()
            kept = _change(tree, job)
            (tree / "note").unlink(missing_ok=True)
            running[_fork(job, tree)] = (job, tree, time.monotonic(), kept)
        time.sleep(0.01)
        for process, (job, tree, started, kept) in list(running.items()):
            ended, status = os.waitpid(process, os.WNOHANG)
            seconds = time.monotonic() - started
            late = not ended and seconds > 8 * job.seconds
            if late:
                _end(process)
                os.waitpid(process, 0)
            if ended or late:
                _end(process)  # what it started and left behind
                del running[process]
                if kept is not None and job.changed:
                    (tree / job.changed[0]).write_text(kept)
                free.append(tree)
                printed = (tree / "printed").read_text(errors="replace")[-3000:]
                code = os.waitstatus_to_exitcode(status)
                yield Outcome(job, tree, None if late or code == -signal.SIGXCPU else code, seconds, printed)


def _change(tree: Path, job: Job) -> str | None:
    if job.changed is None:
        return None
    path = tree / job.changed[0]
    kept = path.read_text()
    path.write_text(job.changed[1])
    return kept


def _end(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _forget(tree: Path) -> None:
    """Have nothing of shoal and its tests in memory, and import them from the tree."""
    os.chdir(tree)
    os.environ["PYTHONPATH"] = str(tree / "src")
    sys.path[:] = [str(tree / "src"), *(path for path in sys.path if "src" not in Path(path).parts and path)]
    for name in [name for name in sys.modules if name.split(".")[0] in ("shoal", "tests")]:
        del sys.modules[name]


def _fork(job: Job, tree: Path) -> int:
    sys.stdout.flush()
    process = os.fork()
    if process:
        with contextlib.suppress(OSError):
            os.setpgid(process, process)
        return process
    status = BROKEN
    try:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE, FILE))
        resource.setrlimit(resource.RLIMIT_CPU, (int(job.seconds), int(job.seconds) + 5))
        printed = os.open(tree / "printed", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(printed, 1)
        os.dup2(printed, 2)
        if job.fresh:
            _forget(tree)
        status = job.do(tree)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)
