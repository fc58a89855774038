"""Public result of a release, with methods to save and explain it."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from shoal.errors import PlanError
from shoal.pipeline.save import save
from shoal.render import Page
from shoal.report import render, render_internal
from shoal.results.release import ReleaseResult

if TYPE_CHECKING:
    from shoal.advice.explain import Explanation

Table = TypeVar("Table")


class Release(ReleaseResult[Table]):
    """Result of the pipeline that can be saved, explained and reported.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import shoal
    >>> plan = {"columns": {"age": "quasi-identifier"}, "models": "k-anonymity k=4", "method": "full-domain"}
    >>> release = shoal.anonymize(pa.table({"age": [23, 24, 37, 38]}), plan)
    >>> release.table["age"].to_pylist(), release.certificate["released"]
    (['*', '*', '*', '*'], 4)

    ``release.save("folder")`` writes the table, its certificate and its report.
    """

    @classmethod
    def of(cls, result: ReleaseResult[Table]) -> Release[Table]:
        """Convert a result of the pipeline."""
        return cls(**{item.name: getattr(result, item.name) for item in fields(result)})

    def report(self, explanation: Explanation | None = None, *, internal: bool = False) -> Page:
        """Render the report as a page.

        A page displays itself in a notebook; ``save(path)`` writes it and ``open()`` shows it in a browser. The report
        tells what the released table shows, and may be published with it. The ``internal`` one is for the owner: it
        also tells of the original. With an explanation of :meth:`explain` it has a chart of the sources of the loss,
        and is always internal.
        """
        if explanation is None and not internal:
            return Page(render(self))
        if self.description is None:
            raise PlanError("output.report-not-described")
        costs = ""
        if explanation is not None:
            from shoal.advice.explain_chart import cost_bars

            costs = cost_bars(explanation)
        return Page(render_internal(self.figures, self.facts, self.description, costs))

    def explain(self, data: Any = None, *, time_limit: float = 120.0) -> Explanation:
        """Determine the sources of the loss.

        Computes the loss without each column and model, and with smaller parameters. A release has no row of its
        original: ``data`` is the table that it was made from, unless its plan names a source that can be read again.
        See :func:`shoal.explain`.
        """
        from shoal.advice import explain

        if self.plan is None:
            raise PlanError("release.plan-unknown")
        return explain.explain(self.plan, data, time_limit=time_limit)

    def save(
        self,
        folder: Path | str,
        name: str = "released.csv",
        *,
        overwrite: bool = False,
        internal_report: bool = False,
    ) -> Release[None]:
        """Write the table into a folder atomically, with certificate and report.

        The written table is read again and checked against the models before it is published. ``name`` ends in .csv or
        .parquet. With ``internal_report``, a report for the owner is written too (released.internal.html).
        """
        path = Path(folder) / name
        return Release.of(save(self, path, overwrite=overwrite, internal_report=internal_report))
