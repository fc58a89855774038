"""An original table beside a released one: everything that tells what the release is still good for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any, cast

from shoal.audit.inputs import AskedRoles, given
from shoal.errors import PlanError, TableError
from shoal.io.engines.spark_shared_session import keeping
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.plan.coerce import AskedColumn, AskedEngine, AskedNames, as_names
from shoal.render import Grid, Sheet, Shown
from shoal.schema import UNPUBLISHED, Schema
from shoal.utility.classification import CLASSIFIERS, Accuracy, Classifier, classification
from shoal.utility.distributions import Distance, PairDistances, column_distance, pair_distances
from shoal.utility.label_distributions import read_columns
from shoal.utility.numeric import NumericLoss, numeric_loss
from shoal.utility.propensity import Propensity, propensity
from shoal.utility.queries import QueryError, range_query_error

__all__ = ["Comparison", "compare"]


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """What a release lost and kept.

    Attributes
    ----------
    columns
        For each column, how far its distribution moved.
    pairs
        The same over pairs of columns; None where there is one column only.
    numeric
        Loss of number columns; None where there is none.
    propensity
        pMSE.
    queries
        Errors of range queries.
    accuracy
        For each classifier that was asked for.
    """

    rows: int
    released: int
    columns: dict[str, Distance]
    pairs: PairDistances | None
    numeric: NumericLoss | None
    propensity: Propensity
    queries: QueryError
    accuracy: tuple[Accuracy, ...] = field(default=())

    def sheet(self) -> Sheet:
        """How far the release is from the original, for several uses."""
        rows = [(name, f"{one.variation:.3f}", f"{one.divergence:.3f}") for name, one in self.columns.items()]
        if self.pairs is not None:
            pairs = self.pairs
            rows.append((f"mean of {pairs.pairs:,} pairs", f"{pairs.mean_variation:.3f}",
                         f"{pairs.mean_divergence:.3f}"))  # fmt: skip
        sentences = [
            f"A model that tells the tables apart is {self.propensity.ratio:.1f} times as good as chance (pMSE).",
            f"Range queries are wrong by {self.queries.median:.1%} in the median, {self.queries.mean:.1%} on average.",
        ]
        if self.numeric is not None:
            bound = "" if self.numeric.aligned else "at least "
            sentences.append(
                f"Numbers: SSE/SST {bound}{self.numeric.sse_sst:.4f}, IL1s {bound}{self.numeric.il1s:.4f}."
            )
        for one in self.accuracy:
            sentences.append(
                f"Predicting {one.target} by {one.classifier}: {one.released:.1%} right when trained on the release, "
                f"{one.original:.1%} on the original, {one.majority:.1%} by naming the most frequent class."
            )
        columns = ("column", "total variation", "divergence (nats)")
        grid = Grid("How far distributions moved", columns, rows)
        return Sheet("The release beside its original", (("rows", self.rows), ("released", self.released)), sentences,
                     [grid])  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "rows": self.rows,
            "released": self.released,
            "columns": {name: distance.to_dict() for name, distance in self.columns.items()},
            "pairs": None if self.pairs is None else self.pairs.to_dict(),
            "numeric": None if self.numeric is None else self.numeric.to_dict(),
            "propensity": self.propensity.to_dict(),
            "queries": self.queries.to_dict(),
            "accuracy": [one.to_dict() for one in self.accuracy],
        }


@keeping()
def compare(
    original: Any,
    released: Any,
    plan: AskedRoles | None = None,
    *,
    quasi_identifiers: AskedNames = (),
    sensitive: AskedNames | Mapping[str, AskedColumn] = (),
    target: str | None = None,
    classifiers: Classifier | Iterable[Classifier] = "tree",
    test: Any = None,
    aligned: bool = False,
    queries: int = 500,
    seed: int = 0,
    missing: AskedNames = (),
    source: CsvFormat | None = None,
    engine: AskedEngine | None = None,
    time_zone: str | None = None,
) -> Comparison:
    """Compare a released table with its original: what is it still good for? Rows need not be aligned.

    Parameters
    ----------
    original, released
        Paths (CSV or Parquet), or pandas, Polars, PyArrow or DuckDB objects.
    plan
        Columns and hierarchies, which tell what published labels cover; or else ``quasi_identifiers`` and
        ``sensitive``.
    target
        A class column: classifiers are trained on both tables to predict it (needs scikit-learn).
    classifiers
        Of ``tree``, ``logistic`` and ``forest``.
    test
        A test table for the classifiers; the original itself by default.
    aligned
        Whether row i of both tables is the same person; then squared error and IL1s are exact, not lower bounds.
    queries
        How many range queries to ask.
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
    >>> schema = Schema({"age": Column(Role.QUASI_IDENTIFIER)})
    >>> before, after = pa.table({"age": [20, 21, 30, 30]}), pa.table({"age": ["20-29", "20-29", "30", "30"]})
    >>> compare(before, after, schema).columns["age"].variation
    0.0
    """
    asked = given(plan, quasi_identifiers, sensitive, missing, source, engine, time_zone)
    schema, chosen = asked.schema, cast("tuple[Classifier, ...]", as_names(classifiers, "classifiers"))
    for name in chosen:
        if name not in CLASSIFIERS:
            raise PlanError(f"The classifier must be one of {', '.join(CLASSIFIERS)}; found {name!r}.")
    if queries < 1:
        raise PlanError(f"The number of queries must be at least 1; found {queries}.")
    first, second, third = asked.original(original), asked.table(released), asked.table(test)
    with asked.open(first, second, third) as tables:
        if aligned:
            tables.require_numbered()
        there = set(tables.names(first)) & set(tables.names(second))
        names = _compared(schema, there, target)
        before, after = tables.rows(first, names), tables.rows(second, names)
        wanted = tested = None
        if target is not None:
            wanted = tables.rows(first, [target])[0], tables.rows(second, [target])[0]
            if third is not None:
                *others, truth = tables.rows(third, [*(name for name in names if name != target), target])
                tested = (others, truth)
    if aligned and len(before[0].code) != len(after[0].code):
        raise TableError(
            f"Aligned tables must have as many rows; found {len(before[0].code)} and {len(after[0].code)}."
        )
    readings = read_columns(before, after, schema)
    accuracy = []
    if wanted is not None:
        features = [reading for reading in readings if reading.name != target]
        accuracy = [classification(features, wanted, classifier=name, test=tested, seed=seed) for name in chosen]
    return Comparison(
        len(before[0].code),
        len(after[0].code),
        {reading.name: column_distance(reading) for reading in readings},
        pair_distances(readings),
        numeric_loss(readings, aligned=aligned, seed=seed),
        propensity(readings, seed),
        range_query_error(readings, queries=queries, seed=seed),
        tuple(accuracy),
    )


def _compared(schema: Schema, there: Set[str], target: str | None) -> list[str]:
    """The columns of a plan, identifiers aside, that both tables have."""
    names = [n for n, column in schema.columns.items() if column.role not in UNPUBLISHED and n in there]
    if not names:
        raise TableError("The two tables must share at least one column of the plan to be compared; they share none.")
    if target is not None and (target not in there or names == [target]):
        raise TableError(f"The class column {target!r} must be in both tables, beside at least one other column.")
    return names
