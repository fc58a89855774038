"""Texts in Arrow arrays behave like a tuple of them."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal import Column, Role
from shoal.schema import Schema, arrow_strings
from shoal.schema.arrow_strings import Texts, texts_from_arrow, with_missing

QUASI = Role.QUASI_IDENTIFIER
some = st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=3), max_size=12)


@given(some, st.integers(-14, 14), st.integers(-14, 14), st.integers(0, 3))
def test_texts_equal_a_tuple_at_every_read(words, one, other, limit):
    texts, plain = Texts(pa.array(words, pa.string())), tuple(words)
    before, arrow_strings.MAX_SINGLE_READS = arrow_strings.MAX_SINGLE_READS, limit
    try:
        for _ in range(3):
            assert list(texts) == words
            assert (len(texts), [*texts, None]) == (len(words), [*words, None])
            assert texts == plain
            assert plain == texts
            assert texts != (*plain, "more")
            assert hash(texts) == hash(plain)
            if -len(words) <= one < len(words):
                assert texts[one] == texts[np.int64(one)] == plain[one]
            else:
                with pytest.raises(IndexError):
                    texts[one]
            assert all(texts.index(word) == plain.index(word) and word in texts for word in words)
        assert texts[one:other] == plain[one:other]
        assert pickle.loads(pickle.dumps(texts)) == plain
        assert "nobody has this" not in texts
    finally:
        arrow_strings.MAX_SINGLE_READS = before


@given(some, st.booleans())
def test_missing_is_the_last_entry(words, missing):
    expected = (*words, None) if missing else tuple(words)
    assert with_missing(tuple(words), missing) == expected
    texts = with_missing(Texts(pa.array(words, pa.string())), missing)
    assert isinstance(texts, Texts)
    assert texts == expected


def test_tuple_below_the_limit_and_arrow_above(monkeypatch):
    assert type(texts_from_arrow(pa.array(["1", "2"]))) is tuple
    monkeypatch.setattr(arrow_strings, "MIN_ARROW_VALUES", 2)
    assert type(texts_from_arrow(pa.array(["1", "2"]))) is Texts
    assert "1" not in repr(texts_from_arrow(pa.array(["1", "1"])))


@pytest.mark.parametrize(
    "method", [shoal.methods.Mdav(), shoal.methods.Mondrian(), shoal.methods.FullDomain()], ids=lambda one: one.name
)
def test_same_release_with_arrow_texts(method, monkeypatch):
    draw = np.random.default_rng(3)
    table = pa.table(
        {
            "weight": [None if one < 0.05 else f"{one:.3f}" for one in draw.random(300)],
            "height": draw.normal(170, 9, 300).round(2),
            "town": draw.choice(["Graz", "Linz", "Wien"], 300),
            "illness": draw.choice(["flu", "asthma", "gout"], 300),
        }
    )
    roles = {column: Column(QUASI) for column in ("weight", "height", "town")} | {"illness": Column(Role.SENSITIVE)}
    plan = shoal.Plan(Schema(roles), (shoal.models.KAnonymity(4),), method)
    expected = shoal.anonymize(table, plan)
    monkeypatch.setattr(arrow_strings, "MIN_ARROW_VALUES", 1)
    monkeypatch.setattr(arrow_strings, "MAX_SINGLE_READS", 2)
    found = shoal.anonymize(table, plan)
    assert found.table.equals(expected.table)
    assert found.figures == expected.figures
