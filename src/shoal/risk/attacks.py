"""Attacks on a released table alone: what its groups tell about sensitive values.

Each attack tells how many people it exposes, to what, and how many would be guessed right without the release, by
naming the most frequent value (or category) of the whole table for everyone: its overall shares count as known. What is
reported are counts, never a value. A missing sensitive value exposes nobody and protects nobody.

* **homogeneity**: groups of one value. Machanavajjhala et al., "l-diversity", ICDE 2006, section 2.
* **similarity**: groups whose values all fall in one category of sensitivity; exposed are their rows. Sun, Wang, Li and
  Truta, "Enhanced p-sensitive k-anonymity models for privacy preserving data publishing", 2008, section 6.
* **probabilistic inference**: name the most frequent value of the person's group. The optimal guess of an intruder with
  the table; its excess over the baseline is what the release gives away.
* **background knowledge**: the intruder can rule j values out for the target. Machanavajjhala et al., section 2;
  Martin et al., "Worst-case background knowledge", ICDE 2007 (negated atoms).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import PlanError
from shoal.table.groups import Groups, Histogram

__all__ = ["AttackResult", "background_knowledge", "homogeneity", "inference", "similarity"]


@dataclass(frozen=True)
class AttackResult:
    """What one attack achieves.

    Attributes
    ----------
    name
        Of the attack.
    learns
        What the intruder learns about an exposed person.
    column
        The sensitive column, or None.
    people
        How many were attacked: rows, each taken for a person, unless ``counts`` says otherwise.
    exposed
        How many of them are exposed.
    baseline
        How many of them would be guessed right without the release (an expectation, so it may be a fraction).
    figures
        Further counts and shares.
    rows
        Numbers (from 1) of the exposed rows of the external table, where there is one.
    counts
        What is counted: rows, people or households.
    """

    name: str
    learns: str
    column: str | None
    people: int
    exposed: int
    baseline: float
    figures: Mapping[str, float | int | str] = field(default_factory=dict)
    rows: tuple[int, ...] = ()
    counts: str = "rows"

    @property
    def share(self) -> float:
        """The exposed part of those attacked."""
        return self.exposed / self.people if self.people else 0.0

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        answer: dict[str, Any] = {
            "attack": self.name,
            "learns": self.learns,
            "column": self.column,
            "counts": self.counts,
            "attacked": self.people,
            "exposed": self.exposed,
            "share": self.share,
            "baseline": self.baseline,
            "baseline_share": self.baseline / self.people if self.people else 0.0,
            "figures": dict(self.figures),
        }
        if self.rows:
            answer["external_rows"] = list(self.rows)
        return answer


def homogeneity(groups: Groups, column: str) -> AttackResult:
    """People in groups of one sensitive value: who finds the group knows it.

    Examples
    --------
    >>> from shoal.table.groups import histogram
    >>> from shoal.schema import Domain
    >>> group, value, count = np.array([0, 1, 1]), np.array([0, 0, 1], np.int32), np.array([2, 1, 1])
    >>> groups = Groups(np.array([2, 2]), (histogram(group, value, count, 2, Domain("illness", 2)),))
    >>> homogeneity(groups, "illness").exposed
    2
    """
    histogram = groups.histogram(column)
    same = histogram.distinct == 1
    return AttackResult(
        "homogeneity",
        "the value",
        column,
        int(histogram.known.sum()),
        int(histogram.known[same].sum()),
        float(histogram.total.max(initial=0)),
        {"groups": groups.count, "exposed_groups": int(same.sum())},
    )


def similarity(groups: Groups, column: str) -> AttackResult:
    """People in groups whose values are all of one category, as Sun et al. count their vulnerable records.

    Among them are those of one value. The column needs sensitivity categories.
    """
    histogram = groups.histogram(column)
    category = histogram.domain.category
    if category is None:
        raise PlanError(f"The similarity attack needs sensitivity categories of column {column!r}; none are given.")
    kinds = _distinct_categories(histogram, category, groups.count)
    totals = np.bincount(category, weights=histogram.total, minlength=histogram.domain.categories)
    same = kinds == 1
    worst = same.copy()  # groups of the most sensitive category
    worst[same] = category[histogram.value[histogram.start[:-1][same]]] == 0
    return AttackResult(
        "similarity",
        "the category",
        column,
        int(histogram.known.sum()),
        int(histogram.known[same].sum()),
        float(totals.max(initial=0)),
        {
            "groups": groups.count,
            "exposed_groups": int(same.sum()),
            "exposed_to_the_most_sensitive": int(histogram.known[worst].sum()),
        },
    )


def inference(groups: Groups, column: str, confidence: float = 0.8) -> AttackResult:
    """People whose value is guessed right by naming the most frequent one of their group.

    ``figures`` tells the highest share of a value in a group, by how much that is above the value's share in the table
    at most, and how many people's most likely value has a share of at least ``confidence``.
    """
    histogram = groups.histogram(column)
    known = int(histogram.known.sum())
    largest = histogram.largest()
    filled = histogram.known > 0
    share = np.divide(largest, histogram.known, out=np.zeros(groups.count), where=filled)
    prior = histogram.total / max(known, 1)
    posterior = histogram.count / histogram.known[histogram.owner]
    return AttackResult(
        "inference",
        "the most likely value",
        column,
        known,
        int(largest.sum()),
        float(histogram.total.max(initial=0)),
        {
            "highest_share": float(share.max(initial=0.0)),
            "largest_gain": float((posterior - prior[histogram.value]).max(initial=0.0)),
            "confidence": confidence,
            "people_above_confidence": int(histogram.known[filled & (share >= confidence)].sum()),
            "baseline_above_confidence": known if float(prior.max(initial=0.0)) >= confidence else 0,
        },
    )


def background_knowledge(groups: Groups, column: str, excluded: int) -> AttackResult:
    """People whose value is certain to an intruder who can rule out the right ``excluded`` other values.

    That is everyone in a group of at most ``excluded`` + 1 values. ``figures`` holds the mean and the highest
    confidence in a person's own value after the most frequent other values of the group were ruled out.
    """
    if excluded < 0:
        raise PlanError(f"The number of excluded values must not be negative; found {excluded}.")
    histogram = groups.histogram(column)
    known = int(histogram.known.sum())
    few = (histogram.distinct > 0) & (histogram.distinct <= excluded + 1)
    left = _rest_after_exclusion(histogram, excluded)
    confidence = histogram.count / left
    present = histogram.total[histogram.total > 0]
    whole = _rest(np.sort(present)[::-1], excluded)
    return AttackResult(
        "background knowledge",
        "the value",
        column,
        known,
        int(histogram.known[few].sum()),
        float(known) if len(present) <= excluded + 1 else 0.0,
        {
            "excluded": excluded,
            "exposed_groups": int(few.sum()),
            "mean_confidence": float(histogram.count @ confidence) / max(known, 1),
            "highest_confidence": float(confidence.max(initial=0.0)),
            "baseline_confidence": float(np.sort(present)[::-1] @ (np.sort(present)[::-1] / whole)) / max(known, 1),
        },
    )


def _distinct_categories(histogram: Histogram, category: npt.NDArray[np.int32], groups: int) -> npt.NDArray[np.int64]:
    present = np.zeros((groups, histogram.domain.categories), np.bool_)
    present[histogram.owner, category[histogram.value]] = True
    return np.asarray(present.sum(axis=1), np.int64)


def _rest(counts: npt.NDArray[np.int64], excluded: int) -> npt.NDArray[np.float64]:
    """For counts from large to small: what is left of all after the largest others were taken out, for each."""
    place = np.arange(len(counts))
    first = counts[: excluded + 1].sum()
    total = counts.sum()
    # one of the first j + 1 values takes the other j of them out, a later value the first j
    out = np.where(place <= excluded, first - counts, counts[:excluded].sum())
    return np.asarray(total - out, np.float64)


def _rest_after_exclusion(histogram: Histogram, excluded: int) -> npt.NDArray[np.float64]:
    """The same for every entry of every group, in the histogram's order."""
    left = np.empty(len(histogram.count), np.float64)
    order = np.lexsort((-histogram.count, histogram.owner))
    counts = histogram.count[order]
    start = histogram.start[:-1][histogram.distinct > 0]
    if not len(start):
        return left
    owner = np.repeat(np.arange(len(start)), histogram.distinct[histogram.distinct > 0])
    place = np.arange(len(counts)) - start[owner]
    first = np.add.reduceat(np.where(place <= excluded, counts, 0), start)
    before = np.add.reduceat(np.where(place < excluded, counts, 0), start)
    total = np.add.reduceat(counts, start)
    out = np.where(place <= excluded, first[owner] - counts, before[owner])
    left[order] = total[owner] - out
    return left
