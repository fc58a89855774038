"""Exposure: people with few rows like theirs, for the owner of a release.

Somebody who knows the true values of some columns finds the released rows that can be a person's: those that show the
same in these columns, where `*` may be anything. The figures are about all quasi-identifiers together, and about the
two and three of them that single out most people, which are found one after the other. They are not published.

Where a plan declares people, people are counted: a person has as few like him or her as the row that singles out most.
Where cells are hidden as well, the people behind rows with other cells hidden may be the same, and the largest of these
crowds counts: the figures are then upper bounds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from shoal.formatting import number
from shoal.runtime.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

MAX_CELLS_WITHOUT_CLOCK = 10_000
"""Number of cells up to which a table is looked through whatever time that takes."""
SMALL_CROWD = 5
MAX_EXPOSED_SHARE = 0.01
"""Largest part of the rows or people with fewer like them, without a warning."""
MAX_FACTS = 3

Codes = npt.NDArray[np.int64]
Column: TypeAlias = "Sequence[str | None] | pa.Array"
"""Labels of a column; None is missing."""


@dataclass(frozen=True)
class ExposedRows:
    """Rows or people with few like them, given some columns."""

    columns: tuple[str, ...]
    alone: int
    exposed: int

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        return {"columns": list(self.columns), "alone": self.alone, f"below_{SMALL_CROWD}": self.exposed}


@dataclass(frozen=True)
class Exposure:
    """Exposure of a release: by all quasi-identifiers, and by few of them.

    ``people`` are counted where it is a number, otherwise rows.
    """

    rows: int
    all_columns: ExposedRows
    facts: tuple[ExposedRows, ...]
    people: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        counted = {"rows": self.rows} if self.people is None else {"rows": self.rows, "people": self.people}
        return {**self.all_columns.to_dict(), **counted, "facts": [fact.to_dict() for fact in self.facts]}


def exposure_warnings(release: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the warning about too many exposed rows, with the block to add.

    Where models are about all quasi-identifiers, the size of groups is what the plan asks for.
    """
    figures = release.get("exposure")
    is_partial = "intruder" in release
    if figures is None or not is_partial:
        return []
    total, unit = _total(figures)
    if figures[f"below_{SMALL_CROWD}"] <= MAX_EXPOSED_SHARE * total:
        return []
    names = ", ".join(f'"{name}"' for name in figures["columns"])
    text = (
        f"Of {number(total)} {unit} {number(figures[f'below_{SMALL_CROWD}'])} have fewer than {SMALL_CROWD} "
        f"{unit} like them "
        "for somebody who knows all quasi-identifiers. If they can be known together, add to the plan: "
        f"[[keys]] columns = [{names}], k = {SMALL_CROWD}."
    )
    return [{"code": "exposure", "text": text}]


def _total(figures: Mapping[str, Any]) -> tuple[int, str]:
    """Return the number of rows or people of the figures, and the unit."""
    unit = "people" if "people" in figures else "rows"
    return figures[unit], unit


def exposure_sentence(figures: Mapping[str, Any]) -> str:
    """Describe the exposure of a release in a sentence."""
    key = f"below_{SMALL_CROWD}"
    facts = [f"by {' with '.join(fact['columns'])} {number(fact[key])}" for fact in figures["facts"] if fact[key]]
    more = f"; {', '.join(facts)}" if facts else ""
    total, unit = _total(figures)
    return (
        f"Exposure, for you alone: {number(figures[key])} of {number(total)} {unit} have fewer than "
        f"{SMALL_CROWD} like "
        f"them in all quasi-identifiers, {number(figures['alone'])} are alone{more}."
    )


def measure_exposure(
    names: Sequence[str],
    published: Sequence[Column],
    count: Codes,
    truths: Sequence[Column] | None = None,
    truth_count: Codes | None = None,
    *,
    hidden: str | None = None,
    people: tuple[Codes, Codes] | None = None,
    seconds: float = float("inf"),
    clock: Callable[[], float] = time.perf_counter,
) -> Exposure:
    """Count the rows, or people, with few like them.

    Parameters
    ----------
    published, count
        Released labels by column, and the rows of each combination.
    truths, truth_count
        What the same columns say of people, as labels of which none is hidden; by default what is published.
    hidden
        Label that may be anything, such as `*`; None if every label is read as it is.
    people
        The person of each released combination, and of each truth; rows are counted without them.
    seconds
        Time after which no further facts are looked for; small tables are always looked through, so that their
        figures do not depend on the machine.
    """
    start = clock()
    truths, truth_count = (published, count) if truths is None or truth_count is None else (truths, truth_count)
    coded = [_code(one, other, hidden) for one, other in zip(published, truths, strict=True)]
    rows = int(truth_count.sum())
    owner = None if people is None else np.unique(people[1], return_inverse=True)[1].reshape(-1)
    units = truth_count if owner is None else np.ones(int(owner.max(initial=-1)) + 1, np.int64)

    def measure(chosen: Sequence[int]) -> ExposedRows:
        labels = [coded[j][0] for j in chosen]
        crowd = _crowds(labels, count, [coded[j][1] for j in chosen], None if people is None else people[0])
        if owner is not None:
            smallest = np.full(len(units), np.iinfo(np.int64).max)
            np.minimum.at(smallest, owner, crowd)
            crowd = smallest
        exposed, alone = crowd < SMALL_CROWD, crowd <= 1
        return ExposedRows(tuple(names[j] for j in chosen), int(units[alone].sum()), int(units[exposed].sum()))

    whole = measure(range(len(names)))
    chosen: list[int] = []
    facts = []
    if len(names) * (len(count) + len(truth_count)) <= MAX_CELLS_WITHOUT_CLOCK:
        seconds = float("inf")
    while len(chosen) < min(MAX_FACTS, len(names) - 1) and clock() - start < seconds:
        found = [(measure([*chosen, j]), j) for j in range(len(names)) if j not in chosen]
        best, added = max(found, key=lambda one: (one[0].exposed, one[0].alone, -one[1]))
        chosen.append(added)
        if len(chosen) > 1:
            facts.append(best)
    return Exposure(rows, whole, tuple(facts), None if owner is None else len(units))


def _code(published: Column, truths: Column, hidden: str | None) -> tuple[Codes, Codes]:
    """Number the labels of a column; a hidden one is -1."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = [pa.array(published, pa.string())]
    if truths is not published:
        parts.append(pa.array(truths, pa.string()))
    coded = pc.dictionary_encode(pa.concat_arrays(parts), null_encoding="encode")
    codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    labels, true = codes[: len(published)], codes[-len(truths) :] if len(truths) else codes[:0]
    position = -1 if hidden is None else pc.index(coded.dictionary, hidden).as_py()
    return (labels if position < 0 else np.where(labels == position, -1, labels)), true


def _crowds(published: Sequence[Codes], count: Codes, truths: Sequence[Codes], people: Codes | None = None) -> Codes:
    """Count for each truth the rows that can be its row, or their people.

    Rows with the same cells hidden are looked up together. Of the people of several such lookups the most count.
    """
    pattern = np.zeros(len(count), np.int64)
    for column in published:
        pattern = np.unique(2 * pattern + (column < 0), return_inverse=True)[1].astype(np.int64).reshape(-1)
    crowd = np.zeros(len(truths[0]), np.int64)
    for index in range(int(pattern.max(initial=-1)) + 1):
        rows = np.flatnonzero(pattern == index)
        visible = [j for j, column in enumerate(published) if column[rows[0]] >= 0]
        if not visible:
            found_in_all = int(count[rows].sum()) if people is None else len(np.unique(people[rows]))
            crowd = crowd + found_in_all if people is None else np.maximum(crowd, found_in_all)
            continue
        key = np.zeros(len(rows) + len(crowd), np.int64)
        for j in visible:
            both = np.concatenate([published[j][rows], truths[j]])
            key = np.unique(key * (int(both.max()) + 1) + both, return_inverse=True)[1].astype(np.int64).reshape(-1)
        values = int(key.max()) + 1
        if people is None:
            found = np.bincount(key[: len(rows)], count[rows], values).astype(np.int64)
            crowd += found[key[len(rows) :]]
        else:
            pairs = np.unique(np.stack([key[: len(rows)], people[rows]], axis=1), axis=0)[:, 0]
            crowd = np.maximum(crowd, np.bincount(pairs, minlength=values)[key[len(rows) :]])
    return crowd
