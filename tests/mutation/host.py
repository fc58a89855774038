"""A process that has imported everything and collected all tests: a mutant in a function costs a fork and its tests.

The fault is compiled, and the function gets the code that has it. What a function did while modules were imported is
done already and would not change: mutants of such functions, and those outside of functions, need a fresh import, and
are left to whoever asks. The file has the fault meanwhile too, for processes that a test starts.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pkgutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from tests.mutation.mutate import Mutant
from tests.mutation.tracing import FOLLOWED, Timed, TooLong, Tracer

__all__ = ["Host", "Noting"]


class Noting:
    """What a child says of its tests: which is at work, and which failed, by the clock or not."""

    def __init__(self, note: Path, limits: dict[str, float]) -> None:
        self.note = note
        self.limits = limits
        self.timed = Timed()

    def say(self, word: str, test: str) -> None:
        with self.note.open("a") as file:
            file.write(json.dumps([word, test]) + "\n")

    def passes(self, item: Any, nextitem: Any) -> bool:
        """Run one test within its limits."""
        from _pytest.runner import runtestprotocol

        seconds = self.limits.get(item.nodeid, 1.0)
        self.say("begun", item.nodeid)
        self.timed.start(6 + 5 * seconds, 60 + 30 * seconds)
        try:
            failed = any(report.failed for report in runtestprotocol(item, nextitem=nextitem))
        except TooLong:  # between two phases
            failed = True
        finally:
            self.timed.stop()
        if failed:
            self.say("clock" if self.timed.late else "killed", item.nodeid)
        return not failed


class Host:
    """The pytest plugin that has the tests collected, and then lets ``work`` be done in place of running them."""

    def __init__(self, tree: Path, work: Callable[[Host], None]) -> None:
        self.source = tree / "src" / "shoal"
        self.work = work
        self.items: dict[str, Any] = {}
        self.functions: dict[tuple[str, str], list[FunctionType]] = defaultdict(list)
        self.entered: set[tuple[str, str]] = set()
        self._list = tree / "imported"
        self._tracer = Tracer(f"{self.source}/")
        self._list.write_text("")
        os.environ[FOLLOWED] = str(self._list)
        self._tracer.start()

    def pytest_runtestloop(self, session: Any) -> bool:
        """Instead of all tests."""
        import shoal

        for module in pkgutil.walk_packages(shoal.__path__, "shoal."):
            if not module.name.endswith("__main__"):
                with contextlib.suppress(ImportError):
                    importlib.import_module(module.name)
        self._tracer.stop()
        del os.environ[FOLLOWED]
        self.entered = {tuple(line.split("\t")) for line in self._list.read_text().splitlines()}  # type: ignore[misc]
        self.items = {item.nodeid: item for item in session.items}
        below = f"{self.source}/"
        for found in gc.get_objects():
            if type(found) is FunctionType and found.__code__.co_filename.startswith(below):
                self.functions[found.__code__.co_filename[len(below) :], found.__code__.co_qualname].append(found)
        self.work(self)
        return True

    def can_plant(self, mutant: Mutant, tests: list[str]) -> bool:
        """Whether a function of a module that is loaded can get the fault, and its tests are collected."""
        top = mutant.function.partition(".<locals>.")[0]
        places = {(mutant.module, top), (mutant.module, mutant.function)}
        there = (mutant.module, top) in self.functions and self.items.keys() >= set(tests)
        return bool(top) and there and not places & self.entered

    def plant(self, mutant: Mutant) -> None:
        """Give the function the code that has the fault."""
        top = mutant.function.partition(".<locals>.")[0]
        faulty = compile(mutant.text, str(self.source / mutant.module), "exec", dont_inherit=True)
        made = {code.co_firstlineno: code for code in _codes(faulty) if code.co_qualname == top}
        for function in self.functions[mutant.module, top]:
            function.__code__ = made[function.__code__.co_firstlineno]

    def meet(self, mutant: Mutant, names: list[str], noting: Noting) -> int:
        """Plant a fault, and run tests up to the first that fails."""
        self.plant(mutant)
        items = [self.items[name] for name in names]
        for item, following in zip(items, [*items[1:], None], strict=True):
            if not noting.passes(item, following):
                return 1
        return 0


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
