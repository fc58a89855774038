"""Small parts of the encoding, each against its own documentation.

Facts, people, dates, spellings, ends of ranges.
"""

from __future__ import annotations

from datetime import datetime
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import PlanError, VerificationError
from shoal.io.engines.base import Source
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.schema import Calendar, Column, Domain, Role
from shoal.schema.people import ValueSets
from shoal.table import people as encoded_people
from shoal.table.canonical import _HasNoncanonicalText as HasNoncanonicalText
from shoal.table.column_subsets import Owners, SubsetCounter
from shoal.table.date_shift import _reader
from shoal.table.distributed import SensitiveLists
from shoal.table.expand_counts import ConstantColumn, PublishedColumn, repeat_entries
from shoal.table.frequency_set import Dictionary, FrequencySet, Spellings
from shoal.table.group_means import dictionary_numbers
from shoal.table.group_ranges import _array, _is_safe_end
from shoal.table.pseudonyms import name_people, pseudonym
from shoal.table.recoding import _label_positions
from shoal.table.spreadsheet_safety import neutralize
from shoal.table.wildcard_matches import count_candidates
from tests.builders.errors import has_code

CODES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=8)  # 2 means suppressed


@settings(max_examples=40)
@given(CODES, CODES, st.lists(st.integers(1, 3), min_size=8, max_size=8))
def test_candidate_rows_equal_in_small_and_large_columns(labels, known, times):
    """Count the rows that may belong to a person.

    Columns with a small number of labels are counted in a table of all combinations, larger ones by classes.
    """
    known = [(a % 2, b % 2) for a, b in known]
    expected = [
        sum(
            n
            for row, n in zip(labels, times, strict=False)
            if all(s in (2, k) for s, k in zip(row, person, strict=True))
        )
        for person in known
    ]
    for size in (2, 5000):
        cells = np.asarray([[size if cell == 2 else cell for cell in row] for row in labels])
        table = SubsetCounter(cells, (size, size), np.asarray(times[: len(labels)], np.int64))
        people = SubsetCounter(np.asarray(known), (size, size), np.ones(len(known), np.int64))
        assert table.count_candidate_rows(people, (0, 1), 10**9).tolist() == expected
        assert table.combinations((0, 1)).size.sum() == sum(times[: len(labels)])


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), min_size=1, max_size=12), st.integers(1, 7), st.data())
def test_entries_needed_for_a_number_of_people(pairs, least, data):
    pairs = sorted(set(pairs))
    have = np.asarray(data.draw(st.lists(st.booleans(), min_size=5, max_size=5)))
    order = np.asarray(data.draw(st.permutations([entry for entry in range(5) if not have[entry]])), np.int64)
    entry, person = (np.asarray([pair[i] for pair in pairs], np.int64) for i in (0, 1))
    facts = SubsetCounter(np.zeros((5, 1), np.int64), (1,), np.ones(5, np.int64), Owners(entry, person, 6))

    def people(added):
        return len({owner for fact, owner in pairs if have[fact] or fact in order[:added]})

    enough = (added for added in range(len(order) + 1) if people(added) >= least)
    assert min(facts.needed(have, order, least), len(order)) == next(enough, len(order))


def test_pseudonyms_of_people_with_one_or_several_names():
    """A person of one name has the pseudonym of that name.

    Combinations of several names stay distinct.
    """
    key = b"k" * 16
    (alone,) = name_people([("Rick",)], "who", key)["label"].to_pylist()
    assert alone == pseudonym(key, "who", "Rick")
    several = name_people([("ab", "c"), ("a", "bc"), ("abc", "")], "who", key)
    assert len(set(several["label"].to_pylist())) == 3
    assert several["v"].to_pylist() == [0, 1, 2]


def test_timestamp_of_eleven_characters_has_an_hour():
    read, write = _reader(Column(Role.OTHER))
    assert read("20200101T10") == datetime(2020, 1, 1, 10)
    assert write(datetime(2020, 2, 1, 10), "20200101T10") == "2020-02-01T10:00:00"
    assert write(datetime(2020, 2, 1, 10), "2020-01-01") == "2020-02-01"
    assert write(datetime(2020, 2, 1), datetime(2020, 1, 1)) == datetime(2020, 2, 1)
    dotted = Column(Role.QUASI_IDENTIFIER, Calendar(("year",), format="%d.%m.%Y"))
    assert _reader(dotted)[1](datetime(2020, 2, 1), "01.01.2020") == "01.02.2020"


def labels_of(texts, by_value, released, missing=False):
    dictionary = Dictionary("x", 0, pa.array(texts), tuple(texts), missing)
    return _label_positions(dictionary, np.asarray(by_value, np.int32), np.asarray(released, np.int32)).tolist()


def test_labels_are_ordered_by_released_values_missing_last():
    assert labels_of(["a", "b", "c"], [1, 0, 1], [0, 1, 2]) == [0, 1, 0]
    assert labels_of(["a", "b", "c"], [1, 0, 1], [1, 2]) == [1, 0, 1]  # without a, the label of b comes first
    assert labels_of(["a", "b"], [0, 0, 1], [0, 1, 2], missing=True) == [0, 0, 1]
    assert labels_of(["a", "b"], [1, 0, 1], [0, 1, 2], missing=True) == [
        0,
        1,
        0,
    ]  # missing under the label of another value
    assert labels_of(["10", "9"], [0, 1], [0, 1]) == [1, 0]  # numbers by size


def test_integers_of_any_size_and_an_empty_array():
    assert _array(()).dtype == np.int64
    assert _array((3, -(2**57))).dtype == np.int64
    assert _array((3, -(2**58))).tolist() == [3, -(2**58)]
    assert _array((3, -(2**58))).dtype == object


def test_safe_end_has_no_row_or_enough_rows_of_a_group():
    counts = np.asarray([1, 4, 12]), np.asarray([3, 1, 2])  # group 0 at positions 1 and 4, group 1 at position 2
    group, position = np.asarray([0, 0, 0, 1, 1, 9]), np.asarray([1, 4, 5, 2, 9, 9])
    column = SimpleNamespace(positions=10)
    assert _is_safe_end(column, counts, group, position, 2).tolist() == [True, False, True, True, True, True]
    assert _is_safe_end(column, counts, group, position, 3).tolist() == [True, False, True, False, True, True]


def test_noncanonical_text_is_found_in_part_of_a_table():
    part = pa.table({"c0": ["Wien", None, "Graz"], "c1": ["Wien", None, "Graz "]})
    assert [HasNoncanonicalText(position)(part) for position in (0, 1)] == [False, True]


def test_people_are_divided_into_exactly_countable_parts(monkeypatch):
    sets = ValueSets(np.asarray([0, 2, 5, 5]), np.asarray([0, 1, 0, 1, 2], np.int32))  # two values, three, none
    people = np.asarray([0, 1, 2, 0, 1])
    monkeypatch.setattr(encoded_people, "LARGEST_KEY", 61)
    assert encoded_people._parts(sets, people, "s") == 6
    monkeypatch.setattr(encoded_people, "LARGEST_KEY", 60)
    with pytest.raises(PlanError, match="up to 3 different values of 's'"):
        encoded_people._parts(sets, people, "s")


def test_only_people_are_taken_from_a_release():
    def table(secrets, numbers):
        empty = np.zeros((len(secrets), 0), np.int32)
        person = Dictionary("who", 1, pa.array(numbers), tuple(map(str, numbers)), False)
        illness = Dictionary("s", 0, pa.array(["u", "v"]), ("u", "v"), False)
        domains = Domain("s", 2), Domain("who", len(numbers))
        count = np.ones(len(secrets), np.int64)
        return FrequencySet((), (illness, person), domains, empty, np.asarray(secrets, np.int32), count)

    source = table([[0, 0], [1, 1], [0, 2]], [0, 1, 2])
    found = encoded_people.with_source_people(table([[0, 0], [1, 1]], [1, 2]), source)
    assert found.secrets.tolist() == [[-1, 1], [-1, 2]]
    assert found.domains == source.domains
    with pytest.raises(VerificationError, check=has_code("people.row-of-nobody")):
        encoded_people.with_source_people(table([[0, -1]], [1]), source)
    with pytest.raises(VerificationError, check=has_code("people.row-of-nobody")):
        encoded_people.with_source_people(table([[0, 0]], [7]), source)


def test_candidates_if_a_column_is_fully_suppressed():
    known = np.asarray([[0, 1], [3, 1], [3, 0]], np.int32)
    labels = np.asarray([[-1, 1], [-1, 0], [-1, -1]], np.int32)
    rows, people = count_candidates(known, np.asarray([1, 2, 3]), labels, np.asarray([5, 7, 11]))
    assert rows.tolist() == [16, 16, 18]
    assert people.tolist() == [3, 3, 6]


def test_numbers_are_not_neutralized_as_formulas():
    table = pa.table({"=n": [-5, 3], "x": [-0.5, None], "t": ["=cmd()", "-5"]})
    with DuckDBEngine() as engine:
        made = neutralize(engine, engine.read(Source(frame=table)))
        harmless = engine.frequencies(made.table, (0, 1, 2))
        restored = made.restore(engine, made.table)
        again = engine.frequencies(restored, (2,))
    assert [field.type for field in harmless.schema][:3] == [pa.int64(), pa.float64(), pa.string()]
    assert sorted(harmless.column("c2").to_pylist()) == ["'=cmd()", "-5"]
    assert (made.table.columns, restored.columns) == (("'=n", "x", "t"), ("=n", "x", "t"))
    assert sorted(again.column("c2").to_pylist()) == ["-5", "=cmd()"]


def test_sensitive_lists_map_spellings_to_codes():
    written = Dictionary("s", 0, pa.array(["HIV", "flu", "hiv"]), ("HIV", "flu", "hiv"), True)
    counted = Dictionary("s", 0, pa.array(["HIV", "flu"]), ("HIV", "flu"), True)
    value = np.asarray([0, 1, 0, -1], np.int32)
    part = Spellings(written, counted, value, np.zeros(0, np.int32))
    lists = SensitiveLists((part,), (Domain("s", 2),), (np.asarray([2, 1]),))
    table = pa.table({"c0": ["hiv", None, "flu", "HIV"]})
    assert lists.folded == {"s": 1}
    assert lists.written(table).tolist() == [[2], [3], [1], [0]]
    assert lists.codes(table).tolist() == [[0], [-1], [1], [0]]
    none = SensitiveLists((), (), ())
    assert (none.folded, none.written(table).shape, none.codes(table).shape) == ({}, (4, 0), (4, 0))


def test_numbers_without_a_distance_are_refused():
    for number, message in ((np.inf, "infinite"), (1e151, "beyond 10")):
        values = pa.array([1.0, number])
        with pytest.raises(PlanError, match=message):
            dictionary_numbers(Dictionary("x", 0, values, ("1", "far"), False))


def test_entries_are_ordered_by_labels_and_equal_ones_merged():
    numbers = PublishedColumn(3, np.asarray([0, 2, 1, 2, 0, 1]), pa.array([5, 7, None]))
    assert numbers.order().tolist() == [1, 0, 2, 0, 1, 2]  # missing comes first
    assert PublishedColumn(3, np.asarray([1, 0]), pa.array([5, 7])).order().tolist() == [1, 0]
    texts = PublishedColumn(4, np.asarray([0, 0, 1, 0, 0, 1]), pa.array(["b", "a"]))
    calls = []
    engine = SimpleNamespace(repeat=lambda *arguments: calls.append(arguments))
    key, count = np.asarray([1, 1, 0, 1, 1, 0]), np.asarray([1, 2, 4, 8, 16, 32])
    repeat_entries(engine, "table", [numbers, texts, ConstantColumn(1, "*")], key, count)
    ((table, positions, rows, constants, own),) = calls
    assert (table, positions, constants, own) == ("table", [3, 4, 1], {1: "*"}, [])
    assert rows.to_pylist() == [
        {"n": 36, "c3": 7, "c4": "a"}, {"n": 10, "c3": None, "c4": "b"}, {"n": 17, "c3": 5, "c4": "b"},
    ]  # fmt: skip


def test_entries_needed_for_a_number_of_rows():
    facts = SubsetCounter(np.zeros((4, 1), np.int64), (1,), np.array([3, 1, 2, 4]))
    have, order = np.array([True, False, False, False]), np.array([1, 2, 3])
    assert [facts.needed(have, order, least) for least in (2, 3, 4, 5, 6, 7, 10)] == [0, 0, 1, 2, 2, 3, 3]
