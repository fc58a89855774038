"""Mondrian: multidimensional partitioning by greedy cuts.

LeFevre, DeWitt and Ramakrishnan, "Mondrian multidimensional k-anonymity", 2006. Of all cuts of a group after which
every part meets the models, the one of least loss is made, whatever the models are. A column is cut

* between two values, where its values have an order: numbers without a hierarchy, or any column for which ``publish``
  asks for a range or the schema gives an order; of more than 64 values in a group, 64 that divide its rows evenly
  are tried;
* along its hierarchy otherwise: one part per child of the label that the group shares, children that fail together
  in one part.

``strict`` keeps rows that are equal in all quasi-identifiers together; relaxed partitioning may divide them, and a part
that is too small takes single rows from another one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from typing_extensions import override

from shoal.bounds import Bound
from shoal.errors import PlanError
from shoal.methods.base import Problem, Quality, require_feasible, require_quasi_identifiers
from shoal.methods.local.base import Choice, CuttingMethod, LocalLoss
from shoal.methods.local.lower_bounds import bound_recoding, effort_of
from shoal.models import AllOf
from shoal.runtime.validation import Seconds, Weight
from shoal.schema import Schema
from shoal.schema.spelling import canonical
from shoal.schema.tree_hierarchies import Ranges
from shoal.table import Recoding

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from shoal.methods.local.problem import LocalProblem, Pieces


LabelKind = Literal["ancestor", "range", "centroid"]


@dataclass(frozen=True)
class Mondrian(CuttingMethod):
    """Multidimensional partitioning.

    Parameters
    ----------
    strict
        Whether equal rows stay together.
    publish
        What groups show, by column: ``ancestor``, ``range`` (an interval that covers the group's values) or
        ``centroid`` (the mean of numbers, in the column's own type). Numbers without a hierarchy, and columns with an
        order, show ranges, others ancestors.
    ranges
        Where ranges end: ``round`` (at round numbers, the outermost open, so that no end is a value that fewer than k
        rows of the group have), or ``exact`` (from the least to the largest value of the group: less is lost, and every
        end tells that somebody in the group has that value).
    loss, weights, choose, time_limit
        See :class:`shoal.methods.local.top_down.TopDown`.
    quality
        The same; with ``good`` and ``best`` equal rows may be divided.
    """

    strict: bool = True
    publish: Mapping[str, LabelKind] = field(default_factory=dict)
    loss: LocalLoss = "ncp"
    weights: Mapping[str, Weight] = field(default_factory=dict)
    choose: Choice = "best"
    ranges: Ranges = "round"
    time_limit: Seconds | None = None
    quality: Quality | None = None
    name: ClassVar[str] = "mondrian"
    anytime: ClassVar[bool] = True

    @override
    def check(self, schema: Schema, model: AllOf) -> None:
        require_quasi_identifiers(schema, self.weights)
        require_quasi_identifiers(schema, self.publish)

    @override
    def lower_bound(self, problem: Problem, recoding: Recoding) -> Bound | None:
        ranks = ranks_of(problem)
        kinds = label_kinds(problem, self.publish, ranks)
        return bound_recoding(problem, recoding, self.loss, self.weights, kinds, ranks, effort=effort_of(self, 0))

    @override
    def partition(self, problem: Problem, deadline: float | None = None) -> tuple[LocalProblem, Pieces]:
        from shoal.methods.local.problem import make_local_problem
        from shoal.methods.local.search import cut_pieces

        require_feasible(problem)
        ranks = ranks_of(problem)
        kinds = label_kinds(problem, self.publish, ranks)
        local = make_local_problem(problem, kinds, self.loss, self.weights, ranks, exact=self.ranges == "exact")
        return local, cut_pieces(local, local.whole(), strict=self.strict, choose=self.choose, deadline=deadline)


def ranks_of(problem: Problem) -> list[npt.NDArray[np.int32] | None]:
    """Return the rank of each code, for columns with an order in the schema.

    A missing value is last. The rank is None for a column without an order.
    """
    import numpy as np

    ranks: list[npt.NDArray[np.int32] | None] = []
    for dictionary in problem.frequencies.quasi:
        column = problem.schema.columns.get(dictionary.name)
        if column is None or column.order is None:
            ranks.append(None)
            continue
        position = {canonical(value): index for index, value in enumerate(column.order)}
        unlisted = sum(text not in position for text in dictionary.text)
        if unlisted:
            raise PlanError("columns.order-incomplete", column=dictionary.name, found=unlisted)
        listed = np.argsort(np.asarray([position[text] for text in dictionary.text], np.int64))
        rank = np.empty(dictionary.size, np.int32)
        rank[listed] = np.arange(len(listed), dtype=np.int32)
        if dictionary.missing:
            rank[-1] = len(listed)
        ranks.append(rank)
    return ranks


def label_kinds(
    problem: Problem, publish: Mapping[str, LabelKind], ranks: list[npt.NDArray[np.int32] | None]
) -> list[LabelKind]:
    """Return the kind of label that each quasi-identifier publishes.

    Raises where a column without numbers is to publish a centroid.
    """
    kinds = []
    for dictionary, rank in zip(problem.frequencies.quasi, ranks, strict=True):
        column = problem.schema.columns.get(dictionary.name)
        bare = column is not None and column.hierarchy is None
        numeric = _all_numbers(dictionary.text)
        kind = publish.get(dictionary.name, "range" if rank is not None or (bare and numeric) else "ancestor")
        if kind == "centroid" and not numeric:
            raise PlanError("method.centroid-needs-numbers", column=dictionary.name)
        kinds.append(kind)
    return kinds


def _all_numbers(text: Sequence[str]) -> bool:
    import math

    try:
        return all(math.isfinite(float(value)) for value in text)
    except ValueError:
        return False
