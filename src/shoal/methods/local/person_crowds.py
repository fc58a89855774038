"""Models asked of the rows that can be a person's, while cells are hidden."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shoal.models import PartialKnowledge
from shoal.table import FrequencySet
from shoal.table.column_subsets import SubsetCounter
from shoal.table.person_crowds import find_person_crowds

ALWAYS = -1
"""In place of a number of hidden cells: holds whatever else is hidden."""


def find_failing_people(
    published: SubsetCounter,
    known: SubsetCounter,
    chosen: Sequence[int],
    parts: Sequence[PartialKnowledge],
    entries: FrequencySet,
    unit: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """Return an entry of ``known`` for each crowd that fails a model.

    The groups of rows with the same labels meet all models, so that crowds that contain one meet those that are closed
    under superset. ``unit`` is the published entry of each of ``entries``.
    """
    lasting = all(part.closed_under_superset for part in parts)
    crowds = find_person_crowds(published, known, chosen, with_visible=not lasting)
    bad = np.zeros(len(crowds.person), np.bool_)
    for some, groups in crowds.groups(entries, totals_of(entries), unit):
        for part in parts:
            bad[some] |= ~part.of.assess(groups).holds
    return crowds.person[bad]


def totals_of(entries: FrequencySet) -> list[npt.NDArray[np.int64]]:
    """Return the table's counts of each value, by sensitive column."""
    whole = entries.groups_of(np.zeros(len(entries.count), np.int64), 1)
    return [histogram.total for histogram in whole.histograms]


class CrowdTrial:
    """Trial of larger crowds of one person, until the models hold."""

    def __init__(self, entries: FrequencySet, unit: npt.NDArray[np.int64], parts: Sequence[PartialKnowledge]) -> None:
        self._entries, self._unit, self._parts = entries, unit, parts
        self._totals = totals_of(entries)

    def number_needed(self, matching: npt.NDArray[np.bool_], order: npt.NDArray[np.int64]) -> int:
        """Return how many published entries must be added, in an order.

        The number doubles until the models hold, and is then halved as far as they do; all entries meet them.
        """
        if self._holds(matching, order[:0]):
            return 0
        fails, holds = 0, 1
        while holds < len(order) and not self._holds(matching, order[:holds]):
            fails, holds = holds, 2 * holds
        holds = min(holds, len(order))
        while holds - fails > 1:
            middle = (holds + fails) // 2
            if self._holds(matching, order[:middle]):
                holds = middle
            else:
                fails = middle
        return holds

    def _holds(self, matching: npt.NDArray[np.bool_], more: npt.NDArray[np.int64]) -> bool:
        chosen = matching.copy()
        chosen[more] = True
        crowd = self._entries.groups_of(np.where(chosen[self._unit], 0, -1), 1).within(self._totals)
        return all(bool(part.of.assess(crowd).holds.all()) for part in self._parts)
