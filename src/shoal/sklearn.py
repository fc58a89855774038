"""Anonymization as a transformer of scikit-learn.

    make_pipeline(Anonymizer(k=5), DecisionTreeClassifier()).fit(X, y)

``fit`` learns a recoding, ``transform`` applies it and verifies its result. The recoding is ``full-domain``: one level
of each column's hierarchy, found on the data of ``fit``, that can be applied to any further data. Rows stay in
their order, to match their labels. So the output of a transformer is for learning; use :func:`shoal.anonymize` for a
table that is published. Needs scikit-learn (``shoal[learn]``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from shoal.advice.profile import suggest_hierarchies
from shoal.errors import InfeasibleError, PlanError
from shoal.methods import FullDomain
from shoal.models import make_model
from shoal.pipeline import run as pipeline
from shoal.pipeline.check import check
from shoal.plan.coerce import ColumnLike, ModelsLike, as_column, as_models
from shoal.plan.plan import Plan, build_hierarchy
from shoal.schema import TOP, Column, Role, Schema
from shoal.utility.coded_tables import open_tables
from shoal.utility.labels import parse_number, read_label
from shoal.utility.measures import MeasureName

__all__ = ["Anonymizer"]


class Anonymizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Generalize every column until all groups meet the models.

    Parameters
    ----------
    k
        The size of the smallest group.
    hierarchies
        Hierarchies by column name, or by number for columns without names; drafted from the data by default.
    models
        Models on the size of groups, in addition to k-anonymity.
    loss
        The loss measure to minimize: see :class:`shoal.methods.FullDomain`.
    encode
        ``midpoint`` gives numbers: the middle of an interval, the end of an open one, 0 for a suppressed column.
        ``label`` gives the labels of a release.
    time_limit
        Seconds after which the best levels so far are used; not all levels of a wide table can be tried.
    verify
        Whether ``transform`` refuses data if a group fails a model after recoding; ``fit_transform`` always does.

    Attributes
    ----------
    levels_
        The level of each column by name (``x0``, ``x1`` for columns without names); level 0 is the value itself.
    plan_
        The plan, with the hierarchies.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.hierarchies import intervals
    >>> ages = np.array([[21], [23], [34], [36]])
    >>> Anonymizer(k=2, hierarchies={0: intervals(10, 20)}).fit_transform(ages).ravel()
    array([24.5, 24.5, 34.5, 34.5])
    """

    def __init__(
        self,
        k: int = 5,
        *,
        hierarchies: Mapping[str | int, ColumnLike] | None = None,
        models: ModelsLike | None = None,
        loss: MeasureName = "ncp",
        encode: Literal["midpoint", "label"] = "midpoint",
        time_limit: float | None = None,
        verify: bool = True,
    ) -> None:
        self.k = k
        self.hierarchies = hierarchies
        self.models = models
        self.loss = loss
        self.encode = encode
        self.time_limit = time_limit
        self.verify = verify

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the levels of least loss that meet the models; ``y`` is ignored."""
        values = self._validated(X, reset=True)
        if self.encode not in ("midpoint", "label"):
            raise PlanError("table.unknown-encoding", found=self.encode)
        names = self._names(values.shape[1])
        table = _table(values, names)
        given = self._given(names)
        drafted = suggest_hierarchies(table, [name for name in names if name not in given])
        made = {name: Column(Role.QUASI_IDENTIFIER, build_hierarchy(drafted[name], name, Path())) for name in drafted}
        columns = {name: given.get(name) or made[name] for name in names}
        models = (make_model("k-anonymity", k=self.k), *as_models(self.models))
        self.plan_ = Plan(Schema(columns), models, FullDomain(loss=self.loss, time_limit=self.time_limit))
        released = pipeline.anonymize(table, self.plan_)
        self.levels_: dict[str, int] = dict(released.figures["levels"])
        return self

    def transform(self, X: Any) -> npt.NDArray[Any]:
        """Recode the rows in their order, each column at its level.

        Raises if a group of them fails a model.
        """
        check_is_fitted(self)
        return self._recode(self._validated(X, reset=False), verified=self.verify)

    def fit_transform(self, X: Any, y: Any = None, **parameters: Any) -> npt.NDArray[Any]:
        """Fit, and recode the same data; its groups are always verified."""
        self.fit(X, y)
        return self._recode(self._validated(X, reset=False), verified=True)

    def _validated(self, X: Any, *, reset: bool) -> npt.NDArray[Any]:
        kind = "numeric" if self.encode == "midpoint" else None
        return np.asarray(validate_data(self, X, reset=reset, dtype=kind))

    def _names(self, count: int) -> tuple[str, ...]:
        """Return the names of the columns, or numbers if they are ambiguous."""
        own = tuple(str(name) for name in getattr(self, "feature_names_in_", ()))
        return own if all(own) and len(set(own)) == count else tuple(f"x{number}" for number in range(count))

    def _given(self, names: tuple[str, ...]) -> dict[str, Column]:
        """Return the columns that the user described, by our names."""
        own = [str(name) for name in getattr(self, "feature_names_in_", names)]
        found = {}
        for key, hierarchy in (self.hierarchies or {}).items():
            if key not in own and not (isinstance(key, int) and 0 <= key < len(names)):
                raise PlanError("table.no-column-for-hierarchy", column=key)
            column = as_column(hierarchy)
            if column.role is not Role.QUASI_IDENTIFIER:
                raise PlanError("table.only-quasi-identifiers")
            found[names[key if isinstance(key, int) else own.index(key)]] = column
        return found

    def _recode(self, values: npt.NDArray[Any], *, verified: bool) -> npt.NDArray[Any]:
        """Recode the rows to the learned levels.

        If ``verified``, the result is checked like any released table.
        """
        names = self._names(values.shape[1])
        recoded: list[list[str | None]] = []
        with open_tables(None) as tables:
            columns = tables.rows(_table(values, names), names)
        for column in columns:
            known = [value for value in column.values if value is not None]
            ladder = self.plan_.schema.ladder(column.name, known, None in column.values)
            level = self.levels_[column.name]
            labels = [ladder.labels[level][code] for code in ladder.codes[level]]
            recoded.append([labels[code] for code in column.code])
        if verified:
            released = pa.table(
                {name: pa.array(cells, pa.string()) for name, cells in zip(names, recoded, strict=True)}
            )
            result = check(released, self.plan_.models, quasi_identifiers=names)
            if not result.holds:
                raise InfeasibleError(
                    "table.learned-levels-fail", failing=result.failing_groups, groups=result.groups, rows=result.rows
                )
        if self.encode == "label":
            return np.array(recoded, dtype=object).T
        return np.array([[_number(cell) for cell in column] for column in recoded], np.float64).T


def _table(values: npt.NDArray[Any], names: tuple[str, ...]) -> pa.Table:
    if values.dtype == object:
        cells = [[None if cell is None else str(cell) for cell in column] for column in values.T]
        return pa.table(dict(zip(names, cells, strict=True)))
    return pa.table({name: pa.array(column) for name, column in zip(names, values.T, strict=True)})


def _number(label: str | None) -> float:
    """Return the middle of the region that a label covers."""
    number = parse_number(label)
    if number is not None:
        return number
    region = read_label(label or TOP)
    ends = [end for end in (region.low, region.high) if end is not None and math.isfinite(end)]
    return sum(ends) / len(ends) if ends else 0.0
