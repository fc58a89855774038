"""Recodings saved for the next delivery.

They are carried over, verified again, and attacked in combination with the release before.
"""

from __future__ import annotations

import csv
import json

import pytest

import shoal
from shoal.errors import InfeasibleError, OutputError, PlanError
from tests.builders.errors import has_code
from tests.builders.plans import write_plan

INTERVALS = {"intervals": [5, 20]}
DIGITS = {"prefix": True}
SUPPRESSING = {"name": "full-domain", "suppression": 0.1}


def write_delivery(folder, rows, name="plan", output="released", method=SUPPRESSING, age=INTERVALS, zip_code=DIGITS):
    """Write a delivery and its plan.

    ``age`` and ``zip_code`` are hierarchies; an age without one is another column.
    """
    return write_plan(
        folder,
        table="age,zip,illness\n" + "".join(f"{a},{z},{i}\n" for a, z, i in rows),
        columns={
            "age": {"role": "quasi-identifier", "hierarchy": age} if age else "other",
            "zip": {"role": "quasi-identifier", "hierarchy": zip_code},
            "illness": "sensitive",
        },
        models="k-anonymity k=3",
        method=method,
        source=f"{name}.csv",
        output=f"{output}.csv",
        name=name,
    )


FIRST = [(20 + n % 10, 14240 + n % 3, "abcd"[n % 4]) for n in range(40)]
NEXT = [(20 + n % 10, 14240 + n % 3, "abcd"[n % 4]) for n in range(60)]


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_next_delivery_at_the_same_levels(tmp_path):
    first = shoal.release(write_delivery(tmp_path, FIRST, "first", "one"), save_recoding=True)
    saved = json.loads((tmp_path / "one.recoding").read_text())
    assert saved["levels"] == first.figures["levels"]
    assert saved["release"]["sha256"] == first.figures["output"]["sha256"]
    text = (tmp_path / "one.recoding").read_text()
    assert "1424" not in text
    plan = write_delivery(tmp_path, NEXT, "second", "two", "mondrian")
    second = shoal.release(plan, recoding=tmp_path / "one.recoding", previous=tmp_path / "one.csv")
    assert second.figures["levels"] == first.figures["levels"]
    assert second.figures["method"]["name"] == "levels"
    assert len(second.figures["method"]["recoding_sha256"]) == 64
    assert all(model["holds"] for model in second.figures["models"])
    labels = {(row["age"], row["zip"]) for row in rows_of(tmp_path / "two.csv")}
    assert {(row["age"], row["zip"]) for row in rows_of(tmp_path / "one.csv")} <= labels
    both = second.figures["intersection"]
    assert (both["people"], both["exposed"], both["crowd_below"]) == (60, 0, 3)
    assert both["smallest_crowd"] >= 3


def test_reused_recoding_is_verified_again(tmp_path):
    """A rare person is suppressed within the limit and refused beyond it."""
    shoal.release(write_delivery(tmp_path, FIRST, "first", "one"), save_recoding=True)
    rare = [*FIRST, (95, 99999, "a")]
    plan = write_delivery(tmp_path, rare, "rare", "two")
    release = shoal.release(plan, recoding=tmp_path / "one.recoding")
    assert release.figures["suppressed"] == 1
    strict = write_delivery(tmp_path, rare, "strict", "three", "full-domain")
    with pytest.raises(InfeasibleError, match="At these levels"):
        shoal.release(strict, recoding=tmp_path / "one.recoding")
    assert not (tmp_path / "three.csv").exists()


def test_intersection_attack_by_hand(tmp_path):
    """Two releases with groups of 3 leave crowds of 2, 1, 1 and 2.

    One release shows ages and hides zip codes, the next does the opposite: each has groups of 3 and 3.
    """
    people = [(20, 14240), (21, 14240), (22, 14241), (25, 14240), (26, 14241), (27, 14241)]
    rows = [(age, code, "ab"[n % 2]) for n, (age, code) in enumerate(people)]
    shoal.release(write_delivery(tmp_path, rows, "ages", "one", {"name": "levels", "levels": {"age": 1, "zip": 5}}))
    codes = write_delivery(tmp_path, rows, "codes", "two", {"name": "levels", "levels": {"age": 3, "zip": 0}})
    release = shoal.release(codes, previous=tmp_path / "one.csv")
    assert release.figures["smallest_group"] == 3
    assert release.figures["intersection"] == {
        "people": 6, "exposed": 6, "crowd_below": 3, "smallest_crowd": 1, "left_out": 0,
    }  # fmt: skip


def test_local_recoding_cannot_be_saved(tmp_path):
    plan = write_delivery(tmp_path, FIRST, method="mondrian")
    with pytest.raises(PlanError, match="local"):
        shoal.release(plan, save_recoding=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plan.csv", "plan.toml"]


def test_mismatched_plans_are_refused(tmp_path):
    shoal.release(write_delivery(tmp_path, FIRST, "first", "one"), save_recoding=True)
    saved = tmp_path / "one.recoding"
    longer = write_delivery(tmp_path, [(a, z * 10, i) for a, z, i in FIRST], "longer", "two")
    with pytest.raises(PlanError, check=has_code("saved-recoding.other-levels", column="zip", expected=5, found=6)):
        shoal.release(longer, recoding=saved)
    fixed = write_delivery(tmp_path, NEXT, "fixed", "two", zip_code={"prefix": True, "length": 5})
    assert shoal.release(fixed, recoding=saved).figures["released"] == 60
    with pytest.raises(OutputError, match="exists"):
        shoal.release(write_delivery(tmp_path, FIRST, "first", "one"), save_recoding=True)
    other = write_delivery(tmp_path, NEXT, "other", "four", zip_code={"prefix": True, "length": 5}, age=None)
    with pytest.raises(PlanError, match="differ in 'age'"):
        shoal.release(other, recoding=saved)


def test_changed_rule_of_the_same_height_is_refused(tmp_path):
    """A level must mean the same in both releases.

    At level 1 the first release shows ages by 5; the next would show them by 10.
    """
    shoal.release(write_delivery(tmp_path, FIRST, "first", "one"), save_recoding=True)
    plan = write_delivery(tmp_path, NEXT, "second", "two", age={"intervals": [10, 20]})
    with pytest.raises(PlanError, check=has_code("saved-recoding.other-hierarchy", column="age")):
        shoal.release(plan, recoding=tmp_path / "one.recoding")
    assert not (tmp_path / "two.csv").exists()
    write_delivery(tmp_path, NEXT, "second", "two", age={"intervals": [5.0, 20.0]})  # another way to write the same
    assert shoal.release(plan, recoding=tmp_path / "one.recoding").figures["released"] > 0
    ages = sorted({row["age"] for row in rows_of(tmp_path / "second.csv")})
    tree = {"all": {"some": ages[:2], "others": ages[2:]}}
    write_delivery(tmp_path, NEXT, "second", "two", age={"tree": tree})  # a list instead of a rule
    with pytest.raises(PlanError, check=has_code("saved-recoding.other-hierarchy", column="age")):
        shoal.release(plan, recoding=tmp_path / "one.recoding", overwrite=True)
    write_delivery(tmp_path, NEXT, "second", "two", age={"intervals": [10, 20]})
    older = json.loads((tmp_path / "one.recoding").read_text())
    del older["rules"]  # as saved by versions without rules
    (tmp_path / "older.recoding").write_text(json.dumps(older))
    assert shoal.release(plan, recoding=tmp_path / "older.recoding", overwrite=True).figures["released"] > 0


def test_growing_trees_and_other_date_formats_are_accepted(tmp_path):
    def plan(name, towns, form, dates):
        rows = "".join(f"{town},{date}\n" for town in towns for date in dates for _ in range(4))
        hierarchies = {"town": {"tree": {"all": towns}}, "day": {"dates": ["month", "year"], **form}}
        return write_plan(
            tmp_path,
            table=f"town,day\n{rows}",
            columns={column: {"role": "quasi-identifier", "hierarchy": h} for column, h in hierarchies.items()},
            models="k-anonymity k=3",
            source=f"{name}.csv",
            output=f"{name}-released.csv",
            name=name,
        )

    shoal.release(plan("one", ["A", "B"], {}, ["2024-01-05", "2024-02-07"]), save_recoding=True)
    other = plan("two", ["A", "B", "C"], {"format": "%d.%m.%Y"}, ["05.03.2024", "07.04.2024"])
    release = shoal.release(other, recoding=tmp_path / "one-released.recoding")
    assert release.figures["released"] == 24


@pytest.mark.parametrize(
    "content",
    ["", "{}", "[]", '{"format": "shoal recoding 1"}', '{"format": "x", "levels": {}, "heights": {}}',
     '{"format": "shoal recoding 1", "levels": {"age": "1"}, "heights": {"age": 1}}', "\xff"],
)  # fmt: skip
def test_invalid_recoding_files(tmp_path, content):
    plan = write_delivery(tmp_path, FIRST)
    (tmp_path / "x.recoding").write_text(content, encoding="latin-1")
    with pytest.raises(PlanError, match="not a recoding"):
        shoal.release(plan, recoding=tmp_path / "x.recoding")
    with pytest.raises(PlanError, match="cannot be read"):
        shoal.release(plan, recoding=tmp_path / "absent.recoding")


def test_command(tmp_path, monkeypatch, capsys):
    from shoal.cli.app import app

    monkeypatch.chdir(tmp_path)
    write_delivery(tmp_path, FIRST, "first", "one")
    write_delivery(tmp_path, NEXT, "second", "two")
    app(["release", "first.toml", "--save-recoding"], standalone_mode=False)
    app(["release", "second.toml", "--recoding", "one.recoding", "--previous", "one.csv"], standalone_mode=False)
    assert "0 of 60 people are left in a crowd of fewer than 3" in " ".join(capsys.readouterr().out.split())
