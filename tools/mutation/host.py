"""Process with all modules imported and all tests collected.

A mutant of a function costs only a fork and its tests. The fault is compiled, and the function gets the code with the
fault. Calls made while modules were imported are over and would not change: mutants of such functions, and those
outside functions, need a fresh import, and are left to the caller. The file has the fault too in the meantime, for
processes that a test starts.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from tools.mutation.mutate import Mutant
from tools.mutation.tracing import TRACE_VARIABLE, TimeLimits, TooLong, Tracer


class TestLog:
    """Log of a child's tests: started, failed, or timed out."""

    def __init__(self, path: Path, limits: dict[str, float]) -> None:
        self.path = path
        self.limits = limits
        self.timed = TimeLimits()

    def write(self, word: str, test: str) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps([word, test]) + "\n")

    def passes(self, item: Any, nextitem: Any) -> bool:
        """Run one test within its limits; return whether it passes."""
        from _pytest.runner import runtestprotocol

        seconds = self.limits.get(item.nodeid, 1.0)
        self.write("begun", item.nodeid)
        self.timed.start(6 + 5 * seconds, 60 + 30 * seconds)
        try:
            failed = any(report.failed for report in runtestprotocol(item, nextitem=nextitem))
        except TooLong:  # between two phases
            failed = True
        finally:
            self.timed.stop()
        if failed:
            self.write("clock" if self.timed.late else "killed", item.nodeid)
        return not failed


class Host:
    """Pytest plugin that collects the tests and then calls ``work``.

    The tests themselves are not run.
    """

    def __init__(self, tree: Path, work: Callable[[Host], None]) -> None:
        self.source = tree / "src" / "shoal"
        self.work = work
        self.items: dict[str, Any] = {}
        self.functions: dict[tuple[str, str], list[FunctionType]] = defaultdict(list)
        self.entered: set[tuple[str, str]] = set()
        self._list = tree / "imported"
        self._tracer = Tracer(f"{self.source}/")
        self._list.write_text("")
        os.environ[TRACE_VARIABLE] = str(self._list)
        self._tracer.start()

    def pytest_runtestloop(self, session: Any) -> bool:
        """Replace pytest's loop over all tests."""
        import shoal

        for module in pkgutil.walk_packages(shoal.__path__, "shoal."):
            if not module.name.endswith("__main__"):
                with contextlib.suppress(ImportError), warnings.catch_warnings():
                    warnings.simplefilter("ignore", DeprecationWarning)  # of modules under their old names
                    importlib.import_module(module.name)
        self._tracer.stop()
        del os.environ[TRACE_VARIABLE]
        self.entered = {tuple(line.split("\t")) for line in self._list.read_text().splitlines()}  # type: ignore[misc]
        self.items = {item.nodeid: item for item in session.items}
        below = f"{self.source}/"
        for found in gc.get_objects():
            if type(found) is FunctionType and found.__code__.co_filename.startswith(below):
                self.functions[found.__code__.co_filename[len(below) :], found.__code__.co_qualname].append(found)
        self.work(self)
        return True

    def can_plant(self, mutant: Mutant, tests: list[str]) -> bool:
        """Return whether a loaded function can get the fault.

        Its tests must be collected too.
        """
        top = mutant.function.partition(".<locals>.")[0]
        names = {(mutant.module, top), (mutant.module, mutant.function)}
        there = (mutant.module, top) in self.functions and self.items.keys() >= set(tests)
        return bool(top) and there and not names & self.entered

    def plant(self, mutant: Mutant) -> None:
        """Give the function the code with the fault."""
        top = mutant.function.partition(".<locals>.")[0]
        faulty = compile(mutant.text, str(self.source / mutant.module), "exec", dont_inherit=True)
        made = {code.co_firstlineno: code for code in _codes(faulty) if code.co_qualname == top}
        for function in self.functions[mutant.module, top]:
            function.__code__ = made[function.__code__.co_firstlineno]

    def run_mutant(self, mutant: Mutant, names: list[str], log: TestLog) -> int:
        """Plant a fault, and run tests up to the first failure."""
        self.plant(mutant)
        items = [self.items[name] for name in names]
        for item, following in zip(items, [*items[1:], None], strict=True):
            if not log.passes(item, following):
                return 1
        return 0


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
