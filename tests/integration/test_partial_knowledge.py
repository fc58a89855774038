"""Intruders with partial knowledge: models, verification, methods, plans.

The intruder knows few columns. All are compared with the definition on random tables.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import shoal
import shoal.verification.check
from shoal.errors import PlanError, VerificationError
from shoal.methods.local import cell_levels, hidden_cells_search
from shoal.models import partial_knowledge as known_models
from shoal.models.partial_knowledge import KnowsColumns, LooselyKnown
from shoal.plan.coerce import parse_model
from shoal.plan.plan import Plan
from shoal.schema import Column, Role, Schema, Widths
from tests.builders.conformance import MODELS, SECRETS
from tests.builders.errors import has_code
from tests.builders.partial_knowledge import NAMES, assert_agreement, evaluate_both_ways, schema_of
from tests.reference import known as slow

EVEN_AND_ODD = [list(row) for row in product("pq", repeat=3) for _ in range(3)]


@st.composite
def releases(draw):
    """A source of labels, the same with hidden cells, and sensitive values."""
    columns = draw(st.integers(1, 4))
    rows = draw(st.integers(1, 14))
    label = st.sampled_from("pqr")
    people = [[draw(label) for _ in range(columns)] for _ in range(rows)]
    often = draw(st.integers(0, 6))
    released = [["*" if draw(st.integers(0, 9)) < often else cell for cell in person] for person in people]
    secrets = [draw(st.sampled_from([*SECRETS, None])) for _ in range(rows)]
    return people, released, secrets


@settings(max_examples=150, deadline=None)
@given(releases(), st.integers(1, 3), st.sampled_from(sorted(MODELS)))
@example(
    # the only (p, q) shows (p, *), other p show r, others show q: visible pairs are frequent, yet one row remains
    (
        [["p", "q"], ["p", "r"], ["p", "r"], ["p", "r"], ["q", "q"], ["q", "q"], ["q", "q"]],
        [["p", "*"], ["p", "r"], ["p", "r"], ["p", "r"], ["q", "q"], ["q", "q"], ["q", "q"]],
        ["u"] * 7,
    ),
    2,
    "k",
)
@example(
    # any two columns show both values in every group, all three show one
    (EVEN_AND_ODD, EVEN_AND_ODD, ["uv"[sum(cell == "q" for cell in row) % 2] for row in EVEN_AND_ODD]),
    3,
    "p",
)
def test_known_columns_match_the_definition(release, known, name):
    people, released, secrets = release
    known = min(known, len(people[0]))
    sets = slow.up_to(range(len(people[0])), known)
    assert_agreement(people, released, secrets, lambda model: LooselyKnown(model, known), sets, name)


@settings(max_examples=60, deadline=None)
@given(releases(), st.data(), st.sampled_from(sorted(MODELS)))
def test_key_sets_match_the_definition(release, data, name):
    people, released, secrets = release
    columns = data.draw(st.lists(st.integers(0, len(people[0]) - 1), min_size=1, unique=True))
    sets = slow.up_to(columns, len(columns))
    keys = tuple(NAMES[j] for j in columns)
    assert_agreement(people, released, secrets, lambda model: KnowsColumns(model, keys), sets, name)


@settings(max_examples=60, deadline=None)
@given(releases(), st.integers(1, 3))
@example(
    # one of the two columns is hidden in some rows: the only (p, *) has no other row for certain
    (
        [["p", "q"], ["p", "q"], ["q", "q"], ["q", "q"], ["p", "r"], ["q", "r"], ["q", "r"]],
        [["p", "q"], ["p", "q"], ["q", "q"], ["q", "q"], ["p", "*"], ["q", "*"], ["q", "*"]],
        ["u"] * 7,
    ),
    2,
)
def test_without_the_original_the_rows_of_a_person_are_a_lower_bound(release, known):
    people, released, secrets = release
    known = min(known, len(people[0]))
    sets = slow.up_to(range(len(people[0])), known)
    found, _ = evaluate_both_ways(
        people, released, secrets, LooselyKnown(shoal.models.KAnonymity(2), known), with_source=False
    )
    if found.facts is None:
        certain = min(slow.certain_rows_of(row, released, chosen) for row in released for chosen in sets)
        assert found.effective["rows_per_person"] == certain <= slow.fewest_rows(people, released, sets)


def test_frequent_pairs_alone_do_not_hide_a_person():
    people = [["p", "q"], *[["p", "r"]] * 3, *[["q", "q"]] * 3]
    released = [["p", "*"], *people[1:]]
    found, opinion = evaluate_both_ways(people, released, ["u"] * 7, LooselyKnown(shoal.models.KAnonymity(2), 2))
    assert (found.failing_groups, found.enough_candidates, found.facts) == (0, False, 2)
    assert found.effective["rows_per_person"] == 1
    assert not opinion.holds
    alone, _ = evaluate_both_ways(
        people, released, ["u"] * 7, LooselyKnown(shoal.models.KAnonymity(2), 2), with_source=False
    )
    assert alone.holds
    assert not alone.enough_candidates


# -- methods -----------------------------------------------------------------------------------------


def table_of(rows, seed, columns=4):
    random = np.random.default_rng(seed)
    quasi = {
        name: pa.array([None if random.random() < 0.05 else str(v) for v in random.geometric(0.3, rows)], "string")
        for name in NAMES[:columns]
    }
    return pa.table({**quasi, "s": random.choice(SECRETS, rows, p=[0.4, 0.3, 0.2, 0.1]).tolist()})


def plan_of(models, method, **options):
    from shoal.schema import Widths

    return Plan(schema_of(NAMES, hierarchy=Widths((2, 4))), models, method, **options)


METHODS = {
    "hidden-cells": shoal.methods.HiddenCells(),
    "local-suppression": shoal.methods.LocalSuppression(),
    "full-domain": shoal.methods.FullDomain(),
    "levels": shoal.methods.Levels({"a": 2, "b": 3, "c": 2, "d": 3}),
}


def visible_cells(table, names=NAMES):
    return [
        ["" if v is None else str(v) for v in row]
        for row in zip(*(table[name].to_pylist() for name in names), strict=True)
    ]


@pytest.mark.parametrize("name", sorted(MODELS))
@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize("known", [1, 3])
def test_methods_satisfy_partial_knowledge_models(name, method, known):
    """Every method that supports partial knowledge satisfies every model."""
    models, holds = MODELS[name]
    table = table_of(150, known)
    plan = plan_of(tuple(LooselyKnown(model, known) for model in models), METHODS[method])
    try:
        release = shoal.anonymize(table, plan)
    except shoal.errors.InfeasibleError as error:
        assert method == "levels"
        assert "sets of columns" in str(error)
        return
    cells, secrets = visible_cells(release.table), release.table["s"].to_pylist()
    assert len(cells) == 150
    assert sorted(secrets) == sorted(table["s"].to_pylist())
    sets = slow.up_to(range(4), known)
    assert slow.row_to_people(cells, secrets, sets, holds)
    people = labels_of(table, release)
    assert slow.person_to_rows(people, cells, secrets, sets, holds)
    assert slow.fewest_rows(people, cells, sets) >= max(getattr(model, "k", 1) for model in models)
    assert all(
        model["judged_by"] == "the model and the independent verification" for model in release.figures["models"]
    )
    assert shoal.anonymize(table, plan).table.equals(release.table)


@pytest.mark.parametrize(("seed", "known"), [(seed, known) for seed in range(4) for known in (1, 2, 3)])
def test_compiled_hiding_matches_the_search(seed, known, monkeypatch):
    random = np.random.default_rng(seed)
    table = pa.table({name: pa.array(random.integers(0, 3 + j, 60)) for j, name in enumerate("abcde")})
    schema = Schema({name: Column(Role.QUASI_IDENTIFIER) for name in "abcde"})
    plan = shoal.Plan(schema, (LooselyKnown(shoal.models.KAnonymity(3), known),), shoal.methods.HiddenCells())
    slowly = shoal.anonymize(table, plan)
    monkeypatch.setattr(hidden_cells_search, "MIN_ENTRIES_TO_COMPILE", 0)
    monkeypatch.setattr(known_models, "MIN_ENTRIES_TO_COMPILE", 0)
    for capacity in (None, 40):  # wider sets are left to the search
        if capacity is not None:
            monkeypatch.setattr(
                "shoal.kernels.column_subsets.max_table_cells", lambda rows, capacity=capacity: capacity
            )
            monkeypatch.setattr(hidden_cells_search, "max_table_cells", lambda rows, capacity=capacity: capacity)
        compiled = shoal.anonymize(table, plan)
        assert compiled.table.equals(slowly.table)
        assert compiled.figures == slowly.figures


def test_auto_with_partial_knowledge():
    """Auto tries the methods that support it and takes the least loss."""
    table = table_of(150, 2)
    models = (LooselyKnown(shoal.models.KAnonymity(3), 2),)
    facts = shoal.anonymize(table, plan_of(models, shoal.methods.Auto())).figures["method"]
    losses = {tried["method"]: tried["ncp"] for tried in facts["tried"]}
    assert set(losses) == {"hidden-cells", "full-domain"}
    assert facts["chosen"] == min(losses, key=losses.get)
    with pytest.raises(PlanError, check=has_code("method.none-serves-plan")):
        plan_of(models, shoal.methods.Auto(methods=("mondrian", "refine")))


def labels_of(table, release):
    """Return the labels of the source's rows at the certificate's levels."""
    return people_at(table, [release.figures["levels"][name] for name in NAMES])


def label_at(value, level):
    if level == 3:
        return "*"
    if value is None:
        return ""
    width = {0: 1, 1: 2, 2: 4}[level]
    low = int(value) // width * width
    return value if width == 1 else f"{low}..{low + width - 1}"


def test_key_sets_replace_the_set_of_all_columns():
    """Models apply to key sets instead of all columns.

    A key set may have separate parameters.
    """
    table = table_of(200, 5)
    keys = (shoal.models.KeySet(("a", "b"), k=8, reading="loose"), shoal.models.KeySet(("c",), reading="loose"))
    release = shoal.anonymize(table, plan_of((shoal.models.KAnonymity(3),), shoal.methods.HiddenCells(), keys=keys))
    cells, secrets = visible_cells(release.table), release.table["s"].to_pylist()
    assert slow.row_to_people(cells, secrets, slow.up_to((0, 1), 2), lambda group, _: len(group) >= 8)
    assert slow.row_to_people(cells, secrets, slow.up_to((2,), 1), lambda group, _: len(group) >= 3)
    assert [(model["parameters"]["k"], model["parameters"]["keys"]) for model in release.figures["models"]] == [
        (8, ["a", "b"]),
        (3, ["c"]),
    ]
    assert all(model["facts"]["all_columns_at_once"] == "not promised" for model in release.figures["models"])
    assert release.figures["method"]["hidden_cells_by_column"]["d"] == 0


# -- verification before a release ------------------------------------------------------------------


def test_wrongly_visible_cell_is_noticed(monkeypatch):
    """A method that shows one cell too many is stopped by verification."""
    from shoal.methods.local import hidden_cells_search

    real = hidden_cells_search.recode_cells

    def careless(problem, table, levels, hidden, labels):
        hidden = hidden.copy()
        hidden[tuple(np.argwhere(hidden)[0])] = False
        return real(problem, table, levels, hidden, labels)

    monkeypatch.setattr(hidden_cells_search, "recode_cells", careless)
    with pytest.raises(VerificationError):
        shoal.anonymize(
            table_of(150, 3),
            plan_of((LooselyKnown(shoal.models.KAnonymity(4), 2),), shoal.methods.HiddenCells(levels=ZERO)),
        )


ZERO = dict.fromkeys(NAMES, 0)


def test_levels_are_chosen_by_a_part_of_the_larger_sets(monkeypatch):
    demands = hidden_cells_search._demands([LooselyKnown(shoal.models.KAnonymity(3), 3)], tuple("abcdef"))
    assert demands.tried == demands.sets
    monkeypatch.setattr(cell_levels, "MAX_LARGER_SETS", 7)
    fewer = replace(demands)
    assert sum(len(chosen) == 3 for chosen in fewer.tried) == 7
    assert [c for c in fewer.tried if len(c) < 3] == [c for c in fewer.sets if len(c) < 3]
    assert sorted(fewer.tried, key=lambda c: (len(c), c)) == fewer.tried


def wide_table(rows, columns, seed=7):
    """Numbers that are similar in groups.

    Pairs of columns say little, triples say much.
    """
    random = np.random.default_rng(seed)
    kind = random.integers(0, 4, rows)
    names = [f"c{j}" for j in range(columns)]
    table = pa.table({name: np.clip(random.normal(20 + 9 * kind, 9), 0, 59).astype(int) for name in names})
    schema = Schema({name: Column(Role.QUASI_IDENTIFIER, Widths((5, 20))) for name in names})
    return table, schema


def test_levels_chosen_by_some_sets_are_judged_by_all(monkeypatch):
    """Levels that look good by some of the sets are judged by all."""
    table, schema = wide_table(400, 7)
    plan = shoal.Plan(schema, (LooselyKnown(shoal.models.KAnonymity(3), 3),), shoal.methods.HiddenCells())
    monkeypatch.setattr(cell_levels, "MAX_LARGER_SETS", 1)
    results = {}
    for minimum in (0, 10**12):
        monkeypatch.setattr(hidden_cells_search, "MIN_ENTRIES_TO_COMPILE", minimum)
        judged = shoal.anonymize(table, plan)
        with patch.object(cell_levels.LevelChooser, "_judge_by_all", lambda self: None):
            by_a_part = shoal.anonymize(table, plan)
        assert judged.utility["ncp"] < by_a_part.utility["ncp"]
        results[minimum] = judged
    assert results[0].table.equals(results[10**12].table)


def test_cells_hidden_in_trials_of_levels_are_reused(monkeypatch):
    table, schema = wide_table(400, 7)
    plan = shoal.Plan(schema, (LooselyKnown(shoal.models.KAnonymity(3), 3),), shoal.methods.HiddenCells())
    monkeypatch.setattr(cell_levels, "MAX_LARGER_SETS", 1)
    reused = shoal.anonymize(table, plan)
    monkeypatch.setattr(cell_levels.LevelChooser, "begun", lambda self: None)
    assert reused.table.equals(shoal.anonymize(table, plan).table)


@pytest.mark.parametrize("minimum", [0, 10**12])
@pytest.mark.parametrize("ticks", [0, 1, 3, 9, 30])
def test_hidden_cells_are_valid_after_a_timeout(minimum, ticks, monkeypatch):
    """At every moment of a timeout; verified before release, as always."""
    table, schema = wide_table(300, 6)
    left = iter([False] * ticks)
    monkeypatch.setattr(hidden_cells_search, "MIN_ENTRIES_TO_COMPILE", minimum)
    monkeypatch.setattr(hidden_cells_search, "SETS_PER_TIME_CHECK", 3)
    monkeypatch.setattr(hidden_cells_search, "is_late", lambda deadline: next(left, True))
    plan = shoal.Plan(schema, (LooselyKnown(shoal.models.KAnonymity(3), 3),), shoal.methods.HiddenCells(time_limit=1))
    release = shoal.anonymize(table, plan)
    assert release.figures["models"][0]["judged_by"] == "the model and the independent verification"
    assert slow.row_to_people(
        rows_of(release.table), [0] * 300, slow.up_to(range(6), 3), lambda group, _: len(group) >= 3
    )


def rows_of(table):
    return list(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))


def test_verification_stops_a_release_passed_by_models(monkeypatch):
    from shoal.methods.local import hidden_cells_search
    from shoal.models.partial_knowledge import SetsVerdict

    monkeypatch.setattr(hidden_cells_search._Hiding, "run", lambda *_, **__: None)

    def blind(visible, entries, part, names, known):
        fails = np.zeros(len(visible.count), bool)
        return SetsVerdict(True, True, {"k": 4, "rows_per_person": 4}, 1, None, 0, fails)

    monkeypatch.setattr("shoal.models.partial_knowledge.assess_sets", blind)
    with pytest.raises(VerificationError, check=has_code("verification.judgements-differ")):
        shoal.anonymize(
            table_of(150, 3),
            plan_of((LooselyKnown(shoal.models.KAnonymity(4), 2),), shoal.methods.HiddenCells(levels=ZERO)),
        )


# -- plans -------------------------------------------------------------------------------------------


def document(**more):
    columns = {name: {"role": "quasi-identifier", "hierarchy": {"intervals": [2, 4]}} for name in NAMES}
    return {"columns": {**columns, "s": {"role": "sensitive"}}, "method": {"name": "hidden-cells"}, **more}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"models": [{"name": "k-anonymity", "k": 5, "known": 5, "reading": "loose"}]},
            "at most 4, the number of quasi-identifiers. Found 5",
        ),
        (
            {"models": [{"name": "k-anonymity", "k": 5, "known": 0, "reading": "loose"}]},
            "whole number of at least 1. Found 0",
        ),
        ({"models": [{"name": "k-anonymity", "k": 5, "known": "2", "reading": "loose"}]}, "whole number of at least 1"),
        ({"keys": [{"columns": ["a", "nobody"], "k": 5, "reading": "loose"}]}, "Found 'nobody', which is not one"),
        ({"keys": [{"columns": ["a", "s"], "k": 5, "reading": "loose"}]}, "Found 's', which is not one"),
        ({"keys": [{"columns": [], "k": 5, "reading": "loose"}]}, "at least one column. Found none"),
        ({"keys": [{"columns": ["a", "a"], "k": 5, "reading": "loose"}]}, "each of its columns once"),
        (
            {
                "keys": [
                    {"columns": ["a", "b"], "k": 5, "reading": "loose"},
                    {"columns": ["b", "a"], "k": 3, "reading": "loose"},
                ]
            },
            "two with the same columns",
        ),
        ({"keys": [{"columns": ["a"], "reading": "loose"}]}, "or a model, its own"),
        ({"keys": [{"columns": ["a"], "k": 1, "reading": "loose"}]}, "whole number of at least 2"),
        (
            {"keys": [{"columns": ["a"], "models": [{"name": "k-anonymity", "k": 5, "known": 1, "reading": "loose"}]}]},
            "must not have `known`",
        ),
        ({"models": [{"name": "k-anonymity", "k": 5}]}, "Every model must have `known`"),
        (
            {
                "models": [{"name": "k-anonymity", "k": 5, "known": 2, "reading": "loose"}],
                "method": {"name": "mondrian"},
            },
            "Use one of: .*hidden-cells",
        ),
        (
            {"keys": [{"columns": ["a"], "k": 5, "reading": "loose"}], "method": {"name": "mdav"}},
            "Use one of: .*hidden-cells",
        ),
    ],
)
def test_invalid_partial_knowledge_in_a_plan(more, message):
    with pytest.raises(PlanError, match=message):
        Plan.from_dict(document(**more))


def test_round_trip_of_a_plan_with_known_and_keys():
    plan = Plan.from_dict(
        document(
            models=[{"name": "k-anonymity", "k": 5, "known": 2, "reading": "loose"}, {"name": "l-diversity", "l": 2}],
            keys=[
                {"columns": ["a", "b"], "k": 9, "reading": "loose"},
                {"columns": ["c"], "models": [{"name": "l-diversity", "l": 3}], "reading": "loose"},
            ],
        )
    )
    assert Plan.from_dict(plan.to_dict()) == plan
    assert plan.model.parts == (
        LooselyKnown(shoal.models.KAnonymity(5), 2),
        KnowsColumns(shoal.models.KAnonymity(9), ("a", "b")),
        KnowsColumns(shoal.models.LDiversity(2), ("a", "b")),
        KnowsColumns(shoal.models.LDiversity(3), ("c",)),
    )


def test_a_model_on_the_command_line_can_say_known():
    assert parse_model("k-anonymity k=5 known=2 reading=loose") == LooselyKnown(shoal.models.KAnonymity(5), 2)


def test_check_of_the_release_alone():
    """Check reports what follows from the release without the original."""
    table = pa.table({"a": list("ppqq"), "b": ["r", "*", "r", "r"]})
    answer = shoal.check(table, ["k-anonymity k=2 known=2 reading=loose"], quasi_identifiers=["a", "b"]).to_dict()
    assert not answer["holds"]
    assert answer["models"][0]["facts"]["fails_at"] == 2
    good = shoal.check(table, ["k-anonymity k=2 known=1 reading=loose"], quasi_identifiers=["a", "b"]).to_dict()
    assert good["holds"]
    assert good["models"][0]["facts"]["checked_with"] == "the release alone"
    assert good["models"][0]["facts"]["person_to_rows"] == "not to be told from the release alone"
    with pytest.raises(PlanError, check=has_code("models.known-too-large")):
        shoal.check(table, ["k-anonymity k=2 known=3 reading=loose"], quasi_identifiers=["a", "b"])


# -- levels for all rows -----------------------------------------------------------------------------


def at_least_four(group, _):
    return len(group) >= 4


def people_at(table, node):
    rows = zip(*(table[name].to_pylist() for name in NAMES), strict=True)
    return [[label_at(value, level) for value, level in zip(row, node, strict=True)] for row in rows]


def share_of(table, node):
    """The loss ncp, from the labels' shares of the values that occur."""
    total = 0.0
    for name, level in zip(NAMES, node, strict=True):
        values = table[name].to_pylist()
        leaves = set(values)
        under = Counter(label_at(value, level) for value in leaves)
        covered = sum(under[label_at(value, level)] / len(leaves) for value in values) / len(values)
        total += np.log1p((covered - 1 / len(leaves)) / (1 - 1 / len(leaves))) / len(NAMES)
    return total


@pytest.mark.parametrize("known", [1, 2, 3])
def test_full_domain_optimum_and_descent(known, monkeypatch):
    """The search finds the least loss, and a descent a feasible node.

    All nodes are compared by the definition.
    """

    from shoal.methods.full_domain import exhaustive as lattice_search

    table = table_of(120, known + 10)
    model = (LooselyKnown(shoal.models.KAnonymity(4), known),)
    found = shoal.anonymize(table, plan_of(model, shoal.methods.FullDomain()))
    assert found.search["optimal"]
    best = tuple(found.figures["levels"].values())
    everyone = {node: people_at(table, node) for node in product(range(4), repeat=4)}
    sets = slow.up_to(range(4), known)
    good = [node for node, cells in everyone.items() if slow.row_to_people(cells, cells, sets, at_least_four)]
    assert best in good
    assert min(share_of(table, node) for node in good) == pytest.approx(share_of(table, best))
    monkeypatch.setattr(lattice_search, "LARGEST_LATTICE", 1)
    descended = shoal.anonymize(table, plan_of(model, shoal.methods.FullDomain()))
    assert descended.search["lower_bound"] <= found.utility["ncp"] + 1e-12
    assert descended.utility["ncp"] >= found.utility["ncp"] - 1e-12


def test_models_of_all_and_of_known_columns_combined():
    table = table_of(200, 7)
    release = shoal.anonymize(
        table,
        plan_of((shoal.models.KAnonymity(2), LooselyKnown(shoal.models.KAnonymity(9), 1)), shoal.methods.FullDomain()),
    )
    cells = visible_cells(release.table)
    assert min(Counter(map(tuple, cells)).values()) >= 2
    assert slow.row_to_people(cells, cells, slow.up_to(range(4), 1), lambda group, _: len(group) >= 9)


def test_partial_knowledge_levels_suppress_no_rows():
    with pytest.raises(PlanError, check=has_code("method.suppression-with-known")):
        plan_of((LooselyKnown(shoal.models.KAnonymity(4), 2),), shoal.methods.FullDomain(suppression=0.1))


# -- attacks and reports ---------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(releases())
def test_attack_counts_rows_singled_out_by_facts(release):
    from shoal.risk.attacks_facts import facts_needed
    from shoal.utility.coded_tables import open_tables

    people, released, _ = release
    names = NAMES[: len(people[0])]
    tables = [pa.table({n: [row[j] for row in cells] for j, n in enumerate(names)}) for cells in (released, people)]
    schema = Schema({name: Column(Role.QUASI_IDENTIFIER) for name in names})
    with open_tables(None) as reader:
        visible, behind = (reader.rows(table, names) for table in tables)
    found = facts_needed(visible, schema, behind)
    for facts in range(1, min(3, len(names)) + 1):
        sets = slow.up_to(range(len(names)), facts)[1:]
        alone = {
            i
            for chosen in sets
            for i, row in enumerate(released)
            if all(row[j] != "*" for j in chosen)
            and sum(all(other[j] == row[j] for j in chosen) for other in released) == 1
        }
        exposed = {i for c in sets for i, person in enumerate(people) if slow.rows_of(person, released, c) == 1}
        assert found.rows[facts - 1] == len(alone)
        assert found.original_rows is not None
        assert found.original_rows[facts - 1] == len(exposed)


def test_release_for_two_known_columns_resists_two_facts():
    table = table_of(150, 3)
    plan = plan_of((LooselyKnown(shoal.models.KAnonymity(3), 2),), shoal.methods.HiddenCells())
    release = shoal.anonymize(table, plan)
    found = shoal.attack(release.table, plan, original=table).facts
    assert found.rows[:2] == (0, 0)
    assert found.original_rows is None or found.original_rows[:2] == (0, 0)
    assert shoal.attack(table, plan).facts.suffice in (1, 2)


def test_report_limits_the_promise_to_known_columns():
    """The report states that all columns at once are not promised."""
    from shoal.report.wording import model_sentence

    for parameters in (
        {"k": 5, "known": 2, "reading": "loose"},
        {"k": 5, "known": 1, "reading": "loose"},
        {"k": 5, "keys": ["a", "b"]},
    ):
        words = model_sentence({"name": "k-anonymity", "parameters": parameters}, ())
        assert "at least 5 rows" in words
        assert "Of all columns at once it is not promised." in words
