"""Projects of the page: undo, titles, deletion, formats, many columns."""

from __future__ import annotations

import json

import pytest

from shoal.errors import InputError
from shoal.web.projects import MAX_UNDO_STEPS, Project, shred


def new_patients(server):
    return server.json("POST", "/api/projects", {"sample": "patients"})["project"]


def page_of(server, path):
    status, _, text = server.ask("GET", f"{path}?lang=en")
    assert status == 200
    return text.decode()


def test_every_change_can_be_undone_in_turn(tmp_path):
    project = Project("p", tmp_path, tmp_path)
    with pytest.raises(InputError):
        project.undo()
    texts = [f"a = {n}\n" for n in range(MAX_UNDO_STEPS + 3)]
    for text in texts:
        project.save(text)
    project.save(texts[-1])  # no change, no step
    for text in texts[-2 : -MAX_UNDO_STEPS - 2 : -1]:
        project.undo()
        assert project.text == text
    with pytest.raises(InputError):
        project.undo()
    assert (tmp_path / "plan.toml").stat().st_mode & 0o077 == 0


def test_undo_on_the_page(server):
    project = new_patients(server)
    assert 'id="undo"' not in page_of(server, f"/p/{project}/promise")
    before = server.ask("GET", f"/api/projects/{project}/plan")[2]
    server.json("PATCH", f"/api/projects/{project}/plan", {"changes": [{"set": ["models", 0, "k"], "value": 3}]})
    assert 'id="undo"' in page_of(server, f"/p/{project}/promise")
    assert server.json("POST", f"/api/projects/{project}/undo")["plan"].encode() == before
    assert server.ask("POST", f"/api/projects/{project}/undo")[0] == 422


def test_a_project_is_renamed_and_deleted(server, tmp_path):
    project = new_patients(server)
    address = f"/api/projects/{project}"
    assert server.json("PATCH", address, {"title": "  Ward <b>7\n "})["title"] == "Ward <b>7"
    assert server.ask("PATCH", address, {"title": " \n"})[0] == 422
    start = page_of(server, "/")
    assert "Ward &lt;b&gt;7" in start
    assert "Ward <b>7" not in start
    assert "Ward &lt;b&gt;7" in page_of(server, f"/p/{project}/columns")
    folder = server.root / "shoal-projects" / project
    (tmp_path / "other.csv").write_text("a\n1\n")
    (folder / "linked.csv").symlink_to(tmp_path / "other.csv")
    for body in ({}, {"name": "other"}, {"name": "Ward <b>7"}):
        assert server.ask("DELETE", address, body)[0] == 422
    assert server.json("DELETE", address, {"name": project}) == {"removed": project}
    assert not folder.exists()
    assert (tmp_path / "other.csv").read_text() == "a\n1\n"  # links are not followed
    assert server.ask("GET", address)[0] == 404


def test_a_deleted_release_leaves_nothing_for_the_next(server):
    project = new_patients(server)
    assert server.act(project, action="release")["state"] == "done"
    assert server.act(project, action="cliff", release=1)["state"] == "done"
    assert server.json("DELETE", f"/api/projects/{project}/releases/1") == {"removed": 1}
    assert server.ask("DELETE", f"/api/projects/{project}/releases/1")[0] == 422
    state = server.json("GET", f"/api/projects/{project}")
    assert state["releases"] == []
    assert "cliff 1" not in state["runs"]


def test_content_is_overwritten_before_it_is_deleted(tmp_path, monkeypatch):
    folder = tmp_path / "p"
    folder.mkdir()
    (folder / "table.csv").write_text("name\nAda\n")
    seen = []
    monkeypatch.setattr(
        "shoal.web.projects.shutil.rmtree", lambda *_, **__: seen.append((folder / "table.csv").read_bytes())
    )
    shred(folder)
    assert seen == [bytes(9)]


@pytest.mark.parametrize("ending", [".xlsx", ".sav", ".parquet"])
def test_a_release_is_written_in_the_chosen_format(server, ending):
    from html import unescape
    from re import findall

    project = new_patients(server)
    page = page_of(server, f"/p/{project}/run")
    offered = [unescape(one) for one in findall(r'<option value="([^"]+output[^"]+)"', page)]
    changes = next(json.loads(one) for one in offered if ending in one)
    answer = server.json("PATCH", f"/api/projects/{project}/plan", {"changes": changes})
    assert answer["error"] is None
    assert server.act(project, action="release")["state"] == "done"
    assert f"released{ending}" in server.json("GET", f"/api/projects/{project}/releases/1")["files"]


def test_a_run_reports_elapsed_seconds(server):
    project = new_patients(server)
    assert server.act(project, action="look")["elapsed"] >= 0


def test_roles_are_counted_and_columns_filtered(server):
    names = [f"c{n}" for n in range(20)]
    table = ",".join(names) + "\n" + ",".join("1" * 20) + "\n"
    project = server.json("POST", "/api/uploads?name=wide.csv&draft=no", table)["project"]
    sections = "".join(f"[columns.{name}]\nrole = '{'drop' if n > 4 else 'other'}'\n" for n, name in enumerate(names))
    server.ask("PUT", f"/api/projects/{project}/plan", f'[source]\npath = "wide.csv"\n{sections}')
    page = page_of(server, f"/p/{project}/columns")
    assert "Remove: 15" in page  # no column is lost in silence
    assert "Publish as is: 5" in page
    assert 'id="column-search"' in page
    assert 'id="column-search"' not in page_of(server, f"/p/{new_patients(server)}/columns")
