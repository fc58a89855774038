"""Rules of models for searches and bounds, and their superset part.

The superset part of the rules is the part that every larger set of rows meets too.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from shoal.models import (
    AlphaK,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    LDiversity,
    PAlphaSensitive,
    PPlusAlphaSensitive,
    PSensitive,
    TCloseness,
    TrajectoryAnonymity,
    combine,
)
from shoal.models.by_people import ByPeople
from shoal.models.exact_comparison import as_float
from shoal.models.partial_knowledge import LooselyKnown
from shoal.models.superset_rules import superset_part
from shoal.schema.columns import Domain
from shoal.table.rules import DISTINCT, ENTROPY, EQUAL, HIERARCHICAL, LIKENESS, ORDERED, RECURSIVE, SHARE, Rule
from tests.builders.groups import VALUES, counted

TOTALS = (4, 2, 0, 1)
AGAINST = [EQUAL, LIKENESS]


def demanded(rule, totals, *, whole=True):
    """Return the number of different values that the part requires.

    It is 1 if there is no part.
    """
    part = superset_part(rule, np.asarray(totals), whole=whole)
    assert part is None or (part.kind == DISTINCT and part.whole > 1)
    return 1 if part is None else part.whole


def least_values(model, totals):
    """Return the fewest different values of a group that meets a model.

    All groups inside a table are tried, missing values among them.
    """
    domain = counted(totals).histograms[0].domain
    table = np.asarray([count for count in totals if count], np.int64)
    found = []
    for counts in itertools.product(*(range(count + 1) for count in totals)):
        for missing in range(3):
            if not sum(counts) + missing:
                continue
            rest = [total - count for total, count in zip(totals, counts, strict=True)]
            padded = (*counts, *(0,) * (len(VALUES) - len(counts)), missing)
            groups = counted(padded, (*rest, *(0,) * (len(VALUES) - len(rest)), 0))
            assert groups.histograms[0].domain.size == domain.size == len(table)
            if model.assess(groups).holds[0]:
                found.append(sum(count > 0 for count in counts))
    return min(found)


@pytest.mark.parametrize(
    "model",
    [
        AlphaK(0.4, 2), AlphaK(Fraction(1, 2), 2), AlphaK(Fraction(1, 3), 2), AlphaK(1, 2), AlphaK(0.7, 3),
        LDiversity(2), LDiversity(2, "entropy"), LDiversity(1.5, "entropy"), LDiversity(2.5, "entropy"),
        LDiversity(2, "recursive", 2), LDiversity(3, "recursive", 3), PSensitive(2),
        TCloseness(0.1), TCloseness(0.2), TCloseness(0.5), TCloseness(0.9), TCloseness(0.2, "ordered"),
        TCloseness(0.2, "hierarchical"), DeltaDisclosure(0.1), DeltaDisclosure(1), DeltaDisclosure(0.5, "ignored"),
        DeltaDisclosure(1.5, "ignored"), BetaLikeness(0.2), BetaLikeness(1), BetaLikeness(0.2, "basic"),
        BetaLikeness(0.5, "basic"),
    ],
    ids=str,
)  # fmt: skip
def test_every_group_meets_superset_rules(model):
    """Every group that meets a model meets its superset rules.

    Otherwise a lower bound would be above a true loss.
    """
    groups = counted(TOTALS)
    domain = groups.histograms[0].domain
    totals = [np.asarray([count for count in TOTALS if count], np.int64)]
    rules = model.superset_rules((domain,), totals, whole=True)
    required = max((rule.whole for _, rule in rules if rule.kind == DISTINCT), default=1)
    assert 1 <= required <= least_values(model, TOTALS)


@pytest.mark.parametrize(
    ("rule", "totals", "values"),
    [
        (Rule(ENTROPY, real=2.5), (5, 5, 5), 3), (Rule(ENTROPY, real=3.0), (5, 5, 5), 3),
        (Rule(ENTROPY, real=1.0), (5, 5), 1), (Rule(RECURSIVE, 3, 2.0), (5, 5, 5), 3),
        (Rule(SHARE, real=0.4), (5, 5), 3), (Rule(SHARE, real=0.5), (5, 5), 2), (Rule(SHARE, real=1 / 3), (5, 5), 3),
        (Rule(SHARE, real=1.0), (5, 5), 1), (Rule(SHARE, real=0.0), (5, 5), 1),
        (Rule(EQUAL, real=0.05), (6, 3, 1, 0), 3), (Rule(EQUAL, real=0.1), (1, 6, 0, 3), 2),
        (Rule(EQUAL, real=0.4), (6, 3, 1, 0), 1), (Rule(EQUAL, real=0.05), (0, 0), 1),
        (Rule(LIKENESS, real=0.5), (6, 3, 1, 0), 2), (Rule(LIKENESS, real=0.1), (6, 3, 1, 0), 3),
        (Rule(LIKENESS, 1, 5.0), (6, 3, 1, 0), 2), (Rule(ORDERED, 3, 0.05), (6, 3, 1), 1),
        (Rule(HIERARCHICAL, 3, 0.05), (6, 3, 1), 1),
    ],
)  # fmt: skip
def test_distinct_values_required_of_supersets(rule, totals, values):
    assert demanded(rule, totals) == values


def test_no_superset_part_against_a_partial_table():
    """Rules against the table's distribution need the whole table."""
    for kind in AGAINST:
        assert demanded(Rule(kind, real=0.05), (6, 3, 1), whole=False) == 1
    assert demanded(Rule(SHARE, real=0.4), (6, 3, 1), whole=False) == 3


def test_superset_values_of_delta_disclosure():
    """Require every value of the table, or those that make up its share."""
    domain, totals = Domain("s", 4), [np.asarray([6, 3, 0, 1])]
    required = {
        (delta, absent): [
            rule.whole for _, rule in DeltaDisclosure(delta, absent).superset_rules((domain,), totals, whole=True)
        ]
        for delta in (0.01, 0.3, 1)
        for absent in ("fails", "ignored")
    }
    assert required == {
        (0.01, "fails"): [3], (0.3, "fails"): [3], (1, "fails"): [3],
        (0.01, "ignored"): [3], (0.3, "ignored"): [2], (1, "ignored"): [],
    }  # fmt: skip


def test_superset_rules_equal_bound_rules():
    """Distinct values, categories and weights hold for supersets as well."""
    groups = counted((3, 3, 3, 3, 3, 3, 3, 3))
    histogram = groups.histograms[0]
    for model in (PSensitive(2), PAlphaSensitive(2, 1), PPlusAlphaSensitive(2, 1)):
        rules = model.bound_rules((histogram.domain,), [histogram.total])
        assert rules
        superset = model.superset_rules((histogram.domain,), [histogram.total], whole=False)
        assert [(column, id(rule.labels)) for column, rule in superset] != []
        assert [(p, r.kind, r.whole) for p, r in superset] == [(p, r.kind, r.whole) for p, r in rules]


def test_superset_rules_of_combinations():
    """Collect the rules of all parts, or None if a part has none at all.

    The part with partial knowledge does not even require its size of supersets.
    """
    domain, totals = Domain("s", 3), [np.asarray([6, 3, 1])]
    both = combine([LDiversity(2), AlphaK(0.4, 2), KAnonymity(4)])
    found = both.superset_rules((domain,), totals, whole=False)
    assert found is not None
    assert [(column, rule.kind, rule.whole) for column, rule in found] == [(0, DISTINCT, 2), (0, DISTINCT, 3)]
    assert (
        combine([LDiversity(2), LooselyKnown(KAnonymity(2), 1)]).superset_rules((domain,), totals, whole=False) is None
    )


def test_sizes_only_of_combinations():
    """A combination depends on sizes only if all of its parts do."""
    assert combine([KAnonymity(2), KAnonymity(3)]).sizes_only
    assert not combine([KAnonymity(2), PSensitive(2)]).sizes_only


def test_superset_rules_by_people():
    """Require k people of supersets; no rule for groups of one person."""
    domains = Domain("secret", 2), Domain("who", 9, people=object())
    totals = [np.ones(domain.size, np.int64) for domain in domains]
    rules = ByPeople(KAnonymity(3)).superset_rules(domains, totals, whole=False)
    assert [(column, rule.kind, rule.whole) for column, rule in rules] == [(1, DISTINCT, 3)]
    shares = ByPeople(TCloseness(0.5))
    assert shares.least == 1
    assert shares.superset_rules(domains, totals, whole=True) == []
    assert [(column, rule.kind) for column, rule in shares.bound_rules(domains, totals)] == [(0, EQUAL)]


def test_by_people_min_size_two():
    """Require two people if k = 2.

    Sizes decide alone only for k-anonymity with one known row.
    """
    domains = Domain("secret", 2), Domain("who", 9, people=object())
    totals = [np.ones(domain.size, np.int64) for domain in domains]
    for rules in (ByPeople(KAnonymity(2)).superset_rules(domains, totals, whole=False),
                 ByPeople(KAnonymity(2)).bound_rules(domains, totals)):  # fmt: skip
        assert [(column, rule.whole) for column, rule in rules] == [(1, 2)]
    found = {(type(model), rows): ByPeople(model, rows).people_sizes_only
             for model in (KAnonymity(2), PSensitive(2)) for rows in (1, 2, None)}  # fmt: skip
    assert [key for key, sizes_only in found.items() if sizes_only] == [(KAnonymity, 1)]


def test_start_model_by_people():
    """The model that a search starts with counts people as well."""
    assert ByPeople(PPlusAlphaSensitive(2, 1), None).start == ByPeople(PSensitive(2), None)
    assert ByPeople(KAnonymity(4)).start == ByPeople(KAnonymity(4))
    assert ByPeople(TCloseness(0.5)).start is None


def test_with_group_size_by_people():
    """The model for another group size counts people as well."""
    assert ByPeople(KAnonymity(4), None).with_group_size(7) == ByPeople(KAnonymity(7), None)
    assert ByPeople(PSensitive(2)).with_group_size(7) == ByPeople(PSensitive(2))


def test_trajectory_sentence_names_known_rows():
    assert "knows all rows" in TrajectoryAnonymity.sentence({"k": 3})
    assert "knows {known_rows} rows" in TrajectoryAnonymity.sentence({"k": 3, "known_rows": 2})


def test_ordered_closeness_rule_data():
    """Pass positions of the order and the rows up to each position."""
    totals = (4, 2, 0, 1)  # the order has eight positions; no row has the last four
    groups = counted(totals)
    domain = groups.histograms[0].domain
    present = [count for count in totals if count]
    (rule,) = TCloseness(0.25, "ordered").rules(domain, np.asarray(present))
    positions = [VALUES.index(name) for name, count in zip(VALUES, totals, strict=False) if count]
    reached = [sum(n for at, n in zip(positions, present, strict=True) if at <= p) for p in range(len(VALUES))]
    assert (rule.kind, rule.whole, rule.real) == (ORDERED, len(VALUES), 0.25)
    assert rule.labels.tolist() == positions
    assert rule.rule_data.tolist() == [*reached, 0, *itertools.accumulate(reached)]


def test_hierarchical_closeness_rule_data():
    """Pass the nodes of the tree and the rows below each node."""
    totals = (4, 2, 3, 1, 5, 0, 7, 6)
    groups = counted(totals)
    domain = groups.histograms[0].domain
    present = [count for count in totals if count]
    (rule,) = TCloseness(0.25, "hierarchical").rules(domain, np.asarray(present))
    nodes = rule.whole
    assert (rule.kind, rule.real, len(rule.rule_data)) == (HIERARCHICAL, 0.25, 3 * nodes)
    parent, level, rows = (part.tolist() for part in np.split(rule.rule_data, 3))
    under = dict.fromkeys(range(nodes), 0)
    tops = set()
    for leaf, count in zip(rule.labels.tolist(), present, strict=True):
        node, height = leaf, 0
        while True:
            assert level[node] == height
            under[node] += count
            if parent[node] < 0:
                tops.add(node)
                break
            node, height = parent[node], height + 1
        assert height == domain.tree.height
    assert len(tops) == 1
    assert rows == [under[node] for node in range(nodes)]
    assert len({parent[leaf] for leaf in rule.labels.tolist()}) == 3


def test_as_float_beyond_float_range():
    """Numbers beyond all floats become infinity of the same sign."""
    assert as_float(10**400) == math.inf
    assert as_float(-(10**400)) == -math.inf
    assert as_float(Fraction(10**400, 3)) == math.inf
