"""Documentation page on identifiability.

Its examples run, and its tables and pictures match the formulas.
"""

from __future__ import annotations

import doctest
import importlib
import re
import shlex
import sys
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import pytest

import shoal.budget
from shoal.budget import Ledger
from shoal.budget.arithmetic import bound_from_rho, rho_from_bound, smallest_crowd
from shoal.budget.mechanisms import calibrate, half_width
from shoal.cli.app import run
from tests.reference import identifiability as reference

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "identifiability.md"
PICTURES = [
    ROOT / "docs" / "pictures" / name
    for name in ("what-rho-means.svg", "why-k-is-not-enough.svg", "what-rho-costs.svg")
]
MODULES = sorted(path.stem for path in Path(shoal.budget.__file__).parent.glob("*.py"))


def rows_of_table(first_cell: str) -> list[list[str]]:
    """Return the cells of a table without its header.

    ``first_cell`` is the beginning of the header.
    """
    table = PAGE.read_text().split(f"| {first_cell} |", 1)[1].split("\n\n", 1)[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.split("\n")[2:]]


@pytest.mark.parametrize("module", MODULES)
def test_examples_of_the_modules(module: str) -> None:
    assert doctest.testmod(importlib.import_module(f"shoal.budget.{module}")).failed == 0


def test_public_names() -> None:
    for name in shoal.budget.__all__:
        assert getattr(shoal.budget, name).__doc__
    with pytest.raises(AttributeError, match="nothing_of_this_name"):
        shoal.budget.nothing_of_this_name  # noqa: B018


def test_examples_of_the_page() -> None:
    assert doctest.testfile(str(PAGE), module_relative=False).failed == 0


def test_table_of_crowds() -> None:
    rows = rows_of_table("E | β")
    assert len(rows) == 5
    for bound, beta, *crowds in rows:
        assert [smallest_crowd(bound, delta, beta) for delta in ("1e-5", "1e-6", "1e-7")] == list(map(int, crowds))


def test_table_of_costs() -> None:
    rows = rows_of_table("E | ρ at m = 1000")
    assert len(rows) == 5
    for bound, rho, *widths in rows:
        assert rho_from_bound(bound, 1000) == Fraction(rho)
        assert [f"± {half_width(calibrate(bound, sensitivity))}" for sensitivity in (1, 2, 100)] == widths


def test_claim_about_publishing_the_dropped_count() -> None:
    posteriors = [
        reference.sampled_grid_posterior((8, 40), 10, 3, Fraction(1, 4), Fraction(2, 21), publish_dropped)[1]
        for publish_dropped in (False, True)
    ]
    assert [f"{float(100 * share):.2g}" for share in posteriors] == ["1.6", "17"]


@pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.stem)
def test_pictures_stand_alone(picture: Path) -> None:
    tree = ElementTree.parse(picture)
    tags = {element.tag.rpartition("}")[2] for element in tree.iter()}
    assert tags <= {"svg", "title", "rect", "line", "text", "circle", "polyline"}
    assert "href" not in picture.read_text()
    assert picture.name in PAGE.read_text()


def test_picture_of_the_costs() -> None:
    text = (ROOT / "docs" / "pictures" / "what-rho-costs.svg").read_text()
    points = re.findall(r"m = (\d+), rho = ([\d/]+): ± (\d+)", text)
    assert len(points) > 50
    for m, rho, width in points:
        assert half_width(calibrate(bound_from_rho(rho, int(m)), 100)) == int(width)


def test_picture_of_the_two_tables() -> None:
    text = (ROOT / "docs" / "pictures" / "why-k-is-not-enough.svg").read_text()
    for unknown in (39, 58):
        ((groups, _),) = reference.mondrian(2)((20, 24, 31, unknown)).items()
        assert groups == ((20, 24, 2), (31, unknown, 2))
        assert f">31 to {unknown}<" in text


def blocks(kind: str) -> list[str]:
    """The code blocks of a language."""
    return re.findall(rf"```{kind}\n(.*?)```", PAGE.read_text(), re.DOTALL)


def write_patients(folder: Path) -> None:
    rows = [
        f"patient {row},{18 + row * 7 % 60},{10000 + row * 13 % 90},{'flu' if row % 3 else 'gout'}"
        for row in range(4000)
    ]
    (folder / "patients.csv").write_text("name,age,zip,illness\n" + "\n".join(rows) + "\n")
    cells = [f"{age},10***,9000" for age in ("0..19", "20..39", "40..59", "60..79")]
    (folder / "census.csv").write_text("age,zip,count\n" + "\n".join(cells) + "\n")


def test_plans_of_the_page(tmp_path: Path) -> None:
    write_patients(tmp_path)
    whole, *methods = blocks("toml")
    head, tail = whole[: whole.index("[method]")], whole[whole.index("[output]") :]
    head = head.replace("[columns.age]", '[columns.illness]\nrole = "identifier"\n[columns.age]')
    plans = [whole.replace(whole[: whole.index("[method]")], head), *(head + method + tail for method in methods)]
    assert len(plans) == 3
    for number, plan in enumerate(plans):
        (tmp_path / "patients.ledger").unlink(missing_ok=True)
        Ledger.create(tmp_path / "patients.ledger", m=30_000, k=20)
        (tmp_path / f"{number}.toml").write_text(plan)
        content = shoal.release(tmp_path / f"{number}.toml", overwrite=True).certificate
        assert content["guarantee"]["m"] in (30_000, 4 * 9000 - 3999)
        assert content["released"] > 1000


def test_commands_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_patients(tmp_path)
    monkeypatch.chdir(tmp_path)
    (block,) = blocks("console")
    commands = [shlex.split(line.removeprefix("$ ")) for line in block.splitlines()]
    assert len(commands) == 8
    for command in commands:
        monkeypatch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit) as ended:
            run()
        assert ended.value.code == 0, capsys.readouterr().err
    assert Ledger.open("patients.ledger").status().entries == 5
