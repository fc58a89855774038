"""What a method is: a way to form groups, given as a frozen dataclass with one ``decide``.

A method gets a :class:`Problem` and returns a recoding. It may use the model for its search, but it is not
believed: the released table is checked again from its rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from shoal.bounds import Bound
from shoal.errors import InfeasibleError, PlanError
from shoal.io.engines.base import Relation, Spread
from shoal.models import AllOf, Model
from shoal.models.partial_knowledge import limited
from shoal.runtime.progress import Progress, quiet
from shoal.runtime.validation import Checked
from shoal.schema import Ladder, Schema
from shoal.schema.hierarchy import changed
from shoal.table import FrequencySet, Groups, MethodFacts, Recoding
from shoal.table.method_facts import Warned

__all__ = [
    "EXACT_ENDS", "Method", "Outcome", "Problem", "Quality", "least_rows", "require_feasible",
    "require_quasi_identifiers", "require_whole", "row_limit", "suppress_failing", "told_count",
]  # fmt: skip

Quality = Literal["fast", "good", "best"]
"""How much time a method takes to lose less; see docs/bounds.md."""

EXACT_ENDS = Warned(
    warning="Ranges are exact: each ends at a value that somebody in its group has, often one person alone. "
    "Without ranges = 'exact' they end at round numbers."
)
"""What a release must say whose ranges end at values of its groups."""


@dataclass(frozen=True)
class Problem:
    """What a method has to solve: the combinations, the hierarchies of their columns, and the models."""

    frequencies: FrequencySet
    ladders: tuple[Ladder, ...]
    model: AllOf
    seed: int = 0
    progress: Progress = field(default=quiet)
    schema: Schema = field(default_factory=Schema)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the quasi-identifiers."""
        return tuple(dictionary.name for dictionary in self.frequencies.quasi)


@dataclass(frozen=True)
class Outcome:
    """What was done: the name of the entries (see :class:`shoal.io.engines.base.Spread`), facts and losses."""

    entries: str
    recoded: tuple[int, ...]
    rows: int
    facts: MethodFacts
    loss: dict[str, float]


@dataclass(frozen=True)
class Method(Checked):
    """Base of all methods.

    ``reveals_source`` is False where the promise of the method does not allow anything to be told about the source
    beyond the release itself: the certificate then leaves out row counts, losses and what else looks at the original.
    ``needs_model`` is False where a plan may do without models, because the method has a promise of its own.
    """

    name: ClassVar[str]
    reveals_source: ClassVar[bool] = True
    needs_model: ClassVar[bool] = True
    answers_early: ClassVar[bool] = False
    """Whether the method, where its ``time_limit`` is over, answers with something that is nearly as good."""
    serves_few: ClassVar[bool] = False
    """Whether the method serves models for an intruder who knows few of the columns (:mod:`shoal.models.partial_knowledge`)."""
    serves_linked: ClassVar[bool] = False
    """Whether the method serves people whose rows can be linked (:mod:`shoal.models.trajectory`)."""

    @property
    def wildcard(self) -> str | None:
        """A label that stands for any value in the method's release; None where every label stands for itself."""
        return None

    @property
    def only_rows(self) -> str | None:
        """Why the method cannot serve a plan that says whose rows they are, and what can; None where it can."""
        return None

    @property
    def forms_groups(self) -> bool:
        """Whether every released row is in one group whose rows show the same."""
        return self.wildcard is None

    def decide(self, problem: Problem) -> Recoding:
        """Form groups that meet the problem's models."""
        raise NotImplementedError

    def lower_bound(self, problem: Problem, recoding: Recoding) -> Bound | None:
        """What a recoding of the method loses, and the least that any of its kind can; None where nothing is proven."""
        return None

    @property
    def together(self) -> int | None:
        """The most rows that must be on one machine for :meth:`decide_spread`; None where all must be."""
        return None

    def decide_spread(
        self, counted: Spread, table: Relation, schema: Schema, model: AllOf, seed: int, progress: Progress
    ) -> Outcome:
        """Form groups of a table with more rows than :attr:`together`, where its rows are."""
        raise NotImplementedError

    def room(self, problem: Problem) -> int:
        """Bytes that :meth:`decide` holds at least: the combinations, coded."""
        frequencies = problem.frequencies
        return int(frequencies.codes.nbytes + frequencies.secrets.nbytes + frequencies.count.nbytes)

    def warm(self) -> None:
        """Load what :meth:`decide` needs; called while the table is being read."""

    def check(self, schema: Schema, model: AllOf) -> None:
        """Raise before any work starts where the method cannot serve these columns or models."""

    def located(self, folder: Path) -> Method:
        """The same method, with its paths taken from ``folder`` instead of from the working directory."""
        return self

    @property
    def files(self) -> tuple[Path, ...]:
        """What the method reads or writes beside table and plan; no release may take its place."""
        return ()

    def ready(self) -> None:
        """Raise before the table is read where something outside plan and table is not as it must be."""

    def rehearsal(self) -> Method:
        """A method that publishes rows in the same way and leaves no trace: no booking, no coins. For audits."""
        return self

    @property
    def promises(self) -> tuple[Model, ...]:
        """Models that every release of the method meets, asked for or not; they are verified too."""
        return ()

    def to_plan(self) -> dict[str, Any]:
        """The method as a section of a plan."""
        return {"name": self.name, **changed(self)}

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The method's parameters by name, those left at None excepted."""
        given = {part.name: getattr(self, part.name) for part in fields(self)}
        return {key: value for key, value in given.items() if value is not None}


def require_quasi_identifiers(schema: Schema, columns: Iterable[str], said: str = "The method names column") -> None:
    """Raise where a column that a method names is not a quasi-identifier."""
    for column in columns:
        if column not in schema.quasi_identifiers:
            raise PlanError(f"{said} {column!r}, which is not a quasi-identifier of the plan.")


def row_limit(suppression: float, rows: int) -> int:
    """How many rows may be left out: the part that the user wrote, of all rows, rounded down."""
    return math.floor(Fraction(str(suppression)) * rows)


def least_rows(model: AllOf) -> int:
    """The k that the models ask for; 2 where they ask for none, as nobody is to be alone."""
    return max(2, *(int(part.parameters.get("k", 0)) for part in model.parts), 0)


def told_count(count: int, least: int) -> int | str:
    """A count of people as it may be told: that there are some, but fewer than ``least``, is enough to know.

    >>> told_count(0, 5), told_count(3, 5), told_count(5, 5)
    (0, 'fewer than 5', 5)
    """
    return f"fewer than {least}" if 0 < count < least else count


def require_feasible(problem: Problem) -> None:
    """Raise where no grouping at all can meet the models without leaving rows out.

    Where a model survives the union of groups that meet it, and the whole table, as one group, fails it, there
    is no partition into groups that all meet it. One that is asked of sets of columns is asked of the empty set too,
    whatever the groups are: that is the whole table.
    """
    frequencies = problem.frequencies
    require_whole(frequencies.groups_of(np.zeros(len(frequencies.count), np.int64), 1), problem.model)


def require_whole(whole: Groups, models: AllOf) -> None:
    """The same, of the whole table as one group."""
    of_sets = limited(models)
    for model in models.parts:
        verdict = model.assess(whole)
        if (model.unites or model in of_sets) and not verdict.holds[0]:
            best = ", ".join(f"{key} = {value:.6g}" for key, value in verdict.effective.items())
            raise InfeasibleError(
                f"No grouping of these {whole.rows} rows can meet {model}: all rows in one group reach only "
                f"{best}. Lower the parameter, or add rows."
            )


def suppress_failing(
    frequencies: FrequencySet, inverse: npt.NDArray[np.int64], count: int, model: Model
) -> tuple[npt.NDArray[np.int64], Groups]:
    """Leave out groups until all that remain meet the model.

    Leaving rows out changes the table's distribution, against which some models measure; so the rest is
    assessed again until nothing fails. Returns the group of every combination (-1: left out) and the groups.
    """
    groups = frequencies.groups_of(inverse, count)
    while True:
        holds = model.assess(groups).holds
        if holds.all():
            return inverse, groups
        number = np.where(holds, np.cumsum(holds) - 1, -1)
        inverse = np.where(inverse >= 0, number[inverse], -1)
        groups = frequencies.groups_of(inverse, int(holds.sum()))
