"""The public release: a result with the functions that take it further."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from shoal.errors import PlanError
from shoal.pipeline import run as pipeline
from shoal.render import Page
from shoal.report import render
from shoal.results.release import ReleaseResult

if TYPE_CHECKING:
    from shoal.advice.explain import Explanation

Table = TypeVar("Table")


class Release(ReleaseResult[Table]):
    """A result of the pipeline that can be saved, explained and shown as a report."""

    @classmethod
    def of(cls, result: ReleaseResult[Table]) -> Release[Table]:
        """Give the pipeline's result the public methods."""
        return cls(**{item.name: getattr(result, item.name) for item in fields(result)})

    def report(self, explanation: Explanation | None = None) -> Page:
        """Render the report as a page: shown in a notebook, saved with ``save(path)``, or opened with ``open()``.

        With an explanation, as :meth:`explain` gives it, the report has a picture of what the loss comes from.
        """
        if explanation is None:
            return Page(render(self))
        from shoal.advice.explain_chart import cost_bars

        return Page(render(self, costs=cost_bars(explanation)))

    def explain(self, data: Any = None, *, time_limit: float = 120.0) -> Explanation:
        """Find what the loss comes from: the loss without each column and model, and with smaller parameters.

        A release keeps no row of its original: ``data`` is the table that it was made from, unless its plan names a
        source that can be read again. See :func:`shoal.explain`.
        """
        from shoal.advice import explain

        if self.plan is None:
            raise PlanError("Only a release in memory knows its plan; ask shoal.explain with the plan of this one.")
        return explain.explain(self.plan, data, time_limit=time_limit)

    def save(self, folder: Path | str, name: str = "released.csv", *, overwrite: bool = False) -> Release[None]:
        """Write the table into a folder, with certificate and report beside it: whole, or not at all.

        What was written is read again and checked against the models before it takes its place. ``name`` ends in .csv
        or .parquet.
        """
        return Release.of(pipeline.save(self, Path(folder) / name, overwrite=overwrite))
