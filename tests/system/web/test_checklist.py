"""Checklist of the page before a release is handed out."""

from __future__ import annotations

import json

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


def released(server, email):
    """Make a release in which the addresses have a role."""
    project = server.json("POST", "/api/uploads?name=club.csv&draft=no", TABLE)["project"]
    answer = json.loads(server.ask("PUT", f"/api/projects/{project}/plan", PLAN.format(email=email))[2])
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
    assert "protected only as far as the requirements go: ill." in page
    assert "data-publish" not in page
    assert "out.csv?download" not in page
    assert "Unverändert und ganz ungeschützt veröffentlicht: hobby." in page_of(server, project, "de")
    status, _, text = confirm(server, project, columns=["hobby"])
    assert (status, "still being examined" in json.loads(text)["error"]) == (422, True)
    server.act(project, action="look")
    status, _, text = confirm(server, project, columns=[])
    assert (status, "hobby" in json.loads(text)["error"]) == (422, True)
    assert "data-publish" not in page_of(server, project)
    assert confirm(server, project, columns=["hobby"])[0] == 201
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
    assert confirm(server, project, columns=["email", "hobby"], typed=["email"])[0] == 201
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
