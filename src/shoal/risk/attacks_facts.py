"""How many facts suffice to single somebody out: 1, 2, 3, ... of the quasi-identifiers.

Of a release alone: the rows that are the only ones to show some visible labels in so many columns. With the original:
the rows that only one released row can be, for whoever knows so many of their values. What
:mod:`shoal.models.partial_knowledge` promises is that there are none up to a number; here is what an intruder finds beyond it.

Sets of columns are counted by size, as long as there are not too many of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.schema import TOP, Schema
from shoal.table.column_subsets import Facts
from shoal.utility.coded_tables import CodedColumn
from shoal.utility.labels import read_labels

__all__ = ["FactsNeeded", "facts_needed"]

MOST_FACTS = 3
MOST_CELLS = 400_000_000
"""Rows times sets of columns beyond which larger sets are not counted: some seconds."""
MOST_PAIRS = 20_000_000


@dataclass(frozen=True)
class FactsNeeded:
    """How many rows, of the release and of the original where it is there, are singled out by so many facts at most.

    ``rows[i]`` and the others are for i + 1 facts; those of more facts were not counted. ``people`` are those who have
    such a row of the original, where it is known whose they are.
    """

    rows: tuple[int, ...]
    original_rows: tuple[int, ...] | None = None
    people: tuple[int, ...] | None = None

    @property
    def suffice(self) -> int | None:
        """The fewest facts that single out somebody; None where no number that was counted does."""
        found = [i + 1 for each in (self.rows, self.original_rows or ()) for i, count in enumerate(each) if count]
        return min(found, default=None)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        told: dict[str, Any] = {"suffice": self.suffice, "counted_up_to": len(self.rows), "rows": list(self.rows)}
        if self.original_rows is not None:
            told["original_rows"] = list(self.original_rows)
        if self.people is not None:
            told["people"] = list(self.people)
        return told


def facts_needed(
    shown: Sequence[CodedColumn],
    schema: Schema,
    people: Sequence[CodedColumn] | None = None,
    person: npt.NDArray[np.int64] | None = None,
) -> FactsNeeded:
    """Single out rows of a release, by its quasi-identifiers, and with the original's columns the rows behind it.

    ``person`` is the number of each original row's person, where it is known.
    """
    rows = len(shown[0].code)
    known = None if people is None or len(people) != len(shown) else _as_shown(shown, people, schema)
    codes, sizes = [], []
    for j, column in enumerate(shown):
        visible = [label for label in column.values if label != TOP]
        place = {label: code for code, label in enumerate(visible)}
        sizes.append(len(visible) + (0 if known is None else 1))  # one more for a value that no label covers
        lookup = np.asarray([place.get(label, sizes[-1]) if label != TOP else sizes[-1] for label in column.values])
        codes.append(lookup[column.code])
        if known is not None:
            known[j] = np.where(known[j] >= 0, np.append(lookup, 0)[known[j]], sizes[-1] - 1)
    facts = Facts(np.stack(codes, axis=1), sizes, np.ones(rows, np.int64))
    crowd = None
    if known is not None:
        crowd = Facts(np.stack(known, axis=1), sizes, np.ones(len(known[0]), np.int64))
    return _count(facts, crowd, person)


def _count(facts: Facts, crowd: Facts | None, person: npt.NDArray[np.int64] | None) -> FactsNeeded:
    columns, rows = len(facts.columns), facts.rows
    alone = np.zeros(rows, np.bool_)
    found = np.zeros(0 if crowd is None else crowd.rows, np.bool_)
    by_rows, by_original, by_people = [], [], []
    for size in range(1, min(MOST_FACTS, columns) + 1):
        if size > 1 and rows * math.comb(columns, size) > MOST_CELLS:
            break
        for chosen in itertools.combinations(range(columns), size):
            counted = facts.combinations(chosen)
            alone |= (counted.visible & (counted.size == 1))[counted.number]
            if crowd is not None:
                found |= facts.rows_of(crowd, chosen, 2) == 1
        by_rows.append(int(alone.sum()))
        by_original.append(int(found.sum()))
        if crowd is not None and person is not None:
            by_people.append(len(np.unique(person[found])))
    if crowd is None:
        return FactsNeeded(tuple(by_rows))
    return FactsNeeded(tuple(by_rows), tuple(by_original), None if person is None else tuple(by_people))


def _as_shown(
    shown: Sequence[CodedColumn], people: Sequence[CodedColumn], schema: Schema
) -> list[np.ndarray[Any, np.dtype[np.int64]]] | None:
    """Of each person and column the label that covers the value, by place, -1 for none; None where several do."""
    known = []
    for label, value in zip(shown, people, strict=True):
        if len(label.values) * (len(label.values) + len(value.values)) > MOST_PAIRS:
            return None
        covers = read_labels(label.values, value.values, schema.columns[label.name].hierarchy, label.name).covers.copy()
        covers[[text == TOP for text in label.values]] = False
        if (covers.sum(axis=0) > 1).any():
            return None
        place = np.where(covers.any(axis=0), covers.argmax(axis=0), -1)
        known.append(place[value.code].astype(np.int64))
    return known
