"""Texts of published means: those that Python writes."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from shoal.table.group_means import MAX_POSITIONAL, MIN_POSITIONAL, number_texts

EDGES = [MIN_POSITIONAL, MAX_POSITIONAL, 1e16, 1e-5, 0.0, -0.0, 5e-324, 1.7976931348623157e308, 0.1 + 0.2]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30), st.integers(0, 3))
@example([f * g for f in EDGES for g in (1.0, -1.0)], 0)
@example([np.nextafter(f, to) for f in EDGES[:4] for to in (0.0, 1e300)], 1)
def test_arrow_and_python_write_the_same_text(numbers, every):
    missing = np.arange(len(numbers)) % 4 == every if every else np.zeros(len(numbers), np.bool_)
    found = number_texts(np.asarray(numbers, np.float64), missing).to_pylist()
    assert found == [None if gap else repr(float(value)) for value, gap in zip(numbers, missing, strict=True)]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=10))
def test_whole_numbers_have_no_point(numbers):
    found = number_texts(np.asarray(numbers, np.int64), np.zeros(len(numbers), np.bool_)).to_pylist()
    assert found == [*map(str, numbers)]
