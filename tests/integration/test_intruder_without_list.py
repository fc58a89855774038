"""The promise of partial knowledge and loose stars names its intruder."""

from __future__ import annotations

import pyarrow as pa
import pytest

import shoal

TABLE = pa.table({"a": ["x", "x", "y", "y"] * 5, "b": ["1", "2", "1", "2"] * 5})
COLUMNS = {"a": "quasi-identifier", "b": "quasi-identifier"}
WEAKER = {
    "known": {"columns": COLUMNS, "models": ["k-anonymity k=2 known=1 reading=loose"], "method": "hidden-cells"},
    "keys": {
        "columns": COLUMNS,
        "keys": [{"columns": ["a", "b"], "k": 2, "reading": "loose"}],
        "method": "hidden-cells",
    },
    "loose": {
        "columns": COLUMNS,
        "models": ["k-anonymity k=2"],
        "method": {"name": "local-suppression", "missing": "loose"},
    },
}


@pytest.mark.parametrize("name", WEAKER)
def test_weaker_promises_name_the_intruder(name):
    release = shoal.anonymize(TABLE, WEAKER[name])
    assert release.figures["intruder"].endswith("has no list of the others")
    (warning,) = [found for found in release.warnings if found["code"] == "no-list"]
    assert "list of everybody" in warning["text"]
    assert warning["text"] in release.report().html
    assert warning["text"] in str(release.summary().sentences)


def test_strict_promises_need_no_such_limit():
    release = shoal.anonymize(TABLE, {"columns": COLUMNS, "models": ["k-anonymity k=2"], "method": "mondrian"})
    assert "intruder" not in release.figures
    assert not [found for found in release.warnings if found["code"] == "no-list"]
