"""Disclosure risk of a table.

Covers re-identification, uniqueness, individual risk and special uniques.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.audit.inputs import RolesLike, from_args
from shoal.errors import PlanError, TableError
from shoal.formatting import number, percent
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.plan.coerce import ColumnsLike, EngineLike
from shoal.render import Displayable, Grid, Summary
from shoal.risk.attacks_linkage import population_counts
from shoal.risk.individual import individual_risk
from shoal.risk.matching import read_groups
from shoal.risk.reidentification import Reidentification, reidentification
from shoal.risk.special_uniques import SpecialUniques, special_uniques
from shoal.risk.uniqueness import Uniqueness, population_uniques
from shoal.runtime.deprecation import renamed_parameter
from shoal.schema import Schema
from shoal.table.groups import group_keys
from shoal.utility.coded_tables import CodedColumn
from shoal.utility.labels import parse_number


@dataclass(frozen=True)
class IndividualRisk:
    """Individual risk E[1/F | f] over rows.

    Its mean, its maximum, and the expected number of correct links.
    """

    mean: float
    highest: float
    expected: float

    def to_dict(self) -> dict[str, float]:
        """Return the figures for JSON."""
        return {"mean": self.mean, "highest": self.highest, "expected": self.expected}


@dataclass(frozen=True, repr=False)
class RiskReport(Displayable):
    """Disclosure risk of a table.

    Attributes
    ----------
    rows, groups
        Of the table.
    reidentification
        Prosecutor, journalist and marketer.
    uniqueness
        Sample uniques and estimates for the population; None if the size of the population is unknown.
    individual
        Risk of Benedetti and Franconi, by weights or by the sampling fraction; None as above.
    special
        Special uniques with SUDA scores; None if not requested.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import shoal
    >>> report = shoal.assess(pa.table({"age": ["<30", "<30", ">=30"]}), quasi_identifiers="age")
    >>> report.rows, report.groups, report.reidentification.prosecutor.highest
    (3, 2, 1.0)
    """

    rows: int
    groups: int
    smallest_group: int
    reidentification: Reidentification
    uniqueness: Uniqueness | None
    individual: IndividualRisk | None
    special: SpecialUniques | None

    def summary(self) -> Summary:
        """Summarize the probability of re-identification by intruder."""
        found = self.reidentification
        intruders = [("who knows that a person is in the table", found.prosecutor)]
        if found.journalist is not None:
            intruders.append(("who does not know it", found.journalist))
        rows = [
            (intruder, percent(risk.highest, 2), percent(risk.average, 2), percent(risk.at_risk, 2))
            for intruder, risk in intruders
        ]
        figures = (("rows", self.rows), ("groups", self.groups), ("rows in the smallest", self.smallest_group))
        sentences = []
        if self.uniqueness is not None:
            sentences.append(
                f"{number(self.uniqueness.sample_uniques)} rows are unique; of the population about "
                f"{number(round(self.uniqueness.dankar))} people are ({self.uniqueness.chosen})."
            )
        columns = ("an intruder", "at most", "on average", f"above {percent(found.threshold, 0)}")
        return Summary("The risk of the table", figures, sentences, [Grid("Picks the right row", columns, rows)])

    def to_dict(self) -> dict[str, Any]:
        """Return the assessment for JSON."""
        parts = {"uniqueness": self.uniqueness, "individual": self.individual, "special_uniques": self.special}
        return {
            "rows": self.rows,
            "groups": self.groups,
            "smallest_group": self.smallest_group,
            "reidentification": self.reidentification.to_dict(),
            **{name: None if part is None else part.to_dict() for name, part in parts.items()},
        }


@renamed_parameter("source", "csv")
def assess(
    data: Any,
    plan: RolesLike | None = None,
    *,
    quasi_identifiers: ColumnsLike = (),
    population: Any = None,
    fraction: float | None = None,
    weight: str | None = None,
    threshold: float = 0.2,
    special: bool = True,
    largest: int | None = None,
    missing: ColumnsLike = (),
    csv: CsvFormat | None = None,
    engine: EngineLike | None = None,
    time_zone: str | None = None,
) -> RiskReport:
    """Assess the disclosure risk of an original or released table.

    Parameters
    ----------
    data
        A path (CSV or Parquet), or a pandas, Polars, PyArrow or DuckDB object.
    plan
        Roles and hierarchies; or else ``quasi_identifiers``.
    population
        A table of the population that the table is a sample of: the journalist's risk is exact then.
    fraction
        Sampling fraction, if there is no table of the population.
    weight
        A column of sampling weights, for the individual risk.
    threshold
        Probability above which a row is at risk.
    special, largest
        Whether to find special uniques, and the maximum size of column sets.
    missing
        Texts that represent a missing value, in addition to those of the plan.
    engine
        Engine that reads the tables; by default the plan's engine, or else Spark for Spark frames and DuckDB otherwise.
    time_zone
        Time zone in which instants are read; by default that of the plan, or UTC.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"age": ["<30", "<30", ">=30"]})
    >>> assess(table, quasi_identifiers="age").reidentification.prosecutor.highest
    1.0
    """
    inputs = from_args(plan, quasi_identifiers, (), missing, csv, engine, time_zone)
    schema = Schema({name: inputs.schema.columns[name] for name in inputs.schema.quasi_identifiers})
    if population is not None and fraction is not None:
        raise PlanError("check.population-and-fraction")
    if fraction is not None and not 0 < fraction <= 1:
        raise PlanError("check.sampling-fraction-out-of-range", found=fraction)
    table, everybody = inputs.table(data), inputs.table(population)
    with inputs.open(table, everybody) as tables:
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
    return RiskReport(
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
    """Sum the weights of each group.

    The last column has the weights; the other columns form the groups.
    """
    *columns, weights = rows
    numbers = [parse_number(value) for value in weights.values]
    if any(number is None or number <= 0 for number in numbers):
        raise TableError("check.weights-not-positive", column=weights.name)
    codes = np.stack([column.code for column in columns], axis=1)
    # read_groups numbers the groups by the same codes, in the same order
    number, _ = group_keys(codes, [len(column.values) for column in columns])
    sums = np.bincount(number, weights=np.asarray(numbers, np.float64)[weights.code])
    return np.asarray(sums, np.float64)
