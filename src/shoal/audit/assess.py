"""The risk of a table in figures: re-identification, uniqueness, individual risk and special uniques together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.audit.inputs import AskedRoles, given
from shoal.errors import PlanError, TableError
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.plan.coerce import AskedEngine, AskedNames
from shoal.render import Grid, Sheet, Shown
from shoal.risk.attacks_linkage import population_counts
from shoal.risk.individual import individual_risk
from shoal.risk.matching import read_groups
from shoal.risk.reidentification import Reidentification, reidentification
from shoal.risk.special_uniques import SpecialUniques, special_uniques
from shoal.risk.uniqueness import Uniqueness, population_uniques
from shoal.schema import Schema
from shoal.table.groups import group_keys
from shoal.utility.coded_tables import CodedColumn
from shoal.utility.labels import number_of

__all__ = ["IndividualRisk", "RiskAssessment", "assess"]


@dataclass(frozen=True)
class IndividualRisk:
    """E[1/F | f] over rows: the mean, the highest, and how many right links are to be expected in all."""

    mean: float
    highest: float
    expected: float

    def to_dict(self) -> dict[str, float]:
        """For JSON."""
        return {"mean": self.mean, "highest": self.highest, "expected": self.expected}


@dataclass(frozen=True, repr=False)
class RiskAssessment(Shown):
    """The risk of a table.

    Attributes
    ----------
    rows, groups
        Of the table.
    reidentification
        Prosecutor, journalist and marketer.
    uniqueness
        Sample uniques and estimates for the population; None where nothing is known of its size.
    individual
        Benedetti's and Franconi's risk, by weights or by the sampling fraction; None as above.
    special
        Special uniques with SUDA scores; None where they were not asked for.
    """

    rows: int
    groups: int
    smallest_group: int
    reidentification: Reidentification
    uniqueness: Uniqueness | None
    individual: IndividualRisk | None
    special: SpecialUniques | None

    def sheet(self) -> Sheet:
        """How likely a person is found, by whom."""
        found = self.reidentification
        people = [("who knows that a person is in the table", found.prosecutor)]
        if found.journalist is not None:
            people.append(("who does not know it", found.journalist))
        rows = [(who, f"{one.highest:.2%}", f"{one.average:.2%}", f"{one.at_risk:.2%}") for who, one in people]
        figures = (("rows", self.rows), ("groups", self.groups), ("rows in the smallest", self.smallest_group))
        sentences = []
        if self.uniqueness is not None:
            sentences.append(
                f"{self.uniqueness.sample_uniques:,} rows are unique; of the population about "
                f"{round(self.uniqueness.dankar):,} people are ({self.uniqueness.chosen})."
            )
        columns = ("an intruder", "at most", "on average", f"above {found.threshold:.0%}")
        return Sheet("The risk of the table", figures, sentences, [Grid("Picks the right row", columns, rows)])

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        parts = {"uniqueness": self.uniqueness, "individual": self.individual, "special_uniques": self.special}
        return {
            "rows": self.rows,
            "groups": self.groups,
            "smallest_group": self.smallest_group,
            "reidentification": self.reidentification.to_dict(),
            **{name: None if part is None else part.to_dict() for name, part in parts.items()},
        }


def assess(
    data: Any,
    plan: AskedRoles | None = None,
    *,
    quasi_identifiers: AskedNames = (),
    population: Any = None,
    fraction: float | None = None,
    weight: str | None = None,
    threshold: float = 0.2,
    special: bool = True,
    largest: int | None = None,
    missing: AskedNames = (),
    source: CsvFormat | None = None,
    engine: AskedEngine | None = None,
    time_zone: str | None = None,
) -> RiskAssessment:
    """The risk of a table, original or released, in figures.

    Parameters
    ----------
    data
        A path (CSV or Parquet), or a pandas, Polars, PyArrow or DuckDB object.
    plan
        Roles and hierarchies; or else ``quasi_identifiers``.
    population
        A table of everybody whom the table is a sample of: the journalist's risk is then exact.
    fraction
        Which part of the population is in the table, where the population itself is not at hand.
    weight
        A column of sampling weights, for the individual risk.
    threshold
        Above which probability a row is at risk.
    special, largest
        Whether to look for special uniques, and up to which size of column sets.
    missing
        Texts that stand for a missing value, beside those of the plan.
    engine
        What reads the tables; the plan's engine by default, or else Spark for Spark's own frames and DuckDB otherwise.
    time_zone
        The zone in which instants are read; the plan's, or UTC, by default.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from shoal import Column, Role, Schema
    >>> table = pa.table({"age": ["<30", "<30", ">=30"]})
    >>> assess(table, Schema({"age": Column(Role.QUASI_IDENTIFIER)})).reidentification.prosecutor.highest
    1.0
    """
    asked = given(plan, quasi_identifiers, (), missing, source, engine, time_zone)
    schema = Schema({name: asked.schema.columns[name] for name in asked.schema.quasi_identifiers})
    if population is not None and fraction is not None:
        raise PlanError("Give either a population table or a sampling fraction, not both.")
    if fraction is not None and not 0 < fraction <= 1:
        raise PlanError(f"The sampling fraction must be above 0 and at most 1; found {fraction!r}.")
    table, everybody = asked.table(data), asked.table(population)
    with asked.open(table, everybody) as tables:
        published = read_groups(tables, table, schema)
        columns = None if everybody is None else tables.rows(everybody, published.names)
        weighted = None if weight is None else tables.rows(table, (*published.names, weight))
    sizes = published.groups.size
    people = probability = None
    if columns is not None:
        people = population_counts(published, columns, schema)
        fraction = published.groups.rows / max(len(columns[0].code), published.groups.rows)
    if weighted is not None:
        probability = individual_risk(sizes, _weights(weighted))
    elif fraction is not None:
        probability = individual_risk(sizes, sizes / fraction)
    by_probability = None if people is not None else probability
    return RiskAssessment(
        published.groups.rows,
        published.groups.count,
        int(sizes.min()),
        reidentification(sizes, people, threshold, probability=by_probability),
        None if fraction is None else population_uniques(sizes, fraction),
        None if probability is None else _individual(sizes, probability),
        special_uniques(published.codes, sizes, published.names, largest) if special else None,
    )


def _individual(sizes: npt.NDArray[np.int64], probability: npt.NDArray[np.float64]) -> IndividualRisk:
    expected = float(sizes @ probability)
    return IndividualRisk(expected / int(sizes.sum()), float(probability.max()), expected)


def _weights(rows: Sequence[CodedColumn]) -> npt.NDArray[np.float64]:
    """The sum of a column of weights, the last one, over each group that the others make."""
    *columns, weights = rows
    numbers = [number_of(value) for value in weights.values]
    if any(number is None or number <= 0 for number in numbers):
        raise TableError(f"Column {weights.name!r} must hold positive numbers to be sampling weights.")
    codes = np.stack([column.code for column in columns], axis=1)
    # read_groups numbers groups by the same codes in the same order
    number, _ = group_keys(codes, [len(column.values) for column in columns])
    sums = np.bincount(number, weights=np.asarray(numbers, np.float64)[weights.code])
    return np.asarray(sums, np.float64)
