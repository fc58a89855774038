"""Which role suits a column: what names people, what others may know, what nobody should learn, what to leave out.

The suggestion errs on the side of caution: a column that nothing is known of is a quasi-identifier. But no table can
hide people in forty columns at once and still say something. Of a wide table some quasi-identifiers are therefore kept,
those first that others are likely to know, and what does not fit is left out: that costs detail and no safety.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shoal.advice.value_kinds import with_a_sign
from shoal.schema import Role
from shoal.schema.column_vocabulary import KNOWN, meaning_of, words_of
from shoal.schema.detect_identifiers import identifier_reason, is_remark, person_reason, sensitive_reason

__all__ = ["MOST_QUASI", "ColumnProfile", "narrowed", "role_of", "told_share"]

MOST_QUASI = 16
"""So many quasi-identifiers a draft protects together at most; of more, few at a time."""
MOST_KNOWN = 60
"""So many it protects at all."""
MOST_SENSITIVE = 3
"""So many sensitive columns a draft of a wide table publishes at most; each one restricts all groups."""
FEW_VALUES = 20
MANY_VALUES = 100
EVEN = 0.2
"""The part of the rows that must not have a sensitive column's commonest value, for groups to mix at a fair price."""
OWN_WORDS = 0.2
MANY_WORDS = 100
CONSTANT = 20


@dataclass(frozen=True)
class ColumnProfile:
    """What a column is.

    Attributes
    ----------
    kind
        empty, number, date, code, word or text.
    missing, distinct, unique
        Rows without a value; different values; rows whose value no other row has.
    role, reason
        The suggestion, and why.
    hierarchy, how
        As in a plan, such as ``{"intervals": [5, 10]}``, and why that one; None where the column is not generalized.
    commonest
        Rows that have the commonest value.
    notes
        What somebody who knows the column should look at, in counts.
    label
        What the source says of it: a sentence, and the meaning of codes.
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


def told_share(part: int, rows: int) -> str:
    """A part of the rows in percent; a few are not none.

    >>> told_share(1, 10_000), told_share(1, 2), told_share(1, 3)
    ('under 0.1%', '50%', '33.3%')
    """
    share = 100 * part / rows
    return "under 0.1%" if 0 < share < 0.1 else f"{share:.1f}%".replace(".0%", "%")


def role_of(name: str, kind: str, values: Sequence[str], rows: int, missing: int) -> tuple[Role, str]:
    """The role of a column by itself, and why: ``values`` are its different values, ``missing`` rows have none."""
    if not values:
        return Role.DROP, "it has no value at all"
    there = rows - missing
    distinct = len(values) / there
    person = person_reason(name, values, distinct)
    if person:
        return Role.PERSON, person
    found = identifier_reason(name, values, distinct, there)
    if found:
        return Role.IDENTIFIER, found
    if kind == "text":
        return Role.DROP, "it is free text, which may say anything about anybody"
    if kind == "word" and is_remark(name):
        return Role.DROP, "by its name it is for remarks, which may say anything about anybody"
    if len(values) == 1 and not missing and rows >= CONSTANT:
        return Role.DROP, "it has one value only"
    if kind == "word" and len(values) > MANY_WORDS and distinct > OWN_WORDS:
        if with_a_sign(values):
            return Role.DROP, "its numbers have a sign beside them (5%, 5 kg): without it they could become intervals"
        return Role.DROP, "it has so many different words that it is like free text, which may name somebody"
    found = sensitive_reason(name)
    if found and len(values) > 1 and kind != "date":
        return Role.SENSITIVE, found
    known = meaning_of(words_of(name), KNOWN)
    if known:
        return Role.QUASI_IDENTIFIER, f"others may know it: it tells about {known}"
    if kind == "date":
        return Role.QUASI_IDENTIFIER, "others may know when something happened"
    return Role.QUASI_IDENTIFIER, "somebody may know it of a person"


def narrowed(columns: Sequence[ColumnProfile], rows: int, same: Mapping[str, str]) -> list[ColumnProfile]:
    """The columns of a wide table with as many quasi-identifiers as can be protected together.

    ``same`` maps a column to an earlier one that tells the same in every row.
    """
    quasi = [column for column in columns if column.role is Role.QUASI_IDENTIFIER]
    if len(quasi) <= MOST_QUASI:
        return list(columns)
    secret = [column for column in columns if column.role is Role.SENSITIVE and column.name not in same]
    secret = [column for column in secret if column.distinct <= FEW_VALUES and column.missing * 2 <= rows]
    secret = sorted((c for c in secret if rows - c.missing - c.commonest >= EVEN * rows), key=lambda c: c.commonest)
    kept = {column.name for column in secret[:MOST_SENSITIVE]}
    fitting = [column for column in quasi if column.name not in same]
    fitting.sort(key=lambda column: _rank(column, rows))
    # where people are counted, all are protected together: nothing is promised for few at a time
    most = MOST_QUASI if any(column.role is Role.PERSON for column in columns) else MOST_KNOWN
    kept |= {column.name for column in fitting[:most]}
    return [column if column.name in kept else _left_out(column, same.get(column.name), most) for column in columns]


def _rank(column: ColumnProfile, rows: int) -> tuple[bool, ...]:
    """What others are likely to know comes first; then what is mostly there, varies, and has neither two values nor
    many; then the order of the table.
    """
    known = meaning_of(words_of(column.name), KNOWN) is not None
    varied = rows - column.missing - column.commonest >= EVEN * rows
    return (not known, 2 * column.missing > rows, not varied, column.distinct > MANY_VALUES, column.distinct < 3)


def _left_out(column: ColumnProfile, same: str | None, most: int) -> ColumnProfile:
    if column.role not in (Role.QUASI_IDENTIFIER, Role.SENSITIVE):
        return column
    if same is not None:
        reason = f"it tells the same as {same!r} in every row"
    elif column.role is Role.SENSITIVE:
        reason = f"{column.reason}, and only {MOST_SENSITIVE} such columns are kept, those whose values mix best"
        if column.distinct > FEW_VALUES:
            reason = f"{column.reason}, and exact values would tell people apart"
    else:
        reason = f"somebody may know it, and only {most} columns are protected"
    return replace(column, role=Role.DROP, reason=reason, hierarchy=None, how="")
