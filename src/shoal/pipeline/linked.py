"""The path of a release of linked tables.

    read -> resolve links -> search root groups and levels -> leave out -> stage -> verify -> publish as one folder

Nothing is published before the staged files have been read again and verified, as a whole.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.errors import InfeasibleError, OutputError, PlanError, TableError
from shoal.io.engines import open_engine
from shoal.io.engines.base import Engine, Relation, Source, require_columns, require_roles
from shoal.io.formats.csv_dialect import RELEASED
from shoal.io.publish import check_folder_inputs, publish, sha256_of, size_of, staging
from shoal.methods.linked.search import LevelSearch, LinkedCandidate, RootGroups, measure, root_sizes
from shoal.methods.linked.suppress import LabelLimitExceeded, leave_out, put_back
from shoal.models import Model, make_model
from shoal.models.base import SensitiveModel
from shoal.pipeline.decide import StepTimer, decide
from shoal.plan.linked import LinkedPlan, LinkedTable
from shoal.plan.plan import Plan
from shoal.results.linked_certificate import (
    CERTIFICATE,
    LinkedFile,
    certificate_text,
    make_certificate,
    smallest_crowds,
)
from shoal.risk.linked_models import CrowdJudge, SensitiveRows
from shoal.runtime.progress import Progress, quiet
from shoal.runtime.threads import limit_threads
from shoal.schema import Column, Ladder, Role, Schema
from shoal.table.frequency_set import encode_column
from shoal.table.groups import number_rows
from shoal.table.linked_coding import CodedChild, CodedTables
from shoal.table.linked_tables import FactTable, LinkedPeople, resolve_links
from shoal.table.pseudonyms import pseudonym, read_key
from shoal.utility.coded_tables import as_published
from shoal.verification.independent import WrittenTable
from shoal.verification.independent.linked import ReleasedFile
from shoal.verification.linked import LinkedCheck, sensitive_rows, verify_linked

if TYPE_CHECKING:
    import pyarrow as pa

logger = logging.getLogger(__name__)

Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

ROW_NUMBER = "row number"
FOLDER = "tables"


@dataclass(frozen=True)
class LinkedRelease:
    """A release of linked tables, with figures for its owner.

    Attributes
    ----------
    certificate
        What is published beside the tables.
    figures
        Figures for the owner: rows that were left out, losses, root groups that were tried.
    """

    path: Path | None
    certificate: Mapping[str, Any]
    figures: Mapping[str, Any]
    seconds: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer for JSON."""
        return {**self.figures, "certificate": dict(self.certificate), "seconds": dict(self.seconds)}


@dataclass(frozen=True)
class _Read:
    """The tables as read, linked and coded.

    Attributes
    ----------
    tables
        The rows of each table, by name.
    coded
        The child tables, in the order of ``plan.children``.
    sensitive
        The sensitive values of each table, by its name.
    """

    tables: Mapping[str, pa.Table]
    coded: CodedTables
    sensitive: Mapping[str, tuple[SensitiveRows, ...]]


@dataclass(frozen=True)
class _RootRelease:
    """Root groups and the root table as it would be released."""

    groups: RootGroups
    table: pa.Table


@dataclass(frozen=True)
class _Decision:
    """The decision on a release: root, levels and remaining rows."""

    root: _RootRelease
    candidate: LinkedCandidate
    alive: Flags
    loss: tuple[float, ...]
    left_out: tuple[float, ...]


def release_linked(plan: LinkedPlan, *, overwrite: bool | None = None, progress: Progress = quiet) -> LinkedRelease:
    """Release linked tables as one folder, verified as a whole."""
    if plan.output is None:
        raise PlanError("plan.no-source-or-output")
    for table in plan.tables:
        if table.source.path is None:
            raise PlanError("linked.source-not-a-file", table=table.name)
    target = plan.output.path
    may_replace = plan.output.overwrite if overwrite is None else overwrite
    _check_target(target, may_replace)
    check_folder_inputs(target, plan.inputs)
    key = secrets.token_bytes(32)
    if plan.output.pseudonym_key is not None:
        key = read_key(plan.output.pseudonym_key, target)
    timer = StepTimer(progress)
    logger.info("release of %d linked tables begins", len(plan.tables))
    with staging(target) as folder, limit_threads(plan.engine.threads), _open(plan) as engine:
        with timer("reading"):
            read = _read(engine, plan)
        with timer("deciding"):
            decision, tried = _decide(engine, plan, read, key, timer)
        with timer("writing"):
            files = _write(engine, plan, read, decision, key, folder / FOLDER)
        with timer("verifying"):
            check = verify_linked_files(engine, files, plan.demands, plan.scenario.facts)
            if not check.holds:
                raise InfeasibleError("linked.not-met")
        with timer("describing"):
            certificate = _certificate(plan, check, files)
            (folder / FOLDER / CERTIFICATE).write_text(certificate_text(certificate), encoding="utf-8", newline="\n")
        with timer("publishing"):
            publish((folder / FOLDER, target), (), overwrite=may_replace)
    figures = _figures(plan, read, decision, check, tried)
    return LinkedRelease(target, certificate, figures, timer.seconds)


def _open(plan: LinkedPlan) -> AbstractContextManager[Engine]:
    return open_engine(plan.engine, time_zone=plan.root.source.time_zone)


def _check_target(target: Path, overwrite: bool) -> None:
    """Raise before any work if the folder cannot be written."""
    if not os.path.lexists(target):
        return
    if target.is_symlink() or not target.is_dir():
        raise OutputError("linked.target-not-a-folder", path=str(target))
    if not overwrite:
        raise OutputError("output.exists", path=str(target))
    try:
        named = {table["file"] for table in json.loads((target / CERTIFICATE).read_bytes())["tables"]}
    except (OSError, ValueError, LookupError, TypeError):
        named = set()
    if not named or {entry.name for entry in target.iterdir()} - named - {CERTIFICATE}:
        raise OutputError("output.directory-with-other-files", directory=str(target))


# -- reading -------------------------------------------------------------------------------------------------------


def _read(engine: Engine, plan: LinkedPlan) -> _Read:
    tables: dict[str, pa.Table] = {}
    for table in plan.tables:
        relation = engine.read(table.source)
        _require_columns(relation, table)
        rows = engine.rows(relation, range(len(relation.columns)))
        tables[table.name] = rows.rename_columns(list(relation.columns))
    linked = resolve_links(tables, plan.root.name, plan.links, {})
    if linked.people < plan.k:
        raise InfeasibleError("linked.too-few-people", people=linked.people, k=plan.k)
    position = {table.name: number for number, table in enumerate(plan.children)}
    children = []
    for table in plan.children:
        facts = linked.table(table.name)
        codes, ladders = _code(table, tables[table.name])
        parent = position.get(facts.parent, -1)
        children.append(CodedChild(table.name, parent, facts.parent_row, facts.person, codes, ladders, table.weight))
    person = {plan.root.name: np.arange(linked.people), **{one.name: one.person for one in linked.tables}}
    sensitive = {
        table.name: tuple(
            sensitive_rows(f"{table.name}.{name}", column, tables[table.name].column(name), person[table.name])
            for name, column in table.schema.columns.items()
            if column.role is Role.SENSITIVE
        )
        for table in plan.tables
    }
    return _Read(tables, CodedTables(linked.people, tuple(children)), sensitive)


def _require_columns(relation: Relation, table: LinkedTable) -> None:
    for name in (*table.keys, *table.schema.columns):
        if name not in relation.columns:
            raise TableError("linked.unknown-column", table=table.name, column=name)
    require_roles(relation, {*table.keys, *table.schema.columns})
    require_columns(relation, list(table.schema.columns))


def _code(table: LinkedTable, rows: pa.Table) -> tuple[tuple[npt.NDArray[np.int32], ...], tuple[Ladder, ...]]:
    """Code the quasi-identifiers of a child table, and bind their hierarchies."""
    quasi = table.schema.quasi_identifiers
    coded = [encode_column(as_published(rows.column(name)), name, position) for position, name in enumerate(quasi)]
    ladders = [
        table.schema.ladder(name, dictionary.text, dictionary.missing)
        for name, (dictionary, _) in zip(quasi, coded, strict=True)
    ]
    return tuple(codes for _, codes in coded), tuple(ladders)


# -- deciding ------------------------------------------------------------------------------------------------------


def _decide(
    engine: Engine, plan: LinkedPlan, read: _Read, key: bytes, timer: StepTimer
) -> tuple[_Decision, list[LinkedCandidate]]:
    """Search root groups and levels together; leave out facts in full."""
    draws = int.from_bytes(hmac.new(key, b"draws of linked tables", hashlib.sha256).digest()[:8])
    weights = [plan.root.weight, *(table.weight for table in plan.children)]
    search = LevelSearch(plan.k, plan.scenario.facts, weights, plan.suppression, plan.root_loss, draws)
    roots: dict[int, _RootRelease] = {}
    tried: list[LinkedCandidate] = []
    levels = read.coded.top
    by_size = all(model.sizes_only for model in plan.demands)
    for root in _root_releases(engine, plan, read):
        if by_size and tried and search.least_price(root.groups.loss) >= min(one.price for one in tried):
            break  # larger groups lose more in the root alone; models of values may still need them
        found = search.search(read.coded, root.groups, levels)
        levels = found.levels
        roots[root.groups.size] = root
        tried.append(found)
    if not tried:
        raise InfeasibleError("linked.no-root-groups")
    lot = np.random.default_rng(draws).permutation(len(read.coded.person))
    smallest = 1.0
    for candidate in sorted(tried, key=lambda one: one.price):
        decision = _leave_out(plan, read, roots[candidate.root.size], candidate, lot)
        if decision is None:
            continue
        if max(decision.left_out, default=0.0) <= plan.suppression:
            return decision, tried
        smallest = min(smallest, max(decision.left_out))
    raise InfeasibleError("linked.too-many-left-out", share=round(smallest, 3), limit=plan.suppression)


def _root_releases(engine: Engine, plan: LinkedPlan, read: _Read) -> Iterator[_RootRelease]:
    """Yield the root table in groups of growing size."""
    seen: set[bytes] = set()
    for size in root_sizes(plan.k, read.coded.people, plan.sizes):
        try:
            root = _release_root(engine, plan, read.tables[plan.root.name], size)
        except InfeasibleError:
            continue
        digest = root.groups.group.tobytes()
        if digest not in seen:
            seen.add(digest)
            yield root


def _release_root(engine: Engine, plan: LinkedPlan, rows: pa.Table, size: int) -> _RootRelease:
    """Release the root table by itself, in groups of ``size`` people."""
    import pyarrow as pa

    root = plan.root
    names = [name for name in plan.published(root) if name not in root.keys]
    number = next(name for name in (ROW_NUMBER, f"{ROW_NUMBER} {len(names)}") if name not in names)
    frame = pa.table([*(rows.column(name) for name in names), pa.array(range(rows.num_rows))], [*names, number])
    columns = {name: root.schema.columns[name] for name in names}
    schema = Schema({**columns, number: Column(Role.OTHER)})
    models: list[Model] = [make_model("k-anonymity", k=size), *_root_models(plan)]
    step = Plan(schema, tuple(models), plan.method, engine=plan.engine)
    decided = decide(engine, Source(frame=frame), step, StepTimer(quiet), bounded=False)
    released = engine.to_arrow(decided.released)
    group = np.full(rows.num_rows, -1, np.int64)
    position = np.asarray(released.column(number).to_numpy(), np.int64)
    labels = [encode_column(released.column(name), name, 0)[1] for name in root.schema.quasi_identifiers]
    group[position] = number_rows([one.astype(np.int64) for one in labels], len(position))
    table = released.take(pa.array(np.argsort(position))).drop_columns([number])
    return _RootRelease(RootGroups(size, group, float(decided.loss.get("ncp", 0.0))), table)


def _root_models(plan: LinkedPlan) -> Iterator[Model]:
    """Yield the models of the root's own sensitive columns."""
    for model in plan.demands:
        if isinstance(model, SensitiveModel):
            for name in plan.columns_of(model):
                if name.startswith(f"{plan.root.name}."):
                    yield replace(model, column=name.removeprefix(f"{plan.root.name}."))  # type: ignore[call-arg]


def _leave_out(
    plan: LinkedPlan, read: _Read, root: _RootRelease, candidate: LinkedCandidate, lot: Whole
) -> _Decision | None:
    """Leave out facts of everybody; None if the candidate cannot be met."""
    people = np.flatnonzero(root.groups.group >= 0)
    if not len(people):
        return None
    whole = len(people) == read.coded.people
    tables = read.coded if whole else read.coded.select(people)
    inside = np.isin(read.coded.person, people)
    group, label, lots = root.groups.group[people], tables.labels(candidate.levels), lot[inside]
    values = [model for model in plan.demands if not model.sizes_only]
    failing: Callable[[Flags], Whole] | None = None
    if values:
        asker = _Asker(plan, read, people, inside, tables, group, label, values)
        failing = asker.failing
    facts, k = plan.scenario.facts, plan.k
    try:
        alive = leave_out(tables, group, label, k, facts, lots, failing)
    except LabelLimitExceeded:
        return None
    if values and not asker.check_roots(alive):
        return None
    if not values:
        alive = put_back(tables, group, label, k, facts, lots, alive)
    if any(not alive[tables.start[n] : tables.start[n + 1]].any() for n in range(len(tables.tables))):
        return None
    full = np.zeros(len(inside), np.bool_)
    full[inside] = alive
    return _Decision(root, candidate, full, *measure(read.coded, candidate.levels, full))


@dataclass(frozen=True)
class _Asker:
    """Models of sensitive values, asked about some remaining rows."""

    plan: LinkedPlan
    read: _Read
    people: Whole
    inside: Flags
    tables: CodedTables
    group: Whole
    label: Whole
    models: Sequence[Model]

    def _judge(self, alive: Flags) -> tuple[CrowdJudge, LinkedPeople]:
        number = np.full(self.read.coded.people, -1, np.int64)
        number[self.people] = np.arange(len(self.people))
        remaining = np.zeros(len(self.inside), np.bool_)
        remaining[self.inside] = alive
        selected = {self.plan.root.name: np.isin(np.arange(self.read.coded.people), self.people)}
        for position, table in enumerate(self.plan.children):
            start = self.read.coded.start
            selected[table.name] = remaining[start[position] : start[position + 1]]
        sensitive = [
            replace(part, person=number[part.person[selected[name]]], value=part.value[selected[name]])
            for name, parts in self.read.sensitive.items()
            for part in parts
        ]
        facts = FactTable("facts", "", self.tables.person[alive], self.tables.person[alive], self.label[alive])
        return CrowdJudge(len(self.people), sensitive, self.models), LinkedPeople("", self.group, (facts,))

    def failing(self, alive: Flags) -> Whole:
        """Return the sets of facts with a crowd that fails a model."""
        judge, linked = self._judge(alive)
        return judge.failing_sets(linked, self.plan.scenario.facts)

    def check_roots(self, alive: Flags) -> bool:
        """Return whether the root labels alone meet the models."""
        judge, linked = self._judge(alive)
        return judge.check_roots(linked)


# -- writing and verifying -----------------------------------------------------------------------------------------


def _write(
    engine: Engine, plan: LinkedPlan, read: _Read, decision: _Decision, key: bytes, folder: Path
) -> list[ReleasedFile]:
    """Write all tables to the staging folder, with pseudonyms for keys."""
    assert plan.output is not None
    folder.mkdir()
    people = np.flatnonzero(decision.root.groups.group >= 0)
    names: dict[str, Sequence[str]] = {}
    selected: dict[str, Whole] = {plan.root.name: people}
    for number, child in enumerate(plan.children):
        start = read.coded.start
        selected[child.name] = np.flatnonzero(decision.alive[start[number] : start[number + 1]])
    files = []
    for table in (plan.root, *plan.children):
        columns = _released_columns(plan, read, decision, table, selected[table.name])
        if table.key is not None:
            keys = read.tables[table.name].column(table.key).take(selected[table.name])
            made = _pseudonyms(keys, f"{table.name}.{table.key}", key)
            whole = np.empty(read.tables[table.name].num_rows, object)
            whole[selected[table.name]] = made
            names[table.name] = whole  # type: ignore[assignment]
            columns[table.key] = made
        if table.parent is not None:
            position = [child.name for child in plan.children].index(table.name)
            above = read.coded.tables[position].parent_row[selected[table.name]]
            columns[str(table.on)] = [names[table.parent][row] for row in above]
        published = plan.published(table)
        path = folder / f"{table.name}.{plan.output.format}"
        _write_table(engine, {name: columns[name] for name in published}, path)
        files.append(released_table(plan, table, path))
    return files


def _released_columns(
    plan: LinkedPlan, read: _Read, decision: _Decision, table: LinkedTable, rows: Whole
) -> dict[str, Any]:
    """Return the published columns of a table, except keys."""
    import pyarrow as pa

    if table is plan.root:
        return {name: decision.root.table.column(name) for name in decision.root.table.column_names}
    columns = {name: read.tables[table.name].column(name).take(rows) for name in table.schema.columns}
    position = [child.name for child in plan.children].index(table.name)
    coded, levels = read.coded.tables[position], decision.candidate.levels[position]
    for name, codes, ladder, level in zip(
        table.schema.quasi_identifiers, coded.codes, coded.ladders, levels, strict=True
    ):
        own = codes[rows]
        present = np.bincount(own, minlength=ladder.size(0)) > 0
        labels = pa.array(list(ladder.released(present).labels[level]), pa.string())
        columns[name] = labels.take(pa.array(ladder.codes[level][own]))
    return columns


def _pseudonyms(keys: pa.ChunkedArray, domain: str, key: bytes) -> list[str]:
    import pyarrow as pa

    return [pseudonym(key, domain, text) for text in keys.cast(pa.string()).to_pylist()]


def _write_table(engine: Engine, columns: Mapping[str, Any], path: Path) -> None:
    import pyarrow as pa

    relation = engine.read(Source(frame=pa.table(dict(columns))))
    engine.write(relation, path)


def released_table(plan: LinkedPlan, table: LinkedTable, path: Path) -> ReleasedFile:
    """Describe the released file of a table of a plan."""
    published = plan.published(table)
    return ReleasedFile(
        table.name,
        WrittenTable(path, published),
        table.parent,
        table.on,
        table.key if table.key in published else None,
        table.schema.quasi_identifiers,
        {name: table.schema.columns[name] for name in table.schema.sensitive},
    )


def verify_linked_files(
    engine: Engine, files: Sequence[ReleasedFile], models: Sequence[Model], facts: int
) -> LinkedCheck:
    """Verify released files as they are."""
    tables = {}
    for file in files:
        relation = engine.read(Source(file.file.path, csv=RELEASED))
        for name in file.file.columns:
            if name not in relation.columns:
                raise TableError("linked.unknown-column", table=file.name, column=name)
        rows = engine.rows(relation, range(len(relation.columns))).rename_columns(list(relation.columns))
        tables[file.name] = rows
    return verify_linked(files, tables, models, facts)


def _certificate(plan: LinkedPlan, check: LinkedCheck, files: Sequence[ReleasedFile]) -> dict[str, Any]:
    from shoal import __version__

    listed = [
        LinkedFile(file.name, file.file.path.name, sha256_of(file.file.path), size_of(file.file.path)) for file in files
    ]
    return make_certificate(plan, check, listed, __version__)


def _figures(
    plan: LinkedPlan, read: _Read, decision: _Decision, check: LinkedCheck, tried: Sequence[LinkedCandidate]
) -> dict[str, Any]:
    """Collect the figures for the owner."""
    root, candidate = decision.root.groups, decision.candidate
    tables: list[dict[str, Any]] = [
        {
            "name": plan.root.name,
            "rows": read.coded.people,
            "released": check.rows[plan.root.name],
            "left_out": read.coded.people - check.rows[plan.root.name],
            "loss": root.loss,
        }
    ]
    for number, child in enumerate(plan.children):
        rows = read.coded.tables[number].rows
        tables.append(
            {
                "name": child.name,
                "rows": rows,
                "released": check.rows[child.name],
                "left_out": rows - check.rows[child.name],
                "loss": decision.loss[number],
                "levels": dict(zip(child.schema.quasi_identifiers, candidate.levels[number], strict=True)),
            }
        )
    return {
        "tables": tables,
        "people": {"source": read.coded.people, "released": check.linked.people},
        "root_groups": {"at_least": root.size, "groups": int(root.group.max()) + 1},
        "known": {"facts": plan.scenario.facts},
        "smallest_crowd": smallest_crowds(check),
        "models": [verdict.to_dict() for verdict in check.verdicts],
        "detail_kept": 1 - float(np.mean([root.loss, *decision.loss])),
        "tried": [
            {
                "root_groups_of": one.root.size,
                "root_loss": one.root.loss,
                "loss": dict(zip((child.name for child in plan.children), one.loss, strict=True)),
                "left_out": dict(zip((child.name for child in plan.children), one.left_out, strict=True)),
                "detail_kept": 1 - float(np.mean([one.root.loss, *one.loss])),
            }
            for one in tried
        ],
    }
