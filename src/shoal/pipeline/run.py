"""Pipeline from a table to a verified release.

    read -> encode -> decide -> apply -> verify -> describe -> write

The steps up to apply are in :mod:`shoal.pipeline.decide`. Nothing is published before the released table itself has
been verified.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal import __version__
from shoal.errors import OutputError, PlanError, TableError
from shoal.io.engines import open_engine, runs_on_spark
from shoal.io.engines.base import UTC, Engine, EngineSettings, Relation, Source, require_columns
from shoal.io.formats import STANDARD, Writing, writer_of
from shoal.io.formats.csv_dialect import RELEASED, CsvFormat, detect
from shoal.io.formats.object_store import Store
from shoal.io.formats.postgres import Postgres
from shoal.io.formats.urls import address_of
from shoal.io.publish import (
    certificate_of,
    check_inputs,
    check_output,
    check_target,
    internal_report_of,
    parts_of,
    publish,
    published,
    recoding_of,
    release_paths,
    report_of,
    sha256_of,
    size_of,
    staging,
    write_text_atomic,
)
from shoal.methods import FullDomain
from shoal.methods.full_domain.minimal import MinimalRecoding, list_minimal
from shoal.models import combine, partial_knowledge_models
from shoal.pipeline.decide import Decided, FrequencyCache, StepTimer, decide, encode
from shoal.plan.coerce import ColumnsLike, ModelsLike, as_models, as_names
from shoal.plan.plan import Plan, PlanLike, as_plan, plain
from shoal.plan.saved_recoding import apply_saved_recoding, intersect_releases
from shoal.plan.variables import masked_errors
from shoal.report import render, render_internal
from shoal.results.external import INTRUDER_WITHOUT_LIST, External, Verification, describe_released, read_released
from shoal.results.public_plan import public_plan
from shoal.results.release import Certificate, ReleaseResult, Table, fingerprint
from shoal.results.saved_table import content_digest, differing_figures, sorted_rows_digest
from shoal.results.signatures import ROLES, signature_of
from shoal.runtime import signals
from shoal.runtime.progress import Progress, quiet
from shoal.runtime.scratch import make_scratch
from shoal.runtime.threads import limit_threads
from shoal.schema import Column, Role, Schema
from shoal.table.categories import require_categories
from shoal.table.people import number_people
from shoal.table.spreadsheet_safety import neutralize
from shoal.utility.coded_tables import TableReader, source_of
from shoal.verification.check import CheckResult, check_relation
from shoal.verification.independent import WrittenTable, has_plain_types, is_plain_file, is_readable, read_frame
from shoal.verification.verify import needs_original, require_same_files

EXPOSURE_TIME_SHARE = 0.1
LossChart = Callable[[Plan, Progress], str]
"""Function that charts the sources of a plan's loss, as HTML."""
ABOUT_THE_SOURCE = ("source", "rows", "suppressed", "loss", "bound", "risk")
"""Figures that reveal more than the release; see :attr:`shoal.methods.Method.reveals_source`."""


def anonymize(data: Table, plan: PlanLike, *, progress: Progress = quiet) -> ReleaseResult[Table]:
    """Anonymize a table in memory.

    Parameters
    ----------
    data
        A pandas, Polars, PyArrow or DuckDB object, or a Spark DataFrame. The released table has the same type.
    plan
        A :class:`Plan`, the contents of a plan file, or the path of one. Its source and output are not used.
    progress
        Called with each step and, if known, its completed fraction.

    Returns
    -------
    ReleaseResult
        With ``table``, ``certificate``, ``utility`` and ``risk``.
    """
    plan = as_plan(plan)
    timer = StepTimer(progress)
    with _open_plan_engine(plan, data, progress=timer.report_fraction) as engine:
        missing = plan.source.csv.missing if plan.source else ()
        decided = decide(engine, Source(frame=data, csv=CsvFormat(missing=missing)), plan, timer)
        with timer("applying"):
            converted = _convert_like(engine.materialize(decided.numbered, data), data)
        with timer("verifying"):  # the object that is returned, as a conversion may change values
            numbered = engine.read(Source(frame=converted, with_nan=plan.schema.quasi_identifiers))
            published = plan.schema.published
            frame = read_frame(converted, published.quasi_identifiers, published.sensitive)
            checked = decided.verify(engine, numbered, frame)
            released = _drop_columns(converted, plan.schema.person[:1])
            if plan.schema.linked:
                released = _convert_like(engine.materialize(decided.released, data), data)
                decided.require_same(engine, engine.read(Source(frame=released)), numbered)
        with timer("describing"):
            public = numbered
            if plan.schema.person:
                public = engine.read(Source(frame=released, with_nan=plan.schema.quasi_identifiers))
            external = _describe_externally(engine, public, plan, checked, None)
        exposure = _exposure(engine, decided, timer)
    with timer("describing"):
        description = decided.describe(checked)
    return _result(
        released,
        external,
        _figures(plan, decided, checked, exposure),
        decided,
        seconds=timer.seconds,
        description=description,
        plan=plan,
        verified=_identify(released, plan) if _needs_original(plan) else None,
    )


def _result(
    table: Any, external: External, figures: Mapping[str, Any], decided: Decided, **others: Any
) -> ReleaseResult[Any]:
    """Build the result of a release: public documents and owner's figures."""
    certificate = replace(external.certificate, former=figures)
    return ReleaseResult(table, certificate, figures=figures, facts=decided.facts, external=external.facts, **others)


def _describe_externally(
    engine: Engine,
    released: Relation,
    plan: Plan,
    checked: CheckResult,
    output: Mapping[str, Any] | None,
    verification: Verification | None = None,
) -> External:
    """Describe a released table to its readers, by nothing but itself.

    ``checked`` is a check of it, used as far as it has seen no original; by default it is the verification.
    """
    public = public_plan(plan)
    table = read_released(engine, released, public, checked)
    return describe_released(table, public, verification or Verification.from_result(checked), output)


def save(
    made: ReleaseResult[Any], path: Path, *, overwrite: bool = False, internal_report: bool = False
) -> ReleaseResult[None]:
    """Write a release in memory to a file, with its certificate and report.

    See :meth:`shoal.Release.save`.
    """
    if made.table is None or made.plan is None:
        raise OutputError("release.not-in-memory")
    plan = made.plan
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError("files.folder-not-made", folder=str(path.parent), reason=error.strerror) from None
    with staging(path) as folder:
        check_output(path, overwrite)
        staged = folder / f"table{path.suffix.lower()}"
        with _open_plan_engine(plan, made.table) as engine:
            untouched = plan.schema.named(Role.OTHER)
            written = engine.write(engine.read(Source(frame=made.table, with_nan=untouched)), staged)
            checked = _require_certified(made, plan, staged)
            digest = sha256_of(staged)
            output = {"name": path.name, "bytes": size_of(staged), "sha256": digest}
            released = engine.read(replace(written, with_nan=plan.schema.quasi_identifiers))
            verification = Verification(
                made.figures.get("reading"), tuple(model.get("judged_by") for model in made.figures["models"])
            )
            external = _describe_externally(engine, released, plan, checked, output, verification)
        figures = {**made.figures, "output": output}
        texts = {certificate_of(path): external.certificate.to_json()}
        if made.description is not None:
            texts = {report_of(path): render(external), **texts}
        if made.description is not None and internal_report:
            texts = {internal_report_of(path): render_internal(figures, made.facts, made.description), **texts}
        others = _stage_documents(texts, folder)
        outdated = [target for target in release_paths(path)[1:] if target not in texts]
        publish((staged, path), others, outdated, overwrite=overwrite, sha256=digest)
    certificate = replace(external.certificate, former=figures)
    return replace(made, certificate=certificate, figures=figures, external=external.facts, path=path)


def _require_certified(made: ReleaseResult[Any], plan: Plan, staged: Path) -> CheckResult:
    """Raise unless a staged file has all figures of a release.

    Returns what was found in the file alone.
    """
    checked = check(staged, plan=plan, source=RELEASED)
    if not checked.holds:
        raise OutputError("release.not-verifiable-alone")
    needs_original = _needs_original(plan)
    differing = differing_figures(
        made.figures, checked, with_sizes=plan.method.wildcard is None, with_models=not needs_original
    )
    if differing:
        raise OutputError("release.table-differs", differing=", ".join(differing))
    if needs_original and not _is_verified(made, plan):
        raise OutputError("release.not-the-verified-table")
    return checked


def _needs_original(plan: Plan) -> bool:
    """Return whether promises are about people or rows of the original."""
    return needs_original(plan.schema, plan.model, plan.method.wildcard)


def _identify(table: Any, plan: Plan) -> Any:
    """Return what identifies the promised columns of a table in memory.

    A Spark frame does not change, and stands for itself.
    """
    from shoal.io.engines.count_in_memory import frame_to_arrow

    if runs_on_spark(EngineSettings(), table):
        return table
    names = [name for name, column in plan.schema.columns.items() if column.role is not Role.OTHER]
    content = frame_to_arrow(table)
    return content_digest(content, [name for name in names if name in content.column_names])


def _is_verified(made: ReleaseResult[Any], plan: Plan) -> bool:
    """Return whether the promised columns of a table have the verified cells."""
    found = _identify(made.table, plan)
    return found is made.verified if runs_on_spark(EngineSettings(), made.table) else bool(found == made.verified)


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
    if recoding is not None:
        plan = apply_saved_recoding(plan, Path(recoding))
    if previous is not None and not plan.method.reveals_source:
        raise PlanError("release.previous-not-needed", method=plan.method.name)
    if plan.source is None or plan.output is None:
        raise PlanError("plan.no-source-or-output")
    may_replace = plan.output.overwrite if overwrite is None else overwrite
    if loss_chart is not None and not internal_report:
        raise PlanError("release.loss-chart-needs-internal-report")
    has_extras = previous is not None or save_recoding or internal_report
    with masked_errors(plan.written):
        if plan.output.database is not None:
            return _release_to_database(plan, plan.source, has_extras, may_replace, progress)
        if plan.output.path == STANDARD:
            return _release_to_standard_output(plan, plan.source, has_extras, progress)
        if address_of(plan.output.path) is not None:
            return _release_to_store(plan, has_extras, may_replace, progress)
        return _release_to_file(
            plan, may_replace, recoding, previous, save_recoding, internal_report, loss_chart, progress
        )


def _release_to_file(
    plan: Plan,
    may_replace: bool,
    recoding: Path | None,
    previous: Path | None,
    save_recoding: bool,
    internal_report: bool,
    loss_chart: LossChart | None,
    progress: Progress,
) -> ReleaseResult[None]:
    """Release to a file.

    The table is staged in the target folder, read back, verified and moved to its path, with its documents.
    """
    assert plan.source is not None
    assert plan.output is not None
    path = plan.output.path
    if previous is not None and writer_of(path).module is not None:
        raise PlanError("release.previous-format")
    timer = StepTimer(progress)
    with staging(path) as folder:
        check_output(path, may_replace, in_parts=runs_on_spark(plan.engine))
        check_inputs(path, {**plan.inputs, "previous release": () if previous is None else (Path(previous),)})
        chart = (
            "" if loss_chart is None else loss_chart(plan, progress)
        )  # takes minutes: after all checks that may fail
        with _open_plan_engine(plan, progress=timer.report_fraction) as engine:
            decided = decide(engine, plan.source, plan, timer)
            staged = folder / f"table{path.suffix.lower()}"
            with timer("writing"):
                harmless = neutralize(engine, decided.released) if plan.output.spreadsheet_safe else None
                writing = _writer_options(plan, decided)
                written_source = engine.write(harmless.table if harmless else decided.released, staged, writing)
            with timer("verifying"):
                written = engine.read(replace(written_source, with_nan=plan.schema.quasi_identifiers))
                written = released = harmless.restore(engine, written) if harmless else written
                verified = written_source
                if plan.schema.person:
                    verified = engine.write(decided.numbered, folder / f"people{path.suffix.lower()}", writing)
                    written = _read_with_people(engine, released, decided, verified)
                changed = harmless is not None and (harmless.undo or harmless.columns != harmless.table.columns)
                file = None if changed else _written_table(verified, written)
                _require_same_files(plan, file, staged, released)
                checked = decided.verify(engine, written, file, _original_table(decided))
            exposure = _exposure(engine, decided, timer)
            digest = sha256_of(staged)
            name = Path(plan.output.written.get("path", path.name)).name
            extra: dict[str, Any] = {"output": {"name": name, "bytes": size_of(staged), "sha256": digest}}
            extra |= exposure
            if previous is not None:
                with timer("comparing"):
                    extra["intersection"] = intersect_releases(
                        TableReader(engine, RELEASED), staged, Path(previous), plan
                    )
            figures = _figures(plan, decided, checked, extra)
            texts: dict[Path, str] = {}
            description = None
            with timer("describing"):
                external = _describe_externally(engine, released, plan, checked, extra["output"])
                if plan.output.report or internal_report:
                    description = decided.describe(checked)
                if internal_report and description is not None:
                    internal = render_internal(figures, decided.facts, description, chart)
                    texts[internal_report_of(path)] = internal
                if plan.output.report:
                    texts[plan.output.report_path] = render(external)
            if save_recoding:
                texts[recoding_of(path)] = decided.recoding_text(extra["output"])
            texts[plan.output.certificate] = external.certificate.to_json()
            others = _stage_documents(texts, folder)
        # the recoding in use also belongs to the new release
        used = () if recoding is None else (Path(recoding).resolve(),)
        documents = (*release_paths(path)[1:], *(signature_of(path, role) for role in ROLES))
        outdated = [target for target in documents if target not in texts and target.resolve() not in used]
        publish((staged, path), others, outdated, overwrite=may_replace, sha256=digest)
    return _result(None, external, figures, decided, path=path, seconds=timer.seconds, description=description)


def _release_to_database(
    plan: Plan, source: Source, has_extras: bool, overwrite: bool, progress: Progress
) -> ReleaseResult[None]:
    """Release to a database table.

    The table is written, read back from the server, verified and published, in one transaction of the server.
    """
    assert plan.output is not None
    database, name = plan.output.database or "", plan.output.table or ""
    if has_extras or plan.output.spreadsheet_safe or runs_on_spark(plan.engine):
        raise PlanError("output.database-extras")
    certificate_file = plan.output.certificate_file
    if certificate_file is not None:
        check_target(certificate_file, overwrite, plan.inputs)
    timer = StepTimer(progress)
    with _open_plan_engine(plan, progress=timer.report_fraction) as engine:
        replaced = source.table if source.database == database else None
        with Postgres(database, fault=OutputError, write=True) as server:
            # before any work: missing rights, no server, a concurrent release
            server.begin(name, overwrite=overwrite, source=replaced)
        decided = decide(engine, source, plan, timer)
        with Postgres(database, fault=OutputError, write=True) as server:
            target = server.begin(name, overwrite=overwrite, source=replaced)
            with timer("writing"):
                released, labels = decided.released, _writer_options(plan, decided).labels
                stage = server.stage(target, released.columns, released.types, engine.batches(released), labels)
            with timer("verifying"):
                added = plan.schema.category_columns.values()
                looked_at = (*plan.schema.published.quasi_identifiers, *plan.schema.published.sensitive, *added)
                wanted = None if plan.schema.person else looked_at
                written = reread = engine.ingest(server, server.columns(stage.quoted, None, wanted))
                if plan.schema.person:  # with person numbers, once the rows without them are known to be equal
                    numbered, rows = decided.numbered, engine.batches(decided.numbered)
                    person_stage = server.stage(target, numbered.columns, numbered.types, rows, {}, passing=True)
                    read_back = engine.ingest(server, server.columns(person_stage.quoted, None))
                    decided.require_same(engine, written, read_back)
                    written = read_back
                checked = decided.verify(engine, written)
                stored = engine.to_arrow(engine.ingest(server, server.columns(stage.quoted, None)))
            content = {"rows": stored.num_rows, "content_sha256": sorted_rows_digest(stored)}
            extra = {"output": {"table": name, "columns": len(released.columns), **content}}
            figures = _figures(plan, decided, checked, extra)
            external = _describe_externally(engine, reread, plan, checked, extra["output"])
            certificate = external.certificate.to_json()
            with timer("publishing"):
                signals.check()
                server.publish(stage, target, certificate)
                if certificate_file is not None:
                    write_text_atomic(certificate_file, certificate)
    return _result(None, external, figures, decided, seconds=timer.seconds)


def _release_to_store(plan: Plan, has_extras: bool, overwrite: bool, progress: Progress) -> ReleaseResult[None]:
    """Release to an object store, by way of a private folder.

    The certificate is uploaded last.
    """
    assert plan.output is not None
    if has_extras or runs_on_spark(plan.engine):
        raise PlanError("output.store-extras")
    path = plan.output.path
    store = Store(path, OutputError)
    store.require_free(overwrite=overwrite)  # before any work: missing rights, no store
    scratch = make_scratch(Path(tempfile.gettempdir()), "shoal-")
    try:
        local = replace(plan.output, path=scratch.path / path.name)
        result = release(replace(plan, output=local), overwrite=False, progress=progress)
        published.remove(local.path)  # it is not published yet
        timer = StepTimer(progress, dict(result.seconds))
        with timer("publishing"):
            signals.check()
            objects = store.put([file for file in (local.path, local.report_path) if file.exists()])
            certificate = result.certificate.adding(objects=objects)
            with signals.defer_signals():
                store.seal(certificate.to_json(), objects, overwrite=overwrite)
                published.append(path)
    finally:
        scratch.remove()
    return replace(result, certificate=certificate, path=path.parent / objects[0]["name"], seconds=timer.seconds)


def _release_to_standard_output(
    plan: Plan, source: Source, has_extras: bool, progress: Progress
) -> ReleaseResult[None]:
    """Release to standard output.

    The table is staged as a CSV in a private folder and verified there before its first byte is written.
    """
    assert plan.output is not None
    if has_extras or plan.output.spreadsheet_safe:
        raise PlanError("output.standard-output-extras")
    timer = StepTimer(progress)
    scratch = make_scratch(Path(tempfile.gettempdir()), "shoal-")
    try:
        with _open_plan_engine(plan, progress=timer.report_fraction) as engine:
            decided = decide(engine, source, plan, timer)
            staged = scratch.path / "table.csv"
            with timer("writing"):
                written_source = engine.write(decided.released, staged)
            with timer("verifying"):
                written = released = engine.read(written_source)
                verified = written_source
                if plan.schema.person:
                    verified = engine.write(decided.numbered, scratch.path / "people.csv")
                    written = _read_with_people(engine, released, decided, verified)
                read_again = _written_table(verified, written)
                _require_same_files(plan, read_again, staged, released)
                checked = decided.verify(engine, written, read_again, _original_table(decided))
            extra = {"output": {"name": "-", "bytes": size_of(staged), "sha256": sha256_of(staged)}}
            external = _describe_externally(engine, released, plan, checked, extra["output"])
            figures = _figures(plan, decided, checked, extra)
        for part in parts_of(staged):
            with part.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.flush()
    except BrokenPipeError:
        raise OutputError("output.standard-output-closed") from None
    finally:
        scratch.remove()
    return _result(None, external, figures, decided, path=STANDARD, seconds=timer.seconds)


def _exposure(engine: Engine, decided: Decided, timer: StepTimer) -> dict[str, Any]:
    """Measure the exposure, in a tenth of the time of the release so far."""
    so_far = sum(timer.seconds.values())
    with timer("measuring exposure"):
        found = decided.exposure(engine, EXPOSURE_TIME_SHARE * so_far)
    return {} if found is None else {"exposure": found.to_dict()}


def _writer_options(plan: Plan, decided: Decided) -> Writing:
    """Build the writer's options.

    They are the labels of published columns, and the columns that were not text in the source.
    """
    assert plan.output is not None
    origin = decided.origin
    labels = {name: found for name, found in origin.labels.items() if name in decided.released.columns}
    coded = frozenset(name for name, kind in zip(origin.columns, origin.types, strict=True) if kind != "VARCHAR")
    return Writing(labels, coded, plan.output.table)


def _stage_documents(texts: Mapping[Path, str], folder: Path) -> list[tuple[Path, Path]]:
    """Write the documents of a release into the staging folder.

    Returns pairs of staged and final path.
    """
    staged = [(folder / f"{number}.text", target) for number, target in enumerate(texts)]
    try:
        for document, target in staged:
            document.write_text(texts[target], encoding="utf-8", newline="\n")
    except OSError as error:
        raise OutputError("output.certificate-not-written", folder=str(folder.parent), reason=error.strerror) from None
    return staged


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
    with _open_plan_engine(plan, progress=timer.report_fraction) as engine:
        decided = decide(engine, plan.source, plan, timer, bounded=bounded, cache=cache)
        with timer("verifying"):
            checked = decided.verify(engine, decided.numbered)
        figures = _figures(plan, decided, checked, {})
    # nothing is handed out, so there is no certificate
    return ReleaseResult(None, Certificate({}, figures), seconds=timer.seconds, figures=figures, facts=decided.facts)


def check(
    data: Any,
    models: ModelsLike = (),
    *,
    quasi_identifiers: ColumnsLike = (),
    sensitive: ColumnsLike | Mapping[str, Column] = (),
    person: ColumnsLike = (),
    plan: PlanLike | None = None,
    source: CsvFormat | None = None,
    memory: str | None = None,
    engine: EngineSettings | None = None,
    time_zone: str | None = None,
    progress: Progress = quiet,
) -> CheckResult:
    """Check whether a table, made by shoal or not, satisfies models.

    Parameters
    ----------
    data
        A path (CSV or Parquet), a pandas, Polars, PyArrow or DuckDB object, or a source, which states its own format.
    models
        Models, or their text such as ``"k-anonymity k=5"``, or a single one.
    quasi_identifiers, sensitive
        Column names; for sensitive columns with categories, order or hierarchy a mapping to :class:`Column`.
    person
        Columns that jointly identify a person; people are counted then. By default those of the plan, if the table has
        them. A release has none: rows are counted then, and the result is not complete.
    plan
        A plan that provides roles, models, engine and time zone instead.
    memory, engine
        Memory limit; engine that reads and counts, instead of the plan's engine.
    time_zone
        Time zone in which instants are read; by default that of the plan, or UTC.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"age": ["<30", "<30", ">40"], "illness": ["flu", "asthma", "flu"]})
    >>> check(table, ["k-anonymity k=2"], quasi_identifiers=["age"], sensitive=["illness"]).holds
    False
    """
    if plan is not None:
        plan = as_plan(plan)
        schema, wildcard = plan.schema.of_rows.published, plan.method.wildcard
        if plan.schema.linked and not person:
            person = plan.schema.person[:1]  # the release has it as a pseudonym
        # people are counted if the table has their columns, which is known once it is read
        possible = () if person else plan.schema.person
        # without a person, rows are counted; some models do not apply to rows
        chosen = [part for part in plan.model_of_rows.parts if person or not part.requires_people]
        unanswered = () if person else _unanswered_without_people(plan)
    else:
        quasi = as_names(quasi_identifiers, "quasi-identifiers")
        named = sensitive
        if not isinstance(named, Mapping):
            named = {name: Column(Role.SENSITIVE) for name in as_names(named, "sensitive columns")}
        both = sorted(set(named) & set(quasi))
        if both:
            raise PlanError("columns.quasi-identifier-and-sensitive", column=both[0])
        schema = Schema({name: Column(Role.QUASI_IDENTIFIER) for name in quasi} | dict(named))
        chosen, wildcard, unanswered, possible = [], None, (), ()
    chosen += as_models(models)
    model = combine(chosen)
    person = as_names(person, "persons")
    if conflicting := sorted({*person} & {*schema.quasi_identifiers, *schema.sensitive}):
        raise PlanError("columns.person-has-another-role", column=conflicting[0])
    schema = Schema({**schema.columns, **{name: Column(Role.PERSON) for name in person}}).published
    timer = StepTimer(progress)
    settings = engine or (EngineSettings() if plan is None else plan.engine)
    if memory is not None:
        settings = replace(settings, memory=memory)
    form = source or CsvFormat()
    is_read = isinstance(data, str | Path | Source)
    has_default_settings = settings == EngineSettings() and time_zone is None and not form.missing
    if has_default_settings and not (
        is_read
        or schema.category_columns
        or person
        or possible
        or wildcard
        or partial_knowledge_models(model)
        or runs_on_spark(settings, data)
    ):
        from shoal.io.engines.count_in_memory import count_in_memory, frame_to_arrow

        with timer("checking"):
            data = frame_to_arrow(data)
            counted = count_in_memory(data, (*schema.quasi_identifiers, *schema.sensitive))
            if counted is not None:
                found = check_relation(None, counted[0], schema, chosen, counted=counted[1])
                return replace(found, unanswered=(*unanswered, *found.unanswered))
    zone = time_zone or _time_zone(plan)
    opening = open_engine(settings, data, progress=timer.report_fraction, time_zone=zone)
    with limit_threads(settings.threads if settings else None), opening as opened, timer("checking"):
        table = opened.read(replace(source_of(data, form), with_nan=schema.quasi_identifiers))
        if plan is not None and possible and set(possible) <= set(table.columns):
            person, unanswered = possible, ()
            chosen = [*plan.model_of_rows.parts, *as_models(models)]
            schema = Schema({**schema.columns, **{name: Column(Role.PERSON) for name in person}}).published
        if set(schema.category_columns.values()) & set(table.columns):  # the original has none
            require_categories(opened, table, schema, TableError)
        if person:
            require_columns(table, person)
            table = number_people(opened, table, person).table
        found = check_relation(opened, table, schema, chosen, wildcard)
        return replace(found, unanswered=(*unanswered, *found.unanswered))


def _unanswered_without_people(plan: Plan) -> tuple[str, ...]:
    """List the parts of a plan's question that need people."""
    if not plan.schema.person:
        return ()
    names = sorted({part.name for part in plan.model_of_rows.parts if part.requires_people})
    return (
        "The plan counts people, and the table has no column that identifies them: rows were counted.",
        *(f"The model {name} applies to people only and was not checked." for name in names),
    )


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
    with _open_plan_engine(plan, data, progress=timer.report_fraction) as engine:
        return list_minimal(encode(engine, source, plan, timer), plan.method)


# -- figures and engine-----------------------------------------------------------------------------


def _read_with_people(engine: Engine, written: Relation, decided: Decided, with_people: Source) -> Relation:
    """Read the release with person numbers back from a file.

    Raises unless the written table has the same rows without them. Both are read from files of one format, so that
    equal cells are equal text.
    """
    numbered = engine.read(with_people)
    decided.require_same(engine, written, numbered)
    return numbered


def _written_table(source: Source, written: Relation) -> WrittenTable | None:
    """Return what was written for the independent verification to read.

    None for formats of other packages, which only the engine reads.
    """
    if source.path is None or not is_readable(source.path):
        return None
    return WrittenTable(source.path, written.columns, labelled=source.reading.decoded if source.reading else ())


def _require_same_files(plan: Plan, verified: WrittenTable | None, path: Path, released: Relation) -> None:
    """Raise unless the published file has the rows of the verified one.

    They are one file unless people are counted; then the verified one has person numbers.
    """
    if verified is not None and verified.path != path:
        names = [name for name in released.columns if name not in plan.schema.person]
        require_same_files(replace(verified, path=path, columns=released.columns), verified, names)


def _original_table(decided: Decided) -> WrittenTable | None:
    """Return the plan's source for the independent verification to read.

    None unless it is one plain file: a CSV in UTF-8 with a header and no further options, or Parquet with texts and
    whole numbers; unless columns are published as they are read; and unless the release is compared with it.
    """
    plan, origin, names = decided.plan, decided.origin, decided.compared_with_original
    source, columns = plan.source, plan.schema.columns.values()
    if not names or source is None or source.path is None or runs_on_spark(plan.engine):
        return None
    path = Path(source.path)
    moved = any(column.shift or column.relative_to or column.unmatched != "error" for column in columns)
    if moved or source.format is not None or not is_plain_file(path) or not has_plain_types(path, names):
        return None
    if path.suffix.lower() == ".parquet":
        return None if source.csv.missing else WrittenTable(path, origin.columns)
    form = detect(path, source.csv)
    given = CsvFormat(delimiter=form.delimiter, quote=form.quote, header=True, encoding="utf-8", names=form.names)
    if form != given or source.csv.names or form.names != origin.columns or len(form.names) == 1:
        return None
    return WrittenTable(path, origin.columns, form.delimiter or ",", form.quote or '"', skips_blank_lines=True)


def _drop_columns(frame: Any, columns: tuple[str, ...]) -> Any:
    """Drop columns of a frame of the engine or of the user."""
    if not columns:
        return frame
    import duckdb
    import pyarrow as pa

    if isinstance(frame, pa.Table):
        return frame.drop_columns(list(columns))
    if isinstance(frame, duckdb.DuckDBPyRelation):
        return frame.select(*(duckdb.ColumnExpression(name) for name in frame.columns if name not in columns))
    import narwhals as nw

    wrapped = nw.from_native(frame)
    return frame.drop(*columns) if wrapped.implementation.is_spark_like() else wrapped.drop(columns).to_native()


def _figures(plan: Plan, decided: Decided, checked: CheckResult, extra: Mapping[str, Any]) -> dict[str, Any]:
    """Collect all figures of a release, for its owner."""
    facts = plain(decided.facts.to_dict())
    content: dict[str, Any] = {
        "software": {"name": "shoal", "version": __version__},
        "plan": plain(plan.to_certificate_dict()),
        "source": {
            "rows": decided.rows,
            "columns": len(decided.source.columns),
            "schema_sha256": fingerprint(decided.source.columns, decided.source.types),
        },
        "rows": decided.rows,
        "released": checked.rows,
        "suppressed": decided.rows - checked.rows,
        "groups": checked.groups,
        "smallest_group": checked.smallest_group,
        "method": {"name": plan.method.name, "parameters": plain(plan.method.parameters), **facts},
        **plain(decided.facts.entries()),
        "models": [model.to_dict() for model in checked.models],
        "loss": dict(decided.loss),
        "risk": checked.risk,
        **extra,
    }
    if plan.review_status is not None:
        content["review"] = {"status": plan.review_status}
    if decided.bound is not None:
        content["bound"] = decided.bound.to_dict()
    if decided.linking_columns:
        content["linking_columns"] = dict(decided.linking_columns)
    if decided.repeating_identifiers:
        content["repeating_identifiers"] = decided.repeating_identifiers
    content |= decided.further_figures(checked)
    if checked.reading is not None:
        content["reading"] = checked.reading
    if checked.original_reading is not None:
        content["original_reading"] = checked.original_reading
    if checked.folded:
        content["folded"] = dict(checked.folded)
    if checked.read_as_missing:
        content["read_as_missing"] = dict(checked.read_as_missing)
    if plan.schema.moved:
        content["moved_dates"] = list(plan.schema.moved)
    if names := (*plan.schema.pseudonyms, *(plan.schema.person[:1] if plan.schema.linked else ())):
        content["pseudonyms"] = list(names)
    categories = [name for name, column in plan.schema.columns.items() if column.publish == "categories"]
    if categories:
        content["published_as_categories"] = categories
    if plan.schema.category_columns:
        content["category_columns"] = plan.schema.category_columns
    column_labels = {name: found.label for name, found in decided.origin.labels.items() if found.label}
    if labels := {name: text for name, text in column_labels.items() if name in decided.released.columns}:
        content["labels"] = labels
    if plan.method.wildcard is not None or partial_knowledge_models(plan.model):
        content["intruder"] = INTRUDER_WITHOUT_LIST
    if not plan.method.reveals_source:
        content = {key: value for key, value in content.items() if key not in ABOUT_THE_SOURCE}
    return content


@contextmanager
def _open_plan_engine(plan: Plan, *tables: Any, progress: Callable[[float], None] | None = None) -> Iterator[Engine]:
    """Open the plan's engine and limit threads as the plan says."""
    with (
        limit_threads(plan.engine.threads),
        open_engine(plan.engine, *tables, progress=progress, time_zone=_time_zone(plan)) as engine,
    ):
        yield engine


def _time_zone(plan: Plan | None) -> str:
    return UTC if plan is None or plan.source is None else plan.source.time_zone


def _convert_like(table: Any, frame: Any) -> Any:
    """Convert an Arrow table to the type of the user's table.

    pandas would convert whole numbers with gaps to floating point, in which large ones are no longer exact. They get
    its nullable types.
    """
    import pyarrow as pa

    if isinstance(frame, pa.Table) or type(table) is type(frame):
        return table
    import duckdb

    if isinstance(frame, duckdb.DuckDBPyRelation):
        table_of_release = table  # noqa: F841
        # DuckDB finds the local variable by name, on the connection of the user's relation
        return frame.query("shoal_source", "SELECT * FROM table_of_release")
    import narwhals as nw

    native = nw.from_native(frame)
    result = nw.from_arrow(table, backend=native.implementation)
    if native.implementation.is_pandas():
        converted = result.to_native()
        for part in table.schema:
            column = table.column(part.name)
            if pa.types.is_integer(part.type) and column.null_count:
                converted[part.name] = column.to_pandas(types_mapper=_nullable_type)
        return converted
    return result.lazy().to_native() if isinstance(native, nw.LazyFrame) else result.to_native()


def _nullable_type(kind: Any) -> Any:
    """Return the pandas type of whole numbers with gaps: UInt8 for uint8."""
    import pandas as pd

    return pd.api.types.pandas_dtype(str(kind).replace("int", "Int").replace("u", "U"))
