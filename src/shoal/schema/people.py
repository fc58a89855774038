"""The people of a table, and the sensitive values of each person.

If a person can have several rows, models count people. The sensitive values of a person are those of *all* rows of
the person in the source, not only of those in a group. An intruder who knows that a person is in a group knows it of
all values of the person, and only then is a model closed under union of groups (docs/people.md).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from shoal.runtime.lazy_dataclass import dataclass


@dataclass(frozen=True)
class ValueSets:
    """The distinct known values of one sensitive column, per person.

    Attributes
    ----------
    start, value
        int64 (people + 1,) and int32: person u has the values ``value[start[u]:start[u + 1]]``, from low to high.
    """

    start: npt.NDArray[np.int64]
    value: npt.NDArray[np.int32]

    @property
    def size(self) -> npt.NDArray[np.int64]:
        """The number of values of each person."""
        return np.diff(self.start)

    def of(self, people: npt.NDArray[np.int64]) -> ValueSets:
        """Return the sets of some people, in their order."""
        size = self.size[people]
        start = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
        position = np.arange(int(start[-1])) - np.repeat(start[:-1], size) + np.repeat(self.start[people], size)
        return ValueSets(start, self.value[position])


@dataclass(frozen=True)
class People:
    """The people of a table, coded from 0.

    ``sets`` has the sets of their values by the name of the sensitive column.
    """

    count: int
    sets: Mapping[str, ValueSets]
