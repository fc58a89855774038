"""The path of a release, from a table to what is published.

    read -> decide -> apply -> sink.stage -> verify -> describe -> sink.publish

The steps up to apply are in :mod:`shoal.pipeline.decide`, the destinations in :mod:`shoal.pipeline.sinks`. Nothing is
published before the staged table itself has been verified.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shoal.errors import PlanError
from shoal.io.engines import runs_on_spark
from shoal.io.engines.base import Engine, Source
from shoal.io.formats import writer_of
from shoal.io.formats.column_names import require_column_names
from shoal.io.formats.csv_dialect import RELEASED, CsvFormat
from shoal.io.formats.urls import address_of
from shoal.io.frames import as_arrow
from shoal.methods import FullDomain
from shoal.methods.full_domain.minimal import MinimalRecoding, list_minimal
from shoal.pipeline.decide import FrequencyCache, StepTimer, decide, encode
from shoal.pipeline.figures import collect_figures, exposure_figures, original_table
from shoal.pipeline.plan_engine import open_plan_engine
from shoal.pipeline.sinks import Documents, MemorySink, Sink, Staged
from shoal.plan.plan import Output, Plan, PlanLike, as_plan
from shoal.plan.saved_recoding import apply_saved_recoding, intersect_releases
from shoal.plan.variables import masked_errors
from shoal.results.external import External, Verification, describe_released, read_released
from shoal.results.public_plan import public_plan
from shoal.results.release import ReleaseResult, Table
from shoal.runtime.progress import Progress, quiet
from shoal.utility.coded_tables import TableReader
from shoal.verification.check import CheckResult

logger = logging.getLogger(__name__)

LossChart = Callable[[Plan, Progress], str]
"""Function that charts the sources of a plan's loss, as HTML."""


@dataclass(frozen=True)
class Extras:
    """Further documents and comparisons of a release to a file.

    Attributes
    ----------
    recoding
        A saved recoding, used in place of the method.
    previous
        An earlier release, for the intersection attack on both.
    save_recoding, internal_report
        Whether these are written, for the owner.
    loss_chart
        Draws the part of the internal report about the origin of the loss; None for no such part.
    """

    recoding: Path | None = None
    previous: Path | None = None
    save_recoding: bool = False
    internal_report: bool = False
    loss_chart: LossChart | None = None

    @property
    def need_file(self) -> bool:
        """Return whether a feature is asked for that only files have."""
        return self.previous is not None or self.save_recoding or self.internal_report


NO_EXTRAS = Extras()


def anonymize(data: Table, plan: PlanLike, *, content: Any = None, progress: Progress = quiet) -> ReleaseResult[Table]:
    """Anonymize a table in memory.

    Parameters
    ----------
    data
        A pandas, Polars, PyArrow or DuckDB object, or a Spark DataFrame. The released table has the same type.
    plan
        A :class:`Plan`, the contents of a plan file, or the path of one. Its source and output are not used.
    content
        The same table as Arrow, where it has been converted already.
    progress
        Called with each step and, if known, its completed fraction.

    Returns
    -------
    ReleaseResult
        With ``table``, ``certificate``, ``utility`` and ``risk``.
    """
    plan = as_plan(plan)
    if isinstance(data, str | Path):
        raise PlanError("table.not-a-frame")
    missing = plan.source.csv.missing if plan.source else ()
    source = Source(frame=as_arrow(data) if content is None else content, csv=CsvFormat(missing=missing))
    return release_to(MemorySink(data), source, plan, progress=progress)


def release(
    plan: PlanLike,
    *,
    overwrite: bool | None = None,
    recoding: Path | None = None,
    previous: Path | None = None,
    save_recoding: bool = False,
    internal_report: bool = False,
    loss_chart: LossChart | None = None,
    progress: Progress = quiet,
) -> ReleaseResult[None]:
    """Run a plan from its source to its output; see :func:`shoal.release`.

    ``loss_chart`` draws the part of the internal report about the origin of the loss; None for no such part.
    """
    plan = as_plan(plan)
    extras = Extras(
        None if recoding is None else Path(recoding),
        None if previous is None else Path(previous),
        save_recoding,
        internal_report,
        loss_chart,
    )
    if extras.recoding is not None:
        plan = apply_saved_recoding(plan, extras.recoding)
    if extras.previous is not None and not plan.method.reveals_source:
        raise PlanError("release.previous-not-needed", method=plan.method.name)
    if plan.source is None or plan.output is None:
        raise PlanError("plan.no-source-or-output")
    may_replace = plan.output.overwrite if overwrite is None else overwrite
    if loss_chart is not None and not internal_report:
        raise PlanError("release.loss-chart-needs-internal-report")
    with masked_errors(plan.written):
        sink = make_sink(plan, plan.source, plan.output, may_replace, extras)
        return release_to(sink, plan.source, plan, extras, progress=progress)


def make_sink(plan: Plan, source: Source, output: Output, may_replace: bool, extras: Extras = NO_EXTRAS) -> Sink:
    """Make the sink of an output; raise if it lacks what is asked for."""
    on_spark = runs_on_spark(plan.engine)
    if output.database is not None:
        if extras.need_file or output.spreadsheet_safe or on_spark:
            raise PlanError("output.database-extras")
        from shoal.pipeline.database_sink import DatabaseSink

        replaced = source.table if source.database == output.database else None
        return DatabaseSink(
            output.database, output.table or "", may_replace, replaced, output.certificate_file, plan.inputs
        )
    from shoal.pipeline.file_sinks import FileSink, StandardOutputSink, StoreSink

    if output.is_standard:
        if extras.need_file or output.spreadsheet_safe:
            raise PlanError("output.standard-output-extras")
        return StandardOutputSink()
    names = [name for name in plan.schema.columns if name not in plan.schema.unpublished]
    require_column_names([*names, *plan.schema.category_columns.values()], output.path.suffix.lower())
    name = Path(output.written.get("path", output.path.name)).name
    if address_of(output.path) is not None:
        if extras.need_file or on_spark:
            raise PlanError("output.store-extras")
        return StoreSink(output.path, may_replace, name, output.report)
    if extras.previous is not None and writer_of(output.path).module is not None:
        raise PlanError("release.previous-format")
    previous = () if extras.previous is None else (extras.previous,)
    return FileSink(
        output.path,
        may_replace,
        name,
        on_spark,
        {**plan.inputs, "previous release": previous},
        output.report,
        extras.internal_report,
        extras.recoding,
    )


def release_to(
    sink: Sink, source: Source, plan: Plan, extras: Extras = NO_EXTRAS, *, progress: Progress = quiet
) -> ReleaseResult[Any]:
    """Take a table along the path of a release to a sink."""
    timer = StepTimer(progress)
    logger.info("release by %s to a %s begins", plan.method.name, type(sink).__name__)
    with sink:
        # takes minutes: after all checks that may fail
        chart = "" if extras.loss_chart is None else extras.loss_chart(plan, progress)
        with open_plan_engine(plan, source, progress=timer.report_fraction) as engine:
            decided = decide(engine, source, plan, timer)
            with timer(sink.step):
                sink.stage(engine, decided)
            with timer("verifying"):
                staged = sink.read_back(engine, decided)
                original = original_table(source, decided)
                checked = decided.verify(engine, staged.numbered, staged.written, original)
            further = {} if staged.output is None else {"output": staged.output}
            further |= exposure_figures(engine, decided, timer)
            if extras.previous is not None:
                assert staged.path is not None
                with timer("comparing"):
                    reader = TableReader(engine, RELEASED)
                    further["intersection"] = intersect_releases(reader, staged.path, extras.previous, plan)
            figures = collect_figures(plan, decided, checked, further)
            with timer("describing"):
                external = _describe_externally(engine, staged, plan, checked)
                description = decided.describe(checked) if sink.has_report else None
        recoding = decided.recoding_text(staged.output or {}) if extras.save_recoding else None
        with timer("publishing"):
            published = sink.publish(Documents(external, figures, decided.facts, description, recoding, chart))
    logger.info("release published: %s rows", published.certificate.released)
    return ReleaseResult(
        published.table,
        replace(published.certificate, former=figures),
        path=published.path,
        seconds=timer.seconds,
        description=description,
        plan=published.plan,
        verified=published.verified,
        figures=figures,
        facts=decided.facts,
        external=external.facts,
    )


def _describe_externally(engine: Engine, staged: Staged, plan: Plan, checked: CheckResult) -> External:
    """Describe a released table to its readers, by nothing but itself.

    The verification ``checked`` is used as far as it has seen no original.
    """
    public = public_plan(plan)
    table = read_released(engine, staged.released, public, checked)
    return describe_released(table, public, Verification.from_result(checked), staged.output)


def dry_run(
    plan: Plan, *, bounded: bool = True, progress: Progress = quiet, cache: FrequencyCache | None = None
) -> ReleaseResult[None]:
    """Decide, apply and verify a plan without writing anything.

    ``bounded=False`` omits the lower bound of the loss. ``cache`` avoids counting the same table again, if several
    plans are tried on it.
    """
    if plan.source is None:
        raise PlanError("plan.no-source")
    timer = StepTimer(progress)
    with open_plan_engine(plan, progress=timer.report_fraction) as engine:
        decided = decide(engine, plan.source, plan, timer, bounded=bounded, cache=cache)
        with timer("verifying"):
            checked = decided.verify(engine, decided.numbered)
        figures = collect_figures(plan, decided, checked, {})
    # nothing is handed out, so there is no certificate
    return ReleaseResult(None, None, seconds=timer.seconds, figures=figures, facts=decided.facts)


def minimal_recodings(plan: PlanLike, data: Any = None, *, progress: Progress = quiet) -> list[MinimalRecoding]:
    """List all minimal full-domain recodings that satisfy a plan's models.

    Nothing is written. The plan's method must be ``full-domain`` (or none, which is the same); its loss, suppression,
    levels and weights apply. The table is ``data``, or else the plan's source.
    """
    plan = as_plan(plan)
    if not isinstance(plan.method, FullDomain):
        raise PlanError("method.not-full-domain", method=plan.method.name)
    source = plan.source if data is None else Source(frame=data)
    if source is None:
        raise PlanError("source.missing")
    timer = StepTimer(progress)
    with open_plan_engine(plan, data, progress=timer.report_fraction) as engine:
        return list_minimal(encode(engine, source, plan, timer), plan.method)
