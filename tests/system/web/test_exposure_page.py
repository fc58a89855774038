"""Exposure of a release on the page."""

from __future__ import annotations

import json
import tomllib

from shoal.web.exposure_view import exposure_of

ROWS = "".join(f"{20 + n % 37},{'mf'[n % 2]},{10 + n % 11},{('flu', 'gout', 'asthma')[n % 3]}\n" for n in range(240))
PLAN = """[source]
path = "people.csv"
[columns.age]
role = "quasi-identifier"
hierarchy = { intervals = [5, 20] }
[columns.sex]
role = "quasi-identifier"
[columns.zip]
role = "quasi-identifier"
[columns.ill]
role = "sensitive"
[[models]]
name = "k-anonymity"
k = 5
known = 1
[method]
name = "hidden-cells"
[output]
path = "out.csv"
"""
FIGURES = {"columns": ["age", "sex", "zip"], "rows": 200, "alone": 1, "below_5": 3, "facts": []}
PARTIAL = {"models": [{"parameters": {"k": 5, "known": 1}}]}


def test_exposed_rows_come_with_picture_sentence_and_block(server):
    made = server.json("POST", "/api/uploads?name=people.csv&draft=no", "age,sex,zip,ill\n" + ROWS)
    project = made["project"]
    answer = json.loads(server.ask("PUT", f"/api/projects/{project}/plan", PLAN)[2])
    assert answer["error"] is None
    assert server.act(project, action="release")["state"] == "done"
    figures = server.json("GET", f"/api/projects/{project}/releases/1")["exposure"]
    assert figures["below_5"] > 0.01 * figures["rows"]
    for step in ("attack", "publish"):
        page = server.ask("GET", f"/p/{project}/{step}")[2].decode()
        assert f"for {figures['below_5']} of 240 (" in page
        assert f"{figures['alone']} of them are alone." in page
        assert "[[keys]]\ncolumns = [&#34;age&#34;, &#34;sex&#34;, &#34;zip&#34;]\nk = 5" in page
        assert "For you alone: none of this is published." in page
    german = server.ask("GET", f"/p/{project}/publish?lang=de")[2].decode()
    assert "weniger als 5 passende Zeilen" in german
    changes = json.loads(exposure_of(server.json("GET", f"/api/projects/{project}/releases/1"), "en")["changes"])
    answer = server.json("PATCH", f"/api/projects/{project}/plan", {"changes": changes})
    assert answer["error"] is None
    assert tomllib.loads(answer["plan"])["keys"] == [{"columns": ["age", "sex", "zip"], "k": 5}]
    assert server.act(project, action="release")["state"] == "done"
    after = server.json("GET", f"/api/projects/{project}/releases/2")["exposure"]
    assert after["below_5"] <= 0.01 * after["rows"]
    assert "[[keys]]" not in server.ask("GET", f"/p/{project}/attack")[2].decode().partition("<aside")[0]


def test_advice_only_above_one_percent_and_for_partial_knowledge():
    assert exposure_of({}, "en") is None
    assert exposure_of(None, "en") is None
    below = {**PARTIAL, "exposure": {**FIGURES, "below_5": 2}}
    assert exposure_of(below, "en")["block"] is None
    assert exposure_of({**PARTIAL, "exposure": FIGURES}, "en")["block"] == {"columns": ["age", "sex", "zip"], "k": 5}
    whole = exposure_of({"models": [{"parameters": {"k": 3}}], "exposure": FIGURES}, "en")
    assert (whole["bad"], whole["block"]) == (True, None)
    safe = exposure_of({**PARTIAL, "exposure": {**FIGURES, "below_5": 0, "alone": 0}}, "en")
    assert safe["sentence"].endswith("finds at least 5 rows that fit, for everybody.")
    people = {**PARTIAL, "exposure": {**FIGURES, "people": 200}}
    assert "fewer than 5 people" in exposure_of(people, "en")["sentence"]


def test_people_are_looked_for_before_and_after(server):
    project = server.json("POST", "/api/projects", {"sample": "patients"})["project"]
    assert server.act(project, action="cliff")["state"] == "done"
    page = server.ask("GET", f"/p/{project}/promise?lang=en")[2].decode()
    assert "narrows the original down to fewer than 5 rows for 100% of the rows." in page
    assert "find-form" not in page  # there is no release to look into
    assert server.act(project, action="release")["state"] == "done"
    assert server.act(project, action="cliff", release=1)["state"] == "done"
    for step in ("attack", "publish", "promise"):
        page = server.ask("GET", f"/p/{project}/{step}?lang=en")[2].decode()
        assert 'class="scatter cliff"' in page
        assert 'id="find-form"' in page
    found = server.act(project, action="find", release=1, facts=[["age", "28"]])["result"]
    assert found["before"] >= 1
    assert found["after"] >= 4
    assert "rows can match in the release" in server.ask("GET", f"/p/{project}/attack?lang=en")[2].decode()
    assert server.act(project, action="find", release=1, facts=[["condition", "HIV"]])["state"] == "failed"
    for facts in ([["age"]], [["age", 28]], ["age"]):
        answer = server.ask("POST", f"/api/projects/{project}/runs", {"action": "find", "release": 1, "facts": facts})
        assert answer[0] == 422
