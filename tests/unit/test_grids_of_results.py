"""Tables of results, and their rendering on terminals and as HTML."""

from __future__ import annotations

from rich.console import Console

from shoal.render import Grid, Marked
from shoal.render.grid import is_number, tone_of
from shoal.render.html import grid_html
from shoal.render.terminal import grid_table, grid_text
from shoal.verification.check import verdict_grid

GRID = Grid("Things", ("name", "rows", "good"), [("[red]a\x1b[0m", 1234, True), ("b<i>", Marked(5, "bad"), False)])
MET = {"name": "k-anonymity", "parameters": {"k": 2, "column": "x"}, "holds": True, "effective": {"k": 3}}
FAILING = {**MET, "holds": False, "failing_groups": 1, "failing_rows": 2, "counts": "people"}


def printed(grid, **options):
    console = Console(width=60, force_terminal=True, color_system="standard", legacy_windows=False)
    with console.capture() as found:
        console.print(grid_table(grid, **options))
    return found.get()


def test_cells_on_a_terminal_are_text_with_colours():
    text = printed(GRID)
    assert "[red]a\N{REPLACEMENT CHARACTER}[0m" in text
    assert "\x1b[32myes" in text
    assert "\x1b[31m" in text.split("b<i>")[1]
    assert "Things" in text


def test_text_has_no_colours_and_aligns_numbers():
    lines = grid_text(GRID).splitlines()
    assert "\x1b" not in "".join(lines)
    first, second = (next(line for line in lines if sign in line) for sign in ("1,234", "b<i>"))
    assert first.index("1,234") + 4 == second.index(" 5") + 1


def test_cells_of_html_are_escaped_unless_finished():
    html = grid_html(GRID, "kind")
    assert "b&lt;i&gt;" in html
    assert '<span class="no"><bdi>5</bdi></span>' in html
    assert '<th scope="col">Name</th>' in html
    assert 'class="kind"' in html
    assert "b<i>" in grid_html(GRID, finished=("name",))


def test_columns_and_rows_of_a_grid():
    assert GRID.select("good", "name").rows[1] == [False, "b<i>"]
    assert GRID.insert(1, "new", (7, 8)).rows[1][:2] == ["b<i>", 8]
    assert GRID.first(1).caption == "Things (and 1 more)"
    assert len(GRID.first(1).rows) == 1
    assert GRID.first(2) is GRID


def test_tones_and_numbers():
    assert [tone_of(cell) for cell in (True, False, Marked(1, "mixed"), "x")] == ["good", "bad", "mixed", ""]
    assert all(map(is_number, (1, 0.5, "50%", "under 0.1%", "1,234", Marked(5, "bad"))))
    assert not any(map(is_number, (True, "4 rows", "", None, "x")))


def test_failing_groups_are_given_where_there_are_any():
    assert verdict_grid([MET]).columns == ("model", "asked for", "holds", "the table has")
    grid = verdict_grid([MET, FAILING], without=("column",))
    assert list(grid.rows[0]) == ["k-anonymity", "k = 2", True, "k = 3", "none"]
    assert list(grid.rows[1]) == ["k-anonymity of people", "k = 2", False, "k = 3", "2 rows in 1 group"]


def test_promise_that_the_release_does_not_show():
    assert "verified with the original" in verdict_grid([{**MET, "effective": {}}]).rows[0][3]
