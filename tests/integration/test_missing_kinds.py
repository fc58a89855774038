"""Kinds of missing values that a reader of a file sees stay distinct."""

from __future__ import annotations

import pytest

import shoal
from shoal.io.engines.base import Source
from shoal.io.engines.duckdb import DuckDBEngine

KINDS = {"=NA()": "#N/A", "=#REF!": "#REF!"}


def _survey(path, codes):
    pd, pyreadstat = pytest.importorskip("pandas"), pytest.importorskip("pyreadstat")
    frame = pd.DataFrame({"age": codes, "illness": codes})
    missing = {"age": [-1, -2], "illness": [-1, -2]}
    if path.suffix == ".sav":
        pyreadstat.write_sav(frame, str(path), missing_ranges=missing)
    else:
        frame = frame.astype(object)
        pyreadstat.write_dta(frame, str(path), missing_user_values={"age": ["a", "b"], "illness": ["a", "b"]})
    return path


def _workbook(path, cells, row=0, column=0):
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(str(path)) as book:
        sheet = book.add_worksheet()
        for position, name in enumerate(("name", "age", "illness")):
            sheet.write_string(row, column + position, name)
        for number, cell in enumerate(cells, row + 1):
            sheet.write_string(number, column, "x")
            for position in (column + 1, column + 2):
                if cell in KINDS:
                    sheet.write_formula(number, position, cell, None, KINDS[cell])
                else:
                    sheet.write(number, position, cell)
    return path


def _check(path):
    return shoal.check(path, ["k-anonymity k=2", "p-sensitive p=2"], quasi_identifiers=["age"], sensitive=["illness"])


@pytest.mark.parametrize(
    ("name", "codes"),
    [("table.sav", [-1.0, -2.0, -1.0, -2.0, 5.0, 5.0]), ("table.dta", ["a", "b", "a", "b", 5.0, 5.0])],
)
def test_codes_of_missing_values_are_groups_of_their_own(tmp_path, name, codes):
    found = _check(_survey(tmp_path / name, codes))
    assert found.groups == 3
    assert found.models[0].effective == {"k": 2}
    assert found.models[1].effective == {"p": 0}  # they never help as sensitive values
    unequal = _check(_survey(tmp_path / name, [codes[0], codes[1], *codes[3:]]))
    assert unequal.smallest_group == 1


@pytest.mark.parametrize("name", ["table.sav", "table.dta"])
def test_codes_of_missing_values_are_missing_in_a_source(tmp_path, name):
    codes = [-1.0, -2.0, 5.0] if name.endswith("sav") else ["a", "b", 5.0]
    with DuckDBEngine() as engine:
        table = engine.read(Source(_survey(tmp_path / name, codes)))
        assert engine.rows(table, [0]).column(0).to_pylist() == [None, None, 5]


@pytest.mark.parametrize("origin", [(0, 0), (2, 3)])
def test_cells_of_other_kinds_are_groups_of_their_own(tmp_path, origin):
    errors = _check(_workbook(tmp_path / "errors.xlsx", ["=NA()", "=#REF!", "=NA()", 5, 5], *origin))
    assert (errors.groups, errors.smallest_group) == (3, 1)
    assert errors.models[1].effective == {"p": 0}
    truth = _check(_workbook(tmp_path / "truth.xlsx", [True, 1, 1, 0, 0], *origin))
    assert (truth.groups, truth.smallest_group) == (3, 1)


def test_cells_of_one_kind_keep_their_types(tmp_path):
    path = _workbook(tmp_path / "table.xlsx", [1, 2, 3])
    with DuckDBEngine() as engine:
        table = engine.read(Source(path, with_nan=("age",)))
        assert table.types == ("VARCHAR", "BIGINT", "BIGINT")
