"""Columns and their roles, and what a sensitive column's values mean to a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le

from shoal.errors import HierarchyError, PlanError, counted
from shoal.runtime.validation import Checked, Name
from shoal.schema.bound_hierarchy import Ladder
from shoal.schema.categories import Categories
from shoal.schema.people import People
from shoal.schema.spelling import declared_spelling, fold, same_text
from shoal.schema.tree_hierarchies import Flat, Hierarchy, declared_paths

__all__ = ["UNPUBLISHED", "Column", "Domain", "Role", "Schema", "Shift"]


class Role(StrEnum):
    """What a column may tell an intruder."""

    IDENTIFIER = "identifier"
    QUASI_IDENTIFIER = "quasi-identifier"
    SENSITIVE = "sensitive"
    OTHER = "other"
    PERSON = "person"
    HOUSEHOLD = "household"
    DROP = "drop"


UNPUBLISHED = (Role.IDENTIFIER, Role.PERSON, Role.HOUSEHOLD, Role.DROP)
"""What is not published, unless it is as a pseudonym."""


@dataclass(frozen=True)
class Shift(Checked):
    """All dates of a person move by the same secret number of days, at most so many."""

    days: Annotated[int, Ge(1), Le(36_500)]
    per: Literal["person"] = "person"

    def to_plan(self) -> dict[str, int | str]:
        """As a plan says it."""
        return {"days": self.days, "per": self.per}


@dataclass(frozen=True)
class Column(Checked):
    """A column's role, and what is known about its values.

    Attributes
    ----------
    role
        What the column may tell an intruder. A ``person`` says whose rows they are: it is never published, and models
        count people. A ``household`` says who lives together: it is not published, or as a pseudonym, and then models
        count households. What is to be dropped and names nobody is ``drop``.
    hierarchy
        Generalizes a quasi-identifier, and gives a sensitive column its hierarchical distance.
    categories
        Classes of sensitive values of like sensitivity, the most sensitive first.
    order
        A sensitive column's values from low to high, for the ordered distance.
    publish
        Whether a sensitive column's values are published, or only their categories.
    pseudonym
        Whether keyed pseudonyms of an identifier, a person or a household are published instead of dropping it. That of
        a person or household links rows: a plan must then say how many of them others may know
        (``trajectory-anonymity``).
    exact
        Whether every spelling of a sensitive value is a value of its own (see :mod:`shoal.schema.spelling`).
    shift
        Moves dates by a number of days that is each person's own.
    relative_to
        With ``first``, the days since the person's first date are published in place of dates.
    """

    role: Role
    hierarchy: Hierarchy | None = None
    categories: Categories | None = None
    order: tuple[str, ...] | None = None
    publish: Literal["values", "categories"] = "values"
    pseudonym: bool = False
    exact: bool = False
    shift: Shift | None = None
    relative_to: Literal["first"] | None = None

    def __post_init__(self) -> None:
        if (self.shift or self.relative_to) and self.role not in (Role.QUASI_IDENTIFIER, Role.OTHER):
            raise PlanError(
                f"Only dates of a quasi-identifier or of an other column are moved; found a column of role {self.role}."
            )
        if self.shift and self.relative_to:
            raise PlanError("Dates are moved (shift) or counted from a person's first (relative_to), not both.")
        if self.pseudonym and self.role not in (Role.IDENTIFIER, Role.PERSON, Role.HOUSEHOLD):
            raise PlanError(
                f"Only an identifier, a person or a household can be a pseudonym; found a column of role {self.role}."
            )
        if self.publish == "categories" and self.categories is None:
            raise PlanError("A column that publishes categories must have them: list them, the most sensitive first.")
        if self.categories is not None and self.role is not Role.SENSITIVE:
            raise PlanError(f"Only a sensitive column can have categories; found them on a column of role {self.role}.")
        if self.hierarchy is not None and self.role not in (Role.QUASI_IDENTIFIER, Role.SENSITIVE):
            raise PlanError(
                f"Only a quasi-identifier or sensitive column can have a hierarchy; found one on a column of role "
                f"{self.role}, which is not generalized. Change its role, or remove the hierarchy."
            )
        if self.exact and self.role is not Role.SENSITIVE:
            raise PlanError(f"Only a sensitive column can be exact; found a column of role {self.role}.")
        if self.role is Role.SENSITIVE and not self.exact:
            _refuse_conflicts(self)

    @property
    def key(self) -> Callable[[str], str | None]:
        """What of a sensitive value is counted; values with the same key are one, None is missing."""
        return same_text if self.exact else fold


@dataclass(frozen=True)
class Schema(Checked):
    """The columns that a plan names, in its order."""

    columns: Mapping[Name, Column] = field(default_factory=dict)

    def named(self, role: Role) -> tuple[str, ...]:
        """Names of the columns of a role, in the plan's order."""
        return tuple(name for name, column in self.columns.items() if column.role is role)

    @property
    def pseudonyms(self) -> tuple[str, ...]:
        """Names of the identifiers that are published as pseudonyms."""
        return tuple(name for name in self.named(Role.IDENTIFIER) if self.columns[name].pseudonym)

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """Names of the quasi-identifiers."""
        return self.named(Role.QUASI_IDENTIFIER)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Names of the sensitive columns."""
        return self.named(Role.SENSITIVE)

    @property
    def of_rows(self) -> Schema:
        """The same columns where nothing says whose rows they are, as in a release."""
        whose = {*self.named(Role.PERSON), *self.named(Role.HOUSEHOLD)}
        return Schema({name: Column(Role.DROP) if name in whose else column for name, column in self.columns.items()})

    @property
    def unpublished(self) -> frozenset[str]:
        """Names of the columns that no release has."""
        dropped = {name for role in UNPUBLISHED for name in self.named(role)}
        return frozenset(dropped.difference(self.pseudonyms, self.person[:1] if self.linked else ()))

    @property
    def person(self) -> tuple[str, ...]:
        """Names of the columns that say together whose rows they are: a person's, or those of a household.

        Where a pseudonym of the household is published, all rows of its members are linked, and the household is what
        must not be found: whatever holds of households that look alike holds of the people in them (docs/people.md).
        """
        household = self.named(Role.HOUSEHOLD)
        return household if any(self.columns[name].pseudonym for name in household) else self.named(Role.PERSON)

    @property
    def moved(self) -> tuple[str, ...]:
        """Names of the columns whose dates are moved person by person."""
        return tuple(name for name, column in self.columns.items() if column.shift or column.relative_to)

    @property
    def keyed(self) -> bool:
        """Whether something of the release is made with the key of the pseudonyms."""
        return bool(self.pseudonyms) or self.linked or any(column.shift for column in self.columns.values())

    @property
    def linked(self) -> bool:
        """Whether a pseudonym of the person is published, in the first of the columns that say who it is."""
        return any(self.columns[name].pseudonym for name in self.person)

    @property
    def published(self) -> Schema:
        """The schema of the table that is published: a column that publishes categories has these as its values.

        Its order, if a model asks for one, is that of the categories; a hierarchy of its values no longer applies.
        Of several columns that say together whose rows they are, the first then says it alone.
        """
        rest = {name: Column(Role.DROP) for name in self.person[1:]}
        first = {name: replace(self.columns[name], pseudonym=self.linked) for name in self.person[:1]}
        return Schema({name: _published(column) for name, column in self.columns.items()} | rest | first)

    def ladder(self, name: str, values: Sequence[str], missing: bool) -> Ladder:
        """The hierarchy of a quasi-identifier bound to its values; flat where none is given."""
        hierarchy = self.columns[name].hierarchy or Flat()
        return replace(hierarchy.bind(values, missing, column=name), rule=hierarchy)

    def domain(self, name: str, values: Sequence[str]) -> Domain:
        """What models need to know of a sensitive column's values; the plan's own are found by their key."""
        column = self.columns[name]
        category, count, tree = None, 0, None
        if column.categories is not None:
            category, count = column.categories.bind(values, name, column.key), column.categories.count
        if column.hierarchy is not None:
            listed = [path[0] for path in declared_paths(column.hierarchy)]
            tree = column.hierarchy.bind(declared_spelling(values, listed, column.key), missing=False, column=name)
        order = column.order or ()
        rank = _rank(name, declared_spelling(values, order, column.key) if order else values, column.order)
        places = 0 if rank is None else int(rank.max(initial=-1)) + 1
        if column.order is not None:
            places = len(column.order)
        return Domain(name, len(values), category, count, rank, places, tree)


@dataclass(frozen=True)
class Domain:
    """The values of a sensitive column as models see them; value codes run from 0 to ``size - 1``.

    Attributes
    ----------
    category, categories
        Category index of each value (or None) and the number of categories m.
    rank, places
        Place of each value in the column's order (or None where it has none), and how many places there are.
    tree
        The column's hierarchy bound to its values, or None.
    people
        Where the column says whose rows they are: what is known of these people.
    """

    name: str
    size: int
    category: npt.NDArray[np.int32] | None = None
    categories: int = 0
    rank: npt.NDArray[np.int64] | None = None
    places: int = 0
    tree: Ladder | None = None
    people: People | None = None


def _published(column: Column) -> Column:
    categories = column.categories
    if column.publish == "values" or categories is None:
        return column
    names = tuple(map(categories.name, range(categories.count)))
    own = Categories(tuple((name,) for name in names), names)
    return Column(column.role, categories=own, order=names, exact=column.exact)


def _refuse_conflicts(column: Column) -> None:
    """Raise where the plan tells apart two values that are counted as one."""
    order = [(value, index) for index, value in enumerate(column.order or ())]
    classes = () if column.categories is None else column.categories.classes
    categories = [(value, index) for index, values in enumerate(classes) for value in values]
    names = []
    if column.publish == "categories" and column.categories is not None:
        names = [(column.categories.name(index), index) for index in range(column.categories.count)]
    tree: list[tuple[str, object]] = []
    if column.hierarchy is not None:
        with suppress(HierarchyError):  # what is wrong with it is told when it is bound
            tree = [(path[0], path[1:]) for path in declared_paths(column.hierarchy)]
    for what, pairs in (("order", order), ("categories", categories), ("names", names), ("hierarchy", tree)):
        home: dict[str | None, object] = {}
        conflicts = sum(home.setdefault(fold(value), place) != place for value, place in pairs)
        if conflicts:
            raise PlanError(
                f"The {what} of a sensitive column must not tell apart what is counted as one value; found "
                f"{counted(conflicts, 'value')} like another but for case, blanks or the like. Keep one of them, or "
                f"set exact = true."
            )


def _rank(name: str, values: Sequence[str], order: tuple[str, ...] | None) -> npt.NDArray[np.int64] | None:
    """Numbers have an order of their own; other values only the one the plan gives."""
    if order is not None:
        place = {value: index for index, value in enumerate(order)}
        lacking = sum(value not in place for value in values)
        if lacking:
            raise PlanError(
                f"The order of column {name!r} must list every value of the data; found "
                f"{counted(lacking, 'distinct value')} not in it. Add them, or declare them as missing values."
            )
        return np.asarray([place[value] for value in values], np.int64)
    try:
        numbers = np.asarray([float(value) for value in values], np.float64)
    except ValueError:
        return None
    if not np.isfinite(numbers).all():
        return None
    return np.unique(numbers, return_inverse=True)[1].astype(np.int64)
