"""Another model, applied to groups of some of the columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from shoal.errors import PlanError
from shoal.models.base import AllOf, Assessment, Model
from shoal.models.of_table import TableModel
from shoal.schema import Domain
from shoal.table.groups import Groups
from shoal.table.rules import Rule


@dataclass(frozen=True)
class ModelOfColumns(Model):
    """Base class of models of partial knowledge and of scenarios.

    What is asked of a group is left to another model; subclasses define the groups.
    """

    of: Model
    binds_all_columns: ClassVar[bool] = False

    def require_single_model(self) -> None:
        """Raise unless the model is about groups of rows, and of all columns."""
        if isinstance(self.of, ModelOfColumns | AllOf):
            raise PlanError("models.not-a-single-model", model=type(self).__name__, found=self.of)
        if self.of.requires_people or isinstance(getattr(self.of, "of_rows", self.of), TableModel):
            raise PlanError("models.known-not-possible", model=self.of.name)

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the model that is applied."""
        return self.of.name

    @property
    @override
    def closed_under_union(self) -> bool:  # type: ignore[override]
        return self.of.closed_under_union

    @property
    @override
    def closed_under_superset(self) -> bool:  # type: ignore[override]
        return self.of.closed_under_superset

    @property
    @override
    def least(self) -> int:
        """The smallest group of a set of columns that can meet the model."""
        return self.of.least

    @property
    @override
    def needs_population(self) -> bool:  # type: ignore[override]
        return self.of.needs_population

    @property
    @override
    def of_table(self) -> bool:  # type: ignore[override]
        return self.of.of_table

    @property
    @override
    def counts(self) -> str:  # type: ignore[override]
        return self.of.counts

    @property
    def of_rows(self) -> Model:
        """The model, or what it applies, counting rows."""
        raise NotImplementedError

    @property
    @override
    def row_model(self) -> Model:
        return self.of_rows

    @override
    def superset_rules(
        self, domains: tuple[Domain, ...], totals: Sequence[npt.NDArray[np.int64]], *, whole: bool
    ) -> list[tuple[int, Rule]] | None:
        """Return None: groups on all columns may be smaller than the model's."""
        return None

    @override
    def relaxations(self) -> Iterator[tuple[str, int, Model]]:
        for name, lower, relaxed in self.of.relaxations():
            yield name, lower, replace(self, of=relaxed)

    @override
    def with_group_size(self, least: int) -> Self:
        return replace(self, of=self.of.with_group_size(least))

    @override
    def check(self, domains: tuple[Domain, ...]) -> None:
        self.of.check(domains)

    @override
    def require_harmless_support(self, domains: tuple[Domain, ...]) -> None:
        self.of.require_harmless_support(domains)

    @override
    def assess(self, groups: Groups) -> Assessment:
        """Assess groups that are already those of a set of columns."""
        return self.of.assess(groups)
