"""Views of a table by models of some columns: their verdict and its facts.

A model that binds all quasi-identifiers together assesses groups. A model of partial knowledge or of a scenario forms
groups of its own, for the sets of columns that its intruder knows: it gets the coded table and returns what it found. A
further way to know is a model with ``examine``, ``positions`` and ``assess_known``, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from shoal.runtime.lazy_dataclass import dataclass
from shoal.schema import TOP
from shoal.table.column_subsets import SubsetCounter, read_subset_counters
from shoal.table.frequency_set import FrequencySet
from shoal.table.groups import Groups

if TYPE_CHECKING:
    from shoal.models.base import AllOf, Assessment, Model


@dataclass(frozen=True)
class CodedTable:
    """A coded table, with its original where that is at disposal.

    Attributes
    ----------
    frequencies
        The combinations of the table.
    source, source_labels
        The combinations of the original, and by column the labels that the table has for its codes.
    """

    frequencies: FrequencySet
    source: FrequencySet | None = None
    source_labels: Sequence[Sequence[str | None]] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the quasi-identifiers."""
        return tuple(dictionary.name for dictionary in self.frequencies.quasi)

    @cached_property
    def counters(self) -> tuple[SubsetCounter, SubsetCounter | None]:
        """Counters of the table and of its original."""
        return read_subset_counters(self.frequencies, TOP, self.source, self.source_labels)


@dataclass(frozen=True)
class Examined:
    """The verdict of a model on its sets of columns.

    ``failing`` are the entries of the table in a group that fails, ``facts`` what a reader is to know of the sets.
    """

    holds: bool
    effective: dict[str, float | int]
    failing: npt.NDArray[np.bool_] = field(repr=False)
    facts: Mapping[str, Any] = field(default_factory=dict)


class SetModel(Protocol):
    """A model of sets of columns, as checks and searches use it."""

    @property
    def by_size(self) -> bool:
        """Return whether the number of rows, or people, alone decides."""

    @property
    def least(self) -> int:
        """The smallest group that can meet the model."""

    def examine(self, table: CodedTable) -> Examined:
        """Examine all sets of columns of a table."""

    def positions(self, columns: Sequence[str], quasi: Sequence[str]) -> Iterable[tuple[int, ...]]:
        """Return the sets that imply all others, as positions among columns."""

    def applies(self, known: Iterable[str]) -> bool:
        """Return whether the model is about a set of known columns."""

    def assess_known(self, groups: Groups, known: Iterable[str]) -> Assessment | None:
        """Assess rows with equal labels in the known columns."""


def set_models(model: AllOf) -> tuple[SetModel, ...]:
    """Return the parts of a model that are about sets of columns."""
    return tuple(cast("SetModel", part) for part in model.of_some_columns)


def examine(part: Model, table: CodedTable) -> Examined:
    """Let a model of sets of columns examine a table."""
    return cast("SetModel", part).examine(table)
