"""Sensitivity categories: weights and distances of the papers, errors."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.datasets.patients import CATEGORIES
from shoal.errors import PlanError
from shoal.schema import Categories, Column, Role, Schema


def test_weights_and_distances_of_the_papers() -> None:
    weights = [CATEGORIES.weight(value) for value in ("HIV", "Phthisis", "Asthma", "Flu")]
    assert weights == [0, Fraction(1, 3), Fraction(2, 3), 1]
    assert CATEGORIES.distance("HIV", "Cancer") == 0
    assert CATEGORIES.distance("HIV", "Flu") == 1
    assert CATEGORIES.distance("Flu", "HIV") == 1
    assert CATEGORIES.distance("Hepatitis", "Asthma") == Fraction(1, 3)


def test_weights_add_up_exactly() -> None:
    assert sum(CATEGORIES.weight(value) for value in ("Phthisis", "Asthma", "Flu")) == 2


def test_names_of_categories() -> None:
    assert [CATEGORIES.name(index) for index in range(4)] == ["Top Secret", "Secret", "Less Secret", "Non Secret"]
    assert Categories((("a",), ("b",))).name(1) == "2"


@pytest.mark.parametrize(
    ("classes", "names", "message"),
    [
        ((), None, "at least two"),
        ((("a",),), None, "at least two"),
        ((("a",), ()), None, "1 of them empty"),
        ((("a", "b"), ("b",)), None, "1 value"),
        ((("a", "a"), ("b",)), None, "exactly one category"),
        ((("a",), ("b",)), ("x",), "a name of its own"),
        ((("a",), ("b",)), ("x", "x"), "a name of its own"),
        ((("a",), ("b",)), ("x", "x", "y"), "a name of its own"),
        (("HIV", "Flu"), None, "each item a list, each item text"),
    ],
)
def test_wrong_categories_are_refused(
    classes: tuple[tuple[str, ...], ...], names: tuple[str, ...] | None, message: str
) -> None:
    with pytest.raises(PlanError, match=message):
        Categories(classes, names)


def test_binding_to_values() -> None:
    assert CATEGORIES.bind(["Flu", "HIV", "Asthma"], "condition").tolist() == [3, 0, 2]
    assert CATEGORIES.bind([], "condition").tolist() == []
    with pytest.raises(PlanError, match=r"'condition'.*2 distinct values") as caught:
        CATEGORIES.bind(["Flu", "Leprosy", "Gout"], "condition")
    assert "Leprosy" not in str(caught.value)
    with pytest.raises(KeyError) as unknown:
        CATEGORIES.weight("Leprosy")
    assert "Leprosy" not in str(unknown.value)


def test_only_a_sensitive_column_has_categories() -> None:
    with pytest.raises(PlanError, match="Only a sensitive column"):
        Column(Role.QUASI_IDENTIFIER, categories=CATEGORIES)
    domain = Schema({"c": Column(Role.SENSITIVE, categories=CATEGORIES)}).domain("c", ["Flu", "HIV"])
    assert domain.categories == 4
    assert domain.category is not None
    assert domain.category.tolist() == [3, 0]


@given(st.lists(st.integers(1, 4), min_size=2, max_size=6))
def test_weights_rise_from_0_to_1_and_distances_are_a_metric(sizes: list[int]) -> None:
    classes = tuple(tuple(f"{index}-{number}" for number in range(size)) for index, size in enumerate(sizes))
    categories = Categories(classes)
    values = [value for one in classes for value in one]
    weights = [categories.weight(value) for value in values]
    assert weights == sorted(weights)
    assert (weights[0], weights[-1]) == (0, 1)
    for one in values:
        for other in values:
            distance = categories.distance(one, other)
            assert distance == abs(categories.weight(one) - categories.weight(other))
            assert (distance == 0) == (categories.index(one) == categories.index(other))
