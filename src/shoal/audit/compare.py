"""Utility of a release: comparison with its original."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any, cast

from shoal.audit.inputs import RolesLike, from_args
from shoal.errors import PlanError, TableError
from shoal.formatting import fixed, number, percent
from shoal.io.engines.spark_shared_session import shared_spark_session
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.plan.coerce import ColumnLike, ColumnsLike, EngineLike, as_names
from shoal.render import Displayable, Grid, Summary
from shoal.runtime.deprecation import renamed_parameter
from shoal.schema import UNPUBLISHED, Schema
from shoal.utility.classification import CLASSIFIERS, Accuracy, Classifier, classification
from shoal.utility.distributions import Distance, PairDistances, column_distance, pair_distances
from shoal.utility.label_distributions import read_columns
from shoal.utility.numeric import NumericLoss, numeric_loss
from shoal.utility.propensity import Propensity, propensity
from shoal.utility.queries import QueryError, range_query_error


@dataclass(frozen=True, repr=False)
class Comparison(Displayable):
    """Utility of a release compared with its original.

    Attributes
    ----------
    columns
        Distance between the distributions of each column.
    pairs
        The same over pairs of columns; None if there is one column only.
    numeric
        Loss of numeric columns; None if there is none.
    propensity
        pMSE.
    queries
        Errors of range queries.
    accuracy
        Accuracy of each requested classifier.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import shoal
    >>> original, released = pa.table({"age": [20, 21, 30, 30]}), pa.table({"age": ["20-29", "20-29", "30", "30"]})
    >>> found = shoal.compare(original, released, quasi_identifiers="age")
    >>> sorted(found.columns), found.released
    (['age'], 4)
    """

    rows: int
    released: int
    columns: dict[str, Distance]
    pairs: PairDistances | None
    numeric: NumericLoss | None
    propensity: Propensity
    queries: QueryError
    accuracy: tuple[Accuracy, ...] = field(default=())

    def summary(self) -> Summary:
        """Summarize distances, errors of queries and accuracy."""
        rows = [(name, fixed(one.variation, 3), fixed(one.divergence, 3)) for name, one in self.columns.items()]
        sentences = [f"{number(self.released)} of {number(self.rows)} rows are released."]
        if self.pairs is not None:
            pairs = self.pairs
            mean = (fixed(pairs.mean_variation, 3), fixed(pairs.mean_divergence, 3))
            rows.append((f"mean of {number(pairs.pairs)} pairs", *mean))
            sentences.append(
                f"Association of columns (Cramér's V) moved by {fixed(pairs.mean_association_change, 3)} on average, "
                f"by {fixed(pairs.highest_association_change, 3)} at most."
            )
        if self.numeric is not None:
            bound = "" if self.numeric.aligned else "at least "
            sentences.append(
                f"Numbers: SSE/SST {bound}{fixed(self.numeric.sse_sst, 4)}, IL1s {bound}{fixed(self.numeric.il1s, 4)}."
            )
        sentences += [
            f"A model that tells the tables apart is {fixed(self.propensity.ratio, 1)} times as good as chance (pMSE "
            f"{fixed(self.propensity.pmse, 4)} of at most {fixed(self.propensity.worst, 4)}).",
            f"Range queries are wrong by {percent(self.queries.median)} in the median, {percent(self.queries.mean)} on "
            "average.",
        ]
        for one in self.accuracy:
            sentences.append(
                f"Predicting {one.target} by {one.classifier}: {percent(one.released)} right when trained on the "
                f"release, {percent(one.original)} on the original, {percent(one.majority)} by naming the most "
                "frequent class."
            )
        columns = ("column", "total variation", "divergence (nats)")
        grid = Grid("How far distributions moved", columns, rows)
        return Summary("The release beside its original", (), sentences, [grid])

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison for JSON."""
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


@renamed_parameter("source", "csv")
@shared_spark_session()
def compare(
    original: Any,
    released: Any,
    plan: RolesLike | None = None,
    *,
    quasi_identifiers: ColumnsLike = (),
    sensitive: ColumnsLike | Mapping[str, ColumnLike] = (),
    target: str | None = None,
    classifiers: Classifier | Iterable[Classifier] = "tree",
    test: Any = None,
    aligned: bool = False,
    queries: int = 500,
    seed: int = 0,
    missing: ColumnsLike = (),
    csv: CsvFormat | None = None,
    engine: EngineLike | None = None,
    time_zone: str | None = None,
) -> Comparison:
    """Compare a released table with its original; rows need not be aligned.

    Parameters
    ----------
    original, released
        Paths (CSV or Parquet), or pandas, Polars, PyArrow or DuckDB objects.
    plan
        Columns and hierarchies, which determine the values that a published label covers; or else ``quasi_identifiers``
        and ``sensitive``.
    target
        A class column: classifiers are trained on both tables to predict it (needs scikit-learn).
    classifiers
        Any of ``tree``, ``logistic``, ``forest`` and ``c45``; c45 needs no scikit-learn.
    test
        A test table for the classifiers; the original itself by default.
    aligned
        Whether row i of both tables is the same person; squared error and IL1s are exact then, not lower bounds.
    queries
        Number of range queries.
    missing
        Texts that represent a missing value, in addition to those of the plan.
    engine
        Engine that reads the tables; by default the plan's engine, or else Spark for Spark frames and DuckDB otherwise.
    time_zone
        Time zone in which instants are read; by default that of the plan, or UTC.

    Examples
    --------
    >>> import pyarrow as pa
    >>> before, after = pa.table({"age": [20, 21, 30, 30]}), pa.table({"age": ["20-29", "20-29", "30", "30"]})
    >>> compare(before, after, quasi_identifiers="age").columns["age"].variation
    0.0
    """
    inputs = from_args(plan, quasi_identifiers, sensitive, missing, csv, engine, time_zone)
    schema, chosen = inputs.schema, cast("tuple[Classifier, ...]", as_names(classifiers, "classifiers"))
    for name in chosen:
        if name not in CLASSIFIERS:
            raise PlanError("compare.unknown-classifier", allowed=", ".join(CLASSIFIERS), found=name)
    if queries < 1:
        raise PlanError("compare.too-few-queries", found=queries)
    original_source, released_source, test_source = (
        inputs.original(original),
        inputs.table(released),
        inputs.table(test),
    )
    with inputs.open(original_source, released_source, test_source) as tables:
        if aligned:
            tables.require_numbered()
        shared = set(tables.names(original_source)) & set(tables.names(released_source))
        names = _compared(schema, shared, target)
        before, after = tables.rows(original_source, names), tables.rows(released_source, names)
        targets = test_columns = None
        if target is not None:
            targets = tables.rows(original_source, [target])[0], tables.rows(released_source, [target])[0]
            if test_source is not None:
                *others, truth = tables.rows(test_source, [*(name for name in names if name != target), target])
                test_columns = (others, truth)
    if aligned and len(before[0].code) != len(after[0].code):
        raise TableError("compare.rows-differ", rows_before=len(before[0].code), rows_after=len(after[0].code))
    readings = read_columns(before, after, schema)
    accuracy = []
    if targets is not None:
        features = [reading for reading in readings if reading.name != target]
        accuracy = [classification(features, targets, classifier=name, test=test_columns, seed=seed) for name in chosen]
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


def _compared(schema: Schema, shared: Set[str], target: str | None) -> list[str]:
    """Return the plan's columns that both tables have, without identifiers."""
    names = [n for n, column in schema.columns.items() if column.role not in UNPUBLISHED and n in shared]
    if not names:
        raise TableError("compare.no-shared-column")
    if target is not None and (target not in shared or names == [target]):
        raise TableError("compare.class-column-missing", column=target)
    return names
