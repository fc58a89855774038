"""Report: facts that disclose no small group, and a self-contained page."""

from __future__ import annotations

import itertools
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.datasets.patients import FOLDER
from shoal.io.publish import publish, report_of
from shoal.methods import METHODS
from shoal.plan.plan import Plan
from shoal.render.html import prose
from shoal.render.style import STYLE
from shoal.report import render, render_internal
from shoal.report.wording import _METHODS
from shoal.results.report_facts import safe_cells
from shoal.schema import Cuts, Flat, Prefix, Tree, Widths
from tests.builders.errors import has_code
from tests.builders.plans import write_plan

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"


def patients() -> shoal.Release:
    plan = Plan.read(FOLDER / "patients.toml")
    import csv

    with (FOLDER / "patients.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    table = pa.table({name: [row[index] for row in rows] for index, name in enumerate(header)})
    return shoal.anonymize(table, plan)


def internal(release: shoal.Release) -> str:
    return release.report(internal=True).html


class Page(HTMLParser):
    """Elements, attributes and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


# -- facts -----------------------------------------------------------------------------------------


def test_facts_of_the_twelve_patients():
    """Facts worked out by hand.

    All twelve are unique before. After, there are groups of 8 and 4, so the risk is 2/12 on average and 1/4 at most.
    """
    facts = patients().description
    assert facts.least == 4
    assert (facts.before.groups, facts.before.smallest_group) == (12, 1)
    assert (facts.before.risk.prosecutor.highest, facts.before.risk.prosecutor.average) == (1.0, 1.0)
    assert (facts.before.risk.prosecutor.at_risk, facts.after.risk.prosecutor.at_risk) == (1.0, 0.0)
    assert (facts.after.groups, facts.after.smallest_group) == (2, 4)
    assert facts.after.risk.prosecutor.highest == 1 / 4
    assert facts.after.risk.prosecutor.average == pytest.approx(2 / 12)
    before = {attack.name: attack.exposed for attack in facts.before.attacks}
    after = {attack.name: attack.exposed for attack in facts.after.attacks}
    assert before["homogeneity"] == before["similarity"] == 12
    assert after["homogeneity"] == after["similarity"] == 0
    assert after["inference"] == 4  # 3 of 8 have the flu, 1 of 4 has any one illness
    columns = {column.name: column for column in facts.columns}
    assert (columns["age"].level, columns["age"].values, columns["age"].labels) == (2, 12, 2)
    cells = {cell.label: (cell.before, cell.after) for cell in columns["age"].distribution.cells}
    assert cells == {"<30": (4, 4.0), "30..39": (4, 4.0), ">=40": (4, 4.0)}
    assert [cell.label for cell in columns["zip"].distribution.cells] == ["130**", "142**"]


HIERARCHIES = (
    Flat(),
    Prefix(),
    Widths((5, 10, 50)),
    Cuts(((20, 40, 60), (40,))),
    Tree({"low": {"a": [str(n) for n in range(30)], "b": [str(n) for n in range(30, 50)]},
          "high": {"c": [str(n) for n in range(50, 100)]}}),
)  # fmt: skip


@given(
    st.dictionaries(st.integers(0, 99), st.integers(0, 12), min_size=1, max_size=60),
    st.sampled_from(HIERARCHIES),
    st.integers(2, 9),
    st.booleans(),
)
def test_no_small_cell_even_by_subtraction(counts, hierarchy, least, missing):
    """Cells have at least ``least`` rows, also within a label of any level.

    A small count must not follow from subtracting cells from the total of a label.
    """
    values = sorted(counts)
    ladder = hierarchy.bind([str(value) for value in values], missing)
    count = np.asarray([counts[value] for value in values] + [3] * missing, np.int64)
    cells = safe_cells(count, ladder, least)
    present = np.flatnonzero(count)
    if count.sum() < least:
        assert cells == []
        return
    covered = np.sort(np.concatenate([leaves for _, leaves in cells]))
    assert covered.tolist() == present.tolist()
    assert all(count[leaves].sum() >= least for _, leaves in cells)
    assert len(cells) <= 24
    assert len({label for label, _ in cells}) == len(cells)
    for level in range(1, ladder.height + 1):
        totals = np.bincount(ladder.codes[level], weights=count)
        if (totals[totals > 0] < least).any():
            continue
        for code in np.flatnonzero(totals):
            under = np.flatnonzero(ladder.codes[level] == code)
            parts = [count[np.intersect1d(leaves, under)].sum() for _, leaves in cells]
            assert all(part == 0 or part >= least for part in parts)


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(18, 60), st.sampled_from("abc")), min_size=6, max_size=60), st.integers(2, 4))
def test_distributions_of_releases(rows, k):
    table = pa.table({"age": [age for age, _ in rows], "x": [x for _, x in rows]})
    document = {
        "columns": {
            "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 20]}},
            "x": {"role": "quasi-identifier"},
        },
        "models": [{"name": "k-anonymity", "k": k}],
        "method": {"name": "full-domain", "suppression": 0.3},
    }
    release = shoal.anonymize(table, document)
    for column in release.description.columns:
        distribution = column.distribution
        assert 0 <= column.lost <= 1
        if column.labels == 1 and column.level == column.height:
            assert distribution is None or column.height == 0  # nothing is shown of the column
            continue
        assert (distribution.rows, distribution.source_rows) == (release.figures["released"], len(rows))
        assert sum(cell.before for cell in distribution.cells) == len(rows)
        assert sum(cell.after for cell in distribution.cells) == pytest.approx(distribution.rows)
        assert min(cell.before for cell in distribution.cells) >= k
        assert 0 <= distribution.moved <= 1


def test_minority_that_was_left_out_is_seen_by_the_owner():
    """The original is all rows of the source; the external report is silent."""
    table = pa.table({"town": ["A"] * 9 + ["B"] * 9 + ["C"] * 3 + ["D"]})
    plan = {
        "columns": {"town": {"role": "quasi-identifier"}},
        "models": [{"name": "k-anonymity", "k": 3}],
        "method": {"name": "levels", "suppression": 0.2},
    }
    plan["models"][0]["k"] = 4
    release = shoal.anonymize(table, plan)
    (column,) = release.description.columns
    cells = [(cell.label, cell.before, cell.after) for cell in column.distribution.cells]
    assert cells == [("A", 9, 9.0), ("B", 9, 9.0), ("other values", 4, 0.0)]
    assert "other values" in internal(release)
    labels = re.findall(r"<bdi>(\w)</bdi>", render(release))
    assert "A" in labels
    assert "C" not in labels


def test_column_of_stars_is_drawn_from_the_release_alone():
    """Nothing is known of the values below `*`, and none are drawn."""
    table = pa.table({"age": ["20", "30"] * 6, "town": [f"town{n}" for n in range(12)]})
    columns = {"age": {"role": "quasi-identifier"}, "town": {"role": "quasi-identifier"}}
    release = shoal.anonymize(table, {"columns": columns, "models": [{"name": "k-anonymity", "k": 3}]})
    facts = {column.name: column.distribution for column in release.description.columns}
    assert facts["town"] is None
    assert facts["age"] is not None
    for page in (render(release), internal(release)):
        assert "town1" not in page
    listed = dict(release.external.labels)
    assert listed["town"] == (("*", 12),)


def test_hidden_cells_are_in_no_external_bar():
    """Bars of the release have `*` as a separate label.

    Original values of hidden cells cannot be found by subtraction.
    """
    table = pa.table({"u": list("aaaabb"), "v": ["x", "x", "x", "y", "y", "z"]})
    columns = {name: {"role": "quasi-identifier", "hierarchy": {"flat": True}} for name in "uv"}
    plan = {"columns": columns, "models": [{"name": "k-anonymity", "k": 2, "known": 2}], "method": "hidden-cells"}
    release = shoal.anonymize(table, plan)
    labels = {name: dict(found) for name, found in release.external.labels.items()}
    cells = release.table.to_pydict()
    assert labels == {name: {value: cells[name].count(value) for value in cells[name]} for name in "uv"}
    assert any("*" in found for found in labels.values())
    assert "Original" not in render(release)


def test_bars_are_about_people_where_people_are_promised():
    """One patient with many rows has no bar: five people are asked for."""
    patients = [f"p{n}" for n in range(12)] + ["p12"] * 8
    decades = ["1950", "1960"] * 6 + ["1920"] * 8
    town = ["a"] * 20
    table = pa.table({"who": patients, "born": decades, "town": town})
    columns = {
        "who": {"role": "person"},
        "born": {"role": "quasi-identifier", "hierarchy": {"flat": True}},
        "town": {"role": "quasi-identifier", "hierarchy": {"flat": True}},
    }
    plan = {
        "columns": columns,
        "models": [{"name": "k-anonymity", "k": 5}],
        "method": {"name": "full-domain", "suppression": 0.5},
    }
    release = shoal.anonymize(table, plan)
    (born, _) = (column for column in release.description.columns if column.role == "quasi-identifier")
    assert all("1920" not in cell.label for cell in born.distribution.cells)
    page = internal(release)
    assert "1920" not in page
    assert "No bar is about fewer than 5 people" in page


def test_group_means_compared_by_round_intervals():
    """Outermost intervals are open: their ends would be a person's value."""
    pytest.importorskip("shoal.methods.microaggregation.method")
    values = [*range(20, 80), 197.5]
    plan = {
        "columns": {"income": {"role": "quasi-identifier"}},
        "models": [{"name": "k-anonymity", "k": 5}],
        "method": {"name": "mdav"},
    }
    release = shoal.anonymize(pa.table({"income": pa.array(values, pa.float64())}), plan)
    cells = release.description.columns[0].distribution.cells
    assert min(cell.before for cell in cells) >= 5
    assert sum(cell.before for cell in cells) == len(values) == sum(cell.after for cell in cells)
    assert cells[0].label.startswith("below")
    assert cells[-1].label.endswith("and above")
    assert "197.5" not in render(release)


def test_no_source_facts_without_reveals_source():
    """A method with ``reveals_source = False`` discloses no source facts."""
    plan = {
        "columns": {
            "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10], "bottom": 0, "top": 100}},
            "x": {"role": "sensitive"},
        },
        "models": [{"name": "k-anonymity", "k": 2}],
        "method": {"name": "levels", "levels": {"age": 1}, "suppression": 1},
    }

    class Silent(shoal.methods.Levels):
        reveals_source = False

    table = pa.table({"age": [20, 21, 22, 50], "x": ["a", "b", "c", "d"]})
    made = Plan.from_dict(plan)
    silent = Plan(made.schema, made.models, Silent(dict(made.method.levels), 1.0))
    release = shoal.anonymize(table, silent)
    facts = release.description
    assert facts.before is None
    assert all(column.lost is None and column.distribution is None for column in facts.columns)
    page = Page(internal(release)).text
    assert "The original table has" not in page
    assert "rows left out" not in page


# -- the page --------------------------------------------------------------------------------------


def test_external_page_sentences_of_the_patients():
    text = Page(render(patients())).text
    for sentence in (
        "The release has 12 rows. No row of the original was left out.",
        "What names a person directly was removed: name .",
        "at least 4 that look alike",
        "k = 4",
        "p = 2, alpha = 2",
        "Everyone in the group has the same value",
        "What is not covered",
        "What the choice of just this release tells",
        "All figures on this page follow from the released table",
    ):
        assert sentence in text
    assert "Original" not in text
    assert "lose least" not in text


def test_page_sentences_of_the_patients():
    text = Page(internal(patients())).text
    for sentence in (
        "Do not publish this page.",
        "The original table has 12 rows; all of them are released.",
        "What names a person directly was removed: name .",
        "at least 4 that look alike",
        "k = 4",
        "p = 2, alpha = 2",
        "Everyone in the group has the same value",
        "level 2 of 3",
        "No bar is about fewer than 4 rows",
    ):
        assert sentence in text


def small(method: dict[str, object], **sensitive: object) -> shoal.Release:
    """Release sixty people of various ages; forty-five have the flu."""
    rows = [(20 + (7 * n) % 40, "abc"[n % 3], "flu" if n % 4 else "hiv") for n in range(60)]
    table = pa.table({"age": [row[0] for row in rows], "town": [row[1] for row in rows], "x": [row[2] for row in rows]})
    document = {
        "columns": {
            "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}},
            "town": {"role": "quasi-identifier"},
            "x": {"role": "sensitive", **sensitive},
        },
        "models": [{"name": "k-anonymity", "k": 3}],
        "method": method,
    }
    return shoal.anonymize(table, document)


def test_published_categories_not_called_unchanged():
    plain = Page(render(small({"name": "mondrian"}))).text
    assert "What the table tells about these people ( x ) was not changed." in plain
    categories = {"categories": [["hiv"], ["flu"]], "category_names": ["grave", "light"], "publish": "categories"}
    text = Page(render(small({"name": "mondrian"}, **categories))).text
    assert "Of x the release tells the category only, not the value itself." in text
    assert "x its category only" in text
    assert "not changed" not in text


def test_overlapping_patterns_are_not_called_rows():
    release = small({"name": "anti-unification", "patterns": "overlapping"})
    text = Page(internal(release)).text
    figures = release.figures
    assert f"{figures['released']} of them are described by patterns" in text or "all of them are described" in text
    assert "are released" not in text
    assert f"rows described {figures['released']}" in text
    assert f"patterns {figures['groups']}" in text
    assert "What the patterns give away" in text
    assert "Records all of whose patterns show one sensitive value" in text
    outside = Page(render(release)).text
    assert f"The release has {release.table.num_rows} patterns." in outside
    assert "give away" not in outside


def test_every_method_has_a_sentence():
    assert set(METHODS) <= set(_METHODS)


def test_auto_sentence_names_the_chosen_method():
    release = small({"name": "auto", "methods": ["top-down", "mondrian"]})
    text = Page(internal(release)).text
    assert _METHODS["auto"] + " " + _METHODS[release.figures["method"]["chosen"]] in text
    outside = Page(render(release)).text
    assert _METHODS["auto"] in outside
    assert _METHODS[release.figures["method"]["chosen"]] not in outside


def test_particulars_have_unique_row_names():
    """Settings and results may share a name.

    One example is the loss to compare by, and the loss itself.
    """
    text = internal(small({"name": "full-domain", "suppression": 0.1}))
    part = text[text.index('id="particulars"') :]
    names = re.findall(r'<th scope="row">(.*?)</th>', part)
    assert "Set: loss" in names
    assert "Found: loss" in names
    assert len(names) == len(set(names))


def test_one_suppressed_row_in_the_singular():
    table = pa.table({"town": ["A"] * 5 + ["B"] * 5 + ["C"]})
    plan = {
        "columns": {"town": {"role": "quasi-identifier"}},
        "models": [{"name": "k-anonymity", "k": 3}],
        "method": {"name": "levels", "suppression": 0.2},
    }
    text = Page(internal(shoal.anonymize(table, plan))).text
    assert "10 of them are released, 1 was left out." in text
    assert "level 0 of 1 (exact)" in text


def test_joiners_stay_and_bidi_controls_do_not():
    family, persian = "\U0001f469\u200d\U0001f467", "می\u200cخواهم"
    assert prose(family) == family
    assert prose(persian) == persian
    assert prose("a\u202eb\u2066c\u200fd\x1be") == "a\ufffdb\ufffdc\ufffdd\ufffde"


@pytest.mark.parametrize(
    ("exposed", "remaining"), [(0, "0 would be left"), (2, "fewer than 5 would be left"), (40, "40 would be left")]
)
def test_intersection_with_an_earlier_release(exposed, remaining):
    release = small({"name": "mondrian"})
    found = {"people": 60, "exposed": exposed, "crowd_below": 5, "smallest_crowd": 1, "left_out": 3}
    figures = {**release.figures, "intersection": found}
    text = Page(render_internal(figures, release.facts, release.description)).text
    assert (
        f"Of 60 rows of the original that are found in both, {remaining} among fewer than 5 rows. 3 could not be placed"
        in text
    )
    assert "earlier release" not in Page(internal(release)).text


@pytest.mark.parametrize("rendered", [render, internal])
def test_landmarks_headings_and_headers(rendered):
    elements = Page(rendered(patients())).elements
    tags = [tag for tag, _ in elements]
    for landmark in ("header", "nav", "main", "footer"):
        assert tags.count(landmark) == 1
    assert tags.count("h1") == 1
    levels = [int(tag[1]) for tag in tags if re.fullmatch(r"h[1-6]", tag)]
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert all(attributes.get("scope") in ("row", "col") for tag, attributes in elements if tag == "th")
    assert tags.count("table") == tags.count("caption")
    assert tags.count("figure") == tags.count("figcaption") > (3 if rendered is internal else 0)
    assert all(attributes.get("aria-hidden") == "true" for tag, attributes in elements if tag == "svg")
    ids = {attributes["id"] for _, attributes in elements if "id" in attributes}
    links = [attributes["href"] for tag, attributes in elements if tag == "a"]
    assert links
    assert all(link[0] == "#" and link[1:] in ids for link in links)


@pytest.mark.parametrize("rendered", [render, internal])
def test_page_loads_nothing_from_outside(rendered):
    text = rendered(patients())
    page = Page(text)
    assert {"script", "link", "iframe", "img", "object", "embed", "form", "base"}.isdisjoint(
        tag for tag, _ in page.elements
    )
    assert re.search(r"https?:|//[a-z]|url\(|@import|data:|javascript:", text) is None
    policy = [a for tag, a in page.elements if tag == "meta" and a.get("http-equiv") == "Content-Security-Policy"]
    assert policy[0]["content"].startswith("default-src 'none'")
    assert not any(name.startswith("on") or name in ("src", "style") for _, a in page.elements for name in a)


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of WCAG 2.1."""

    def light(colour: str) -> float:
        full = colour if len(colour) == 7 else "#" + "".join(2 * sign for sign in colour[1:])
        parts = [int(full[start : start + 2], 16) / 255 for start in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast():
    palettes = [dict(re.findall(r"--(\w+):(#\w+)", block)) for block in re.findall(r":root\{([^}]*)\}", STYLE)]
    assert len(palettes) == 3  # light, dark, print
    for palette in palettes:
        for ink in ("text", "muted", "link", "yes", "no"):
            for ground in ("page", "soft"):
                assert contrast(palette[ink], palette[ground]) >= 4.5
        for mark in ("before", "after"):
            assert contrast(palette[mark], palette["page"]) >= 3


def test_same_release_gives_same_page():
    assert render(patients()) == render(patients())
    assert internal(patients()) == internal(patients())


@pytest.mark.parametrize("rendered", [render, internal])
def test_hostile_names_values_and_labels(rendered):
    rtl = "‮evil‬ שלום"
    long = "x" * 5000
    document = {
        "columns": {
            HOSTILE: {"role": "quasi-identifier", "hierarchy": {"tree": {HOSTILE: [HOSTILE, "b"], rtl: [rtl, long]}}},
            "=cmd()|' /C calc'!A0": {"role": "sensitive"},
            rtl: {"role": "other"},
            long: {"role": "identifier"},
        },
        "models": [{"name": "k-anonymity", "k": 2}, {"name": "p-sensitive", "p": 1, "column": "=cmd()|' /C calc'!A0"}],
        "method": {"name": "levels", "levels": {HOSTILE: 0}},
    }
    table = pa.table(
        {
            HOSTILE: [HOSTILE, HOSTILE, "b", "b", rtl, rtl, long, long],
            "=cmd()|' /C calc'!A0": list("abcdefgh"),
            rtl: list("abcdefgh"),
            long: list("abcdefgh"),
        }
    )
    text = rendered(shoal.anonymize(table, document))
    page = Page(text)
    known = {
        "html", "head", "meta", "title", "style", "body", "a", "header", "h1", "nav", "ul", "li", "main", "section",
        "h2", "h3", "p", "dl", "div", "dt", "dd", "table", "caption", "thead", "tbody", "tr", "th", "td", "bdi", "svg",
        "rect", "span", "figure", "figcaption", "small", "code", "footer", "strong",
    }  # fmt: skip
    assert {tag for tag, _ in page.elements} <= known
    assert not any(name.startswith("on") or name == "src" for _, a in page.elements for name in a)
    assert "alert(1)" in page.text  # as text, and only as text
    assert "‮" not in text
    assert "שלום" in text
    assert max(map(len, re.findall(r"x+", text))) < 200


@pytest.mark.parametrize("name", sorted(set(METHODS) - {"population-grid", "sampled-grid"}))  # they need a ledger
def test_every_method_has_a_report(name):
    """Every published table can be described, with no cell smaller than k."""
    rows = [(20 + (7 * n) % 40, "abc"[n % 3], "uvwx"[n % 4]) for n in range(60)]
    table = pa.table({"age": [row[0] for row in rows], "town": [row[1] for row in rows], "x": [row[2] for row in rows]})
    document = {
        "columns": {
            "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}},
            "town": {"role": "quasi-identifier"},
            "x": {"role": "sensitive"},
        },
        "models": [{"name": "k-anonymity", "k": 3, **({"known": 2} if name == "hidden-cells" else {})}],
        "method": {"name": name, **({"levels": {"age": 3, "town": 1}} if name == "levels" else {})},
    }
    if name == "facts-suppression":
        table = table.append_column("who", pa.array([f"p{n // 2}" for n in range(60)]))
        document["columns"]["who"] = {"role": "person"}
        document["models"] = [{"name": "trajectory-anonymity", "k": 3}]
    release = shoal.anonymize(table, document)
    for page in (render(release), internal(release)):
        assert "What was done" in Page(page).text
    for column in release.description.columns:
        if column.distribution is not None:
            assert min(cell.before for cell in column.distribution.cells) >= 3


# -- the file --------------------------------------------------------------------------------------


def write_age_plan(folder: Path, **output: bool) -> Path:
    """Write a plan for forty people of four ages."""
    return write_plan(
        folder,
        table="age\n" + "".join(f"{20 + n % 4}\n" for n in range(40)),
        columns={"age": "quasi-identifier"},
        models="k-anonymity k=5",
        output={"path": "released.csv", **output},
    )


def test_report_written_next_to_the_table(tmp_path):
    release = shoal.release(write_age_plan(tmp_path))
    page = (tmp_path / "released.report.html").read_text(encoding="utf-8")
    assert page == render(release)
    assert release.figures["output"]["sha256"] in page


def test_report_false_removes_the_old_report(tmp_path):
    shoal.release(write_age_plan(tmp_path))
    assert report_of(tmp_path / "released.csv").exists()
    release = shoal.release(write_age_plan(tmp_path, report=False, overwrite=True))
    assert not report_of(tmp_path / "released.csv").exists()
    assert release.description is None
    with pytest.raises(shoal.errors.PlanError, check=has_code("output.report-not-described")):
        internal(release)
    with pytest.raises(ValueError, match="Nothing was released"):
        render(shoal.Release(None, None))


def test_existing_report_is_not_overwritten(tmp_path):
    (tmp_path / "released.report.html").write_text("mine")
    with pytest.raises(shoal.errors.OutputError, check=has_code("output.exists")):
        shoal.release(write_age_plan(tmp_path))
    assert (tmp_path / "released.report.html").read_text() == "mine"


def test_old_report_restored_if_the_table_cannot_be_moved(tmp_path):
    (tmp_path / "stage").mkdir()
    staged = tmp_path / "stage" / "table.csv"
    staged.write_text("new")
    (tmp_path / "released.report.html").write_text("old")
    with pytest.raises(shoal.errors.OutputError):
        publish((staged, tmp_path / "absent" / "released.csv"), [], [tmp_path / "released.report.html"])
    assert (tmp_path / "released.report.html").read_text() == "old"


def test_bar_length_hides_small_counts():
    from shoal.report.page import _exposed
    from shoal.risk.attacks import AttackResult

    cells = {
        exposed: _exposed(AttackResult("guess", "a value", None, 60, exposed, 0.0), "after", 5) for exposed in (1, 4, 5)
    }
    assert cells[1] == cells[4]
    assert "fewer than 5 rows" in cells[1]
    assert "5 rows" in cells[5]


def test_singular_and_plural_units():
    from shoal.report.page import _quantity

    assert [_quantity(count, unit) for unit in ("rows", "people") for count in (1, 2000)] == [
        "1 row", "2,000 rows", "1 person", "2,000 people"
    ]  # fmt: skip
