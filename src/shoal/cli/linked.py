"""Linked tables on the command line: options of ``check`` and ``attack``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from shoal.audit.linked import Knowledge, LinkedAudit

Root = Annotated[
    Path | None, typer.Option("--root", help="A file with one row for each person; others refer to it by --link.")
]
Links = Annotated[
    list[str] | None,
    typer.Option(
        "--link",
        help="A file and its column that names a row of another file: visit.csv:person_id, or "
        "visit.csv:patient=person.person_id if the names differ; may be repeated.",
    ),
]
Tables = Annotated[
    Path | None,
    typer.Option("--tables", help="A folder of linked files, or a SQLite or DuckDB file; see --root and --link."),
]
Knows = Annotated[
    list[str] | None,
    typer.Option(
        "--knows",
        help="With linked tables, what an intruder knows besides the root: facts=1 (the default) to facts=3, counts, "
        "structure, all; may be repeated.",
    ),
]
Ignored = Annotated[
    list[str] | None,
    typer.Option("--ignore", help="With linked tables, columns that nobody knows: table.column; may be repeated."),
]


def audit_files(
    table: Path | None,
    root: Path | None,
    links: Sequence[str] | None,
    tables: Path | None,
    knows: Sequence[str] | None,
    ignored: Sequence[str] | None,
    sensitive: Sequence[str] | None,
    models: Sequence[str] | None,
    missing: Sequence[str] | None,
) -> LinkedAudit | None:
    """Audit linked files; None if a single table is given."""
    from shoal.audit.linked import audit_linked
    from shoal.errors import PlanError
    from shoal.table.find_links import table_name

    if root is None and tables is None:
        if table is None:
            raise PlanError("command.table-missing")
        if links or knows or ignored:
            raise PlanError("command.linked-options-of-one-table")
        return None
    if table is not None or (root is not None and tables is not None):
        raise PlanError("command.table-and-linked-tables")
    files: dict[str, Path] = {}
    named = []
    roots = [] if root is None else [(root, "")]
    for path, rest in [*roots, *(_split(link) for link in links or ())]:
        name = table_name(path)
        if files.setdefault(name, path) != path:
            raise PlanError("linked.name-twice", table=name)
        named += [f"{name}:{rest}"] * bool(rest)
    return audit_linked(
        tables if tables is not None else files,
        root=None if root is None else table_name(root),
        links=named,
        k=_group_size(models or ()),
        knowledge=_knowledge(knows or ()),
        sensitive=list(sensitive or ()),
        ignore=list(ignored or ()),
        missing=list(missing or ()),
    )


def audit_by_plan(
    plan: Path | None, table: Path | None, tables: Path | None, options: Sequence[object]
) -> LinkedAudit | None:
    """Audit linked tables by a plan: a release in a folder, or the sources.

    None if it is a plan of one table. ``options`` must be empty, since the plan says all.
    """
    from shoal.audit.linked import audit_sources, check_release
    from shoal.errors import PlanError
    from shoal.plan.linked import LinkedPlan, has_tables

    if plan is None or (tables is None and (table is not None or not has_tables(plan))):
        return None
    if table is not None or any(options):
        raise PlanError("linked.plan-and-options")
    loaded = LinkedPlan.read(plan)
    return audit_sources(loaded) if tables is None else check_release(tables, loaded)


def draft_files(folder: Path, out: Path, k: int | None, as_json: bool) -> None:
    """Draft a plan of linked tables and write it."""
    from shoal.advice.linked_draft import draft_linked
    from shoal.cli.console import output, safe
    from shoal.io.publish import write_text_atomic

    draft = draft_linked(folder, out.parent, k=k)
    write_text_atomic(out, draft.text)
    if as_json:
        print(json.dumps({"plan": str(out), "template": draft.template, "notes": list(draft.notes)}))
        return
    if draft.template is not None:
        output.print(f"Template: {draft.template}.")
    for note in draft.notes:
        output.print(safe(note), soft_wrap=True)
    output.print(f"Plan: {safe(out)}. Read it, then run: shoal release {safe(out)}")


def release_files(
    plan: Path, changes: Sequence[str], overwrite: bool, options: Mapping[str, object], as_json: bool, quiet: bool
) -> None:
    """Release the linked tables of a plan; ``options`` are those not served."""
    from shoal.cli.console import output, print_grid, progress, safe
    from shoal.errors import PlanError
    from shoal.formatting import counted, number, percent
    from shoal.pipeline.linked import release_linked
    from shoal.plan.linked import LinkedPlan
    from shoal.render import Grid

    for name, given in options.items():
        if given:
            raise PlanError("linked.option-not-served", option=name)
    loaded = LinkedPlan.read(plan, changes)
    with progress(quiet or as_json) as show:
        result = release_linked(loaded, overwrite=True if overwrite else None, progress=show)
    answer = result.to_dict()
    if as_json:
        print(json.dumps(answer))
        return
    people, crowds = answer["people"], answer["smallest_crowd"]
    output.print(
        f"[bold]Released[/] {counted(len(answer['tables']), 'table')} of {number(people['released'])} of "
        f"{number(people['source'])} people."
    )
    rows = [(table["name"], table["rows"], table["released"], percent(table["loss"])) for table in answer["tables"]]
    print_grid(Grid("Tables", ("table", "rows", "released", "loss"), rows))
    phrases = {key: "the root" if key == "root" else f"the root and {counted(int(key), 'fact')}" for key in crowds}
    known = [(phrases[key], size) for key, size in crowds.items()]
    print_grid(Grid("Smallest crowds of people", ("known", "people"), known))
    figures = answer["certificate"]["beyond"].items()
    beyond = [(name.replace("_", " "), "not counted" if size is None else size) for name, size in figures]
    print_grid(Grid(f"Beyond the promise: people in a crowd below {loaded.k}", ("known", "people"), beyond))
    output.print(f"Folder: {safe(str(result.path))}")


def _split(link: str) -> tuple[Path, str]:
    """Split a link in file and columns."""
    from shoal.errors import PlanError

    file, _, columns = link.rpartition(":")
    if not file or not columns:
        raise PlanError("linked.link-malformed")
    return Path(file), columns


def _group_size(models: Sequence[str]) -> int:
    """Return the group size that the models require; five without one."""
    from shoal.audit.inputs import DEFAULT_CROWD_SIZE
    from shoal.errors import PlanError
    from shoal.models import size_of_groups
    from shoal.plan.coerce import as_models

    chosen = as_models(list(models)) if models else ()
    for model in chosen:
        if not model.sizes_only:
            raise PlanError("linked.model-not-possible", model=model.name)
    return size_of_groups(chosen, DEFAULT_CROWD_SIZE)


def _knowledge(words: Sequence[str]) -> Knowledge:
    """Parse what an intruder knows."""
    from shoal.audit.linked import Knowledge
    from shoal.errors import PlanError

    facts, flags = 1, {"counts": False, "structure": False, "all": False}
    for word in words:
        name, _, number = word.partition("=")
        if name == "facts" and number.isdecimal():
            facts = int(number)
        elif word in flags:
            flags[word] = True
        else:
            raise PlanError("linked.knowledge-malformed")
    return Knowledge(facts, **flags)


def show_audit(audit: LinkedAudit, as_json: bool) -> None:
    """Print an audit of linked tables."""
    from shoal.cli.console import output, safe

    if as_json:
        print(json.dumps(audit.to_dict()))
    else:
        for line in str(audit).splitlines():
            output.print(safe(line), soft_wrap=True)
