"""Shared behaviour of models: figures, bounds and combinations."""

from __future__ import annotations

import ast
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import shoal
from shoal.errors import PlanError
from shoal.models import (
    BUILT_IN_MODELS,
    AlphaK,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    LDiversity,
    PSensitive,
    combine,
)
from shoal.models.base import Assessment, Condition
from shoal.models.p_sensitive import single_category_groups
from shoal.models.scenarios import Known
from shoal.plan.coerce import as_models
from shoal.runtime.validation import exact_number
from shoal.schema import Domain
from shoal.table.groups import Groups, histogram


def condition(values, bound, *, at_least, parameter="k"):
    return Condition(parameter, np.asarray(values, np.float64), bound, at_least)


def test_worst_group_is_nearest_to_the_bound():
    assert condition([4, 2, 9], 5, at_least=True).worst == 2
    assert condition([4, 2, 9], 5, at_least=False).worst == 9
    assert condition([], 5, at_least=True).worst == math.inf
    assert condition([], 5, at_least=False).worst == 0


def test_effective_value_is_worst_of_several_conditions():
    effective = Assessment(
        np.asarray([True]),
        (
            condition([4], 1, at_least=True), condition([3], 1, at_least=True), condition([7], 1, at_least=True),
            condition([0.25], 1, at_least=False, parameter="t"), condition([0.5], 1, at_least=False, parameter="t"),
            condition([0.3], 1, at_least=False, parameter="t"),
            condition([math.inf], 1, at_least=False, parameter="beta"),
        ),
    ).effective  # fmt: skip
    assert effective == {"k": 3, "t": 0.5, "beta": math.inf}
    assert isinstance(effective["k"], int)


def test_combination_is_as_monotone_as_weakest_part():
    weak = DeltaDisclosure(1, absent="ignored")
    both = KAnonymity(2) & weak & (KAnonymity(3) & PSensitive(2))
    assert both.parts == (KAnonymity(2), weak, KAnonymity(3), PSensitive(2))
    assert (both.closed_under_union, both.closed_under_superset) == (False, False)
    assert (
        combine([KAnonymity(2), PSensitive(2)]).closed_under_union,
        combine([KAnonymity(2), PSensitive(2)]).closed_under_superset,
    ) == (
        True,
        True,
    )
    union = combine([KAnonymity(2), AlphaK(Fraction(1, 2), 2)])
    assert (union.closed_under_union, union.closed_under_superset) == (True, False)
    assert " & " in str(union)


def test_least_size_of_combination():
    """Take the largest of the least group sizes of the parts."""
    assert combine([KAnonymity(3), KAnonymity(5), PSensitive(2)]).least == 5


def test_with_group_size():
    """Return the same model with the larger least group size."""
    assert KAnonymity(3).with_group_size(7) == KAnonymity(7)
    assert AlphaK(Fraction(1, 2), 3).with_group_size(7) == AlphaK(Fraction(1, 2), 3)  # it has conditions beyond sizes


@pytest.mark.parametrize("wrong", [1.5, Fraction(3, 2), "2", True, 0, -1])
def test_l_must_be_a_whole_number(wrong):
    with pytest.raises(PlanError, match="'l' must be"):
        LDiversity(wrong)


def test_combination_checks_every_part():
    """A model that needs a sensitive column is refused without one.

    This is so whatever other models the combination has.
    """
    with pytest.raises(PlanError, match="p-sensitive"):
        combine([KAnonymity(2), PSensitive(2), KAnonymity(3)]).check(())
    combine([KAnonymity(2), KAnonymity(3)]).check(())


def test_omitted_parameters():
    """Omit parameters that were not given."""
    assert dict(PSensitive(2).parameters) == {"p": 2}
    assert str(PSensitive(2)) == "p-sensitive(p=2)"
    assert dict(PSensitive(2, column="s").parameters) == {"p": 2, "column": "s"}


def test_p_up_to_k_is_accepted():
    """Accept p = k, refuse p > k."""
    assert combine([KAnonymity(3), KAnonymity(2), PSensitive(3)]).parts[-1] == PSensitive(3)
    with pytest.raises(PlanError, match="p = 4 and k = 3"):
        combine([KAnonymity(3), KAnonymity(2), PSensitive(4)])
    assert combine([PSensitive(4)]).parts == (PSensitive(4),)
    with pytest.raises(PlanError, match="At least one model"):
        combine([])


@pytest.mark.parametrize("wrong", [math.nan, math.inf, True, "x", "1/0", None])
def test_parameters_are_exact_numbers(wrong):
    assert exact_number(AlphaK(0.1, 2).alpha) == Fraction(1, 10)
    with pytest.raises(PlanError, match="'alpha'"):
        AlphaK(wrong, 2)


@pytest.mark.parametrize(
    "make",
    [
        lambda: KAnonymity(1), lambda: PSensitive(0), lambda: AlphaK(0, 2), lambda: AlphaK(Fraction(11, 10), 2),
        lambda: AlphaK(1, 1), lambda: DeltaDisclosure(0), lambda: BetaLikeness(0), lambda: LDiversity(0),
        lambda: LDiversity(2, kind="recursive", c=0), lambda: LDiversity(2, kind="recursive"),
    ],
)  # fmt: skip
def test_first_parameter_outside_bounds_is_refused(make):
    with pytest.raises(PlanError):
        make()


def test_last_parameter_inside_bounds_is_accepted():
    assert AlphaK(1, 2).k == KAnonymity(2).k == 2
    assert PSensitive(1).p == LDiversity(1).l == 1
    assert LDiversity(2, kind="recursive", c=Fraction(1, 100)).l == 2


def names_used(path):
    """Yield the names that the code of a module uses, without its texts."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def test_only_the_models_package_names_models():
    """Code outside the package uses the interface of models.

    Reproductions of papers define their own models.
    """
    package = Path(shoal.__file__).parent
    concrete = {model.__name__ for model in BUILT_IN_MODELS.values()}
    uses = [
        f"{path.relative_to(package)}: {name}"
        for path in sorted(package.rglob("*.py"))
        if path.relative_to(package).parts[0] not in ("models", "papers", "__init__.py")
        for name in names_used(path)
        if name in concrete
    ]
    assert len(concrete) == 13
    assert uses == []


# -- faults that a random sample of mutants showed to go unnoticed ------------------------------------------


def test_relaxations_lower_one_parameter():
    """Of whole numbers above 2, to the next round number; known by one."""
    for value, lower in ((50, 20), (20, 10), (6, 5), (4, 3), (3, 2)):
        assert list(KAnonymity(value).relaxations()) == [("k", lower, KAnonymity(lower))]
    assert list(KAnonymity(2).relaxations()) == []
    (known,) = (part for part in as_models("k-anonymity k=2 known=3") if isinstance(part, Known))
    relaxed = {name: (lower, model) for name, lower, model in known.relaxations()}
    assert relaxed["known"][0] == relaxed["known"][1].known == 2


def test_groups_of_one_category():
    """Groups of one category are found, in columns that have categories."""
    category = np.array([0, 1, 1], np.int32)  # a third category does not occur
    group, value = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 1, 2, 0, 0], np.int32)
    counted = histogram(group, value, np.ones(6, np.int64), 3, Domain("ill", 3, category=category, categories=3))
    plain = histogram(group, value, np.ones(6, np.int64), 3, Domain("job", 3))
    size = np.array([2, 2, 2])
    assert single_category_groups(Groups(size, (counted,))).tolist() == [False, True, True]
    assert single_category_groups(Groups(size, (plain, counted))).tolist() == [False, True, True]
    assert single_category_groups(Groups(size, (plain,))).tolist() == [False, False, False]
