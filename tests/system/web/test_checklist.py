"""Checklist of the page before a release is handed out."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

TABLE = "email,age,hobby,ill\n" + "".join(
    f"p{n}@example.org,{20 + n % 5},{('chess', 'music')[n % 2]},{('flu', 'gout', 'cold')[n % 3]}\n" for n in range(120)
)
PLAN = """[source]
path = "club.csv"
[columns.email]
role = "{email}"
[columns.age]
role = "quasi-identifier"
[columns.hobby]
role = "other"
[columns.ill]
role = "sensitive"
[[models]]
name = "k-anonymity"
k = 5
[output]
path = "out.csv"
"""


def released(server, email, more=""):
    """Make a release in which the addresses have a role."""
    return released_plan(server, "club.csv", TABLE, PLAN.format(email=email) + more)


def released_plan(server, name, table, plan):
    """Upload a table and make a release of it by a plan."""
    project = server.json("POST", f"/api/uploads?name={name}&draft=no", table)["project"]
    answer = json.loads(server.ask("PUT", f"/api/projects/{project}/plan", plan)[2])
    assert answer["error"] is None
    assert server.act(project, action="release")["state"] == "done"
    return project


def page_of(server, project, language="en"):
    status, _, text = server.ask("GET", f"/p/{project}/publish?lang={language}")
    assert status == 200, text[:300]
    return text.decode()


def confirm(server, project, **given):
    return server.ask("POST", f"/api/projects/{project}/releases/1/confirm", given)


def test_files_are_offered_after_the_list_is_confirmed(server):
    project = released(server, "identifier")
    page = page_of(server, project)
    assert "Verified: the release meets these requirements." in page
    assert "Everybody hides among at least 5 rows that look alike." in page
    assert "Published unchanged and not protected at all: hobby." in page
    assert "no requirement is about these values: ill." in page
    assert "data-publish" not in page
    assert "out.csv?download" not in page
    assert "Unverändert und ganz ungeschützt veröffentlicht: hobby." in page_of(server, project, "de")
    assert '<input type="checkbox" id="confirm-unchanged"' in page
    for path in ("files/out.csv", "files/out.report.html", "zip"):
        assert server.ask("GET", f"/api/projects/{project}/releases/1/{path}")[0] == 422
    assert server.ask("POST", f"/api/projects/{project}/releases/1/publish", {})[0] == 422
    status, _, text = confirm(server, project, columns=["hobby"])
    assert (status, "still being examined" in json.loads(text)["error"]) == (422, True)
    server.act(project, action="look")
    status, _, text = confirm(server, project, columns=[])
    assert (status, "hobby" in json.loads(text)["error"]) == (422, True)
    assert "data-publish" not in page_of(server, project)
    status, _, text = confirm(server, project, columns=["hobby"])
    assert (status, json.loads(text)["error"][-19:]) == (422, "Missing: unchanged.")
    assert confirm(server, project, columns=["hobby"], points=["unchanged"])[0] == 201
    page = page_of(server, project)
    assert "data-publish" in page
    assert "out.csv?download" in page
    assert "confirm-form" not in page
    assert "confirmed.json" not in server.json("GET", f"/api/projects/{project}/releases/1")["files"]
    assert server.act(project, action="release")["state"] == "done"  # each release is confirmed by itself
    assert "confirm-form" in page_of(server, project)


def test_what_looks_like_an_identifier_is_typed(server):
    project = released(server, "other")
    server.act(project, action="look")
    assert "email looks like an identifier." in page_of(server, project)
    status, _, text = confirm(server, project, columns=["email", "hobby"])
    assert (status, "look like identifiers: email" in json.loads(text)["error"]) == (422, True)
    assert confirm(server, project, columns=["email", "hobby"], typed=["e-mail"])[0] == 422
    assert "data-publish" not in page_of(server, project)
    given = {"columns": ["email", "hobby"], "typed": ["email"], "points": ["unchanged"]}
    page = page_of(server, project)
    assert "In email, 120 of 120 published rows have a value that no other row has" in page
    assert confirm(server, project, **given)[0] == 422
    assert confirm(server, project, **given | {"points": ["unchanged", "exact"]})[0] == 201
    assert "data-publish" in page_of(server, project)


@pytest.mark.parametrize("number", ["2", "x"])
def test_only_a_release_is_confirmed(server, number):
    project = server.json("POST", "/api/projects", {"sample": "patients"})["project"]
    assert server.ask("POST", f"/api/projects/{project}/releases/{number}/confirm", {})[0] in (404, 422)


def test_a_plan_without_such_columns_needs_no_tick(server):
    project = server.json("POST", "/api/projects", {"sample": "patients"})["project"]
    assert server.act(project, action="release")["state"] == "done"
    page = page_of(server, project)
    assert "data-publish" in page
    assert "confirm-form" not in page


def test_exact_amounts_of_a_sensitive_column_are_confirmed(server):
    table = "age,cost\n" + "".join(f"{20 + n % 5},{1000 + 7 * n}.25\n" for n in range(100))
    plan = """[source]
path = "bills.csv"
[columns.age]
role = "quasi-identifier"
[columns.cost]
role = "sensitive"
[[models]]
name = "k-anonymity"
k = 5
[output]
path = "out.csv"
"""
    project = released_plan(server, "bills.csv", table, plan)
    page = page_of(server, project)
    assert "In cost, 100 of 100 published rows have a value that no other row has" in page
    assert "no requirement is about these values: cost" in page
    assert "data-publish" not in page
    assert confirm(server, project)[0] == 422
    assert confirm(server, project, points=["exact"])[0] == 201
    assert "data-publish" in page_of(server, project)


def test_a_plan_that_covers_two_facts_is_confirmed(server):
    columns = [f"f{n}" for n in range(5)]
    rows = "".join(",".join(str(n // 3**power % 3) for power in range(5)) + "\n" for n in range(243))
    sections = "".join(f"[columns.{name}]\nrole = 'quasi-identifier'\n" for name in columns)
    plan = f"""[source]
path = "facts.csv"
{sections}[[models]]
name = "k-anonymity"
k = 5
known = 2
[output]
path = "out.csv"
"""
    project = released_plan(server, "facts.csv", ",".join(columns) + "\n" + rows, plan)
    page = page_of(server, project)
    assert "Only intruders who know at most 2 facts about a person are stopped." in page
    assert "knows all 5 columns that others may know finds 243 of 243 rows (100%) alone." in page
    assert server.ask("GET", f"/api/projects/{project}/releases/1/files/out.csv")[0] == 422
    assert "höchstens 2 Merkmale" in page_of(server, project, "de")
    assert confirm(server, project, points=["partial"])[0] == 201
    assert server.ask("GET", f"/api/projects/{project}/releases/1/files/out.csv")[0] == 200


def test_a_release_of_a_draft_warns(server):
    project = released(server, "identifier", '[review]\nstatus = "draft"\n')
    assert "made from a draft that nobody has reviewed" in page_of(server, project)


def test_the_zip_holds_what_is_for_others_and_is_always_the_same(server):
    project = server.json("POST", "/api/projects", {"sample": "patients"})["project"]
    assert server.act(project, action="release")["state"] == "done"
    address = f"/api/projects/{project}/releases/1"
    packed = [server.ask("GET", f"{address}/zip") for _ in range(2)]
    assert packed[0][2] == packed[1][2]
    assert packed[0][1]["content-disposition"].endswith(f'filename="{project}-1.zip"')
    archive = zipfile.ZipFile(io.BytesIO(packed[0][2]))
    names = ["released.csv", "released.certificate.json", "released.report.html"]
    assert archive.namelist() == names
    assert archive.read("released.csv") == server.ask("GET", f"{address}/files/released.csv")[2]
    page = page_of(server, project)
    handed_out, _, internal = page.partition("Files that stay with you")
    for name in ("plan.toml", "released.recoding", "released.internal.html"):
        assert f"{name}?download" in internal
        assert f"{name}?download" not in handed_out
    written = server.json("POST", f"{address}/publish", {})["written"]
    assert sorted(name.rpartition("/")[2] for name in written) == sorted(names)
    status, headers, report = server.ask("GET", f"{address}/files/released.internal.html")
    assert (status, "default-src 'none'" in headers["content-security-policy"]) == (200, True)
    assert b"Not for publication" in report
