"""Column names with a carriage return: refused in a CSV, in one line."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tomli_w
from tools.fuzz.harness import call, within

import shoal
from shoal.errors import TableError


def release(folder, name, output):
    pq.write_table(pa.table({name: ["1", "1", "2", "2"], "s": list("xyxy")}), folder / "source.parquet")
    plan = {
        "source": {"path": "source.parquet"},
        "output": {"path": output},
        "columns": {name: {"role": "quasi-identifier"}, "s": {"role": "sensitive"}},
        "models": [{"name": "k-anonymity", "k": 2}],
    }
    (folder / "plan.toml").write_text(tomli_w.dumps(plan), newline="")
    with within(folder):
        return call(["release", "plan.toml"])


@pytest.mark.parametrize("name", ["a\rb", "a\r\nb", "\r"])
def test_release_as_csv_is_refused(tmp_path, name):
    done = release(tmp_path, name, "released.csv")
    assert done.status == 2
    assert done.err.count("\n") == 1
    assert "may contain a carriage return; that of column 1 of 2 does" in done.err
    assert not (tmp_path / "released.csv").exists()


@pytest.mark.parametrize(("name", "output"), [("a\rb", "released.parquet"), ("a\nb", "released.csv")])
def test_other_formats_and_other_line_ends_are_written(tmp_path, name, output):
    assert release(tmp_path, name, output).status == 0
    answer = shoal.check(tmp_path / output, ["k-anonymity k=2"], quasi_identifiers=[name], sensitive=["s"])
    assert (answer.rows, answer.holds) == (4, True)


@pytest.mark.parametrize("name", ["a\rb", "a\r\nb"])
def test_source_with_such_a_name_is_refused(tmp_path, name):
    path = tmp_path / "source.csv"
    path.write_bytes(f'"{name}",s\n1,x\n1,y\n'.encode())
    with pytest.raises(TableError, match="carriage return"):
        shoal.check(path, ["k-anonymity k=2"], quasi_identifiers=["s"])


def test_lines_that_end_with_carriage_returns_are_read(tmp_path):
    path = tmp_path / "source.csv"
    path.write_bytes(b"a,s\r1,x\r1,y\r")
    assert shoal.check(path, ["k-anonymity k=2"], quasi_identifiers=["a"]).rows == 2
