"""Sensitive texts that pandas and R read as missing raise a warning."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pyarrow as pa
import pytest

import shoal
from shoal.schema.spelling import READ_AS_MISSING

TABLE = pa.table({"age": ["a"] * 4 + ["b"] * 4, "illness": ["flu", "NA", "None", "flu"] * 2, "nan": [1.5] * 8})


def test_the_texts_are_those_of_pandas():
    pd = pytest.importorskip("pandas")
    for text in [*READ_AS_MISSING, "flu", "na", "none", "-"]:
        found = pd.read_csv(io.StringIO(f"illness,x\n{text},1\n"))
        assert bool(found["illness"].isna()[0]) == (text in READ_AS_MISSING)


def test_check_warns_by_column_and_count():
    found = shoal.check(TABLE, ["p-sensitive p=3"], quasi_identifiers=["age"], sensitive=["illness", "nan"])
    assert found.models[0].name == "p-sensitive"
    assert found.to_dict()["read_as_missing"] == {"illness": 2}
    (warning,) = found.warnings
    assert warning["code"] == "read-as-missing"
    assert "'illness' (2 texts)" in warning["text"]
    assert "Warning" in str(found)


def test_check_without_such_texts_has_no_warning():
    found = shoal.check(TABLE, ["k-anonymity k=2"], quasi_identifiers=["illness"], sensitive=["age"])
    assert found.warnings == []
    assert "read_as_missing" not in found.to_dict()


def test_release_warns_and_certifies(tmp_path):
    plan = {
        "columns": {"age": {"role": "quasi-identifier"}, "illness": {"role": "sensitive"}, "nan": {"role": "other"}},
        "models": [{"name": "p-sensitive", "p": 3}],
        "method": {"name": "full-domain"},
    }
    made = shoal.anonymize(TABLE, plan)
    assert made.figures["read_as_missing"] == {"illness": 2}
    assert "read-as-missing" in [warning["code"] for warning in made.warnings]
    assert made.to_dict()["read_as_missing"] == {"illness": 2}


def _run(*command):
    return subprocess.run([sys.executable, "-m", "shoal", *command], capture_output=True, text=True, check=False)


def test_texts_declared_as_missing_are_not_counted(tmp_path):
    lines = zip(TABLE["age"].to_pylist(), TABLE["illness"].to_pylist(), strict=True)
    (tmp_path / "table.csv").write_text("\n".join(["age,illness", *map(",".join, lines), ""]))
    command = ["check", str(tmp_path / "table.csv"), "-q", "age", "-s", "illness", "-m", "p-sensitive p=3"]
    found = _run(*command, "--json")
    assert json.loads(found.stdout)["read_as_missing"] == {"illness": 2}
    assert found.returncode == 0
    assert "Warning" in _run(*command).stdout
    declared = _run(*command, "--json", "--missing", "NA", "--missing", "None")
    assert declared.returncode == 1
    assert "read_as_missing" not in json.loads(declared.stdout)
