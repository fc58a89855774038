"""Count the facts that suffice to single out a person: 1, 2, 3, ...

A fact is a quasi-identifier of the person. For a release alone: the rows that are unique in the visible labels of some
columns. With the original: the rows that match only one released row, for an intruder who knows their values in some
columns. :mod:`shoal.models.partial_knowledge` guarantees that there are none up to a number of columns; this attack
reports what an intruder finds beyond it.

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

from shoal.formatting import counted, number
from shoal.schema import TOP, Schema
from shoal.table.column_subsets import SubsetCounter
from shoal.utility.coded_tables import CodedColumn
from shoal.utility.labels import read_labels

MAX_FACTS = 3
MAX_CELLS = 400_000_000
"""Number of rows times column sets beyond which larger sets are not counted: some seconds."""
MAX_PAIRS = 20_000_000


@dataclass(frozen=True)
class FactsNeeded:
    """Numbers of rows that are singled out by at most a number of facts.

    ``rows[i]`` counts rows of the release that are singled out by i + 1 facts, ``original_rows[i]`` rows of the
    original where it is given; larger numbers of facts were not counted. ``people`` are the people with such a row of
    the original, where the owners of rows are known.
    """

    rows: tuple[int, ...]
    original_rows: tuple[int, ...] | None = None
    people: tuple[int, ...] | None = None

    @property
    def suffice(self) -> int | None:
        """Fewest facts that single out a person; None if no counted number does."""
        found = [i + 1 for each in (self.rows, self.original_rows or ()) for i, count in enumerate(each) if count]
        return min(found, default=None)

    def sentence(self) -> str:
        """Describe how many facts suffice for identification."""
        if self.suffice is None:
            return f"Nobody is singled out by {counted(len(self.rows), 'fact')} or fewer."
        each = self.people or self.original_rows or self.rows
        listed = ", ".join(f"{number(count)} by {facts}" for facts, count in enumerate(each, 1))
        what = "people" if self.people else "rows of the original" if self.original_rows else "rows"
        suffice = "facts suffice" if self.suffice > 1 else "fact suffices"
        return f"{self.suffice} {suffice} to single somebody out; {what} that are found, by number of facts: {listed}."

    def to_dict(self) -> dict[str, Any]:
        """Return the counts for JSON."""
        content: dict[str, Any] = {"suffice": self.suffice, "counted_up_to": len(self.rows), "rows": list(self.rows)}
        if self.original_rows is not None:
            content["original_rows"] = list(self.original_rows)
        if self.people is not None:
            content["people"] = list(self.people)
        return content


def facts_needed(
    released: Sequence[CodedColumn],
    schema: Schema,
    people: Sequence[CodedColumn] | None = None,
    person: npt.NDArray[np.int64] | None = None,
) -> FactsNeeded:
    """Count the rows of a release, and of the original, that are singled out.

    Rows are singled out by their quasi-identifiers. ``person`` is the number of the person of each original row, where
    it is known.
    """
    rows = len(released[0].code)
    known = None if people is None or len(people) != len(released) else _released_labels(released, people, schema)
    codes, sizes = [], []
    for j, column in enumerate(released):
        visible = [label for label in column.values if label != TOP]
        code_by_label = {label: code for code, label in enumerate(visible)}
        sizes.append(len(visible) + (0 if known is None else 1))  # plus one for a value that no label covers
        lookup = np.asarray(
            [code_by_label.get(label, sizes[-1]) if label != TOP else sizes[-1] for label in column.values]
        )
        codes.append(lookup[column.code])
        if known is not None:
            known[j] = np.where(known[j] >= 0, np.append(lookup, 0)[known[j]], sizes[-1] - 1)
    facts = SubsetCounter(np.stack(codes, axis=1), sizes, np.ones(rows, np.int64))
    crowd = None
    if known is not None:
        crowd = SubsetCounter(np.stack(known, axis=1), sizes, np.ones(len(known[0]), np.int64))
    return _count_singled_out(facts, crowd, person)


def _count_singled_out(
    facts: SubsetCounter, crowd: SubsetCounter | None, person: npt.NDArray[np.int64] | None
) -> FactsNeeded:
    columns, rows = len(facts.columns), facts.rows
    alone = np.zeros(rows, np.bool_)
    found = np.zeros(0 if crowd is None else crowd.rows, np.bool_)
    by_rows, by_original, by_people = [], [], []
    for size in range(1, min(MAX_FACTS, columns) + 1):
        if size > 1 and rows * math.comb(columns, size) > MAX_CELLS:
            break
        for chosen in itertools.combinations(range(columns), size):
            counted = facts.combinations(chosen)
            alone |= (counted.visible & (counted.size == 1))[counted.number]
            if crowd is not None:
                found |= facts.count_candidate_rows(crowd, chosen, 2) == 1
        by_rows.append(int(alone.sum()))
        by_original.append(int(found.sum()))
        if crowd is not None and person is not None:
            by_people.append(len(np.unique(person[found])))
    if crowd is None:
        return FactsNeeded(tuple(by_rows))
    return FactsNeeded(tuple(by_rows), tuple(by_original), None if person is None else tuple(by_people))


def _released_labels(
    released: Sequence[CodedColumn], people: Sequence[CodedColumn], schema: Schema
) -> list[np.ndarray[Any, np.dtype[np.int64]]] | None:
    """Return for each person and column the index of the covering label.

    -1 where no label covers the value; None where several labels cover a value.
    """
    known = []
    for label, value in zip(released, people, strict=True):
        if len(label.values) * (len(label.values) + len(value.values)) > MAX_PAIRS:
            return None
        covers = read_labels(label.values, value.values, schema.columns[label.name].hierarchy, label.name).covers.copy()
        covers[[text == TOP for text in label.values]] = False
        if (covers.sum(axis=0) > 1).any():
            return None
        label_of_value = np.where(covers.any(axis=0), covers.argmax(axis=0), -1)
        known.append(label_of_value[value.code].astype(np.int64))
    return known
