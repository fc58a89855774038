"""Hidden cells as labels: the search, its slow twin and its result."""

from __future__ import annotations

from itertools import combinations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.methods.local import strict_cells
from tests.reference import scenarios as slow

QUASI = ("a", "b", "c")
VALUES = {"a": "uv", "b": "wxyz", "c": "opq"}
ROWS = st.lists(
    st.tuples(st.sampled_from("uv"), st.sampled_from("wxyz"), st.sampled_from("opq"), st.sampled_from("ABC")),
    min_size=6,
    max_size=40,
)


def table_of(rows):
    return pa.table({name: [row[j] for row in rows] for j, name in enumerate((*QUASI, "secret"))})


def plan_of(scenarios, known_to_others=False, **method):
    columns = dict.fromkeys(QUASI, "quasi-identifier")
    columns["secret"] = {"role": "sensitive", "known_to_others": known_to_others}
    return {
        "columns": columns,
        "together": False,
        "scenarios": scenarios,
        "method": {"name": "hidden-cells", **method},
    }


@settings(max_examples=60, deadline=None)
@given(
    rows=ROWS,
    k=st.integers(2, 4),
    plus=st.integers(1, 3),
    importance=st.tuples(*[st.sampled_from([1.0, 2.0, 5.0])] * 3),
)
def test_the_search_is_its_twin(rows, k, plus, importance):
    document = plan_of(
        [{"name": "few", "columns": [], "plus": plus, "k": k}],
        levels=dict.fromkeys(QUASI, 0),
        importance=dict(zip(QUASI, importance, strict=True)),
    )
    hidings, original = [], strict_cells.StrictHiding

    class Recorded(original):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            hidings.append((self, self.lifted.tolist()))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strict_cells, "StrictHiding", Recorded)
        release = shoal.anonymize(table_of(rows), document)
    ((hiding, codes),) = hidings
    sets = list(combinations(range(3), plus))
    expected = slow.hide_strictly(
        codes, hiding.cells.count.tolist(), hiding.cost.tolist(), sets, k, strict_cells.SHOWING_PASSES
    )
    found = [
        [None if hidden else code for code, hidden in zip(row, line, strict=True)]
        for row, line in zip(codes, hiding.hidden.tolist(), strict=True)
    ]
    assert found == expected
    released = release.table.to_pylist()
    for known in sets:
        assert min(map(len, slow.crowds(released, [QUASI[j] for j in known]))) >= k


@settings(max_examples=60, deadline=None)
@given(rows=ROWS, known_to_others=st.booleans(), plus=st.integers(0, 2), limit=st.sampled_from([None, 1e-9]))
def test_crowds_meet_models_with_and_without_time(rows, known_to_others, plus, limit):
    own = [{"name": "p-sensitive", "p": 2}, {"name": "t-closeness", "t": 0.6}]
    scenarios = [
        {"name": "register", "columns": ["a"], "plus": plus, "k": 2, "models": own},
        {"name": "others", "columns": ["b", "c"], "k": 3},
    ]
    extra = {} if limit is None else {"time_limit": limit}
    try:
        release = shoal.anonymize(table_of(rows), plan_of(scenarios, known_to_others, **extra))
    except shoal.errors.InfeasibleError as error:
        counts = [sum(row[3] == value for row in rows) for value in {row[3] for row in rows}]
        assert len(counts) < 2 or (known_to_others and plus and min(counts) < 2 and "known_to_others" in str(error))
        return
    released = release.table.to_pylist()
    further = ["b", "c", *(["secret"] if known_to_others else [])]
    for known in slow.sets_of(["a"], further, plus):
        crowds = slow.crowds(released, known)
        assert min(map(len, crowds)) >= 2
        if "secret" not in known:
            assert min(len({released[number]["secret"] for number in crowd}) for crowd in crowds) >= 2
    assert min(map(len, slow.crowds(released, ["b", "c"]))) >= 3


def test_people_are_counted():
    rows = [("u", "w" if i < 8 else "x", "o", "AB"[i % 2]) for i in range(12)]
    owners = ["p1"] * 8 + ["p2", "p3", "p4", "p5"]
    document = plan_of([{"name": "any", "columns": [], "plus": 2, "k": 3}])
    document["columns"]["who"] = "person"
    released = shoal.anonymize(table_of(rows).append_column("who", pa.array(owners)), document).table.to_pylist()
    assert {row["b"] for row in released} == {"*"}  # eight rows of one person are no crowd


def test_a_star_of_the_source_is_the_label_of_a_hidden_cell():
    rows = [("*", "w", "o", "A")] * 2 + [("u", "w", "o", "B")] + [("v", "w", "o", "B")] * 3
    document = plan_of([{"name": "any", "columns": [], "plus": 1, "k": 3}])
    released = shoal.anonymize(table_of(rows), document).table.to_pylist()
    assert sorted(row["a"] for row in released) == ["*"] * 3 + ["v"] * 3


def test_models_of_all_columns_and_loose_readings_are_refused():
    scenarios = [{"name": "any", "columns": [], "plus": 1, "k": 2}]
    both = {**plan_of(scenarios), "together": True, "models": ["k-anonymity k=2"]}
    with pytest.raises(shoal.errors.PlanError) as caught:
        shoal.Plan.from_dict(both)
    assert caught.value.code == "method.needs-known"
    mixed = plan_of([*scenarios, {"name": "loose", "columns": ["a"], "k": 2, "reading": "loose"}])
    with pytest.raises(shoal.errors.PlanError) as caught:
        shoal.Plan.from_dict(mixed)
    assert caught.value.code == "scenarios.known-for-method"
