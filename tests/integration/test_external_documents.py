"""External documents: functions of the released table and public plan.

All small tables are released by every method; wherever two releases have the same bytes, so have their certificates and
reports. A figure that the release does not determine would differ somewhere.
"""

from __future__ import annotations

import itertools
import json
import os
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

import shoal
from shoal import methods, models
from shoal.budget import Ledger
from shoal.budget.methods import PopulationGrid, SampledGrid
from shoal.io.publish import certificate_of, internal_report_of, recoding_of, report_of
from shoal.pipeline.run import Plan
from shoal.results.certificate import to_plain
from shoal.results.public_plan import public_plan
from shoal.schema import Column, Flat, Role, Table

CELLS = tuple(itertools.product(("a", "b"), ("x", "y", "z")))
"""The universe: all rows that a table can have."""
SCHEMA = {
    "u": Column(Role.QUASI_IDENTIFIER, Flat()),
    "v": Column(Role.QUASI_IDENTIFIER, Table((("x", "w"), ("y", "w"), ("z", "z")))),
}
K = models.KAnonymity(2)
BY_ROWS = {
    "full-domain": methods.FullDomain(suppression=0.5),
    "full-domain with weights": methods.FullDomain(suppression=0.5, weights={"u": 3.0}),
    "levels": methods.Levels({"v": 1}, suppression=0.5),
    "top-down": methods.TopDown(),
    "mondrian": methods.Mondrian(),
    "switching": methods.Switching(),
    "local-suppression": methods.LocalSuppression(),
    "loose stars": methods.LocalSuppression(missing="loose"),
    "refine": methods.Refine(),
    "disjoint patterns": methods.AntiUnification(),
    "overlapping patterns": methods.AntiUnification(patterns="overlapping"),
    "mdav": methods.Mdav(k=2),
    "cbfs": methods.Cbfs(k=2),
    "v-mdav": methods.VMdav(k=2),
    "k-first": methods.KFirst(k=2),
    "p-first": methods.PFirst(k=2),
    "auto": methods.Auto(suppression=0.5),
}
PLANS = {name: Plan(SCHEMA, (K,), method) for name, method in BY_ROWS.items()}
PLANS["hidden-cells"] = Plan(SCHEMA, "k-anonymity k=2 known=1", methods.HiddenCells())
PLANS["known columns"] = Plan(SCHEMA, "k-anonymity k=2 known=1")
LEAVING_OUT = ("full-domain", "full-domain with weights", "levels", "hidden-cells", "loose stars", "local-suppression")
"""Plans with which several tables have one release."""


def tables(max_rows: int) -> Iterable[tuple[tuple[str, str], ...]]:
    """List all tables of the universe, without regard to the order of rows."""
    for rows in range(2, max_rows + 1):
        yield from itertools.combinations_with_replacement(CELLS, rows)


def external_bytes(release: shoal.Release) -> tuple[str, str]:
    return release.certificate.to_json(), release.report().html


def distinct_documents(sources: Iterable[Sequence[tuple[str, ...]]], plan: Plan) -> dict[str, set[tuple[str, str]]]:
    """Return the documents that occur with each released table."""
    found = defaultdict(set)
    names = list(plan.columns)
    for rows in sources:
        table = pa.table({name: [row[j] for row in rows] for j, name in enumerate(names)})
        try:
            release = shoal.anonymize(table, plan)
        except (shoal.errors.InfeasibleError, shoal.errors.PlanError, shoal.errors.TableError):
            continue
        found[str(release.table.to_pydict())].add(external_bytes(release))
    return found


@pytest.mark.parametrize("name", sorted(PLANS))
def test_equal_releases_have_equal_documents(name):
    """Documents of equal releases are equal, for any of their sources.

    With SHOAL_UNIVERSE=6 all tables of at most six rows are released (half a minute of CPU time for each method).
    """
    everything = int(os.environ.get("SHOAL_UNIVERSE", "0"))
    sources = list(tables(everything or (4 if name in ("full-domain", "hidden-cells") else 2)))
    sources += random.Random(1).sample(list(tables(6)), 20)
    found = distinct_documents(sources, PLANS[name])
    assert found
    assert all(len(documents) == 1 for documents in found.values())
    if name in LEAVING_OUT:
        assert len(found) < len(sources)


NUMBERS = {"u": Column(Role.QUASI_IDENTIFIER), "s": Column(Role.SENSITIVE)}
NUMBER_ROWS = tuple(itertools.product((0, 1, 2), ("m", "n")))
NUMERIC = {
    "mdav": methods.Mdav(k=2),
    "cbfs": methods.Cbfs(k=2),
    "v-mdav": methods.VMdav(k=2, gamma=1.1),
    "k-first": methods.KFirst(k=2),
    "p-first": methods.PFirst(k=2),
    "p-first, lacking": methods.PFirst(k=2, contributes="lacking"),
}


@pytest.mark.parametrize("name", sorted(NUMERIC))
def test_documents_of_means_follow_from_the_release(name):
    """Groups of 0 and 2, or of 1 and 1, have one mean."""
    plan = Plan(NUMBERS, (K, models.PSensitive(2)) if "first" in name else (K,), NUMERIC[name])
    sources = list(itertools.combinations_with_replacement(NUMBER_ROWS, 3))
    sources += random.Random(5).sample(list(itertools.combinations_with_replacement(NUMBER_ROWS, 4)), 8)
    found = distinct_documents(sources, plan)
    assert 1 < len(found) < len(sources)
    assert all(len(documents) == 1 for documents in found.values())


@pytest.mark.parametrize("name", ["population", "sampled"])
def test_documents_of_grids_follow_from_the_release(tmp_path, name):
    """Rows of left-out cells and rows outside the sample change no document."""
    found, releases = defaultdict(set), 0
    sources = random.Random(6).sample(list(tables(6)), 50)
    for number, rows in enumerate(sources):
        ledger = Ledger.create(tmp_path / f"{number}.ledger", m=1000, k=2, name="people", delta_limit="9/10")
        shared: dict[str, Any] = {"k": 2, "ledger": ledger, "levels": {"u": 0, "v": 1}}
        if name == "population":
            plan = Plan(SCHEMA, (K,), PopulationGrid(universe=1000, **shared))
        else:
            plan = Plan(SCHEMA, (), SampledGrid(beta="1/2", bound=2, **shared))
        table = pa.table({column: [row[j] for row in rows] for j, column in enumerate(SCHEMA)})
        try:
            release = shoal.anonymize(table, plan)
        except (shoal.errors.InfeasibleError, shoal.errors.PlanError):
            continue
        found[str(release.table.to_pydict())].add(external_bytes(release))
        releases += 1
    assert 1 < len(found) < releases
    assert all(len(documents) == 1 for documents in found.values())


SECRETS = {**SCHEMA, "s": Column(Role.SENSITIVE, order=("m", "n"))}
SOLVED = {
    "left-out rows": Plan(SECRETS, (K, models.PSensitive(2)), methods.FullDomain(suppression=0.5)),
    "shares": Plan(SECRETS, (K, models.TCloseness(0.6)), methods.FullDomain(suppression=0.5)),
    "hidden cells": Plan(SECRETS, ("k-anonymity k=2 known=1",), methods.HiddenCells()),
    "local suppression": Plan(SECRETS, (K,), methods.LocalSuppression()),
}


@pytest.mark.parametrize("name", sorted(SOLVED))
def test_documents_exclude_no_source(name):
    """Sources that a reader of table and documents cannot exclude.

    They are those that the table alone leaves: all sources that differ from one in a row are tried.
    """
    plan, chance = SOLVED[name], random.Random(7)
    universe = [(*cell, secret) for cell in CELLS for secret in "mn"]
    sources_of, sources_of_all = defaultdict(set), defaultdict(set)
    for rows in random.Random(8).sample(list(itertools.combinations_with_replacement(universe, 5)), 4):
        changed = chance.randrange(5)
        for other in universe:
            source = tuple(sorted((*rows[:changed], *rows[changed + 1 :], other)))
            table = pa.table({column: [row[j] for row in source] for j, column in enumerate(SECRETS)})
            try:
                release = shoal.anonymize(table, plan)
            except shoal.errors.InfeasibleError:
                continue
            published = str(release.table.to_pydict())
            sources_of[published].add(source)
            sources_of_all[published, external_bytes(release)].add(source)
    assert {published: sources_of_all[published, documents] for published, documents in sources_of_all} == sources_of
    assert len(sources_of) == len(sources_of_all)
    assert max(map(len, sources_of.values())) > 1


# -- people, sensitive columns, drafted plans ------------------------------------------------------------------------

PEOPLE = {"person": Column(Role.PERSON), "v": Column(Role.QUASI_IDENTIFIER, Flat()), "s": Column(Role.SENSITIVE)}
PEOPLE_ROWS = tuple(itertools.product(("p", "q", "r"), ("x", "y"), ("m", "n")))


@pytest.mark.parametrize("method", ["full-domain", "switching"])
def test_documents_about_people_follow_from_the_release(method):
    """Owners of rows, and values in rows left out, change no document."""
    chosen = methods.FullDomain(suppression=0.6) if method == "full-domain" else methods.Switching()
    plan = Plan(PEOPLE, (K, models.PSensitive(2)), chosen)
    sources = random.Random(2).sample(list(itertools.combinations_with_replacement(PEOPLE_ROWS, 4)), 50)
    found = distinct_documents(sources, plan)
    assert 1 < len(found) < 50
    assert all(len(documents) == 1 for documents in found.values())
    certificate = json.loads(next(iter(found.values())).pop()[0])
    assert [model["effective"] for model in certificate["models"]] == [{}, {}]
    assert set(certificate["people"]) == {"unit", "verification"}


SENSITIVE = {
    "u": Column(Role.QUASI_IDENTIFIER, Flat()),
    "s": Column(Role.SENSITIVE, Table((("m", "w"), ("n", "w"), ("o", "o"))), order=("m", "n", "o")),
}


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
def test_documents_about_sensitive_values_follow_from_the_release(distance):
    plan = Plan(SENSITIVE, (K, models.TCloseness(0.7, distance=distance)), methods.FullDomain(suppression=0.5))
    rows = tuple(itertools.product("ab", "mno"))
    sources = random.Random(3).sample(list(itertools.combinations_with_replacement(rows, 5)), 25)
    found = distinct_documents(sources, plan)
    assert found
    assert all(len(documents) == 1 for documents in found.values())


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
def test_public_plan_asks_the_same_question(distance):
    """Lists of a plan are cut to released values; figures stay the same."""
    categories = [["n"], ["m"], ["o"]]
    columns = {
        "u": {"role": "quasi-identifier", "hierarchy": {"tree": {"w": ["a", "b"], "secret place": ["c"]}}},
        "s": {"role": "sensitive", "order": ["m", "hush", "n", "o"], "categories": [["n"], ["m", "hush"], ["o"], ["x"]],
              "hierarchy": {"table": [["m", "w"], ["n", "w"], ["o", "o"], ["hush", "deep"]]}},
    }  # fmt: skip
    conditions = [{"name": "k-anonymity", "k": 2}, {"name": "t-closeness", "t": 0.9, "distance": distance},
             {"name": "p-alpha-sensitive", "p": 1, "alpha": 1}]  # fmt: skip
    table = pa.table({"u": list("aabbaabbc"), "s": ["m", "n", "o", "o", "n", "m", "m", "m", "hush"]})
    plan = {"columns": columns, "models": conditions, "method": {"name": "full-domain", "suppression": 0.3}}
    release = shoal.anonymize(table, plan)
    text = release.certificate.to_json() + release.report().html
    assert "hush" not in text
    assert "secret place" not in text
    again = shoal.check(release.table, plan=release.certificate["plan"])
    assert again.holds
    assert [model.effective for model in again.models] == [model["effective"] for model in release.figures["models"]]
    assert release.certificate["plan"]["columns"]["s"]["order"] == ["m", "not released 2", "n", "o"]
    assert len(release.certificate["plan"]["columns"]["s"]["categories"]) == len(categories) + 1


@pytest.mark.parametrize("name", sorted(PLANS))
def test_public_plan_can_be_read_as_a_plan(name):
    plan = PLANS[name]
    again = Plan.from_dict(to_plain(public_plan(plan).state({})))
    assert again.model == plan.model
    assert again.method.wildcard == plan.method.wildcard


def test_drafted_plans_have_equal_documents():
    """Drafted plans differ from table to table; their documents do not.

    Tables whose drafts promise something else are not compared.
    """
    found = defaultdict(set)
    ages = (20, 25, 34, 61)
    for rows in random.Random(4).sample(list(itertools.combinations_with_replacement(ages, 5)), 25):
        table = pa.table({"age": list(rows), "sex": ["f"] * 5})
        plan = shoal.draft(table, k=2, rehearse=False).plan.with_(method="full-domain", suppression=0.4)
        release = shoal.anonymize(table, plan)
        promised = (str(plan.models), str([column.role for column in plan.columns.values()]))
        found[str(release.table.to_pydict()), promised].add(external_bytes(release))
    assert len(found) < 25
    assert all(len(documents) == 1 for documents in found.values())


# -- files -----------------------------------------------------------------------------------------------------------


def write_source(folder: Path, rows: Sequence[tuple[str, str]], **sections: object) -> dict[str, object]:
    pyarrow.csv.write_csv(pa.table({"u": [u for u, _ in rows], "v": [v for _, v in rows]}), folder / "t.csv")
    return {
        "source": {"path": str(folder / "t.csv")},
        "columns": {name: {"role": "quasi-identifier", "hierarchy": {"flat": True}} for name in "uv"},
        "models": [{"name": "k-anonymity", "k": 2}],
        "method": {"name": "full-domain", "suppression": 0.5},
        "output": {"path": str(folder / "r.csv"), "overwrite": True},
        **sections,
    }


def test_left_out_rows_under_a_stored_recoding_change_no_document(tmp_path):
    frequent = [("a", "x"), ("a", "x"), ("b", "y"), ("b", "y")]
    plan = write_source(tmp_path, [*frequent, ("b", "x")])
    shoal.release(plan, save_recoding=True)
    stored = recoding_of(tmp_path / "r.csv").rename(tmp_path / "stored.recoding")
    found = set()
    for left_out in ([], [("b", "x")], [("a", "z")], [("c", "z"), ("d", "q")]):
        released = shoal.release(write_source(tmp_path, [*frequent, *left_out]), recoding=stored)
        assert released.figures["suppressed"] == len(left_out)
        path = tmp_path / "r.csv"
        found.add(tuple(file.read_bytes() for file in (path, certificate_of(path), report_of(path))))
    assert len(found) == 1


def test_hidden_cells_change_no_document(tmp_path):
    """Sources that differ in hidden cells only have one release."""
    sections = {
        "models": [{"name": "k-anonymity", "k": 2, "known": 1}],
        "method": {"name": "hidden-cells"},
    }
    found = defaultdict(set)
    hidden = 0
    for v, w in itertools.product("pqrs", repeat=2):
        rows = [("a", "x"), ("a", "x"), ("b", "x"), ("b", v), ("b", w)]
        shoal.release(write_source(tmp_path, rows, **sections))
        path = tmp_path / "r.csv"
        hidden += b"*" in path.read_bytes()
        found[path.read_bytes()].add((certificate_of(path).read_bytes(), report_of(path).read_bytes()))
    assert hidden > 4
    assert len(found) < hidden
    assert all(len(documents) == 1 for documents in found.values())


def test_saved_release_has_the_documents_of_its_file(tmp_path):
    """A release in memory and one by a plan write the same documents."""
    rows = [("a", "x"), ("a", "x"), ("b", "y"), ("b", "y"), ("b", "x")]
    plan = write_source(tmp_path, rows)
    shoal.release(plan)
    made = shoal.anonymize(pyarrow.csv.read_csv(tmp_path / "t.csv"), plan)
    made.save(tmp_path / "saved", "r.csv")
    documents = [json.loads((folder / "r.certificate.json").read_text()) for folder in (tmp_path, tmp_path / "saved")]
    assert {key: value for key, value in documents[0].items() if key != "reading"} == {
        key: value for key, value in documents[1].items() if key != "reading"
    }
    assert (tmp_path / "r.report.html").read_bytes() == (tmp_path / "saved" / "r.report.html").read_bytes()


def test_owner_figures_are_in_no_external_file(tmp_path):
    rows = [("a", "x"), ("a", "x"), ("b", "y"), ("b", "y"), ("b", "x")]
    made = shoal.release(write_source(tmp_path, rows))
    certificate = json.loads(certificate_of(tmp_path / "r.csv").read_text())
    gone = {"source", "rows", "suppressed", "loss", "bound", "levels", "labels", "linking_columns"}
    assert not gone & set(certificate)
    assert certificate["method"] == {"name": "full-domain"}
    assert certificate["left_out"] == {"at_most": 0.5}
    assert set(certificate["plan"]) == {"columns", "models", "method"}
    assert not internal_report_of(tmp_path / "r.csv").exists()
    answer = made.to_dict()
    assert answer["rows"] == 5
    assert answer["suppressed"] == 1
    assert answer["method"]["lattice_nodes"] == 4
    with pytest.warns(DeprecationWarning, match="figures"):
        assert made.certificate["suppressed"] == 1
    with pytest.raises(KeyError):
        made.certificate["nonsense"]
    assert "suppressed" not in made.certificate.to_json()


def test_internal_report_is_written_on_request_and_marked(tmp_path):
    rows = [("a", "x"), ("a", "x"), ("b", "y"), ("b", "y"), ("b", "x")]
    plan = write_source(tmp_path, rows)
    shoal.release(plan, internal_report=True)
    page = internal_report_of(tmp_path / "r.csv").read_text()
    assert "Do not publish this page" in page
    assert "5 rows; 4 of them are released, 1 was left out" in page
    outside = report_of(tmp_path / "r.csv").read_text()
    assert "left out" in outside
    assert "at most 50% of the rows were left out" in outside
    assert "Original" not in outside
    shoal.release(plan)
    assert not internal_report_of(tmp_path / "r.csv").exists()


def test_chart_of_the_loss_needs_the_internal_report(tmp_path):
    with pytest.raises(shoal.errors.PlanError, match="--internal-report"):
        shoal.release(write_source(tmp_path, [("a", "x")] * 4), explain=1.0)


def test_stored_recoding_is_marked_as_the_owners(tmp_path):
    shoal.release(write_source(tmp_path, [("a", "x")] * 4), save_recoding=True)
    stored = json.loads(recoding_of(tmp_path / "r.csv").read_text())
    assert "not to be published" in stored["note"]
