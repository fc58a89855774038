"""A hierarchy bound to the values of one column: codes and labels.

Level 0 is the value itself, each level above is coarser, and at the last level all values are one
(`*` unless the hierarchy names it otherwise). A missing value is a separate value: it matches only
missing until the last level, where it joins all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import HierarchyError
from shoal.runtime.lazy_dataclass import dataclass

TOP = "*"


@dataclass(frozen=True)
class Ladder:
    """Codes and labels of one column at every level.

    Attributes
    ----------
    labels
        ``labels[level][code]`` is the published label; ``None`` is a missing value.
    codes
        ``codes[level][leaf]`` is the code at ``level`` of the value with code ``leaf`` at level 0 (int32).
    share
        ``share[level][code]`` is the share of the domain's leaf values that the label covers (float64).
    rule
        The hierarchy that was bound, if labels may have to be computed again; see :meth:`released`.
    """

    labels: tuple[Sequence[str | None], ...]
    codes: tuple[npt.NDArray[np.int32], ...]
    share: tuple[npt.NDArray[np.float64], ...]
    rule: Any = None

    @property
    def height(self) -> int:
        """The last level; level ``height`` is the fully generalized one."""
        return len(self.labels) - 1

    def size(self, level: int) -> int:
        """Return the number of labels at a level."""
        return len(self.labels[level])

    def released(self, present: npt.NDArray[np.bool_]) -> Ladder:
        """Return the same codes, with labels made from released values only.

        ``present`` has, for every leaf, whether a released row has it. The form of labels can depend on the values (the
        ends of ranges, the length of prefixes, whether numbers are whole), and a suppressed value must not influence
        it. A label without a released value gets a name that says so, and nothing else.
        """
        leaves = np.flatnonzero(present[: len(self.labels[0])])
        if self.rule is None or len(leaves) == len(self.labels[0]):
            return self
        known = [leaf for leaf in leaves.tolist() if self.labels[0][leaf] is not None]
        if not known:
            return self
        values = [str(self.labels[0][leaf]) for leaf in known]
        relabelled = self._relabelled(values, np.asarray(known))
        labels = [self.labels[0]]
        for level in range(1, self.height):
            names: list[str | None] = [f"(left out) {code}" for code in range(self.size(level))]
            for leaf in leaves.tolist():
                names[self.codes[level][leaf]] = None
            for leaf, name in zip(known, relabelled[level], strict=True):
                names[self.codes[level][leaf]] = name
            labels.append(tuple(names))
        return replace(self, labels=(*labels, self.labels[-1]))

    def _relabelled(self, values: Sequence[str], leaves: npt.NDArray[np.int64]) -> Sequence[Sequence[str | None]]:
        """Return the labels of some values, level by level, from these values."""
        if hasattr(self.rule, "relabel"):
            return [values, *self.rule.relabel(self, values, leaves)]
        rebound = self.rule.bind(values, False)
        if rebound.height != self.height:  # a third-party hierarchy that changes with the data: keep its labels
            rebound, positions = self, leaves
        else:
            positions = np.arange(len(values))
        return [
            [rebound.labels[level][code] for code in rebound.codes[level][positions]] for level in range(self.height)
        ]


class MissingFromHierarchy(HierarchyError):
    """Values of the data that a hierarchy does not cover.

    The message does not quote the values.
    """

    def __init__(self, column: str, lacking: Sequence[str], rows: Sequence[int] = ()) -> None:
        self.column = column
        self.lacking = tuple(lacking)
        examples = HierarchyError("hierarchies.example-rows", rows=", ".join(map(str, rows))) if rows else ""
        super().__init__("hierarchies.values-not-covered", column=column, found=len(lacking), rows=examples)


@dataclass(frozen=True)
class WithHidden:
    """A hierarchy of values of which some are hidden: `*` at every level."""

    of: Any

    def bind(self, values: Sequence[str], missing: bool, *, column: str = "") -> Ladder:
        """Bind the hierarchy to the other values, and add `*` where it stands."""
        known = [value for value in values if value != TOP]
        bound = self.of.bind(known, False, column=column)
        at = list(values).index(TOP)
        levels = []
        for level in range(bound.height + 1):
            names = [str(bound.labels[level][code]) for code in bound.codes[level]]
            levels.append([*names[:at], TOP, *names[at:]])
        return build_ladder(levels, missing, column=column)


def build_ladder(
    columns: Sequence[Sequence[str]],
    missing: bool,
    leaves: Sequence[Sequence[str]] | None = None,
    *,
    column: str = "",
) -> Ladder:
    """Bind level labels to codes.

    Parameters
    ----------
    columns
        ``columns[level][i]`` is the label at ``level`` of the i-th value of the data; ``columns[0]`` are
        the values. A last level `*` is added, unless the declared hierarchy ends in a single label:
        the number of levels must not depend on the values that the data happens to have.
    missing
        Whether the data has missing values; they get the last code of level 0.
    leaves
        The same for every value that the hierarchy declares, if it declares more values than the data has.
        These are the domain of ``share``. By default, the values of the data are the domain.
    column
        Name used in errors.
    """
    domain = columns if leaves is None else leaves
    _check_coarsening(domain, column)
    ends = set(domain[-1])
    if len(domain) > 1 and len(ends) == 1 and (leaves is not None or ends == {TOP}):
        top = domain[-1][0]
    else:
        columns = [*columns, [TOP] * len(columns[0])]
        domain = [*domain, [TOP] * len(domain[0])]
        top = TOP
    total = len(domain[0]) + missing
    labels: list[tuple[str | None, ...]] = []
    codes: list[npt.NDArray[np.int32]] = []
    share: list[npt.NDArray[np.float64]] = []
    for level, names in enumerate(columns):
        index: dict[str | None, int] = {}
        code = [index.setdefault(name, len(index)) for name in names]
        last = level == len(columns) - 1
        if missing:
            code.append(index.setdefault(top if last else None, len(index)))
        covered = np.zeros(len(index), np.float64)
        for name in domain[level]:
            if name in index:
                covered[index[name]] += 1
        if missing:
            covered[code[-1]] += 1
        labels.append(tuple(index))
        codes.append(np.asarray(code, np.int32))
        share.append(covered / total)
    return Ladder(tuple(labels), tuple(codes), tuple(share))


def _check_coarsening(columns: Sequence[Sequence[str]], column: str) -> None:
    for level in range(1, len(columns)):
        above: dict[str, str] = {}
        split = {
            low
            for low, high in zip(columns[level - 1], columns[level], strict=True)
            if above.setdefault(low, high) != high
        }
        if split:
            raise HierarchyError(
                "hierarchies.label-with-two-parents",
                column=column,
                level=level,
                below=level - 1,
                found=len(split),
                lower=level - 1,
                upper=level,
            )
