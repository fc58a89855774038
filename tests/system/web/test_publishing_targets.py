"""No release is published over an input."""

from __future__ import annotations

import json

import pytest

import shoal
from shoal.errors import OutputError

PLAN = """
[source]
path = "{source}"
[columns.age]
role = "quasi-identifier"
{more}
[columns.illness]
role = "sensitive"
[[models]]
name = "k-anonymity"
k = 2
[method]
name = "full-domain"
[output]
path = "{output}"
{key}
"""
TABLE = "age,illness\n" + "20,flu\n20,gout\n30,flu\n30,gout\n" * 3


def make_project(server, source, output, more="", key=""):
    """Make a project with an uploaded table and a release."""
    status, _, text = server.ask("POST", "/api/uploads?name=visits.csv", TABLE)
    assert status == 201, text
    project = json.loads(text)["project"]
    put(server, project, source, "released.csv", more, key)
    assert server.act(project, action="release")["state"] == "done"
    put(server, project, source, output, more, key)
    return project


def put(server, project, source, output, more="", key=""):
    text = PLAN.format(source=source, output=output, more=more, key=key)
    status, _, answer = server.ask("PUT", f"/api/projects/{project}/plan", text)
    assert status == 200, answer


def publish(server, project):
    path = f"/api/projects/{project}/releases/1/publish"
    status, _, text = server.ask("POST", path, {"overwrite": True})
    return status, json.loads(text)


def release_as(server, project, name):
    """Rename the files of the first release, as if its plan had said so."""
    folder = server.root / "shoal-projects" / project / "releases" / "1"
    facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
    stem, old = name.rpartition(".")[0], facts["output"].rpartition(".")[0]
    for file in folder.iterdir():
        if file.name.startswith(f"{old}."):
            file.rename(folder / file.name.replace(old, stem, 1))
    (folder / "facts.json").write_text(json.dumps({**facts, "output": name}), encoding="utf-8")


def test_the_source_is_not_replaced(server):
    project = make_project(server, "visits.csv", "visits.csv")
    release_as(server, project, "visits.csv")
    status, answer = publish(server, project)
    assert (status, "must not be the source itself" in answer["error"]) == (422, True)
    table = server.root / "shoal-projects" / project / "visits.csv"
    assert table.read_text(encoding="utf-8") == TABLE


def test_the_source_of_the_release_is_not_replaced_either(server):
    project = make_project(server, "visits.csv", "visits.csv")
    release_as(server, project, "visits.csv")
    put(server, project, "../../own.csv", "visits.csv")
    status, answer = publish(server, project)
    assert (status, "must not be the source itself" in answer["error"]) == (422, True)


def test_other_projects_and_files_of_the_project_are_not_replaced(server):
    other = make_project(server, "visits.csv", "released.csv")
    project = make_project(server, "visits.csv", "released.csv")
    for output in (
        f"../{other}/visits.csv",
        f"../{other}/new.csv",
        "releases/1/released.csv",
        "keys/x.csv",
        "../x.csv",
    ):
        put(server, project, "visits.csv", output)
        status, answer = publish(server, project)
        assert (status, "must not" in answer["error"]) == (422, True), (output, answer)
    assert (server.root / "shoal-projects" / other / "visits.csv").read_text(encoding="utf-8") == TABLE


def test_a_folder_that_became_a_link_leads_nowhere(server, tmp_path):
    (server.root / "shared").mkdir(exist_ok=True)
    project = make_project(server, "visits.csv", "../../shared/released.csv")
    assert server.json("GET", f"/api/projects/{project}")["error"] is None
    (server.root / "shared").rmdir()
    (server.root / "shared").symlink_to(tmp_path)
    try:
        assert publish(server, project)[0] == 422
        assert not list(tmp_path.iterdir())
    finally:
        (server.root / "shared").unlink()


def test_a_release_is_still_published_and_replaced_on_request(server):
    project = make_project(server, "visits.csv", "../../out.csv")
    assert publish(server, project)[0] == 200
    assert publish(server, project)[0] == 200
    assert (server.root / "released.csv").is_file()


@pytest.mark.parametrize("source", ["part-*.csv", "part-?.csv"])
def test_no_part_of_a_pattern_is_replaced(tmp_path, source):
    for number in (1, 2):
        (tmp_path / f"part-{number}.csv").write_text(TABLE, encoding="utf-8")
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.format(source=source, output="part-2.csv", more="", key="overwrite = true"), encoding="utf-8")
    with pytest.raises(OutputError, match="must not be the source itself"):
        shoal.release(plan)
    assert (tmp_path / "part-2.csv").read_text(encoding="utf-8") == TABLE
