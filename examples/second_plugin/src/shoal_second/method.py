"""Runs of sorted combinations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt
from annotated_types import Ge

from shoal.errors import PlanError
from shoal.plugins import PartitionMethod, Problem


@dataclass(frozen=True)
class SortedRuns(PartitionMethod):
    """Combinations sorted along the hierarchies, cut into runs.

    The column ``first`` is the first key of the order; the others follow in the order of the plan. A run ends after at
    least ``rows`` rows. A run that fails the models is joined with the next one.
    """

    rows: Annotated[int, Ge(1)] = 5
    first: str | None = None
    name: ClassVar[str] = "sorted-runs"

    def partition(self, problem: Problem) -> npt.NDArray[np.int64]:
        """Return the group of every combination: whole numbers from 0."""
        frequencies = problem.frequencies
        entries = len(frequencies.count)
        if self.first is not None and self.first not in problem.names:
            raise PlanError("sorted-runs: `first` must be the name of a quasi-identifier")
        if entries == 0:
            return np.zeros(0, dtype=np.int64)
        order = np.lexsort(self._sort_keys(problem)[::-1])
        sorted_codes = frequencies.codes[order]
        is_new = np.ones(entries, dtype=bool)
        is_new[1:] = (sorted_codes[1:] != sorted_codes[:-1]).any(axis=1)
        run = _cut(is_new, frequencies.count[order], self.rows)
        group = np.empty(entries, dtype=np.int64)
        while True:
            group[order] = run
            number = int(run[-1]) + 1
            problem.progress("runs", None)
            holds = problem.model.assess(frequencies.groups_of(group, number)).holds
            if number == 1 or holds.all():
                return group
            run = _join(holds)[run]

    def _sort_keys(self, problem: Problem) -> list[npt.NDArray[np.int32]]:
        positions = sorted(range(len(problem.names)), key=lambda position: problem.names[position] != self.first)
        codes = problem.frequencies.codes
        return [
            problem.ladders[position].codes[level][codes[:, position]]
            for position in positions
            for level in range(problem.ladders[position].height, -1, -1)
        ]


def _cut(is_new: npt.NDArray[np.bool_], count: npt.NDArray[np.int64], rows: int) -> npt.NDArray[np.int64]:
    """Number the runs: each has at least `rows` rows, except the last."""
    run = np.empty(len(count), dtype=np.int64)
    number, size = 0, 0
    for entry in range(len(count)):
        if is_new[entry] and size >= rows:
            number, size = number + 1, 0
        run[entry] = number
        size += int(count[entry])
    return run


def _join(holds: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return new numbers of runs: a failing run joins the next one."""
    joins_previous = np.zeros(len(holds), dtype=bool)
    previous_is_open = False
    for number, is_met in enumerate(holds):
        joins_previous[number] = previous_is_open
        previous_is_open = not is_met and not previous_is_open
    if previous_is_open:
        joins_previous[-1] = True
    joins_previous[0] = False
    return np.cumsum(~joins_previous) - 1
