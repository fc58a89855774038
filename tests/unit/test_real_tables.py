"""Real tables: plan and release with nothing edited name nobody and still say something."""

from __future__ import annotations

import pytest
from benchmarks.real_tables import PAGE, TABLES, run

SHORT = ("compas.csv", "nafld2.csv")
"""A wide table and one of several rows per person; `python -m benchmarks.real_tables` runs all of them."""


@pytest.mark.parametrize("real", [real for real in TABLES if real.file in SHORT], ids=lambda real: real.file)
def test_a_release_as_drafted_names_nobody_and_says_something(real, tmp_path, shared_data):
    if not (shared_data / "real" / real.file).exists():
        pytest.skip(f"there is no real/{real.file} where SHOAL_DATA points")
    result = run(real, tmp_path, shared_data, attack=False)
    assert not {*real.names_people} & {*result.header}
    assert all(model["holds"] for model in result.release["models"])
    few_facts = any("known" in model["parameters"] for model in result.release["models"])
    assert few_facts or result.release["smallest_group"] >= 5
    assert result.release["loss"]["ncp"] <= 0.5
    roles = {column["name"]: column["role"] for column in result.plan["columns"]}
    assert all(roles[name] in ("identifier", "person", "drop") for name in real.names_people)
    dates = [column["name"] for column in result.plan["columns"] if column["kind"] == "date"]
    assert all(roles[name] in ("quasi-identifier", "drop", "identifier") for name in dates)
    assert "one-group" not in [warning["code"] for warning in result.release["warnings"]]


def test_the_page_tells_of_every_table():
    told = PAGE.read_text(encoding="utf-8")
    assert all(f"## {real.file}" in told for real in TABLES)
