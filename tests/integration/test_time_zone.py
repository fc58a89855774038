"""The plan's time zone applies, not the machine's; UTC by default."""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.errors import PlanError

ZONES = ("UTC", "Asia/Tokyo", "America/New_York")
LAST_EVENING = [datetime.datetime(2019, 12, 31, 23, 30, second // 2, tzinfo=datetime.UTC) for second in range(4)]
FIRST_NOON = [datetime.datetime(2020, 1, 1, 12, 0, second // 2, tzinfo=datetime.UTC) for second in range(4)]

SCRIPT = """
import sys
import shoal
for zone, kind in (("UTC", "csv"), ("UTC", "parquet"), ("Europe/Vienna", "csv")):
    for unit in ([], ["year"]):
        made = shoal.release({
            "source": {"path": sys.argv[1], "time_zone": zone},
            "columns": {
                "seen": {"role": "quasi-identifier", **({"hierarchy": {"dates": unit}} if unit else {})},
                "note": {"role": "other"},
            },
            "models": [{"name": "k-anonymity", "k": 2}],
            "method": {"name": "levels", "levels": {"seen": len(unit)}},
            "output": {"path": f"{zone[:3]}{len(unit)}{kind[0]}.{kind}"},
        })
"""


def instants(zone: str = "UTC") -> pa.Table:
    seen = pa.array([*LAST_EVENING, *FIRST_NOON], pa.timestamp("us", tz=zone))
    return pa.table({"seen": seen, "note": seen})


def by_year(**source: Any) -> dict[str, Any]:
    return {
        "source": {"path": "unused.csv", **source},
        "columns": {
            "seen": {"role": "quasi-identifier", "hierarchy": {"dates": ["year"]}},
            "note": {"role": "other"},
        },
        "models": [{"name": "k-anonymity", "k": 2}],
        "method": {"name": "levels", "levels": {"seen": 1}},
    }


def test_release_bytes_independent_of_machine_zone(tmp_path: Path) -> None:
    source = tmp_path / "source.parquet"
    pq.write_table(instants("Asia/Tokyo"), source)
    made = {}
    for zone in ZONES:
        folder = tmp_path / zone.replace("/", "-")
        folder.mkdir()
        command = [sys.executable, "-c", SCRIPT, str(source)]
        subprocess.run(command, check=True, cwd=folder, env={**os.environ, "TZ": zone})
        made[zone] = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert len(made["UTC"]) == 18
    assert made["Asia/Tokyo"] == made["UTC"] == made["America/New_York"]
    assert made["UTC"]["UTC1c.csv"].count(b"2019,") == 4
    assert made["UTC"]["Eur1c.csv"].count(b"2020,") == 8
    assert b"2020-01-01 00:30:00+01" in made["UTC"]["Eur0c.csv"]


@pytest.mark.parametrize("kind", [lambda table: table, lambda table: table.to_pandas(), pl.from_arrow])
def test_frame_is_read_in_the_zone_of_the_plan(kind: Any) -> None:
    """The frame's zone is ignored."""
    for zone, years in (("UTC", {"2019": 4, "2020": 4}), ("Europe/Vienna", {"2020": 8})):
        released = shoal.anonymize(kind(instants("Asia/Tokyo")), by_year(time_zone=zone)).table
        assert Counter(map(str, released["seen"])) == years


def test_spark_reads_in_the_zone_of_the_plan(spark: Any) -> None:
    """The session gets its zone back."""
    name = "spark.sql.session.timeZone"
    before = spark.conf.get(name)
    spark.conf.set(name, "Asia/Tokyo")
    try:
        frame = spark.createDataFrame(instants())
        for zone, years in (("UTC", {"2019", "2020"}), ("Europe/Vienna", {"2020"})):
            released = shoal.anonymize(frame, by_year(time_zone=zone)).table
            assert {row["seen"] for row in released.collect()} == years
        assert spark.conf.get(name) == "Asia/Tokyo"
    finally:
        spark.conf.set(name, before)


def test_check_with_a_time_zone() -> None:
    table = instants()
    for zone in (None, "Europe/Vienna"):
        assert shoal.check(table, ["k-anonymity k=2"], quasi_identifiers=["seen"], time_zone=zone).groups == 4
    with pytest.raises(PlanError, match=r"time.zone"):
        shoal.check(table, ["k-anonymity k=2"], quasi_identifiers=["seen"], time_zone="Nowhere/Here")


@pytest.mark.parametrize("name", ["Europe/Wien", "", "../../etc/passwd", "/etc/localtime", "Europe", "UTC\0", 3, None])
def test_invalid_time_zones_are_refused(name: Any) -> None:
    if name is not None:  # None in a document is a key that is not given
        with pytest.raises(PlanError):
            shoal.Plan.from_dict(by_year(time_zone=name))
    with pytest.raises(PlanError, match=r"time.zone"):
        shoal.io.engines.base.Source(time_zone=name)


def test_attack_and_compare_with_a_time_zone() -> None:
    """The zone of the plan is the default.

    In Vienna all instants are of 2020, as in the release; in UTC half of them are not.
    """
    plan = shoal.Plan.from_dict(by_year(time_zone="Europe/Vienna"))
    released = shoal.anonymize(instants(), plan).table
    for zone, same in ((None, True), ("Europe/Vienna", True), ("UTC", False)):
        comparison = shoal.compare(instants(), released, plan, queries=10, time_zone=zone)
        assert (comparison.columns["seen"].variation == 0) == same
        found = shoal.attack(released, plan, original=instants(), time_zone=zone).results
        covered = {one.name: one.people for one in found}["extreme values"]
        assert covered == (8 if same else 4)
    with pytest.raises(PlanError, match=r"time.zone"):
        shoal.compare(instants(), released, plan, time_zone="Nowhere/Here")
    with pytest.raises(PlanError, match=r"time.zone"):
        shoal.assess(released, plan, time_zone="Nowhere/Here")


def test_declared_values_are_read_in_the_given_zone(tmp_path: Path) -> None:
    table = pa.table({"seen": pa.array(LAST_EVENING[:1] * 500, pa.timestamp("us", tz="UTC"))})
    for zone, found in (("UTC", False), ("Europe/Vienna", True)):
        ledger = shoal.budget.Ledger.create(tmp_path / zone[:3], m=1000, k=2)
        questions = shoal.budget.Questions(table, ledger, time_zone=zone)
        counted = questions.count("1/3", {"seen": "2020-01-01 00:30:00"}).values[0]
        assert (counted > 250) == found
    with pytest.raises(PlanError, match=r"time.zone"):
        shoal.budget.Questions(table, ledger, time_zone="Nowhere/Here")


def test_draft_names_its_time_zone(tmp_path: Path) -> None:
    pq.write_table(instants(), tmp_path / "visits.parquet")
    drafted = shoal.draft(tmp_path / "visits.parquet", folder=tmp_path, time_zone="Europe/Vienna", rehearse=False)
    assert 'time_zone = "Europe/Vienna"' in drafted.text
    assert drafted.plan.source.time_zone == "Europe/Vienna"
    assert "time_zone" not in shoal.draft(tmp_path / "visits.parquet", folder=tmp_path, rehearse=False).text
