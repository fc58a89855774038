"""Microaggregation: groups of rows that lie close together, each published by its mean, median, mode or ancestor.

* :class:`Mdav`, :class:`Cbfs`, :class:`VMdav`: k rows around the outermost ones. Domingo-Ferrer and Torra, 2005; Laszlo
  and Mukherjee, 2005; Solanas and Martínez-Ballesté, 2006.
* :class:`KFirst`, :class:`PFirst`: Algorithms 1 and 2 of Domingo-Ferrer, Sebé and Solanas, "Microaggregation heuristics
  for p-sensitive k-anonymity", 2007, for p-sensitivity and for every other model that can be tested while groups grow.
* :class:`Univariate`: the optimum for one column (Hansen and Mukherjee, 2003), and along a short path for a few.

Rows are points: how columns of different kinds become one distance is in :mod:`shoal.methods.microaggregation.points`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from annotated_types import Ge

from shoal.bounds import Bound
from shoal.errors import PlanError
from shoal.io.engines.base import Relation, Spread
from shoal.methods.base import Method, Outcome, Problem, Quality, require_quasi_identifiers
from shoal.methods.microaggregation.facts import Formed
from shoal.methods.time_limits import answer_within
from shoal.models import AllOf
from shoal.runtime.progress import Progress
from shoal.runtime.validation import Seconds, Weight
from shoal.schema import Schema
from shoal.schema.tree_hierarchies import Ranges
from shoal.table import ByGroup, Recoding
from shoal.table.group_ranges import Ends

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from shoal.kernels.rules import Rules

__all__ = ["Cbfs", "KFirst", "Mdav", "PFirst", "Univariate", "VMdav"]

Scale = Literal["standard", "rank", "winsorised"]
Shown = Literal["mean", "median", "mode", "ancestor", "range"]
Base = Literal["mdav", "cbfs"]


@dataclass(frozen=True, kw_only=True)
class _Microaggregation(Method):
    """What all of them share.

    Parameters
    ----------
    k
        The size of groups; that of the plan's k-anonymity where nothing is said.
    weights
        How much each column counts in the distance; 1 where nothing is said.
    scale
        How numbers are made comparable, for all columns or by column: ``standard`` (by the standard deviation),
        ``rank`` (by their rank), ``winsorised`` (the outermost hundredth at each end pulled in, then standard).
    publish
        What groups show, by column: ``mean``, ``median``, ``mode``, ``ancestor`` or ``range``. By default the mean of
        numbers and dates, the ancestor where there is a hierarchy, the mode of other values.
    ranges
        Where ranges end, see :class:`shoal.methods.local.mondrian.Mondrian`.
    strata
        Quasi-identifiers whose values groups never mix.
    refine
        Whether groups are improved by moving and exchanging rows while the models stay met.
    effort
        Proposals of the annealing per row; ten million in all at most.
    block
        The most rows that are aggregated together; without it, all are. Larger tables are cut into blocks along
        medians, and groups do not cross blocks. See :mod:`shoal.methods.microaggregation.blocks`.
    quality
        ``fast``: groups as they are formed. ``good``: improved as by ``refine`` and, where models ask for no more than
        the size of groups, by five times as many proposals that take no longer, and by regions that are annealed again;
        for one column and for 16 rows or fewer, the best groups that there are. ``best``: ten times as many proposals.
    time_limit
        Seconds after which groups are improved no further; an error where they are not formed by then. Not for tables
        that are cut into blocks on several machines.
    """

    k: Annotated[int, Ge(2)] | None = None
    weights: Mapping[str, Weight] = field(default_factory=dict)
    scale: Scale | Mapping[str, Scale] = "standard"
    publish: Mapping[str, Shown] = field(default_factory=dict)
    strata: tuple[str, ...] = ()
    refine: bool = False
    effort: Annotated[int, Ge(0)] = 5000
    block: Annotated[int, Ge(4)] | None = None
    ranges: Ranges = "round"
    time_limit: Seconds | None = None
    quality: Quality | None = None

    @property
    def refines(self) -> bool:
        """Whether groups are improved: as ``quality`` says or, without it, ``refine``."""
        return self.refine if self.quality is None else self.quality != "fast"

    def check(self, schema: Schema, model: AllOf) -> None:
        """See :class:`shoal.methods.base.Method`."""
        scaled = () if isinstance(self.scale, str) else tuple(self.scale)
        require_quasi_identifiers(schema, (*self.weights, *scaled, *self.publish, *self.strata))
        k = self.group_size(model)
        if self.block is not None and self.block < 2 * k:
            raise PlanError(
                f"A block must have room for two groups: at least {2 * k} rows; found block = {self.block}."
            )

    def group_size(self, model: AllOf) -> int:
        """k: the method's own, and at least that of the models."""
        size = max(model.least, self.k or 1)
        if size < 2:
            raise PlanError(f"The method {self.name} needs a group size: give k, or the model k-anonymity.")
        return size

    def room(self, problem: Problem) -> int:
        """See :class:`shoal.methods.base.Method`; every row is a point, held once as it is and once in a tree."""
        rows = problem.frequencies.rows if self.block is None else min(self.block, problem.frequencies.rows)
        return super().room(problem) + 2 * 8 * rows * len(problem.names)

    def ends(self, model: AllOf) -> Ends:
        """Where the ranges of groups end."""
        return Ends(self.ranges == "exact", self.group_size(model))

    def warm(self) -> None:
        """See :class:`shoal.methods.base.Method`."""
        import shoal.methods.microaggregation.local_blocks  # noqa: F401 - compiled code takes a moment to load

    def decide(self, problem: Problem) -> Recoding:
        """See :class:`shoal.methods.base.Method`. Time n log n for n rows in practice, for few columns."""
        from shoal.methods.microaggregation.local_blocks import aggregate

        return answer_within(self, self.time_limit, lambda found: aggregate(self, problem, found))

    def lower_bound(self, problem: Problem, recoding: Recoding) -> Bound | None:
        """See :class:`shoal.methods.base.Method`."""
        from shoal.methods.microaggregation.lower_bounds import bound_aggregation

        assert isinstance(recoding, ByGroup)
        return bound_aggregation(self, problem, recoding)

    @property
    def together(self) -> int | None:
        """See :class:`shoal.methods.base.Method`."""
        return self.block

    def decide_spread(
        self, counted: Spread, table: Relation, schema: Schema, model: AllOf, seed: int, progress: Progress
    ) -> Outcome:
        """See :class:`shoal.methods.base.Method`."""
        from shoal.methods.microaggregation.distributed_blocks import aggregate_spread

        return aggregate_spread(self, counted, table, schema, model, seed, progress)

    def partition(self, points: npt.NDArray[np.float64], columns: npt.NDArray[np.int32], rules: Rules) -> Formed:
        """The group of every row of one stratum; groups may still fail the models."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Mdav(_Microaggregation):
    """Maximum distance to average vector."""

    name: ClassVar[str] = "mdav"

    def partition(self, points: npt.NDArray[np.float64], columns: npt.NDArray[np.int32], rules: Rules) -> Formed:
        """See :class:`_Microaggregation`."""
        from shoal.methods.microaggregation.kernels.mdav import mdav

        return Formed(mdav(points, int(rules.least[0])))


@dataclass(frozen=True, kw_only=True)
class Cbfs(_Microaggregation):
    """Centroid-based fixed-size microaggregation."""

    name: ClassVar[str] = "cbfs"

    def partition(self, points: npt.NDArray[np.float64], columns: npt.NDArray[np.int32], rules: Rules) -> Formed:
        """See :class:`_Microaggregation`."""
        from shoal.methods.microaggregation.kernels.mdav import cbfs

        return Formed(cbfs(points, int(rules.least[0])))


@dataclass(frozen=True, kw_only=True)
class VMdav(_Microaggregation):
    """MDAV with groups of k to 2k - 1 rows.

    Parameters
    ----------
    gamma
        A group takes a further row that is nearer to it than so many times to others.
    """

    gamma: Annotated[float, Ge(0)] = 0.2
    name: ClassVar[str] = "v-mdav"

    def partition(self, points: npt.NDArray[np.float64], columns: npt.NDArray[np.int32], rules: Rules) -> Formed:
        """See :class:`_Microaggregation`."""
        from shoal.methods.microaggregation.kernels.mdav import v_mdav

        return Formed(v_mdav(points, int(rules.least[0]), float(self.gamma)))


@dataclass(frozen=True, kw_only=True)
class KFirst(_Microaggregation):
    """Algorithm 1, k-anonymity first: MDAV (or CBFS) with larger and larger groups until every group meets the models.

    The paper adds one row at a time. Sizes that would make more groups than the values allow are passed over, which
    gives the same answer. From 20,000 rows on, sizes are doubled and then bisected: that finds a size at which the
    models hold, and the certificate says that it may not be the smallest.

    Parameters
    ----------
    base
        What forms the groups, ``mdav`` or ``cbfs``.
    """

    base: Base = "mdav"
    name: ClassVar[str] = "k-first"

    def partition(self, points: npt.NDArray[np.float64], columns: npt.NDArray[np.int32], rules: Rules) -> Formed:
        """See :class:`_Microaggregation`."""
        from shoal.methods.microaggregation.points import grow_size

        return grow_size(points, columns, rules, self.base)


@dataclass(frozen=True, kw_only=True)
class PFirst(_Microaggregation):
    """Algorithm 2, p-sensitivity first: each group takes rows that the models want, and then the nearest.

    ``refine = false`` gives the paper's algorithm alone.

    Parameters
    ----------
    contributes
        With ``any`` a row contributes if it brings a new value of any sensitive column, as in the paper; with
        ``lacking`` only of a column that still lacks values.
    """

    contributes: Literal["any", "lacking"] = "any"
    refine: bool = True
    name: ClassVar[str] = "p-first"

    def partition(self, points: npt.NDArray[np.float64], columns: npt.NDArray[np.int32], rules: Rules) -> Formed:
        """See :class:`_Microaggregation`."""
        from shoal.methods.microaggregation.kernels.p_first import grow_until

        return Formed(grow_until(points, columns, rules, self.contributes == "lacking"))


@dataclass(frozen=True, kw_only=True)
class Univariate(_Microaggregation):
    """The least loss for one column; for several, an optimal cut along a short path through all rows."""

    name: ClassVar[str] = "univariate"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.block is not None:
            raise PlanError("The method univariate has no blocks: its path runs through all rows. Use mdav or p-first.")

    def partition(self, points: npt.NDArray[np.float64], columns: npt.NDArray[np.int32], rules: Rules) -> Formed:
        """See :class:`_Microaggregation`."""
        import numpy as np

        from shoal.methods.microaggregation.kernels.univariate import optimal_univariate, path_microaggregation

        k = int(rules.least[0])
        if points.shape[1] == 1:
            return Formed(optimal_univariate(np.ascontiguousarray(points[:, 0]), k))
        return Formed(path_microaggregation(points, k))
