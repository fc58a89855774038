"""Code that must be in one place of the package only."""

from __future__ import annotations

import pytest
from tools import structure


def test_numbers_are_formatted_in_one_module():
    assert structure.all_number_formatters() == [], "run: python tools/structure.py --list"


@pytest.mark.parametrize(
    "text",
    [
        'f"{x:,}"', 'f"{x:.1%}"', 'f"{x:.3g}"', 'f"{x:+.2f}"', 'f"{x:.{n}f}"', 'format(x, ".2f")', '"%.2f" % x',
    ],
)  # fmt: skip
def test_a_formatter_is_found(tmp_path, text):
    (tmp_path / "m.py").write_text(text)
    assert len(list(structure.number_formatters(tmp_path / "m.py"))) == 1


@pytest.mark.parametrize("text", ['f"{x}"', 'f"{x!r}"', 'f"{x:05d}"', 'f"{x:08x}"', 'f"{x:%Y-%m}"', "x % 2"])
def test_codes_dates_and_texts_pass(tmp_path, text):
    (tmp_path / "m.py").write_text(text)
    assert list(structure.number_formatters(tmp_path / "m.py")) == []


def test_coordinates_pass_in_drawings_alone(tmp_path):
    for name in ("scatter.py", "m.py"):
        (tmp_path / name).write_text('f"{x:.1f}"')
    assert list(structure.number_formatters(tmp_path / "scatter.py")) == []
    assert len(list(structure.number_formatters(tmp_path / "m.py"))) == 1


@pytest.mark.parametrize(
    ("text", "count"),
    [("{{ x|round(2) }}", 1), ('{{ "%.1f"|format(x) }}', 1), ("{{ x|round|int|number }}", 0), ("{{ x|number }}", 0)],
)
def test_templates_use_the_filters_of_the_page(tmp_path, text, count):
    (tmp_path / "m.html").write_text(text)
    assert len(list(structure.number_formatters(tmp_path / "m.html"))) == count


def test_one_function_walks_over_annotations():
    walkers, lookups = structure.functions_with(structure.DESTRUCTURES), structure.functions_with(structure.LOOKS_UP)
    assert [finding.text for finding in walkers] == ["constraint_of"]
    assert [finding.text for finding in lookups] == ["_declared"]
