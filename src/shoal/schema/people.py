"""Whose rows they are: the people behind a table, and which sensitive values each of them has.

Where several rows can be one person's, models count people. What is sensitive of a person is taken over *all* rows of
the person in the source, not only over those in a group: who is known to be in a group is known with all that he or
she has, and only so does the union of two good groups stay good (docs/people.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["People", "ValueSets"]


@dataclass(frozen=True)
class ValueSets:
    """The different known values of one sensitive column that each person has.

    Attributes
    ----------
    start, value
        int64 (people + 1,) and int32: person u has the values ``value[start[u]:start[u + 1]]``, from low to high.
    """

    start: npt.NDArray[np.int64]
    value: npt.NDArray[np.int32]

    @property
    def size(self) -> npt.NDArray[np.int64]:
        """How many values each person has."""
        return np.diff(self.start)

    def of(self, people: npt.NDArray[np.int64]) -> ValueSets:
        """The sets of some people, in their order."""
        size = self.size[people]
        start = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
        place = np.arange(int(start[-1])) - np.repeat(start[:-1], size) + np.repeat(self.start[people], size)
        return ValueSets(start, self.value[place])


@dataclass(frozen=True)
class People:
    """The people of a table, coded from 0: the sets of their values, by the name of the sensitive column."""

    count: int
    sets: Mapping[str, ValueSets]
