"""Public result of a release, with methods to save and explain it."""

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
    """Result of the pipeline that can be saved, explained and reported."""

    @classmethod
    def of(cls, result: ReleaseResult[Table]) -> Release[Table]:
        """Convert a result of the pipeline."""
        return cls(**{item.name: getattr(result, item.name) for item in fields(result)})

    def report(self, explanation: Explanation | None = None) -> Page:
        """Render the report as a page.

        A page displays itself in a notebook; ``save(path)`` writes it and ``open()`` shows it in a browser. With an
        explanation of :meth:`explain`, the report has a chart of the sources of the loss.
        """
        if explanation is None:
            return Page(render(self))
        from shoal.advice.explain_chart import cost_bars

        return Page(render(self, costs=cost_bars(explanation)))

    def explain(self, data: Any = None, *, time_limit: float = 120.0) -> Explanation:
        """Determine the sources of the loss.

        Computes the loss without each column and model, and with smaller parameters. A release has no row of its
        original: ``data`` is the table that it was made from, unless its plan names a source that can be read again.
        See :func:`shoal.explain`.
        """
        from shoal.advice import explain

        if self.plan is None:
            raise PlanError("Only a release in memory knows its plan; ask shoal.explain with the plan of this one.")
        return explain.explain(self.plan, data, time_limit=time_limit)

    def save(self, folder: Path | str, name: str = "released.csv", *, overwrite: bool = False) -> Release[None]:
        """Write the table into a folder atomically, with certificate and report.

        The written table is read again and checked against the models before it is published. ``name`` ends in .csv or
        .parquet.
        """
        return Release.of(pipeline.save(self, Path(folder) / name, overwrite=overwrite))
