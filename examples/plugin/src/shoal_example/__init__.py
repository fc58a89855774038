"""Example package that adds a model, a method, a hierarchy and a format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge

from shoal.io.formats import Format
from shoal.methods import Method, Problem
from shoal.methods.base import require_feasible
from shoal.models.base import Assessment, Condition, SensitiveModel
from shoal.schema import BaseHierarchy, Ladder
from shoal.schema.bound_hierarchy import build_ladder
from shoal.table import ByGroup, Groups, Histogram, publish_groups

__all__ = ["JSON_LINES", "AtMost", "Initial", "Neighbours"]

JSON_LINES = Format("json-lines", "JSON lines", (".jsonl", ".ndjson"), "shoal_example.json_lines")
"""Name in plans, display name, file suffixes, and the module that reads and writes the format."""


@dataclass(frozen=True)
class AtMost(SensitiveModel):
    """Limit of the rows that share a sensitive value in a group.

    The limit is one in ``of`` rows, rounded up, plus one row.
    """

    of: Annotated[int, Ge(1)] = 2
    column: str | None = None
    name: ClassVar[str] = "at-most"
    summary_template: ClassVar[str] = "No value of {column} is in more than one in {of} rows of a group and one more."
    closed_under_union: ClassVar[bool] = False  # two groups may each use the extra row, and their union would have two

    def assess_column(self, groups: Groups, histogram: Histogram) -> Assessment:
        """Compare each group's most frequent value with its limit."""
        over = histogram.largest() - (-(-groups.size // self.of) + 1)
        return Assessment(over <= 0, (Condition.of("over", over, 0, over <= 0, at_least=False),))


@dataclass(frozen=True)
class Neighbours(Method):
    """Rows in the order of their columns, cut into the smallest valid groups."""

    name: ClassVar[str] = "neighbours"

    def decide(self, problem: Problem) -> ByGroup:
        """Add row after row to a group until the models hold.

        Rows that are left at the end join the last group.
        """
        require_feasible(problem)
        frequencies = problem.frequencies
        count = len(frequencies.count)
        group = np.full(count, -1, np.int64)
        made, start = 0, 0
        for end in range(1, count + 1):
            group[start:end] = made
            part = frequencies.groups_of(np.where(group == made, 0, -1), 1)
            if bool(problem.model.assess(part).holds[0]):
                made, start = made + 1, end
        group[start:] = max(made - 1, 0)
        rows = np.arange(count, dtype=np.int64)
        while True:  # a model may compare with the whole table, or fail when groups with equal labels merge
            recoding = publish_groups(frequencies, problem.ladders, rows, group, frequencies.count)
            published = np.unique(
                np.array([list(map(str, of)) for of in zip(*recoding.labels, strict=True)]), axis=0, return_inverse=True
            )[1]
            group = published.reshape(-1)[group]
            holds = problem.model.assess(frequencies.groups_of(group, int(group.max()) + 1)).holds
            if holds.all() or len(holds) == 1:
                return publish_groups(frequencies, problem.ladders, rows, group, frequencies.count)
            joined = np.zeros(len(holds), np.bool_)
            joined[np.maximum(np.flatnonzero(~holds), 1)] = True
            group = (np.cumsum(~joined) - 1)[group]


@dataclass(frozen=True)
class Initial(BaseHierarchy):
    """Hierarchy of words: the first ``letters`` letters, and then `*`."""

    letters: Annotated[int, Ge(1)] = 1
    keys: ClassVar[tuple[str, ...]] = ("initial",)
    example: ClassVar[str] = "{ initial = 1 }"
    is_rule: ClassVar[bool] = True

    @property
    def looks_at_data(self) -> None:
        """A label depends on its value alone."""

    def bind(self, values: Sequence[str], missing: bool, *, column: str = "") -> Ladder:
        """Build a ladder with two levels above the value."""
        return build_ladder([list(values), [value[: self.letters] + "…" for value in values]], missing, column=column)
