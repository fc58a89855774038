"""Releases of plans with harmless values."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import shoal

ROWS = 240
# nine of ten have no illness; all of 40 to 49 have one
TABLE = pa.table(
    {
        "age": [str(20 + n % 40) for n in range(ROWS)],
        "place": ["abcd"[n % 4] for n in range(ROWS)],
        "illness": [
            "flu" if 20 <= n % 40 < 30 else None if n % 11 == 0 else "Gout" if n % 17 == 0 else "no"
            for n in range(ROWS)
        ],
    }
)
COLUMNS = {
    "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}},
    "place": {"role": "quasi-identifier"},
    "illness": {"role": "sensitive", "harmless": ["NO"], "missing": "not applicable"},
}
MODELS = ["k-anonymity k=3", {"name": "p-sensitive", "p": 2, "column": "illness"}]


def release(columns=COLUMNS, models=MODELS, method="mondrian", table=TABLE):
    return shoal.anonymize(table, {"columns": columns, "models": models, "method": method})


def groups_of(table):
    groups = {}
    for row in table.to_pylist():
        groups.setdefault((row["age"], row["place"]), []).append(row["illness"])
    return groups.values()


def is_fine(group):
    return bool({"no", None} & set(group)) or len(set(group)) >= 2


@pytest.mark.parametrize("method", ["full-domain", "mondrian", "refine", "mdav", "top-down", "switching", "levels"])
def test_releases_meet_models_with_harmless_values(method):
    given = {"name": "levels", "levels": {"age": 3, "place": 0}} if method == "levels" else method
    made = release(method=given)
    assert all(map(is_fine, groups_of(made.table)))
    assert [model["holds"] for model in made.to_dict()["models"]] == [True, True]
    column = made.certificate.content["plan"]["columns"]["illness"]
    assert column == {"role": "sensitive", "harmless": ["NO"], "missing": "not applicable"}


def test_harmless_values_keep_detail():
    """Groups in which everybody is well need not be merged."""
    harmful = {**COLUMNS, "illness": {"role": "sensitive"}}
    assert release().to_dict()["loss"]["ncp"] < release(harmful).to_dict()["loss"]["ncp"]
    assert any(set(group) <= {"no", None} for group in groups_of(release().table))
    unknown = {**COLUMNS, "illness": {"role": "sensitive", "harmless": ["no"]}}
    assert any(set(group) == {None} for group in groups_of(release(table=only_missing()).table))
    assert not any(set(group) == {None} for group in groups_of(release(unknown, table=only_missing()).table))


def only_missing():
    cells = [None if 0 <= n % 40 < 5 else value for n, value in enumerate(TABLE["illness"].to_pylist())]
    return TABLE.set_column(2, "illness", pa.array(cells, pa.string()))


def test_labels_of_a_level_are_harmless():
    debts = {
        "role": "sensitive",
        "hierarchy": {"intervals": [1000]},
        "levels": 1,
        "harmless": ["0..999"],
    }
    table = TABLE.set_column(2, "illness", pa.array([str(10 * (n % 90)) for n in range(ROWS)]))
    made = release({**COLUMNS, "illness": debts}, table=table)
    assert set(made.table["illness"].to_pylist()) == {"0..999"}
    assert made.certificate.content["plan"]["columns"]["illness"]["harmless"] == ["0..999"]


def test_unreleased_harmless_values_are_not_published():
    """A value that the plan lists and no row has stays with the owner."""
    columns = {**COLUMNS, "illness": {"role": "sensitive", "harmless": ["no", "syphilis"]}}
    made = release(columns, table=only_missing())
    assert "syphilis" not in json.dumps(made.certificate.content)


def test_the_report_mentions_harmless_values():
    words = "The plan calls some values of <bdi>illness</bdi> harmless"
    assert words in release().report().html
    assert words not in release({**COLUMNS, "illness": {"role": "sensitive"}}).report().html


def test_people_and_harmless_values():
    """A person with one harmful value has no harmless one."""
    people = pa.array([f"p{n // 2}" for n in range(ROWS)])
    table = TABLE.append_column("who", people)
    made = release({**COLUMNS, "who": {"role": "person"}}, table=table)
    assert all(model["counts"] == "people" and model["holds"] for model in made.to_dict()["models"])
