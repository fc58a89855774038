"""Compare two runs of the benchmarks as ratios."""

from __future__ import annotations

import json

import pytest
from benchmarks import __main__ as command
from benchmarks import against, page, record
from benchmarks.measure import show


def run_of(seconds, peak, rows="1,000"):
    table = {
        "kind": "table",
        "title": "Adult",
        "header": ["rows", "tool", "seconds", "peak MB", "groups"],
        "rows": [[rows, "shoal", seconds, peak, 12]],
        "says": "",
    }
    return {
        "release": {"entries": [table, {"kind": "chart"}], "about": "", "seconds": 1.0, "machine": {}, "whole": True}
    }


@pytest.mark.parametrize(
    ("seconds", "peak", "ratios"),
    [(1.0, 100.0, [1.0, 1.0]), (1.2, 100.0, [1.2, 1.0]), (0.5, 120.0, [1.2, 0.5])],
)
def test_times_and_peaks_are_ratios(seconds, peak, ratios):
    found = against.compare(run_of(1.0, 100.0), run_of(seconds, peak))
    assert [one.ratio for one in found] == pytest.approx(ratios)
    assert {one.figure for one in found} == {"seconds", "peak MB"}
    grown = [one for one in found if one.ratio > against.LARGEST_RATIO]
    assert len(grown) == (max(ratios) > 1.15)
    assert ("none grew" in against.format_comparison(found)[0]) == (not grown)


def test_rows_of_equal_text_are_distinguished_by_order():
    run = run_of(1.0, 100.0)
    run["release"]["entries"][0]["rows"].append(["1,000", "shoal", 2.0, 300.0, 7])
    found = against.compare(run, run)
    assert [one.ratio for one in found] == [1.0] * 4
    assert len({(one.row, one.figure) for one in found}) == 4


def test_noise_and_other_rows_are_not_compared():
    assert against.compare(run_of(0.001, 1.0), run_of(0.004, 3.0)) == []
    assert against.compare(run_of(1.0, 100.0), run_of(9.0, 900.0, rows="2,000")) == []


@pytest.mark.parametrize(("seconds", "status"), [(1.1, 0), (1.2, 1)])
def test_command_fails_if_a_figure_grew(monkeypatch, tmp_path, capsys, seconds, status):
    monkeypatch.setattr(page, "load", dict)
    monkeypatch.setattr(page, "write", lambda results: None)
    monkeypatch.setattr(command, "run", lambda name: run_of(seconds, 100.0)["release"])
    # the benchmark's name is that of the earlier run
    (tmp_path / "before.json").write_text(json.dumps({"check": run_of(1.0, 100.0)["release"]}))
    assert command.main("check", "--against", str(tmp_path / "before.json")) == status
    assert "figures" in capsys.readouterr().out


def test_option_against_needs_a_file(capsys):
    assert command.main("--against") == 2
    assert "earlier run" in capsys.readouterr().err


def test_failed_benchmark_does_not_stop_the_others(monkeypatch, capsys):
    """Keep the figures measured before a benchmark failed.

    They are on the page, and the next benchmark runs.
    """
    written = []
    monkeypatch.setattr(page, "load", dict)
    monkeypatch.setattr(page, "write", lambda results: written.append({**results}))
    half = {**run_of(1.0, 100.0)["release"], "whole": False}
    outcomes = {"check": half, "risk": run_of(2.0, 100.0)["release"], "explore": {**half, "entries": []}}
    monkeypatch.setattr(command, "run", outcomes.__getitem__)
    assert command.main("check", "explore", "risk") == 1
    assert written == [{"check": half}, {"check": half, "risk": outcomes["risk"]}]
    assert "check, explore" in capsys.readouterr().err


def test_slow_benchmark_is_stopped_with_partial_results(monkeypatch, tmp_path):
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    (folder / "slow.py").write_text(
        '"""Waits."""\nimport os, time\nopen(os.environ["SHOAL_RESULTS"], "a").write("{}\\n")\ntime.sleep(60)\n'
    )
    (folder / "wrong.py").write_text('"""Fails."""\n1 / 0\n')
    monkeypatch.setattr(command, "HERE", folder)
    slow = command.run("slow", time_limit=3.0)
    assert (slow["entries"], slow["whole"]) == ([{}], False)
    assert slow["seconds"] < 30
    assert command.run("wrong")["whole"] is False


def test_default_run_begins_with_peers_and_ends_in_time(monkeypatch, capsys):
    """Run the comparisons with other tools first by default.

    No benchmark begins after the total time.
    """
    monkeypatch.setattr(page, "load", dict)
    monkeypatch.setattr(page, "write", lambda results: None)
    run = []
    monkeypatch.setattr(command, "run", lambda name: run.append(name) or run_of(1.0, 100.0)["release"])
    assert command.main() == 0
    assert tuple(run[: len(command.RUN_FIRST)]) == command.RUN_FIRST
    assert not {*command.RUN_BY_NAME_ONLY} & {*run}
    assert len(run) > len(command.RUN_FIRST)
    run.clear()
    monkeypatch.setattr(command, "MAX_TOTAL_SECONDS", -1.0)
    assert command.main() == 0
    assert run == []
    assert "peers" in capsys.readouterr().err


def test_every_time_has_a_peak_memory(capsys):
    show("With", ("what", "seconds", "peak MB"), [("a", 1.0, 2.0)])
    assert "Peak memory" not in capsys.readouterr().out
    show("Without", ("what", "seconds"), [("a", 1.0)], "Read it so.")
    report = capsys.readouterr().out
    assert "Read it so. Peak memory of the process that measured this: " in report


def cold_run(seconds, ratio, peak):
    header = ["table", "", "s", "CPU s", "peak MB"]
    rows = [
        ["Adult, 30,162 rows", "shoal", seconds, 1.0, 200.0],
        ["1,000,000 rows", "shoal", 2.0, 3.0, peak],
        ["1,000,000 rows", "DuckDB alone", 1.4, 2.0, 400.0],
        ["1,000,000 rows", "ratio", ratio, "1.5", "1.5"],
    ]
    table = {"kind": "table", "title": "One cold process, from CSV", "header": header, "rows": rows, "says": ""}
    return {"cold": {"entries": [{"kind": "chart", "title": "One cold process"}, table]}}


@pytest.mark.parametrize(
    ("seconds", "ratio", "peak", "met"),
    [
        (0.8, "1.50", 600.0, ["yes", "yes"]),
        (0.81, "1.50", 600.0, ["no", "yes"]),
        (0.8, "1.51", 600.0, ["yes", "no"]),
        (0.8, "1.50", 601.0, ["yes", "no"]),
    ],
)
def test_record_reports_met_goals(seconds, ratio, peak, met):
    rows = record.report(cold_run(seconds, ratio, peak))
    assert [row[-1] for row in rows[4:6]] == met
    assert f"{seconds:.3g} s" in rows[4][5]
    assert f"{peak:.3g} MB" in rows[5][5]


def test_record_reports_missing_figures():
    rows = record.report({})
    assert [row[0] for row in rows] == [str(number) for number in range(1, 12)]
    assert {row[5:] for row in rows} == {("not measured", "")}


def test_record_finds_every_figure_of_the_page():
    """Find every figure of the record on the page.

    A changed title or head of a table must not drop it from the record unnoticed.
    """
    assert [row[0] for row in record.report(page.load()) if row[5] == "not measured"] == []
