"""All minimal recodings of a table, with loss, groups and exposure.

A full-domain recoding is minimal if it meets the models and no finer one does. The similarity attack needs no linkage
to one row: if all values of a group have one category, everyone in the group is known to have a value of that category.
The experiment of section 6 of Sun, Wang, Li and Truta, "Enhanced p-sensitive k-anonymity models", 2008, counts how many
minimal tables are vulnerable, and how many rows are exposed.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

from shoal.methods.base import Problem, suppress_failing
from shoal.methods.full_domain.method import FullDomain
from shoal.models import single_category_groups
from shoal.runtime.lazy_dataclass import dataclass
from shoal.table import recode_codes

MAX_LISTED_NODES = 1_500
"""Larger lattices are not listed: a node could not be found in their picture."""


@dataclass(frozen=True)
class MinimalRecoding:
    """One minimal recoding.

    ``exposed_groups`` and ``exposed_rows`` are those of the similarity attack, over all sensitive columns that have
    categories; None where there is no such column.
    """

    levels: dict[str, int]
    loss: float
    groups: int
    suppressed: int
    exposed_groups: int | None
    exposed_rows: int | None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        return dict(vars(self))


def list_minimal(problem: Problem, method: FullDomain) -> list[MinimalRecoding]:
    """List the minimal recodings within the method's levels and suppression.

    They are ordered by loss and then by levels.
    """
    from shoal.methods.full_domain.exhaustive import minimal_nodes
    from shoal.methods.full_domain.partial_knowledge import suppress_crowds

    lowest, highest = method.bounds(problem)
    found = minimal_nodes(problem, method.measure(problem), method.suppression, lowest, highest)
    frequencies = problem.frequencies
    has_categories = any(domain.category is not None for domain in frequencies.domains)
    partial_knowledge = bool(problem.model.of_some_columns)
    listed = []
    for figures in sorted(found, key=lambda figures: (figures.loss, figures.node)):
        inverse, groups = frequencies.group(*recode_codes(frequencies.codes, problem.ladders, figures.node))
        # models of some columns do not apply to groups of all columns
        if not partial_knowledge:
            released = suppress_failing(frequencies, inverse, groups.count, problem.model)[1]
        else:
            released = suppress_crowds(problem, figures.node).groups if figures.suppressed else groups
        exposed_groups = exposed_rows = None
        if has_categories:
            exposed = single_category_groups(released)
            exposed_groups, exposed_rows = int(exposed.sum()), int(released.size[exposed].sum())
        levels = dict(zip(problem.names, figures.node, strict=True))
        listed.append(
            MinimalRecoding(levels, figures.loss, figures.groups, figures.suppressed, exposed_groups, exposed_rows)
        )
    return listed


@dataclass(frozen=True)
class Recodings:
    """All recodings of a small lattice, the finest first.

    Ordered by the sum of their levels and then by levels.

    Attributes
    ----------
    columns
        The columns that the levels belong to.
    levels
        The levels of each recoding.
    holds
        Whether it meets the models within the suppression limit.
    loss
        The loss of each recoding that meets the models; None for the others.
    """

    columns: tuple[str, ...]
    levels: tuple[tuple[int, ...], ...]
    holds: tuple[bool, ...]
    loss: tuple[float | None, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        return {"columns": list(self.columns), "levels": [list(node) for node in self.levels],
                "holds": list(self.holds), "loss": list(self.loss)}  # fmt: skip


def list_recodings(problem: Problem, method: FullDomain) -> Recodings | None:
    """Evaluate every recoding within the method's levels.

    Returns None where there are too many.
    """
    from shoal.methods.base import row_limit
    from shoal.methods.full_domain.partial_knowledge import evaluator_of

    lowest, highest = method.bounds(problem)
    ranges = [range(low, high + 1) for low, high in zip(lowest, highest, strict=True)]
    if math.prod(map(len, ranges)) > MAX_LISTED_NODES:
        return None
    measure = method.measure(problem)
    limit = row_limit(method.suppression, measure.rows)
    evaluator = evaluator_of(problem, measure)
    nodes = sorted(itertools.product(*ranges), key=lambda node: (sum(node), node))
    found = [evaluator.look(node, limit) for node in nodes]
    holds = tuple(figures.suppressed <= limit and figures.groups > 0 for figures in found)
    loss = tuple(f.loss if good else None for f, good in zip(found, holds, strict=True))
    return Recodings(problem.names, tuple(nodes), holds, loss)
