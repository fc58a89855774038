"""Columns, their roles, and the domains of sensitive columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le
from typing_extensions import override

from shoal.errors import HierarchyError, PlanError
from shoal.runtime.lazy_dataclass import dataclass
from shoal.runtime.marks import INLINE, CellText, Name
from shoal.runtime.validation import Validated
from shoal.schema.bound_hierarchy import TOP, Ladder, WithHidden
from shoal.schema.categories import Categories
from shoal.schema.hierarchy import Hierarchy
from shoal.schema.people import People
from shoal.schema.spelling import declared_spelling, fold, identity_key
from shoal.schema.tree_hierarchies import Flat, declared_paths


class Role(StrEnum):
    """The disclosure role of a column.

    Examples
    --------
    >>> import shoal
    >>> shoal.Role("quasi-identifier") is shoal.Role.QUASI_IDENTIFIER
    True
    """

    IDENTIFIER = "identifier"
    QUASI_IDENTIFIER = "quasi-identifier"
    SENSITIVE = "sensitive"
    OTHER = "other"
    PERSON = "person"
    HOUSEHOLD = "household"
    DROP = "drop"


Unmatched = Literal["error", "hide", "missing", "suppress"]
"""Treatment of values that a hierarchy does not cover."""
Missing = Literal["unknown", "not applicable"]
"""Meaning of a missing sensitive value."""
UNPUBLISHED = (Role.IDENTIFIER, Role.PERSON, Role.HOUSEHOLD, Role.DROP)
"""Roles that are not published, except as a pseudonym."""


@dataclass(frozen=True)
class Shift(Validated):
    """A date shift: all dates of a person move by the same secret number.

    Attributes
    ----------
    days
        The largest shift.
    per
        Whose dates move together.
    """

    days: Annotated[int, Ge(1), Le(36_500)]
    per: Literal["person"] = "person"

    @override
    def to_plan(self) -> dict[str, Any]:
        return {"days": self.days, "per": self.per}


@dataclass(frozen=True)
class Column(Validated):
    """The role of a column, and properties of its values.

    Attributes
    ----------
    role
        The disclosure role. A ``person`` column identifies the person of a row: it is never published, and models
        count people. A ``household`` column identifies the household: it is not published, or as a pseudonym, and then
        models count households. A column to be dropped that identifies no person is ``drop``.
    hierarchy
        Generalizes a quasi-identifier, and gives a sensitive column its hierarchical distance.
    categories
        Classes of sensitive values of similar sensitivity, the most sensitive first.
    order
        A sensitive column's values from low to high, for the ordered distance.
    publish
        Whether a sensitive column's values are published, or only their categories, or both: the category is then a
        column of its own, which has the name and the word ``category``.
    pseudonym
        Whether keyed pseudonyms of an identifier, a person or a household are published instead of dropping it. That of
        a person or household links rows: the plan must then state how much of them an intruder may know
        (``trajectory-anonymity``).
    exact
        Whether every spelling of a sensitive value is a separate value (see :mod:`shoal.schema.spelling`).
    shift
        Moves dates by a number of days that differs from person to person.
    relative_to
        With ``first``, the days since the person's first date are published instead of dates.
    levels
        Level of the hierarchy that a sensitive or other column publishes in place of its values; models count its
        labels.
    unmatched
        What happens to values that the hierarchy does not cover: ``error``; ``hide`` publishes `*`; ``missing``, for
        sensitive columns, takes them for missing; ``suppress`` leaves the rows out.
    harmless
        Published values of a sensitive column that harm nobody: no model counts a group as disclosed because of them.
    missing
        Whether a missing sensitive value is ``unknown``, and never helps, or ``not applicable``: a harmless value.
    known_to_others
        Whether an intruder may know a sensitive column's value of somebody, as one of the further columns of a
        scenario.

    Examples
    --------
    >>> import shoal
    >>> from shoal.hierarchies import intervals
    >>> shoal.Column(shoal.Role.QUASI_IDENTIFIER, intervals(5, 10)).hierarchy
    Widths(widths=(5, 10), origin=0, bottom=None, top=None)
    """

    role: Role
    hierarchy: Hierarchy | None = None
    categories: Annotated[Categories | None, INLINE] = None
    order: tuple[CellText, ...] | None = None
    publish: Literal["values", "categories", "both"] = "values"
    pseudonym: bool = False
    exact: bool = False
    shift: Shift | None = None
    relative_to: Literal["first"] | None = None
    levels: Annotated[int, Ge(1)] | None = None
    unmatched: Unmatched = "error"
    harmless: tuple[CellText, ...] = ()
    missing: Missing = "unknown"
    known_to_others: bool = True

    def __post_init__(self) -> None:
        self._check_coarsening()
        if not self.known_to_others and self.role is not Role.SENSITIVE:
            raise PlanError("columns.known-to-others-wrong-role", role=self.role)
        if (self.shift or self.relative_to) and self.role not in (Role.QUASI_IDENTIFIER, Role.OTHER):
            raise PlanError("columns.shift-wrong-role", role=self.role)
        if self.shift and self.relative_to:
            raise PlanError("columns.shift-and-relative-to")
        if self.pseudonym and self.role not in (Role.IDENTIFIER, Role.PERSON, Role.HOUSEHOLD):
            raise PlanError("pseudonyms.wrong-role", role=self.role)
        if self.publish != "values" and self.categories is None:
            raise PlanError("columns.no-categories")
        if self.categories is not None and self.role is not Role.SENSITIVE:
            raise PlanError("columns.categories-wrong-role", role=self.role)
        if self.hierarchy is not None and self.role not in (Role.QUASI_IDENTIFIER, Role.SENSITIVE) and not self.levels:
            raise PlanError("columns.hierarchy-wrong-role", role=self.role)
        if self.exact and self.role is not Role.SENSITIVE:
            raise PlanError("columns.exact-wrong-role", role=self.role)
        if self.has_harmless_values and self.role is not Role.SENSITIVE:
            raise PlanError("columns.harmless-wrong-role", role=self.role)
        if any(self.key(value) is None for value in self.harmless):
            raise PlanError("columns.harmless-missing")
        if self.role is Role.SENSITIVE and not self.exact:
            _refuse_conflicts(self)

    def _check_coarsening(self) -> None:
        """Check what is published in place of values, and of those not covered."""
        if self.levels is not None:
            if self.role not in (Role.SENSITIVE, Role.OTHER) or self.hierarchy is None:
                raise PlanError("columns.level-wrong-role", role=self.role)
            if self.categories is not None or self.order is not None:
                raise PlanError("columns.level-with-categories")
            reason = getattr(self.hierarchy, "looks_at_data", None)
            if reason is not None:
                raise PlanError("columns.level-depends-on-data", reason=reason)
        if self.unmatched == "error":
            return
        if self.hierarchy is None:
            raise PlanError("columns.unmatched-without-hierarchy")
        if self.unmatched == "missing" and self.role is not Role.SENSITIVE:
            raise PlanError("columns.unmatched-missing-wrong-role", role=self.role)
        if self.unmatched == "hide" and self.role is Role.SENSITIVE and self.levels is None:
            raise PlanError("columns.unmatched-hidden-sensitive")

    @override
    def to_plan(self) -> dict[str, Any]:
        section: dict[str, Any] = super().to_plan()
        if not hasattr(self.hierarchy, "to_plan") and self.hierarchy is not None:
            section["hierarchy"] = {"kind": type(self.hierarchy).__name__}  # a plan cannot express every hierarchy
        return section

    @property
    def has_harmless_values(self) -> bool:
        """Return whether the plan calls some values, or missing ones, harmless."""
        return bool(self.harmless) or self.missing == "not applicable"

    @property
    def key(self) -> Callable[[str], str | None]:
        """The key function of sensitive values.

        Values with the same key are one value; None is missing.
        """
        return identity_key if self.exact else fold


@dataclass(frozen=True)
class Schema(Validated):
    """The columns of a plan, in its order.

    Attributes
    ----------
    columns
        Every column of the table by name: its role, or its role with what is known of its values.
    """

    columns: Mapping[Name, Column]

    def __post_init__(self) -> None:
        for added in self.category_columns.values():
            if added in self.columns:
                raise PlanError("columns.category-column-exists", column=added)

    @property
    def category_columns(self) -> dict[str, str]:
        """Names of the added columns of categories, by sensitive column."""
        return {name: f"{name} category" for name, column in self.columns.items() if column.publish == "both"}

    def named(self, role: Role) -> tuple[str, ...]:
        """Return the names of the columns of a role, in the plan's order."""
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
    def sensitive_known_to_others(self) -> tuple[str, ...]:
        """Names of the sensitive columns that an intruder may know."""
        return tuple(name for name in self.sensitive if self.columns[name].known_to_others)

    @property
    def of_rows(self) -> Schema:
        """The same columns without person and household keys, as in a release."""
        person_columns = {*self.named(Role.PERSON), *self.named(Role.HOUSEHOLD)}
        return Schema(
            {name: Column(Role.DROP) if name in person_columns else column for name, column in self.columns.items()}
        )

    @property
    def unpublished(self) -> frozenset[str]:
        """Names of the columns that are not in the release."""
        dropped = {name for role in UNPUBLISHED for name in self.named(role)}
        return frozenset(dropped.difference(self.pseudonyms, self.person[:1] if self.linked else ()))

    @property
    def person(self) -> tuple[str, ...]:
        """Names of the columns that together identify the person of a row.

        If a pseudonym of the household is published, they identify the household: all rows of its members are linked,
        and the household must not be re-identified. A property that holds for indistinguishable households also holds
        for the people in them (docs/people.md).
        """
        household = self.named(Role.HOUSEHOLD)
        return household if any(self.columns[name].pseudonym for name in household) else self.named(Role.PERSON)

    @property
    def moved(self) -> tuple[str, ...]:
        """Names of the columns with dates that are shifted for each person."""
        return tuple(name for name, column in self.columns.items() if column.shift or column.relative_to)

    @property
    def keyed(self) -> bool:
        """Return whether a part of the release is made with the pseudonym key."""
        return bool(self.pseudonyms) or self.linked or any(column.shift for column in self.columns.values())

    @property
    def linked(self) -> bool:
        """Return whether a pseudonym of the person is published.

        It is published in the first of the columns that identify the person.
        """
        return any(self.columns[name].pseudonym for name in self.person)

    @property
    def published(self) -> Schema:
        """The schema of the published table.

        The values of a column that publishes categories are its categories, and so is its order, if a model needs one;
        a hierarchy of its values no longer applies. If several columns together identify the person, the first one then
        does so alone.
        """
        rest = {name: Column(Role.DROP) for name in self.person[1:]}
        first = {name: replace(self.columns[name], pseudonym=self.linked) for name in self.person[:1]}
        return Schema({name: _published(column) for name, column in self.columns.items()} | rest | first)

    def ladder(self, name: str, values: Sequence[str], missing: bool) -> Ladder:
        """Bind the hierarchy of a quasi-identifier to values; flat by default."""
        hierarchy = self.columns[name].hierarchy or Flat()
        if self.columns[name].unmatched == "hide" and TOP in values:
            hierarchy = WithHidden(hierarchy)
        return replace(hierarchy.bind(values, missing, column=name), rule=hierarchy)

    def domain(self, name: str, values: Sequence[str]) -> Domain:
        """Return the domain of a sensitive column for the models.

        The values that the plan lists are found by their key. Where missing values are harmless, one more value stands
        for them. A harmless value is in the least sensitive category.
        """
        column = self.columns[name]
        category, count, tree = None, 0, None
        if column.categories is not None:
            category, count = column.categories.bind(values, name, column.key), column.categories.count
        if column.hierarchy is not None:
            listed = [path[0] for path in declared_paths(column.hierarchy)]
            tree = column.hierarchy.bind(declared_spelling(values, listed, column.key), missing=False, column=name)
        order = column.order or ()
        rank = _rank(name, declared_spelling(values, order, column.key) if order else values, column.order)
        rank_count = 0 if rank is None else int(rank.max(initial=-1)) + 1
        if column.order is not None:
            rank_count = len(column.order)
        if not column.has_harmless_values:
            return Domain(name, len(values), category, count, rank, rank_count, tree)
        listed_keys = set(map(column.key, column.harmless))
        flags = [column.key(value) in listed_keys for value in values]
        flags += [True] * (column.missing == "not applicable")
        harmless = np.asarray(flags, np.bool_)
        if category is not None:
            category = np.where(harmless, np.int32(count - 1), np.resize(category, len(flags))).astype(np.int32)
        return Domain(name, len(flags), category, count, harmless=harmless)


@dataclass(frozen=True)
class Domain:
    """The values of a sensitive column, coded from 0 to ``size - 1``.

    Attributes
    ----------
    category, categories
        Category index of each value (or None) and the number of categories m.
    rank, rank_count
        Rank of each value in the column's order (or None without an order), and the number of ranks.
    tree
        The column's hierarchy bound to its values, or None.
    people
        The people of the table, if a column identifies the person of a row.
    harmless
        Which values harm nobody; None if the plan calls none harmless. Such a domain has no order and no tree.
    """

    name: str
    size: int
    category: npt.NDArray[np.int32] | None = None
    categories: int = 0
    rank: npt.NDArray[np.int64] | None = None
    rank_count: int = 0
    tree: Ladder | None = None
    people: People | None = None
    harmless: npt.NDArray[np.bool_] | None = None


def _published(column: Column) -> Column:
    if column.levels is not None:  # the labels of the level are the values, and it has no further ones
        return Column(
            column.role, exact=column.exact, harmless=column.harmless, missing=column.missing,
            known_to_others=column.known_to_others,
        )  # fmt: skip
    categories = column.categories
    if column.publish != "categories" or categories is None:
        return column
    names = tuple(map(categories.name, range(categories.count)))
    own = Categories(tuple((name,) for name in names), names)
    return Column(
        column.role, categories=own, order=names, exact=column.exact, harmless=column.harmless, missing=column.missing,
        known_to_others=column.known_to_others,
    )  # fmt: skip


def _refuse_conflicts(column: Column) -> None:
    """Raise if the plan distinguishes two values that are counted as one."""
    order = [(value, index) for index, value in enumerate(column.order or ())]
    classes = () if column.categories is None else column.categories.classes
    categories = [(value, index) for index, values in enumerate(classes) for value in values]
    names = []
    if column.publish != "values" and column.categories is not None:
        names = [(column.categories.name(index), index) for index in range(column.categories.count)]
    tree: list[tuple[str, object]] = []
    if column.hierarchy is not None:
        with suppress(HierarchyError):  # binding the hierarchy reports its errors
            tree = [(path[0], path[1:]) for path in declared_paths(column.hierarchy)]
    for what, pairs in (("order", order), ("categories", categories), ("names", names), ("hierarchy", tree)):
        meaning_of_key: dict[str | None, object] = {}
        conflicts = sum(meaning_of_key.setdefault(fold(value), meaning) != meaning for value, meaning in pairs)
        if conflicts:
            raise PlanError("columns.equal-values-told-apart", key=what, found=conflicts)


def _rank(name: str, values: Sequence[str], order: tuple[str, ...] | None) -> npt.NDArray[np.int64] | None:
    """Return the rank of each value: in the plan's order, or by number."""
    if order is not None:
        position = {value: index for index, value in enumerate(order)}
        lacking = sum(value not in position for value in values)
        if lacking:
            raise PlanError("columns.order-incomplete", column=name, found=lacking)
        return np.asarray([position[value] for value in values], np.int64)
    try:
        numbers = np.asarray([float(value) for value in values], np.float64)
    except ValueError:
        return None
    if not np.isfinite(numbers).all():
        return None
    return np.unique(numbers, return_inverse=True)[1].astype(np.int64)
