"""Suggested role of a column: identifier, quasi-identifier, sensitive, ...

The suggestion is cautious: a column about which nothing is known is a quasi-identifier. But no table can protect people
in forty columns at once and remain useful. For a wide table, a limited number of quasi-identifiers is therefore chosen,
those that others are likely to know first. The others are dropped, which costs detail and no safety.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shoal.advice.value_kinds import have_same_unit
from shoal.schema import Role
from shoal.schema.column_vocabulary import PUBLIC_KNOWLEDGE, meaning_of, words_of
from shoal.schema.detect_identifiers import identifier_reason, is_remark, person_reason, sensitive_reason

MAX_JOINT_QUASI_IDENTIFIERS = 16
"""Maximum number of quasi-identifiers that a draft protects jointly; beyond it, it assumes partial knowledge."""
MAX_QUASI_IDENTIFIERS = 60
"""Maximum number of quasi-identifiers that a draft protects at all."""
MAX_SENSITIVE_COLUMNS = 3
"""Maximum number of sensitive columns in a draft for a wide table; each one restricts all groups."""
MAX_SENSITIVE_VALUES = 20
MAX_PREFERRED_VALUES = 100
MIN_MINORITY_SHARE = 0.2
"""Minimum share of rows without the most common sensitive value, so that diverse groups cost little."""
MAX_DISTINCT_WORD_SHARE = 0.2
MAX_DISTINCT_WORDS = 100
MIN_ROWS_OF_CONSTANT = 20


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


def format_share(part: int, rows: int) -> str:
    """Format a share of the rows in percent; a few rows are not 0%.

    >>> format_share(1, 10_000), format_share(1, 2), format_share(1, 3)
    ('under 0.1%', '50%', '33.3%')
    """
    share = 100 * part / rows
    return "under 0.1%" if 0 < share < 0.1 else f"{share:.1f}%".replace(".0%", "%")


def role_of(name: str, kind: str, values: Sequence[str], rows: int, missing: int) -> tuple[Role, str]:
    """Suggest the role of a column by itself, with a reason.

    ``values`` are its distinct values; ``missing`` is the number of rows without a value.
    """
    if not values:
        return Role.DROP, "it has no value at all"
    filled = rows - missing
    distinct = len(values) / filled
    person = person_reason(name, values, distinct)
    if person:
        return Role.PERSON, person
    found = identifier_reason(name, values, distinct, filled)
    if found:
        return Role.IDENTIFIER, found
    if kind == "text":
        return Role.DROP, "it is free text, which may say anything about anybody"
    if kind == "word" and is_remark(name):
        return Role.DROP, "by its name it is for remarks, which may say anything about anybody"
    if len(values) == 1 and not missing and rows >= MIN_ROWS_OF_CONSTANT:
        return Role.DROP, "it has one value only"
    if kind == "word" and len(values) > MAX_DISTINCT_WORDS and distinct > MAX_DISTINCT_WORD_SHARE:
        if have_same_unit(values):
            return Role.DROP, "its numbers have a sign beside them (5%, 5 kg): without it they could become intervals"
        return Role.DROP, "it has so many different words that it is like free text, which may name somebody"
    found = sensitive_reason(name)
    if found and len(values) > 1 and kind != "date":
        return Role.SENSITIVE, found
    known = meaning_of(words_of(name), PUBLIC_KNOWLEDGE)
    if known:
        return Role.QUASI_IDENTIFIER, f"others may know it: it tells about {known}"
    if kind == "date":
        return Role.QUASI_IDENTIFIER, "others may know when something happened"
    return Role.QUASI_IDENTIFIER, "somebody may know it of a person"


def limit_quasi_identifiers(
    columns: Sequence[ColumnProfile], rows: int, same: Mapping[str, str]
) -> list[ColumnProfile]:
    """Drop quasi-identifiers of a wide table that cannot be protected.

    ``same`` maps a column to an earlier column that is equivalent in every row.
    """
    quasi = [column for column in columns if column.role is Role.QUASI_IDENTIFIER]
    if len(quasi) <= MAX_JOINT_QUASI_IDENTIFIERS:
        return list(columns)
    sensitive = [column for column in columns if column.role is Role.SENSITIVE and column.name not in same]
    sensitive = [
        column for column in sensitive if column.distinct <= MAX_SENSITIVE_VALUES and column.missing * 2 <= rows
    ]
    sensitive = sorted(
        (c for c in sensitive if rows - c.missing - c.commonest >= MIN_MINORITY_SHARE * rows), key=lambda c: c.commonest
    )
    chosen = {column.name for column in sensitive[:MAX_SENSITIVE_COLUMNS]}
    ranked = [column for column in quasi if column.name not in same]
    ranked.sort(key=lambda column: _rank(column, rows))
    # models that count people protect all columns jointly: partial knowledge is not supported
    max_columns = (
        MAX_JOINT_QUASI_IDENTIFIERS if any(column.role is Role.PERSON for column in columns) else MAX_QUASI_IDENTIFIERS
    )
    chosen |= {column.name for column in ranked[:max_columns]}
    return [
        column if column.name in chosen else _dropped(column, same.get(column.name), max_columns) for column in columns
    ]


def _rank(column: ColumnProfile, rows: int) -> tuple[bool, ...]:
    """Rank a quasi-identifier; smaller ranks come first.

    Columns that others are likely to know come first; then columns that are mostly filled, vary, and have neither two
    values nor many; then the order of the table.
    """
    known = meaning_of(words_of(column.name), PUBLIC_KNOWLEDGE) is not None
    varied = rows - column.missing - column.commonest >= MIN_MINORITY_SHARE * rows
    return (
        not known,
        2 * column.missing > rows,
        not varied,
        column.distinct > MAX_PREFERRED_VALUES,
        column.distinct < 3,
    )


def _dropped(column: ColumnProfile, same: str | None, max_columns: int) -> ColumnProfile:
    if column.role not in (Role.QUASI_IDENTIFIER, Role.SENSITIVE):
        return column
    if same is not None:
        reason = f"it tells the same as {same!r} in every row"
    elif column.role is Role.SENSITIVE:
        reason = f"{column.reason}, and only {MAX_SENSITIVE_COLUMNS} such columns are kept, those whose values mix best"
        if column.distinct > MAX_SENSITIVE_VALUES:
            reason = f"{column.reason}, and exact values would tell people apart"
    else:
        reason = f"somebody may know it, and only {max_columns} columns are protected"
    return replace(column, role=Role.DROP, reason=reason, hierarchy=None, how="")
