"""Evaluate models of sets of columns independently, in rows or in people.

The parts of a model are of two kinds, distinguished by their fields: of partial knowledge (``known`` or ``columns``)
and of a scenario (``knowledge``). Other kinds have no definition here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from shoal.schema import TOP, Schema
from shoal.verification.independent.column_subsets import (
    People,
    ReleasedRows,
    evaluate_column_sets,
    read_released_rows,
)
from shoal.verification.independent.counting import SensitiveColumn
from shoal.verification.independent.judge import ModelEvaluation
from shoal.verification.independent.people import evaluate_column_sets_by_people
from shoal.verification.independent.scenarios import evaluate_scenario, evaluate_scenario_by_people

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class CountedRelease:
    """The counted combinations of a release, for models of sets of columns.

    Attributes
    ----------
    counted, positions
        The combinations (c<position>, n), and the positions of quasi-identifiers and sensitive columns.
    sensitive
        The columns that models refer to, where rows are counted.
    labels
        The numbers of rows of the source by the labels that the release has for them.
    person, people
        Where people are counted: the position of their column, and the values that they have in the source.
    """

    counted: pa.Table
    positions: Mapping[str, int]
    schema: Schema
    sensitive: Sequence[SensitiveColumn]
    labels: People
    person: int | None = None
    people: pa.Table | None = None

    @cached_property
    def rows(self) -> ReleasedRows:
        """The release with its people, for partial knowledge."""
        quasi = {name: self.positions[name] for name in self.schema.quasi_identifiers}
        return read_released_rows(self.counted, quasi, self.sensitive, self.labels, TOP)

    def evaluate(self, part: Any) -> ModelEvaluation | None:
        """Evaluate a model of sets of columns; None without a definition."""
        of_scenario = hasattr(part, "knowledge")
        if not of_scenario and not hasattr(part, "of"):
            return None
        if self.person is None and of_scenario:
            return evaluate_scenario(self.counted, self.positions, self.sensitive, part)
        if self.person is None:
            return evaluate_column_sets(self.rows, part)
        if of_scenario:
            return evaluate_scenario_by_people(
                self.counted, self.people, self.positions, self.person, self.schema, part
            )
        return evaluate_column_sets_by_people(
            self.rows, self.counted, self.people, self.person, self.schema, part.row_model
        )
