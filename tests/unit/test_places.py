"""Where a release may go: what stands there, what it is made from, and who else is at work on it."""

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
from tests.unit.test_output import assert_whole, names, write_plan

WHICH = range(4)  # table, certificate, report, recoding


def identity(place: Path) -> tuple[int, int, int]:
    """What tells that a file is the one that it was; to look at a link changes when it was looked at."""
    found = os.lstat(place)
    return found.st_ino, found.st_mode, found.st_mtime_ns


# -- what stands there -------------------------------------------------------------------------------


@pytest.mark.parametrize("which", WHICH)
@pytest.mark.parametrize("kind", ["dangling", "link", "fifo", "socket", "device"])
def test_only_a_regular_file_is_replaced(tmp_path: Path, which: int, kind: str) -> None:
    plan = write_plan(tmp_path)
    place = release_paths(tmp_path / "released.csv")[which]
    if kind == "dangling":
        place.symlink_to(tmp_path / "nowhere")
    elif kind == "link":
        place.symlink_to(tmp_path / "source.csv")
    elif kind == "fifo":
        os.mkfifo(place)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as opened:
            opened.bind(str(place))
    else:
        place.symlink_to("/dev/null")
    before, found = identity(place), names(tmp_path)
    with pytest.raises(OutputError, match=r"symbolic link|no regular file"):
        release(plan, overwrite=True)
    assert identity(place) == before
    assert names(tmp_path) == found


@pytest.mark.parametrize("which", WHICH)
def test_nothing_is_replaced_unasked_be_it_made_while_the_release_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: int
) -> None:
    from shoal.pipeline import decide

    plan, place = write_plan(tmp_path), release_paths(tmp_path / "released.csv")[which]
    made = decide.verify

    def verify(*given: Any, **options: Any) -> Any:
        place.write_text("mine")
        return made(*given, **options)

    monkeypatch.setattr(decide, "verify", verify)
    with pytest.raises(OutputError, match="exists"):
        release(plan)
    assert place.read_text() == "mine"
    assert names(tmp_path) == sorted(["plan.toml", "source.csv", place.name])


def test_a_recoding_goes_with_the_release_that_it_was_kept_with(tmp_path: Path) -> None:
    release(write_plan(tmp_path), save_recoding=True)
    assert recoding_of(tmp_path / "released.csv").exists()
    release(write_plan(tmp_path, level=2), overwrite=True)
    assert not recoding_of(tmp_path / "released.csv").exists()


def test_a_recoding_that_is_used_stays(tmp_path: Path) -> None:
    release(write_plan(tmp_path), save_recoding=True)
    kept = recoding_of(tmp_path / "released.csv")
    before = kept.read_bytes()
    release(write_plan(tmp_path, level=2), overwrite=True, recoding=kept)
    assert kept.read_bytes() == before


def test_a_certificate_is_not_taken_over_from_a_table_of_another_kind(tmp_path: Path) -> None:
    release(write_plan(tmp_path))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    plan = write_plan(tmp_path, target="released.parquet", name="other")
    with pytest.raises(OutputError, match="about another table"):
        release(plan, overwrite=True)
    plan.unlink()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    (tmp_path / "released.csv").unlink()  # its certificate is about nothing now
    release(write_plan(tmp_path, target="released.parquet"), overwrite=True)
    assert json.loads(certificate_of(tmp_path / "released.csv").read_text())["output"]["name"] == "released.parquet"


def test_only_the_parts_of_a_release_are_replaced_as_a_folder(tmp_path: Path) -> None:
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
        with pytest.raises(OutputError, match="holds other files"):
            check_output(table, overwrite=True, in_parts=True)
        other.rmdir() if other.name == "part-1" else other.unlink()
    certificate_of(table).mkdir()
    with pytest.raises(OutputError, match="no regular file"):
        check_output(table, overwrite=True, in_parts=True)


def test_a_database_is_replaced_where_the_release_was_all_that_it_held(tmp_path: Path) -> None:
    path = tmp_path / "released.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE one (x)")
        check_output(path, overwrite=True)
        database.execute("CREATE TABLE two (x)")
    with pytest.raises(OutputError, match="holds 2 tables"):
        check_output(path, overwrite=True)
    path.write_text("no database")
    with pytest.raises(OutputError, match="no database that can be looked into"):
        check_output(path, overwrite=True)


# -- what it is made from ----------------------------------------------------------------------------


def test_no_output_lies_in_the_folder_of_the_source(tmp_path: Path) -> None:
    import duckdb

    plan = write_plan(tmp_path, target="source/released.parquet")
    (tmp_path / "source").mkdir()
    duckdb.sql(f"COPY (FROM '{tmp_path}/source.csv') TO '{tmp_path}/source/a.parquet'")
    plan.write_text(plan.read_text().replace('"source.csv"', '"source"'))
    with pytest.raises(OutputError, match="folder of the source"):
        release(plan)
    assert names(tmp_path / "source") == ["a.parquet"]


@pytest.mark.parametrize("which", WHICH)
def test_no_file_of_a_release_is_the_source(tmp_path: Path, which: int) -> None:
    plan = write_plan(tmp_path)
    place = release_paths(tmp_path / "released.csv")[which]
    (tmp_path / "source.csv").rename(place)
    plan.write_text(plan.read_text().replace('"source.csv"', json.dumps(place.name)))
    before = place.read_bytes()
    with pytest.raises(OutputError, match="source itself"):
        release(plan, overwrite=True)
    assert place.read_bytes() == before


@pytest.mark.parametrize("which", WHICH)
@pytest.mark.parametrize("linked", [False, True])
def test_no_file_of_a_release_is_the_plan_a_hierarchy_or_the_previous_release(
    tmp_path: Path, which: int, linked: bool
) -> None:
    plan = write_plan(tmp_path)
    place = release_paths(tmp_path / "released.csv")[which]

    def put(file: Path) -> None:
        place.unlink(missing_ok=True)
        os.link(file, place) if linked else file.replace(place)

    put(plan)
    with pytest.raises(OutputError, match="plan or one of its files itself"):
        release(plan if linked else place, overwrite=True)
    plan = write_plan(tmp_path)
    (tmp_path / "ages.csv").write_text("".join(f"{age},{age // 10}*,*\n" for age in range(20, 40)))
    put(tmp_path / "ages.csv")
    named = "ages.csv" if linked else place.name
    plan.write_text(plan.read_text().replace("intervals = [5, 10]", f"csv = {json.dumps(named)}"))
    with pytest.raises(OutputError, match="plan or one of its files itself"):
        release(plan, overwrite=True)
    plan = write_plan(tmp_path)
    (tmp_path / "earlier.csv").write_text("age,x\n")
    put(tmp_path / "earlier.csv")
    with pytest.raises(OutputError, match="previous release itself"):
        release(plan, overwrite=True, previous=tmp_path / "earlier.csv" if linked else place)


@pytest.mark.parametrize("name", ["new.sqlite", "new.duckdb"])
def test_a_database_that_is_not_there_yet_is_no_obstacle_and_is_not_made_by_looking(tmp_path: Path, name: str) -> None:
    check_output(tmp_path / name, overwrite=False)
    assert not list(tmp_path.iterdir())


def test_a_source_that_is_not_there_is_not_what_stands_at_the_place_of_the_output(tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text("age\n1\n")
    check_inputs(tmp_path / "old.csv", {"source": [tmp_path / "missing.csv"]})


def test_no_file_of_a_release_is_the_ledger_or_the_universe(tmp_path: Path) -> None:
    from shoal.budget.methods.grids import PopulationGrid

    table = tmp_path / "released.csv"
    for which, place in enumerate(release_paths(table)):
        ledger, universe = (place, tmp_path / "u.csv") if which % 2 else (tmp_path / "l", place)
        method = PopulationGrid(k=5, ledger=ledger, levels={"age": 1}, universe=universe)
        assert set(method.files) == {ledger, universe}
        with pytest.raises(OutputError, match="must not be the ledger itself"):
            io_publish.check_inputs(table, {"ledger": method.files})


def test_a_plan_knows_the_files_that_it_was_read_from(tmp_path: Path) -> None:
    plan = write_plan(tmp_path)
    (tmp_path / "ages.csv").write_text("".join(f"{age},{age // 10}*,*\n" for age in range(20, 40)))
    plan.write_text(plan.read_text().replace("intervals = [5, 10]", 'csv = "ages.csv"'))
    assert Plan.read(plan).files == (plan, tmp_path / "ages.csv")


# -- who else is at work -----------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["released.csv", "released.parquet"])
def test_a_second_release_to_the_same_output_is_refused(tmp_path: Path, target: str) -> None:
    """The two tables of one name have one certificate, and so one lock."""
    plan = write_plan(tmp_path, target=target)
    with staging(tmp_path / "released.csv") as folder:
        (folder / "table.csv").write_text("at work")
        command = [Path(sys.executable).with_name("shoal"), "release", plan, "--overwrite"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert "is at work" in done.stderr
        assert (folder / "table.csv").read_text() == "at work"
        with pytest.raises(OutputError, match="at work"), staging(tmp_path / "released.csv"):
            pass
    release(plan)
    assert names(tmp_path) == sorted(
        ["plan.toml", "source.csv", *(p.name for p in release_paths(tmp_path / target)[:3])]
    )


def test_of_many_releases_at_once_each_is_whole_or_refused(tmp_path: Path) -> None:
    """Without --overwrite exactly one is there in the end, and its certificate is about it."""
    plan, ended = write_plan(tmp_path), []
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


def test_the_folder_of_another_user_or_a_link_is_not_entered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "mine").touch()
    staging_of(tmp_path / "r.csv").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputError, match="cannot be held"), staging(tmp_path / "r.csv"):
        pass
    assert names(tmp_path / "elsewhere") == ["mine"]
    staging_of(tmp_path / "s.csv").mkdir()
    own = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: own + 1)
    with pytest.raises(OutputError, match="another user"), staging(tmp_path / "s.csv"):
        pass


# -- what is on disk when ----------------------------------------------------------------------------


def test_every_file_is_on_disk_before_the_first_moves_and_every_move_before_the_journal_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release(write_plan(tmp_path), save_recoding=True)
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
    release(write_plan(tmp_path, level=2), overwrite=True, save_recoding=True)
    monkeypatch.undo()
    parent, folder = ("sync", tmp_path.name), ("sync", ".released.shoal")
    staged = [("sync", name) for name in ("table.csv", "0.text", "1.text", "2.text")]
    journal = events.index(("move", "journal"))
    assert {*staged, ("sync", "journal.new"), parent} <= {*events[:journal]}  # the folder's own name too
    # from the journal on, the order is all
    assert events[journal + 1 : events.index(("unlink", "journal")) + 2] == [
        folder,
        ("move", "old-3"), ("move", "old-2"), ("move", "old-1"), parent,
        ("move", "released.csv"), parent,
        ("move", "released.report.html"), ("move", "released.recoding"), ("move", "released.certificate.json"), parent,
        ("unlink", "journal"), folder,
    ]  # fmt: skip


def in_parts(folder: Path, version: str) -> Path:
    folder.mkdir()
    for number in range(2):
        (folder / f"part-{number}").write_text(f"{version} {number}")
    return folder


def test_a_release_in_parts_takes_the_place_of_another_and_leaves_no_file_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_parts_take_the_place_of_one_file_and_one_file_that_of_parts(tmp_path: Path) -> None:
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


def test_papers_follow_a_table_of_which_nobody_told_the_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_folder_in_the_place_of_a_paper_is_not_replaced(tmp_path: Path) -> None:
    table = tmp_path / "r.csv"
    certificate_of(table).mkdir()
    with staging(table) as folder:
        (folder / "table.csv").write_text("new")
        (folder / "0.text").write_text("new")
        with pytest.raises(OutputError, match="no regular file"):
            publish((folder / "table.csv", table), [(folder / "0.text", certificate_of(table))])
    assert names(tmp_path) == [certificate_of(table).name]


# -- moves that fail, and what was made since --------------------------------------------------------


def broken_off(folder: Path, *, moved: bool) -> Path:
    """A release whose run was killed before its table moved, or after it."""
    table = folder / "r.csv"
    table.write_text("old")
    certificate_of(table).write_text("old paper")
    with staging(table) as place:
        (place / "table.csv").write_text("new")
        (place / "0.text").write_text("new paper")
        journal = io_publish._Journal.of(
            [(place / "table.csv", table), (place / "0.text", certificate_of(table))],
            place,
            io_publish.sha256_of(place / "table.csv"),
        )
        journal.write(place)
        os.replace(certificate_of(table), place / "old-1")
        if moved:
            os.replace(place / "table.csv", table)
    return table


@pytest.mark.parametrize("moved", [False, True])
def test_the_journal_goes_before_what_it_tells_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moved: bool) -> None:
    """Else a kill in between would leave a journal of moves that cannot be told any more."""
    table, left, clear = broken_off(tmp_path, moved=moved), [], io_publish.LockedFolder.clear
    monkeypatch.setattr(io_publish.LockedFolder, "clear", lambda held: (left.append(names(held.path)), clear(held)))
    with staging(table):
        pass
    assert io_publish.JOURNAL not in left[0]


@pytest.mark.parametrize("moved", [False, True])
def test_a_paper_that_was_made_since_is_not_replaced(tmp_path: Path, moved: bool) -> None:
    table = broken_off(tmp_path, moved=moved)
    certificate_of(table).write_text("mine")
    for _ in range(2):
        with pytest.raises(OutputError, match=r"broken off.*was made since"), staging(table):
            pass
        assert certificate_of(table).read_text() == "mine"
    certificate_of(table).unlink()
    with staging(table):
        pass
    word = "new" if moved else "old"
    assert (table.read_text(), certificate_of(table).read_text()) == (word, f"{word} paper")


@pytest.mark.parametrize("now", [None, "mine"])
def test_a_table_that_was_changed_since_gets_no_certificate(tmp_path: Path, now: str | None) -> None:
    table = broken_off(tmp_path, moved=True)
    table.unlink()
    if now:
        table.write_text(now)
    with staging(table):
        pass
    assert names(tmp_path) == ([table.name] if now else [])


@pytest.mark.parametrize(
    "journal", [b"", b"{}", b"[1]", b'{"format": "shoal journal 1", "sha256": "", "moves": [["../x", "../../y"]]}']
)
def test_a_journal_that_is_none_moves_nothing(tmp_path: Path, journal: bytes) -> None:
    folder = staging_of(tmp_path / "r.csv")
    folder.mkdir()
    (folder / io_publish.JOURNAL).write_bytes(journal)
    with pytest.raises(OutputError, match="journal cannot be read"), staging(tmp_path / "r.csv"):
        pass
    assert (folder / io_publish.JOURNAL).exists()


def test_a_certificate_that_cannot_be_moved_once_is_moved_at_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release(write_plan(tmp_path))
    move, failed = os.replace, []

    def fail(times: int) -> Any:
        def replace(source: Path, target: Path) -> None:
            if Path(target).name == "released.certificate.json" and len(failed) < times:
                failed.append(target)
                raise OSError(5, "Input/output error")
            move(source, target)

        return replace

    plan = write_plan(tmp_path, level=2)
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
        release(plan)  # the next start makes it whole, though it does no more
    assert_whole(tmp_path / "released.csv")
    assert certificate_of(tmp_path / "released.csv").exists()


# -- requests to stop --------------------------------------------------------------------------------


def test_requests_wait_and_are_answered_in_the_end() -> None:
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


def test_a_request_that_was_swallowed_is_answered_before_anything_moves(tmp_path: Path) -> None:
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
        with signals.handle_signals():  # forget it
            signal.signal(signal.SIGTERM, before)


def test_a_signal_that_is_ignored_stays_ignored() -> None:
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
def test_a_query_at_work_is_stopped_and_that_is_no_fault(tmp_path: Path, number: int) -> None:
    plan = write_plan(tmp_path)
    command = [sys.executable, "-c", SLOW, str(plan)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.2)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (128 + number, "Error: Interrupted; no release was written.\n")
    assert names(tmp_path) == ["plan.toml", "source.csv"]


def test_a_pseudonym_key_is_no_file_of_a_release(tmp_path: Path) -> None:
    key = certificate_of(tmp_path / "released.csv")
    key.write_bytes(b"k" * 32)
    key.chmod(0o600)
    plan = write_plan(tmp_path)
    text = plan.read_text().replace('role = "other"', 'role = "identifier"\npseudonym = true')
    plan.write_text(text + f"pseudonym_key = {json.dumps(key.name)}\n")
    with pytest.raises((OutputError, PlanError), match="key of the pseudonyms"):
        release(plan, overwrite=True)
    assert key.read_bytes() == b"k" * 32


def test_a_name_that_is_no_release_is_refused_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="end in"):
        check_output(tmp_path / "released.txt", overwrite=True)


# -- what commands write beside releases: a drafted plan, pictures, figures ---------------------------


def paper(command: str, folder: Path, place: Path) -> None:
    """Have a command write one paper to a place, overwriting what is there."""
    from typer.testing import CliRunner

    from shoal.cli.app import app

    arguments = {
        "plan": ["plan", str(folder / "source.csv"), "--no-rehearse", "-o", str(place)],
        "explain": ["explain", str(folder / "plan.toml"), "-o", str(place)],
        "explore": ["explore", str(folder / "plan.toml"), "--workers", "1", "-o", str(place.with_suffix(""))],
    }[command]
    result = CliRunner().invoke(app, [*arguments, "--overwrite", "--json"])
    if result.exception is not None:
        raise result.exception


PAPERS = [("plan", "paper.toml"), ("explain", "paper.html"), ("explore", "paper.csv"), ("explore", "paper.html")]


@pytest.mark.parametrize(("command", "name"), PAPERS)
@pytest.mark.parametrize("kind", ["dangling", "source", "fifo"])
def test_a_paper_replaces_regular_files_only(tmp_path: Path, command: str, name: str, kind: str) -> None:
    write_plan(tmp_path)
    place = tmp_path / name
    if kind == "fifo":
        os.mkfifo(place)
    else:
        place.symlink_to(tmp_path / ("nowhere" if kind == "dangling" else "source.csv"))
    before, found = identity(place), names(tmp_path)
    with pytest.raises(OutputError, match=r"symbolic link|no regular file"):
        paper(command, tmp_path, place)
    assert identity(place) == before
    assert names(tmp_path) == found


@pytest.mark.parametrize(
    ("command", "name"), [("plan", "source.csv"), ("explain", "source.csv"), ("explain", "plan.toml"),
                          ("explore", "source.csv")]
)  # fmt: skip
@pytest.mark.parametrize("linked", [False, True])
def test_no_paper_takes_the_place_of_what_it_is_about(tmp_path: Path, command: str, name: str, linked: bool) -> None:
    write_plan(tmp_path)
    kept = (tmp_path / name).read_bytes()
    place = tmp_path / name
    if linked:  # another name of the same file
        place = tmp_path / f"other{place.suffix}"
        os.link(tmp_path / name, place)
    with pytest.raises(OutputError, match="must not be"):
        paper(command, tmp_path, place)
    assert (tmp_path / name).read_bytes() == kept


def test_a_draft_does_not_take_the_place_of_its_table_in_python_either(tmp_path: Path) -> None:
    from shoal.api.functions import draft

    write_plan(tmp_path)
    kept = (tmp_path / "source.csv").read_bytes()
    drafted = draft(tmp_path / "source.csv", folder=tmp_path, rehearse=False)
    with pytest.raises(OutputError, match="must not be"):
        drafted.save(tmp_path / "source.csv", overwrite=True)
    assert (tmp_path / "source.csv").read_bytes() == kept


def test_a_paper_is_whole_on_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, done = tmp_path / "paper.html", []
    sync, replace = io_publish._sync, Path.replace
    monkeypatch.setattr(
        io_publish,
        "_sync",
        lambda path: (done.append(("sync", path.read_text() if path.is_file() else "folder")), sync(path)),
    )
    monkeypatch.setattr(Path, "replace", lambda path, to: (done.append(("move", to.name)), replace(path, to)))
    io_publish.write_text_atomic(place, "new")
    assert done == [("sync", "new"), ("move", "paper.html"), ("sync", "folder")]
    assert names(tmp_path) == ["paper.html"]


@pytest.mark.parametrize("fault", [OSError("full"), KeyboardInterrupt()])
def test_a_paper_that_fails_leaves_the_old_one_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: BaseException
) -> None:
    place = tmp_path / "paper.html"
    place.write_text("old")

    def fail(path: Path) -> None:
        raise fault

    monkeypatch.setattr(io_publish, "_sync", fail)
    with pytest.raises((OutputError, KeyboardInterrupt)):
        io_publish.write_text_atomic(place, "new")
    assert place.read_text() == "old"
    assert names(tmp_path) == ["paper.html"]
