"""Models of the whole table: conditions that groups meet together.

An average or a share is no property of a group: one unique row among large groups may pass. Such a model says which
groups to leave out first. ``assess`` marks as failing the groups that meet no condition of their own, and of the others
the shortest beginning of that order without which the table meets the model. So a table meets the model if and only if
no group fails, and whoever leaves out the failing groups has a table that meets it.

Leaving out a further group of the order never makes the table worse, which the bisection uses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.models.base import Model
from shoal.table.groups import Groups


@dataclass(frozen=True)
class TableModel(Model):
    """Base class of models with conditions on the whole table."""

    def table_holds(self, groups: Groups, chosen: npt.NDArray[np.bool_]) -> bool:
        """Return whether the chosen groups, as a table, meet the conditions."""
        raise NotImplementedError

    def order(self, groups: Groups) -> npt.NDArray[np.int64]:
        """Return all groups, those to be left out first at the beginning."""
        raise NotImplementedError

    def without_failing(self, groups: Groups, meets: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return the groups that stay.

        ``meets`` are the groups that meet the conditions on single groups.
        """
        if self.table_holds(groups, meets):
            return meets
        order = self.order(groups)
        order = order[meets[order]]
        low, high = 0, len(order)  # without the first ``low`` groups the table fails, without ``high`` it holds
        while high - low > 1:
            middle = (low + high) // 2
            if self.table_holds(groups, self._without(meets, order[:middle])):
                high = middle
            else:
                low = middle
        return self._without(meets, order[:high])

    @staticmethod
    def _without(meets: npt.NDArray[np.bool_], left_out: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        rest = meets.copy()
        rest[left_out] = False
        return rest
