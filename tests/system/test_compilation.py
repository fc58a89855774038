"""``shoal compile`` reaches all compiled code.

Code compiled later does not count towards the time limit of a search.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

import shoal.kernels.cache  # noqa: F401 - from now on the clock excludes compilation
from shoal.errors import InfeasibleError
from shoal.methods import Levels
from shoal.methods.time_limits import answer_within, deadline_of, is_late
from shoal.runtime import search_clock

numba = pytest.importorskip("numba")

REACHED = """
import importlib
from pathlib import Path

import shoal
from shoal.api import compile as compilation
from shoal.kernels import cache  # before Numba, which is then set to use the code that is kept

from numba.core.dispatcher import Dispatcher

from shoal.methods import METHODS
from shoal.methods.local import hidden_cells_search
from shoal.models import partial_knowledge
from shoal.schema import Column, Role, Schema

for part in compilation.PARTS:
    compilation._run(part)
package = Path(shoal.__file__).parent
found = {}
for file in cache._kernels():
    module = importlib.import_module("shoal." + ".".join(file.relative_to(package).with_suffix("").parts))
    found |= {id(made): made for made in vars(module).values() if isinstance(made, Dispatcher)}
waiting = [made for made in found.values() if made.signatures]
reached = set()
while waiting:  # what is called by code that is there is part of it
    made = waiting.pop()
    if id(made) not in reached:
        reached.add(id(made))
        used = (made.py_func.__globals__.get(name) for name in made.py_func.__code__.co_names)
        waiting += [other for other in used if isinstance(other, Dispatcher)]
for key, made in found.items():
    if key not in reached:
        print("unreached", made.py_func.__module__, made.py_func.__name__)

from shoal.kernels.column_subsets import count_sets, hide_rare
before = [list(made.signatures) for made in (count_sets, hide_rare)]
partial_knowledge.MIN_ENTRIES_TO_COMPILE = hidden_cells_search.MIN_ENTRIES_TO_COMPILE = 0
table = compilation.census_table(200)
schema = Schema({name: Column(Role.QUASI_IDENTIFIER) for name in compilation.QUASI_IDENTIFIERS})
table = table.select(list(compilation.QUASI_IDENTIFIERS))
model = partial_knowledge.LooselyKnown(shoal.models.KAnonymity(3), 2)
shoal.anonymize(table, shoal.Plan(schema, (model,), METHODS["hidden-cells"]()))
if before != [list(made.signatures) for made in (count_sets, hide_rare)]:
    print("other signatures")
"""


def test_compile_reaches_all_compiled_code():
    done = subprocess.run([sys.executable, "-c", REACHED], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr[-2000:]


def test_search_clock_stops_during_compilation():
    @numba.njit
    def fresh(number):
        return number**0.5 + 1

    before, started = search_clock.now(), time.monotonic()
    fresh(3)
    counted, elapsed = search_clock.now() - before, time.monotonic() - started
    assert counted < elapsed / 2
    before = search_clock.now()
    threading.Event().wait(0.02)
    assert search_clock.now() - before >= 0.02


def test_nested_compilations_are_counted_once(monkeypatch):
    moment = 100.0
    monkeypatch.setattr(search_clock.time, "monotonic", lambda: moment)
    monkeypatch.setattr(search_clock, "_compiling", (0, 0.0, 0.0))
    moment = 101.0
    search_clock.begin_compilation()
    moment = 105.0
    search_clock.begin_compilation()
    moment = 107.0
    assert search_clock.now() == 101.0
    search_clock.end_compilation()
    assert search_clock.now() == 101.0
    moment = 110.0
    search_clock.end_compilation()
    assert search_clock.now() == 101.0
    moment = 112.0
    assert search_clock.now() == 103.0


def compiling(seconds):
    search_clock.begin_compilation()
    threading.Event().wait(seconds)
    search_clock.end_compilation()


def test_compilation_does_not_use_up_the_time_limit():
    deadline = deadline_of(0.1)
    compiling(0.3)
    assert not is_late(deadline)

    def work(found):
        compiling(0.4)
        return "done"

    assert answer_within(Levels(), 0.2, work) == "done"
    with pytest.raises(InfeasibleError, match="time_limit"):
        answer_within(Levels(), 0.05, lambda found: (compiling(0.1), threading.Event().wait(1)))
