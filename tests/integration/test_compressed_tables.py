"""A compressed table is read as the plain one is."""

from __future__ import annotations

import gzip
import io
import sys

import pyarrow as pa
import pytest

import shoal
from shoal.advice.profile import profile

FAULTS = {
    "duplicate names": "age,score,score\n" + "".join(f"{20 + i % 3},{i % 2},{i % 4}\n" for i in range(24)),
    "latin-1": "age,city\n" + "".join(f"{20 + i % 3},{'Köln' if i % 2 else 'Genève'}\n" for i in range(24)),
    "padded cells": "age,city\n" + "".join(f"{20 + i % 3},{' a ' if i % 2 else ' b '}\n" for i in range(24)),
    "decimal commas": "age;size\n" + "".join(f"{20 + i % 3};{i % 4},5\n" for i in range(24)),
}


def compressed(content, kind):
    if kind == "gz":
        return gzip.compress(content)
    return pa.compress(content, "zstd", asbytes=True)


@pytest.mark.parametrize("kind", ["gz", "zst"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_compressed_table_is_released_as_the_plain_one(tmp_path, fault, kind, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content = FAULTS[fault].encode("latin-1")
    (tmp_path / "plain.csv").write_bytes(content)
    (tmp_path / f"packed.csv.{kind}").write_bytes(compressed(content, kind))
    forms, released = [], []
    for name in ("plain.csv", f"packed.csv.{kind}"):
        forms.append(profile(name).source)
        plan = shoal.draft(name).plan
        assert plan.output is not None
        shoal.release(plan)
        released.append(plan.output.path.read_bytes())
    assert forms[0] == forms[1]
    assert released[0] == released[1]


@pytest.mark.parametrize("fault", FAULTS)
def test_standard_input_is_profiled_as_a_file(tmp_path, fault, monkeypatch):
    content = FAULTS[fault].encode("latin-1")
    (tmp_path / "plain.csv").write_bytes(content)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(content))))
    assert profile("-").source == profile(tmp_path / "plain.csv").source
