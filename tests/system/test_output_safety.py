"""Output paths: existing files, inputs, concurrent runs and recovery.

Files that a release may replace, inputs that it must not replace, other runs on the same output, and interrupted moves.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from shoal.errors import OutputError, PlanError
from shoal.io import publish as io_publish
from shoal.io.publish import (
    certificate_of,
    check_inputs,
    check_output,
    publish,
    recoding_of,
    release_paths,
    staging,
    staging_of,
)
from shoal.pipeline.run import release
from shoal.plan.plan import Plan
from shoal.runtime import signals
from tests.builders.errors import has_code
from tests.builders.publishing import assert_whole, names, write_ages_plan

WHICH = range(4)  # table, certificate, report, recoding


def identity(path: Path) -> tuple[int, int, int]:
    """Return properties that identify an unchanged file.

    The access time is not among them: reading a link changes it.
    """
    found = os.lstat(path)
    return found.st_ino, found.st_mode, found.st_mtime_ns


# -- existing files -----------------------------------------------------------------------------------


@pytest.mark.parametrize("which", WHICH)
@pytest.mark.parametrize("kind", ["dangling", "link", "fifo", "socket", "device"])
def test_only_regular_files_are_replaced(tmp_path: Path, which: int, kind: str) -> None:
    plan = write_ages_plan(tmp_path)
    path = release_paths(tmp_path / "released.csv")[which]
    if kind == "dangling":
        path.symlink_to(tmp_path / "nowhere")
    elif kind == "link":
        path.symlink_to(tmp_path / "source.csv")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as opened:
            opened.bind(str(path))
    else:
        path.symlink_to("/dev/null")
    before, found = identity(path), names(tmp_path)
    with pytest.raises(OutputError, match=r"symbolic link|no regular file"):
        release(plan, overwrite=True)
    assert identity(path) == before
    assert names(tmp_path) == found


@pytest.mark.parametrize("which", WHICH)
def test_files_created_during_the_run_are_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: int
) -> None:
    """Without overwrite, also files made while the release ran stay."""
    from shoal.pipeline import decide

    plan, path = write_ages_plan(tmp_path), release_paths(tmp_path / "released.csv")[which]
    made = decide.verify

    def verify(*given: Any, **options: Any) -> Any:
        path.write_text("mine")
        return made(*given, **options)

    monkeypatch.setattr(decide, "verify", verify)
    with pytest.raises(OutputError, match="exists"):
        release(plan)
    assert path.read_text() == "mine"
    assert names(tmp_path) == sorted(["plan.toml", "source.csv", path.name])


def test_saved_recoding_is_removed_with_its_release(tmp_path: Path) -> None:
    """A release without a recoding removes that of the replaced release."""
    release(write_ages_plan(tmp_path), save_recoding=True)
    assert recoding_of(tmp_path / "released.csv").exists()
    release(write_ages_plan(tmp_path, level=2), overwrite=True)
    assert not recoding_of(tmp_path / "released.csv").exists()


def test_reused_recoding_is_not_removed(tmp_path: Path) -> None:
    release(write_ages_plan(tmp_path), save_recoding=True)
    recoding = recoding_of(tmp_path / "released.csv")
    before = recoding.read_bytes()
    release(write_ages_plan(tmp_path, level=2), overwrite=True, recoding=recoding)
    assert recoding.read_bytes() == before


def test_certificate_of_another_table_is_not_replaced(tmp_path: Path) -> None:
    """The certificate name is shared by tables of different suffixes."""
    release(write_ages_plan(tmp_path))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    plan = write_ages_plan(tmp_path, target="released.parquet", name="other")
    with pytest.raises(OutputError, check=has_code("output.certificate-of-other-table")):
        release(plan, overwrite=True)
    plan.unlink()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    (tmp_path / "released.csv").unlink()  # its certificate has no table now
    release(write_ages_plan(tmp_path, target="released.parquet"), overwrite=True)
    assert json.loads(certificate_of(tmp_path / "released.csv").read_text())["output"]["name"] == "released.parquet"


def test_folders_are_replaced_only_if_they_are_parts(tmp_path: Path) -> None:
    table = tmp_path / "released.parquet"
    table.mkdir()
    (table / "part-0").touch()
    check_output(table, overwrite=True, in_parts=True)
    with pytest.raises(OutputError, match="is a directory"):
        check_output(table, overwrite=True)
    with pytest.raises(OutputError, match="exists"):
        check_output(table, overwrite=False, in_parts=True)
    for other in (table / "notes", table / "part-1"):
        other.mkdir() if other.name == "part-1" else other.touch()
        with pytest.raises(OutputError, check=has_code("output.directory-with-other-files")):
            check_output(table, overwrite=True, in_parts=True)
        other.rmdir() if other.name == "part-1" else other.unlink()
    certificate_of(table).mkdir()
    with pytest.raises(OutputError, match="no regular file"):
        check_output(table, overwrite=True, in_parts=True)


def test_databases_are_replaced_only_with_one_table(tmp_path: Path) -> None:
    """Replace a database only if the release was its only table."""
    path = tmp_path / "released.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE one (x)")
        check_output(path, overwrite=True)
        database.execute("CREATE TABLE two (x)")
    with pytest.raises(OutputError, check=has_code("output.database-with-other-tables", tables=2)):
        check_output(path, overwrite=True)
    path.write_text("not a database")
    with pytest.raises(OutputError, check=has_code("output.not-a-database")):
        check_output(path, overwrite=True)


# -- inputs of the release ---------------------------------------------------------------------------


def test_output_inside_the_source_folder_is_refused(tmp_path: Path) -> None:
    import duckdb

    plan = write_ages_plan(tmp_path, target="source/released.parquet")
    (tmp_path / "source").mkdir()
    duckdb.sql(f"COPY (FROM '{tmp_path}/source.csv') TO '{tmp_path}/source/a.parquet'")
    plan.write_text(plan.read_text().replace('"source.csv"', '"source"'))
    with pytest.raises(OutputError, match="folder of the source"):
        release(plan)
    assert names(tmp_path / "source") == ["a.parquet"]


@pytest.mark.parametrize("which", WHICH)
def test_release_files_must_not_be_the_source(tmp_path: Path, which: int) -> None:
    plan = write_ages_plan(tmp_path)
    path = release_paths(tmp_path / "released.csv")[which]
    (tmp_path / "source.csv").rename(path)
    plan.write_text(plan.read_text().replace('"source.csv"', json.dumps(path.name)))
    before = path.read_bytes()
    with pytest.raises(OutputError, match="source itself"):
        release(plan, overwrite=True)
    assert path.read_bytes() == before


@pytest.mark.parametrize("which", WHICH)
@pytest.mark.parametrize("linked", [False, True])
def test_release_files_must_not_be_plan_files(tmp_path: Path, which: int, linked: bool) -> None:
    """Refuse the plan, a hierarchy and the previous release as output."""
    plan = write_ages_plan(tmp_path)
    path = release_paths(tmp_path / "released.csv")[which]

    def put(file: Path) -> None:
        path.unlink(missing_ok=True)
        os.link(file, path) if linked else file.replace(path)

    put(plan)
    with pytest.raises(OutputError, match="plan or one of its files itself"):
        release(plan if linked else path, overwrite=True)
    plan = write_ages_plan(tmp_path)
    (tmp_path / "ages.csv").write_text("".join(f"{age},{age // 10}*,*\n" for age in range(20, 40)))
    put(tmp_path / "ages.csv")
    named = "ages.csv" if linked else path.name
    plan = write_ages_plan(tmp_path, hierarchy={"csv": named})
    with pytest.raises(OutputError, match="plan or one of its files itself"):
        release(plan, overwrite=True)
    plan = write_ages_plan(tmp_path)
    (tmp_path / "earlier.csv").write_text("age,x\n")
    put(tmp_path / "earlier.csv")
    with pytest.raises(OutputError, match="previous release itself"):
        release(plan, overwrite=True, previous=tmp_path / "earlier.csv" if linked else path)


@pytest.mark.parametrize("name", ["new.sqlite", "new.duckdb"])
def test_check_does_not_create_a_database(tmp_path: Path, name: str) -> None:
    """A missing database is accepted, and not created by the check."""
    check_output(tmp_path / name, overwrite=False)
    assert not list(tmp_path.iterdir())


def test_missing_source_is_not_the_existing_output(tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text("age\n1\n")
    check_inputs(tmp_path / "old.csv", {"source": [tmp_path / "missing.csv"]})


def test_release_files_must_not_be_ledger_or_universe(tmp_path: Path) -> None:
    from shoal.budget.methods.grids import PopulationGrid

    table = tmp_path / "released.csv"
    for which, path in enumerate(release_paths(table)):
        ledger, universe = (path, tmp_path / "u.csv") if which % 2 else (tmp_path / "l", path)
        method = PopulationGrid(k=5, ledger=ledger, levels={"age": 1}, universe=universe)
        assert set(method.files) == {ledger, universe}
        with pytest.raises(OutputError, match="must not be the ledger itself"):
            io_publish.check_inputs(table, {"ledger": method.files})


def test_files_of_a_plan(tmp_path: Path) -> None:
    plan = write_ages_plan(tmp_path, hierarchy={"csv": "ages.csv"})
    (tmp_path / "ages.csv").write_text("".join(f"{age},{age // 10}*,*\n" for age in range(20, 40)))
    assert Plan.read(plan).files == (plan, tmp_path / "ages.csv")


# -- concurrent releases -----------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["released.csv", "released.parquet"])
def test_second_release_to_the_same_output_is_refused(tmp_path: Path, target: str) -> None:
    """The two tables of one name have one certificate, and so one lock."""
    plan = write_ages_plan(tmp_path, target=target)
    with staging(tmp_path / "released.csv") as folder:
        (folder / "table.csv").write_text("at work")
        command = [Path(sys.executable).with_name("shoal"), "release", plan, "--overwrite"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert "is writing a release" in done.stderr
        assert (folder / "table.csv").read_text() == "at work"
        with pytest.raises(OutputError, check=has_code("output.release-at-work")), staging(tmp_path / "released.csv"):
            pass
    release(plan)
    assert names(tmp_path) == sorted(
        ["plan.toml", "source.csv", *(p.name for p in release_paths(tmp_path / target)[:3])]
    )


def test_concurrent_releases_are_complete_or_refused(tmp_path: Path) -> None:
    """Run four releases to one output at once.

    Without --overwrite exactly one is there in the end, and its certificate is about it.
    """
    plan, ended = write_ages_plan(tmp_path), []
    start = threading.Barrier(4)

    def run() -> None:
        start.wait()
        try:
            release(plan)
            ended.append("released")
        except OutputError as error:
            ended.append("exists" if "exists" in str(error) else "at work")

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ended.count("released") == 1
    assert len(ended) == 4
    assert_whole(tmp_path / "released.csv")
    assert [name for name in names(tmp_path) if name.startswith(".")] == []


def test_staging_folder_of_another_user_or_link_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "mine").touch()
    staging_of(tmp_path / "r.csv").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputError, check=has_code("output.folder-not-locked")), staging(tmp_path / "r.csv"):
        pass
    assert names(tmp_path / "elsewhere") == ["mine"]
    staging_of(tmp_path / "s.csv").mkdir()
    own = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: own + 1)
    with pytest.raises(OutputError, match="another user"), staging(tmp_path / "s.csv"):
        pass


# -- order on disk -----------------------------------------------------------------------------------


def test_order_of_syncs_moves_and_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sync files before moves, and moves before the journal is removed."""
    release(write_ages_plan(tmp_path), save_recoding=True)
    events: list[tuple[str, str]] = []
    sync, move, unlink = os.fsync, os.replace, os.unlink

    def path_of(handle: int) -> str:
        return Path(os.readlink(f"/proc/self/fd/{handle}")).name

    monkeypatch.setattr(os, "fsync", lambda handle: (events.append(("sync", path_of(handle))), sync(handle)))
    monkeypatch.setattr(os, "replace", lambda a, b: (events.append(("move", Path(b).name)), move(a, b)))

    def remove(path: Any, **options: Any) -> None:
        events.append(("unlink", Path(path).name))
        unlink(path, **options)

    monkeypatch.setattr(os, "unlink", remove)
    release(write_ages_plan(tmp_path, level=2), overwrite=True, save_recoding=True)
    monkeypatch.undo()
    parent, folder = ("sync", tmp_path.name), ("sync", ".released.shoal")
    staged = [("sync", name) for name in ("table.csv", "0.text", "1.text", "2.text")]
    journal = events.index(("move", "journal"))
    assert {*staged, ("sync", "journal.new"), parent} <= {*events[:journal]}  # the folder's name too
    # from the journal on, the order matters: old files are set aside, the certificate first
    ordered = [
        (kind, "old" if name.startswith("old-") else name)
        for kind, name in events[journal + 1 : events.index(("unlink", "journal")) + 2]
    ]
    assert ordered == [
        folder,
        ("move", "old"), ("move", "old"), ("move", "old"), parent,
        ("move", "released.csv"), parent,
        ("move", "released.report.html"), ("move", "released.recoding"), ("move", "released.certificate.json"), parent,
        ("unlink", "journal"), folder,
    ]  # fmt: skip


def in_parts(folder: Path, version: str) -> Path:
    folder.mkdir()
    for number in range(2):
        (folder / f"part-{number}").write_text(f"{version} {number}")
    return folder


def test_release_in_parts_replaces_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Publish in parts, sync every part and leave no file open."""
    table = in_parts(tmp_path / "r.parquet", "old")
    certificate_of(table).write_text("old")
    open_before, synced = len(os.listdir("/proc/self/fd")), []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.readlink(f"/proc/self/fd/{handle}")))
    with staging(table) as folder:
        certificate = folder / "0.text"
        certificate.write_text("new")
        publish((in_parts(folder / "table", "new"), table), [(certificate, certificate_of(table))])
    assert len(os.listdir("/proc/self/fd")) == open_before
    assert {f"{folder}/table/part-{number}" for number in range(2)} | {f"{folder}/table"} <= {*synced}
    assert [part.read_text() for part in io_publish.parts_of(table)] == ["new 0", "new 1"]
    assert certificate_of(table).read_text() == "new"
    listed = "".join(f"{hashlib.sha256(f'new {n}'.encode()).hexdigest()}  part-{n}\n" for n in range(2))
    assert io_publish.sha256_of(table) == hashlib.sha256(listed.encode()).hexdigest()
    assert io_publish.size_of(table) == 10
    assert io_publish.published[-1] == table


def test_parts_and_single_files_replace_each_other(tmp_path: Path) -> None:
    table = tmp_path / "r.parquet"
    table.write_text("old")
    with staging(table) as folder:
        publish((in_parts(folder / "table", "new"), table), [])
    assert [part.read_text() for part in io_publish.parts_of(table)] == ["new 0", "new 1"]
    with staging(table) as folder:
        (folder / "table").write_text("newer")
        publish((folder / "table", table), [])
    assert table.read_text() == "newer"
    assert names(tmp_path) == [table.name]


def test_certificate_follows_a_table_without_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recovery finishes the move of a certificate without a known digest."""
    table, move = tmp_path / "r.csv", os.replace

    def fail(source: Path, target: Path) -> None:
        if target == certificate_of(table):
            raise OSError(5, "Input/output error")
        move(source, target)

    monkeypatch.setattr(os, "replace", fail)
    with staging(table) as folder:
        (folder / "table.csv").write_text("new")
        (folder / "0.text").write_text("paper")
        with pytest.raises(OutputError, match="by the next release"):
            publish((folder / "table.csv", table), [(folder / "0.text", certificate_of(table))])
    monkeypatch.undo()
    with staging(table):
        pass
    assert (table.read_text(), certificate_of(table).read_text()) == ("new", "paper")


def test_folder_with_a_certificate_name_is_not_replaced(tmp_path: Path) -> None:
    table = tmp_path / "r.csv"
    certificate_of(table).mkdir()
    with staging(table) as folder:
        (folder / "table.csv").write_text("new")
        (folder / "0.text").write_text("new")
        with pytest.raises(OutputError, match="no regular file"):
            publish((folder / "table.csv", table), [(folder / "0.text", certificate_of(table))])
    assert names(tmp_path) == [certificate_of(table).name]


# -- failed moves and later changes -----------------------------------------------------------------


def interrupted_release(folder: Path, *, moved: bool) -> Path:
    """Leave a release killed before its table moved, or after it."""
    table = folder / "r.csv"
    table.write_text("old")
    certificate_of(table).write_text("old paper")
    with staging(table) as staged:
        (staged / "table.csv").write_text("new")
        (staged / "0.text").write_text("new paper")
        journal = io_publish._Journal.of(
            [(staged / "table.csv", table), (staged / "0.text", certificate_of(table))],
            staged,
            io_publish.sha256_of(staged / "table.csv"),
        )
        journal.write(staged)
        os.replace(certificate_of(table), staged / "old-1")
        if moved:
            os.replace(staged / "table.csv", table)
    return table


@pytest.mark.parametrize("moved", [False, True])
def test_journal_is_removed_before_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moved: bool) -> None:
    """Remove the journal first.

    Otherwise a kill in between would leave a journal of moves that cannot be determined any more.
    """
    table, left, clear = interrupted_release(tmp_path, moved=moved), [], io_publish.LockedFolder.clear
    monkeypatch.setattr(
        io_publish.LockedFolder, "clear", lambda locked: (left.append(names(locked.path)), clear(locked))
    )
    with staging(table):
        pass
    assert io_publish.JOURNAL not in left[0]


@pytest.mark.parametrize("moved", [False, True])
def test_newer_certificate_is_not_replaced_in_recovery(tmp_path: Path, moved: bool) -> None:
    table = interrupted_release(tmp_path, moved=moved)
    certificate_of(table).write_text("mine")
    for _ in range(2):
        with pytest.raises(OutputError, check=has_code("output.broken-off-and-changed")), staging(table):
            pass
        assert certificate_of(table).read_text() == "mine"
    certificate_of(table).unlink()
    with staging(table):
        pass
    word = "new" if moved else "old"
    assert (table.read_text(), certificate_of(table).read_text()) == (word, f"{word} paper")


@pytest.mark.parametrize("now", [None, "mine"])
def test_changed_table_gets_no_certificate_in_recovery(tmp_path: Path, now: str | None) -> None:
    table = interrupted_release(tmp_path, moved=True)
    table.unlink()
    if now:
        table.write_text(now)
    with staging(table):
        pass
    assert names(tmp_path) == ([table.name] if now else [])


@pytest.mark.parametrize(
    "journal", [b"", b"{}", b"[1]", b'{"format": "shoal journal 1", "sha256": "", "moves": [["../x", "../../y"]]}']
)
def test_unreadable_journal_moves_nothing(tmp_path: Path, journal: bytes) -> None:
    folder = staging_of(tmp_path / "r.csv")
    folder.mkdir()
    (folder / io_publish.JOURNAL).write_bytes(journal)
    with pytest.raises(OutputError, match="journal cannot be read"), staging(tmp_path / "r.csv"):
        pass
    assert (folder / io_publish.JOURNAL).exists()


def test_certificate_move_is_retried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry a failed move, or leave it to the next release."""
    release(write_ages_plan(tmp_path))
    move, failed = os.replace, []

    def fail(times: int) -> Any:
        def replace(source: Path, target: Path) -> None:
            if Path(target).name == "released.certificate.json" and len(failed) < times:
                failed.append(target)
                raise OSError(5, "Input/output error")
            move(source, target)

        return replace

    plan = write_ages_plan(tmp_path, level=2)
    monkeypatch.setattr(os, "replace", fail(1))
    release(plan, overwrite=True)
    assert_whole(tmp_path / "released.csv")
    assert certificate_of(tmp_path / "released.csv").exists()
    monkeypatch.setattr(os, "replace", fail(3))
    with pytest.raises(OutputError, match=r"Input/output error.*by the next release"):
        release(plan, overwrite=True)
    assert not certificate_of(tmp_path / "released.csv").exists()
    monkeypatch.undo()
    with pytest.raises(OutputError, match="exists"):
        release(plan)  # the next start completes it, though it does nothing else
    assert_whole(tmp_path / "released.csv")
    assert certificate_of(tmp_path / "released.csv").exists()


# -- signals -----------------------------------------------------------------------------------------


def test_deferred_signals_are_handled_at_the_end() -> None:
    got = []
    before = signal.signal(signal.SIGTERM, lambda *_: got.append("answered"))
    try:
        with signals.defer_signals():
            signal.raise_signal(signal.SIGTERM)
            assert got == []
        assert got == ["answered"]
        with contextlib.suppress(ZeroDivisionError), signals.defer_signals():
            signal.raise_signal(signal.SIGTERM)
            raise ZeroDivisionError
        assert got == ["answered"] * 2
    finally:
        signal.signal(signal.SIGTERM, before)


def test_swallowed_signal_stops_publishing(tmp_path: Path) -> None:
    """A signal that code swallowed is handled before files move."""
    table = tmp_path / "r.csv"
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with signals.handle_signals(), staging(table) as folder:
            (folder / "table.csv").write_text("new")
            with contextlib.suppress(signals.Stopped):
                signal.raise_signal(signal.SIGTERM)
            with pytest.raises(signals.Stopped):
                publish((folder / "table.csv", table), [])
        assert signals.received_signal() == signal.SIGTERM
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
        assert names(tmp_path) == []
    finally:
        with signals.handle_signals():  # clears the received signal
            signal.signal(signal.SIGTERM, before)


def test_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals.handle_signals(), signals.defer_signals():
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


SLOW = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever started the tests may have had it ignored, as nohup does
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.pipeline import run as pipeline
def decide(engine, *_):
    engine._connection.execute("SET threads = 1")
    print("ready", flush=True)
    engine._connection.execute("SELECT count(*) FROM range(20000) a, range(1000000) b WHERE a.range * b.range % 7 = 3")
pipeline.decide = decide
sys.argv = ["shoal", "release", sys.argv[1]]
from shoal.cli import main
main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_running_query_is_interrupted(tmp_path: Path, number: int) -> None:
    """Exit with the status of the signal; there is no internal error."""
    plan = write_ages_plan(tmp_path)
    command = [sys.executable, "-c", SLOW, str(plan)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.2)
        process.send_signal(number)
        _, printed = process.communicate(timeout=60)
    assert (process.returncode, printed) == (128 + number, "Error: Interrupted; no release was written.\n")
    assert names(tmp_path) == ["plan.toml", "source.csv"]


def test_pseudonym_key_must_not_be_a_release_file(tmp_path: Path) -> None:
    key = certificate_of(tmp_path / "released.csv")
    key.write_bytes(b"k" * 32)
    key.chmod(0o600)
    plan = write_ages_plan(tmp_path, x={"role": "identifier", "pseudonym": True})
    plan.write_text(plan.read_text() + f"pseudonym_key = {json.dumps(key.name)}\n")
    with pytest.raises((OutputError, PlanError), match="key of the pseudonyms"):
        release(plan, overwrite=True)
    assert key.read_bytes() == b"k" * 32


def test_wrong_suffix_is_refused(tmp_path: Path) -> None:
    """Refuse names of unknown suffixes before any work."""
    with pytest.raises(OutputError, match="end in"):
        check_output(tmp_path / "released.txt", overwrite=True)


# -- other outputs of commands: a drafted plan, pictures, figures -------------------------------------


def write_document(command: str, folder: Path, path: Path) -> None:
    """Run a command that writes one document, overwriting a path."""
    from typer.testing import CliRunner

    from shoal.cli.app import app

    arguments = {
        "plan": ["plan", str(folder / "source.csv"), "--no-rehearse", "-o", str(path)],
        "explain": ["explain", str(folder / "plan.toml"), "-o", str(path)],
        "explore": ["explore", str(folder / "plan.toml"), "--workers", "1", "-o", str(path.with_suffix(""))],
    }[command]
    result = CliRunner().invoke(app, [*arguments, "--overwrite", "--json"])
    if result.exception is not None:
        raise result.exception


DOCUMENTS = [("plan", "paper.toml"), ("explain", "paper.html"), ("explore", "paper.csv"), ("explore", "paper.html")]


@pytest.mark.parametrize(("command", "name"), DOCUMENTS)
@pytest.mark.parametrize("kind", ["dangling", "source", "fifo"])
def test_commands_replace_only_regular_files(tmp_path: Path, command: str, name: str, kind: str) -> None:
    write_ages_plan(tmp_path)
    path = tmp_path / name
    if kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to(tmp_path / ("nowhere" if kind == "dangling" else "source.csv"))
    before, found = identity(path), names(tmp_path)
    with pytest.raises(OutputError, match=r"symbolic link|no regular file"):
        write_document(command, tmp_path, path)
    assert identity(path) == before
    assert names(tmp_path) == found


@pytest.mark.parametrize(
    ("command", "name"), [("plan", "source.csv"), ("explain", "source.csv"), ("explain", "plan.toml"),
                          ("explore", "source.csv")]
)  # fmt: skip
@pytest.mark.parametrize("linked", [False, True])
def test_commands_do_not_replace_their_inputs(tmp_path: Path, command: str, name: str, linked: bool) -> None:
    """Refuse to overwrite the table or plan that the document describes."""
    write_ages_plan(tmp_path)
    before = (tmp_path / name).read_bytes()
    path = tmp_path / name
    if linked:  # another name of the same file
        path = tmp_path / f"other{path.suffix}"
        os.link(tmp_path / name, path)
    with pytest.raises(OutputError, match="must not be"):
        write_document(command, tmp_path, path)
    assert (tmp_path / name).read_bytes() == before


def test_draft_save_does_not_replace_its_table(tmp_path: Path) -> None:
    """The Python interface refuses it as the command does."""
    from shoal.api.functions import draft

    write_ages_plan(tmp_path)
    before = (tmp_path / "source.csv").read_bytes()
    drafted = draft(tmp_path / "source.csv", folder=tmp_path, rehearse=False)
    with pytest.raises(OutputError, match="must not be"):
        drafted.save(tmp_path / "source.csv", overwrite=True)
    assert (tmp_path / "source.csv").read_bytes() == before


def test_text_is_synced_before_it_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write and sync a temporary file before it gets its name."""
    path, done = tmp_path / "paper.html", []
    sync, replace = io_publish._sync, Path.replace
    monkeypatch.setattr(
        io_publish,
        "_sync",
        lambda file: (done.append(("sync", file.read_text() if file.is_file() else "folder")), sync(file)),
    )
    monkeypatch.setattr(Path, "replace", lambda file, to: (done.append(("move", to.name)), replace(file, to)))
    io_publish.write_text_atomic(path, "new")
    assert done == [("sync", "new"), ("move", "paper.html"), ("sync", "folder")]
    assert names(tmp_path) == ["paper.html"]


@pytest.mark.parametrize("fault", [OSError("full"), KeyboardInterrupt()])
def test_failed_write_leaves_the_old_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: BaseException
) -> None:
    path = tmp_path / "paper.html"
    path.write_text("old")

    def fail(path: Path) -> None:
        raise fault

    monkeypatch.setattr(io_publish, "_sync", fail)
    with pytest.raises((OutputError, KeyboardInterrupt)):
        io_publish.write_text_atomic(path, "new")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["paper.html"]
