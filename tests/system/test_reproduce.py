"""Experiments of the papers.

Those that need no data run; for the others, the page names the source of the data.
"""

from __future__ import annotations

import json
from fractions import Fraction
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from shoal.budget import mechanisms
from shoal.cli.app import app
from shoal.errors import OutputError
from shoal.methods import Cbfs, FullDomain, Mondrian, PFirst
from shoal.methods.patterns.kernels import finding
from shoal.models import KAnonymity, PPlusAlphaSensitive, PSensitive
from shoal.papers import (
    anti_unification,
    clique_reduction,
    enhanced_models,
    identifiability,
    microaggregation,
    sources,
    switching,
)
from shoal.papers.adult_hierarchies import HEIGHTS, HIERARCHIES
from shoal.papers.page import Section, to_html, to_markdown
from shoal.report.line_chart import line_chart
from shoal.schema.tree_hierarchies import declared_paths
from tests.builders.adult_files import write_adult

FIND_PATTERNS = finding.find_patterns


def test_missing_data_is_named(tmp_path, monkeypatch):
    monkeypatch.delenv("SHOAL_DATA", raising=False)
    result = CliRunner().invoke(app, ["reproduce", "--out", str(tmp_path / "pages"), "--json"])
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    assert len(answer["lacking"]) == 4
    page = (tmp_path / "pages" / "papers.md").read_text()
    assert "UCI Machine Learning Repository" in page
    assert "sdcMicro" in page
    assert "Table 8" in page  # needs no data
    assert (tmp_path / "pages" / "papers.html").read_text().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("below", ["", "adult"])
def test_uci_files_are_found(tmp_path, monkeypatch, below):
    write_adult(tmp_path / below, 20)
    monkeypatch.setenv("SHOAL_DATA", str(tmp_path))
    table = sources.adult()
    assert table is not None
    assert table.num_rows == 38  # two records have an unknown value


def test_uci_files_alone_suffice(tmp_path, monkeypatch):
    """The two files of UCI and nothing else: every section of Adult runs."""
    write_adult(tmp_path / "data")
    monkeypatch.setenv("SHOAL_DATA", str(tmp_path / "data"))
    for module in (switching, enhanced_models):
        monkeypatch.setattr(module, "SEEDS", 1)
    result = CliRunner().invoke(app, ["reproduce", "--out", str(tmp_path / "pages"), "--json"])
    assert result.exit_code == 0, result.exception
    missing = json.loads(result.stdout)["lacking"]
    assert [title.split(":")[0] for title in missing] == ["Tables 1 and 2", "Section 6"]  # Census, ARX's hierarchies
    page = (tmp_path / "pages" / "papers.md").read_text()
    for title in ("Table 7", "Figure 1", "Figure 2", "Figures 2(a) and 3(a)", "Table 1: accuracy", "Table 2: patterns"):
        assert f"### {title}" in page


def test_hierarchies_have_the_papers_heights():
    for name, hierarchy in HIERARCHIES.items():
        values = [path[0] for path in declared_paths(hierarchy)] or (["17", "90"] if name == "age" else ["a", "b"])
        assert hierarchy.bind(values, False).height + 1 == HEIGHTS[name]


def test_hierarchies_list_every_value_of_adult(shared_data, monkeypatch):
    monkeypatch.setenv("SHOAL_DATA", str(shared_data))
    table = sources.adult()
    assert table.num_rows == 45222
    for name, hierarchy in HIERARCHIES.items():
        hierarchy.bind(sorted(set(table[name].to_pylist())), False)
    assert len(set(table["workclass"].to_pylist())) == 7  # Table 9 says 8


def test_existing_page_needs_overwrite(tmp_path, monkeypatch):
    monkeypatch.delenv("SHOAL_DATA", raising=False)
    (tmp_path / "papers.md").write_text("mine")
    arguments = ["reproduce", "--out", str(tmp_path), "--paper", "microaggregation", "--json"]
    assert isinstance(CliRunner().invoke(app, arguments).exception, OutputError)
    assert [path.name for path in tmp_path.iterdir()] == ["papers.md"]
    assert (tmp_path / "papers.md").read_text() == "mine"
    assert CliRunner().invoke(app, [*arguments, "--overwrite"]).exit_code == 0
    assert (tmp_path / "papers.md").read_text() != "mine"


def test_an_unknown_paper_is_an_error(tmp_path):
    result = CliRunner().invoke(app, ["reproduce", "--paper", "none", "--out", str(tmp_path)])
    assert result.exit_code != 0


def test_figure_1_of_the_enhanced_models():
    """With α = 1 rows 3 and 4 become 435*, with α = 2 all rows.

    With α = 1 rows 1 and 2 stay.
    """
    for variant in ("as-printed", "improved"):
        rows = {row[0]: row[2] for row in enhanced_models._table_8().rows if row[1] == variant}
        assert rows[1] == "435* Flu, 435* HIV, 4351 Flu, 4351 HIV"
        assert rows[2] == "435* Flu, 435* Flu, 435* HIV, 435* HIV"


def test_verdicts_of_the_papers_tables():
    verdicts = [(row[0], row[2], row[3]) for row in switching._verdicts().rows]
    assert verdicts == [
        ("Table 2", "yes", 0),
        ("Table 5", "yes", 0),
        ("Table 5", "yes", 0),
        ("Table 5", "no", 2),
        ("Table 6", "yes", 0),
        ("Table 6", "yes", 0),
        ("Table 7", "yes", 0),
        ("Table 7", "yes", 0),
    ]


def test_composition_of_the_worked_examples():
    repaired = [str(row[-1]) for row in identifiability._release_and_question().rows]
    assert repaired == ["3333/19160", "1/5", "11/60", "1/2"]


def test_table_2_of_microaggregation(shared_data, monkeypatch):
    monkeypatch.setenv("SHOAL_DATA", str(shared_data))
    table = microaggregation.census()
    loss, groups = microaggregation._loss(table, microaggregation.PFirst(refine=False), 5, 5)
    assert loss == pytest.approx(47.15, abs=0.0101)
    assert groups == 13


def test_charts_in_html_and_next_to_markdown(tmp_path):
    chart = line_chart("<b>", "x", "y", {"one & two": [(1, 2), (2, 4), (3, float("nan"))], "three": [(1, 1)]})
    assert chart.count("<circle") == 3  # two points and the legend's mark: NaN is left out
    assert "<b>" not in chart
    assert "one &amp; two" in chart
    ElementTree.fromstring(chart)
    section = Section("Figure 1: time", chart=chart)
    assert section.picture == "figure-1-time.svg"
    assert "](figure-1-time.svg)" in to_markdown("t", "i", [("p", [section])])
    assert "<figure><svg" in to_html("t", "i", [("p", [section])])


@pytest.mark.parametrize("logarithmic", [False, True])
def test_chart_coordinates_follow_values(logarithmic):
    chart = line_chart("t", "x", "y", {"line": [(1, 10), (100, 1000)]}, log_x=logarithmic, log_y=logarithmic)
    points = ElementTree.fromstring(chart).find(".//{*}polyline").get("points").split()
    (left, low), (right, high) = (tuple(map(float, point.split(","))) for point in points)
    assert left < right
    assert low > high  # downwards in a picture
    with pytest.raises(ValueError, match="at least one point"):
        line_chart("t", "x", "y", {"line": []})


def test_pages_escape_values():
    section = Section("<b>", ("a|b", "", "c", "d"), [("<script>", None, 1.23456, 123.456)], "R & D, `x < y`")
    page = to_html("t", "i", [("p", [section])])
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert '<td class="number">1.235</td>' in page
    assert "<code>x &lt; y</code>" in page
    assert "<script>" in to_markdown("t", "i", [("p", [section])])  # Markdown is text


def _changed(monkeypatch, build, home, name, replacement):
    """Return the rows of a section before and after a fault in the library."""
    before = [list(map(str, row)) for row in build().rows]
    monkeypatch.setattr(home, name, replacement)
    return before, [list(map(str, row)) for row in build().rows]


@pytest.mark.parametrize(
    ("build", "home", "name", "replacement"),
    [
        (identifiability._propositions, identifiability, "worst_posterior", lambda *_: Fraction(1, 2)),
        (identifiability._release_and_question, identifiability, "compose", lambda rho, bound: rho * bound),
        (identifiability._random_mechanisms, identifiability, "both", lambda one, two: two + one[:0]),
        (identifiability._counterexample, identifiability, "both", lambda one, two: one),
        (identifiability._absence, identifiability, "calibrate", lambda bound, s: mechanisms.calibrate(bound**2, s)),
        (identifiability._extreme_value, identifiability, "Mondrian", lambda ranges: Mondrian(ranges="round")),
        (switching._verdicts, PPlusAlphaSensitive, "assess_column", PSensitive.assess_column),
        (enhanced_models._table_8, enhanced_models, "PAlphaSensitive", lambda p, alpha: PSensitive(p)),
        (switching._worked_run, switching, "PPlusAlphaSensitive", lambda p, alpha: PSensitive(p)),
        (lambda: anti_unification._figures()[0], anti_unification, "KAnonymity", lambda k: KAnonymity(2)),
        (clique_reduction.reduction_section, clique_reduction, "Refine", lambda **_: FullDomain()),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_sections_are_computed(monkeypatch, build, home, name, replacement):
    """A fault in the library changes the page: nothing on it is typed."""
    monkeypatch.setattr(identifiability, "INDIVIDUALS", 3)
    before, after = _changed(monkeypatch, build, home, name, replacement)
    assert before != after


def _census():
    random = np.random.default_rng(7)
    numbers = {f"x{j}": random.normal(size=240).round(3) for j in range(6)}
    return pa.table({**numbers, "y": random.integers(0, 40, 240), "z": random.integers(0, 40, 240)})


def _patterns():
    cells = [line.split(", ") for line in sources.adult_file("adult.data").read_text().splitlines()]
    return anti_unification._table_2(*anti_unification._codes(cells))


@pytest.mark.parametrize(
    ("build", "home", "name", "replacement"),
    [
        (lambda: switching._table_7(sources.adult()), switching, "PPlusAlphaSensitive", lambda p, _: PSensitive(p)),
        (lambda: microaggregation._table_p_1(_census()), microaggregation, "Mdav", lambda: Cbfs()),
        (lambda: microaggregation._table_1(_census()), microaggregation, "KFirst", lambda: PFirst()),
        (lambda: enhanced_models._by_alpha(sources.adult()), enhanced_models, "PAlphaSensitive",
         lambda p, _: PSensitive(p)),
        (_patterns, finding, "find_patterns",
         lambda codes, classes, counts, k, *rest: FIND_PATTERNS(codes, classes, counts, k + 1, *rest)),
    ],
    ids=["switching", "microaggregation p = 1", "microaggregation", "enhanced models", "anti-unification"],
)  # fmt: skip
def test_sections_with_data_are_computed(tmp_path, monkeypatch, build, home, name, replacement):
    """A fault in the library changes the sections that need data.

    Generated data stand for them. Without a fault, a section is the same when it is computed again.
    """
    monkeypatch.setenv("SHOAL_DATA", str(write_adult(tmp_path, 900)))
    monkeypatch.setattr(switching, "SEEDS", 1)
    again = [list(map(str, row)) for row in build().rows]
    before, after = _changed(monkeypatch, build, home, name, replacement)
    assert again == before
    assert before != after


@pytest.mark.parametrize("name", clique_reduction.GRAPHS)
def test_reduction_of_theorem_1(name):
    """Reach 48m just where edges can be partitioned."""
    graph = clique_reduction.GRAPHS[name]
    partition = clique_reduction.has_clique_partition(frozenset(graph))
    least = clique_reduction.least_suppression(graph)
    assert (least == 8 * len(graph)) == partition
    assert least >= 8 * len(graph)
    assert clique_reduction.suppressed_cells(graph) == least


def test_dividing_records_of_an_edge_saves_nothing():
    """Dividing the records of an edge does not lower the optimum."""
    graph = clique_reduction.OCTAHEDRON
    random = np.random.default_rng(0)
    for _ in range(300):
        first, second = (random.permutation(12) for _ in range(2))
        groups = [{*first[:6], *second[:6]}, {*first[6:], *second[6:]}]
        cost = sum(12 * clique_reduction._differing_columns([graph[i] for i in group]) for group in groups)
        assert cost >= clique_reduction.least_suppression(graph)


def test_verdicts_on_the_propositions():
    rows = identifiability._propositions().rows
    verdicts = [(row[0], row[4]) for row in rows]
    assert verdicts == [
        ("1, 2", "always"),
        ("1, 2", "not always"),
        ("1, 2", "not always"),
        ("3", "always"),
        ("3, proof", "not always"),
        ("4", "always"),
        ("5", "not always"),
        ("5, failures", "always"),
        ("5, repaired", "always"),
    ]


def test_income_of_one_person():
    exact, declared = identifiability._extreme_value().rows
    assert (exact[3], exact[5]) == (1, 1)
    assert (declared[3], declared[5]) == (29, 0)
