"""Sums of losses, a part of the combinations at a time."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.io.engines import open_engine
from shoal.io.engines.base import EngineSettings, Source
from shoal.table import ByLevel, read_frequency_set
from shoal.utility import loss
from tests.builders.conformance import SCHEMA, table_of


@pytest.mark.parametrize("at_once", [1, 3, 7, 1000])
def test_sums_in_parts_are_the_same_to_the_last_digit(monkeypatch, at_once):
    rng = np.random.default_rng(at_once)
    with open_engine(EngineSettings()) as engine:
        frequencies = read_frequency_set(engine, engine.read(Source(frame=table_of(200, at_once))), SCHEMA)
    ladders = frequencies.ladders(SCHEMA)
    monkeypatch.setattr(loss, "MAX_ENTRIES_AT_ONCE", at_once)
    for _ in range(20):
        levels = tuple(int(rng.integers(0, ladder.height + 1)) for ladder in ladders)
        recoding = ByLevel(levels, rng.integers(-1, 4, len(frequencies.count)))
        found, whole = (
            loss.loss_sums(frequencies, ladders, recoding),
            loss.LossSums.of(loss.published(frequencies, ladders, recoding)),
        )
        assert (found.rows, found.released, found.groups, found.squares) == (
            whole.rows, whole.released, whole.groups, whole.squares,
        )  # fmt: skip
        assert found.height.tolist() == whole.height.tolist()
        assert found.share.tolist() == whole.share.tolist()
