"""Private folders of runs.

The folder of a live run is never removed, that of a dead run is, and no other folder is touched.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from shoal.runtime import scratch
from shoal.runtime.scratch import LOCK, lock_folder, make_scratch

LIVE = """
import sys
from pathlib import Path
from shoal.runtime.scratch import make_scratch
held = make_scratch(Path(sys.argv[1]), "shoal-")
(held.path / "records").write_text("live")
print(held.path, flush=True)
sys.stdin.read()
"""


def start(folder: Path, *before: str) -> subprocess.Popen[str]:
    command = [*before, sys.executable, "-c", LIVE, str(folder)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def abandon(folder: Path) -> Path:
    """Make a folder as a killed run leaves it."""
    folder.mkdir()
    (folder / LOCK).touch()
    (folder / "records").write_text("left")
    return folder


def test_folder_is_private_and_removed(tmp_path: Path) -> None:
    scratch_folder = make_scratch(tmp_path, "shoal-")
    assert stat.S_IMODE(scratch_folder.path.stat().st_mode) == 0o700
    assert stat.S_IMODE((scratch_folder.path / LOCK).stat().st_mode) == 0o600
    (scratch_folder.path / "deep").mkdir()
    (scratch_folder.path / "deep" / "records").write_text("x")
    scratch_folder.remove()
    scratch_folder.remove()
    assert list(tmp_path.iterdir()) == []


def test_live_run_of_another_pid_namespace_keeps_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process number means nothing here, or another process.

    This is simulated as if every process were gone.
    """

    def gone(*_: Any) -> None:
        raise ProcessLookupError

    with start(tmp_path) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        with monkeypatch.context() as patch:
            patch.setattr(os, "kill", gone)
            make_scratch(tmp_path, "shoal-").remove()
        assert (folder / "records").read_text() == "live"
        process.send_signal(signal.SIGKILL)
    make_scratch(tmp_path, "shoal-").remove()
    assert list(tmp_path.iterdir()) == []


def test_live_run_in_a_container_keeps_its_folder(tmp_path: Path) -> None:
    other = ("unshare", "--pid", "--fork", "--kill-child")
    if shutil.which("unshare") is None or subprocess.run([*other, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine does not allow a new process namespace")
    with start(tmp_path, *other) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        make_scratch(tmp_path, "shoal-").remove()
        assert (folder / "records").read_text() == "live"
        assert process.stdin is not None
        process.stdin.close()


def test_folders_of_dead_runs_are_removed(tmp_path: Path) -> None:
    abandon(tmp_path / f"shoal-{os.getpid()}-abc")
    (tmp_path / "shoal-17-empty").mkdir()  # killed before it had a lock
    make_scratch(tmp_path, "shoal-").remove()
    assert list(tmp_path.iterdir()) == []


def test_other_folders_are_not_touched(tmp_path: Path) -> None:
    (tmp_path / "shoal-2024-backup").mkdir()
    (tmp_path / "shoal-2024-backup" / "mine").touch()
    abandon(tmp_path / "shoal-notes")
    abandon(tmp_path / "other-17-abc")
    (tmp_path / "shoal-17-file").touch()
    before = sorted(tmp_path.rglob("*"))
    make_scratch(tmp_path, "shoal-").remove()
    assert sorted(tmp_path.rglob("*")) == before


def test_symbolic_links_are_not_followed(tmp_path: Path) -> None:
    target, folder = abandon(tmp_path / "target"), tmp_path / "work"
    folder.mkdir()
    (folder / "shoal-17-abc").symlink_to(target)
    make_scratch(folder, "shoal-").remove()
    assert (target / "records").read_text() == "left"
    assert (target / LOCK).exists()
    assert (folder / "shoal-17-abc").is_symlink()
    with pytest.raises(OSError):  # noqa: PT011 - which one depends on the system
        lock_folder(folder / "shoal-17-abc")
    fake = folder / "shoal-17-xyz"
    fake.mkdir()
    (fake / LOCK).symlink_to(target / LOCK)
    with pytest.raises(OSError):  # noqa: PT011
        lock_folder(fake)
    (fake / LOCK).unlink()
    (fake / LOCK).symlink_to(tmp_path / "nothing yet")
    with pytest.raises(OSError):  # noqa: PT011
        lock_folder(fake, make=True)
    assert not (tmp_path / "nothing yet").exists()


def test_folder_of_another_user_is_not_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = abandon(tmp_path / "shoal-17-abc")
    own = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: own + 1)
    with pytest.raises(PermissionError):
        lock_folder(folder)
    scratch._remove_abandoned(folder)
    assert (folder / "records").read_text() == "left"
    monkeypatch.undo()
    scratch._remove_abandoned(folder)
    assert not folder.exists()


def test_folder_removed_before_its_lock_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make, swept = tempfile.mkdtemp, []

    def sweep(**given: Any) -> str:
        made = make(**given)
        if len(swept) < 3:
            swept.append(made)
            scratch._remove_abandoned(Path(made))
        return made

    monkeypatch.setattr(tempfile, "mkdtemp", sweep)
    scratch_folder = make_scratch(tmp_path, "shoal-")
    assert [path.name for path in tmp_path.iterdir()] == [scratch_folder.path.name]
    assert not any(Path(made).exists() for made in swept)
    scratch_folder.remove()


def test_lock_on_a_removed_file_is_void(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, lock = abandon(tmp_path / "shoal-17-abc"), fcntl.flock

    def too_late(handle: int, kind: int) -> None:
        (folder / LOCK).unlink()
        (folder / LOCK).touch()  # of the next run
        lock(handle, kind)

    monkeypatch.setattr(fcntl, "flock", too_late)
    with pytest.raises(FileNotFoundError):
        lock_folder(folder)


def test_no_open_file_after_a_failed_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder is locked already, or was removed."""
    scratch_folder = make_scratch(tmp_path, "shoal-")
    before = len(os.listdir("/proc/self/fd"))
    assert lock_folder(scratch_folder.path) is None
    monkeypatch.setattr(os.path, "samestat", lambda *_: False)
    scratch_folder.unlock()
    with pytest.raises(FileNotFoundError):
        lock_folder(scratch_folder.path)
    assert len(os.listdir("/proc/self/fd")) == before - 1


def test_removal_goes_on_after_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch_folder = make_scratch(tmp_path, "shoal-")
    for name in ("a", "b"):
        (scratch_folder.path / name).mkdir()
        (scratch_folder.path / name / "records").touch()
    remove = os.rmdir

    def refuse(path: Any, **given: Any) -> None:
        if Path(path).name in ("a", "b"):
            raise PermissionError(1, "Operation not permitted")
        remove(path, **given)

    monkeypatch.setattr(os, "rmdir", refuse)
    scratch_folder.clear()
    monkeypatch.undo()
    assert list(scratch_folder.path.rglob("records")) == []
    scratch_folder.remove()
    assert list(tmp_path.iterdir()) == []
