"""Every method takes a time limit.

At the limit it answers with what it has, or says that it has nothing yet.
"""

from __future__ import annotations

import re
import threading

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import InfeasibleError
from shoal.methods import METHODS, Levels
from shoal.methods.auto import make_method
from shoal.methods.time_limits import answer_within
from shoal.models.partial_knowledge import Known
from shoal.plan.plan import Plan
from shoal.schema import Column, Role, Schema, Widths

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
    return Plan(SCHEMA, models if name != "hidden-cells" else (Known(models[0], 2),), make_method(name, given))


def test_every_search_takes_a_time_limit():
    for name, method in METHODS.items():
        assert ("time_limit" in method.__dataclass_fields__) == (name not in AT_ONCE), name


@pytest.mark.parametrize("name", SEARCHES)
def test_expired_limit_gives_an_answer_or_a_reason(name):
    """The answer meets the models; the reason names ``time_limit``."""
    try:
        release = shoal.anonymize(people(), plan_of(name, 1e-6))
    except InfeasibleError as error:
        assert "(time_limit)" in str(error)
        assert name in ("switching", "anti-unification", "mdav", "cbfs", "v-mdav", "k-first", "p-first")
        return
    assert all(model["holds"] for model in release.certificate["models"])


@pytest.mark.parametrize("name", ["hidden-cells", "local-suppression", "mondrian", "refine", "switching", "top-down"])
def test_generous_limit_changes_nothing(name):
    free, limited = (shoal.anonymize(people(), plan_of(name, limit)) for limit in (None, 600))
    assert limited.table.equals(free.table)
    assert limited.certificate["method"].get("finished", True)


def test_no_answer_in_time_is_infeasible():
    never = threading.Event()
    with pytest.raises(InfeasibleError, match=re.escape("within 0.05 seconds (time_limit)")):
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
