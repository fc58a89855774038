"""Real tables: unedited drafts give anonymous and useful releases."""

from __future__ import annotations

import pytest
from benchmarks.real_tables import PAGE, TABLES, run

SHORT = ("compas.csv", "nafld2.csv")
"""A wide table and one of several rows per person; `python -m benchmarks.real_tables` runs all of them."""


@pytest.mark.parametrize("real", [real for real in TABLES if real.file in SHORT], ids=lambda real: real.file)
def test_drafted_release_is_anonymous_and_useful(real, tmp_path, shared_data):
    """Release with the drafted plan as it is.

    No column that names people is published, and the loss is at most one half.
    """
    if not (shared_data / "real" / real.file).exists():
        pytest.skip(f"there is no real/{real.file} where SHOAL_DATA points")
    result = run(real, tmp_path, shared_data, attack=False)
    assert not {*real.names_people} & {*result.header}
    assert all(model["holds"] for model in result.release["models"])
    partial_knowledge = any("known" in model["parameters"] for model in result.release["models"])
    assert partial_knowledge or result.release["smallest_group"] >= 5
    assert result.release["loss"]["ncp"] <= 0.5
    roles = {column["name"]: column["role"] for column in result.plan["columns"]}
    assert all(roles[name] in ("identifier", "person", "drop") for name in real.names_people)
    dates = [column["name"] for column in result.plan["columns"] if column["kind"] == "date"]
    assert all(roles[name] in ("quasi-identifier", "drop", "identifier") for name in dates)
    assert "one-group" not in [warning["code"] for warning in result.release["warnings"]]


def test_page_has_every_table():
    text = PAGE.read_text(encoding="utf-8")
    assert all(f"## {real.file}" in text for real in TABLES)
