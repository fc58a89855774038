"""Profile of a column, and the diversity asked of sensitive ones.

The role follows from the column's tier (:mod:`shoal.advice.column_tiers`). Two further decisions are made here. A
column that is the same in all rows of a person, and nearly everybody's own, would link the rows, and is dropped. And of
a sensitive column diversity is asked only where it means something.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shoal.advice.column_tiers import Tier
from shoal.formatting import percent
from shoal.schema import Role

MAX_CATEGORIES = 20
"""Maximum number of different numbers that are taken for categories."""
MAX_MISSING_SHARE = 0.2
MAX_MISSING_MARKS_SHARE = 0.05
MAX_COMMONEST_SHARE = 0.5
"""Maximum share of the most common value among the known ones, for two different values in every group."""
MAX_COMMONEST_OF_TWO = 0.65
MAX_SHARE_IN_GROUP = 0.79
"""Maximum share of one value in a group: less than four fifths, from which on a value is nearly sure."""
MIN_LINKING_VALUES = 20
MIN_LINKING_SHARE = 0.5
"""Minimum number of values, as a share of the people, for a column that links the rows of a person."""


@dataclass(frozen=True)
class ColumnProfile:
    """Profile of a column.

    Attributes
    ----------
    kind
        empty, number, date, code, word or text.
    missing, distinct, unique
        Rows without a value; distinct values; rows with a value that no other row has.
    role, reason
        The suggested role and its reason.
    hierarchy, how
        As in a plan, such as ``{"intervals": [5, 10]}``, and its reason; None if the column is not generalized.
    commonest
        Rows with the most common value.
    notes
        Oddities to review, in counts.
    label
        Description by the source: a sentence, and the meaning of codes.
    tier, topic
        Who knows what the column tells (:class:`shoal.advice.column_tiers.Tier`), and what it is about.
    diversity
        Model that a draft asks of a sensitive column: l-diversity, p-sensitive, p-alpha-sensitive, alpha-k or empty;
        ``why_not`` is the reason for none.
    marks
        The values for yes and no, if enough rows of the column say no; ``least_no`` is the number of people (or rows)
        in every group who must say no.
    harmless
        Values of a sensitive column that harm nobody: a no, or what three quarters of the rows have.
    bounds_all
        Whether alpha-k bounds the share of harmless values, too: compiled searches can use it then, and may lose less.
    weight
        Weight of the column's detail for the method; less than 1 where others come first.
    """

    name: str
    kind: str
    missing: int
    distinct: int
    unique: int
    role: Role
    reason: str
    hierarchy: Mapping[str, Any] | None = None
    how: str = ""
    commonest: int = 0
    notes: tuple[str, ...] = ()
    label: str = ""
    tier: str = Tier.UNKNOWN
    topic: str = ""
    diversity: str = ""
    why_not: str = ""
    marks: tuple[str, str] | None = None
    least_no: int = 2
    harmless: tuple[str, ...] = ()
    bounds_all: bool = False
    weight: float = 1.0


def declared_harmless(column: ColumnProfile) -> tuple[str, ...]:
    """Return the values that a draft declares harmless."""
    return column.harmless if column.diversity and not column.bounds_all else ()


def with_diversity(column: ColumnProfile, rows: int, *, people: bool = False) -> ColumnProfile:
    """Decide which diversity a draft asks of a sensitive column.

    Two different values in every group mean something where values are categories, mostly known and mixed. Where a no
    is harmless, it is enough that not everybody in a group says yes, and where most have a harmless value, that not
    everybody in a group has the same other one. Of two common values none that harms may be that of nearly
    everybody in a group; where ``people`` have several rows, who may have both, two different ones are asked for.
    """
    if column.role is not Role.SENSITIVE:
        return column
    known = rows - column.missing
    if (
        not people
        and column.distinct == 2
        and column.missing <= MAX_MISSING_MARKS_SHARE * rows
        and column.commonest <= MAX_COMMONEST_OF_TWO * known
    ):
        return replace(column, diversity="alpha-k")
    if column.marks is not None and column.harmless and column.missing <= MAX_MISSING_MARKS_SHARE * rows:
        return replace(column, diversity="p-alpha-sensitive")
    why_not = ""
    if column.harmless and (column.kind != "number" or column.distinct <= MAX_CATEGORIES):
        return replace(column, diversity="p-sensitive")
    if column.kind == "number" and column.distinct > MAX_CATEGORIES:
        why_not = "numbers of many values: two different ones in a group may be next to each other, and tell as much"
    elif column.missing > MAX_MISSING_SHARE * rows:
        why_not = f"missing in {percent(column.missing / rows)}: of many groups nothing could be asked"
    elif column.commonest > MAX_COMMONEST_SHARE * known:
        share = percent(column.commonest / known)
        why_not = f"{share} of the known values are one and the same: other values in every group would cost too much"
    return replace(column, diversity="" if why_not else "l-diversity", why_not=why_not)


def without_repeated_diversity(columns: Sequence[ColumnProfile], same: Mapping[str, str]) -> list[ColumnProfile]:
    """Require diversity of one of several equivalent columns."""
    diverse = {column.name for column in columns if column.diversity}
    return [
        replace(column, diversity="", why_not=f"it tells the same as {same[column.name]!r}, of which it is asked")
        if column.diversity and same.get(column.name) in diverse
        else column
        for column in columns
    ]


def drop_twins(columns: Sequence[ColumnProfile], same: Mapping[str, str]) -> list[ColumnProfile]:
    """Drop quasi-identifiers that correspond one to one with another."""
    roles = {column.name: column.role for column in columns}
    return [
        dropped(column, f"it tells the same as {same[column.name]!r} in every row")
        if column.role is Role.QUASI_IDENTIFIER and roles.get(same.get(column.name, "")) is Role.QUASI_IDENTIFIER
        else column
        for column in columns
    ]


def dropped(column: ColumnProfile, reason: str) -> ColumnProfile:
    """Return the column with role drop, for a reason."""
    return replace(
        column,
        role=Role.DROP,
        reason=reason,
        hierarchy=None,
        how="",
        notes=(),
        diversity="",
        why_not="",
        marks=None,
        harmless=(),
    )
