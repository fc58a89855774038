"""Module loggers: the steps of a release, and nothing of its data."""

from __future__ import annotations

import logging
import subprocess
import sys

import pyarrow as pa
import pyarrow.csv
import pytest

import shoal
from shoal.errors import InfeasibleError

ROWS, RARE = 1237, 3
MARKER = "zebra"
TABLE = pa.table(
    {
        f"{MARKER}-name": [f"{MARKER}{n}" for n in range(ROWS)],
        f"{MARKER}-age": [f"{MARKER}-old"] * (ROWS - RARE) + [f"{MARKER}-{n}" for n in range(RARE)],
        f"{MARKER}-illness": [f"{MARKER}-flu", f"{MARKER}-gout"] * (ROWS // 2) + [f"{MARKER}-flu"],
    }
)


def plan_of(folder, output, k=5):
    pyarrow.csv.write_csv(TABLE, folder / f"{MARKER}.csv")
    roles = ("identifier", "quasi-identifier", "sensitive")
    return shoal.Plan.from_dict(
        {
            "source": {"path": str(folder / f"{MARKER}.csv")},
            "columns": dict(zip(TABLE.column_names, roles, strict=True)),
            "models": [f"k-anonymity k={k}"],
            "method": {"name": "full-domain", "suppression": 0.5},
            "output": {"path": output},
        },
        folder,
    )


def records_of(caplog):
    return [record for record in caplog.records if record.name.startswith("shoal")]


def assert_nothing_of_the_data(caplog):
    records = records_of(caplog)
    assert records
    for record in records:
        text = record.getMessage() + repr(record.args) + str(record.exc_info or "")
        assert MARKER not in text
        assert str(ROWS) not in text
        assert record.levelno < logging.WARNING  # records above are printed by default


@pytest.mark.parametrize("output", [f"{MARKER}-released.csv", "-"])
def test_a_release_logs_its_steps_and_nothing_of_its_data(tmp_path, caplog, capfdbinary, output):
    with caplog.at_level(logging.DEBUG, "shoal"):
        made = shoal.release(plan_of(tmp_path, output), progress=False)
    assert MARKER.encode() not in capfdbinary.readouterr().err
    assert_nothing_of_the_data(caplog)
    texts = [record.getMessage() for record in records_of(caplog)]
    for step in made.seconds:
        assert f"{step} begins" in texts
        assert any(text.startswith(f"{step} ends after") for text in texts)
    assert "engine duckdb opens" in texts
    assert texts[-1] == f"release published: {made.certificate['released']} rows"


def test_a_frame_is_anonymized_without_its_data_in_the_log(tmp_path, caplog):
    plan = plan_of(tmp_path, "-").with_(source=None, output=None)
    with caplog.at_level(logging.DEBUG, "shoal"):
        shoal.anonymize(TABLE, plan).save(tmp_path / MARKER)
    assert_nothing_of_the_data(caplog)


def test_a_release_that_fails_logs_nothing_of_its_data(tmp_path, caplog):
    plan = plan_of(tmp_path, "released.csv", k=ROWS + 1)
    with caplog.at_level(logging.DEBUG, "shoal"), pytest.raises(InfeasibleError):
        shoal.release(plan, progress=False)
    assert_nothing_of_the_data(caplog)
    assert not any("published" in record.getMessage() for record in records_of(caplog))


def test_loggers_are_silent_by_default():
    code = "import shoal, pyarrow as pa; shoal.anonymize(pa.table({'a': ['x'] * 5}), k=5, quasi_identifiers='a')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == done.stdout == ""
