"""Microaggregation: groups of near rows, one published value per column.

Each group publishes its mean, median, mode, ancestor or range.

* :class:`Mdav`, :class:`Cbfs`, :class:`VMdav`: k rows around the outermost ones. Domingo-Ferrer and Torra, 2005; Laszlo
  and Mukherjee, 2005; Solanas and Martínez-Ballesté, 2006.
* :class:`KFirst`, :class:`PFirst`: Algorithms 1 and 2 of Domingo-Ferrer, Sebé and Solanas, "Microaggregation heuristics
  for p-sensitive k-anonymity", 2007, for p-sensitivity and for every other model that can be tested while groups grow.
* :class:`Univariate`: the optimum for one column (Hansen and Mukherjee, 2003), and along a short path for a few.

Rows are points: :mod:`shoal.methods.microaggregation.points` combines columns of different kinds into one distance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from annotated_types import Ge
from typing_extensions import override

from shoal.bounds import Bound
from shoal.errors import PlanError
from shoal.io.engines.base import DistributedTable, Relation
from shoal.methods.base import Method, Outcome, Problem, Quality, require_quasi_identifiers
from shoal.methods.microaggregation.facts import FormedGroups
from shoal.methods.time_limits import answer_within
from shoal.models import AllOf
from shoal.runtime.lazy_dataclass import dataclass
from shoal.runtime.progress import Progress
from shoal.runtime.validation import Seconds, Weight
from shoal.schema import Schema
from shoal.schema.tree_hierarchies import Ranges
from shoal.table import ByGroup, Recoding
from shoal.table.group_ranges import RangeEnds

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from shoal.kernels.rules import Rules

Scale = Literal["standard", "rank", "winsorised"]
PublishedValue = Literal["mean", "median", "mode", "ancestor", "range"]
Base = Literal["mdav", "cbfs"]


@dataclass(frozen=True, kw_only=True)
class _Microaggregation(Method):
    """Base class of the microaggregation methods.

    Parameters
    ----------
    k
        The group size; by default that of the plan's k-anonymity.
    weights
        The weight of each column in the distance; 1 by default.
    scale
        How numbers are made comparable, for all columns or by column: ``standard`` (by the standard deviation),
        ``rank`` (by their rank), ``winsorised`` (the outermost hundredth at each end pulled in, then standard).
    publish
        The value that groups publish, by column: ``mean``, ``median``, ``mode``, ``ancestor`` or ``range``. By default
        the
        mean of numbers and dates, the ancestor where there is a hierarchy, and the mode of other values.
    ranges
        The ends of ranges, see :class:`shoal.methods.local.mondrian.Mondrian`.
    strata
        Quasi-identifiers whose values are never mixed in a group.
    refine
        Whether groups are improved by moving and swapping rows while the models hold.
    effort
        Proposals of the annealing per row; ten million in total at most.
    block
        The largest number of rows that are aggregated at a time; by default all rows. Larger tables are cut into blocks
        along medians, and no group spans two blocks. See :mod:`shoal.methods.microaggregation.blocks`.
    quality
        ``fast``: groups as they are formed. ``good``: improved as by ``refine``; where models require only a group
        size,
        by five times as many proposals in the same time, and by annealing of regions; for one column and for 16 rows or
        fewer, optimal groups. ``best``: ten times as many proposals.
    time_limit
        Seconds after which groups are not improved further; an error where they are not formed by then. Not for tables
        that are cut into blocks on several machines.
    """

    k: Annotated[int, Ge(2)] | None = None
    weights: Mapping[str, Weight] = field(default_factory=dict)
    scale: Scale | Mapping[str, Scale] = "standard"
    publish: Mapping[str, PublishedValue] = field(default_factory=dict)
    strata: tuple[str, ...] = ()
    refine: bool = False
    effort: Annotated[int, Ge(0)] = 5000
    block: Annotated[int, Ge(4)] | None = None
    ranges: Ranges = "round"
    time_limit: Seconds | None = None
    quality: Quality | None = None

    @property
    def refines(self) -> bool:
        """Return whether groups are improved.

        ``quality`` decides or, without it, ``refine``.
        """
        return self.refine if self.quality is None else self.quality != "fast"

    @override
    def check(self, schema: Schema, model: AllOf) -> None:
        scaled = () if isinstance(self.scale, str) else tuple(self.scale)
        require_quasi_identifiers(schema, (*self.weights, *scaled, *self.publish, *self.strata))
        k = self.group_size(model)
        if self.block is not None and self.block < 2 * k:
            raise PlanError("microaggregation.block-too-small", least=2 * k, block=self.block)

    def group_size(self, model: AllOf) -> int:
        """Return k: that of the method, and at least that of the models."""
        size = max(model.least, self.k or 1)
        if size < 2:
            raise PlanError("microaggregation.no-group-size", method=self.name)
        return size

    @override
    def min_memory_bytes(self, problem: Problem) -> int:
        """Return the least memory: each row is a point, stored twice.

        A point is stored once as it is and once in a tree.
        """
        rows = problem.frequencies.rows if self.block is None else min(self.block, problem.frequencies.rows)
        return super().min_memory_bytes(problem) + 2 * 8 * rows * len(problem.names)

    def ends(self, model: AllOf) -> RangeEnds:
        """Return the rule for the ends of ranges."""
        return RangeEnds(self.ranges == "exact", self.group_size(model))

    @override
    def warm(self) -> None:
        import shoal.methods.microaggregation.local_blocks  # noqa: F401 - loading compiled code takes time

    @override
    def decide(self, problem: Problem) -> Recoding:
        """Form groups. Time n log n for n rows in practice, for few columns."""
        from shoal.methods.microaggregation.local_blocks import aggregate

        return answer_within(self, self.time_limit, lambda found: aggregate(self, problem, found))

    @override
    def lower_bound(self, problem: Problem, recoding: Recoding) -> Bound | None:
        from shoal.methods.microaggregation.lower_bounds import bound_aggregation

        assert isinstance(recoding, ByGroup)
        return bound_aggregation(self, problem, recoding)

    @property
    @override
    def max_local_rows(self) -> int | None:
        return self.block

    @override
    def decide_distributed(
        self, counted: DistributedTable, table: Relation, schema: Schema, model: AllOf, seed: int, progress: Progress
    ) -> Outcome:
        from shoal.methods.microaggregation.distributed_blocks import aggregate_distributed

        return aggregate_distributed(self, counted, table, schema, model, seed, progress)

    def partition(self, points: npt.NDArray[np.float64], columns: npt.NDArray[np.int32], rules: Rules) -> FormedGroups:
        """Return the group of every row of one stratum.

        Groups may still fail the models.
        """
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Mdav(_Microaggregation):
    """Maximum distance to average vector."""

    name: ClassVar[str] = "mdav"

    @override
    def partition(self, points: npt.NDArray[np.float64], columns: npt.NDArray[np.int32], rules: Rules) -> FormedGroups:
        from shoal.methods.microaggregation.kernels.mdav import mdav

        return FormedGroups(mdav(points, int(rules.least[0])))


@dataclass(frozen=True, kw_only=True)
class Cbfs(_Microaggregation):
    """Centroid-based fixed-size microaggregation."""

    name: ClassVar[str] = "cbfs"

    @override
    def partition(self, points: npt.NDArray[np.float64], columns: npt.NDArray[np.int32], rules: Rules) -> FormedGroups:
        from shoal.methods.microaggregation.kernels.mdav import cbfs

        return FormedGroups(cbfs(points, int(rules.least[0])))


@dataclass(frozen=True, kw_only=True)
class VMdav(_Microaggregation):
    """MDAV with groups of k to 2k - 1 rows.

    Parameters
    ----------
    gamma
        A group takes a further row that is nearer to it than gamma times the row's distance to other rows.
    """

    gamma: Annotated[float, Ge(0)] = 0.2
    name: ClassVar[str] = "v-mdav"

    @override
    def partition(self, points: npt.NDArray[np.float64], columns: npt.NDArray[np.int32], rules: Rules) -> FormedGroups:
        from shoal.methods.microaggregation.kernels.mdav import v_mdav

        return FormedGroups(v_mdav(points, int(rules.least[0]), float(self.gamma)))


@dataclass(frozen=True, kw_only=True)
class KFirst(_Microaggregation):
    """Algorithm 1, k-anonymity first: grow groups until all meet the models.

    Groups are those of MDAV (or CBFS). The paper increases their size by one row at a time. Sizes that would make more
    groups than the values allow are skipped, which gives the same result. From 20,000 rows on, sizes are doubled and
    then
    bisected: that finds a size at which the models hold, and the certificate states that it may not be the smallest.

    Parameters
    ----------
    base
        The method that forms the groups, ``mdav`` or ``cbfs``.
    """

    base: Base = "mdav"
    name: ClassVar[str] = "k-first"

    @override
    def partition(self, points: npt.NDArray[np.float64], columns: npt.NDArray[np.int32], rules: Rules) -> FormedGroups:
        from shoal.methods.microaggregation.points import grow_size

        return grow_size(points, columns, rules, self.base)


@dataclass(frozen=True, kw_only=True)
class PFirst(_Microaggregation):
    """Algorithm 2, p-sensitivity first: contributing rows, then nearest rows.

    Each group takes rows that bring it closer to the models, and then the nearest rows. ``refine = false`` gives the
    paper's algorithm alone.

    Parameters
    ----------
    contributes
        With ``any`` a row contributes if it brings a new value of any sensitive column, as in the paper; with
        ``lacking`` only of a column that still lacks values.
    """

    contributes: Literal["any", "lacking"] = "any"
    refine: bool = True
    name: ClassVar[str] = "p-first"

    @override
    def partition(self, points: npt.NDArray[np.float64], columns: npt.NDArray[np.int32], rules: Rules) -> FormedGroups:
        from shoal.methods.microaggregation.kernels.p_first import grow_until

        return FormedGroups(grow_until(points, columns, rules, self.contributes == "lacking"))


@dataclass(frozen=True, kw_only=True)
class Univariate(_Microaggregation):
    """Optimal microaggregation of one column, or along a path for several.

    The path is a short one through all rows, and it is cut optimally.
    """

    name: ClassVar[str] = "univariate"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.block is not None:
            raise PlanError("microaggregation.univariate-has-no-blocks")

    @override
    def partition(self, points: npt.NDArray[np.float64], columns: npt.NDArray[np.int32], rules: Rules) -> FormedGroups:
        import numpy as np

        from shoal.methods.microaggregation.kernels.univariate import optimal_univariate, path_microaggregation

        k = int(rules.least[0])
        if points.shape[1] == 1:
            return FormedGroups(optimal_univariate(np.ascontiguousarray(points[:, 0]), k))
        return FormedGroups(path_microaggregation(points, k))
