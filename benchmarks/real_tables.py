"""Real tables: results of unedited ``shoal plan`` and ``shoal release``.

    SHOAL_DATA=folder python -m benchmarks.real_tables [TABLE ...]       # writes docs/real-tables.md

The folder has ``real/``, with the tables that are listed here; they are not part of the project. Each command runs as
for a user, in a separate process and a new folder. Then the first advice of ``shoal explain`` is applied, and the plan
is run again. A generated wide table comes last (``known-2`` and ``known-3``), with more quasi-identifiers than a draft
would have.

Results are recorded in docs/real-tables.json, and the page is written from it after each table, so that tables can
be measured one at a time without changing the others.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tomli_w

from benchmarks import known

RUN = "from shoal.cli.app import run; run()"
MAX_SECONDS = 900.0
"""The time limit of a command, in seconds."""
EXPLAIN_SECONDS = 60.0
"""The time limit of ``shoal explain``, in seconds."""
WIDE_ROWS = 100_000
PAGE = Path(__file__).parent.parent / "docs" / "real-tables.md"
RECORD = PAGE.with_suffix(".json")


@dataclass(frozen=True)
class RealTable:
    """A table, its description, and its direct identifiers.

    None of the columns in ``names_people`` may be published.
    """

    file: str
    what: str
    names_people: tuple[str, ...]


TABLES = (
    RealTable(
        "compas.csv",
        "7,214 defendants, 53 columns, three of them twice (ProPublica's extract, names made up)",
        ("id", "name", "first", "last", "c_case_number", "r_case_number", "vr_case_number"),
    ),
    RealTable("nafld1.csv", "17,549 people of a liver study (R package survival)", ("id", "case.id")),
    RealTable("nafld2.csv", "150,000 lab values of 5,885 of them", ("id",)),
    RealTable("loans_full_schema.csv", "10,000 loans, 55 columns (openintro)", ("emp_title",)),
)


@dataclass(frozen=True)
class Result:
    """The results for one table."""

    table: RealTable
    seconds: dict[str, float]
    plan: dict[str, Any]
    release: dict[str, Any]
    attack: dict[str, Any]
    header: list[str]
    advice: dict[str, Any] | None = None
    """The most effective change that ``shoal explain`` found on a sample, with its ``loss`` there."""
    advised: dict[str, Any] | None = None
    """The release after the change."""


def run(real: RealTable, folder: Path, data: Path, *, attack: bool = True, explain: bool = False) -> Result:
    """Plan, release and attack one table in a folder, without any edit.

    With ``explain``, the first advice is then applied.
    """
    source, released = data / "real" / real.file, folder / f"{Path(real.file).stem}-released.csv"
    seconds: dict[str, float] = {}

    def shoal(step: str, *arguments: object) -> dict[str, Any]:
        start = time.perf_counter()
        command = [sys.executable, "-c", RUN, *map(str, arguments), "--json"]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=MAX_SECONDS)
        except subprocess.TimeoutExpired:
            if step != "attack":
                raise
            seconds[step] = MAX_SECONDS
            return {}
        seconds[step] = time.perf_counter() - start
        if done.returncode:
            raise RuntimeError(f"{real.file}: shoal {step}: {done.stderr[-500:]}")
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    plan = shoal("plan", "plan", source)
    release = shoal("release", "release", "plan.toml")
    found = shoal("attack", "attack", released, "--plan", "plan.toml", "--original", source) if attack else {}
    with released.open(encoding="utf-8") as lines:
        header = lines.readline().rstrip("\n").split(",")
    result = Result(real, seconds, plan, release, found, header)
    if not explain:
        return result
    costs = shoal("explain", "explain", "plan.toml", "--time-limit", EXPLAIN_SECONDS)
    advice = costs["advice"]
    if advice is None:
        return result
    (folder / "advised.toml").write_text(tomli_w.dumps(_changed(folder / "plan.toml", advice)), encoding="utf-8")
    return replace(result, advice=advice, advised=shoal("advised", "release", "advised.toml"))


def _changed(plan: Path, change: Mapping[str, Any]) -> dict[str, Any]:
    """Return the contents of a plan with one change of ``shoal explain``."""
    document = tomllib.loads(plan.read_text(encoding="utf-8"))
    document["output"]["path"] = "advised.csv"
    column, name = change.get("column"), change.get("model")
    if name is None:
        document["columns"][column] = {"role": "drop"}
        return document
    matching = [model for model in document["models"] if model["name"] == name and model.get("column") == column]
    if "parameter" in change:
        for model in matching:
            model[change["parameter"]] = change["value"]
    else:
        document["models"] = [model for model in document["models"] if model not in matching]
    return document


def page(results: Sequence[Result], wide: Mapping[str, Any]) -> str:
    """Return the page of all results."""
    lines = [
        "# Real tables, as people have them",
        "",
        "Made by `python -m benchmarks.real_tables`: each table is planned and released by",
        "",
        "    shoal plan TABLE",
        "    shoal release plan.toml",
        "",
        "and nothing in the plan is edited. Loss (ncp) is the part of the detail of the quasi-identifiers that is",
        "gone: 0 is none, 1 is all. No column that names people is published; a test holds that. Times are of one run",
        "on a busy machine of two cores, compiled methods at hand. Attacks are by one who knows all columns.",
        "",
        "| table | plan | release | method | loss | groups | smallest | left out |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for result in results:
        release = result.release
        lines.append(
            f"| {result.table.file} | {result.seconds['plan']:.0f} s | {result.seconds['release']:.0f} s "
            f"| {release['method']['name']} | {release['loss']['ncp']:.2f} | {release['groups']:,} | "
            f"{release['smallest_group']} "
            f"| {release['suppressed']:,} |"
        )
    lines += ["", *_advised(results)]
    for result in results:
        lines += ["", *_section(result)]
    return "\n".join([*lines, "", *_wide_section(wide)])


def _advised(results: Sequence[Result]) -> list[str]:
    """Return the lines on the first advice of ``shoal explain``."""
    lines = [
        "What `shoal explain` found to help most within a minute, on as much of a sample as fits in it, was then done",
        "in the plan, and nothing else. Whether it should be done is another question: a column that is dropped is",
        "not published, and a smaller parameter promises less.",
        "",
        "| table | what helps most | loss before | loss after | release |",
        "|---|---|---|---|---|",
    ]
    for result in results:
        if result.advice is None or result.advised is None:
            lines.append(f"| {result.table.file} | nothing that was tried | {result.release['loss']['ncp']:.2f} | | |")
            continue
        lines.append(
            f"| {result.table.file} | {_describe_change(result.advice)} | {result.release['loss']['ncp']:.2f} "
            f"| {result.advised['loss']['ncp']:.2f} | {result.seconds['advised']:.0f} s |"
        )
    return lines


def _describe_change(change: Mapping[str, Any]) -> str:
    if "model" not in change:
        return f"without the column `{change['column']}`"
    model = f"{change['model']}{' of `' + change['column'] + '`' if change.get('column') else ''}"
    return f"{change['parameter']} = {change['value']} in {model}" if "parameter" in change else f"without {model}"


def run_wide(facts: int) -> dict[str, Any]:
    """Release a generated table; the intruder knows some of its columns."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "wide.parquet"
        names = known.write_wide(path, WIDE_ROWS)
        return known.one(path, names, known.QUASI, facts, known.RELEASE)


def _wide_section(found: Mapping[str, Any]) -> list[str]:
    """Return the lines on the generated table.

    It has 200 columns, 60 of them quasi-identifiers; the intruder knows two or three of them.
    """
    lines = [
        f"## A generated table: {WIDE_ROWS:,} rows, {known.COLUMNS} columns, {known.QUASI} of them quasi-identifiers",
        "",
        "From `python -m benchmarks.known`: k = 5, method hidden-cells, in memory. Deciding and verifying are parts",
        "of the seconds; verifying is done twice, by the models and by the gate. CPU seconds are those of all threads.",
        "",
        "| known | seconds | CPU seconds | deciding | verifying | peak memory | loss | cells hidden |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, measured in sorted(found.items()):
        loss, hidden, seconds, cpu = measured["answer"]
        lines.append(
            f"| {name.removeprefix('known-')} | {measured['seconds']:.0f} s | {cpu:.0f} s "
            f"| {seconds['deciding']:.0f} s "
            f"| {seconds['verifying']:.0f} s | {measured['peak_mb'] / 1024:.1f} GB | {loss:.3f} | {hidden:.1%} |"
        )
    return [*lines, ""]


def _section(result: Result) -> list[str]:
    roles: dict[str, list[str]] = {}
    for column in result.plan["columns"]:
        roles.setdefault(column["role"], []).append(f"`{column['name']}`")
    lines = [f"## {result.table.file}", "", f"{result.table.what[0].upper()}{result.table.what[1:]}.", ""]
    role_headings = {
        "quasi-identifier": "Generalized",
        "sensitive": "Published as it is, sensitive",
        "person": "Says whose rows they are; not published, people are counted",
        "identifier": "Dropped, names somebody",
        "drop": "Left out",
    }
    lines += [f"- {words}: {', '.join(roles[role])}" for role, words in role_headings.items() if role in roles]
    tried = ", ".join(
        f"{trial['method']} {'no release' if trial['ncp'] is None else format(trial['ncp'], '.2f')}"
        for trial in result.plan["rehearsal"]
    )
    lines += [f"- Rehearsal on {result.plan['rehearsal'][0]['rows']:,} rows: {tried}"]
    for found in result.attack.get("attacks", []):
        about = f" about `{found['column']}`" if found["column"] else ""
        lines.append(
            f"- Attack, {found['attack']}{about}: {found['exposed']:,} of {found['attacked']:,} {found['counts']} "
            f"exposed ({found['share']:.1%}; without the release {found['baseline_share']:.1%})"
        )
    if not result.attack:
        lines.append(f"- Attacks were given up after {MAX_SECONDS:.0f} seconds.")
    lines += _facts(result.attack)
    lines += [f"- Warning: {warning['text']}" for warning in result.release["warnings"]]
    return lines


def _facts(attack: Mapping[str, Any]) -> list[str]:
    """Return the numbers of facts that single out a row or person, if known."""
    found = attack.get("facts")
    if not found:
        return []
    headings = {"rows": "Rows of the release", "original_rows": "Rows of the original", "people": "People"}
    return [
        f"- {what} that so many facts at most single out: "
        + ", ".join(f"{rows:,} by {facts}" for facts, rows in enumerate(found[name], 1))
        for name, what in headings.items()
        if name in found
    ]


def main(*chosen: str) -> None:
    """Measure all tables or some, and write the page after each."""
    data = Path(os.environ["SHOAL_DATA"])
    names = [*(real.file for real in TABLES), "known-2", "known-3"]
    if unknown := set(chosen) - set(names):
        raise SystemExit(f"There is no {', '.join(sorted(unknown))}; there are {', '.join(names)}.")
    for name in chosen or names:
        if name.startswith("known-"):
            found = run_wide(int(name.removeprefix("known-")))
        else:
            real = next(real for real in TABLES if real.file == name)
            with tempfile.TemporaryDirectory() as folder:
                found = _to_record(run(real, Path(folder), data, explain=True))
        record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
        _write(RECORD, json.dumps({**record, name: found}, indent=1, sort_keys=True) + "\n")
        write_page()
        print(name, found["seconds"], file=sys.stderr)


def write_page() -> None:
    """Write the page from the recorded results."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    results = [Result(real, **record[real.file]) for real in TABLES if real.file in record]
    _write(PAGE, page(results, {name: found for name, found in record.items() if name.startswith("known-")}))


def _to_record(result: Result) -> dict[str, Any]:
    """Return the part of the results that the page needs."""

    def some(answer: Mapping[str, Any], *names: str) -> dict[str, Any]:
        return {name: answer[name] for name in names if name in answer}

    release = some(result.release, "groups", "loss", "method", "smallest_group", "suppressed", "warnings", "people")
    release["method"] = some(release["method"], "name")
    plan = some(result.plan, "rehearsal")
    plan["columns"] = [some(column, "name", "role") for column in result.plan["columns"]]
    attack = some(result.attack, "attacks", "facts")
    for found in attack.get("attacks", ()):
        found.pop("figures", None)
    return {
        "seconds": result.seconds, "plan": plan, "release": release, "attack": attack, "header": result.header,
        "advice": result.advice, "advised": None if result.advised is None else some(result.advised, "loss"),
    }  # fmt: skip


def _write(path: Path, text: str) -> None:
    """Write a file atomically."""
    staged = path.with_name(f"{path.name}.new")
    staged.write_text(text, encoding="utf-8")
    staged.replace(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
