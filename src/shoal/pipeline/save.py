"""Release in memory, saved as a file with its documents."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.errors import OutputError
from shoal.io.engines import runs_on_spark
from shoal.io.engines.base import EngineSettings, Source
from shoal.io.formats.csv_dialect import RELEASED
from shoal.io.frames import as_arrow
from shoal.pipeline.check import check
from shoal.pipeline.file_sinks import FileSink
from shoal.pipeline.plan_engine import open_plan_engine
from shoal.pipeline.sinks import Documents
from shoal.plan.plan import Plan
from shoal.results.external import Verification, describe_released, read_released
from shoal.results.public_plan import public_plan
from shoal.results.release import ReleaseResult
from shoal.results.saved_table import differing_figures, identify
from shoal.schema import Role
from shoal.verification.check import CheckResult
from shoal.verification.verify import needs_original


def save(
    made: ReleaseResult[Any], path: Path, *, overwrite: bool = False, internal_report: bool = False
) -> ReleaseResult[None]:
    """Write a release in memory to a file, with its certificate and report.

    See :meth:`shoal.Release.save`. The user may have changed the table since: the staged file must have all figures of
    the release, or nothing is published.
    """
    if made.table is None or made.plan is None:
        raise OutputError("release.not-in-memory")
    plan = made.plan
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError("files.folder-not-made", folder=str(path.parent), reason=error.strerror) from None
    has_report = made.description is not None
    with FileSink(path, overwrite, report=has_report, internal_report=has_report and internal_report) as sink:
        with open_plan_engine(plan, made.table) as engine:
            content = as_arrow(made.table)
            sink.file.write(engine, engine.read(Source(frame=content, with_nan=plan.schema.named(Role.OTHER))))
            checked = _require_certified(made, content, plan, sink.file.path)
            output = sink.file.output
            verification = Verification(
                made.figures.get("reading"), tuple(model.get("judged_by") for model in made.figures["models"])
            )
            public = public_plan(plan)
            released = read_released(engine, sink.file.read(engine, plan.schema.quasi_identifiers), public, checked)
            external = describe_released(released, public, verification, output)
        figures = {**made.figures, "output": output}
        published = sink.publish(Documents(external, figures, made.facts, made.description))
    certificate = replace(published.certificate, former=figures)
    return replace(made, certified=certificate, figures=figures, external=external.facts, path=path)


def _require_certified(made: ReleaseResult[Any], content: Any, plan: Plan, staged: Path) -> CheckResult:
    """Raise unless a staged file has all figures of a release.

    ``content`` is the table in memory. Returns what was found in the file alone.
    """
    checked = check(staged, plan=plan, csv=RELEASED)
    if not checked.holds:
        raise OutputError("release.not-verifiable-alone")
    with_original = needs_original(plan.schema, plan.model, plan.method.wildcard)
    differing = differing_figures(
        made.figures, checked, with_sizes=plan.method.wildcard is None, with_models=not with_original
    )
    if differing:
        raise OutputError("release.table-differs", differing=", ".join(differing))
    if with_original and not _is_verified(made, content, plan):
        raise OutputError("release.not-the-verified-table")
    return checked


def _is_verified(made: ReleaseResult[Any], content: Any, plan: Plan) -> bool:
    """Return whether the promised columns of a table have the verified cells."""
    found = identify(content, plan.schema)
    return found is made.verified if runs_on_spark(EngineSettings(), content) else bool(found == made.verified)
