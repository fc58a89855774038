"""Lists of all recodings of a small lattice.

They are compared with releases at fixed levels and with the minimal recodings.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pyarrow as pa
import pytest

from shoal.datasets.patients import FOLDER
from shoal.errors import InfeasibleError
from shoal.io.engines import open_engine
from shoal.io.engines.base import Source
from shoal.methods import FullDomain, Levels
from shoal.methods.full_domain.minimal import list_minimal, list_recodings
from shoal.models import AlphaK, KAnonymity, KeySet, LooselyKnown, PSensitive
from shoal.pipeline.decide import StepTimer, encode
from shoal.pipeline.run import dry_run, minimal_recodings
from shoal.plan.plan import Plan
from shoal.schema import Column, Role, Schema, Tree
from shoal.web.pictures import draw_lattice, minimal_nodes


def problem_of(plan):
    with open_engine(plan.engine, plan.source) as engine:
        return encode(engine, plan.source, plan, StepTimer(lambda step, done: None))


@pytest.mark.parametrize("suppression", [0.0, 0.25])
def test_recodings_match_releases_at_their_levels(suppression):
    method = FullDomain(suppression=suppression)
    plan = replace(Plan.read(FOLDER / "patients.toml"), method=method)
    problem = problem_of(plan)
    found = list_recodings(problem, method)
    assert len(found.levels) == 4 * 3 * 6
    for index in range(0, len(found.levels), 5):
        levels = dict(zip(found.columns, found.levels[index], strict=True))
        try:
            loss = dry_run(replace(plan, method=Levels(levels=levels, suppression=suppression))).utility["ncp"]
        except InfeasibleError:
            loss = None
        assert (loss is not None) == found.holds[index]
        assert found.loss[index] == (loss if loss is None else pytest.approx(loss))
    finest = {tuple(one.levels.values()) for one in list_minimal(problem, method)}
    assert {found.levels[index] for index in minimal_nodes(found.to_dict())} == finest


def test_fewer_nodes_fail_with_partial_knowledge():
    """Every pair of values occurs once, each value twice.

    An intruder with one fact finds two rows, one with both facts one row.
    """
    table = pa.table({"a": [1, 1, 2, 2], "b": [1, 2, 1, 2]})
    schema = Schema({name: Column(Role.QUASI_IDENTIFIER) for name in "ab"})
    plan = Plan(schema, (KAnonymity(2),), FullDomain(), source=Source(frame=table))
    partial = replace(plan, models=(LooselyKnown(KAnonymity(2), 1),))
    assert list_recodings(problem_of(plan), FullDomain()).holds == (False, True, True, True)
    assert list_recodings(problem_of(partial), FullDomain()).holds == (True, True, True, True)


CASES = {
    "one fact": {"models": (LooselyKnown(KAnonymity(6), 1),)},
    "two facts, and all": {"models": (LooselyKnown(KAnonymity(3), 2), KAnonymity(2))},
    "values of two facts": {"models": (LooselyKnown(PSensitive(3), 2),)},
    "a key set": {
        "models": (KAnonymity(2),),
        "keys": (KeySet(("a", "b"), 3, reading="loose"), KeySet(("c",), reading="loose")),
    },
    "people": {"models": (KAnonymity(3),), "who": "person"},
    "shares of people": {"models": (KAnonymity(2), AlphaK(0.7, 2)), "who": "person"},
    "one fact of people": {"models": (LooselyKnown(KAnonymity(6), 1),), "who": "person"},
}


@pytest.mark.parametrize("case", CASES)
def test_minimal_recodings_are_the_finest_passing_levels(case):
    """Each node is released or refused by the method with fixed levels."""
    role, *others = CASES[case].get("who", "drop"), *(CASES[case].get(name, ()) for name in ("models", "keys"))
    dice = random.Random(5)
    columns = {name: [dice.choice(values) for _ in range(24)] for name, values in
               {"a": "1234", "b": "12", "c": "123", "illness": "xyz", "who": range(14)}.items()}  # fmt: skip
    ages = Tree({"1-2": ["1", "2"], "3-4": ["3", "4"]})
    schema = Schema({"a": Column("quasi-identifier", ages), "b": Column("quasi-identifier"),
                     "c": Column("quasi-identifier"), "illness": Column("sensitive"), "who": Column(role)})  # fmt: skip
    plan = Plan(schema, others[0], FullDomain(), source=Source(frame=pa.table(columns)), keys=others[1])
    passed = []
    for levels in itertools.product(range(3), range(2), range(2)):
        try:
            dry_run(replace(plan, method=Levels(levels=dict(zip("abc", levels, strict=True)))))
        except InfeasibleError:
            continue
        passed.append(levels)
    finest = [one for one in passed if not any(o != one and all(map(int.__le__, o, one)) for o in passed)]
    assert 0 < len(passed) < 12
    assert sorted(tuple(one.levels.values()) for one in minimal_recodings(plan)) == sorted(finest)
    listed = list_recodings(problem_of(plan), FullDomain())
    assert [node for node, good in zip(listed.levels, listed.holds, strict=True) if good] == sorted(
        passed, key=lambda node: (sum(node), node)
    )


def test_a_large_lattice_is_not_listed(monkeypatch):
    import shoal.methods.full_domain.minimal as module

    monkeypatch.setattr(module, "MAX_LISTED_NODES", 71)
    plan = replace(Plan.read(FOLDER / "patients.toml"), method=FullDomain())
    assert list_recodings(problem_of(plan), FullDomain()) is None


def test_picture_has_every_node_and_offers_passing_ones():
    """Every node is drawn once, and only those that hold can be chosen."""
    lattice = {
        "columns": ["<b>", "y"],
        "levels": [[0, 0], [0, 1], [1, 0], [1, 1]],
        "holds": [False, True, False, True],
        "loss": [None, 0.25, None, 0.5],
    }
    picture = draw_lattice(lattice, [1, 0], "title", lambda levels: [{"set": ["method"], "value": list(levels)}])
    assert picture.count('class="node') == 4
    assert picture.count("data-changes") == 2
    assert picture.count("minimal") == picture.count("best") == picture.count("now") == 1
    assert "<b>" not in picture
    assert minimal_nodes(lattice) == [1]
