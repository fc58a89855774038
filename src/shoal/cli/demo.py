"""``shoal demo``: the twelve patients of the papers.

It goes from the table to the certificate.
"""

from __future__ import annotations

import filecmp
import json
import shutil
from pathlib import Path
from typing import Annotated, Any

import typer

CLAIMS = {
    2: ["k-anonymity k=2"],
    5: ["k-anonymity k=4", "p-sensitive p=2", "p-plus-alpha-sensitive p=2 alpha=2"],
    6: ["k-anonymity k=4", "p-plus-alpha-sensitive p=2 alpha=2"],
    7: ["k-anonymity k=4", "p-alpha-sensitive p=3 alpha=1"],
}


def demo(
    out: Annotated[Path, typer.Option(help="Directory for the release; created if needed.")] = Path("demo"),
    as_json: Annotated[bool, typer.Option("--json", help="Output JSON.")] = False,
) -> None:
    """Run shoal on an example of twelve patients.

    Writes the table, the plan, the release and its certificate into a directory, and checks the tables that the
    papers publish.
    """
    from shoal.cli.console import output, print_grid, print_rows, safe
    from shoal.datasets.patients import COLUMNS, FOLDER
    from shoal.errors import OutputError
    from shoal.pipeline import run as pipeline
    from shoal.plan.plan import Plan
    from shoal.verification.check import verdict_grid

    try:
        out.mkdir(parents=True, exist_ok=True)
        files = {name: (FOLDER / name, out / name) for name in ("patients.csv", "patients.toml")}
        ours = all(target.is_file() and filecmp.cmp(own, target, shallow=False) for own, target in files.values())
        for own, target in files.values():
            if not ours and target.exists():
                raise OutputError("command.demo-file-exists", file=str(target))
            shutil.copyfile(own, target)
    except OSError as error:
        raise OutputError("command.directory-not-writable", directory=str(out), reason=error.strerror) from None
    plan = Plan.read(out / "patients.toml")
    result = pipeline.release(plan, overwrite=ours)
    tables = {number: _check(number, claims) for number, claims in CLAIMS.items()}
    if as_json:
        print(json.dumps({"release": result.to_dict(), "tables": tables}))
        return
    assert result.path is not None
    original = _read(out / "patients.csv")
    print_rows("The original (Table 1 of the papers, with names)", ("name", *COLUMNS), original)
    released = _read(result.path)
    print_rows("The release: names dropped, ages, countries and zip codes generalized", COLUMNS, released)
    print_grid(verdict_grid(result.figures["models"]))
    certificate = {key: value for key, value in result.certificate.content.items() if key not in ("plan", "models")}
    output.print("The certificate, but for the plan and the models above:")
    output.print(json.dumps(certificate, indent=2), markup=False)
    output.print("\nWhat the check says of the papers' own tables:")
    for number, answer in tables.items():
        output.print(f"\nTable {number}: {answer['rows']} rows, {answer['groups']} groups")
        print_grid(verdict_grid(answer["models"]))
    output.print(f"\nWritten to {safe(out)}: " + ", ".join(sorted(safe(path.name) for path in out.iterdir())))


def _read(path: Path) -> list[list[str]]:
    import csv

    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))[1:]


def _check(number: int, claims: list[str]) -> dict[str, Any]:
    import pyarrow as pa

    from shoal.datasets.patients import CATEGORIES, COLUMNS, TABLES
    from shoal.pipeline.check import check
    from shoal.schema import Column, Role

    table = pa.table(dict(zip(COLUMNS, map(list, zip(*TABLES[number], strict=True)), strict=True)))
    condition = Column(Role.SENSITIVE, categories=CATEGORIES)
    return check(table, claims, quasi_identifiers=COLUMNS[:3], sensitive={"condition": condition}).to_dict()
