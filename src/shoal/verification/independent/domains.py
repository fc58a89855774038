"""Categories and order of sensitive values, from a plan's declarations.

Declared values are found by :func:`shoal.verification.independent.folding.value_key`. The hierarchy of a column is
bound by the schema.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.errors import VerificationError
from shoal.schema import Schema

ValueKey = Callable[[str], Hashable]


@dataclass(frozen=True)
class DeclaredDomain:
    """Declared properties of numbered sensitive values.

    Attributes
    ----------
    category, categories
        Category of each value, the most sensitive first, or None; the number of categories.
    rank, rank_count
        Rank of each value from low to high, or None without an order; the number of ranks.
    tree
        The hierarchy of the values, or None.
    harmless
        Which values harm nobody, or None where the plan names none; the last value may be that of missing cells.
    """

    category: tuple[int, ...] | None
    categories: int
    rank: tuple[int, ...] | None
    rank_count: int
    tree: Any
    harmless: tuple[bool, ...] | None = None


def declared_domain(schema: Schema, name: str, texts: Sequence[str], key: ValueKey) -> DeclaredDomain:
    """Find the category and the rank of each value of a sensitive column.

    ``texts`` has one spelling of each value.
    """
    column = schema.columns[name]
    category, categories = None, 0
    if column.harmless or column.missing == "not applicable":
        return _domain_with_harmless_values(column, name, texts, key)
    if column.categories is not None:
        categories = len(column.categories.classes)
        pairs = [(text, index) for index, members in enumerate(column.categories.classes) for text in members]
        category = _find(name, "category", texts, pairs, key)
    if column.order is not None:
        pairs = [(text, index) for index, text in enumerate(column.order)]
        rank: tuple[int, ...] | None = _find(name, "rank", texts, pairs, key)
        rank_count = len(column.order)
    else:
        rank, rank_count = _rank_numbers(texts)
    tree = schema.domain(name, texts).tree if column.hierarchy is not None else None
    return DeclaredDomain(category, categories, rank, rank_count, tree)


def _domain_with_harmless_values(column: Any, name: str, texts: Sequence[str], key: ValueKey) -> DeclaredDomain:
    """Find harmless values, and the categories of the others.

    Of harmless values the category does not matter. They have no rank and no tree: no model uses these with them.
    """
    listed = {key(text) for text in column.harmless}
    harmless = [key(text) in listed for text in texts]
    category, categories = None, 0
    if column.categories is not None:
        categories = len(column.categories.classes)
        pairs = [(text, index) for index, members in enumerate(column.categories.classes) for text in members]
        category = _find(name, "category", texts, pairs, key)
    if column.missing == "not applicable":
        harmless.append(True)
        category = None if category is None else (*category, 0)
    return DeclaredDomain(category, categories, None, 0, None, tuple(harmless))


def _find(
    name: str, what: str, texts: Sequence[str], pairs: Sequence[tuple[str, int]], key: ValueKey
) -> tuple[int, ...]:
    known = {key(text): index for text, index in pairs}
    found = [known.get(key(text)) for text in texts]
    lacking = sum(index is None for index in found)
    if lacking:
        raise VerificationError("verification.value-without-meaning", column=name, found=lacking, kind=what)
    return tuple(index for index in found if index is not None)


def _rank_numbers(texts: Sequence[str]) -> tuple[tuple[int, ...] | None, int]:
    """Rank values by size if all are finite numbers."""
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        return None, 0
    if not all(map(math.isfinite, numbers)):
        return None, 0
    rank = {number: index for index, number in enumerate(sorted(set(numbers)))}
    return tuple(rank[number] for number in numbers), len(rank)
