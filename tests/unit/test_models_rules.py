"""What models tell searches and bounds: their rules, and the part of them that every larger set of rows keeps."""

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
from shoal.models.partial_knowledge import Known
from shoal.models.superset_rules import superset_part
from shoal.schema.columns import Domain
from shoal.table.rules import DISTINCT, ENTROPY, EQUAL, HIERARCHICAL, LIKENESS, ORDERED, RECURSIVE, SHARE, Rule
from tests.unit.test_models_exactly import VALUES, counted

TOTALS = (4, 2, 0, 1)
AGAINST = [EQUAL, LIKENESS]


def demanded(rule, totals, *, whole=True):
    """How many different values the part asks for; 1 where there is none."""
    part = superset_part(rule, np.asarray(totals), whole=whole)
    assert part is None or (part.kind == DISTINCT and part.whole > 1)
    return 1 if part is None else part.whole


def least_values(model, totals):
    """Of all groups inside a table, missing values among them, that meet a model: the fewest different values."""
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
def test_every_group_of_a_model_has_what_is_said_to_survive_any_union(model):
    """What is asked of a larger set of rows, every group inside it has: else a bound would be above a true loss."""
    groups = counted(TOTALS)
    domain = groups.histograms[0].domain
    totals = [np.asarray([count for count in TOTALS if count], np.int64)]
    rules = model.superset_rules((domain,), totals, whole=True)
    asked = max((rule.whole for _, rule in rules if rule.kind == DISTINCT), default=1)
    assert 1 <= asked <= least_values(model, TOTALS)


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
def test_how_many_values_survive_any_union(rule, totals, values):
    assert demanded(rule, totals) == values


def test_against_a_table_of_which_rows_are_left_out_nothing_follows():
    for kind in AGAINST:
        assert demanded(Rule(kind, real=0.05), (6, 3, 1), whole=False) == 1
    assert demanded(Rule(SHARE, real=0.4), (6, 3, 1), whole=False) == 3


def test_disclosure_asks_for_every_value_of_the_table_or_for_those_that_make_up_its_share():
    domain, totals = Domain("s", 4), [np.asarray([6, 3, 0, 1])]
    asked = {
        (delta, absent): [
            rule.whole for _, rule in DeltaDisclosure(delta, absent).superset_rules((domain,), totals, whole=True)
        ]
        for delta in (0.01, 0.3, 1)
        for absent in ("fails", "ignored")
    }
    assert asked == {
        (0.01, "fails"): [3], (0.3, "fails"): [3], (1, "fails"): [3],
        (0.01, "ignored"): [3], (0.3, "ignored"): [2], (1, "ignored"): [],
    }  # fmt: skip


def test_values_categories_and_weights_survive_as_they_are():
    groups = counted((3, 3, 3, 3, 3, 3, 3, 3))
    histogram = groups.histograms[0]
    for model in (PSensitive(2), PAlphaSensitive(2, 1), PPlusAlphaSensitive(2, 1)):
        rules = model.bound_rules((histogram.domain,), [histogram.total])
        assert rules
        kept = model.superset_rules((histogram.domain,), [histogram.total], whole=False)
        assert [(place, id(rule.labels)) for place, rule in kept] != []
        assert [(p, r.kind, r.whole) for p, r in kept] == [(p, r.kind, r.whole) for p, r in rules]


def test_models_together_keep_what_each_keeps_and_nothing_where_one_keeps_not_even_its_size():
    domain, totals = Domain("s", 3), [np.asarray([6, 3, 1])]
    both = combine([LDiversity(2), AlphaK(0.4, 2), KAnonymity(4)])
    found = both.superset_rules((domain,), totals, whole=False)
    assert found is not None
    assert [(place, rule.kind, rule.whole) for place, rule in found] == [(0, DISTINCT, 2), (0, DISTINCT, 3)]
    assert combine([LDiversity(2), Known(KAnonymity(2), 1)]).superset_rules((domain,), totals, whole=False) is None


def test_models_together_look_at_sizes_alone_where_all_do():
    assert combine([KAnonymity(2), KAnonymity(3)]).sizes_only
    assert not combine([KAnonymity(2), PSensitive(2)]).sizes_only


def test_by_people_so_many_people_survive_and_no_group_of_one_is_asked_for():
    domains = Domain("secret", 2), Domain("who", 9, people=object())
    totals = [np.ones(domain.size, np.int64) for domain in domains]
    told = ByPeople(KAnonymity(3)).superset_rules(domains, totals, whole=False)
    assert [(place, rule.kind, rule.whole) for place, rule in told] == [(1, DISTINCT, 3)]
    shares = ByPeople(TCloseness(0.5))
    assert shares.least == 1
    assert shares.superset_rules(domains, totals, whole=True) == []
    assert [(place, rule.kind) for place, rule in shares.bound_rules(domains, totals)] == [(0, EQUAL)]


def test_two_people_are_asked_for_where_two_are_enough_and_sizes_alone_tell_it_where_one_row_is_known():
    domains = Domain("secret", 2), Domain("who", 9, people=object())
    totals = [np.ones(domain.size, np.int64) for domain in domains]
    for told in (ByPeople(KAnonymity(2)).superset_rules(domains, totals, whole=False),
                 ByPeople(KAnonymity(2)).bound_rules(domains, totals)):  # fmt: skip
        assert [(place, rule.whole) for place, rule in told] == [(1, 2)]
    found = {(type(model), rows): ByPeople(model, rows).people_sizes_only
             for model in (KAnonymity(2), PSensitive(2)) for rows in (1, 2, None)}  # fmt: skip
    assert [key for key, held in found.items() if held] == [(KAnonymity, 1)]


def test_what_is_begun_with_by_people_counts_people_too():
    assert ByPeople(PPlusAlphaSensitive(2, 1), None).start == ByPeople(PSensitive(2), None)
    assert ByPeople(KAnonymity(4)).start == ByPeople(KAnonymity(4))
    assert ByPeople(TCloseness(0.5)).start is None


def test_a_model_by_people_for_groups_of_another_size_counts_people_too():
    assert ByPeople(KAnonymity(4), None).with_group_size(7) == ByPeople(KAnonymity(7), None)
    assert ByPeople(PSensitive(2)).with_group_size(7) == ByPeople(PSensitive(2))


def test_how_many_rows_are_known_is_in_the_sentence():
    assert "knows all rows" in TrajectoryAnonymity.sentence({"k": 3})
    assert "knows {known_rows} rows" in TrajectoryAnonymity.sentence({"k": 3, "known_rows": 2})


def test_the_places_of_an_order_and_the_rows_up_to_each_are_told_to_searches():
    totals = (4, 2, 0, 1)  # the order has eight places, of which the last four are nobody's
    groups = counted(totals)
    domain = groups.histograms[0].domain
    held = [count for count in totals if count]
    (rule,) = TCloseness(0.25, "ordered").rules(domain, np.asarray(held))
    place = [VALUES.index(name) for name, count in zip(VALUES, totals, strict=False) if count]
    reached = [sum(n for at, n in zip(place, held, strict=True) if at <= p) for p in range(len(VALUES))]
    assert (rule.kind, rule.whole, rule.real) == (ORDERED, len(VALUES), 0.25)
    assert rule.labels.tolist() == place
    assert rule.rule_data.tolist() == [*reached, 0, *itertools.accumulate(reached)]


def test_the_nodes_of_a_tree_and_the_rows_under_each_are_told_to_searches():
    totals = (4, 2, 3, 1, 5, 0, 7, 6)
    groups = counted(totals)
    domain = groups.histograms[0].domain
    held = [count for count in totals if count]
    (rule,) = TCloseness(0.25, "hierarchical").rules(domain, np.asarray(held))
    nodes = rule.whole
    assert (rule.kind, rule.real, len(rule.rule_data)) == (HIERARCHICAL, 0.25, 3 * nodes)
    parent, level, rows = (part.tolist() for part in np.split(rule.rule_data, 3))
    under = dict.fromkeys(range(nodes), 0)
    tops = set()
    for leaf, count in zip(rule.labels.tolist(), held, strict=True):
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


def test_a_number_beyond_all_floats_keeps_its_side():
    assert as_float(10**400) == math.inf
    assert as_float(-(10**400)) == -math.inf
    assert as_float(Fraction(10**400, 3)) == math.inf
