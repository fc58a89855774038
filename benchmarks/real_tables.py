"""Real tables, as people have them: ``shoal plan`` and ``shoal release``, nothing edited, and what came of it.

    SHOAL_DATA=folder python -m benchmarks.real_tables [--attacks]      # writes docs/real-tables.md

The folder holds ``real/``, with the tables that are listed here; they are no part of the project. Each command runs as
a user runs it, in a process of its own and a new folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RUN = "from shoal.cli.app import run; run()"
LONGEST = 300.0
"""Seconds after which a command is given up."""
PAGE = Path(__file__).parent.parent / "docs" / "real-tables.md"


@dataclass(frozen=True)
class Real:
    """A table, what it is, and the columns that name people in truth: none of them may be published."""

    file: str
    what: str
    names_people: tuple[str, ...]


TABLES = (
    Real(
        "compas.csv",
        "7,214 defendants, 53 columns, three of them twice (ProPublica's extract, names made up)",
        ("id", "name", "first", "last", "c_case_number", "r_case_number", "vr_case_number"),
    ),
    Real("nafld1.csv", "17,549 people of a liver study (R package survival)", ("id", "case.id")),
    Real("nafld2.csv", "150,000 lab values of 5,885 of them", ("id",)),
    Real("loans_full_schema.csv", "10,000 loans, 55 columns (openintro)", ("emp_title",)),
)


@dataclass(frozen=True)
class Result:
    """What came of one table."""

    table: Real
    seconds: dict[str, float]
    plan: dict[str, Any]
    release: dict[str, Any]
    attack: dict[str, Any]
    header: list[str]


def run(real: Real, folder: Path, data: Path, *, attack: bool = True) -> Result:
    """Plan, release and attack one table in a folder, with nothing edited."""
    source, released = data / "real" / real.file, folder / f"{Path(real.file).stem}-released.csv"
    seconds: dict[str, float] = {}

    def shoal(step: str, *arguments: object) -> dict[str, Any]:
        start = time.perf_counter()
        command = [sys.executable, "-c", RUN, *map(str, arguments), "--json"]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=LONGEST)
        except subprocess.TimeoutExpired:
            if step != "attack":
                raise
            seconds[step] = LONGEST
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
    return Result(real, seconds, plan, release, found, header)


def page(results: list[Result]) -> str:
    """The page, from what was measured."""
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
        "on a busy machine of two cores, compiled methods at hand. Of a wide table the plan promises that any two",
        "facts fit at least five rows (`known = 2`); rows that differ in all columns together are not hidden from who",
        "knows more, so that the smallest group can be one row there.",
        "",
        "| table | plan | release | method | loss | groups | smallest | left out |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for result in results:
        told = result.release
        lines.append(
            f"| {result.table.file} | {result.seconds['plan']:.0f} s | {result.seconds['release']:.0f} s "
            f"| {told['method']['name']} | {told['loss']['ncp']:.2f} | {told['groups']:,} | {told['smallest_group']} "
            f"| {told['suppressed']:,} |"
        )
    for result in results:
        lines += ["", *_section(result)]
    return "\n".join([*lines, ""])


def _section(result: Result) -> list[str]:
    roles: dict[str, list[str]] = {}
    for column in result.plan["columns"]:
        roles.setdefault(column["role"], []).append(f"`{column['name']}`")
    lines = [f"## {result.table.file}", "", f"{result.table.what[0].upper()}{result.table.what[1:]}.", ""]
    told = {
        "quasi-identifier": "Generalized",
        "sensitive": "Published as it is, sensitive",
        "person": "Says whose rows they are; not published, people are counted",
        "identifier": "Dropped, names somebody",
        "drop": "Left out",
    }
    lines += [f"- {words}: {', '.join(roles[role])}" for role, words in told.items() if role in roles]
    tried = ", ".join(
        f"{trial['method']} {'no release' if trial['ncp'] is None else format(trial['ncp'], '.2f')}"
        for trial in result.plan["rehearsal"]
    )
    lines += [f"- Rehearsal on {result.plan['rehearsal'][0]['rows']:,} rows: {tried}"]
    for found in result.attack.get("attacks", []):
        about = f" about `{found['column']}`" if found["column"] else ""
        lines.append(
            f"- Attack, {found['attack']}{about}: {found['exposed']:,} of {found['people']:,} exposed "
            f"({found['share']:.1%}; without the release {found['baseline_share']:.1%})"
        )
    if not result.attack:
        lines.append("- Attacks were not run for this page (`--attacks` runs them, for minutes).")
    lines += [f"- Warning: {warning['text']}" for warning in result.release["warnings"]]
    return lines


def main() -> None:
    """Measure all tables and write the page."""
    data = Path(os.environ["SHOAL_DATA"])
    results = []
    for real in TABLES:
        with tempfile.TemporaryDirectory() as folder:
            results.append(run(real, Path(folder), data, attack="--attacks" in sys.argv))
        print(real.file, results[-1].seconds, file=sys.stderr)
        PAGE.write_text(page(results), encoding="utf-8")


if __name__ == "__main__":
    main()
