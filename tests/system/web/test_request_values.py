"""Requests and plans of wrong types are refused, not answered by a fault."""

from __future__ import annotations

import json
import shutil

import pytest

from shoal.datasets.patients import FOLDER

VALUES = [5, -1, "x", [], {}, [1], True, 1.5, [None], [[]], [{}], ["x"], [True], "\0", "\ud800", 10**30]
RAW = [
    '{"action": "explore", "seconds": 1e999}',
    '{"action": "explore", "seconds": NaN}',
    "[]",
    "5",
    "{",
    '"x"',
    "\ud800",
]
PLANS = [
    "source = 5\n",
    "columns = 5\n",
    "columns = []\n",
    'source = "x"\noutput = 5\nmodels = 5\nmethod = 5\nkeys = 5\nengine = 5\n',
    "[source]\npath = 5\n",
    "[columns]\nage = 5\n",
    "[columns.age]\nrole = 5\nhierarchy = 5\n",
    '[columns.age]\nrole = "quasi-identifier"\nhierarchy = { tree = 5, cuts = 5, csv = 5 }\n',
    '[columns.age]\nrole = "quasi-identifier"\nhierarchy = { cuts = 5 }\n',
    '[columns.age]\nrole = "quasi-identifier"\nhierarchy = { dates = 5 }\n',
    '[columns.age]\nrole = "quasi-identifier"\nhierarchy = { order = 5 }\n',
    '[columns.age]\nrole = "sensitive"\ncategories = 5\ncategory_names = 5\norder = 5\n',
    "[[models]]\nname = 5\nk = []\nknown = {}\n[method]\nname = []\nlevels = 5\n",
    "[output]\npath = 5\npseudonym_key = 5\n",
]
STEPS = ("table", "columns", "hierarchies", "promise", "run", "explore", "compare", "attack", "publish")


@pytest.fixture(scope="module")
def project(server):
    return server.json("POST", "/api/projects", {"sample": "patients"})["project"]


@pytest.mark.parametrize("field", ["action", "column", "release", "methods", "ks", "seconds"])
def test_a_run_with_a_field_of_a_wrong_type_is_refused(server, project, field):
    for action in ("levels", "compare", "attack", "explore"):
        for value in VALUES:
            status, _, text = server.ask("POST", f"/api/projects/{project}/runs", {"action": action, field: value})
            assert status in (201, 422), (action, field, value, text)
            assert status == 201 or json.loads(text)["error"]


def test_other_bodies_of_wrong_types_are_refused(server, project):
    base = f"/api/projects/{project}"
    for value in VALUES:
        for method, path, body in (
            ("POST", "/api/projects", {"path": value}),
            ("POST", "/api/projects", {"sample": value}),
            ("PATCH", f"{base}/plan", {"changes": value}),
            ("PATCH", f"{base}/plan", {"changes": [{"set": value, "value": value}]}),
            ("PATCH", f"{base}/plan", {"changes": [{"column": "age", "role": value}]}),
            ("POST", f"{base}/releases/1/publish", {"overwrite": value}),
        ):
            status, _, text = server.ask(method, path, body)
            assert status in (200, 201, 404, 422), (path, body, text)
    server.ask("PUT", f"{base}/plan", (FOLDER / "patients.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("body", RAW)
def test_what_is_no_json_object_is_refused(server, project, body):
    sent = body.encode("utf-8", "surrogatepass")
    assert server.ask("POST", f"/api/projects/{project}/runs", sent)[0] == 422


def test_numbers_in_addresses_are_plain_digits(server, project):
    for path in (
        f"/api/projects/{project}/releases/%C2%B2",
        f"/api/projects/{project}/releases/99999999999999999999",
        f"/p/{project}/compare?release=%C2%B2",
        f"/p/{project}/attack?release=x",
        f"/api/files?path={'a' * 5000}",
    ):
        assert server.ask("GET", path)[0] in (200, 404, 422), path


@pytest.mark.parametrize("text", PLANS)
def test_a_plan_of_wrong_types_is_displayed_with_its_error(server, project, text):
    status, _, answer = server.ask("PUT", f"/api/projects/{project}/plan", text)
    assert (status, json.loads(answer)["error"] is None) == (200, False)
    assert server.ask("POST", f"/api/projects/{project}/runs", {"action": "release"})[0] == 422
    for step in STEPS:
        status, _, page = server.ask("GET", f"/p/{project}/{step}")
        assert (status, b'id="plan-text"' in page) == (200, True), step
    assert (
        server.ask("PATCH", f"/api/projects/{project}/plan", {"changes": [{"column": "age", "dates": "x"}]})[0] == 422
    )


@pytest.mark.parametrize("text", [*PLANS, "x = 'caf\udce9'\n", "a = 1\na = 2\n"])
def test_a_plan_file_of_wrong_types_is_opened_or_refused(server, text):
    (server.root / "odd.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    status, _, answer = server.ask("POST", "/api/projects", {"path": "odd.toml"})
    assert status in (201, 422), answer
    for folder in (server.root / "shoal-projects").glob("odd*"):
        assert status == 201, "a refused plan leaves no project"
        shutil.rmtree(folder)
