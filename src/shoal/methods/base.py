"""Base class of methods: frozen dataclasses that form groups.

A method gets a :class:`Problem` and returns a recoding from ``decide``. It may use the models for its search, but its
result is not trusted: the released table is verified again from its rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import field, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from shoal.bounds import Bound
from shoal.errors import InfeasibleError, PlanError
from shoal.formatting import format_parameters
from shoal.io.engines.base import DistributedTable, Relation
from shoal.models import AllOf, Model
from shoal.runtime.lazy_dataclass import dataclass
from shoal.runtime.progress import Progress, quiet
from shoal.runtime.validation import Validated, changed_fields
from shoal.schema import Ladder, Schema
from shoal.table import FrequencySet, Groups, MethodFacts, Recoding
from shoal.table.groups import PopulationCounts
from shoal.table.method_facts import WarningFacts
from shoal.table.population import as_one_group

Quality = Literal["fast", "good", "best"]
"""How much time a method spends on reducing the loss; see docs/bounds.md."""

EXACT_RANGES_WARNING = WarningFacts(
    warning="Ranges are exact: each ends at a value that somebody in its group has, often one person alone. "
    "Without ranges = 'exact' they end at round numbers."
)
"""The warning of a release with ranges that end at values of its groups."""


@dataclass(frozen=True)
class Problem:
    """Input of a method: the frequency set, its hierarchies and the models."""

    frequencies: FrequencySet
    ladders: tuple[Ladder, ...]
    model: AllOf
    seed: int = 0
    progress: Progress = field(default=quiet)
    schema: Schema = field(default_factory=lambda: Schema({}))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the quasi-identifiers."""
        return tuple(dictionary.name for dictionary in self.frequencies.quasi)


@dataclass(frozen=True)
class Outcome:
    """Result of a distributed decision: entries, facts and losses.

    ``entries`` is the name of the engine's entries; see :class:`shoal.io.engines.base.Spread`.
    """

    entries: str
    recoded: tuple[int, ...]
    rows: int
    facts: MethodFacts
    loss: dict[str, float]


@dataclass(frozen=True)
class Method(Validated):
    """Base class of all methods.

    ``reveals_source`` is False where the method's guarantee allows no statement about the source beyond the release
    itself. The answer for its owner then omits row counts, losses and everything else that depends on the original
    table; the certificate of any release does.
    ``needs_model`` is False where a plan may have no models, because the method has its own guarantee.
    """

    name: ClassVar[str]
    reveals_source: ClassVar[bool] = True
    needs_model: ClassVar[bool] = True
    anytime: ClassVar[bool] = False
    """Whether the method returns a nearly as good result when its ``time_limit`` ends."""
    supports_partial_knowledge: ClassVar[bool] = False
    """Whether the method supports models of partial knowledge (:mod:`shoal.models.partial_knowledge`)."""
    supports_scenarios: ClassVar[bool] = False
    """Whether the method forms crowds of scenarios (:mod:`shoal.models.scenarios`) that groups do not imply."""
    supports_linked_rows: ClassVar[bool] = False
    """Whether the method supports several linked rows per person (:mod:`shoal.models.trajectory`)."""
    judges_whole_table: ClassVar[bool] = False
    """Whether the method searches with models of the whole table; for others, larger and smaller groups are tried."""
    removed_parameters: ClassVar[tuple[str, ...]] = ()
    """Parameters without effect of earlier versions: a plan that has them is read with a warning."""

    @property
    def wildcard(self) -> str | None:
        """The label that stands for any value in the method's release.

        None where every label stands for itself.
        """
        return None

    @property
    def why_not_people(self) -> str | None:
        """The reason why the method cannot count people, with an alternative.

        None where the method supports plans that name the columns of a person.
        """
        return None

    @property
    def forms_groups(self) -> bool:
        """Return whether every released row is in one group of equal labels."""
        return self.wildcard is None

    def decide(self, problem: Problem) -> Recoding:
        """Form groups that meet the problem's models."""
        raise NotImplementedError

    def decide_scenarios(self, problem: Problem) -> Recoding:
        """Form groups where the models of scenarios are not implied."""
        return self.decide(problem)

    def lower_bound(self, problem: Problem, recoding: Recoding) -> Bound | None:
        """Return the loss of a recoding and a proven lower bound of its kind.

        None where nothing is proven.
        """
        return None

    @property
    def max_local_rows(self) -> int | None:
        """The largest number of rows that :meth:`decide_distributed` gathers.

        None where the method needs all rows on one machine.
        """
        return None

    def decide_distributed(
        self, counted: DistributedTable, table: Relation, schema: Schema, model: AllOf, seed: int, progress: Progress
    ) -> Outcome:
        """Form groups of a table where its rows are stored.

        Called for tables with more rows than :attr:`max_local_rows`.
        """
        raise NotImplementedError

    def min_memory_bytes(self, problem: Problem) -> int:
        """Return the least memory of :meth:`decide`: the coded combinations."""
        frequencies = problem.frequencies
        return int(frequencies.codes.nbytes + frequencies.secrets.nbytes + frequencies.count.nbytes)

    def warm(self) -> None:
        """Load what :meth:`decide` needs, while the table is being read."""

    def check(self, schema: Schema, model: AllOf) -> None:
        """Raise before any work where the method does not support the plan.

        ``schema`` and ``model`` are the columns and the models of the plan, without those of scenarios.
        """

    def check_scenarios(self, schema: Schema, model: AllOf) -> None:
        """Raise before any work where the method cannot meet the scenarios.

        Called where the models of all quasi-identifiers do not imply what scenarios demand.
        """

    def located(self, folder: Path) -> Method:
        """Return the method with its paths relative to ``folder``.

        By default, paths are relative to the working directory.
        """
        return self

    @property
    def files(self) -> tuple[Path, ...]:
        """Files that the method uses besides table and plan.

        No release may overwrite them.
        """
        return ()

    def preflight(self) -> None:
        """Raise before the table is read where an external condition fails.

        Such a condition concerns something outside the plan and the table.
        """

    def dry_run_variant(self) -> Method:
        """Return a method with the same output and no side effects, for audits.

        It books nothing in a ledger and draws no secret randomness.
        """
        return self

    @property
    def promises(self) -> tuple[Model, ...]:
        """Models that every release of the method meets.

        They are verified too, whether or not the plan lists them.
        """
        return ()

    def declared_guarantee(self) -> Any:
        """Return the guarantee of every release of the method, if it has one.

        It follows from declared figures alone, and from nothing that a table has.
        """
        return None

    def to_plan(self) -> dict[str, Any]:
        """Return the method as a section of a plan."""
        return {"name": self.name, **changed_fields(self)}

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The method's parameters by name, without those that are None."""
        given = {part.name: getattr(self, part.name) for part in fields(self)}
        return {key: value for key, value in given.items() if value is not None}


def require_quasi_identifiers(schema: Schema, columns: Iterable[str], subject: str = "The method names column") -> None:
    """Raise where a column that a method names is no quasi-identifier."""
    for column in columns:
        if column not in schema.quasi_identifiers:
            raise PlanError("method.column-not-quasi-identifier", subject=subject, column=column)


def row_limit(suppression: float, rows: int) -> int:
    """Return how many rows may be suppressed.

    This is the share that the user wrote, of all rows, rounded down.
    """
    return math.floor(Fraction(str(suppression)) * rows)


def min_group_size(model: AllOf) -> int:
    """Return the k that the models require.

    It is 2 where they require none, so that no group has a single row.
    """
    return max(2, *(int(part.parameters.get("k", 0)) for part in model.parts), 0)


def mask_small_count(count: int, least: int) -> int | str:
    """Return a count of people, masked where it is small.

    A positive count below ``least`` is not disclosed exactly.

    >>> mask_small_count(0, 5), mask_small_count(3, 5), mask_small_count(5, 5)
    (0, 'fewer than 5', 5)
    """
    return f"fewer than {least}" if 0 < count < least else count


def require_feasible(problem: Problem) -> None:
    """Raise where no grouping meets the models without suppression.

    If a model is closed under union and the whole table, as one group, fails it, then no partition into groups meets
    it.
    A model for sets of columns covers the empty set of columns too, whatever the groups are: that is the whole table.
    """
    require_feasible_as_one_group(as_one_group(problem.frequencies), problem.model)


def require_feasible_as_one_group(whole: Groups, models: AllOf) -> None:
    """Raise where the whole table, given as one group, proves infeasibility.

    See :func:`require_feasible`.
    """
    for model in models.parts:
        verdict = model.assess(whole)
        if (model.closed_under_union or not model.binds_all_columns) and not verdict.holds[0]:
            best = format_parameters(verdict.effective, 6)
            raise InfeasibleError("models.unreachable", rows=whole.rows, model=model, best=best)


def failures_of(model: AllOf, groups: Groups) -> tuple[InfeasibleError, ...]:
    """List the parts of a model that fail, with the figures that they reach."""
    found = []
    for part in model.parts:
        verdict = part.assess(groups)
        if not verdict.holds.all():
            reached = format_parameters(verdict.effective, 6)
            failing = int((~verdict.holds).sum())
            found.append(
                InfeasibleError(
                    "models.fails-in-groups", model=part, failing=failing, groups=groups.count, reached=reached
                )
            )
    return tuple(found)


def suppress_failing(
    frequencies: FrequencySet,
    inverse: npt.NDArray[np.int64],
    count: int,
    model: Model,
    people: PopulationCounts | None = None,
) -> tuple[npt.NDArray[np.int64], Groups]:
    """Suppress groups until all that remain meet the model.

    Suppression changes the table's distribution, against which some models measure. So the remaining groups are
    assessed
    again until none fails. ``people`` are those of a population by group. Returns the group of every combination (-1:
    suppressed) and the groups.
    """
    groups = replace(frequencies.groups_of(inverse, count), people_of=people)
    while True:
        holds = model.assess(groups).holds
        if holds.all():
            return inverse, groups
        number = np.where(holds, np.cumsum(holds) - 1, -1)
        inverse = np.where(inverse >= 0, number[inverse], -1)
        if people is not None:
            people = people.without(holds, int(groups.size[~holds].sum()))
        groups = replace(frequencies.groups_of(inverse, int(holds.sum())), people_of=people)
