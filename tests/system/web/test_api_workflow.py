"""Workflow through the API.

The API does what the page does, and the command line repeats it with the same bytes.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from shoal.errors import HierarchyError, PlanError
from shoal.web.api import ENDPOINTS, openapi
from shoal.web.plan_edits import (
    apply_changes,
    classes_to_text,
    find_syntax_error,
    hierarchy_from_text,
    hierarchy_to_text,
    locate,
)
from shoal.web.translations import SENTENCES, TEXTS, translate_error, translate_sentence
from tests.builders.plans import write_plan
from tests.builders.server import Server, slow_project

STEPS = (
    "table", "columns", "hierarchies", "promise", "review", "run", "explore", "compare", "attack", "publish"
)  # fmt: skip
SHOAL = [sys.executable, "-c", "from shoal.cli import main; main()"]


def new_patients(server):
    return server.json("POST", "/api/projects", {"sample": "patients"})["project"]


def test_page_release_has_the_bytes_of_the_command_line(server, tmp_path):
    project = new_patients(server)
    folder = server.root / "shoal-projects" / project
    answer = server.act(project, action="release")
    assert answer["state"] == "done", answer
    assert (answer["result"]["released"], answer["result"]["smallest_group"]) == (12, 4)
    made = folder / "releases" / "1"
    # the project's plan, run in the project's folder
    subprocess.run(
        [*SHOAL, "release", "plan.toml", "--save-recoding", "--quiet"], cwd=folder, check=True, capture_output=True
    )
    # and the plan of the release, with paths relative to its folder
    subprocess.run([*SHOAL, "release", str(made / "plan.toml"), "--overwrite", "--save-recoding", "--quiet"],
                   cwd=tmp_path, check=True, capture_output=True)  # fmt: skip
    names = ["released.csv", "released.certificate.json", "released.report.html", "released.recoding"]
    for name in names:
        assert (folder / name).read_bytes() == (made / name).read_bytes(), name
        assert server.ask("GET", f"/api/projects/{project}/releases/1/files/{name}")[2] == (folder / name).read_bytes()


def test_publishing_is_whole_and_needs_overwrite(server):
    project = new_patients(server)
    server.act(project, action="release")
    folder = server.root / "shoal-projects" / project
    written = server.json("POST", f"/api/projects/{project}/releases/1/publish", {})["written"]
    assert f"shoal-projects/{project}/released.csv" in written
    assert (folder / "releases" / "1" / "released.recoding").exists()
    assert not (folder / "released.recoding").exists()  # it is the owner's
    for name in ("released.csv", "released.certificate.json", "released.report.html"):
        assert (folder / name).read_bytes() == (folder / "releases" / "1" / name).read_bytes()
    assert server.ask("POST", f"/api/projects/{project}/releases/1/publish", {})[0] == 422
    assert server.ask("POST", f"/api/projects/{project}/releases/1/publish", {"overwrite": True})[0] == 200


def test_workflow_for_a_table_by_path(server):
    made = server.json("POST", "/api/projects", {"path": "own.csv"})
    project = made["project"]
    assert server.finish(project, made["run"])["state"] == "done"
    assert server.json("GET", f"/api/projects/{project}")["error"] is None
    look = server.act(project, action="look")["result"]
    assert look["rows"] == 12
    assert {column["name"] for column in look["columns"]} == {"name", "age", "country", "zip", "condition"}
    assert all(sum(column["shape"]) == 12 for column in look["columns"])
    check = server.act(project, action="check")["result"]
    assert check["failing_rows"] == 12
    assert check["rehearsal"]["released"] > 0
    levels = server.act(project, action="levels", column="zip")["result"]["levels"]
    assert [level["labels"] for level in levels][-1] == 1
    assert all(sum(count for _, count, _ in level["shown"]) == 12 for level in levels)
    assert server.act(project, action="release")["state"] == "done"
    for action in ("compare", "attack"):
        answer = server.act(project, action=action, release=1)
        assert answer["state"] == "done", answer
    for step in STEPS:
        status, _, text = server.ask("GET", f"/p/{project}/{step}")
        assert status == 200, (step, text[:300])
        assert b"<h1>" in text
        assert server.ask("GET", f"/p/{project}/{step}?lang=de")[0] == 200


def test_explored_recoding_can_be_applied(server):
    project = new_patients(server)
    answer = server.act(project, action="explore", methods=["full-domain"], ks=[2, 4], seconds=60)
    assert answer["state"] == "done", answer
    released = [trial for trial in answer["result"]["trials"] if trial["outcome"] == "released"]
    assert released
    assert server.ask("GET", f"/p/{project}/explore")[0] == 200
    edge = server.act(project, action="minimal")["result"]
    assert edge["count"] >= 1
    changes = [{"set": ["method"], "value": {"name": "levels", "levels": edge["minimal"][0]["levels"]}}]
    answer = json.loads(server.ask("PATCH", f"/api/projects/{project}/plan", {"changes": changes})[2])
    assert answer["error"] is None
    assert server.act(project, action="release")["state"] == "done"


def test_upload_becomes_a_private_project(server):
    table = "age,zip\n" + "".join(f"{20 + n % 5},1{n % 3}\n" for n in range(40))
    made = server.json("POST", "/api/uploads?name=..%2F..%2Fup.csv", table)
    assert made["project"] == "up"
    folder = server.root / "shoal-projects" / "up"
    assert folder.stat().st_mode & 0o077 == 0
    assert (folder / "up.csv").stat().st_mode & 0o077 == 0
    assert server.finish("up", made["run"])["state"] == "done"


def test_change_keeps_the_rest_of_the_plan(server):
    project = new_patients(server)
    before = server.ask("GET", f"/api/projects/{project}/plan")[2].decode()
    changes = [{"set": ["models", 0, "k"], "value": 3}, {"column": "zip", "role": "other"}]
    after = server.json("PATCH", f"/api/projects/{project}/plan", {"changes": changes})
    assert "k = 3" in after["plan"]
    assert "# <30, 30..39, >=40; then <40, >=40; then *" in after["plan"]
    gone = [line for line in before.splitlines() if line not in after["plan"].splitlines()]
    assert [line.partition("=")[0].strip() for line in gone] == ["hierarchy", "k"]
    # the method still names zip: reported, and not run
    assert "zip" in after["error"]
    assert server.ask("POST", f"/api/projects/{project}/runs", {"action": "release"})[0] == 422


def test_invalid_toml_is_refused_with_its_line(server):
    project = new_patients(server)
    before = server.ask("GET", f"/api/projects/{project}/plan")[2]
    status, _, text = server.ask("PUT", f"/api/projects/{project}/plan", "[source]\npath = \n")
    assert (status, json.loads(text)["line"]) == (422, 2)
    assert server.ask("GET", f"/api/projects/{project}/plan")[2] == before


def test_events_are_numbered_and_resumed(server):
    project = new_patients(server)
    run = server.json("POST", f"/api/projects/{project}/runs", {"action": "release"})["run"]
    server.finish(project, run)

    def events(**headers):
        return server.ask("GET", f"/api/projects/{project}/runs/{run}/events", **headers)[2].decode()

    def ids(text):
        return [int(line[4:]) for line in text.splitlines() if line.startswith("id: ")]

    whole = ids(events())
    assert whole == list(range(1, len(whole) + 1))
    assert len(whole) > 3
    rest = ids(events(Authorization=f"Bearer {server.token}", Last_Event_ID="2"))
    assert rest == whole[2:]
    assert "event: end" in events(Authorization=f"Bearer {server.token}", Last_Event_ID="2")


@pytest.fixture
def slow(tmp_path):
    """Server with a plan that takes long."""
    slow_project(tmp_path)
    server = Server(tmp_path)
    yield server
    if server.process.poll() is None:
        server.stop()


def children(pid):
    found = []
    for item in Path("/proc").iterdir():
        if item.name.isdigit():
            try:
                if int((item / "stat").read_text().rpartition(")")[2].split()[1]) == pid:
                    found.append(int(item.name))
            except OSError:
                pass
    return found


def is_alive(pid):
    """Return whether a process still works.

    One that has ended and is not waited for has no command.
    """
    try:
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
    except OSError:
        return False


def begin_slow(server):
    project = server.json("POST", "/api/projects", {"path": "big.toml"})["project"]
    run = server.json("POST", f"/api/projects/{project}/runs", {"action": "release"})["run"]
    end = time.monotonic() + 60
    while time.monotonic() < end:
        answer = server.json("GET", f"/api/projects/{project}/runs/{run}")
        assert answer["state"] == "running", answer
        if answer["progress"] and answer["progress"]["step"] not in ("waiting", "reading"):
            return project, run
        time.sleep(0.05)
    raise AssertionError("the run did not begin")


def test_cancel_ends_the_run_and_leaves_nothing(slow):
    project, run = begin_slow(slow)
    start = time.monotonic()
    assert slow.ask("GET", f"/p/{project}/columns")[0] == 200
    assert time.monotonic() - start < 3  # the page answers while the run works
    assert slow.ask("DELETE", f"/api/projects/{project}/runs/{run}")[0] == 200
    assert slow.finish(project, run)["state"] == "cancelled"
    time.sleep(0.2)
    left = list((slow.root / "shoal-projects" / project / "releases").iterdir())
    assert left == []
    assert slow.json("GET", f"/api/projects/{project}")["releases"] == []


def test_killed_server_leaves_no_worker(slow):
    """The next server goes on with its projects."""
    project, _ = begin_slow(slow)
    workers = children(slow.process.pid)
    assert workers
    slow.process.send_signal(signal.SIGKILL)
    slow.process.wait(10)
    end = time.monotonic() + 20
    while time.monotonic() < end and any(map(is_alive, workers)):
        time.sleep(0.2)
    assert not any(map(is_alive, workers))
    slow.process.stdout.close()
    slow.process.stderr.close()
    again = Server(slow.root)
    try:
        assert project in again.json("GET", "/api/projects")["projects"]
        assert again.json("GET", f"/api/projects/{project}")["releases"] == []
        assert not list((again.root / "shoal-projects" / project / "releases").glob("*/*.csv"))
    finally:
        again.stop()


def test_openapi_document_names_exactly_the_routes(server):
    document = json.loads(server.ask("GET", "/api/openapi.json")[2])
    assert document == openapi()
    answer = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert answer == {(endpoint.method, f"/api{endpoint.path}") for endpoint in ENDPOINTS}
    for methods in document["paths"].values():
        for operation in methods.values():
            assert operation["summary"]
            assert "401" in operation["responses"]


def test_texts_in_both_languages_have_the_same_fields():
    import string

    for key, texts in TEXTS.items():
        parts = [{name for _, name, _, _ in string.Formatter().parse(text) if name} for text in texts]
        assert all(texts), key
        assert parts[0] == parts[1], key


def test_scripts_and_styles_are_small_and_local():
    folder = Path(__file__).parents[3] / "src" / "shoal" / "web"
    from shoal.render.style import STYLE

    files = [*(folder / "static").glob("*.js"), *(folder / "static").glob("*.css")]
    assert sum(file.stat().st_size for file in files) + len(STYLE) < 60_000
    for file in (*files, *(folder / "templates").glob("*.html")):
        text = file.read_text()
        assert "http:" not in text
        assert "https:" not in text
        assert " style=" not in text
        assert "onclick" not in text


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("intervals", "5, 10, 20"), ("intervals", "0.5, 1.0"), ("cuts", "20, 30\n30"), ("prefix", ""),
        ("prefix", "1, 3"),
        ("dates", "month, year"), ("dates", "year; %d.%m.%Y"), ("order", "low\nmid\nhigh\nfanout: 2"),
        ("tree", "Asia\n  India\n  Japan\nAmerica\n  USA"), ("tree", "World\n  Asia\n    India\n  America\n    USA"),
        ("table", "USA;America;*\nIndia;Asia;*"), ("csv", "h.csv"), ("flat", ""),
    ],
)  # fmt: skip
def test_hierarchy_text_round_trip(kind, text):
    entry = hierarchy_from_text(kind, text)
    assert hierarchy_to_text(entry) == (kind, text)
    plan = '[columns.a]\nrole = "quasi-identifier"   # kept\n[[models]]\nname = "k-anonymity"\nk = 2\n'
    changed = apply_changes(plan, [{"column": "a", "kind": kind, "text": text}])
    import tomllib

    assert tomllib.loads(changed)["columns"]["a"]["hierarchy"] == entry
    assert "# kept" in changed


def test_invalid_changes_are_refused():
    plan = '[columns.a]\nrole = "other"\n'
    for change in ({"set": ["models", 3, "k"], "value": 1}, {"column": "b", "role": "other"}, {"set": []}, {}):
        with pytest.raises(PlanError):
            apply_changes(plan, [change])
    assert find_syntax_error(plan) is None
    assert find_syntax_error("a = [")["line"] == 1


def test_first_page_comes_soon_after_the_start(tmp_path):
    start = time.monotonic()
    server = Server(tmp_path)
    printed = time.monotonic() - start
    try:
        assert server.ask("GET", "/")[0] == 200
        # generous: machines under load; docs/web.md has the figures of a quiet one
        assert time.monotonic() - start - printed < 5
    finally:
        server.stop()


def test_hostile_table_is_escaped(server):
    evil = "<script>document.title='harmed'</script>"
    rows = "".join(f"{20 + n % 3},{evil},{'w' * 400},x\n" for n in range(12))
    (server.root / "evil.csv").write_text(f'age,{evil},"a\'""b",\u202eevil\n{rows}', encoding="utf-8")
    made = server.json("POST", "/api/projects", {"path": "evil.csv"})
    project = made["project"]
    assert server.finish(project, made["run"])["state"] == "done"
    assert server.act(project, action="look")["state"] == "done"
    for step in ("table", "columns", "hierarchies", "promise", "run"):
        text = server.ask("GET", f"/p/{project}/{step}")[2].decode()
        assert "<script>document" not in text
        visible = re.sub(r"<textarea.*?</textarea>|<[^>]*>", "", text, flags=re.DOTALL)
        assert "\u202e" not in visible


def test_two_samples_are_two_projects(server):
    one, other = new_patients(server), new_patients(server)
    assert one != other
    changes = {"changes": [{"set": ["models", 0, "k"], "value": 2}]}
    server.json("PATCH", f"/api/projects/{one}/plan", changes)
    assert "k = 2" in server.json("GET", f"/api/projects/{one}")["plan"]
    assert "k = 4" in server.json("GET", f"/api/projects/{other}")["plan"]


@pytest.mark.parametrize(
    ("error", "line", "step", "column"),
    [
        (PlanError("x", where=("columns", "zip", "role")), 5, "columns", "zip"),
        (PlanError("x", where=("columns", "zip")), 4, "columns", "zip"),
        (PlanError("x", where=("columns", "age", "hierarchy")), 3, "hierarchies", "age"),
        (HierarchyError("x", where=("columns", "age")), 1, "hierarchies", "age"),
        (PlanError("x", where=("models",)), 7, "promise", None),
        (PlanError("x", where=("models", "p-sensitive", "p")), 12, "promise", None),
        (PlanError("x", where=("models", "0", "k")), 9, "promise", None),
        (PlanError("x", where=("models", "1", "p")), 12, "promise", None),
        (PlanError("x", where=("keys", "1", "k")), 20, "promise", None),
        (PlanError("x", where=("method", "foo")), 14, "run", None),
        (PlanError("x", where=("method", "other")), 13, "run", None),
        (PlanError("x", where=("output", "path")), None, None, None),
        (PlanError("x"), None, None, None),
    ],
)
def test_line_step_and_column_of_an_error(error, line, step, column):
    text = (
        '[columns.age]\nrole = "quasi-identifier"\nhierarchy = { flat = true }\n[columns.zip]\nrole = "nothing"\n\n'
        '[[models]]\nname = "k-anonymity"\nk = 2\n[[models]]\nname = "p-sensitive"\np = 2\n[method]\nfoo = 1\n'
        '[[keys]]\ncolumns = ["age"]\nk = 2\n[[keys]]\ncolumns = ["zip"]\nk = 1\n'
    )
    found = locate(text, error)
    assert (found and found.line, found and found.step, found and found.column) == (line, step, column)


def test_brackets_within_a_string_are_no_section():
    text = 'title = """\n[...]\n"""\n[method]\nname = "mondrian"\n'
    assert locate(text, PlanError("x", where=("method",))).line == 4


def test_error_comes_with_its_line(server):
    project = new_patients(server)
    changes = [{"column": "age", "kind": "cuts", "text": "40\n30, 40"}]
    answer = server.json("PATCH", f"/api/projects/{project}/plan", {"changes": changes})
    assert answer["error"]
    assert "cuts" in answer["plan"].splitlines()[answer["line"] - 1]
    page = server.ask("GET", f"/p/{project}/hierarchies?column=age")[2].decode()
    assert f'data-line="{answer["line"]}"' in page
    assert 'class="warn"' in page  # next to its field too


@pytest.mark.parametrize("text", ["1\n  HIV\n  Cancer\n2\n  Flu", "grave\n  HIV\nharmless\n  Flu\n  Cold"])
def test_classes_text_round_trip(text):
    import tomllib

    plan = '[columns.ill]\nrole = "sensitive"   # kept\n'
    section = tomllib.loads(apply_changes(plan, [{"column": "ill", "classes": text}]))["columns"]["ill"]
    assert classes_to_text(section) == text
    assert sum(map(len, section["categories"])) == 3
    with pytest.raises(PlanError):
        apply_changes(plan, [{"column": "ill", "classes": "empty class"}])


def test_classes_are_published_by_a_choice(server):
    """Choose on the page that a sensitive column shows its classes."""
    import tomllib

    project = new_patients(server)
    page = f"/p/{project}/hierarchies?column=condition"
    assert 'id="published"' in server.ask("GET", page)[2].decode()
    text = '[columns.ill]\nrole = "sensitive"\ncategories = [["HIV"], ["Flu"]]\n'
    chosen = apply_changes(text, [{"set": ["columns", "ill", "publish"], "value": "categories"}])
    assert tomllib.loads(chosen)["columns"]["ill"]["publish"] == "categories"
    removed = apply_changes(chosen, [{"column": "ill", "classes": ""}])
    assert tomllib.loads(removed)["columns"]["ill"] == {"role": "sensitive"}


def test_every_method_has_a_sentence_on_the_page():
    from shoal.methods import METHODS

    ours = [name for name, method in METHODS.items() if method.__module__.startswith("shoal.")]
    assert len(ours) > 15
    assert [name for name in ours if f"method.{name}" not in TEXTS] == []


def test_changes_of_key_sets_and_known(server):
    project = new_patients(server)
    changes = [{"set": ["keys"], "value": [{"columns": ["age", "country"], "k": 3}]}]
    changes.append({"set": ["keys", "+"], "value": {"columns": ["zip"], "k": 2}})
    answer = server.json("PATCH", f"/api/projects/{project}/plan", {"changes": changes})
    assert answer["error"] is None
    assert answer["plan"].count("[[keys]]") == 2
    page = server.ask("GET", f"/p/{project}/promise")[2].decode()
    assert 'id="key-1-2" data-key-set="1" value="zip" checked' in page
    assert 'id="knows-keys"' in page
    gone = [{"set": ["keys"], "value": None}, {"set": ["models", 0, "known"], "value": 2}]
    answer = server.json("PATCH", f"/api/projects/{project}/plan", {"changes": gone})
    assert "keys" not in answer["plan"]
    assert "known = 2" in answer["plan"]


def test_stopped_exploration_keeps_finished_trials(server):
    project = new_patients(server)
    job = {"action": "explore", "methods": ["full-domain", "mondrian"], "ks": [2, 3, 4, 5, 6, 8, 10, 12]}
    run = server.json("POST", f"/api/projects/{project}/runs", job)["run"]
    end = time.monotonic() + 120
    while time.monotonic() < end:
        answer = server.json("GET", f"/api/projects/{project}/runs/{run}")
        if answer["state"] != "running" or (answer["partial"] or {}).get("trials"):
            break
        time.sleep(0.05)
    assert answer["state"] == "running", "it was over before it could be stopped"
    lanes = answer["partial"]["lanes"]
    assert len(lanes) == 17  # with the plan's own method
    assert {lane["state"] for lane in lanes} <= {"waiting", "running", "released", "infeasible", "refused"}
    assert any(lane["loss"] is not None for lane in lanes)
    server.ask("DELETE", f"/api/projects/{project}/runs/{run}")
    answer = server.finish(project, run)
    assert (answer["state"], answer["result"]["stopped"]) == ("done", True)
    assert 0 < len(answer["result"]["trials"]) < 16
    assert b"Use this" in server.ask("GET", f"/p/{project}/explore")[2]


def test_failing_rows_of_each_level(server):
    """Failing rows with one column at a level.

    They are counted again on a table that has the labels instead of the values.
    """
    table = "age,sex\n" + "".join(f"{20 + n},{'m' if n % 2 else 'f'}\n" for n in range(20))
    made = server.json("POST", "/api/uploads?name=brings.csv", table)
    project = made["project"]
    server.finish(project, made["run"])
    text = (
        '[source]\npath = "brings.csv"\n[columns.age]\nrole = "quasi-identifier"\nhierarchy = { intervals = [4, 8] }\n'
        '[columns.sex]\nrole = "quasi-identifier"\n[[models]]\nname = "k-anonymity"\nk = 3\n'
        '[output]\npath = "out.csv"\n'
    )
    server.ask("PUT", f"/api/projects/{project}/plan", text)
    answer = server.act(project, action="levels", column="age")["result"]
    ages = range(20, 40)
    for level, width in enumerate((1, 4, 8, 100)):
        groups = [(age // width, age % 2) for age in ages]
        failing = sum(groups.count(group) < 3 for group in groups)
        assert answer["levels"][level]["failing"] == failing
    assert [answer["levels"][level]["failing"] for level in (0, 1)] == [20, 20]
    assert answer["bars"] == [[float(age), 1] for age in ages]


def test_large_table_is_tried_on_a_sample(tmp_path):
    from shoal.datasets.census import write_census

    write_census(tmp_path / "many.parquet", 6_000)
    server = Server(tmp_path)
    try:
        made = server.json("POST", "/api/projects", {"path": "many.parquet"})
        server.finish(made["project"], made["run"])
        answer = server.act(made["project"], action="check")["result"]
        assert answer["rows"] == 6_000
        assert answer.get("hard") or (answer["rehearsal"]["sampled"] and answer["rehearsal"]["rows"] == 5_000)
        page = server.ask("GET", f"/p/{made['project']}/columns")[2].decode()
        assert "sample of 5,000 rows" in page or "sample of the rows" in page
    finally:
        server.stop()


def test_shapes_are_in_the_order_of_numbers_and_dates():
    from shoal.web.worker import _shape

    numbers = [("100", 1), ("20", 7), ("3", 5)]
    assert _shape(numbers, "number") == [5, 7, 1]
    assert _shape(numbers, "word") == [7, 5, 1]
    assert _shape([("2024-02-01", 1), ("2023-12-31", 4)], "date") == [4, 1]
    assert sum(_shape([(str(n), n) for n in range(100)], "number")) == sum(range(100))


def run_plan(folder, *options):
    """Release a project's plan by the command line, in its folder."""
    command = [*SHOAL, "release", "plan.toml", "--quiet", *options]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr


def wide_table(rows=300, columns=40):
    names = [f"column_{n}" for n in range(columns)]
    cells = [[str((row * (7 + n) + n * n) % (3 + n % 5)) for n in range(columns)] for row in range(rows)]
    return "\n".join(",".join(row) for row in [names, *cells]) + "\n"


@pytest.mark.parametrize("table", ["adult", "wide"])
def test_saved_plan_gives_the_same_bytes_by_command_line(server, table, request):
    """Plans as the page drafts them.

    For Adult and a wide table; the search of a larger one ends by its limit of time, which depends on the machine.
    """
    if table == "wide":
        text = wide_table()
    else:
        text = (request.getfixturevalue("shared_data") / "adult" / "adult-arx.csv").read_text()
    (server.root / f"{table}.csv").write_text(text)
    made = server.json("POST", "/api/projects", {"path": f"{table}.csv"})
    project = made["project"]
    assert server.finish(project, made["run"])["state"] == "done"
    answer = server.finish(
        project, server.json("POST", f"/api/projects/{project}/runs", {"action": "release"})["run"], 400
    )
    assert answer["state"] == "done", answer["error"]
    folder = server.root / "shoal-projects" / project
    files = server.json("GET", f"/api/projects/{project}/releases/1")["files"]
    run_plan(folder, *(["--save-recoding"] if any(name.endswith(".recoding") for name in files) else []))
    assert len(files) >= 4
    for name in files:
        if name != "plan.toml" and not name.endswith(".internal.html"):  # the command writes that on request only
            assert (folder / name).read_bytes() == (folder / "releases" / "1" / name).read_bytes(), name


def test_draft_includes_the_look_at_the_table(server):
    made = server.json("POST", "/api/projects", {"path": "own.csv"})
    project = made["project"]
    server.finish(project, made["run"])
    runs = server.json("GET", f"/api/projects/{project}")["runs"]
    assert runs["look"]["id"] == runs["draft"]["id"]
    seen, again = runs["look"]["result"], server.act(project, action="look")["result"]
    assert {key: seen[key] for key in again if key not in ("missing", "alternatives")} == {
        key: again[key] for key in again if key not in ("missing", "alternatives")
    }
    page = server.ask("GET", f"/p/{project}/columns")[2].decode()
    assert page.count('class="spark"') == 5
    assert 'data-wanted="check"' in page


def visits(server):
    """Make a project about visits: people have several rows and dates."""
    rows = "".join(
        f"p{n // 3},{20 + (n // 3) % 4},2024-0{1 + n % 9}-1{n % 8},{('flu', 'cold', 'gout')[n % 3]}\n"
        for n in range(120)
    )
    made = server.json("POST", "/api/uploads?name=visits.csv", "patient,age,seen,illness\n" + rows)
    project = made["project"]
    server.finish(project, made["run"])
    text = (
        '[source]\npath = "visits.csv"\n[columns.patient]\nrole = "person"\n'
        '[columns.age]\nrole = "quasi-identifier"\nhierarchy = { intervals = [5] }\n'
        '[columns.seen]\nrole = "quasi-identifier"\nhierarchy = { dates = ["month", "year"] }\n'
        '[columns.illness]\nrole = "sensitive"\n[[models]]\nname = "k-anonymity"\nk = 3\n'
        '[method]\nname = "full-domain"\nsuppression = 0.1\n[output]\npath = "out.csv"\n'
    )
    assert json.loads(server.ask("PUT", f"/api/projects/{project}/plan", text)[2])["error"] is None
    return project


def change(server, project, *changes):
    return server.json("PATCH", f"/api/projects/{project}/plan", {"changes": list(changes)})


def test_check_counts_people(server):
    answer = server.act(visits(server), action="check")["result"]
    assert answer["people"]["total"] == 40
    assert answer["rows"] == 120


def test_pseudonym_key_is_made_and_not_handed_out(server):
    project = new_patients(server)
    answer = change(server, project, {"column": "name", "pseudonym": True})
    assert answer["error"] is None
    assert "pseudonym = true" in answer["plan"]
    folder = server.root / "shoal-projects" / project
    (key,) = (server.data / "shoal" / "keys").glob(f"{project}-*")
    assert (key.stat().st_mode & 0o077, key.parent.stat().st_mode & 0o077) == (0, 0)
    assert len(key.read_bytes()) == 32
    assert server.act(project, action="check")["result"]["rehearsal"]["released"] > 0
    assert server.act(project, action="release")["state"] == "done"
    run_plan(folder, "--save-recoding")
    made = folder / "releases" / "1" / "released.csv"
    assert made.read_bytes() == (folder / "released.csv").read_bytes()
    assert len(made.read_text().splitlines()[1].partition(",")[0]) == 32
    files = server.json("GET", f"/api/projects/{project}/releases/1")["files"]
    assert not any("pseudonym" in name for name in files)
    # a removed pseudonym is gone from the plan; the key stays for the next delivery
    old_key = key.read_bytes()
    assert "pseudonym =" not in change(server, project, {"column": "name", "pseudonym": False})["plan"]
    change(server, project, {"column": "name", "pseudonym": True})
    assert key.read_bytes() == old_key
    assert "pseudonym =" not in change(server, project, {"column": "name", "role": "drop"})["plan"]


def test_shifted_and_relative_dates(server):
    project = visits(server)
    answer = change(server, project, {"column": "seen", "dates": "shift"})
    assert answer["error"] is None
    assert f'pseudonym_key = "{server.data}/shoal/keys/' in answer["plan"]
    assert server.act(project, action="check")["result"].get("refused") is None
    page = server.ask("GET", f"/p/{project}/columns")[2].decode()
    assert '<option value="shift" selected>' in page
    assert 'value="180"' in page
    answer = change(server, project, {"set": ["columns", "seen", "shift", "days"], "value": 30})
    assert answer["error"] is None
    assert "days = 30" in answer["plan"]
    assert server.act(project, action="release")["state"] == "done"
    answer = change(server, project, {"column": "seen", "dates": "first"})
    assert 'relative_to = "first"' in answer["plan"]
    assert "shift" not in answer["plan"]
    answer = change(server, project, {"column": "seen", "dates": ""})
    assert "relative_to" not in answer["plan"]


def test_large_table_with_pseudonyms_is_tried_with_its_key(tmp_path):
    rows = "".join(f"n{n},{20 + n % 50},{'mf'[n % 2]}\n" for n in range(6_000))
    (tmp_path / "many.csv").write_text("name,age,sex\n" + rows)
    server = Server(tmp_path)
    try:
        made = server.json("POST", "/api/projects", {"path": "many.csv"})
        server.finish(made["project"], made["run"])
        assert change(server, made["project"], {"column": "name", "pseudonym": True})["error"] is None
        answer = server.act(made["project"], action="check")["result"]
        assert answer.get("refused") is None, answer
        assert answer["rehearsal"]["rows"] == 5_000
    finally:
        server.stop()


def test_order_of_sensitive_values_as_lines(server):
    project = visits(server)
    answer = change(server, project, {"column": "illness", "order": "cold\nflu\ngout\n"})
    assert 'order = ["cold", "flu", "gout"]' in answer["plan"]
    page = server.ask("GET", f"/p/{project}/hierarchies?column=illness")[2].decode()
    assert ">cold\nflu\ngout</textarea>" in page
    assert "order" not in change(server, project, {"column": "illness", "order": " "})["plan"]


def test_errors_in_german(server):
    """Errors without a translation are marked as English."""
    project = new_patients(server)
    german = {"Authorization": f"Bearer {server.token}", "Accept_Language": "de-AT,de;q=0.9"}
    wrong = {"changes": [{"set": ["models", 0, "k"], "value": 2}, {"set": ["models", 1, "p"], "value": 3}]}
    answer = json.loads(server.ask("PATCH", f"/api/projects/{project}/plan", wrong, **german)[2])
    assert answer["error"].startswith("`p` darf höchstens `k` sein")
    page = server.ask("GET", f"/p/{project}/promise", **german)[2].decode()
    assert "Der Plan kann noch nicht laufen: <code>p</code> darf höchstens <code>k</code> sein" in page
    rare = {"changes": [{"set": ["method", "levels"], "value": {"age": 99}}]}
    answer = json.loads(server.ask("PATCH", f"/api/projects/{project}/plan", rare, **german)[2])
    assert answer["error"]
    assert json.loads(server.ask("POST", "/api/projects", {"path": "none.csv"}, **german)[2])["error"] == (
        "Diese Datei gibt es nicht."
    )
    assert translate_error("Something that nobody has translated.", "de").startswith(
        "shoal meldet auf Englisch: Something"
    )
    assert translate_error("Something that nobody has translated.", "en") == "Something that nobody has translated."
    assert "English" not in server.ask("GET", f"/p/{project}/columns?lang=de")[2].decode().partition("<footer>")[0]


def test_every_german_sentence_has_its_english_original():
    """A change of an English sentence must not lose its German."""
    import ast
    import string

    folder = Path(__file__).parents[3] / "src" / "shoal"
    literals = []
    for file in folder.rglob("*.py"):
        if file.name == "translations.py":
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                literals.append(node.value)
            elif isinstance(node, ast.JoinedStr):
                literals.append("".join(p.value if isinstance(p, ast.Constant) else "\0" for p in node.values))
    catalogue = tomllib.loads((folder / "locale" / "en.toml").read_text(encoding="utf-8"))
    literals += [re.sub(r"\{.*?\}", "\0", message["text"]) for message in catalogue.values()]
    whole = "\n".join(literals)
    key = "by its name it is a key, and its values repeat: it says whose rows they are, and people are counted"
    assert translate_sentence(key, "de").startswith(
        "dem Namen nach ist sie: ein Schlüssel, und ihre Werte wiederholen sich"
    )
    messages = {re.sub(r"'?\{.*?\}'?", "", message["text"]) for message in catalogue.values()}
    for english, german in SENTENCES:
        assert re.sub(r"'?\{.*?\}'?", "", english) not in messages, "the catalogue has its German"
        parts = [text for text, *_ in string.Formatter().parse(english)]
        names = [{name for _, name, _, _ in string.Formatter().parse(one) if name} for one in (english, german)]
        assert names[0] == names[1], english
        for part in (part.strip(".") for part in parts):
            # a sentence may consist of two literals
            words = part.split(" ")
            assert part in whole or all(" ".join(words[n : n + 3]) in whole for n in range(len(words) - 2)), part


@pytest.fixture
def clinic():
    """Address, with a password, of a database with a table of visits."""
    import contextlib

    from tests import servers

    dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")
    with contextlib.ExitStack() as stack:
        try:
            address = stack.enter_context(servers.postgres("fsync=off"))
        except servers.NoServer as reason:
            pytest.skip(str(reason))
        with dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.executescript(
                "CREATE TABLE visits (name text, age int, illness text);"
                "INSERT INTO visits SELECT 'SecretPerson' || n, 20 + n % 30, (ARRAY['flu','cold','gout'])[1 + n % 3] "
                "FROM generate_series(1, 300) n; CREATE TABLE others (x int)"
            )
        yield address.replace("anna@", "anna:hunter2-secret@")


CLINIC = """[source]
database = "env:CLINIC"
table = "visits"
[columns.name]
role = "identifier"
[columns.age]
role = "quasi-identifier"
hierarchy = { intervals = [5, 10] }
[columns.illness]
role = "sensitive"
[[models]]
name = "k-anonymity"
k = 5
[method]
name = "full-domain"
[output]
path = "clinic-released.csv"
"""


def test_workflow_for_a_database(clinic, tmp_path):
    (tmp_path / "clinic.toml").write_text(CLINIC)
    server = Server(tmp_path, str(tmp_path / "clinic.toml"), env={"CLINIC": clinic})
    seen = []
    try:
        project = "clinic"
        assert server.json("GET", f"/api/projects/{project}")["error"] is None
        look = server.act(project, action="look")["result"]
        assert (look["rows"], look["names"]) == (300, ["name", "age", "illness"])
        assert server.act(project, action="check")["result"]["rehearsal"]["released"] == 300
        assert server.act(project, action="levels", column="age")["result"]["levels"][-1]["labels"] == 1
        assert server.act(project, action="release")["state"] == "done"
        for action in ("compare", "attack"):
            assert server.act(project, action=action, release=1)["state"] == "done"
        for step in STEPS:
            status, _, text = server.ask("GET", f"/p/{project}/{step}")
            assert status == 200
            seen.append(text.decode())
        folder = tmp_path / "shoal-projects" / project
        command = [*SHOAL, "release", "plan.toml", "--quiet", "--save-recoding"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, env={**os.environ, "CLINIC": clinic})
        for name in ("clinic-released.csv", "clinic-released.certificate.json", "clinic-released.report.html"):
            assert (folder / name).read_bytes() == (folder / "releases" / "1" / name).read_bytes(), name
        # another table of the same database may be named, and its errors do not contain the address
        server.ask("PUT", f"/api/projects/{project}/plan", CLINIC.replace('"visits"', '"nothing"'))
        seen.append(json.dumps(server.act(project, action="check")))
        assert "no such table" in seen[-1]
        # but no other address of the environment
        answer = json.loads(server.ask("PUT", f"/api/projects/{project}/plan", CLINIC.replace("CLINIC", "HOME"))[2])
        assert "may not read" in answer["error"]
        assert server.ask("POST", f"/api/projects/{project}/runs", {"action": "look"})[0] == 422
    finally:
        seen += server.stop()
    seen += [file.read_text(errors="replace") for file in tmp_path.rglob("*") if file.is_file()]
    assert not any("hunter2-secret" in text for text in seen)


def test_database_needs_a_server_started_for_it(clinic, tmp_path):
    (tmp_path / "clinic.toml").write_text(CLINIC)
    for options, refused in (((), True), (("--database", "env:CLINIC"), False), (("--database", "env:OTHER"), True)):
        server = Server(tmp_path, *options, env={"CLINIC": clinic})
        try:
            project = server.json("POST", "/api/projects", {"path": "clinic.toml"})["project"]
            answer = server.json("GET", f"/api/projects/{project}")["error"]
            assert ("may not read" in (answer or "")) == refused
            page = server.ask("GET", f"/p/{project}/columns")[2].decode()
            assert ("shoal serve plan.toml" in page) == refused
            # a driver is code: the one of the plan that the server was started with, or none
            driven = CLINIC.replace('table = "visits"', 'table = "visits"\ndriver = "sqlite"')
            answer = json.loads(server.ask("PUT", f"/api/projects/{project}/plan", driven)[2])
            assert "may not read" in answer["error"]
        finally:
            server.stop()


def test_plan_for_spark_gets_advice(server):
    text = '[source]\npath = "own.csv"\n[columns.age]\nrole = "quasi-identifier"\n'
    text += '[[models]]\nname = "k-anonymity"\nk = 2\n[output]\npath = "o.csv"\n[engine]\nname = "{}"\n'
    (server.root / "spark.toml").write_text(text.format("spark"))
    (server.root / "duck.toml").write_text(text.format("duckdb"))
    project = server.json("POST", "/api/projects", {"path": "spark.toml"})["project"]
    page = server.ask("GET", f"/p/{project}/columns")[2].decode()
    assert "run a plan for Spark with <code>shoal release</code>" in page
    assert 'data-line="11"' in page
    assert server.ask("POST", f"/api/projects/{project}/runs", {"action": "look"})[0] == 422
    project = server.json("POST", "/api/projects", {"path": "duck.toml"})["project"]
    assert "Spark" not in str(server.json("GET", f"/api/projects/{project}")["error"])


def test_sheet_of_the_plan_is_read(server):
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(str(server.root / "book.xlsx")) as book:
        book.add_worksheet("first").write(0, 0, "nothing")
        sheet = book.add_worksheet("people")
        for line, row in enumerate([("age", "sex"), *((20 + n % 3, "mf"[n % 2]) for n in range(12))]):
            sheet.write_row(line, 0, row)
    write_plan(
        server.root,
        columns={"age": "quasi-identifier", "sex": "quasi-identifier"},
        source={"path": "book.xlsx", "sheet": "people"},
        output="o.csv",
        name="book",
    )
    project = server.json("POST", "/api/projects", {"path": "book.toml"})["project"]
    assert server.act(project, action="look")["result"]["names"] == ["age", "sex"]
    assert server.act(project, action="check")["result"]["rows"] == 12


def test_next_step_and_visited_steps(server):
    """The sentence on top leads through the steps and marks visited ones."""
    project = new_patients(server)
    server.act(project, action="check")

    def next_step(step):
        page = server.ask("GET", f"/p/{project}/{step}")[2].decode()
        found = re.search(rf'id="ahead" href="/p/{project}/(\w+)', page)
        done = re.findall(r'<li class="done"><a id="step-(\w+)"', page)
        return found and found[1], done

    assert next_step("table") == ("columns", ["table"])
    assert next_step("columns") == ("promise", ["table", "columns"])
    assert next_step("promise") == ("run", ["table", "columns", "promise"])
    server.act(project, action="release")
    assert next_step("run")[0] == "compare"
    assert next_step("compare")[0] == "attack"
    assert next_step("attack")[0] == "publish"
    assert next_step("publish")[0] is None
    change(server, project, {"set": ["models", 0, "k"], "value": 3})
    server.act(project, action="check")
    assert next_step("publish")[0] == "run"


def test_wording_of_a_promise_with_known(server):
    """Knowledge of all columns at once is not covered.

    The page says so before it says what such an intruder learns.
    """
    project = new_patients(server)
    changes = [
        {"set": ["models", index, key], "value": value}
        for index in (0, 1)
        for key, value in (("known", 2), ("reading", "loose"))
    ]
    assert change(server, project, *changes, {"set": ["method"], "value": {"name": "hidden-cells"}})["error"] is None
    server.act(project, action="check")
    assert "groups fail for something that may be known" in server.ask("GET", f"/p/{project}/promise")[2].decode()
    assert server.act(project, action="release")["state"] == "done"
    facts = server.json("GET", f"/api/projects/{project}/releases/1")
    least = min(model["effective"]["rows_per_person"] for model in facts["models"])
    assert least >= 4
    page = server.ask("GET", f"/p/{project}/attack")[2].decode()
    assert "Knowing any 2 of" in page
    assert f"in 1 of {least} cases at best" in page
    assert "Not covered by the requirements" in page
    assert f"<dd>{least}</dd>" in server.ask("GET", f"/p/{project}/compare")[2].decode()
    assert "for any 2 known" in server.ask("GET", f"/p/{project}/run")[2].decode()
