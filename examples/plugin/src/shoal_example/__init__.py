"""Example package that adds a model, a method, a hierarchy and a format."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from annotated_types import Ge

from shoal.plugins import (
    Assessment,
    Condition,
    Definition,
    Figure,
    Format,
    Groups,
    Hierarchy,
    Histogram,
    Ladder,
    PartitionMethod,
    Problem,
    SensitiveModel,
    build_ladder,
)

__all__ = ["JSON_LINES", "LIMIT_DEFINITION", "AtMost", "Initial", "Neighbours"]

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
        over = np.where(histogram.known > 0, over, groups.size)  # without a known value a group fails
        return Assessment(over <= 0, (Condition.of("over", over, 0, over <= 0, at_least=False),))


def _evaluate_limit(model: Any, column: Any) -> Callable[..., tuple[bool, tuple[float, ...]]]:
    """Evaluate one group from its definition, without the code of the model."""

    def evaluate(size: int, value_counts: Sequence[tuple[int, int]]) -> tuple[bool, tuple[float, ...]]:
        if not value_counts:
            return False, (size,)
        largest = max(count for _, count in value_counts)
        allowed = math.ceil(Fraction(size, model.of)) + 1
        return largest <= allowed, (largest - allowed,)

    return evaluate


LIMIT_DEFINITION = Definition(lambda model: (Figure("over", at_least=False, bound=0),), _evaluate_limit)
"""Second definition of the model: a release requires that both agree."""


@dataclass(frozen=True)
class Neighbours(PartitionMethod):
    """Rows in the order of their columns, cut into the smallest valid groups."""

    name: ClassVar[str] = "neighbours"

    def partition(self, problem: Problem) -> npt.NDArray[np.int64]:
        """Add row after row to a group until the models hold.

        Rows that are left at the end join the last group.
        """
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
        return group


@dataclass(frozen=True)
class Initial(Hierarchy):
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
