"""Codes, groups and labels of groups, each against a plain reference."""

from __future__ import annotations

import decimal
from collections import Counter
from threading import get_ident

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shoal.errors import PlanError, TableError
from shoal.io.engines.base import Source
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.runtime.threads import limit_threads
from shoal.runtime.validation import MAX_INTEGER
from shoal.schema import TOP, Column, Domain, Role, Schema, spelling
from shoal.schema.bound_hierarchy import build_ladder
from shoal.table import canonical, frequency_set, recoding
from shoal.table.frequency_set import Dictionary, FrequencySet, encode_column, read_frequency_set
from shoal.table.group_labels import publish_groups
from shoal.table.group_means import YEAR_1, YEAR_9999, dictionary_numbers
from shoal.table.groups import Groups, group_keys, histogram, row_keys, sum_by, unique_pairs
from shoal.utility.labels import parse_number, parse_numbers
from tests.builders.errors import has_code

matrices = st.integers(0, 4).flatmap(
    lambda width: st.lists(st.lists(st.integers(0, 3), min_size=width, max_size=width), min_size=1, max_size=20)
)


def matrix(rows):
    return np.asarray(rows, np.int32).reshape(len(rows), -1)


def numbers(rows):
    """Return every row's position among the distinct rows in order."""
    positions = {row: position for position, row in enumerate(sorted(set(map(tuple, rows))))}
    return [positions[tuple(row)] for row in rows]


@given(matrices)
def test_rows_are_numbered_in_the_order_of_their_codes(rows):
    number, count = group_keys(matrix(rows), [4] * len(rows[0]))
    assert number.tolist() == numbers(rows)
    assert count == len(set(map(tuple, rows)))


@given(matrices, st.integers(0, 2**31 - 1))
def test_keys_beyond_int64_are_renumbered_in_order(rows, far):
    wide = [[code * (far // 4 + 1) for code in row] for row in rows]
    sizes = [2**31 - 1] * len(rows[0])
    number, count = group_keys(matrix(wide), sizes)
    assert number.tolist() == numbers(wide)
    assert count == len(set(map(tuple, wide)))
    key, span = row_keys(matrix(wide), sizes)
    assert 0 <= key.min() <= key.max() < span


def test_key_is_a_mixed_radix_number_of_the_codes():
    key, span = row_keys(matrix([[1, 2, 3], [0, 0, 1]]), [2, 3, 5])
    assert (key.tolist(), span) == ([1 * 15 + 2 * 5 + 3, 1], 30)
    assert row_keys(matrix([[0], [0]]), [0])[0].tolist() == [0, 0]


def test_numbering_does_not_depend_on_the_range_of_keys():
    rows = np.random.default_rng(1).integers(0, 50, (300, 2)).astype(np.int32)
    for sizes in ([50, 50], [50, 5_000]):
        number, count = group_keys(rows, sizes)
        assert number.tolist() == numbers(rows.tolist())
        assert count == len(np.unique(rows, axis=0))


def test_sums_keep_the_type_of_the_amounts():
    whole = sum_by(np.asarray([0, 2, 0]), np.asarray([2**60, 7, 1]), 3)
    assert whole.tolist() == [2**60 + 1, 0, 7]
    large = sum_by(np.asarray([1, 1]), np.asarray([2**70, 1], object), 2)
    assert large.tolist() == [0, 2**70 + 1]


entries = st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 4), st.integers(1, 9)), max_size=25)


@given(entries)
@example([(1, 2, 1), (0, 3, 1), (1, 2, 1)])  # each row with count 1
@example([(1, 2, 1), (0, 3, 2), (1, 2, 1)])
def test_histogram_equals_counter(rows):
    group, value, count = (np.asarray([row[i] for row in rows], dtype) for i, dtype in enumerate((int, np.int32, int)))
    found = histogram(group, value, count, 4, Domain("s", 5))
    counted: Counter[tuple[int, int]] = Counter()
    for g, v, n in rows:
        if v >= 0:
            counted[g, v] += n
    spans = list(zip(found.start[:-1], found.start[1:], strict=True))
    by_group = {(g, int(found.value[i])): int(found.count[i]) for g, (a, b) in enumerate(spans) for i in range(a, b)}
    assert by_group == counted
    assert list(by_group) == sorted(by_group)
    assert found.start.tolist()[0] == 0
    assert found.known.tolist() == [sum(n for (g, _), n in counted.items() if g == each) for each in range(4)]
    assert found.total.tolist() == [sum(n for (_, v), n in counted.items() if v == each) for each in range(5)]
    assert found.distinct.tolist() == [sum(g == each for g, _ in counted) for each in range(4)]
    assert found.owner.tolist() == [g for g, _ in sorted(counted)]
    assert found.largest().tolist() == [
        max([n for (g, _), n in counted.items() if g == e], default=0) for e in range(4)
    ]


def test_groups_have_rows_and_histograms_by_column():
    one, other = (
        histogram(np.asarray([0, 1]), np.asarray([0, 1], np.int32), np.asarray([2, 3]), 2, Domain(name, 2))
        for name in ("s", "t")
    )
    groups = Groups(np.asarray([2, 3]), (one, other))
    assert (groups.count, groups.rows) == (2, 5)
    assert groups.histogram("t") is other
    larger = groups.within([np.asarray([7, 8]), np.asarray([9, 9])])
    assert [h.total.tolist() for h in larger.histograms] == [[7, 8], [9, 9]]
    with pytest.raises(ValueError, match="zip"):
        groups.within([np.asarray([7, 8])])


@pytest.mark.parametrize(
    ("values", "text", "codes"),
    [
        (["10", "9", None, "9"], ("9", "10"), [1, 0, 2, 0]),
        (["10", "9", "x"], ("10", "9", "x"), [0, 1, 2]),
        (["1.0", "1", "01"], ("01", "1", "1.0"), [2, 1, 0]),
        ([10, 9, None], ("9", "10"), [1, 0, 2]),
        ([None, None], (), [0, 0]),
    ],
)
def test_codes_follow_the_order_of_values_with_missing_last(values, text, codes, monkeypatch):
    kind = pa.int64() if values[0] == 10 else pa.string()
    half = len(values) // 2
    column = pa.chunked_array([pa.array(values[:half], kind), pa.array(values[half:], kind)])
    dictionary, found = encode_column(column, "a", 3)
    assert (dictionary.name, dictionary.position) == ("a", 3)
    assert dictionary.text == text
    assert [str(value) for value in dictionary.values.to_pylist()] == list(text)
    assert dictionary.missing is (None in values)
    assert dictionary.size == len(text) + (None in values)
    assert found.tolist() == codes
    again, same = encode_column(column.dictionary_encode(), "a", 3)
    assert (again.text, same.tolist()) == (text, codes)
    monkeypatch.setattr(frequency_set, "MAX_CONCATENATED_BYTES", 0)
    again, same = encode_column(column, "a", 3)  # chunk by chunk, like columns of more text than fits into one array
    assert (again.text, same.tolist()) == (text, codes)


def test_encoding_does_not_depend_on_threads(monkeypatch):
    rows = {"a": [3, 1, None, 1], "b": ["x", None, "y", "x"], "c": ["10", "9", "9", "8"]}
    schema = Schema({name: Column(Role.QUASI_IDENTIFIER) for name in rows})
    with DuckDBEngine() as engine:
        table = engine.read(Source(frame=pa.table(rows)))
        alone = read_frequency_set(engine, table, schema)
        monkeypatch.setattr(frequency_set, "MIN_COMBINATIONS_FOR_THREADS", 0)
        seen: set[int] = set()
        monkeypatch.setattr(
            frequency_set, "encode_column", lambda *column: (seen.add(get_ident()), encode_column(*column))[1]
        )
        with limit_threads(2):
            threaded = read_frequency_set(engine, table, schema)
    assert get_ident() not in seen  # separate threads
    assert threaded.codes.tolist() == alone.codes.tolist()
    assert [one.text for one in threaded.quasi] == [one.text for one in alone.quasi]


def test_column_without_cells_has_no_codes():
    dictionary, codes = encode_column(pa.chunked_array([], pa.string()), "a", 0)
    assert (dictionary.size, codes.tolist()) == (0, [])
    assert frequency_set._numpy(pa.chunked_array([], pa.int64())).tolist() == []


LEAVES = [("a", "x"), ("b", "x"), ("c", "y"), ("d", "y")]


def frequencies_of(codes, counts):
    texts = tuple(leaf for leaf, _ in LEAVES)
    dictionary = Dictionary("q", 0, pa.array(texts), texts, True)
    codes = np.asarray(codes, np.int32).reshape(-1, 1)
    return FrequencySet((dictionary,), (), (), codes, np.zeros((len(codes), 0), np.int32), np.asarray(counts))


def ladder():
    return build_ladder([[leaf for leaf, _ in LEAVES], [above for _, above in LEAVES]], missing=True)


@pytest.mark.parametrize(
    ("how", "codes", "label", "height", "share"),
    [
        ("ancestor", [0, 0], "a", 0.0, 0.2),
        ("ancestor", [0, 1], "x", 0.5, 0.4),
        ("ancestor", [1, 2], TOP, 1.0, 1.0),
        ("ancestor", [4], None, 0.0, 0.2),
        ("ancestor", [3, 4], TOP, 1.0, 1.0),
        ("star", [1, 1], "b", 0.0, 0.2),
        ("star", [0, 1], TOP, 1.0, 1.0),
        ("star", [4], None, 0.0, 0.2),
    ],
)
def test_group_publishes_the_common_label_of_its_rows(how, codes, label, height, share):
    """Two groups: the tested one, and one of a single value before it."""
    frequencies = frequencies_of([2, *codes], [1] * (len(codes) + 1))
    group = np.asarray([0] + [1] * len(codes))
    made = publish_groups(frequencies, [ladder()], np.arange(len(group)), group, frequencies.count, how)
    assert list(made.labels[0]) == ["c", label]
    assert made.height[:, 0].tolist() == [0.0, height]
    assert made.share[:, 0].tolist() == pytest.approx([0.2, share])


def test_entries_are_sorted_by_row_and_group():
    frequencies = frequencies_of([0, 1], [3, 1])
    row, group, count = np.asarray([1, 0, 0]), np.asarray([0, 1, 0]), np.asarray([1, 2, 1])
    made = publish_groups(frequencies, [ladder()], row, group, count, ["ancestor"])
    assert (made.row.tolist(), made.group.tolist(), made.count.tolist()) == ([0, 0, 1], [0, 1, 0], [1, 2, 1])
    assert list(made.labels[0]) == ["x", "a"]
    with pytest.raises(PlanError, match="one of ancestor"):
        publish_groups(frequencies, [ladder()], row, group, count, "bogus")


def test_combinations_in_no_group_are_not_counted():
    domain = Domain("s", 2)
    texts = ("a", "b")
    secret = Dictionary("s", 1, pa.array(texts), texts, False)
    q = frequencies_of([0, 1, 2], [5, 7, 11])
    frequencies = FrequencySet(q.quasi, (secret,), (domain,), q.codes, np.asarray([[0], [1], [1]], np.int32), q.count)
    part = frequencies.groups_of(np.asarray([0, -1, 1]), 2)
    assert part.size.tolist() == [5, 11]
    assert part.histograms[0].total.tolist() == [5, 11]
    whole = frequencies.groups_of(np.asarray([0, 0, 1]), 2)
    assert whole.size.tolist() == [12, 11]
    assert whole.histograms[0].total.tolist() == [5, 18]
    assert frequencies.rows == 23
    inverse, groups = frequencies.group(frequencies.codes // 2, [2])
    assert (inverse.tolist(), groups.size.tolist()) == ([0, 0, 1], [12, 11])


@given(
    st.lists(st.tuples(*[st.sampled_from([None, "a", "b", "é", "\uffee", "\U0001f41f"])] * 2), min_size=1, max_size=8)
)
def test_groups_are_ranked_by_labels_with_missing_first(labels):
    ranks = recoding._ranks([[row[0] for row in labels], pa.array([row[1] for row in labels], pa.string())])
    sort_keys = [tuple("" if cell is None else cell for cell in row) for row in labels]
    for one, mine in zip(ranks, sort_keys, strict=True):
        for other, theirs in zip(ranks, sort_keys, strict=True):
            assert (one < other) == (mine < theirs)


NUMBERS = st.one_of(
    st.integers(-1000, 1000).map(str),
    st.decimals(-1000, 1000, places=2).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(
        ["1e400", "1E5", "-0", "0", "00", "0.0", "7", "07", "7.0", "9007199254740993", "9007199254740992", "1" * 400]
    ),
)
ODD = st.sampled_from(["1e2", "1_0", " 5", "inf", "nan ", "+3", "٣", ".5", "5."])
WORDS = st.text(st.characters(exclude_categories=("Cs",)), max_size=4)


@given(
    st.one_of(
        st.lists(NUMBERS, max_size=12, unique=True),
        st.lists(NUMBERS | ODD, max_size=12, unique=True),
        st.lists(NUMBERS | WORDS, max_size=12, unique=True),
    )
)
def test_bulk_sort_equals_sorting_one_by_one(values):
    """Sort values in bulk or one by one.

    By size if all are numbers, otherwise by code point, also among equal numbers.
    """

    def ordered(min_values):
        before, frequency_set.MIN_VALUES_FOR_BULK_SORT = frequency_set.MIN_VALUES_FOR_BULK_SORT, min_values
        try:
            found, text, order = frequency_set.sort_values(pa.array(values, pa.string()))
        finally:
            frequency_set.MIN_VALUES_FOR_BULK_SORT = before
        assert found.to_pylist() == list(text) == [values[position] for position in order]
        return list(text)

    assert ordered(0) == ordered(1000)


@given(st.lists(NUMBERS | st.none(), max_size=12) | st.lists(NUMBERS | ODD | WORDS | st.none(), max_size=12))
def test_parse_numbers_equals_parse_number(texts):
    each = [parse_number(text) for text in texts]
    assert [None if np.isnan(one) else one for one in parse_numbers(texts).tolist()] == each


@given(st.lists(WORDS | st.text(st.characters(max_codepoint=0x7F), max_size=3), max_size=6, unique=True))
def test_quick_check_of_canonical_text_is_correct(texts):
    looks = canonical._is_plain(pa.array(texts, pa.string()))
    assert not looks or all(spelling.canonical(text) == text for text in texts)
    assert looks or not all(text.isalnum() and text.isascii() for text in texts)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(-1, 9)), max_size=30))
def test_pairs_are_counted_in_order(pairs):
    both = np.asarray(pairs, np.int64).reshape(-1, 2)
    first, second, count = unique_pairs(both[:, 0], both[:, 1])
    assert list(zip(first.tolist(), second.tolist(), count.tolist(), strict=True)) == [
        (*pair, times) for pair, times in sorted(Counter(pairs).items())
    ]


@pytest.mark.parametrize(("unit", "second"), [("s", 1), ("ms", 1_000), ("us", 1_000_000)])
@pytest.mark.parametrize(("instant", "past"), [(YEAR_1, -1), (YEAR_9999, 1), (0, 0)])
def test_timestamps_beyond_the_calendar_are_refused(unit, second, instant, past):
    kind = pa.timestamp(unit)
    numbers = dictionary_numbers(encode_column(pa.chunked_array([[instant * second, 1]], kind), "seen", 0)[0])
    assert sorted(numbers) == sorted([instant * second, 1])
    if past:
        with pytest.raises(PlanError, check=has_code("columns.times-out-of-range", column="seen")):
            dictionary_numbers(encode_column(pa.chunked_array([[(instant + past) * second, 1]], kind), "seen", 0)[0])


def test_all_nanosecond_timestamps_have_numbers():
    column = pa.array([-(2**62), 2**62], pa.timestamp("ns"))
    assert list(dictionary_numbers(encode_column(pa.chunked_array([column]), "seen", 0)[0])) == [-(2.0**62), 2.0**62]


def test_decimals_beyond_exact_floats_are_refused():
    def read(number):
        return dictionary_numbers(
            encode_column(pa.chunked_array([[decimal.Decimal(number)]], pa.decimal128(20)), "amount", 0)[0]
        )

    assert list(read(MAX_INTEGER)) == [MAX_INTEGER]
    with pytest.raises(PlanError, check=has_code("columns.numbers-too-large", column="amount")):
        read(MAX_INTEGER + 2)


def test_table_needs_at_least_one_row():
    one = pa.table({"age": ["30"]})
    schema = Schema({"age": Column(Role.QUASI_IDENTIFIER)})
    with DuckDBEngine() as engine:
        assert read_frequency_set(engine, engine.read(Source(frame=one)), schema).count.sum() == 1
        with pytest.raises(TableError, check=has_code("table.no-rows")):
            read_frequency_set(engine, engine.read(Source(frame=one.slice(0, 0))), schema)


def test_histogram_of_no_groups_has_no_weights():
    nothing = np.zeros(0, np.int64)
    found = histogram(nothing, nothing.astype(np.int32), nothing, 0, Domain("s", 2))
    assert found.weight(np.array([1, 2], np.int32)).tolist() == []
