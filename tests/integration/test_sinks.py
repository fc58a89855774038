"""The one path of a release, to every destination.

Databases and stores, which need a server, have tests of their own.
"""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pyarrow.csv
import pytest

import shoal
from shoal.errors import PlanError, VerificationError
from shoal.io.engines import duckdb as engine_module
from shoal.io.engines.base import Source
from shoal.pipeline import decide
from shoal.pipeline.run import release_to
from shoal.pipeline.sinks import MemorySink, PublishedRelease
from shoal.plan.plan import Plan
from shoal.results.signatures import create_signing_key, read_signing_key, sign, signature_of

TABLE = pa.table({"age": [23, 24, 37, 38] * 3, "illness": ["flu", "gout"] * 6})
COLUMNS = {"age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}}, "illness": {"role": "sensitive"}}
PLAN = {"columns": COLUMNS, "models": ["k-anonymity k=3"], "method": "full-domain"}


def plan_of(folder, **output):
    source = folder / "table.csv"
    pyarrow.csv.write_csv(TABLE, source)
    return Plan.from_dict({**PLAN, "source": {"path": str(source)}, "output": output or {"path": "-"}}, folder)


class RecordingSink(MemorySink):
    """Sink that notes which of its methods are called."""

    def __init__(self, like, calls):
        super().__init__(like)
        self.calls = calls

    def __enter__(self):
        self.calls.append("enter")
        return super().__enter__()

    def __exit__(self, kind, error, trace):
        self.calls.append("exit")
        super().__exit__(kind, error, trace)

    def stage(self, engine, decided):
        self.calls.append("stage")
        super().stage(engine, decided)

    def read_back(self, engine, decided):
        self.calls.append("read back")
        return super().read_back(engine, decided)

    def publish(self, documents) -> PublishedRelease:
        self.calls.append("publish")
        return super().publish(documents)


def record_verification(monkeypatch, calls, *, fails=False):
    usual = decide.verify

    def verify(*args):
        calls.append("verify")
        if fails:
            raise VerificationError("verification.needs-original")
        return usual(*args)

    monkeypatch.setattr(decide, "verify", verify)


def test_a_table_is_staged_then_verified_then_published(monkeypatch):
    calls = []
    record_verification(monkeypatch, calls)
    made = release_to(RecordingSink(TABLE, calls), Source(frame=TABLE), Plan.from_dict(PLAN))
    assert calls == ["enter", "stage", "read back", "verify", "publish", "exit"]
    assert made.table.num_rows == TABLE.num_rows


def test_a_table_that_is_not_verified_is_not_published(monkeypatch):
    calls = []
    record_verification(monkeypatch, calls, fails=True)
    with pytest.raises(VerificationError):
        release_to(RecordingSink(TABLE, calls), Source(frame=TABLE), Plan.from_dict(PLAN))
    assert calls == ["enter", "stage", "read back", "verify", "exit"]


@pytest.mark.parametrize("output", [{"path": "released.csv"}, {"path": "released.parquet"}, {"path": "-"}])
def test_nothing_reaches_its_destination_without_verification(tmp_path, monkeypatch, capfdbinary, output):
    plan = plan_of(tmp_path, **output)
    before = sorted(tmp_path.iterdir())
    record_verification(monkeypatch, [], fails=True)
    with pytest.raises(VerificationError):
        shoal.release(plan, progress=False)
    assert sorted(tmp_path.iterdir()) == before
    assert capfdbinary.readouterr().out == b""


def test_every_destination_gets_the_same_rows_and_figures(tmp_path, capfdbinary):
    file = shoal.release(plan_of(tmp_path, path="released.csv"))
    capfdbinary.readouterr()
    standard = shoal.release(plan_of(tmp_path), progress=False)
    assert capfdbinary.readouterr().out == (tmp_path / "released.csv").read_bytes()
    memory = shoal.anonymize(TABLE, PLAN)
    figures = [
        {key: value for key, value in made.figures.items() if key not in ("output", "plan", "source", "reading")}
        for made in (file, standard, memory)
    ]
    assert figures[0] == figures[1] == figures[2]
    assert "exposure" in figures[0]


@pytest.mark.parametrize(
    ("output", "code"),
    [
        ({"path": "-"}, "output.standard-output-extras"),
        ({"path": "s3://bucket/name.csv"}, "output.store-extras"),
        ({"database": "env:NOWHERE", "table": "visits"}, "output.database-extras"),
    ],
)
def test_only_a_file_has_an_internal_report(tmp_path, output, code):
    plan = plan_of(tmp_path, **output)
    with pytest.raises(PlanError) as caught:
        shoal.release(plan, internal_report=True)
    assert caught.value.code == code


def test_each_frame_is_converted_once(monkeypatch):
    pd = pytest.importorskip("pandas")
    frame = TABLE.to_pandas()
    converted = Counter()
    usual = engine_module.frame_to_arrow

    def counting(given):
        if isinstance(given, pd.DataFrame):
            converted[id(given)] += 1
        return usual(given)

    monkeypatch.setattr(engine_module, "frame_to_arrow", counting)
    made = shoal.anonymize(frame, quasi_identifiers="age", sensitive="illness", k=3, method="full-domain")
    assert converted == {id(frame): 1, id(made.table): 1}


@pytest.mark.parametrize("keywords", [{"plan": PLAN}, {"k": 3}])
def test_a_path_instead_of_a_frame_is_refused_with_advice(tmp_path, keywords):
    pyarrow.csv.write_csv(TABLE, tmp_path / "table.csv")
    for given in (tmp_path / "table.csv", str(tmp_path / "table.csv")):
        with pytest.raises(PlanError) as caught:
            shoal.anonymize(given, **keywords)
        assert caught.value.code == "table.not-a-frame"
        assert "shoal.release" in str(caught.value)


def test_saving_over_a_signed_release_removes_the_signature(tmp_path):
    """A signature of the replaced table does not apply to the new one."""
    made = shoal.anonymize(TABLE, PLAN)
    path = made.save(tmp_path / "out").path
    create_signing_key(tmp_path / "key")
    sign(path, "maker", read_signing_key(tmp_path / "key", path))
    assert signature_of(path, "maker").exists()
    made.save(tmp_path / "out", overwrite=True)
    assert not signature_of(path, "maker").exists()
