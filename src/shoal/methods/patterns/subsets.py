"""Anti-unification of attributes in separate subsets.

Scenarios with ``together = false`` say which columns an intruder knows together. Their columns are then generalized
apart: patterns are formed within each subset of columns by themselves, and a row publishes its pattern of every subset.
Scenarios that share a column share a subset. A row that fits no pattern of one subset is left out of all of them, and
the patterns are formed anew, until all rows that are left have a pattern in each.

Armengol and Torra, "Generalization-based k-anonymization", name this as future work: "different subsets of attributes
are generalized differently".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.methods.base import Method, Problem
from shoal.models import AllOf, InScenario
from shoal.table import ByGroup, MethodFacts
from shoal.table.groups import group_keys

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Subset:
    """Columns that are generalized together, and the facts of their patterns."""

    columns: tuple[str, ...]
    facts: MethodFacts

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON."""
        return {"columns": list(self.columns), **self.facts.to_dict()}


@dataclass(frozen=True, kw_only=True)
class SubsetFacts(MethodFacts):
    """The subsets of columns, each with the facts of its patterns."""

    subsets: tuple[Subset, ...]


def subsets_of(parts: Sequence[InScenario], names: Sequence[str]) -> list[tuple[list[int], AllOf]]:
    """Return the columns of each subset by position, and its models.

    Scenarios that share a column are in one subset.
    """
    found: list[tuple[set[str], list[InScenario]]] = []
    for part in parts:
        columns, members = set(part.knowledge.columns), [part]
        for one in [one for one in found if one[0] & columns]:
            found.remove(one)
            columns, members = columns | one[0], [*one[1], *members]
        found.append((columns, members))
    return [
        ([j for j, name in enumerate(names) if name in columns], AllOf(tuple(dict.fromkeys(one.of for one in members))))
        for columns, members in found
    ]


def decide_in_subsets(method: Method, problem: Problem, subsets: Sequence[tuple[list[int], AllOf]]) -> ByGroup:
    """Let a method form groups in each subset of columns by itself."""
    frequencies = problem.frequencies
    remaining = np.arange(len(frequencies.count))
    while True:
        entries = replace(problem, frequencies=frequencies.select(remaining, frequencies.count[remaining]))
        recodings = [_decide_subset(method, entries, columns, model) for columns, model in subsets]
        left = np.all([recoding.group >= 0 for recoding in recodings], axis=0)
        if left.all():
            break
        remaining = remaining[left]
    keys = np.stack([recoding.group for recoding in recodings], axis=1)
    group, count = group_keys(keys, [len(recoding.share) for recoding in recodings])
    member = np.zeros(count, np.int64)
    member[group] = np.arange(len(group))
    height, share = np.zeros((count, len(problem.names))), np.zeros((count, len(problem.names)))
    labels: list[Any] = [None] * len(problem.names)
    for (columns, _), recoding in zip(subsets, recodings, strict=True):
        of_subset = recoding.group[member]
        for position, j in enumerate(columns):
            labels[j] = [recoding.labels[position][one] for one in of_subset.tolist()]
            height[:, j], share[:, j] = recoding.height[of_subset, position], recoding.share[of_subset, position]
    facts = tuple(
        Subset(tuple(problem.names[j] for j in columns), recoding.facts)
        for (columns, _), recoding in zip(subsets, recodings, strict=True)
    )
    return ByGroup(
        remaining, group, frequencies.count[remaining], tuple(labels), height, share, SubsetFacts(subsets=facts)
    )


def _decide_subset(method: Method, problem: Problem, columns: list[int], model: AllOf) -> ByGroup:
    """Form groups in some columns; ``group`` is -1 for combinations left out."""
    part, order = problem.frequencies.select_columns(columns)
    ladders = tuple(problem.ladders[j] for j in columns)
    recoding = method.decide(replace(problem, frequencies=part, ladders=ladders, model=model))
    assert isinstance(recoding, ByGroup)
    group = np.full(len(order), -1, np.int64)
    group[order[recoding.row]] = recoding.group
    return replace(recoding, group=group)
