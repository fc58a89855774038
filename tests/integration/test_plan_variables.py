"""Variables of a plan: used, and never disclosed."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import shoal
from shoal.errors import PlanError
from shoal.plan.plan import Plan
from shoal.plan.variables import apply_changes, mask_values

PLAN = """
[source]
path = "${SECRET_PLACE}/people.csv"
[columns]
age = { role = "quasi-identifier" }
note = { role = "other" }
[[models]]
name = "k-anonymity"
k = 2
[output]
path = "${SECRET_PLACE}/${X}.csv"
report = true
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    folder = tmp_path / "geheim"
    folder.mkdir()
    (folder / "people.csv").write_text("age,note\n1,${X}\n1,b\n2,c\n2,d\n")
    (tmp_path / "plan.toml").write_text(PLAN)
    monkeypatch.setenv("SECRET_PLACE", str(folder))
    monkeypatch.setenv("X", "r7")
    return folder


def run(*given):
    code = "import shoal.cli; shoal.cli.main()"
    return subprocess.run([sys.executable, "-c", code, *map(str, given)], capture_output=True, text=True)


def test_no_output_discloses_the_value_of_a_variable(folder, tmp_path):
    shoal.release(tmp_path / "plan.toml")
    assert "${X}" in (folder / "r7.csv").read_text()  # values of records are not part of the plan
    for document in ("r7.certificate.json", "r7.report.html"):
        text = (folder / document).read_text()
        assert "r7.csv" not in text
        assert "geheim" not in text
    certificate = json.loads((folder / "r7.certificate.json").read_text())
    assert certificate["output"]["name"] == "${X}.csv"
    assert "output" not in certificate["plan"]


def test_errors_and_logs_show_the_name_of_a_variable(folder, tmp_path):
    (folder / "people.csv").unlink()
    done = run("release", tmp_path / "plan.toml", "--log-json", tmp_path / "log")
    assert done.returncode == 2
    assert "${SECRET_PLACE}" in done.stderr
    events = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [event["event"] for event in events] == ["started", "step", "failed"]
    assert events[-1]["exit_status"] == 2
    assert "geheim" not in done.stderr + (tmp_path / "log").read_text()


def test_library_errors_and_json_show_the_name_too(folder, tmp_path):
    done = run("release", tmp_path / "plan.toml", "--json")
    assert json.loads(done.stdout)["output"] == "${SECRET_PLACE}/r7.csv"  # r7 is too short to be masked
    (folder / "people.csv").unlink()
    with pytest.raises(shoal.errors.TableError) as caught:
        shoal.release(tmp_path / "plan.toml", overwrite=True)
    assert "${SECRET_PLACE}" in str(caught.value)
    assert "geheim" not in repr(caught.value)


def test_set_option_and_logged_steps(folder, tmp_path):
    done = run("release", tmp_path / "plan.toml", "--log-json", tmp_path / "log", "--set", "columns.note.role=drop",
               "--set", "output.report=false")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (folder / "r7.csv").read_text() == "age\n1\n1\n2\n2\n"
    assert not (folder / "r7.report.html").exists()
    events = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert (events[0]["event"], events[-1]["event"]) == ("started", "done")
    assert "verifying" in [event.get("step") for event in events]


@pytest.mark.parametrize("text", ["${NOT_SET_AT_ALL}", "${a b}", "${}"])
def test_unset_and_malformed_variables_are_refused(text):
    with pytest.raises(PlanError, match="variable"):
        Plan.from_dict({"source": {"path": text}, "columns": {"a": {"role": "quasi-identifier"}}})


def test_doubled_dollar_sign_is_plain_text():
    made = Plan.from_dict(
        {"source": {"path": "$${X}.csv"}, "columns": {"a": "quasi-identifier"}, "models": ["k-anonymity k=2"]}
    )
    assert made.source.path.name == "${X}.csv"


def test_variables_in_paths_of_hierarchies_and_methods(folder, monkeypatch):
    """Values of the table are data and have no variables."""
    (folder / "geheim-tree.csv").write_text("1;low\n2;low\n")
    monkeypatch.setenv("TREE", "geheim-tree")
    document = {
        "columns": {
            "age": {"role": "quasi-identifier", "hierarchy": {"csv": "${SECRET_PLACE}/${TREE}.csv"}},
            "note": {"role": "sensitive", "categories": [["${X}"], ["b"]]},
        },
        "models": ["k-anonymity k=2"],
        "method": {"name": "population-grid", "k": 5, "ledger": "${SECRET_PLACE}/ledger"},
    }  # fmt: skip
    plain = Plan.from_dict({**document, "method": {"name": "full-domain"}})
    assert plain.columns["note"].categories.classes == (("${X}",), ("b",))
    assert plain.to_certificate_dict()["columns"]["age"]["hierarchy"] == {"csv": "${TREE}.csv"}
    assert "geheim" not in str(plain.to_certificate_dict())


@pytest.mark.parametrize(
    "wrong",
    [
        {"models": [{"name": "k-anonymity", "k": "${X}"}]},
        {"columns": {"a": {"role": "${X}"}}},
        {"columns": {"a": {"role": "quasi-identifier", "hierarchy": {"intervals": ["${X}"]}}}},
        {"seed": "${X}"},
    ],
)
def test_variable_in_a_wrong_key_is_refused(wrong, monkeypatch):
    """The error recommends ``--set``."""
    monkeypatch.setenv("X", "secret")
    right = {"columns": {"a": "quasi-identifier"}, "models": ["k-anonymity k=2"]}
    with pytest.raises(PlanError, match=r"\$\{NAME\} is no variable: set such a value by --set") as caught:
        Plan.from_dict({**right, **wrong})
    assert "secret" not in str(caught.value)
    with pytest.raises(PlanError) as caught:
        Plan.from_dict({**right, "seed": "x"})
    assert "--set" not in str(caught.value)


def test_short_values_are_masked_in_quotes(monkeypatch):
    monkeypatch.setenv("X", "5")
    with pytest.raises(PlanError, match=r"Found '\$\{X\}'"):
        Plan.from_dict({"columns": {"a": "quasi-identifier"}, "models": ["k-anonymity k=2"],
                        "method": {"name": "full-domain", "suppression": "${X}"}})  # fmt: skip


@pytest.mark.parametrize("text", ["$${X}/$$${Y", "a$${b"])
def test_plan_with_dollar_signs_round_trip(text, monkeypatch):
    monkeypatch.setenv("Y", "no")
    given = {"columns": {"a": "quasi-identifier", "${a}": "drop"}, "models": ["k-anonymity k=2"]}
    made = Plan.from_dict({"source": {"path": f"{text}.csv"}, **given})
    assert Plan.from_toml(made.to_toml()) == made
    assert "${" in made.source.path.as_posix()


@pytest.mark.parametrize("change", ["x", "=3", "a b=3", ""])
def test_malformed_changes_are_refused(change):
    with pytest.raises(PlanError, match="KEY=VALUE"):
        apply_changes({}, [change])


def test_change_affects_its_key_only():
    """A value may come from elsewhere, such as the name of a file."""
    for value in ("1\noutput.overwrite=true", "'a'\n[output]\noverwrite = true", '"a"\r\nseed = 3'):
        assert apply_changes({}, [f"source.path={value}"]) == {"source": {"path": value}}
    assert apply_changes({}, ["source.missing=['a',\n 'b']"]) == {"source": {"missing": ["a", "b"]}}
    with pytest.raises(PlanError, match="KEY=VALUE"):
        apply_changes({}, ["seed\nk = 1\nx=3"])


def test_recursive_values_are_refused():
    around: list[object] = []
    around.append(around)
    deep: list[object] = []
    for _ in range(5000):
        deep = [deep]
    for value in (around, deep):
        with pytest.raises(PlanError, match="'k' must be"):
            Plan.from_dict({"columns": {"a": "drop"}, "models": [{"name": "k-anonymity", "k": value}]})


def test_changes_reach_into_sections_and_replace_lists():
    document = {"models": [{"name": "k-anonymity", "k": 2}], "columns": {"a b": {"role": "other"}}}
    changes = ['models=[{name="k-anonymity", k=9}]', 'columns."a b".role=drop']
    assert apply_changes(document, changes) == {
        "models": [{"name": "k-anonymity", "k": 9}],
        "columns": {"a b": {"role": "drop"}},
    }
    assert mask_values("nothing") == "nothing"
