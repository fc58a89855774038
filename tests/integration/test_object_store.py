"""Object store on this machine: reading, publishing and interruptions."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import itertools
import json
import os
from pathlib import Path

import pytest
from pyarrow import fs
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app
from shoal.errors import OutputError, PlanError, TableError
from shoal.io.engines.base import Source
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.io.formats import object_store
from shoal.io.formats.object_store import Store
from shoal.plan.plan import Plan
from tests import servers
from tests.builders.errors import has_code

pytestmark = pytest.mark.xdist_group("object-store")
SECRET = "geheim12"
OPENED = object_store._opened
ROWS = "name,age,illness\n" + "".join(f"p{n},{20 + n % 40},{'flu' if n % 3 else 'gout'}\n" for n in range(80))


@pytest.fixture
def buckets(monkeypatch):
    """Two buckets, one with a table; they are folders here."""
    with contextlib.ExitStack() as stack:
        try:
            address, folder = stack.enter_context(servers.object_store("anna", SECRET, "private", "open"))
        except servers.NoServer as reason:
            pytest.skip(str(reason))
        set_environment(monkeypatch, address)
        put("private/people.csv", ROWS.encode())
        yield folder


def set_environment(monkeypatch, address):
    given = {"AWS_ENDPOINT_URL": address, "AWS_ACCESS_KEY_ID": "anna", "AWS_SECRET_ACCESS_KEY": SECRET,
             "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
             "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required"}  # fmt: skip
    for name, value in given.items():
        monkeypatch.setenv(name, value)


def put(name, content):
    with OPENED("s3://x/x")[0].open_output_stream(name, compression=None) as stream:
        stream.write(content)


def plan(k=5, output="s3://open/new/visits.csv", **more):
    return {
        "source": {"path": "s3://private/people.csv"},
        "columns": {
            "name": {"role": "identifier"},
            "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}},
            "illness": {"role": "sensitive"},
        },
        "models": [{"name": "k-anonymity", "k": k}],
        "output": {"path": output, **more},
    }


def objects(folder):
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}


def release_in(folder):
    """Return the certificate of the release in a folder.

    Each object that it names must be as it says.
    """
    certificate = json.loads((folder / "visits.certificate.json").read_text())
    for part in certificate["objects"]:
        content = (folder / part["name"]).read_bytes()
        assert (part["bytes"], part["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())
    return certificate


def test_release_objects_match_the_certificate(buckets):
    """A new release replaces the old one."""
    done = shoal.release(plan())
    certificate = release_in(buckets / "open" / "new")
    table, report = (part["name"] for part in certificate["objects"])
    assert objects(buckets / "open" / "new") == {table, report, "visits.certificate.json"}
    assert certificate == done.certificate.content
    assert done.to_dict()["output"] == f"s3://open/new/{table}"
    assert SECRET not in json.dumps(certificate)
    columns = {"quasi_identifiers": ["age"], "sensitive": ["illness"]}
    assert shoal.check(f"s3://open/new/{table}", ["k-anonymity k=5"], **columns).holds
    with pytest.raises(OutputError, match="has a release at this address"):
        shoal.release(plan())
    shoal.release(plan(overwrite=True))
    assert release_in(buckets / "open" / "new") == certificate
    shoal.release(plan(k=20, overwrite=True, report=False))
    (new,) = (part["name"] for part in release_in(buckets / "open" / "new")["objects"])
    assert objects(buckets / "open" / "new") == {new, "visits.certificate.json"}
    assert new != table


def test_command_prints_addresses_of_objects(buckets, tmp_path):
    (tmp_path / "plan.toml").write_text(Plan.from_dict(plan()).to_toml())
    done = CliRunner().invoke(app, ["release", str(tmp_path / "plan.toml"), "--quiet"], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    table, report = (part["name"] for part in release_in(buckets / "open" / "new")["objects"])
    for line in (f"Table: s3://open/new/{table}", "Certificate: s3://open/new/visits.certificate.json",
                 f"Report: s3://open/new/{report}"):  # fmt: skip
        assert line in done.output


def rows_of(address, **given):
    with DuckDBEngine() as engine:
        return engine.to_arrow(engine.read(Source(Path(address), **given))).to_pylist()


def test_prefix_or_pattern_is_one_table(buckets):
    for name, content in {
        "t/year=2023/a.csv": b"v\n1\n", "t/year=2024/b.csv.gz": gzip.compress(b"v\n2\n"), "t/_SUCCESS": b"",
        "t/.hidden/c.csv": b"w\n3\n",
    }.items():  # fmt: skip
        put(f"private/{name}", content)
    assert rows_of("s3://private/t/") == [{"v": "1", "year": "2023"}, {"v": "2", "year": "2024"}]
    assert rows_of("s3://private/t/year=20*/*.gz") == [{"v": "2", "year": "2024"}]
    assert rows_of("s3://private/t/**/a.csv") == [{"v": "1", "year": "2023"}]
    with pytest.raises(TableError, match="nothing at this address"):
        rows_of("s3://private/t/*.parquet")


class Killed(BaseException):
    """Interruption that no error handling catches, as with a kill."""


class Steps:
    """File system that stops before its n-th step.

    As in a store, an object is there once it is closed.
    """

    def __init__(self, files, stop):
        self.files, self.stop, self.count = files, stop, itertools.count()

    def step(self):
        if next(self.count) == self.stop:
            raise Killed

    def get_file_info(self, selector):
        self.step()
        return self.files.get_file_info(selector)

    def delete_dir(self, name):
        self.step()
        self.files.delete_dir(name)

    def open_input_stream(self, name, compression):
        self.step()
        return self.files.open_input_stream(name, compression=compression)

    @contextlib.contextmanager
    def open_output_stream(self, name, compression):
        self.step()
        buffer = io.BytesIO()
        yield buffer
        self.step()
        with self.files.open_output_stream(name, compression=compression) as stream:
            stream.write(self.written(buffer.getvalue()))

    def written(self, content):
        return content


def use_file_system(monkeypatch, kind, stop=None):
    """Open stores through a file system that counts its steps."""
    monkeypatch.setattr(object_store, "_opened", lambda address: (kind(OPENED(address)[0], stop), OPENED(address)[1]))


def test_interrupted_publishing_leaves_old_or_new_release(buckets, tmp_path, monkeypatch):
    def publish(text, stop):
        (tmp_path / "visits.csv").write_text(text * 10)
        (tmp_path / "visits.report.html").write_text(text)
        use_file_system(monkeypatch, Steps, stop)
        store = Store(Path("s3://open/visits.csv"), OutputError)
        put = store.put([tmp_path / "visits.csv", tmp_path / "visits.report.html"])
        store.seal(json.dumps({"text": text, "objects": put}), put, overwrite=True)

    found = []
    for stop in itertools.count():
        publish("old", None)
        try:
            publish("new", stop)
        except Killed:
            found.append(release_in(buckets / "open")["text"])
            continue
        break
    assert release_in(buckets / "open")["text"] == "new"
    changed = found.index("new")
    assert found == ["old"] * changed + ["new"] * (len(found) - changed)
    assert changed > 8
    assert len(found) > changed


def test_altered_objects_are_no_release(buckets, monkeypatch):
    class Other(Steps):
        def written(self, content):
            return content.replace(b"flu", b"FLU")

    use_file_system(monkeypatch, Other)
    with pytest.raises(OutputError, check=has_code("output.object-differs")):
        shoal.release(plan(report=False))
    assert "new/visits.certificate.json" not in objects(buckets / "open")


def test_object_changed_while_read_is_refused(buckets, monkeypatch):
    class Changing(Steps):
        def open_input_stream(self, name, compression):
            put(name, ROWS.encode() + b"p,20,flu\n")
            return super().open_input_stream(name, compression)

    use_file_system(monkeypatch, Changing)
    with pytest.raises(TableError, check=has_code("files.object-changed")):
        rows_of("s3://private/people.csv")


def test_object_names_cannot_leave_the_folder(tmp_path, monkeypatch):
    class Hostile:
        def get_file_info(self, selector):
            if isinstance(selector, str):
                return fs.FileInfo(selector, type=fs.FileType.Directory)
            return [fs.FileInfo("bucket/t/../../../secret.csv", type=fs.FileType.File)]

    monkeypatch.setattr(object_store, "_opened", lambda address: (Hostile(), "bucket/t"))
    with pytest.raises(TableError, match="leads out of its folder"):
        Store(Path("s3://bucket/t"), TableError).fetch(tmp_path)
    assert list(tmp_path.iterdir()) == []


ADDRESSES = ["s3://anna:geheim@bucket/t.csv", "s3://geheim@bucket/t.csv", "s3://bucket/t.csv?secret_key=geheim",
             "abfs://a:geheim@b/t.csv", "s3://geheim"]  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
def test_keys_in_addresses_are_refused_and_not_printed(address):
    for section in ("source", "output"):
        with pytest.raises(PlanError) as caught:
            Plan.from_dict({**plan(), section: {"path": address}})
        assert "geheim" not in str(caught.value)


def test_rejected_key_is_not_printed(buckets, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "falsch12")
    with pytest.raises(TableError, match="no right") as caught:
        rows_of("s3://private/people.csv")
    assert "falsch12" not in str(caught.value)
    assert os.environ["AWS_ENDPOINT_URL"] not in str(caught.value)


def test_plan_with_an_address_round_trip():
    made = Plan.from_dict(plan())
    assert made.to_dict()["source"]["path"] == "s3://private/people.csv"
    assert Plan.from_toml(made.to_toml(), Path("/elsewhere")) == made
    assert made.to_certificate_dict()["output"]["path"] == "visits.csv"


def test_saved_recoding_needs_a_file(buckets, tmp_path):
    with pytest.raises(PlanError, match="Release to a file for these"):
        shoal.release(plan(), save_recoding=True)
