"""From a table to a verified release: the steps, in order.

    read -> encode -> decide -> apply -> verify -> describe -> write

Each arrow is one call. Nothing is written before the released table itself has been verified.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeGuard

from shoal import __version__, stopping
from shoal.asking import AskedModels, AskedNames, as_models, as_names
from shoal.certificate import Certificate, Release, Table, fingerprint
from shoal.description import Description, describe, describe_apart
from shoal.encoding import (
    ByCell,
    ByLevel,
    ByPattern,
    Recoding,
    apply,
    kept_combinations,
    read_frequency_set,
    released_ladders,
)
from shoal.encoding.canonical import canonical_text, canonical_text_apart, one_zero
from shoal.encoding.categories import publish_categories
from shoal.encoding.formulas import neutralize
from shoal.encoding.people import number_people
from shoal.encoding.person_dates import move_dates
from shoal.encoding.pseudonyms import name_people, read_key, replace_identifiers
from shoal.engines import open_engine, runs_on_spark
from shoal.engines.base import (
    UTC,
    Apart,
    Engine,
    EngineSettings,
    Relation,
    Source,
    SpreadEngine,
    memory_bytes,
    require_columns,
    require_roles,
)
from shoal.engines.csv_format import RELEASED, CsvFormat
from shoal.engines.scratch import make_scratch
from shoal.errors import OutputError, PlanError
from shoal.formats import PLAIN, STANDARD, Writing, writer_of
from shoal.formats.addresses import address_of
from shoal.formats.postgres import Postgres
from shoal.formats.stores import Store
from shoal.methods import FullDomain, Method, Problem, Progress, quiet
from shoal.methods.first_runs import tell_of_compiling, told_of_compiling
from shoal.methods.full_domain.minimal import MinimalRecoding, list_minimal
from shoal.models import combine, limited
from shoal.output import (
    certificate_of,
    check_inputs,
    check_output,
    parts_of,
    places_of,
    publish,
    published,
    recoding_of,
    report_of,
    sha256_of,
    size_of,
    staging,
)
from shoal.plan import Plan, plain
from shoal.report import render
from shoal.reuse import carry_over, lay_together, saved_recoding
from shoal.schema import Column, Role, Schema
from shoal.threads import at_most
from shoal.utility.loss import losses
from shoal.verify import (
    CheckResult,
    check_relation,
    people_of_source,
    require_same_rows,
    verify,
    verify_apart,
    verify_patterns,
)
from shoal.worth import hidden_columns, nothing_learned

__all__ = ["anonymize", "check", "minimal_recodings", "rehearse", "release", "save"]

ABOUT_THE_SOURCE = ("source", "rows", "suppressed", "loss", "risk")
"""Keys of the certificate that say more than the release does; see :attr:`shoal.methods.Method.reveals_source`."""

MOST_VARYING = 0.05
"""A column in which no more of the people of several rows have different values is taken for the same in all rows."""
LEAST_TOLD_APART = 0.1
"""So many of the people of several rows, as a part, must be told apart by such columns for it to be told."""
MOST_ROWS_OF_ONE = 1000
"""An identifier that has more rows than these for each of its values is taken for no person's."""


def anonymize(
    data: Table, plan: Plan | Mapping[str, Any] | str | Path, *, progress: Progress = quiet
) -> Release[Table]:
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
    Release
        With ``table``, ``certificate``, ``utility`` and ``risk``.
    """
    plan = _as_plan(plan)
    watch = _Watch(progress)
    with open_engine(plan.engine, data, watch.part, _time_zone(plan)) as engine:
        missing = plan.source.csv.missing if plan.source else ()
        decided = _decide(engine, Source(frame=data, csv=CsvFormat(missing=missing)), plan, watch)
        with watch("applying"):
            held = engine.hold(decided.carried, data)
        with watch("verifying"):
            carried = engine.read(Source(frame=held))
            checked = _verify(engine, carried, plan, decided)
            released = _without(held, plan.schema.person[:1])
            if plan.schema.linked:
                released = engine.hold(decided.released, data)
                _require_same(engine, engine.read(Source(frame=released)), carried, plan, decided)
    with watch("describing"):
        description = _describe(plan, decided, checked)
    certificate = _certificate(plan, decided, checked, {})
    return Release(_like(released, data), certificate, seconds=watch.seconds, description=description, plan=plan)


def save(made: Release[Any], path: Path, *, overwrite: bool = False) -> Release[None]:
    """Write a release that is in memory, with its certificate and report; see :meth:`Release.save`."""
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
        with open_engine(plan.engine, made.table, None, _time_zone(plan)) as engine:
            engine.write(engine.read(Source(frame=made.table)), staged)
        checked = check(staged, plan=plan, source=RELEASED)
        if not checked.holds or checked.rows != made.certificate["released"]:
            raise OutputError(
                "The models could not be verified again on the written file alone, so nothing was kept. Some promises "
                "need the original: write it with shoal.release and a plan that names source and output."
            )
        digest = sha256_of(staged)
        output = {"name": path.name, "bytes": size_of(staged), "sha256": digest}
        certificate = Certificate({**made.certificate.content, "output": output})
        texts = {certificate_of(path): certificate.to_json()}
        if made.description is not None:
            texts = {report_of(path): render(certificate, made.description), **texts}
        others = _stage(texts, folder)
        outdated = [place for place in places_of(path)[1:] if place not in texts]
        publish((staged, path), others, outdated, overwrite=overwrite, sha256=digest)
    return replace(made, certificate=certificate, path=path)


def release(
    plan: Plan | Mapping[str, Any] | str | Path,
    *,
    overwrite: bool | None = None,
    recoding: Path | None = None,
    previous: Path | None = None,
    save_recoding: bool = False,
    progress: Progress = quiet,
) -> Release[None]:
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
    """
    plan = _as_plan(plan)
    if recoding is not None:
        plan = carry_over(plan, Path(recoding))
    if previous is not None and not plan.method.reveals_source:
        raise PlanError(f"The promise of the method {plan.method.name} covers what two releases tell; leave it out.")
    if plan.source is None or plan.output is None:
        raise PlanError("The plan must say where the table is ([source]) and where the release goes ([output]).")
    path = plan.output.path
    if plan.output.database is not None:
        allowed = plan.output.overwrite if overwrite is None else overwrite
        return _release_to_database(plan, plan.source, previous is not None or save_recoding, allowed, progress)
    if path == STANDARD:
        return _release_to_standard_output(plan, plan.source, previous is not None or save_recoding, progress)
    if address_of(path) is not None:
        allowed = plan.output.overwrite if overwrite is None else overwrite
        return _release_to_store(plan, previous is not None or save_recoding, allowed, progress)
    if previous is not None and writer_of(path).module is not None:
        raise PlanError("Only releases as CSV or Parquet can be laid beside an earlier one.")
    may_replace = plan.output.overwrite if overwrite is None else overwrite
    watch = _Watch(progress)
    with staging(path) as folder:
        check_output(path, may_replace, in_parts=runs_on_spark(plan.engine))
        check_inputs(path, {**_inputs(plan), "previous release": () if previous is None else (Path(previous),)})
        with open_engine(plan.engine, None, watch.part, _time_zone(plan)) as engine:
            decided = _decide(engine, plan.source, plan, watch)
            staged = folder / f"table{path.suffix.lower()}"
            with watch("writing"):
                harmless = neutralize(engine, decided.released) if plan.output.spreadsheet_safe else None
                writing = _writing(plan, decided)
                back = engine.write(harmless.table if harmless else decided.released, staged, writing)
            with watch("verifying"):
                written = engine.read(back)
                written = harmless.restore(engine, written) if harmless else written
                if plan.schema.person:
                    place = folder / f"people{path.suffix.lower()}"
                    written = _with_people(engine, written, plan, decided, place, writing)
                checked = _verify(engine, written, plan, decided)
            digest = sha256_of(staged)
            name = Path(plan.output.written.get("path", path.name)).name
            extra: dict[str, Any] = {"output": {"name": name, "bytes": size_of(staged), "sha256": digest}}
            if previous is not None:
                with watch("comparing"):
                    extra["intersection"] = lay_together(staged, Path(previous), plan, RELEASED)
            certificate = _certificate(plan, decided, checked, extra)
            texts: dict[Path, str] = {}
            description = None
            if plan.output.report:
                with watch("describing"):
                    description = _describe(plan, decided, checked)
                    texts[plan.output.report_path] = render(certificate, description)
            if save_recoding:
                texts[recoding_of(path)] = saved_recoding(decided.problem, decided.recoding, extra["output"])
            texts[plan.output.certificate] = certificate.to_json()
            others = _stage(texts, folder)
        # the recoding that was used is the new release's too
        used = () if recoding is None else (Path(recoding).resolve(),)
        outdated = [place for place in places_of(path)[1:] if place not in texts and place.resolve() not in used]
        publish((staged, path), others, outdated, overwrite=may_replace, sha256=digest)
    return Release(None, certificate, path, watch.seconds, description)


def _release_to_database(plan: Plan, source: Source, more: bool, overwrite: bool, progress: Progress) -> Release[None]:
    """Write, read back from the server, verify and publish, in one transaction of the server's."""
    assert plan.output is not None
    database, name = plan.output.database or "", plan.output.table or ""
    if more or plan.output.spreadsheet_safe or plan.schema.person or runs_on_spark(plan.engine):
        raise PlanError(
            "A release to a database is its table and certificate alone: no recoding, comparison, other spelling, "
            "persons or Spark. Release to a file for these."
        )
    from shoal.engines.duckdb import DuckDBEngine

    watch = _Watch(progress)
    with DuckDBEngine(plan.engine.memory, plan.engine.threads, _time_zone(plan)) as engine:
        replaced = source.table if source.database == database else None
        with Postgres(database, fault=OutputError, write=True) as server:
            # before any work: no rights, no server, another release at work
            server.begin(name, overwrite=overwrite, source=replaced)
        decided = _decide(engine, source, plan, watch)
        with Postgres(database, fault=OutputError, write=True) as server:
            place = server.begin(name, overwrite=overwrite, source=replaced)
            with watch("writing"):
                released, labels = decided.released, _writing(plan, decided).labels
                stage = server.stage(place, released.columns, released.types, engine.batches(released), labels)
            with watch("verifying"):
                looked_at = (*plan.schema.published.quasi_identifiers, *plan.schema.published.sensitive)
                written = engine.take(server, server.columns(stage.quoted, None, looked_at))
                checked = _verify(engine, written, plan, decided)
            told = {"output": {"table": name, "columns": len(released.columns)}}
            certificate = _certificate(plan, decided, checked, told)
            with watch("publishing"):
                stopping.check()
                server.publish(stage, place, certificate.to_json())
    return Release(None, certificate, seconds=watch.seconds)


def _release_to_store(plan: Plan, more: bool, overwrite: bool, progress: Progress) -> Release[None]:
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
        watch = _Watch(progress, dict(made.seconds))
        with watch("publishing"):
            stopping.check()
            objects = store.put([file for file in (local.path, local.report_path) if file.exists()])
            certificate = Certificate({**made.certificate.content, "objects": objects})
            with stopping.deferred():
                store.seal(certificate.to_json(), objects, overwrite=overwrite)
                published.append(path)
    finally:
        scratch.remove()
    return replace(made, certificate=certificate, path=path.parent / objects[0]["name"], seconds=watch.seconds)


def _release_to_standard_output(plan: Plan, source: Source, more: bool, progress: Progress) -> Release[None]:
    """Make the release ready as a CSV in a private folder, verify it there, and only then let its first byte out."""
    assert plan.output is not None
    if more or plan.output.spreadsheet_safe:
        raise PlanError("A release to standard output is its table alone: no recoding, comparison or other spelling.")
    watch = _Watch(progress)
    scratch = make_scratch(Path(tempfile.gettempdir()), "shoal-")
    try:
        with open_engine(plan.engine, None, watch.part, _time_zone(plan)) as engine:
            decided = _decide(engine, source, plan, watch)
            staged = scratch.path / "table.csv"
            with watch("writing"):
                back = engine.write(decided.released, staged)
            with watch("verifying"):
                written = engine.read(back)
                if plan.schema.person:
                    written = _with_people(engine, written, plan, decided, scratch.path / "people.csv", PLAIN)
                checked = _verify(engine, written, plan, decided)
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
    return Release(None, certificate, path=STANDARD, seconds=watch.seconds)


def _writing(plan: Plan, decided: _Decided) -> Writing:
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


def _inputs(plan: Plan) -> dict[str, tuple[Path, ...]]:
    """The files that a release is made from, by what they are: none may be replaced by it."""
    assert plan.source is not None
    assert plan.output is not None
    found = {
        "source": plan.source.path,
        "key of the pseudonyms": plan.output.pseudonym_key,
    }
    return {
        **{what: (file,) for what, file in found.items() if file is not None},
        "plan or one of its files": (*plan.files, *plan.method.files),
    }


def rehearse(plan: Plan, *, progress: Progress = quiet) -> Release[None]:
    """What a plan would release: decided, applied and verified, with nothing written and no table kept."""
    if plan.source is None:
        raise PlanError("The plan must say where the table is ([source]).")
    watch = _Watch(progress)
    with open_engine(plan.engine, None, watch.part, _time_zone(plan)) as engine:
        decided = _decide(engine, plan.source, plan, watch)
        with watch("verifying"):
            checked = _verify(engine, decided.carried, plan, decided)
        certificate = _certificate(plan, decided, checked, {})
    return Release(None, certificate, seconds=watch.seconds)


def check(
    data: Any,
    models: AskedModels = (),
    *,
    quasi_identifiers: AskedNames = (),
    sensitive: AskedNames | Mapping[str, Column] = (),
    person: AskedNames = (),
    plan: Plan | Mapping[str, Any] | str | Path | None = None,
    source: CsvFormat | None = None,
    memory: str | None = None,
    time_zone: str | None = None,
    progress: Progress = quiet,
) -> CheckResult:
    """Does a table, made here or elsewhere, meet these models?

    Parameters
    ----------
    data
        A path (CSV or Parquet), or a pandas, Polars, PyArrow or DuckDB object.
    models
        Models, or their text such as ``"k-anonymity k=5"``, or one of them.
    quasi_identifiers, sensitive
        Column names; for sensitive columns with categories, order or hierarchy a mapping to :class:`Column`.
    person
        Columns that say together whose rows they are; people are then counted. A plan's own person is no column of
        its release: without this, rows are counted.
    plan
        A plan from which roles, models and the time zone are taken instead.
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
        plan = _as_plan(plan)
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
    combine(chosen)
    person = as_names(person, "persons")
    if taken := sorted({*person} & {*schema.quasi_identifiers, *schema.sensitive}):
        raise PlanError(f"A column must have one role; {taken[0]!r} is a person and something else.")
    schema = Schema({**schema.columns, **{name: Column(Role.PERSON) for name in person}}).published
    watch = _Watch(progress)
    settings = EngineSettings() if plan is None else plan.engine
    if memory is not None:
        settings = replace(settings, memory=memory)
    with open_engine(settings, data, watch.part, time_zone or _time_zone(plan)) as engine:
        given = source or CsvFormat()
        is_path = isinstance(data, str | Path)
        with watch("checking"):
            table = engine.read(Source(Path(data), csv=given) if is_path else Source(frame=data, csv=given))
            if person:
                require_columns(table, person)
                table = number_people(engine, table, person).table
            return check_relation(engine, table, schema, chosen, wildcard)


def minimal_recodings(
    plan: Plan | Mapping[str, Any] | str | Path, data: Any = None, *, progress: Progress = quiet
) -> list[MinimalRecoding]:
    """All minimal full-domain recodings that meet a plan's models; nothing is written.

    The plan's method must be ``full-domain`` (or none, which is the same); its loss, suppression, levels and weights
    apply. The table is ``data``, or else the plan's source.
    """
    plan = _as_plan(plan)
    if not isinstance(plan.method, FullDomain):
        raise PlanError(f"Minimal recodings are those of the method full-domain; the plan has {plan.method.name}.")
    source = plan.source if data is None else Source(frame=data)
    if source is None:
        raise PlanError("The plan must say where the table is ([source]), or the table must be given.")
    watch = _Watch(progress)
    with open_engine(plan.engine, data, watch.part, _time_zone(plan)) as engine:
        return list_minimal(_encode(engine, source, plan, watch)[1], plan.method)


# -- the steps ---------------------------------------------------------------------------------------


@dataclass
class _Watch:
    """Tells progress, and how long each step took."""

    progress: Progress
    seconds: dict[str, float] = field(default_factory=dict)
    step: str = ""

    def part(self, done: float) -> None:
        """Tell how far the step at work is."""
        self.progress(self.step, done)

    @contextmanager
    def __call__(self, step: str) -> Iterator[None]:
        self.step = step
        self.progress(step, None)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[step] = self.seconds.get(step, 0.0) + time.perf_counter() - start


@dataclass(frozen=True)
class _Decided:
    origin: Relation
    """The table as it was read, before its values were put into the form in which they are counted."""
    source: Relation
    released: Relation
    carried: Relation
    """What is released, with the people's numbers where models count people."""
    rows: int
    kept: int
    loss: dict[str, float]
    facts: dict[str, Any]
    problem: Problem | None
    recoding: Recoding | None
    """Both None where no one machine held the rows."""
    nobodys: int = 0
    """Rows that are nobody's, where the plan says whose rows they are."""
    pseudonyms: Any = None
    """The pseudonyms of people (v, label), where these are published."""
    linking: Mapping[str, Any] = field(default_factory=dict)
    """Published columns that are the same in all rows of a person and differ between people, with figures."""
    repeating: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Identifiers that may be those of people with several rows, where the plan does not say whose rows they are."""


@dataclass(frozen=True)
class _Read:
    """The table as it is to be anonymized: with categories, pseudonyms and numbers in place of what they stand for.

    And how many rows are nobody's, where the plan says whose rows they are, and the pseudonyms of people.
    """

    table: Relation
    nobodys: int = 0
    pseudonyms: Any = None


def _read(engine: Engine, source: Source, plan: Plan, watch: _Watch) -> _Read:
    key = b""
    if plan.schema.keyed:
        if not plan.method.reveals_source:
            raise PlanError(f"The promise of the method {plan.method.name} leaves no room for pseudonyms; drop them.")
        key = _pseudonym_key(plan)
    with watch("reading"):
        read = engine.read(source)
        _match_columns(read, plan.schema)
        table = one_zero(engine, read, plan.schema)
        table = publish_categories(engine, table, plan.schema)
        _refuse_links(engine, table, plan)
        table = replace_identifiers(engine, table, plan.schema.pseudonyms, key)
        if not plan.schema.person:
            return _Read(replace(table, labels=read.labels))
        found = number_people(engine, table, plan.schema.person)
        made = name_people(found.names, plan.schema.person[0], key) if plan.schema.linked else None
        table = move_dates(engine, found, plan.schema, key)
        return _Read(replace(table, labels=read.labels), found.nobodys, made)


def _refuse_links(engine: Engine, table: Relation, plan: Plan) -> None:
    """Raise where an identifier that becomes a pseudonym repeats: it would link rows, as a person's does."""
    names = plan.schema.pseudonyms
    for name, (rows, values) in zip(names, engine.repeats(table, table.places(names)) if names else (), strict=True):
        if values < rows:
            raise PlanError(
                f"A pseudonym of an identifier must not link rows; column {name!r} has {values:,} different values in "
                f"{rows:,} rows. If it says whose rows they are, give it the role person, with pseudonym = true and "
                "the model trajectory-anonymity; else leave the pseudonym out."
            )


def _encode(engine: Engine, source: Source, plan: Plan, watch: _Watch) -> tuple[Relation, Problem]:
    with _warming(plan.method, watch.progress):
        return _code(engine, _read(engine, source, plan, watch).table, plan, watch)


@contextmanager
def _warming(method: Method, progress: Progress) -> Iterator[None]:
    """Load what a method needs while the table is being read."""

    def warm() -> None:
        import pyarrow as pa

        pa.array([0])  # Arrow imports pandas now, where that is installed
        method.warm()

    warming = threading.Thread(target=warm, daemon=True)
    warming.start()
    yield
    if warming.is_alive():
        tell_of_compiling(method, progress)
    warming.join()


def _code(engine: Engine, table: Relation, plan: Plan, watch: _Watch) -> tuple[Relation, Problem]:
    """The table in the form in which it is counted and published, and what is to be decided."""
    schema = plan.schema.published
    with watch("reading"):
        frequencies = read_frequency_set(engine, table, schema)
        same = canonical_text(engine, table, frequencies.quasi)
        if same is not table:
            frequencies = read_frequency_set(engine, same, schema)
        plan.model.check(frequencies.domains)
        ladders = frequencies.ladders(schema, engine, table)  # the rows as the user has numbered them
    return same, Problem(frequencies, ladders, plan.model, plan.seed, watch.progress, schema)


def _decide(engine: Engine, source: Source, plan: Plan, watch: _Watch) -> _Decided:
    plan.method.ready()
    with _warming(plan.method, watch.progress):
        read = _read(engine, source, plan, watch)
        table = read.table
        repeating = _repeating(engine, table, plan)
        # people are counted where all of their rows are
        if plan.method.together is not None and not plan.schema.person and _is_spread(engine):
            schema = plan.schema.published
            with watch("reading"):
                places = table.places((*schema.quasi_identifiers, *schema.sensitive))
                counted = engine.spread(table, places)
                if counted.rows > plan.method.together:
                    same = canonical_text_apart(engine, table, counted, schema)
                    if same is not table:
                        table, counted = same, engine.spread(same, places)
            if counted.rows > plan.method.together:
                return replace(_decide_apart(engine, table, counted, plan, watch), repeating=repeating)
        origin = table
        table, problem = _code(engine, table, plan, watch)
    frequencies, ladders = problem.frequencies, problem.ladders
    with watch("deciding"):
        _require_room(plan, problem)
        with at_most(plan.engine.threads), told_of_compiling(plan.method, watch.progress):
            recoding = plan.method.decide(problem)
        loss = losses(frequencies, ladders, recoding) if plan.method.reveals_source else {}
        ladders = released_ladders(frequencies, ladders, kept_combinations(recoding))
        problem = replace(problem, ladders=ladders)
    with watch("applying"):
        keep = _published_columns(table, plan)
        person = plan.schema.person[:1]
        shown = keep if plan.schema.linked else (*keep, *person)
        carried = released = apply(engine, table, shown, frequencies, ladders, recoding)
        if plan.schema.linked:
            released = engine.relabel(carried, keep.index(person[0]), read.pseudonyms)
        elif person:
            released = engine.project(carried, range(len(keep)))
        linking = _linking(engine, carried, plan)
    if isinstance(recoding, ByLevel):
        kept = int(frequencies.count[recoding.group >= 0].sum())
    else:
        kept = int(recoding.count.sum())
    facts = dict(recoding.facts)
    return _Decided(
        origin, table, released, carried, frequencies.rows, kept, loss, facts, problem, recoding,
        read.nobodys, read.pseudonyms, linking, repeating,
    )  # fmt: skip


def _repeating(engine: Engine, table: Relation, plan: Plan) -> dict[str, dict[str, int]]:
    """Identifiers whose values repeat, with how many rows and how many values: people may have several rows."""
    names = plan.schema.named(Role.IDENTIFIER)
    if plan.schema.person or not names or not plan.method.reveals_source:
        return {}
    found = zip(names, engine.repeats(table, table.places(names)), strict=True)
    return {
        name: {"rows": rows, "values": values}
        for name, (rows, values) in found
        if values < rows <= MOST_ROWS_OF_ONE * values and values > 1
    }


def _linking(engine: Engine, carried: Relation, plan: Plan) -> dict[str, Any]:
    """Published columns that tell which rows are one person's, as a pseudonym would, where the models do not mind."""
    person = plan.schema.person[:1]
    minded = any(part.only_people for part in plan.model_of_rows.parts)
    if minded or not person or person[0] not in carried.columns:
        return {}
    (owner,) = carried.places(person)
    places = [place for place in range(len(carried.columns)) if place != owner]
    several, varying = engine.linking(carried, owner, places)
    same = [place for place, vary in zip(places, varying, strict=True) if vary <= MOST_VARYING * several]
    if not several or not same:
        return {}
    apart = engine.told_apart(carried, owner, same)
    if apart < LEAST_TOLD_APART * several:
        return {}
    return {"columns": [carried.columns[place] for place in same], "people": several, "told_apart": apart}


def _require_room(plan: Plan, problem: Problem) -> None:
    """Raise where what the method must hold beside the engine is known to be more than the plan's memory."""
    if plan.engine.memory is None:
        return
    needed, given = plan.method.room(problem), memory_bytes(plan.engine.memory)
    if needed > given:
        raise PlanError(
            f"The method {plan.method.name} must hold at least {needed / 1e6:,.0f} MB of this table at once, and the "
            f"plan gives {given / 1e6:,.0f} MB ([engine] memory). Raise it, or generalize columns before."
        )


def _is_spread(engine: Engine) -> TypeGuard[SpreadEngine]:
    return hasattr(engine, "spread")


def _decide_apart(engine: SpreadEngine, table: Relation, counted: Apart, plan: Plan, watch: _Watch) -> _Decided:
    """Decide where the rows are: no one machine holds all of them."""
    schema = plan.schema.published
    with watch("deciding"):
        done = plan.method.decide_apart(counted, table, schema, plan.model, plan.seed, watch.progress)
    with watch("applying"):
        keep = table.places(_published_columns(table, plan))
        key = table.places((*schema.quasi_identifiers, *schema.sensitive))
        released = engine.recode_by_entry(table, keep, key, done.entries, done.recoded)
    return _Decided(table, table, released, released, counted.rows, done.rows, done.loss, done.facts, None, None)


def _published_columns(table: Relation, plan: Plan) -> tuple[str, ...]:
    return tuple(name for name in table.columns if name not in plan.schema.unpublished)


def _pseudonym_key(plan: Plan) -> bytes:
    output = plan.output
    return read_key(output.pseudonym_key, output.path) if output else read_key(None)


def _verify(engine: Engine, written: Relation, plan: Plan, decided: _Decided) -> CheckResult:
    problem, schema = decided.problem, plan.schema.published
    if problem is None and _is_spread(engine):
        counted = engine.spread(written, written.places((*schema.quasi_identifiers, *schema.sensitive)))
        return verify_apart(counted, written, schema, plan.model, decided.kept)
    if isinstance(decided.recoding, ByPattern) and problem is not None:
        return verify_patterns(engine, written, problem.frequencies, problem.ladders, decided.recoding, plan.model)
    source = None if problem is None else problem.frequencies
    people = people_of_source(engine, decided.source, schema) if schema.person else None
    told = _labels_of_codes(problem, decided.recoding) if limited(plan.model) else ()
    return verify(engine, written, schema, plan.model, decided.kept, plan.method.wildcard, source, people, told)


def _with_people(
    engine: Engine, written: Relation, plan: Plan, decided: _Decided, place: Path, writing: Writing
) -> Relation:
    """The release with the people's numbers, once what was written is known to be the same rows without them.

    Both are read back from files of one kind, so that equal cells are equal text.
    """
    carried = engine.read(engine.write(decided.carried, place, writing))
    _require_same(engine, written, carried, plan, decided)
    return carried


def _require_same(engine: Engine, written: Relation, carried: Relation, plan: Plan, decided: _Decided) -> None:
    """Raise unless what was written is what is verified, but for numbers of people, or pseudonyms in their place."""
    shown: dict[str, Mapping[str, str]] = {}
    if plan.schema.linked:
        made = decided.pseudonyms.to_pydict()
        shown[plan.schema.person[0]] = dict(zip(map(str, made["v"]), made["label"], strict=True))
    require_same_rows(engine, written, carried, shown)


def _without(frame: Any, columns: tuple[str, ...]) -> Any:
    """A frame that the engine holds, without some columns."""
    if not columns:
        return frame
    return frame.drop_columns(list(columns)) if hasattr(frame, "drop_columns") else frame.drop(*columns)


def _labels_of_codes(problem: Problem | None, recoding: Recoding | None) -> list[list[str | None]]:
    """How a release shows each code of its source where it hides no cell; nothing where that is not one label."""
    if problem is None or not isinstance(recoding, ByLevel | ByCell):
        return []
    ladders = recoding.ladders if isinstance(recoding, ByCell) else problem.ladders
    return [
        [ladder.labels[level][code] for code in ladder.codes[level]]
        for ladder, level in zip(ladders, recoding.levels, strict=True)
    ]


def _describe(plan: Plan, decided: _Decided, checked: CheckResult) -> Description:
    if decided.problem is None or decided.recoding is None:
        return describe_apart(plan.schema.published, plan.model, checked)
    return describe(decided.problem, decided.recoding, checked, reveals_source=plan.method.reveals_source)


def _match_columns(table: Relation, schema: Schema) -> None:
    """Every column of the plan must be in the table, and every column of the table in the plan."""
    require_columns(table, tuple(schema.columns))
    require_roles(table, schema.columns)


def _certificate(plan: Plan, decided: _Decided, checked: CheckResult, extra: Mapping[str, Any]) -> Certificate:
    apart: dict[str, Any] = {key: plain(decided.facts[key]) for key in ("levels", "guarantee") if key in decided.facts}
    facts = {key: value for key, value in decided.facts.items() if key not in apart}
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
        "method": {"name": plan.method.name, "parameters": plain(plan.method.parameters), **plain(facts)},
        **apart,
        "models": [model.to_dict() for model in checked.models],
        "loss": decided.loss,
        "risk": checked.risk,
        **extra,
    }
    if decided.linking:
        content["linking_columns"] = dict(decided.linking)
    if decided.repeating:
        content["repeating_identifiers"] = decided.repeating
    if checked.people is not None and decided.problem is not None:
        everybody = decided.problem.frequencies.domains[-1].people
        assert everybody is not None
        content["people"] = {
            "total": everybody.count,
            "released": checked.people.total,
            "rows": checked.rows,
            "smallest_group": checked.people.smallest_group,
            "rows_without_person": decided.nobodys,
            "unit": "people" if plan.schema.person == plan.schema.named(Role.PERSON) else "households",
            "verification": _who_can_verify(plan),
        }
        linked = [part.linked_rows for part in plan.model_of_rows.parts if part.only_people]
        if linked:
            content["people"]["known_rows"] = "all" if linked[0] is None else linked[0]
    content |= _worth(plan, decided)
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
    return Certificate(content)


def _who_can_verify(plan: Plan) -> str:
    if plan.schema.linked:
        return (
            "The models count people, by numbers of which pseudonyms are published. What people have is taken from all "
            "of their rows in the original, also from those that were left out."
        )
    return "The models count people, by numbers that are not published. Who has the release alone can verify rows only."


def _worth(plan: Plan, decided: _Decided) -> dict[str, Any]:
    """What the release says nothing about, where it may be told."""
    problem, recoding = decided.problem, decided.recoding
    if problem is None or recoding is None or not plan.method.reveals_source:
        return {}
    found = {
        "hidden_columns": hidden_columns(problem.frequencies, problem.ladders, recoding),
        "nothing_learned": nothing_learned(problem.frequencies, recoding, plan.schema.published.sensitive),
    }
    return {key: names for key, names in found.items() if names}


def _time_zone(plan: Plan | None) -> str:
    return UTC if plan is None or plan.source is None else plan.source.time_zone


def _as_plan(plan: Plan | Mapping[str, Any] | str | Path) -> Plan:
    if isinstance(plan, Plan):
        return plan
    return Plan.from_dict(plan) if isinstance(plan, Mapping) else Plan.read(plan)


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
