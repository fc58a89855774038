"""Labels disclose neither suppressed rows nor rare values.

Suppressed rows leave no trace in labels, and no range ends at a value that fewer than k of its rows have.
"""

from __future__ import annotations

import tracemalloc
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal import Column, Role
from shoal.schema import Schema
from shoal.schema.interval_hierarchies import Calendar, Cuts, Intervals, Widths
from shoal.schema.rounding import as_whole, round_cut, round_steps
from shoal.schema.tree_hierarchies import Flat, Ordered, Prefix, Table, Tree
from shoal.table.group_ranges import RangeEnds, publish_ranges
from shoal.utility.labels import read_label
from tests.reference import labels as slow

QUASI = Role.QUASI_IDENTIFIER


# -- suppressed rows -----------------------------------------------------------------------------------------------


def test_suppressed_value_ends_no_range():
    ages = ["21"] * 3 + ["30"] * 3 + ["59"] * 3 + ["97"]
    table = pa.table({"x": ages, "y": ["a"] * 9 + ["b"]})
    for ranges, label in (("exact", "21..30"), ("round", "<50")):
        schema = Schema({"x": Column(QUASI, Ordered((2,), ranges=ranges)), "y": Column(QUASI)})
        method = shoal.methods.Levels({"x": 1, "y": 0}, suppression=0.2)
        found = shoal.anonymize(table, shoal.Plan(schema, (shoal.models.KAnonymity(3),), method))
        assert Counter(found.table["x"].to_pylist()) == {label: 6, "59": 3}


def test_hidden_value_ends_no_range():
    table = pa.table(
        {"x": ["21"] * 3 + ["30"] * 3 + ["59"] * 3 + ["97"] + ["21"] * 3, "y": ["a"] * 9 + ["b"] * 4}
    )  # fmt: skip
    schema = Schema({"x": Column(QUASI, Ordered((2,), ranges="exact")), "y": Column(QUASI)})
    method = shoal.methods.HiddenCells(levels={"x": 1, "y": 0}, importance={"y": 100})
    found = shoal.anonymize(
        table, shoal.Plan(schema, (shoal.models.LooselyKnown(shoal.models.KAnonymity(3), 2),), method)
    ).table
    assert Counter(zip(*found.to_pydict().values(), strict=True)) == {
        ("21..30", "a"): 6, ("59", "a"): 3, ("*", "b"): 4
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_hidden_cells_do_not_depend_on_secrets_of_equal_rows(seed):
    """Identical rows show the same cells, whichever secrets they have."""
    draw = np.random.default_rng(seed)
    columns = {name: draw.choice(list("pqr"), 60) for name in "xy"}
    secrets = draw.choice(list("uvw"), 60)
    roles = {"x": Column(QUASI), "y": Column(QUASI), "s": Column(Role.SENSITIVE), "row": Column(Role.OTHER)}
    models = (
        shoal.models.LooselyKnown(shoal.models.KAnonymity(5), 2),
        shoal.models.LooselyKnown(shoal.models.PSensitive(2), 2),
    )
    table = pa.table({**columns, "s": secrets, "row": range(60)})
    found = shoal.anonymize(table, shoal.Plan(Schema(roles), models, shoal.methods.HiddenCells())).table.to_pylist()
    visible = {}
    for row in found:
        visible.setdefault(tuple(columns[name][row["row"]] for name in "xy"), set()).add((row["x"], row["y"]))
    assert any("*" in cells for those in visible.values() for cells in those)
    # each combination shows one thing, whatever the secrets of its rows are
    assert Counter(len(cells) for cells in visible.values()) == {1: len(visible)}


KINDS = {
    "flat": (Flat(), ["a", "b", "c", "d"]),
    "tree": (Tree({"n": ["d", "b"], "s": ["c", "a"]}), ["a", "b", "c", "d"]),
    "table": (Table((("a", "z"), ("b", "y"), ("c", "z"), ("d", "y"))), ["a", "b", "c", "d"]),
    "prefix": (Prefix(), ["14", "1424", "142481", "15", "142481111"]),
    "steps": (Prefix((3,)), ["14", "1424", "142481", "15", "142481111"]),
    "widths": (Widths((5, 10)), ["1", "2", "12.5", "33"]),
    "cuts": (Cuts(((2, 20),)), ["1", "2", "12.5", "33"]),
    "intervals": (Intervals((((0, 2), (2, 50)),)), ["1", "2", "12.5", "33"]),
    "dates": (Calendar(("month", "year")), ["2024-01-02", "2024-01-03", "2023-05-05", "1990-01-01"]),
    "order": (Ordered((2,)), ["1", "2", "9", "10", "33"]),
    "exact order": (Ordered((2,), ranges="exact"), ["1", "2", "9", "10", "33"]),
    "text order": (Ordered((2,)), ["a", "b", "c", "d"]),
    "bare values": (None, ["1", "2", "9", "10", "12.5", "33"]),
    "bare, not all numbers": (None, ["1", "2", "9", "10", "x"]),
}


@pytest.mark.parametrize("method", ["levels", "anti-unification", "refine", "switching"])
@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_values_of_suppressed_rows_change_no_byte(method, data):
    """Rows that are unique in y are suppressed, whatever their x is.

    The other rows must show the same for any x of these.
    """
    hierarchy, values = KINDS[data.draw(st.sampled_from(sorted(KINDS)))]
    ordered = isinstance(hierarchy, Ordered)  # which neighbours join is a decision: new values come after all others
    released = data.draw(st.lists(st.sampled_from(values[:3] if ordered else values), min_size=3, max_size=5))
    more = values[3:] if ordered else values
    tables = []
    for _ in range(2):
        left_out = data.draw(st.lists(st.sampled_from(more), min_size=1, max_size=3))
        x, y = [*released, *left_out], [*("p" for _ in released), *(f"only {i}" for i, _ in enumerate(left_out))]
        level = 1
        if isinstance(hierarchy, Prefix) and hierarchy.steps is None:  # levels are counted from the longest value
            level = max(map(len, x)) - 1
        start = shoal.methods.Levels({"x": level, "y": 0}, suppression=0.9)
        chosen = {
            "levels": start,
            "anti-unification": shoal.methods.AntiUnification(indifferent=0, levels={"x": level}),
            "refine": shoal.methods.Refine(start=start),
            "switching": shoal.methods.Switching(start=start),
        }[method]
        schema = Schema({"x": Column(QUASI, hierarchy), "y": Column(QUASI)})
        try:
            found = shoal.anonymize(
                pa.table({"x": x, "y": y}), shoal.Plan(schema, (shoal.models.KAnonymity(3),), chosen)
            )
        except shoal.errors.InfeasibleError:
            return
        assert all(not value.startswith("only") for value in found.table["y"].to_pylist())
        tables.append(found.table)
    if isinstance(hierarchy, Prefix) and hierarchy.steps is not None:
        return  # how many characters are masked is counted from the longest value, and so is a decision
    assert tables[0].equals(tables[1])


@pytest.mark.parametrize("left_out", ["0.5", "zz", "-3"])
def test_row_order_does_not_depend_on_suppressed_values(left_out):
    """One suppressed value could put all rows into another order.

    It is no number, or the first one under a label.
    """
    x, y = ["9", "10", "9", "10", left_out], ["p", "p", "p", "p", "only"]
    schema = Schema({"x": Column(QUASI), "y": Column(QUASI)})
    method = shoal.methods.Levels({"x": 0, "y": 0}, suppression=0.5)
    found = shoal.anonymize(pa.table({"x": x, "y": y}), shoal.Plan(schema, (shoal.models.KAnonymity(2),), method))
    assert found.table["x"].to_pylist() == ["9", "9", "10", "10"]
    tree = Tree({"s": ["c", "0.5", "zz", "-3"], "n": ["b"]})
    schema = Schema({"x": Column(QUASI, tree), "y": Column(QUASI)})
    method = shoal.methods.Levels({"x": 1, "y": 0}, suppression=0.5)
    table = pa.table({"x": ["b", "c", "b", "c", left_out], "y": y})
    found = shoal.anonymize(table, shoal.Plan(schema, (shoal.models.KAnonymity(2),), method))
    assert found.table["x"].to_pylist() == ["n", "n", "s", "s"]


def test_categories_and_metadata_of_frames_do_not_survive():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    rows = {"x": ["a"] * 3 + ["SECRET"], "s": ["u"] * 3 + ["SECRET"], "o": ["v"] * 3 + ["SECRET"]}
    arrow = pa.table({name: pa.array(cells).dictionary_encode() for name, cells in rows.items()})
    arrow = arrow.replace_schema_metadata({"note": "SECRET"})
    schema = Schema({"x": Column(QUASI), "s": Column(Role.SENSITIVE), "o": Column(Role.OTHER)})
    frames = [
        arrow,
        pd.DataFrame(rows).astype("category"),
        pl.DataFrame(rows).with_columns(pl.all().cast(pl.Categorical)),
        pl.DataFrame(rows).with_columns(pl.all().cast(pl.Enum(["a", "u", "v", "SECRET"]))),
    ]
    for frame in frames:
        made = shoal.Plan(schema, (shoal.models.KAnonymity(3),), shoal.methods.Levels({"x": 0}, suppression=0.3))
        released = shoal.anonymize(frame, made).table
        assert len(released) == 3
        if isinstance(released, pa.Table):
            assert b"SECRET" not in released.schema.serialize().to_pybytes()
            assert not any(pa.types.is_dictionary(part.type) for part in released.schema)
        elif isinstance(released, pd.DataFrame):
            assert not any(isinstance(kind, pd.CategoricalDtype) for kind in released.dtypes)
        else:
            assert set(released.dtypes) == {pl.String}


def test_parquet_release_has_no_byte_of_suppressed_rows(tmp_path):
    import pyarrow.parquet as pq

    rows = {"x": ["a"] * 3 + ["SECRETX"], "s": ["u"] * 3 + ["SECRETS"], "n": [5] * 3 + [987654321]}
    arrow = pa.table({name: pa.array(cells).dictionary_encode() for name, cells in rows.items()})
    pq.write_table(arrow.replace_schema_metadata({"note": "SECRET"}), tmp_path / "in.parquet")
    document = {
        "source": {"path": str(tmp_path / "in.parquet")},
        "columns": {"x": {"role": "quasi-identifier"}, "s": {"role": "sensitive"}, "n": {"role": "other"}},
        "models": [{"name": "k-anonymity", "k": 3}],
        "method": {"name": "levels", "levels": {"x": 0}, "suppression": 0.3},
        "output": {"path": str(tmp_path / "out.parquet")},
    }
    shoal.release(shoal.Plan.from_dict(document))
    raw = (tmp_path / "out.parquet").read_bytes()
    assert b"SECRET" not in raw
    assert (987654321).to_bytes(4, "little") not in raw
    assert pq.read_metadata(tmp_path / "out.parquet").metadata is None


# -- ends of ranges --------------------------------------------------------------------------------------------------

NUMBERS = st.one_of(
    st.integers(-40, 120).map(str),
    st.integers(-400, 400).map(lambda n: str(n / 8)),
    st.sampled_from(["100000", "99999", "-100000", "0", "12345678901234567890", "1e-7"]),
)


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_no_range_ends_at_a_rare_value(data):
    """Ranges match the slow reference and withstand the attack on them.

    A value is rare if fewer than k rows of its group have it.
    """
    values = data.draw(st.lists(NUMBERS, min_size=1, max_size=30))
    distinct = sorted({Fraction(value) for value in values})
    text = {number: next(value for value in values if Fraction(value) == number) for number in distinct}
    codes = np.asarray([distinct.index(Fraction(value)) for value in values], np.int32)
    group = np.asarray(data.draw(st.lists(st.integers(0, 3), min_size=len(values), max_size=len(values))), np.int64)
    group = np.unique(group, return_inverse=True)[1].astype(np.int64)
    least = data.draw(st.integers(2, 6))
    ladder = Flat().bind([text[number] for number in distinct], False)
    count = np.ones(len(values), np.int64)
    labels, _, share = publish_ranges(codes, count, group, int(group.max()) + 1, ladder, RangeEnds(least=least))
    for number, label in enumerate(labels):
        mine = [distinct[code] for code in codes[group == number]]
        assert label == slow.round_range(mine, distinct, text)
        region = read_label(label)
        assert all(region.covers(text[value], float(value)) for value in mine)
        if len(set(mine)) > 1:
            for end in (region.low, region.high):
                assert end not in {float(value) for value in mine} or region.everything
            inside = [value for value in distinct if region.covers(text[value], float(value))]
            assert share[number] == pytest.approx(len(inside) / len(distinct))


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(-200, 200).map(lambda n: Fraction(n, 10)), min_size=2, max_size=2, unique=True))
def test_a_cut_is_the_roundest_number_between_two(ends):
    low, high = sorted(ends)
    cut = round_cut(low, high)
    assert low < cut <= high
    assert slow.roundness(cut) == max(slow.roundness(one) for one in slow.between(low, high))


def test_steps_and_scales():
    steps = round_steps(30)
    assert [next(steps) for _ in range(4)] == [50, 100, 200, 500]
    assert as_whole([Fraction(1), Fraction("0.25")]) == ([100, 25], 100)


def test_range_ends_of_a_declared_order():
    """A range ends at a value that no row has, or enough rows."""
    order = ("a", "b", "c", "d", "e", "f")
    schema = Schema({"x": Column(QUASI, order=order)})
    table = pa.table({"x": ["b", "c", "c", "e", "e", "f"]})
    made = shoal.Plan(schema, (shoal.models.KAnonymity(3),), shoal.methods.Mondrian())
    assert Counter(shoal.anonymize(table, made).table["x"].to_pylist()) == {"b..e": 3, "c..f": 3}


def test_the_attack_finds_no_end_of_a_range_in_a_default_release():
    random = np.random.default_rng(3)
    table = pa.table({"age": random.integers(17, 91, 600), "pay": (random.lognormal(10, 1, 600) // 10).astype(int)})
    schema = Schema({"age": Column(QUASI), "pay": Column(QUASI)})
    flagged = {}
    for ranges in ("round", "exact"):
        for method in (
            shoal.methods.Mondrian(ranges=ranges),
            shoal.methods.Refine(start=shoal.methods.Mondrian(ranges=ranges)),
        ):
            made = shoal.Plan(schema, (shoal.models.KAnonymity(5),), method)
            released = shoal.anonymize(table, made).table
            flagged[ranges, method.name] = shoal.attack(released, made, original=table).named("extreme values").exposed
    assert flagged["round", "mondrian"] == flagged["round", "refine"] == 0
    assert min(flagged["exact", "mondrian"], flagged["exact", "refine"]) > 500


# -- cost of prefixes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [5_000, 100_000])
def test_one_long_cell_does_not_make_prefixes_expensive(length):
    values = [f"{number:05d}" for number in range(3_000)]
    values[7] = "9" * length
    tracemalloc.start()
    ladder = Schema({"x": Column(QUASI, Prefix())}).ladder("x", values, False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60 * sum(map(len, values)) * 20
    assert ladder.height <= 64
    present = np.ones(len(values), np.bool_)
    present[7] = False
    released = ladder.released(present)
    names = {released.labels[level][released.codes[level][0]] for level in range(ladder.height)}
    assert names == {"00000", "0000*", "000**", "00***", "0****"}


def test_prefixes_of_ordinary_columns():
    values = ["1", "12", "x" * 64]
    ladder = Prefix().bind(values, False)
    assert ladder.height == 64
    for masked in range(1, 64):
        names = [ladder.labels[masked][code] for code in ladder.codes[masked]]
        assert names == [value[: 64 - masked] + "*" * masked for value in values]


# -- counts of suppressed rows ---------------------------------------------------------------------------------------


def test_external_documents_count_values_of_released_rows_only():
    schema = Schema({"zip": Column(QUASI), "s": Column(Role.SENSITIVE)})
    table = pa.table({"zip": ["1"] * 4 + ["2"] * 4 + ["5"], "s": ["a", "b"] * 4 + ["rare"]})
    made = shoal.Plan(schema, (shoal.models.KAnonymity(3),), shoal.methods.Levels({"zip": 0}, suppression=0.2))
    released = shoal.anonymize(table, made)
    assert {name: len(labels) for name, labels in released.external.labels.items()} == {"zip": 2, "s": 2}
    assert "rare" not in released.certificate.to_json() + released.report().html
    facts = {column.name: column for column in released.description.columns}
    assert (facts["zip"].values, facts["zip"].labels, facts["s"].values) == (3, 2, 3)  # for the owner


def test_reasons_for_rare_rows_have_no_counts_below_k():
    schema = Schema({"a": Column(QUASI), "b": Column(QUASI)})
    table = pa.table({"a": ["x"] * 6 + ["y", "z"], "b": ["u"] * 6 + ["v", "w"]})
    made = shoal.Plan(schema, (shoal.models.KAnonymity(3),), shoal.methods.AntiUnification(indifferent=0))
    discarded = shoal.anonymize(table, made).figures["method"]["discarded"]
    assert discarded["rare"]
    assert {each["records"] for each in discarded["rare"]} == {"fewer than 3"}


def test_exact_ranges_carry_a_warning():
    table = pa.table({"x": [1, 2, 3, 40, 50, 60]})
    schema = Schema({"x": Column(QUASI)})
    for ranges, warned in (("round", False), ("exact", True)):
        made = shoal.Plan(schema, (shoal.models.KAnonymity(3),), shoal.methods.Mondrian(ranges=ranges))
        assert ("warning" in shoal.anonymize(table, made).figures["method"]) == warned
    with pytest.raises(shoal.errors.PlanError, match="round or exact"):
        shoal.methods.Mondrian(ranges="wide")
