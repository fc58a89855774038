"""From a table to a verified release: the steps, in order.

    read -> encode -> decide -> apply -> verify -> describe -> write

Up to what is applied they are in :mod:`shoal.pipeline.decide`. Nothing is written before the released table itself has been
verified.
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
from shoal.errors import OutputError, PlanError
from shoal.io.engines import open_engine, runs_on_spark
from shoal.io.engines.base import UTC, Engine, EngineSettings, Relation, Source, require_columns
from shoal.io.formats import PLAIN, STANDARD, Writing, writer_of
from shoal.io.formats.csv_dialect import RELEASED, CsvFormat
from shoal.io.formats.object_store import Store
from shoal.io.formats.postgres import Postgres
from shoal.io.formats.urls import address_of
from shoal.io.publish import (
    certificate_of,
    check_inputs,
    check_output,
    check_paper,
    parts_of,
    places_of,
    publish,
    published,
    recoding_of,
    report_of,
    sha256_of,
    size_of,
    staging,
    write_paper,
)
from shoal.methods import FullDomain
from shoal.methods.full_domain.minimal import MinimalRecoding, list_minimal
from shoal.models import combine, limited
from shoal.pipeline.decide import Counted, Decided, Watch, decide, encode
from shoal.plan.coerce import AskedModels, AskedNames, as_models, as_names
from shoal.plan.plan import AskedPlan, Plan, as_plan, plain
from shoal.plan.saved_recoding import carry_over, lay_together
from shoal.plan.variables import hiding
from shoal.report import render
from shoal.results.release import Certificate, ReleaseResult, Table, fingerprint
from shoal.runtime import signals
from shoal.runtime.progress import Progress, quiet
from shoal.runtime.scratch import make_scratch
from shoal.runtime.threads import at_most
from shoal.schema import Column, Role, Schema
from shoal.table.people import number_people
from shoal.table.spreadsheet_safety import neutralize
from shoal.utility.coded_tables import Tables, source_of
from shoal.verification.check import CheckResult, check_relation

__all__ = ["anonymize", "check", "minimal_recodings", "rehearse", "release", "save"]

LossChart = Callable[[Plan, Progress], str]
"""Draws what the loss of a plan comes from, as HTML."""
ABOUT_THE_SOURCE = ("source", "rows", "suppressed", "loss", "bound", "risk")
"""Keys of the certificate that say more than the release does; see :attr:`shoal.methods.Method.reveals_source`."""


def anonymize(data: Table, plan: AskedPlan, *, progress: Progress = quiet) -> ReleaseResult[Table]:
    """Anonymize a table in memory.

    Parameters
    ----------
    data
        A pandas, Polars, PyArrow or DuckDB object, or a Spark DataFrame. The released table is of the same kind.
    plan
        A :class:`Plan`, the contents of a plan file, or the path of one. Its source and output are not used.
    progress
        Called with each step and, where known, the part of it that is done.

    Returns
    -------
    ReleaseResult
        With ``table``, ``certificate``, ``utility`` and ``risk``.
    """
    plan = as_plan(plan)
    watch = Watch(progress)
    with _opened(plan, data, progress=watch.part) as engine:
        missing = plan.source.csv.missing if plan.source else ()
        decided = decide(engine, Source(frame=data, csv=CsvFormat(missing=missing)), plan, watch)
        with watch("applying"):
            held = engine.hold(decided.carried, data)
        with watch("verifying"):
            carried = engine.read(Source(frame=held, with_nan=plan.schema.quasi_identifiers))
            checked = decided.verify(engine, carried)
            released = _without(held, plan.schema.person[:1])
            if plan.schema.linked:
                released = engine.hold(decided.released, data)
                decided.require_same(engine, engine.read(Source(frame=released)), carried)
    with watch("describing"):
        description = decided.describe(checked)
    certificate = _certificate(plan, decided, checked, {})
    return ReleaseResult(_like(released, data), certificate, seconds=watch.seconds, description=description, plan=plan)


def save(made: ReleaseResult[Any], path: Path, *, overwrite: bool = False) -> ReleaseResult[None]:
    """Write a release that is in memory, with its certificate and report; see :meth:`shoal.Release.save`."""
    if made.table is None or made.plan is None:
        raise OutputError("Only a release whose table is in memory can be saved; this one was written by its plan.")
    plan = made.plan
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"The folder {str(path.parent)!r} cannot be made: {error.strerror}.") from None
    with staging(path) as folder:
        check_output(path, overwrite)
        staged = folder / f"table{path.suffix.lower()}"
        with _opened(plan, made.table) as engine:
            untouched = plan.schema.named(Role.OTHER)
            engine.write(engine.read(Source(frame=made.table, with_nan=untouched)), staged)
        checked = check(staged, plan=plan, source=RELEASED)
        if not checked.holds or checked.rows != made.certificate["released"]:
            raise OutputError(
                "The models could not be verified again on the written file alone, so nothing was kept. Some promises "
                "need the original: write it with shoal.release and a plan that names source and output."
            )
        digest = sha256_of(staged)
        output = {"name": path.name, "bytes": size_of(staged), "sha256": digest}
        certificate = made.certificate.adding(output=output)
        texts = {certificate_of(path): certificate.to_json()}
        if made.description is not None:
            texts = {report_of(path): render(certificate, made.description), **texts}
        others = _stage(texts, folder)
        outdated = [place for place in places_of(path)[1:] if place not in texts]
        publish((staged, path), others, outdated, overwrite=overwrite, sha256=digest)
    return replace(made, certificate=certificate, path=path)


def release(
    plan: AskedPlan,
    *,
    overwrite: bool | None = None,
    recoding: Path | None = None,
    previous: Path | None = None,
    save_recoding: bool = False,
    loss_chart: LossChart | None = None,
    progress: Progress = quiet,
) -> ReleaseResult[None]:
    """Do what a plan says, from its source to its output: the table, and the certificate and report beside it.

    Parameters
    ----------
    overwrite
        Whether a release that exists is replaced; as the plan says by default.
    recoding
        A recoding that was kept with an earlier release, to be used in place of the plan's method.
    previous
        An earlier released table; the certificate tells what the intersection attack makes of both.
    save_recoding
        Whether the recoding is kept beside the release, for the next delivery.
    loss_chart
        Draws the part of the report that tells what the loss comes from; None for no such part.
    """
    plan = as_plan(plan)
    if recoding is not None:
        plan = carry_over(plan, Path(recoding))
    if previous is not None and not plan.method.reveals_source:
        raise PlanError(f"The promise of the method {plan.method.name} covers what two releases tell; leave it out.")
    if plan.source is None or plan.output is None:
        raise PlanError("The plan must say where the table is ([source]) and where the release goes ([output]).")
    allowed = plan.output.overwrite if overwrite is None else overwrite
    more = previous is not None or save_recoding or loss_chart is not None
    with hiding(plan.written):
        if plan.output.database is not None:
            return _release_to_database(plan, plan.source, more, allowed, progress)
        if plan.output.path == STANDARD:
            return _release_to_standard_output(plan, plan.source, more, progress)
        if address_of(plan.output.path) is not None:
            return _release_to_store(plan, more, allowed, progress)
        return _release_to_file(plan, allowed, recoding, previous, save_recoding, loss_chart, progress)


def _release_to_file(
    plan: Plan,
    may_replace: bool,
    recoding: Path | None,
    previous: Path | None,
    save_recoding: bool,
    loss_chart: LossChart | None,
    progress: Progress,
) -> ReleaseResult[None]:
    """Write beside the place, read back, verify and move there, with the papers."""
    assert plan.source is not None
    assert plan.output is not None
    path = plan.output.path
    if previous is not None and writer_of(path).module is not None:
        raise PlanError("Only releases as CSV or Parquet can be laid beside an earlier one.")
    watch = Watch(progress)
    with staging(path) as folder:
        check_output(path, may_replace, in_parts=runs_on_spark(plan.engine))
        check_inputs(path, {**plan.inputs, "previous release": () if previous is None else (Path(previous),)})
        drawn = "" if loss_chart is None else loss_chart(plan, progress)  # minutes: after all that can be refused
        with _opened(plan, progress=watch.part) as engine:
            decided = decide(engine, plan.source, plan, watch)
            staged = folder / f"table{path.suffix.lower()}"
            with watch("writing"):
                harmless = neutralize(engine, decided.released) if plan.output.spreadsheet_safe else None
                writing = _writing(plan, decided)
                back = engine.write(harmless.table if harmless else decided.released, staged, writing)
            with watch("verifying"):
                written = engine.read(replace(back, with_nan=plan.schema.quasi_identifiers))
                written = harmless.restore(engine, written) if harmless else written
                if plan.schema.person:
                    written = _with_people(engine, written, decided, folder / f"people{path.suffix.lower()}", writing)
                checked = decided.verify(engine, written)
            digest = sha256_of(staged)
            name = Path(plan.output.written.get("path", path.name)).name
            extra: dict[str, Any] = {"output": {"name": name, "bytes": size_of(staged), "sha256": digest}}
            if previous is not None:
                with watch("comparing"):
                    extra["intersection"] = lay_together(Tables(engine, RELEASED), staged, Path(previous), plan)
            certificate = _certificate(plan, decided, checked, extra)
            texts: dict[Path, str] = {}
            description = None
            if plan.output.report:
                with watch("describing"):
                    description = decided.describe(checked)
                    texts[plan.output.report_path] = render(certificate, description, drawn)
            if save_recoding:
                texts[recoding_of(path)] = decided.recoding_text(extra["output"])
            texts[plan.output.certificate] = certificate.to_json()
            others = _stage(texts, folder)
        # the recoding that was used is the new release's too
        used = () if recoding is None else (Path(recoding).resolve(),)
        outdated = [place for place in places_of(path)[1:] if place not in texts and place.resolve() not in used]
        publish((staged, path), others, outdated, overwrite=may_replace, sha256=digest)
    return ReleaseResult(None, certificate, path, watch.seconds, description)


def _release_to_database(
    plan: Plan, source: Source, more: bool, overwrite: bool, progress: Progress
) -> ReleaseResult[None]:
    """Write, read back from the server, verify and publish, in one transaction of the server's."""
    assert plan.output is not None
    database, name = plan.output.database or "", plan.output.table or ""
    if more or plan.output.spreadsheet_safe or runs_on_spark(plan.engine):
        raise PlanError(
            "A release to a database is its table and certificate alone: no recoding, comparison, other spelling or "
            "Spark. Release to a file for these."
        )
    paper = plan.output.certificate_file
    if paper is not None:
        check_paper(paper, overwrite, plan.inputs)
    watch = Watch(progress)
    with _opened(plan, progress=watch.part) as engine:
        replaced = source.table if source.database == database else None
        with Postgres(database, fault=OutputError, write=True) as server:
            # before any work: no rights, no server, another release at work
            server.begin(name, overwrite=overwrite, source=replaced)
        decided = decide(engine, source, plan, watch)
        with Postgres(database, fault=OutputError, write=True) as server:
            place = server.begin(name, overwrite=overwrite, source=replaced)
            with watch("writing"):
                released, labels = decided.released, _writing(plan, decided).labels
                stage = server.stage(place, released.columns, released.types, engine.batches(released), labels)
            with watch("verifying"):
                looked_at = (*plan.schema.published.quasi_identifiers, *plan.schema.published.sensitive)
                wanted = None if plan.schema.person else looked_at
                written = engine.take(server, server.columns(stage.quoted, None, wanted))
                if plan.schema.person:  # with the people's numbers, where the rows without them are the same
                    carried, rows = decided.carried, engine.batches(decided.carried)
                    beside = server.stage(place, carried.columns, carried.types, rows, {}, passing=True)
                    numbered = engine.take(server, server.columns(beside.quoted, None))
                    decided.require_same(engine, written, numbered)
                    written = numbered
                checked = decided.verify(engine, written)
            told = {"output": {"table": name, "columns": len(released.columns)}}
            certificate = _certificate(plan, decided, checked, told)
            with watch("publishing"):
                signals.check()
                server.publish(stage, place, certificate.to_json())
                if paper is not None:
                    write_paper(paper, certificate.to_json())
    return ReleaseResult(None, certificate, seconds=watch.seconds)


def _release_to_store(plan: Plan, more: bool, overwrite: bool, progress: Progress) -> ReleaseResult[None]:
    """Release to a private folder, and put what is there into an object store, the certificate last."""
    assert plan.output is not None
    if more or runs_on_spark(plan.engine):
        raise PlanError(
            "A release to an object store is its table, report and certificate: no recoding, comparison or Spark. "
            "Release to a file for these."
        )
    path = plan.output.path
    store = Store(path, OutputError)
    store.require_free(overwrite=overwrite)  # before any work: no rights, no store
    scratch = make_scratch(Path(tempfile.gettempdir()), "shoal-")
    try:
        local = replace(plan.output, path=scratch.path / path.name)
        made = release(replace(plan, output=local), overwrite=False, progress=progress)
        published.remove(local.path)  # it is for nobody yet
        watch = Watch(progress, dict(made.seconds))
        with watch("publishing"):
            signals.check()
            objects = store.put([file for file in (local.path, local.report_path) if file.exists()])
            certificate = made.certificate.adding(objects=objects)
            with signals.deferred():
                store.seal(certificate.to_json(), objects, overwrite=overwrite)
                published.append(path)
    finally:
        scratch.remove()
    return replace(made, certificate=certificate, path=path.parent / objects[0]["name"], seconds=watch.seconds)


def _release_to_standard_output(plan: Plan, source: Source, more: bool, progress: Progress) -> ReleaseResult[None]:
    """Make the release ready as a CSV in a private folder, verify it there, and only then let its first byte out."""
    assert plan.output is not None
    if more or plan.output.spreadsheet_safe:
        raise PlanError("A release to standard output is its table alone: no recoding, comparison or other spelling.")
    watch = Watch(progress)
    scratch = make_scratch(Path(tempfile.gettempdir()), "shoal-")
    try:
        with _opened(plan, progress=watch.part) as engine:
            decided = decide(engine, source, plan, watch)
            staged = scratch.path / "table.csv"
            with watch("writing"):
                back = engine.write(decided.released, staged)
            with watch("verifying"):
                written = engine.read(back)
                if plan.schema.person:
                    written = _with_people(engine, written, decided, scratch.path / "people.csv", PLAIN)
                checked = decided.verify(engine, written)
            told = {"output": {"name": "-", "bytes": size_of(staged), "sha256": sha256_of(staged)}}
            certificate = _certificate(plan, decided, checked, told)
        for part in parts_of(staged):
            with part.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.flush()
    except BrokenPipeError:
        raise OutputError("Standard output was closed before the whole release was written to it.") from None
    finally:
        scratch.remove()
    return ReleaseResult(None, certificate, path=STANDARD, seconds=watch.seconds)


def _writing(plan: Plan, decided: Decided) -> Writing:
    """What the writer of a release is told: the labels of published columns, and which were no text in the source."""
    assert plan.output is not None
    origin = decided.origin
    labels = {name: found for name, found in origin.labels.items() if name in decided.released.columns}
    coded = frozenset(name for name, kind in zip(origin.columns, origin.types, strict=True) if kind != "VARCHAR")
    return Writing(labels, coded, plan.output.table)


def _stage(texts: Mapping[Path, str], folder: Path) -> list[tuple[Path, Path]]:
    """Write the papers of a release into the folder where it is made ready; pairs of from and to."""
    others = [(folder / f"{number}.text", place) for number, place in enumerate(texts)]
    try:
        for part, place in others:
            part.write_text(texts[place], encoding="utf-8", newline="\n")
    except OSError as error:
        raise OutputError(f"The certificate cannot be written to {str(folder.parent)!r}: {error.strerror}.") from None
    return others


def rehearse(
    plan: Plan, *, bounded: bool = True, progress: Progress = quiet, counted: Counted | None = None
) -> ReleaseResult[None]:
    """What a plan would release: decided, applied and verified, with nothing written and no table kept.

    Where only its loss is asked for, ``bounded`` spares the work of telling how little it could be; where one plan
    after the other is tried on a table, ``counted`` spares that of counting it.
    """
    if plan.source is None:
        raise PlanError("The plan must say where the table is ([source]).")
    watch = Watch(progress)
    with _opened(plan, progress=watch.part) as engine:
        decided = decide(engine, plan.source, plan, watch, bounded=bounded, counted=counted)
        with watch("verifying"):
            checked = decided.verify(engine, decided.carried)
        certificate = _certificate(plan, decided, checked, {})
    return ReleaseResult(None, certificate, seconds=watch.seconds)


def check(
    data: Any,
    models: AskedModels = (),
    *,
    quasi_identifiers: AskedNames = (),
    sensitive: AskedNames | Mapping[str, Column] = (),
    person: AskedNames = (),
    plan: AskedPlan | None = None,
    source: CsvFormat | None = None,
    memory: str | None = None,
    engine: EngineSettings | None = None,
    time_zone: str | None = None,
    progress: Progress = quiet,
) -> CheckResult:
    """Does a table, made here or elsewhere, meet these models?

    Parameters
    ----------
    data
        A path (CSV or Parquet), or a pandas, Polars, PyArrow or DuckDB object; or a source, which says itself how it is
        written.
    models
        Models, or their text such as ``"k-anonymity k=5"``, or one of them.
    quasi_identifiers, sensitive
        Column names; for sensitive columns with categories, order or hierarchy a mapping to :class:`Column`.
    person
        Columns that say together whose rows they are; people are then counted. A plan's own person is no column of
        its release: without this, rows are counted.
    plan
        A plan from which roles, models, the engine and the time zone are taken instead.
    memory, engine
        How much memory may be used; what reads and counts, in place of the plan's engine.
    time_zone
        The zone in which instants are read; UTC, or the plan's, by default.

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
            person = plan.schema.person[:1]  # the release has it, as a pseudonym
        # without it rows are counted, of which some models say nothing
        chosen = [part for part in plan.model_of_rows.parts if person or not part.only_people]
    else:
        quasi = as_names(quasi_identifiers, "quasi-identifiers")
        named = sensitive
        if not isinstance(named, Mapping):
            named = {name: Column(Role.SENSITIVE) for name in as_names(named, "sensitive columns")}
        both = sorted(set(named) & set(quasi))
        if both:
            raise PlanError(f"A column must have one role; {both[0]!r} is both quasi-identifier and sensitive.")
        schema = Schema({name: Column(Role.QUASI_IDENTIFIER) for name in quasi} | dict(named))
        chosen, wildcard = [], None
    chosen += as_models(models)
    model = combine(chosen)
    person = as_names(person, "persons")
    if taken := sorted({*person} & {*schema.quasi_identifiers, *schema.sensitive}):
        raise PlanError(f"A column must have one role; {taken[0]!r} is a person and something else.")
    schema = Schema({**schema.columns, **{name: Column(Role.PERSON) for name in person}}).published
    watch = Watch(progress)
    settings = engine or (EngineSettings() if plan is None else plan.engine)
    if memory is not None:
        settings = replace(settings, memory=memory)
    given = source or CsvFormat()
    is_read = isinstance(data, str | Path | Source)
    usual = settings == EngineSettings() and time_zone is None and not given.missing
    if usual and not (is_read or person or wildcard or limited(model) or runs_on_spark(settings, data)):
        from shoal.io.engines.count_in_memory import count_here, frame_to_arrow

        with watch("checking"):
            data = frame_to_arrow(data)
            here = count_here(data, (*schema.quasi_identifiers, *schema.sensitive))
            if here is not None:
                return check_relation(None, here[0], schema, chosen, counted=here[1])
    zone = time_zone or _time_zone(plan)
    opening = open_engine(settings, data, progress=watch.part, time_zone=zone)
    with at_most(settings.threads if settings else None), opening as opened, watch("checking"):
        table = opened.read(replace(source_of(data, given), with_nan=schema.quasi_identifiers))
        if person:
            require_columns(table, person)
            table = number_people(opened, table, person).table
        return check_relation(opened, table, schema, chosen, wildcard)


def minimal_recodings(plan: AskedPlan, data: Any = None, *, progress: Progress = quiet) -> list[MinimalRecoding]:
    """All minimal full-domain recodings that meet a plan's models; nothing is written.

    The plan's method must be ``full-domain`` (or none, which is the same); its loss, suppression, levels and weights
    apply. The table is ``data``, or else the plan's source.
    """
    plan = as_plan(plan)
    if not isinstance(plan.method, FullDomain):
        raise PlanError(f"Minimal recodings are those of the method full-domain; the plan has {plan.method.name}.")
    source = plan.source if data is None else Source(frame=data)
    if source is None:
        raise PlanError("The plan must say where the table is ([source]), or the table must be given.")
    watch = Watch(progress)
    with _opened(plan, data, progress=watch.part) as engine:
        return list_minimal(encode(engine, source, plan, watch), plan.method)


# -- what goes with it ---------------------------------------------------------------------------------


def _with_people(engine: Engine, written: Relation, decided: Decided, place: Path, writing: Writing) -> Relation:
    """The release with the people's numbers, once what was written is known to be the same rows without them.

    Both are read back from files of one kind, so that equal cells are equal text.
    """
    carried = engine.read(engine.write(decided.carried, place, writing))
    decided.require_same(engine, written, carried)
    return carried


def _without(frame: Any, columns: tuple[str, ...]) -> Any:
    """A frame that the engine holds, without some columns."""
    if not columns:
        return frame
    return frame.drop_columns(list(columns)) if hasattr(frame, "drop_columns") else frame.drop(*columns)


def _certificate(plan: Plan, decided: Decided, checked: CheckResult, extra: Mapping[str, Any]) -> Certificate:
    told = plain(decided.facts.to_dict())
    content: dict[str, Any] = {
        "software": {"name": "shoal", "version": __version__},
        "plan": plain(plan.told()),
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
        "method": {"name": plan.method.name, "parameters": plain(plan.method.parameters), **told},
        **plain(decided.facts.entries()),
        "models": [model.to_dict() for model in checked.models],
        "loss": dict(decided.loss),
        "risk": checked.risk,
        **extra,
    }
    if decided.bound is not None:
        content["bound"] = decided.bound.to_dict()
    if decided.linking:
        content["linking_columns"] = dict(decided.linking)
    if decided.repeating:
        content["repeating_identifiers"] = decided.repeating
    content |= decided.told(checked)
    if checked.folded:
        content["folded"] = dict(checked.folded)
    if plan.schema.moved:
        content["moved_dates"] = list(plan.schema.moved)
    if names := (*plan.schema.pseudonyms, *(plan.schema.person[:1] if plan.schema.linked else ())):
        content["pseudonyms"] = list(names)
    categories = [name for name, column in plan.schema.columns.items() if column.publish == "categories"]
    if categories:
        content["published_as_categories"] = categories
    sentences = {name: found.label for name, found in decided.origin.labels.items() if found.label}
    if told := {name: text for name, text in sentences.items() if name in decided.released.columns}:
        content["labels"] = told
    if not plan.method.reveals_source:
        content = {key: value for key, value in content.items() if key not in ABOUT_THE_SOURCE}
    return Certificate(content, decided.facts)


@contextmanager
def _opened(plan: Plan, *tables: Any, progress: Callable[[float], None] | None = None) -> Iterator[Engine]:
    """The plan's engine, and no more threads than it allows for whatever is done with it."""
    with (
        at_most(plan.engine.threads),
        open_engine(plan.engine, *tables, progress=progress, time_zone=_time_zone(plan)) as engine,
    ):
        yield engine


def _time_zone(plan: Plan | None) -> str:
    return UTC if plan is None or plan.source is None else plan.source.time_zone


def _like(table: Any, frame: Any) -> Any:
    """An Arrow table as the kind of object that the user gave."""
    import pyarrow as pa

    if isinstance(frame, pa.Table) or type(table) is type(frame):
        return table
    import duckdb

    if isinstance(frame, duckdb.DuckDBPyRelation):
        table_of_release = table  # noqa: F841
        # found by its name in here, on the connection of the user's own relation
        return frame.query("shoal_source", "SELECT * FROM table_of_release")
    import narwhals as nw

    native = nw.from_native(frame)
    result = nw.from_arrow(table, backend=native.implementation)
    return result.lazy().to_native() if isinstance(native, nw.LazyFrame) else result.to_native()
