"""Hierarchies: the ladders of every builder, and what it refuses."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import HierarchyError, PlanError
from shoal.schema import (
    Calendar,
    Column,
    Cuts,
    Flat,
    Hierarchy,
    Intervals,
    Ladder,
    Ordered,
    Prefix,
    Role,
    Schema,
    Table,
    Tree,
    Widths,
    read_table,
)
from shoal.schema.bound_hierarchy import build_ladder
from shoal.schema.tree_hierarchies import MissingFromHierarchy
from tests.builders.errors import has_code

INF = float("inf")


def labels_at(ladder: Ladder, level: int) -> list[str | None]:
    """Return the published label of each value at a level."""
    return [ladder.labels[level][code] for code in ladder.codes[level]]


def assert_sound(ladder: Ladder, values: int, missing: bool) -> None:
    """Check that a ladder is sound.

    Each level is a coarsening of the one below, covers the domain, and the last is one label.
    """
    assert len(ladder.labels) == len(ladder.codes) == len(ladder.share)
    assert ladder.size(0) == values + missing
    for level in range(ladder.height + 1):
        codes = ladder.codes[level]
        assert len(codes) == values + missing
        assert sorted(set(codes.tolist())) == list(range(ladder.size(level)))
        assert len(set(ladder.labels[level])) == ladder.size(level)
        if level:
            parents: dict[int, set[int]] = {}
            for low, high in zip(ladder.codes[level - 1].tolist(), codes.tolist(), strict=True):
                parents.setdefault(low, set()).add(high)
            assert all(len(above) == 1 for above in parents.values())
            below = ladder.share[level - 1][ladder.codes[level - 1]]
            assert (ladder.share[level][codes] >= below - 1e-12).all()
    assert ladder.size(ladder.height) == 1
    assert ladder.share[-1][0] == pytest.approx(1)
    if missing:
        assert all(ladder.labels[level][ladder.codes[level][-1]] is None for level in range(ladder.height))


# -- flat, table, tree -----------------------------------------------------------------------------


def test_flat_has_the_value_and_the_star() -> None:
    ladder = Flat().bind(["a", "b"], missing=True)
    assert ladder.labels == (("a", "b", None), ("*",))
    assert ladder.codes[1].tolist() == [0, 0, 0]
    assert ladder.share[0].tolist() == pytest.approx([1 / 3] * 3)


def test_a_missing_value_matches_only_missing_until_the_last_level() -> None:
    ladder = Table((("x", "A"), ("y", "A"))).bind(["x", "y"], missing=True)
    assert ladder.labels[0] == ("x", "y", None)
    assert ladder.labels[1] == ("A",)  # the file's own last level is one label: missing joins it
    ladder = Table((("x", "A"), ("y", "B"))).bind(["x", "y"], missing=True)
    assert ladder.labels == (("x", "y", None), ("A", "B", None), ("*",))


def test_a_column_of_missing_values_only_still_has_a_ladder() -> None:
    for hierarchy in (Flat(), Prefix(), Widths((5,)), Cuts(((3,),)), Calendar(), Ordered((2,)), Table((("a", "b"),))):
        ladder = hierarchy.bind([], missing=True, column="c")
        assert ladder.labels[0] == (None,)
        assert ladder.size(ladder.height) == 1


def test_share_of_declared_values() -> None:
    table = Table((("a", "A"), ("b", "A"), ("c", "B"), ("d", "B")))
    ladder = table.bind(["a", "c"], missing=False)
    assert ladder.share[0].tolist() == [0.25, 0.25]
    assert ladder.share[1].tolist() == [0.5, 0.5]
    assert ladder.share[2].tolist() == [1.0]


def test_the_number_of_levels_does_not_depend_on_the_data() -> None:
    table = Table((("a", "A"), ("b", "A"), ("c", "B")))
    assert table.bind(["a"], False).height == table.bind(["a", "b", "c"], False).height == 2
    assert Ordered((2,)).bind(["a", "b"], False).height == Ordered((2,)).bind(["a", "b", "c"], False).height == 2
    assert Widths((5, 10)).bind(["1"], False).height == Widths((5, 10)).bind(["1", "17", "99"], False).height == 3


def test_arx_file(tmp_path: Path) -> None:
    path = tmp_path / "country.csv"
    path.write_bytes('\ufeffUSA;America;*\r\nCanada;America;*\r\n"In;dia";Asia;*\r\n\r\n'.encode())
    ladder = read_table(path).bind(["Canada", "In;dia"], missing=False, column="country")
    assert ladder.labels == (("Canada", "In;dia"), ("America", "Asia"), ("*",))


def test_arx_file_with_commas_or_one_column(tmp_path: Path) -> None:
    path = tmp_path / "h.csv"
    path.write_text("a,A\nb,B\n")
    assert read_table(path).rows == (("a", "A"), ("b", "B"))
    path.write_text("a\nb\n")
    assert read_table(path).bind(["b"], False).labels == (("b",), ("*",))


def test_quoted_values_with_line_ends_and_odd_separators(tmp_path: Path) -> None:
    path = tmp_path / "h.csv"
    path.write_text('"two\nlines";A\nnext\u2028line;A\n', encoding="utf-8")
    assert read_table(path).rows == (("two\nlines", "A"), ("next\u2028line", "A"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "at least one row"),
        (b"a;A;*\nb;A\n", "Found 2 to 3"),
        (b"a;A\na;B\n", "two rows"),
        (b"\xe9;A\n", "UTF-8"),
        (b'"' + b"a" * 200_000 + b'";A\n', "cannot be read as CSV"),
    ],
)
def test_invalid_hierarchy_files(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "h.csv"
    path.write_bytes(content)
    with pytest.raises(HierarchyError, match=message):
        read_table(path)
    with pytest.raises(HierarchyError, match="cannot be read"):
        read_table(tmp_path / "absent.csv")


def test_a_level_must_be_a_coarsening_of_the_one_below() -> None:
    table = Table((("a", "A", "X"), ("b", "A", "Y")))
    with pytest.raises(
        HierarchyError,
        check=has_code("hierarchies.label-with-two-parents", level=2, below=1, found=1, lower=1, upper=2),
    ) as caught:
        table.bind(["a"], missing=False, column="c")  # found though the data has only one of the two values
    assert "'c'" in str(caught.value)


def test_tree_with_leaves_of_different_depth() -> None:
    tree = Tree({"America": {"North": ["USA", "Canada"]}, "Asia": ["India"], "Sea": [{"Deep": ["Fish"]}, "Ship"]})
    ladder = tree.bind(["Canada", "Fish", "India", "Ship", "USA"], missing=False)
    assert labels_at(ladder, 1) == ["North", "Deep", "India", "Ship", "North"]
    assert labels_at(ladder, 2) == ["America", "Sea", "Asia", "Sea", "America"]
    assert labels_at(ladder, 3) == ["*"] * 5


def test_a_tree_may_name_its_own_root() -> None:
    ladder = Tree({"World": {"America": ["USA"], "Asia": ["India"]}}).bind(["India", "USA"], missing=True)
    assert ladder.labels[-1] == ("World",)
    assert ladder.height == 2


@pytest.mark.parametrize(
    "tree", [{}, {"A": []}, {"A": "text"}, {"A": {"B": 5}}, {"A": ["x"], "B": ["x"]}, {"A": {"B": ["x"]}, "C": ["B"]}]
)
def test_invalid_trees(tree: dict[str, object]) -> None:
    with pytest.raises(HierarchyError, match=r"'c'|must consist of tables"):
        Tree(tree).bind(["x"], missing=False, column="c")


@pytest.mark.parametrize(
    ("hierarchy", "values", "lacking"),
    [
        (Table((("a", "A"),)), ["a", "secret"], 1),
        (Tree({"A": ["a"]}), ["a", "secret", "hidden"], 2),
        (Ordered((2,), ("a", "b")), ["a", "secret"], 1),
        (Widths((5,)), ["1", "secret"], 1),
        (Cuts(((5,),)), ["1", "secret", "nan", "inf"], 3),
        (Intervals((((0, 10),),)), ["1", "10", "-1"], 2),
        (Calendar(), ["2024-01-01", "secret"], 1),
    ],
)
def test_values_missing_from_the_hierarchy(hierarchy: Hierarchy, values: list[str], lacking: int) -> None:
    """The error counts values missing from the hierarchy and prints none."""
    with pytest.raises(MissingFromHierarchy, match=f"{lacking} distinct value") as caught:
        hierarchy.bind(values, missing=False, column="c")
    message = str(caught.value)
    assert "'c'" in message
    assert not any(value in message for value in ("secret", "hidden", "nan", "-1"))
    assert len(caught.value.lacking) == lacking


def test_rows_with_missing_hierarchy_values_are_listed(tmp_path: Path) -> None:
    from shoal.pipeline.run import release

    (tmp_path / "s.csv").write_text("age,x\n21,1\nSECRET,1\n22,1\nSECRET,1\nHIDDEN,1\n")
    plan = {
        "source": {"path": str(tmp_path / "s.csv")},
        "columns": {"age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5]}}, "x": {"role": "other"}},
        "models": [{"name": "k-anonymity", "k": 2}],
        "output": {"path": str(tmp_path / "r.csv")},
    }
    with pytest.raises(HierarchyError, match=r"2 distinct values.*data row 2, 4, 5\)") as caught:
        release(plan)
    assert "SECRET" not in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.csv"]


# -- numbers ---------------------------------------------------------------------------------------


def test_widths_of_whole_numbers() -> None:
    ladder = Widths((5, 10, 20)).bind(["-3", "0", "4", "5", "19", "20"], missing=False)
    assert labels_at(ladder, 1) == ["-5..-1", "0..4", "0..4", "5..9", "15..19", "20..24"]
    assert labels_at(ladder, 2) == ["-10..-1", "0..9", "0..9", "0..9", "10..19", "20..29"]
    assert labels_at(ladder, 3) == ["-20..-1", "0..19", "0..19", "0..19", "0..19", "20..39"]
    assert labels_at(ladder, 4) == ["*"] * 6


def test_interval_includes_its_lower_end_only() -> None:
    assert labels_at(Widths((5,)).bind(["15", "19", "20"], False), 1) == ["15..19", "15..19", "20..24"]


def test_widths_of_reals_are_exact() -> None:
    ladder = Widths((0.1, 0.2)).bind(["0.1", "0.2", "0.3", "0.30000000000000004"], missing=False)
    assert labels_at(ladder, 1) == ["0.1..<0.2", "0.2..<0.3", "0.3..<0.4", "0.3..<0.4"]
    assert labels_at(ladder, 2) == ["0..<0.2", "0.2..<0.4", "0.2..<0.4", "0.2..<0.4"]


def test_width_one_of_whole_numbers_is_the_number() -> None:
    assert labels_at(Widths((1, 5), origin=2).bind(["7", "6"], False), 1) == ["7", "6"]
    assert labels_at(Widths((5,), origin=2).bind(["7", "6"], False), 1) == ["7..11", "2..6"]


def test_tails_include_whole_intervals() -> None:
    ladder = Widths((5, 10), bottom=22, top=68).bind(["3", "23", "25", "30", "64", "66", "120"], missing=False)
    assert labels_at(ladder, 1) == ["<25", "<25", "25..29", "30..34", "60..64", ">=65", ">=65"]
    assert labels_at(ladder, 2) == ["<30", "<30", "<30", "30..39", ">=60", ">=60", ">=60"]


def test_adjacent_tails_become_one_label() -> None:
    ladder = Widths((50, 100), bottom=18, top=65).bind(["1", "60", "120"], missing=False)
    assert labels_at(ladder, 1) == ["<50", ">=50", ">=50"]
    assert labels_at(ladder, 2) == ["*", "*", "*"]
    assert ladder.height == 2


@pytest.mark.parametrize(
    "arguments",
    [
        {"widths": ()},
        {"widths": (0,)},
        {"widths": (-5,)},
        {"widths": (5, 5)},
        {"widths": (10, 5)},
        {"widths": (5, 12)},
        {"widths": (INF,)},
        {"widths": (float("nan"),)},
        {"widths": (True,)},
        {"widths": ("5",)},
        {"widths": (5,), "origin": "0"},
        {"widths": (5,), "bottom": INF, "top": 3},
        {"widths": (5,), "bottom": 60, "top": 20},
    ],
)
def test_invalid_widths(arguments: dict[str, object]) -> None:
    with pytest.raises(HierarchyError):
        Widths(**arguments)  # type: ignore[arg-type]


def test_numbers_in_any_notation() -> None:
    ladder = Widths((10,)).bind([" 7 ", "7.0", "1e1", "+12", "0E+999", "007"], missing=False)
    assert labels_at(ladder, 1) == ["0..9", "0..9", "10..19", "10..19", "0..9", "0..9"]


def test_a_number_of_a_billion_digits_does_no_harm() -> None:
    with pytest.raises(MissingFromHierarchy, match="2 distinct"):
        Widths((5,)).bind(["1", "1e999999999", "1e-999999999"], missing=False)


def test_column_without_numbers_has_a_separate_error() -> None:
    """It differs from the error for a few bad values in a column of numbers."""
    with pytest.raises(HierarchyError, match=r"must hold numbers.*2 of its 2 distinct") as caught:
        Widths((5,)).bind(["anna", "bob"], missing=False, column="name")
    assert "anna" not in str(caught.value)


def test_cuts() -> None:
    ladder = Cuts(((20, 30.5, 40), (30.5,))).bind(["19", "20", "30.5", "40"], missing=True)
    assert labels_at(ladder, 1) == ["<20", "20..<30.5", "30.5..<40", ">=40", None]
    assert labels_at(ladder, 2) == ["<30.5", "<30.5", ">=30.5", ">=30.5", None]


@pytest.mark.parametrize(
    "levels", [(), ((),), ((30, 20),), ((20, 20),), ((20,), (25,)), ((20, INF),), (("20",),), ((True,),)]
)
def test_invalid_cuts(levels: tuple[tuple[float, ...], ...]) -> None:
    with pytest.raises(HierarchyError):
        Cuts(levels)


def test_explicit_intervals_in_any_order_with_open_ends() -> None:
    levels = (((20, 30), (-INF, 20), (30, INF)), ((-INF, 30), (30, INF)), ((-INF, INF),))
    ladder = Intervals(levels).bind(["-1000", "20", "29", "30"], missing=False)
    assert labels_at(ladder, 1) == ["<20", "20..29", "20..29", ">=30"]
    assert labels_at(ladder, 2) == ["<30", "<30", "<30", ">=30"]
    assert labels_at(ladder, 3) == ["*"] * 4
    assert ladder.height == 3


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ((((0, 10), (20, 30)),), "at 10 and start at 20 leave a gap"),
        ((((0, 15), (10, 30)),), "at 15 and start at 10 overlap"),
        ((((0, 10), (0, 10)),), "overlap"),
        ((((10, 0),),), "low < high"),
        ((((5, 5),),), "low < high"),
        ((((0, float("nan")),),), "each item a number|list of 2"),
        (((("a", "b"),),), "each item a number|list of 2"),
        (((),), "pairs"),
        ((((0, 10), (10, 20)), ((0, 5), (5, 20))), "Level 2.*nest"),
        ((((-INF, 10), (10, INF)), ((0, 10), (10, 20))), "Level 2.*nest"),
    ],
)
def test_invalid_intervals(levels: tuple[tuple[tuple[float, float], ...], ...], message: str) -> None:
    with pytest.raises(HierarchyError, match=message):
        Intervals(levels)


# -- dates, prefixes, orders -----------------------------------------------------------------------


def test_calendar_units() -> None:
    ladder = Calendar(("day", "month", "quarter", "year", "decade")).bind(
        ["1999-12-31", "2000-01-01T10:30:00", "2000-03-31"], missing=True
    )
    assert labels_at(ladder, 1) == ["1999-12-31", "2000-01-01", "2000-03-31", None]
    assert labels_at(ladder, 2) == ["1999-12", "2000-01", "2000-03", None]
    assert labels_at(ladder, 3) == ["1999-Q4", "2000-Q1", "2000-Q1", None]
    assert labels_at(ladder, 4) == ["1999", "2000", "2000", None]
    assert labels_at(ladder, 5) == ["1990s", "2000s", "2000s", None]
    assert labels_at(ladder, 6) == ["*"] * 4


def test_calendar_with_a_format() -> None:
    assert labels_at(Calendar(("year",), "%d.%m.%Y").bind(["29.02.2024", " 1.3.2023 "], False), 1) == ["2024", "2023"]
    with pytest.raises(HierarchyError, match="2 of its 2") as caught:
        Calendar(("year",), "%d.%m.%Y").bind(["2024-02-29", "2024-01-01"], False, column="born")
    assert "2024" not in str(caught.value)


@pytest.mark.parametrize("units", [(), ("week",), ("year", "month"), ("month", "month"), tuple("month")])
def test_invalid_units(units: tuple[str, ...]) -> None:
    with pytest.raises(
        HierarchyError, match=r"units of dates|'units' must be a list, each item day, month, quarter, year or decade"
    ):
        Calendar(units)
    with pytest.raises(HierarchyError, match="format"):
        Calendar(("year",), 5)  # type: ignore[arg-type]


def test_prefix() -> None:
    ladder = Prefix().bind(["01234", "01239", "99999"], missing=True)
    assert labels_at(ladder, 0) == ["01234", "01239", "99999", None]
    assert labels_at(ladder, 1) == ["0123*", "0123*", "9999*", None]
    assert labels_at(ladder, 4) == ["0****", "0****", "9****", None]
    assert labels_at(ladder, 5) == ["*"] * 4


def test_prefix_with_steps_and_values_of_different_length() -> None:
    assert [labels_at(Prefix((1, 3)).bind(["12345", "12399"], False), level) for level in (1, 2)] == [
        ["1234*", "1239*"],
        ["12***", "12***"],
    ]
    ladder = Prefix().bind(["12", "123", "1234"], missing=False)
    assert labels_at(ladder, 1) == ["12*", "123*", "123*"]
    assert labels_at(ladder, 2) == ["12**", "12**", "12**"]
    assert_sound(ladder, 3, False)


@pytest.mark.parametrize("steps", [(), (0,), (-1,), (2, 1), (1, 1), (1.5,), (True,), ("1",)])
def test_invalid_steps(steps: tuple[int, ...]) -> None:
    with pytest.raises(
        HierarchyError, match=r"masked characters|'steps' must be a list, each item a whole number of at least 1"
    ):
        Prefix(steps)


def test_order_by_fan_out() -> None:
    values = ("none", "primary", "secondary", "bachelor", "master")
    ladder = Ordered((2, 2), values).bind(["bachelor", "master", "none", "primary"], missing=False)
    assert labels_at(ladder, 1) == ["secondary..bachelor", "master", "none..primary", "none..primary"]
    assert labels_at(ladder, 2) == ["none..bachelor", "master", "none..bachelor", "none..bachelor"]
    assert labels_at(ladder, 3) == ["*"] * 4
    assert ladder.share[1].tolist() == pytest.approx([0.4, 0.2, 0.4])


@pytest.mark.parametrize("fanout", [(), (1,), (2, 1), (2.5,), ("2",), (True,)])
def test_invalid_fan_outs(fanout: tuple[int, ...]) -> None:
    with pytest.raises(HierarchyError, match="'fanout' must be a list, each item a whole number of at least 2"):
        Ordered(fanout)


def test_an_order_lists_each_value_once() -> None:
    with pytest.raises(HierarchyError, match="twice"):
        Ordered((2,), ("a", "b", "a")).bind(["a"], missing=False, column="c")


# -- columns ---------------------------------------------------------------------------------------


def test_hierarchy_needs_a_generalized_column() -> None:
    for role in (Role.OTHER, Role.IDENTIFIER):
        with pytest.raises(PlanError, check=has_code("columns.hierarchy-wrong-role")):
            Column(role, Flat())
    assert Schema({"a": Column(Role.QUASI_IDENTIFIER)}).ladder("a", ["x"], False).labels == (("x",), ("*",))


def test_ranks_of_a_sensitive_column() -> None:
    schema = Schema(
        {
            "n": Column(Role.SENSITIVE),
            "o": Column(Role.SENSITIVE, order=("low", "mid", "high")),
            "t": Column(Role.SENSITIVE),
        }
    )
    rank = schema.domain("n", ["1", "1.0", "2", "10"]).rank
    assert rank is not None
    assert rank.tolist() == [0, 0, 1, 2]
    rank = schema.domain("o", ["high", "low"]).rank
    assert rank is not None
    assert rank.tolist() == [2, 0]
    assert schema.domain("t", ["a", "1"]).rank is None
    with pytest.raises(PlanError, match="1 distinct") as caught:
        schema.domain("o", ["secret"])
    assert "secret" not in str(caught.value)


# -- properties ------------------------------------------------------------------------------------

texts = st.lists(st.text(max_size=6), unique=True, min_size=1, max_size=12)
numbers = st.lists(
    st.one_of(
        st.integers(-300, 300).map(str),
        st.decimals(-100, 100, places=2, allow_nan=False, allow_infinity=False).map(str),
    ),
    unique=True,
    min_size=1,
    max_size=12,
)
steps = st.lists(st.integers(1, 6), unique=True, min_size=1, max_size=3).map(lambda found: tuple(sorted(found)))


def assert_shares_sum_to_one(ladder: Ladder) -> None:
    for share in ladder.share:
        assert share.sum() == pytest.approx(1)


@given(texts, st.booleans(), steps)
def test_text_builders_give_sound_ladders(values: list[str], missing: bool, masked: tuple[int, ...]) -> None:
    for hierarchy in (Flat(), Prefix(), Prefix(masked)):
        ladder = hierarchy.bind(values, missing)
        assert_sound(ladder, len(values), missing)
        assert_shares_sum_to_one(ladder)


@given(st.integers(1, 30), st.booleans(), st.lists(st.integers(2, 4), min_size=1, max_size=3))
def test_orders_give_sound_ladders(count: int, missing: bool, fanout: list[int]) -> None:
    values = [f"v{number:02d}" for number in range(count)]
    for hierarchy in (Ordered(tuple(fanout)), Ordered(tuple(fanout), tuple(values))):
        ladder = hierarchy.bind(values, missing)
        assert_sound(ladder, count, missing)
        assert_shares_sum_to_one(ladder)


@given(
    numbers,
    st.booleans(),
    st.sampled_from([1, 5, 0.5, 2.5]),
    st.lists(st.integers(2, 5), max_size=3),
    st.integers(-20, 20),
    st.none() | st.integers(-100, 40),
    st.none() | st.integers(41, 150),
)
def test_widths_give_sound_ladders(
    values: list[str],
    missing: bool,
    first: float,
    factors: list[int],
    origin: int,
    bottom: int | None,
    top: int | None,
) -> None:
    widths = [first, *(first * int(np.prod(factors[: index + 1])) for index in range(len(factors)))]
    ladder = Widths(tuple(widths), origin, bottom, top).bind(values, missing)
    assert_sound(ladder, len(values), missing)
    assert_shares_sum_to_one(ladder)


@given(numbers, st.booleans(), st.lists(st.integers(-50, 50), unique=True, min_size=1, max_size=6))
def test_cuts_and_intervals_agree(values: list[str], missing: bool, cuts: list[int]) -> None:
    levels = [sorted(cuts)]
    while len(levels[-1]) > 1:
        levels.append(levels[-1][::2] if len(levels) % 2 else levels[-1][1:])
    written = tuple(tuple(zip([-INF, *map(float, level)], [*map(float, level), INF], strict=True)) for level in levels)
    one = Cuts(tuple(map(tuple, levels))).bind(values, missing)
    other = Intervals(written).bind(values, missing)
    assert one.labels == other.labels
    assert_sound(one, len(values), missing)
    assert_shares_sum_to_one(one)
    for value, label in zip(values, labels_at(one, 1), strict=False):
        assert label is not None
        if label.startswith("<"):
            assert Fraction(value) < Fraction(label[1:])


@given(st.lists(st.dates(), unique=True, min_size=1, max_size=10), st.booleans())
def test_dates_give_sound_ladders(dates: list[object], missing: bool) -> None:
    ladder = Calendar().bind([str(date) for date in dates], missing)
    assert_sound(ladder, len(dates), missing)
    assert_shares_sum_to_one(ladder)


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=4), min_size=1, max_size=10), st.booleans())
def test_random_tables_are_refused_or_sound(rows: list[list[str]], missing: bool) -> None:
    width = max(map(len, rows))
    filled = [[f"v{number}", *row, *row[-1:] * (width - len(row))] for number, row in enumerate(rows)]
    values = [row[0] for row in filled]
    nests = all(
        len({row[level] for row in filled if row[level - 1] == label}) == 1
        for level in range(1, width + 1)
        for label in {row[level - 1] for row in filled}
    )
    table = Table(tuple(map(tuple, filled)))
    if not nests:
        with pytest.raises(HierarchyError, match="coarsening"):
            table.bind(values, missing)
        return
    ladder = table.bind(values, missing)
    assert_sound(ladder, len(values), missing)
    assert_shares_sum_to_one(ladder)


def test_build_ladder_refuses_splitting_levels() -> None:
    with pytest.raises(HierarchyError, match="level 1 must be a coarsening of level 0"):
        build_ladder([["a", "a"], ["x", "y"]], False)
