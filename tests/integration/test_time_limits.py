"""Every method takes a time limit.

At the limit it answers with what it has, or says that it has nothing yet.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import InfeasibleError
from shoal.methods import METHODS, Levels
from shoal.methods.auto import make_method
from shoal.methods.time_limits import answer_within
from shoal.models.partial_knowledge import LooselyKnown
from shoal.plan.plan import Plan
from shoal.runtime.search_allowance import allow_seconds
from shoal.schema import Column, Role, Schema, Widths
from shoal.table.people import hitting_number
from shoal.verification.independent.people import _min_hitting_set
from tests.builders.errors import has_code

QUASI = ("age", "size", "zip")
SCHEMA = Schema({name: Column(Role.QUASI_IDENTIFIER, Widths((5, 20))) for name in QUASI})
AT_ONCE = {"levels", "population-grid", "sampled-grid"}
"""Methods without a search: they take as long as counting the table."""
SEARCHES = sorted(set(METHODS) - AT_ONCE - {"univariate", "facts-suppression"})
"""The last two need other tables: univariate one column, facts-suppression people with several rows."""


def people(rows=60):
    random = np.random.default_rng(7)
    return pa.table({name: random.integers(0, 80, rows) for name in QUASI})


def plan_of(name, limit):
    given = {} if limit is None else {"time_limit": limit}
    models = (shoal.models.KAnonymity(4),)
    return Plan(SCHEMA, models if name != "hidden-cells" else (LooselyKnown(models[0], 2),), make_method(name, given))


def test_every_search_takes_a_time_limit():
    for name, method in METHODS.items():
        assert ("time_limit" in method.__dataclass_fields__) == (name not in AT_ONCE), name


@pytest.mark.parametrize("name", SEARCHES)
def test_expired_limit_gives_an_answer_or_a_reason(name):
    """The answer meets the models; the reason names ``time_limit``."""
    try:
        release = shoal.anonymize(people(), plan_of(name, 1e-6))
    except InfeasibleError as error:
        assert "(`time_limit`)" in str(error)
        assert name in ("switching", "anti-unification", "mdav", "cbfs", "v-mdav", "k-first", "p-first")
        return
    assert all(model["holds"] for model in release.figures["models"])


@pytest.mark.parametrize("name", ["hidden-cells", "local-suppression", "mondrian", "refine", "switching", "top-down"])
def test_generous_limit_changes_nothing(name):
    free, limited = (shoal.anonymize(people(), plan_of(name, limit)) for limit in (None, 600))
    assert limited.table.equals(free.table)
    assert limited.figures["method"].get("finished", True)


def test_no_answer_in_time_is_infeasible():
    never = threading.Event()
    with pytest.raises(InfeasibleError, check=has_code("method.out-of-time")):
        answer_within(Levels(), 0.05, lambda found: never.wait(10))
    never.set()


def test_work_with_an_answer_is_waited_for():
    def work(found):
        found.set()
        threading.Event().wait(0.2)
        return "done"

    assert answer_within(Levels(), 0.1, work) == "done"


def test_errors_of_the_work_are_raised():
    def work(found):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        answer_within(Levels(), 5.0, work)


HARD_TABLE = """
import sys
import numpy as np, pyarrow as pa, shoal
from shoal.methods.auto import make_method
from shoal.plan.plan import Plan
from shoal.schema import Column, Role, Schema

random = np.random.default_rng(1)
rows = [(who, value) for who in range(120) for value in random.choice(40, 5, replace=False)]
table = pa.table({
    "who": [who for who, _ in rows], "sex": ["mf"[who % 2] for who, _ in rows], "ill": [f"i{v}" for _, v in rows],
})
schema = Schema({
    "who": Column(Role.PERSON), "sex": Column(Role.QUASI_IDENTIFIER), "ill": Column(Role.SENSITIVE),
})
plan = Plan(schema, (shoal.models.PSensitive(12),), make_method(sys.argv[1], {"time_limit": 0.5}))
try:
    shoal.anonymize(table, plan)
except shoal.errors.InfeasibleError as error:
    print(error)
"""


@pytest.mark.parametrize("name", ["mondrian", "full-domain", "auto"])
def test_values_of_people_are_counted_within_the_limit(name):
    """An exact search that would take days."""
    done = subprocess.run(
        [sys.executable, "-c", HARD_TABLE, name], capture_output=True, text=True, timeout=100, check=True
    )
    assert "(`time_limit`)" in done.stdout


def hard_sets():
    random = np.random.default_rng(1)
    return {frozenset(random.choice(40, 5, replace=False).tolist()) for _ in range(120)}


@pytest.mark.parametrize("search", [hitting_number, _min_hitting_set])
def test_exact_search_ends_with_the_seconds_of_its_block(search):
    start = time.monotonic()
    with allow_seconds(0.2), pytest.raises(InfeasibleError, check=has_code("people.out-of-time")):
        search(hard_sets(), 14)
    assert time.monotonic() - start < 20


@pytest.mark.parametrize(("search", "limit"), [(hitting_number, 8), (_min_hitting_set, 3)])
def test_exact_searches_share_the_seconds_of_a_block(search, limit):
    """Each is short; together they are not."""
    sets = hard_sets()
    search(sets, limit)

    def ask_often():
        with allow_seconds(0.1):
            for _ in range(2_000):
                search(sets, limit)

    with pytest.raises(InfeasibleError):
        ask_often()


def test_searches_for_hitting_sets_agree():
    random = np.random.default_rng(2)
    for _ in range(300):
        sets = {frozenset(random.choice(7, random.integers(1, 4)).tolist()) for _ in range(random.integers(0, 12))}
        limit = int(random.integers(1, 6))
        assert hitting_number(sets, limit) == _min_hitting_set(sets, limit)
