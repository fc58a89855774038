"""Attribute disclosure by the groups of a released table alone.

Each attack reports how many people it exposes, what the intruder learns, and how many would be guessed correctly
without the release, by naming the most frequent value (or category) of the whole table for everyone: the overall shares
count as known. Only counts are reported, never a value. A missing sensitive value neither exposes nor protects. A value
that the plan calls harmless exposes nobody.

* **homogeneity**: groups of one value. Machanavajjhala et al., "l-diversity", ICDE 2006, section 2.
* **similarity**: groups whose values all fall in one category of sensitivity; exposed are their rows. Sun, Wang, Li and
  Truta, "Enhanced p-sensitive k-anonymity models for privacy preserving data publishing", 2008, section 6.
* **probabilistic inference**: name the most frequent value of the person's group. This is the optimal guess of an
  intruder with the table; its excess over the baseline is what the release discloses.
* **background knowledge**: the intruder can rule out j values for the target. Machanavajjhala et al., section 2;
  Martin et al., "Worst-case background knowledge", ICDE 2007 (negated atoms).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import PlanError
from shoal.schema import Domain
from shoal.table.groups import Groups, Histogram


@dataclass(frozen=True)
class AttackResult:
    """Result of one attack.

    Attributes
    ----------
    name
        The name of the attack.
    learns
        What the intruder learns about an exposed person.
    column
        The sensitive column, or None.
    people
        The number attacked: rows, each taken for a person, unless ``counts`` says otherwise.
    exposed
        The number of them that are exposed.
    baseline
        The number of them that would be guessed correctly without the release (an expectation, possibly fractional).
    figures
        Further counts and shares.
    rows
        Numbers (from 1) of the exposed rows of the external table, where there is one.
    counts
        The unit that is counted: rows, people or households.
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
        """Exposed share of those attacked."""
        return self.exposed / self.people if self.people else 0.0

    @property
    def disclosure(self) -> str:
        """The information that is learned, with its column."""
        return self.learns if self.column is None else f"{self.learns} of {self.column}"

    def to_dict(self) -> dict[str, Any]:
        """Return the result for JSON."""
        content: dict[str, Any] = {
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
            content["external_rows"] = list(self.rows)
        return content


def homogeneity(groups: Groups, column: str) -> AttackResult:
    """Count people in groups of one sensitive value.

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
    same = (histogram.distinct == 1) & ~histogram.has_harmless
    return AttackResult(
        "homogeneity",
        "the value",
        column,
        int(histogram.known.sum()),
        int(histogram.known[same].sum()),
        guessed_harmful(histogram.total, is_harmful(histogram.domain)),
        {"groups": groups.count, "exposed_groups": int(same.sum())},
    )


def similarity(groups: Groups, column: str) -> AttackResult:
    """Count people in groups with values of one category only.

    Sun et al. call them vulnerable records; those in groups of one value are among them. The column needs sensitivity
    categories.
    """
    histogram = groups.histogram(column)
    category = histogram.domain.category
    if category is None:
        raise PlanError("attack.needs-categories", column=column)
    kinds = _distinct_categories(histogram, category, groups.count)
    label, harmful = label_harmless(histogram.domain, category)
    totals = np.bincount(label, weights=histogram.total, minlength=len(harmful))
    same = (kinds == 1) & ~histogram.has_harmless
    worst = same.copy()  # groups in the most sensitive category
    worst[same] = category[histogram.value[histogram.start[:-1][same]]] == 0
    return AttackResult(
        "similarity",
        "the category",
        column,
        int(histogram.known.sum()),
        int(histogram.known[same].sum()),
        guessed_harmful(totals, harmful),
        {
            "groups": groups.count,
            "exposed_groups": int(same.sum()),
            "exposed_to_the_most_sensitive": int(histogram.known[worst].sum()),
        },
    )


def inference(groups: Groups, column: str, confidence: float = 0.8) -> AttackResult:
    """Count people with the most frequent value of their group.

    Of groups in which a harmless value is the most frequent one, nobody is counted. ``figures`` has the highest share
    of a value in a group, its largest excess over the share in the table, and the number of people whose most likely
    value has a share of at least ``confidence``; harmless values are left out.
    """
    histogram = groups.histogram(column)
    known = int(histogram.known.sum())
    harmful = histogram.harmful
    largest = harmful.largest()
    filled = histogram.known > 0
    share = np.divide(largest, histogram.known, out=np.zeros(groups.count), where=filled)
    prior = histogram.total / max(known, 1)
    posterior = harmful.count / histogram.known[harmful.owner]
    common = is_harmful(histogram.domain)
    return AttackResult(
        "inference",
        "the most likely value",
        column,
        known,
        int(largest[largest == histogram.largest()].sum()),
        guessed_harmful(histogram.total, common),
        {
            "highest_share": float(share.max(initial=0.0)),
            "largest_gain": float((posterior - prior[harmful.value]).max(initial=0.0)),
            "confidence": confidence,
            "people_above_confidence": int(histogram.known[filled & (share >= confidence)].sum()),
            "baseline_above_confidence": known if float(prior[common].max(initial=0.0)) >= confidence else 0,
        },
    )


def background_knowledge(groups: Groups, column: str, excluded: int) -> AttackResult:
    """Count people exposed if an intruder rules out ``excluded`` values.

    These are the people with a harmful value in groups of at most ``excluded`` + 1 values. ``figures`` has the mean and
    the highest confidence in a person's own value after the most frequent other values of the group were ruled out.
    """
    if excluded < 0:
        raise PlanError("attack.excluded-negative", found=excluded)
    histogram = groups.histogram(column)
    known = int(histogram.known.sum())
    harmful = is_harmful(histogram.domain)
    disclosed = np.where(harmful[histogram.value], histogram.count, 0)
    harmed = np.bincount(histogram.owner, weights=disclosed, minlength=groups.count).astype(np.int64)
    exposed = (harmed > 0) & (histogram.distinct <= excluded + 1)
    left = _remaining_after_exclusion(histogram, excluded)
    confidence = histogram.count / left
    present = histogram.total[histogram.total > 0]
    whole = _remaining_counts(np.sort(present)[::-1], excluded)
    return AttackResult(
        "background knowledge",
        "the value",
        column,
        known,
        int(harmed[exposed].sum()),
        float(histogram.total[harmful].sum()) if len(present) <= excluded + 1 else 0.0,
        {
            "excluded": excluded,
            "exposed_groups": int(exposed.sum()),
            "mean_confidence": float(disclosed @ confidence) / max(known, 1),
            "highest_confidence": float(confidence[disclosed > 0].max(initial=0.0)),
            "baseline_confidence": float(np.sort(present)[::-1] @ (np.sort(present)[::-1] / whole)) / max(known, 1),
        },
    )


def is_harmful(domain: Domain) -> npt.NDArray[np.bool_]:
    """Return for each value of a sensitive column whether learning it harms."""
    return np.ones(domain.size, np.bool_) if domain.harmless is None else ~domain.harmless


def label_harmless(domain: Domain, label: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
    """Give harmless values a label of their own; return which labels harm.

    >>> label_harmless(Domain("illness", 3, harmless=np.array([False, False, True])), np.array([0, 1, 1], np.int32))
    (array([0, 1, 2], dtype=int32), array([ True,  True, False]))
    """
    further = int(label.max(initial=-1)) + 1
    if domain.harmless is None:
        return label, np.ones(further, np.bool_)
    return np.where(domain.harmless, np.int32(further), label), np.arange(further + 1) < further


def guessed_harmful(totals: npt.NDArray[Any], harmful: npt.NDArray[np.bool_]) -> float:
    """Return how many have the most frequent value; 0 if it is harmless."""
    commonest = float(totals[harmful].max(initial=0))
    return commonest if commonest >= float(totals[~harmful].max(initial=0)) else 0.0


def _distinct_categories(histogram: Histogram, category: npt.NDArray[np.int32], groups: int) -> npt.NDArray[np.int64]:
    present = np.zeros((groups, histogram.domain.categories), np.bool_)
    present[histogram.owner, category[histogram.value]] = True
    return np.asarray(present.sum(axis=1), np.int64)


def _remaining_counts(counts: npt.NDArray[np.int64], excluded: int) -> npt.NDArray[np.float64]:
    """Return for each count the total after excluding the largest others.

    The counts are in descending order.
    """
    rank = np.arange(len(counts))
    first = counts[: excluded + 1].sum()
    total = counts.sum()
    # one of the first j + 1 values excludes the other j of them, a later value the first j
    out = np.where(rank <= excluded, first - counts, counts[:excluded].sum())
    return np.asarray(total - out, np.float64)


def _remaining_after_exclusion(histogram: Histogram, excluded: int) -> npt.NDArray[np.float64]:
    """Return the remaining counts of every entry, in the histogram's order."""
    left = np.empty(len(histogram.count), np.float64)
    order = np.lexsort((-histogram.count, histogram.owner))
    counts = histogram.count[order]
    start = histogram.start[:-1][histogram.distinct > 0]
    if not len(start):
        return left
    owner = np.repeat(np.arange(len(start)), histogram.distinct[histogram.distinct > 0])
    rank = np.arange(len(counts)) - start[owner]
    first = np.add.reduceat(np.where(rank <= excluded, counts, 0), start)
    before = np.add.reduceat(np.where(rank < excluded, counts, 0), start)
    total = np.add.reduceat(counts, start)
    out = np.where(rank <= excluded, first[owner] - counts, before[owner])
    left[order] = total[owner] - out
    return left
