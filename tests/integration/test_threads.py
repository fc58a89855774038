"""``[engine] threads`` and ``[engine] memory`` apply to methods too.

A method that cannot fit into the memory is refused.
"""

from __future__ import annotations

import threading
import time

import pyarrow as pa
import pytest

import shoal
from shoal.errors import PlanError
from shoal.methods.base import Method
from shoal.runtime.threads import limit_threads, parallel_map, thread_limit
from shoal.table import frequency_set
from tests.builders.errors import has_code


def peak_of_running_tasks(limit: int, items: int) -> int:
    """Return the largest number of nested tasks that run at once."""
    lock, now, peak = threading.Lock(), 0, 0

    def inner(_: int) -> None:
        nonlocal now, peak
        with lock:
            now += 1
            peak = max(peak, now)
        time.sleep(0.01)
        with lock:
            now -= 1

    with limit_threads(limit):
        parallel_map(lambda _: parallel_map(inner, range(items)), range(items))
    return peak


@pytest.mark.parametrize("limit", [1, 2, 3, 5])
def test_nested_threads_stay_within_the_limit(limit: int) -> None:
    assert peak_of_running_tasks(limit, 4) <= limit


def test_results_in_the_order_of_items() -> None:
    assert parallel_map(lambda x: x * x, range(20)) == [x * x for x in range(20)]
    assert parallel_map(abs, []) == []


def test_limit_ends_with_its_block() -> None:
    before = thread_limit()
    with limit_threads(1):
        assert thread_limit() == 1
        with limit_threads(None):
            assert thread_limit() == 1
    assert thread_limit() == before


def test_method_runs_with_the_threads_of_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    decide = shoal.methods.Levels.decide

    def look(self: shoal.methods.Levels, problem: object) -> object:
        seen.append(thread_limit())
        return decide(self, problem)  # type: ignore[arg-type]

    monkeypatch.setattr(shoal.methods.Levels, "decide", look)
    plan = {
        "columns": {"a": {"role": "quasi-identifier"}},
        "models": [{"name": "k-anonymity", "k": 2}],
        "method": {"name": "levels"},
        "engine": {"threads": 3},
    }
    shoal.anonymize(pa.table({"a": ["1", "1"]}), plan)
    assert seen == [3]


def test_table_is_coded_on_the_threads_of_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """This holds for reading, verification and check."""
    seen: list[bool] = []
    encode = frequency_set.encode_column

    def look(*given: object) -> object:
        seen.append(threading.current_thread() is threading.main_thread())
        return encode(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(frequency_set, "encode_column", look)
    monkeypatch.setattr(frequency_set, "MIN_COMBINATIONS_FOR_THREADS", 1)
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    columns = {"a": {"role": "quasi-identifier"}, "b": {"role": "quasi-identifier"}}
    plan = {"columns": columns, "models": ["k-anonymity k=2"], "method": {"name": "levels"}}
    table = pa.table({"a": ["1", "1"], "b": ["2", "2"]})
    for threads, alone in ((1, True), (2, False)):
        seen.clear()
        shoal.anonymize(table, {**plan, "engine": {"threads": threads}})
        assert seen == [alone] * 4
        shoal.check(table, plan={**plan, "engine": {"threads": threads}})
        assert seen == [alone] * 6


def test_method_beyond_the_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = {
        "columns": {"a": {"role": "quasi-identifier"}},
        "models": [{"name": "k-anonymity", "k": 2}],
        "method": {"name": "levels"},
        "engine": {"memory": "64MB"},
    }
    table = pa.table({"a": ["1", "1"]})
    shoal.anonymize(table, plan)
    monkeypatch.setattr(Method, "min_memory_bytes", lambda self, problem: 65 * 10**6)
    with pytest.raises(PlanError, check=has_code("engine.memory-too-small")):
        shoal.anonymize(table, plan)
