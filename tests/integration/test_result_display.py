"""Display of results: text of 80 columns, and HTML.

HTML escapes values of data and keeps its style within the cell.
"""

from __future__ import annotations

import dataclasses
import html.parser
import sys
import types

import pandas as pd
import pytest

import shoal
from shoal.advice.explain import Change, Cost, Explanation
from shoal.advice.explore import Exploration, Trial
from shoal.render import Grid, Page, Summary
from shoal.render.summary import CELL_STYLE, MAX_ROWS
from shoal.runtime.progress import show_progress
from tests.builders.errors import has_code

EVIL = "<script>alert(1)</script>\x1b[2J"
FRAME = pd.DataFrame(
    {
        "age": [20 + n // 2 for n in range(24)],
        f"zip {EVIL}": [f"142{n % 4}{n % 2}" for n in range(24)],
        "illness": ["flu", "gout", "asthma"] * 8,
    }
)
PLAN = shoal.Plan(
    columns={
        "age": shoal.hierarchies.intervals(5, 10),
        f"zip {EVIL}": shoal.hierarchies.prefix(),
        "illness": "sensitive",
    },
    models=["k-anonymity k=3", "p-sensitive p=2"],
)


COSTS = (
    Cost(Change(column=f"zip {EVIL}"), 0.1),
    Cost(Change(model="p-sensitive"), None, shoal.errors.PlanError("no")),
)


@pytest.fixture(scope="module")
def release():
    return shoal.anonymize(FRAME, PLAN)


@pytest.fixture(scope="module")
def results(release):
    trials = (
        Trial(
            "mondrian",
            {"strict": True},
            5,
            "released",
            "",
            {"ncp": 0.1},
            {"ncp": 0.05},
            0.02,
            0.2,
            24,
            0,
            3,
            8,
            0.1,
            True,
            True,
        ),
        Trial("mdav", {}, 5, "refused", shoal.errors.PlanError(f"It cannot. {EVIL}")),
    )
    return [
        release,
        release.certificate,
        shoal.check(release.table, "k-anonymity k=3", plan=PLAN),
        shoal.check(release.table, "k-anonymity k=30", quasi_identifiers=["age"]),
        PLAN,
        shoal.profile(FRAME),
        shoal.attack(release.table, PLAN, original=FRAME),
        shoal.assess(release.table, PLAN, fraction=0.1),
        shoal.compare(FRAME, release.table, PLAN, queries=10),
        Explanation(0.2, COSTS, (), 24, True),
        Exploration("ncp", trials),
        Exploration("ncp", trials[1:]),
    ]


class Nesting(html.parser.HTMLParser):
    """Parser that fails if elements are not closed in turn."""

    EMPTY = ("rect", "circle", "line", "polyline", "polygon", "br", "meta")

    def __init__(self):
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.EMPTY:
            assert self.open.pop() == tag


def test_text_fits_80_columns_and_has_no_control_character(results):
    for result in results:
        for line in repr(result).splitlines():
            assert len(line) <= 80, line
            assert line.isprintable(), line


def test_html_is_well_formed_and_escapes_data(results):
    for result in results:
        rendered = result._repr_html_()
        assert "<script" not in rendered
        parser = Nesting()
        parser.feed(rendered)
        assert not parser.open


def test_text_and_html_have_the_same_content(results):
    for result in results:
        summary = result.summary()
        assert summary.title in repr(result)
        assert summary.title in result._repr_html_()
        for grid in summary.grids:
            assert grid.caption in repr(result)


def test_no_original_value_is_displayed(release):
    text = repr(release) + release._repr_html_() + repr(shoal.profile(FRAME))
    assert not any(value in text for value in [*FRAME["illness"], *FRAME[f"zip {EVIL}"]])


def test_verdict_is_the_first_line():
    good = shoal.check(FRAME, "k-anonymity k=2", quasi_identifiers="age")
    bad = shoal.check(FRAME, "k-anonymity k=3", quasi_identifiers="age")
    assert repr(good).startswith("The table meets the models")
    assert repr(bad).startswith("The table does not meet the models")
    assert "24 rows in 12 groups" in repr(bad)


def test_cell_style_is_scoped():
    depth, selector = 0, ""
    for sign in CELL_STYLE:
        if sign == "{":
            if not selector.strip().startswith("@"):
                assert all(".shoal" in part for part in selector.split(",")), selector
            depth, selector = depth + 1, ""
        elif sign == "}":
            depth, selector = depth - 1, ""
        else:
            selector += sign
    assert depth == 0
    assert "print" not in CELL_STYLE
    assert 'data-jp-theme-light="false"' in CELL_STYLE


def test_long_tables_count_omitted_rows():
    summary = Summary("t", (), (), [Grid("rows", ("n",), [(n,) for n in range(MAX_ROWS + 3)])])
    assert "rows (and 3 more)" in summary.to_text()
    assert "rows (and 3 more)" in summary.to_html()


def test_report_page_in_a_notebook_frame(release, tmp_path):
    page = release.report()
    assert isinstance(page, Page)
    assert page.save(tmp_path / "report.html").read_text().startswith("<!DOCTYPE html>")
    framed = page._repr_html_()
    assert framed.startswith('<iframe sandbox=""')
    assert "<!DOCTYPE" not in framed
    assert len(repr(page)) <= 80
    with pytest.raises(shoal.errors.OutputError):
        page.save(tmp_path / "nowhere" / "report.html")


def test_page_save_needs_overwrite(release, tmp_path):
    """Links and folders are not replaced even with ``overwrite``."""
    path, linked = tmp_path / "mine.html", tmp_path / "linked.html"
    path.write_text("mine")
    linked.symlink_to(path)
    page = release.report()
    for refused, overwrite in ((path, False), (linked, False), (linked, True), (tmp_path, True)):
        with pytest.raises(shoal.errors.OutputError):
            page.save(refused, overwrite=overwrite)
    assert path.read_text() == "mine"
    page.save(path, overwrite=True)
    assert path.read_text() == page.html
    assert sorted(tmp_path.iterdir()) == [linked, path]


def test_exploration_plot(results):
    page = results[-2].plot("k-anonymity(k=5)")
    assert "<svg" in page.html
    assert "k-anonymity(k=5)" in page.html
    assert "<svg" in results[-2]._repr_html_()
    assert "<svg" not in results[-1]._repr_html_()


@pytest.mark.parametrize("name", ["released.csv", "released.parquet"])
def test_saved_release_with_certificate_and_report(release, tmp_path, name):
    saved = release.save(tmp_path / "new", name)
    names = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert names == sorted([name, "released.certificate.json", "released.report.html"])
    assert saved.path == tmp_path / "new" / name
    assert shoal.check(saved.path, plan=PLAN).holds
    assert saved.figures["output"]["name"] == name
    with pytest.raises(shoal.errors.OutputError, match="exists"):
        release.save(tmp_path / "new", name)
    release.save(tmp_path / "new", name, overwrite=True)


def test_changed_release_is_not_saved(release, tmp_path):
    import dataclasses

    spoiled = dataclasses.replace(release, table=release.table.assign(age=range(24)))
    with pytest.raises(shoal.errors.OutputError, match="could not be verified"):
        spoiled.save(tmp_path)
    assert not list(tmp_path.glob("released*"))
    with pytest.raises(shoal.errors.OutputError, match="in memory"):
        dataclasses.replace(release, table=None).save(tmp_path)


def test_progress_by_callback_terminal_and_notebook(capsys, monkeypatch):
    """Without a terminal nothing is printed unless asked for."""
    steps: list[str] = []
    shoal.anonymize(FRAME, PLAN, progress=lambda step, done=None: steps.append(step))
    assert "verifying" in steps
    with show_progress(None) as show:
        show("reading", None)
    assert capsys.readouterr().err == ""
    with show_progress(True) as show:
        show("reading\x1b[2J", 0.5)
    assert "\x1b[2J" not in capsys.readouterr().err

    class Handle:
        def update(self, content):
            written.append(content)

    written: list[str] = []
    display = types.ModuleType("IPython.display")
    display.HTML = str
    display.display = lambda content, display_id: written.append(content) or Handle()
    python = types.ModuleType("IPython")
    python.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", python)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    with show_progress(True) as show:
        show("compiling <once>", 0.5)
        show("deciding", None)
    assert "compiling &lt;once&gt;" in written[0]
    assert "deciding" in written[1]
    assert written[-1] == ""


def test_release_explains_its_loss(release):
    found = release.explain(FRAME, time_limit=0.001)
    assert found.loss == pytest.approx(release.utility["ncp"])
    assert f"{found.loss:.2f}" in repr(found)
    with pytest.raises(shoal.errors.PlanError, check=has_code("release.plan-unknown")):
        dataclasses.replace(release, plan=None).explain(FRAME)
