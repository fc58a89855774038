"""Worker trees, and children forked with all heavy modules imported.

A mutant is written into a worker's copy of the project; a child forked from this process runs the tests there. The
child has numpy, DuckDB, pytest and the others in memory already, but nothing of shoal, which it imports with the fault.
So a mutant costs only its tests. The compiler is off in all of them: kernels are plain Python.
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

HEAVY_MODULES = (
    "numpy", "numba", "duckdb", "pyarrow", "pyarrow.parquet", "pyarrow.csv", "pandas", "polars", "pydantic", "typer",
    "typer.testing", "rich", "narwhals", "hypothesis", "hypothesis.extra.numpy", "pytest", "sklearn.ensemble",
    "tomli_w", "scipy.stats", "multiprocessing", "sqlite3",
)  # fmt: skip
COPIED_PATHS = ("src", "tests", "tools", "docs", "examples", "benchmarks", "pyproject.toml", "README.md")
BROKEN_STATUS = 70
"""Exit status of a child that could not execute its job."""
MAX_MEMORY_BYTES = 12 << 30
MAX_FILE_BYTES = 1 << 30


@dataclass(frozen=True)
class Job:
    """Task of a child in a tree.

    ``seconds`` limits processor time; the limit of wall-clock time is eight times that.
    """

    name: str
    do: Callable[[Path], int]
    seconds: float
    changed: tuple[str, str] | None = None
    """A file of the tree and its temporary text."""
    fresh: bool = True
    """Whether it imports shoal and the tests anew, or inherits them from the parent."""


@dataclass(frozen=True)
class Outcome:
    """Outcome of a child.

    The status is None if it exceeded its time; ``printed`` is the end of its output.
    """

    job: Job
    tree: Path
    status: int | None
    seconds: float
    printed: str


def preload() -> None:
    """Import the heavy modules once for all children."""
    for name in HEAVY_MODULES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def make_tree(project: Path, tree: Path) -> None:
    """Copy the project.

    Its bytecode is validated by content, not by time, so that no mutant runs the bytecode of another.
    """
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    ignored = shutil.ignore_patterns("__pycache__", "node_modules", ".hypothesis", "mutation")
    for name in COPIED_PATHS:
        if (project / name).is_dir():
            shutil.copytree(project / name, tree / name, ignore=ignored)
        elif (project / name).exists():
            shutil.copy2(project / name, tree / name)
    hook = project / "tools" / "mutation" / "tracing.py"
    (tree / "src" / "sitecustomize.py").write_text(
        f"import runpy\nrunpy.run_path({str(hook)!r})['start_here']({str(tree / 'src' / 'shoal') + '/'!r})\n"
    )
    compileall.compile_dir(tree / "src", quiet=2, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)


def run_all(jobs: Iterable[Job], trees: list[Path]) -> Iterable[Outcome]:
    """Run jobs in free trees, one at a time in each; yield outcomes."""
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
            original = _write_fault(tree, job)
            (tree / "note").unlink(missing_ok=True)
            running[_fork(job, tree)] = (job, tree, time.monotonic(), original)
        time.sleep(0.01)
        for process, (job, tree, started, original) in list(running.items()):
            ended, status = os.waitpid(process, os.WNOHANG)
            seconds = time.monotonic() - started
            late = not ended and seconds > 8 * job.seconds
            if late:
                _kill_group(process)
                os.waitpid(process, 0)
            if ended or late:
                _kill_group(process)  # its own children
                del running[process]
                if original is not None and job.changed:
                    (tree / job.changed[0]).write_text(original)
                free.append(tree)
                printed = (tree / "printed").read_text(errors="replace")[-3000:]
                code = os.waitstatus_to_exitcode(status)
                yield Outcome(job, tree, None if late or code == -signal.SIGXCPU else code, seconds, printed)


def _write_fault(tree: Path, job: Job) -> str | None:
    if job.changed is None:
        return None
    path = tree / job.changed[0]
    original = path.read_text()
    path.write_text(job.changed[1])
    return original


def _kill_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _unload(tree: Path) -> None:
    """Unload shoal and its tests, and import them from the tree."""
    os.chdir(tree)
    os.environ["PYTHONPATH"] = str(tree / "src")
    sys.path[:] = [str(tree / "src"), *(path for path in sys.path if "src" not in Path(path).parts and path)]
    for name in [name for name in sys.modules if name.split(".")[0] in ("shoal", "tests", "tools")]:
        del sys.modules[name]


def _fork(job: Job, tree: Path) -> int:
    sys.stdout.flush()
    process = os.fork()
    if process:
        with contextlib.suppress(OSError):
            os.setpgid(process, process)
        return process
    status = BROKEN_STATUS
    try:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_FILE_BYTES, MAX_FILE_BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (int(job.seconds), int(job.seconds) + 5))
        printed = os.open(tree / "printed", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(printed, 1)
        os.dup2(printed, 2)
        if job.fresh:
            _unload(tree)
        status = job.do(tree)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)
