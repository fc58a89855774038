"""Faults of the page that were found by trying it: each stays mended."""

from __future__ import annotations

import gzip
import io
import json

import pytest

ROWS = "age,sex,ill\n" + "".join(f"{20 + n % 30},{'fm'[n % 2]},{('flu', 'gout', 'cold')[n % 3]}\n" for n in range(300))
PLAN = """[source]
path = "people.csv"
[columns.age]
role = "quasi-identifier"
hierarchy = {{ intervals = [5, 10] }}
[columns.sex]
role = "quasi-identifier"
[columns.ill]
role = "{ill}"
[[models]]
name = "{model}"
{parameters}
{more}
[output]
path = "out.csv"
"""


def project_of(server, rows=ROWS, ill="other", model="k-anonymity", parameters="k = 5", more=""):
    """Upload a table with a plan."""
    project = server.json("POST", "/api/uploads?name=people.csv&draft=no", rows)["project"]
    plan = PLAN.format(ill=ill, model=model, parameters=parameters, more=more)
    server.ask("PUT", f"/api/projects/{project}/plan", plan)
    return project


def page_of(server, project, step, language="en"):
    status, _, text = server.ask("GET", f"/p/{project}/{step}?lang={language}")
    assert status == 200, text[:300]
    return text.decode()


def test_the_plans_own_method_races_and_the_star_is_the_best_of_all(server):
    method = '[method]\nname = "mondrian"'
    project = project_of(server, more=method)
    assert "The method of your plan (mondrian) is always tried" in page_of(server, project, "explore")
    found = server.act(project, action="explore", methods=["full-domain"])["result"]
    by_method = {trial["method"]: trial for trial in found["trials"]}
    assert set(by_method) == {"mondrian", "full-domain"}
    best = min(by_method.values(), key=lambda trial: trial["loss"]["ncp"])
    assert [trial["method"] for trial in found["trials"] if trial["chosen"]] == [best["method"]]


def test_a_used_trial_keeps_k_and_suppression(server):
    from html import unescape
    from re import findall

    more = '[method]\nname = "full-domain"\nsuppression = 0.05'
    project = project_of(server, more=more)
    found = server.act(project, action="explore", methods=["top-down", "full-domain"])
    assert found["state"] == "done"
    page = page_of(server, project, "explore")
    takes = [json.loads(unescape(one)) for one in findall(r'class="quiet" data-changes="([^"]+)"', page)]
    assert takes
    for changes in takes:
        assert all(change["set"][0] == "method" for change in changes)
        section = changes[0]["value"]
        assert section.get("suppression", 0.05 if section["name"] != "full-domain" else 0) == 0.05
    answer = json.loads(server.ask("PATCH", f"/api/projects/{project}/plan", json.dumps({"changes": takes[0]}))[2])
    assert "k = 5" in answer["plan"]


def test_a_model_without_its_column_is_not_offered(server):
    project = project_of(server)
    page = page_of(server, project, "promise")
    assert "l-diversity" not in page
    assert "once a column is marked as sensitive" in page
    project = project_of(server, model="l-diversity", parameters="l = 2")
    assert server.act(project, action="check")["state"] == "failed"
    sentence = page_of(server, project, "promise").split('id="sentence"')[1].partition("</span>")[0]
    assert "could not be checked" in sentence
    assert "…" not in sentence


def test_more_people_than_there_are_is_infeasible(tmp_path):
    from shoal.web import worker

    written = io.StringIO()
    rows = "age,sex\n" + "".join(f"{n % 90},{'fm'[n % 2]}\n" for n in range(5_100))
    (tmp_path / "people.csv").write_text(rows)
    text = PLAN.format(ill="other", model="k-anonymity", parameters="k = 999_999", more="")
    text = text.replace('[columns.ill]\nrole = "other"\n', "")
    confinement = {"text": text, "folder": str(tmp_path), "root": str(tmp_path), "key": str(tmp_path / "key")}
    answer = worker.check({"action": "check", "plan": confinement}, worker.EventWriter(written))
    assert "hard" not in answer
    assert "5,100" in answer["infeasible"]["text"] or "5100" in answer["infeasible"]["text"]


def workbook():
    import xlsxwriter

    made = io.BytesIO()
    book = xlsxwriter.Workbook(made, {"in_memory": True})
    sheet = book.add_worksheet()
    for row, line in enumerate(ROWS.splitlines()):
        sheet.write_row(row, 0, line.split(","))
    book.close()
    return made.getvalue()


def survey(tmp_path, ending):
    import pandas
    import pyreadstat

    frame = pandas.read_csv(io.StringIO(ROWS))
    writers = {".sav": pyreadstat.write_sav, ".dta": pyreadstat.write_dta, ".xpt": pyreadstat.write_xport}
    writers[ending](frame, str(tmp_path / f"people{ending}"))
    return (tmp_path / f"people{ending}").read_bytes()


@pytest.mark.parametrize("ending", [".xlsx", ".csv.gz", ".csv.zst", ".sav", ".dta", ".xpt", ".parquet"])
def test_whatever_the_command_line_reads_is_uploaded(server, tmp_path, ending):
    if ending == ".xlsx":
        body = workbook()
    elif ending == ".csv.gz":
        body = gzip.compress(ROWS.encode())
    elif ending == ".csv.zst":
        import pyarrow

        body = pyarrow.compress(ROWS.encode(), codec="zstd", asbytes=True)
    elif ending == ".parquet":
        import pyarrow.csv
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.csv.read_csv(io.BytesIO(ROWS.encode())), tmp_path / "people.parquet")
        body = (tmp_path / "people.parquet").read_bytes()
    else:
        body = survey(tmp_path, ending)
    made = server.json("POST", f"/api/uploads?name=people{ending}", body)
    assert made["project"].startswith("people")
    assert "." not in made["project"]
    drafted = server.finish(made["project"], made["run"])
    assert drafted["state"] == "done", drafted["error"]
    assert drafted["result"]["rows"] == 300
    assert [column["name"].lower() for column in drafted["result"]["columns"]] == ["age", "sex", "ill"]


@pytest.mark.parametrize("name", ["people.csv.gz", "people.xlsx", "people.csv.zst"])
def test_an_upload_matches_its_name(server, name):
    status, _, text = server.ask("POST", f"/api/uploads?name={name}", b"7z\xbc\xaf" + b"0" * 100)
    assert status == 422, text
    assert not (server.root / "shoal-projects" / "people-").exists()


def test_compressed_tables_are_listed(tmp_path):
    from shoal.web.file_access import list_folder

    for name in ("a.csv.gz", "b.sav", "c.exe", "d.csv.zst"):
        (tmp_path / name).write_bytes(b"x")
    assert [file["name"] for file in list_folder(tmp_path, "")["files"]] == ["a.csv.gz", "b.sav", "d.csv.zst"]


def test_codes_such_as_9999_do_not_squash_a_histogram():
    from shoal.web.worker import MAX_SHAPE_BINS, _shape, typical_range

    usual = [(value, 10) for value in range(100)]
    shape = _shape([*usual, (9999, 30)], "number")
    assert len(shape) == MAX_SHAPE_BINS
    assert sum(shape) == 1030
    assert min(shape) > 0  # every bin has rows: the codes are in the last one
    assert typical_range([(-9.0, 5), *((float(v), n) for v, n in usual)]) == (-9.0, 99.0)
    assert typical_range([(-9999.0, 5), *((float(v), n) for v, n in usual)]) == (0.0, 99.0)
    assert typical_range([(5.0, 1)]) == (5.0, 5.0)
    assert typical_range([(5.0, 1), (9999.0, 1)]) == (5.0, 9999.0)


def test_times_of_day_are_displayed_as_text(server):
    """Labels were once displayed as bytes: b'00:00'."""
    rows = "time,sex,ill\n" + "".join(f"{n % 24:02d}:00,{'fm'[n % 2]},x\n" for n in range(240))
    project = server.json("POST", "/api/uploads?name=people.csv&draft=no", rows)["project"]
    plan = PLAN.format(ill="other", model="k-anonymity", parameters="k = 5", more="").replace(
        "columns.age", "columns.time"
    )
    server.ask("PUT", f"/api/projects/{project}/plan", plan.replace("hierarchy = { intervals = [5, 10] }", ""))
    for job in ({"action": "look"}, {"action": "levels", "column": "time"}, {"action": "release"}):
        assert server.act(project, **job)["state"] == "done"
    server.act(project, action="compare", release=1)
    for step in ("table", "columns", "hierarchies", "compare", "attack", "publish"):
        page = page_of(server, project, step)
        assert "b'" not in page
        assert "b&#39;" not in page
    assert "00:00" in page_of(server, project, "hierarchies")


def test_rows_and_people_are_not_mixed_in_one_table():
    """Figures count people where a person is declared, rows elsewhere."""
    from shoal.web.exposure_view import exposure_of

    rows = {"columns": ["a"], "alone": 1, "below_5": 2, "rows": 10, "facts": []}
    for figures, unit in ((rows, "rows"), ({**rows, "people": 4}, "people")):
        found = exposure_of({"exposure": figures}, "en")
        assert unit in found["sentence"]
        assert {bar["rows"] for bar in found["bars"]} == {figures[unit]}
