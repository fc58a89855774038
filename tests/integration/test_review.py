"""Recipients of releases, and reviews of plans."""

from __future__ import annotations

import json
import tomllib
from datetime import date

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app
from shoal.errors import PlanError
from shoal.plan.plan import Plan
from shoal.plan.review import (
    Recipient,
    Review,
    decisions_about_columns,
    digest_of_promise,
    record_review,
    with_review,
)
from tests.builders.errors import has_code

ROWS = 120
TABLE = pa.table({
    "age": [20 + n % 30 for n in range(ROWS)], "sex": ["m", "f"] * (ROWS // 2),
    "diagnosis": [("flu", "gout", "asthma")[n % 3] for n in range(ROWS)],
})  # fmt: skip


def k_of(text):
    return next(model["k"] for model in tomllib.loads(text)["models"] if model["name"] == "k-anonymity")


def test_the_recipient_decides_the_size_of_groups():
    assert k_of(shoal.draft(TABLE, recipient="public", rehearse=False).text) == 11
    assert k_of(shoal.draft(TABLE.drop_columns(["diagnosis"]), recipient="public", rehearse=False).text) == 5
    assert k_of(shoal.draft(TABLE, recipient="researchers", rehearse=False).text) == 5
    assert k_of(shoal.draft(TABLE, recipient=Recipient("colleagues", signed=True), rehearse=False).text) == 3
    assert k_of(shoal.draft(TABLE, recipient="public", k=7, rehearse=False).text) == 7
    assert shoal.draft(TABLE, recipient="public", rehearse=False).plan.recipient == Recipient("public")
    with pytest.raises(PlanError):
        shoal.draft(TABLE, recipient="nobody", rehearse=False)


def write_plan(folder):
    import pyarrow.csv

    pyarrow.csv.write_csv(TABLE, folder / "t.csv")
    drafted = shoal.draft(folder / "t.csv", folder=folder, rehearse=False)
    return drafted.save(folder / "plan.toml")


def test_release_of_a_draft_warns(tmp_path):
    plan = write_plan(tmp_path)
    made = shoal.release(plan)
    assert made.certificate["review"] == {"status": "draft"}
    assert [warning["code"] for warning in made.warnings].count("unreviewed") == 1
    assert "review" not in made.certificate["plan"]


def test_a_review_is_recorded_and_a_change_shows(tmp_path):
    plan = write_plan(tmp_path)
    before = plan.read_text()
    listed = CliRunner().invoke(app, ["review", str(plan), "--json"])
    assert json.loads(listed.stdout)["status"] == "draft"
    assert plan.read_text() == before
    assert CliRunner().invoke(app, ["review", str(plan), "--by", "A. Reader"]).exit_code == 0
    loaded = Plan.read(plan)
    assert (loaded.review.by, loaded.review_status) == ("A. Reader", "reviewed")
    made = shoal.release(plan)
    assert made.certificate["review"] == {"status": "reviewed"}
    assert "unreviewed" not in [warning["code"] for warning in made.warnings]
    assert "A. Reader" not in made.certificate.to_json()
    assert loaded.with_(k=4).review_status == "changed"
    assert loaded.with_(seed=3).review_status == "reviewed"
    assert plan.read_text().count("[review]") == 1
    assert Plan.from_dict(loaded.to_dict(), tmp_path).review == loaded.review


def test_a_review_replaces_the_section_and_nothing_else():
    text = 'a = 1\n\n[review]\nstatus = "draft"   # note\n\n[output]\npath = "x.csv"\n'
    changed = with_review(text, {"status": "reviewed", "by": "x"})
    assert tomllib.loads(changed) == {
        "a": 1, "review": {"status": "reviewed", "by": "x"}, "output": {"path": "x.csv"},
    }  # fmt: skip
    assert tomllib.loads(with_review("a = 1\n", {"status": "draft"})) == {"a": 1, "review": {"status": "draft"}}


def test_review_needs_reader_and_digest():
    with pytest.raises(PlanError, check=has_code("plan.review-incomplete")):
        Review("reviewed", by="x")
    one = {"columns": {"a": {"role": "other"}}, "models": [], "seed": 1}
    assert digest_of_promise(one) == digest_of_promise({**one, "seed": 2})
    assert digest_of_promise(one) != digest_of_promise({**one, "models": [{"name": "k-anonymity", "k": 5}]})


MODEL = '[[models]]\nname = "k-anonymity"\nk = 2\n'


def test_a_hierarchy_file_counts_by_its_rows(tmp_path):
    """A plan that moves stays reviewed; a changed file shows."""
    (tmp_path / "h.csv").write_text("a;x;*\nb;x;*\n")
    (tmp_path / "below").mkdir()
    text = '[columns.a]\nrole = "quasi-identifier"\nhierarchy = { csv = "h.csv" }\n' + MODEL
    reviewed = record_review(text, Plan.from_toml(text, tmp_path), " A. Reader ", date(2026, 11, 18))
    loaded = Plan.from_toml(reviewed, tmp_path)
    assert (loaded.review.by, loaded.review.on, loaded.review_status) == ("A. Reader", "2026-11-18", "reviewed")
    assert Plan.from_toml(reviewed.replace("h.csv", "../h.csv"), tmp_path / "below").review_status == "reviewed"
    (tmp_path / "h.csv").write_text("a;x;*\nb;y;*\n")
    assert Plan.from_toml(reviewed, tmp_path).review_status == "changed"
    with pytest.raises(PlanError) as refusal:
        record_review(text, loaded, " ", date(2026, 11, 18))
    assert refusal.value.code == "plan.review-without-name"


def test_the_shortest_list_of_decisions_comes_first():
    roles = {"a": "quasi-identifier", "b": "sensitive", "c": "quasi-identifier", "d": "drop", "e": "drop"}
    text = "".join(f'[columns.{name}]\nrole = "{role}"\n' for name, role in roles.items())
    text += '[columns.f]\nrole = "quasi-identifier"\n' + MODEL
    assert decisions_about_columns(Plan.from_toml(text)) == [
        ("sensitive", ("b",)), ("drop", ("d", "e")), ("quasi-identifier", ("a", "c", "f")),
    ]  # fmt: skip
