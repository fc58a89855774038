"""Output appears completely or not at all, also after failures."""

from __future__ import annotations

import hashlib
import os
import random
import resource
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shoal.errors import InfeasibleError, OutputError, VerificationError
from shoal.io.publish import check_output, publish, staging, staging_of
from shoal.pipeline.run import release
from tests.builders.errors import has_code
from tests.builders.publishing import assert_whole, names, write_ages_plan


@pytest.fixture
def unwritable(tmp_path: Path) -> Iterator[Path]:
    """Yield a directory in which not even root can create files."""
    if os.geteuid() == 0:
        yield Path("/proc/self")
        return
    folder = tmp_path / "closed"
    folder.mkdir()
    folder.chmod(0o500)
    yield folder
    folder.chmod(0o700)


# -- before the work --------------------------------------------------------------------------------


def test_existing_output_is_not_touched(tmp_path: Path) -> None:
    plan = write_ages_plan(tmp_path)
    (tmp_path / "released.csv").write_text("mine")
    with pytest.raises(OutputError, check=has_code("output.exists")):
        release(plan)
    assert (tmp_path / "released.csv").read_text() == "mine"
    assert names(tmp_path) == ["plan.toml", "released.csv", "source.csv"]
    release(plan, overwrite=True)
    assert_whole(tmp_path / "released.csv")


def test_existing_certificate_is_not_touched(tmp_path: Path) -> None:
    """Tables that differ only in their suffix share a certificate name.

    The certificate of released.parquet has the name of that of released.csv.
    """
    release(write_ages_plan(tmp_path))
    before = (tmp_path / "released.certificate.json").read_bytes()
    with pytest.raises(OutputError, check=has_code("output.exists")):
        release(write_ages_plan(tmp_path, target="released.parquet"))
    assert (tmp_path / "released.certificate.json").read_bytes() == before
    assert not (tmp_path / "released.parquet").exists()


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("released.docx", "must end in .csv, .parquet, .xlsx"),
        ("released", "must end in .csv"),
        ("folder.csv", "is a directory"),
        ("absent/released.csv", "does not exist. Create it"),
        ("source.csv/released.csv", "does not exist"),
        ("n" * 300 + ".csv", "File name too long"),
    ],
)
def test_impossible_output_paths(tmp_path: Path, target: str, message: str) -> None:
    (tmp_path / "folder.csv").mkdir()
    plan = write_ages_plan(tmp_path, target=target)
    before = names(tmp_path)
    with pytest.raises(OutputError, match=message):
        release(plan)
    with pytest.raises(OutputError, match=message):
        check_output(tmp_path / target, overwrite=False)
    assert names(tmp_path) == before


def test_formats_of_output_in_parts(tmp_path: Path) -> None:
    """Spark writes CSV and Parquet only."""
    check_output(tmp_path / "released.parquet", overwrite=False, in_parts=True)
    with pytest.raises(OutputError, match="Spark writes CSV and Parquet, not"):
        check_output(tmp_path / "released.xlsx", overwrite=False, in_parts=True)


def test_unwritable_directory(tmp_path: Path, unwritable: Path) -> None:
    with pytest.raises(OutputError, check=has_code("output.working-directory-not-writable")):
        release(write_ages_plan(tmp_path, target=str(unwritable / "released.csv")))


@pytest.mark.parametrize("refused", [os.W_OK, os.X_OK])
def test_directory_without_permissions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: int) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & refused)
    with pytest.raises(OutputError, check=has_code("output.directory-not-writable")):
        check_output(tmp_path / "released.csv", overwrite=False)


@pytest.mark.parametrize(("letters", "spelled_out"), [(193, True), (194, False)])
def test_staging_folder_name_length(letters: int, spelled_out: bool) -> None:
    """The staging folder has a name of at most 200 bytes."""
    folder = staging_of(Path("n" * letters + ".csv"))
    assert (folder.name == f".{'n' * letters}.shoal") == spelled_out
    assert len(folder.name) <= 200
    assert folder != staging_of(Path("n" * (letters + 1) + ".csv"))


def test_output_must_not_be_the_source(tmp_path: Path) -> None:
    plan = write_ages_plan(tmp_path, target="source.csv")
    before = (tmp_path / "source.csv").read_bytes()
    with pytest.raises(OutputError, match="source itself"):
        release(plan, overwrite=True)
    assert (tmp_path / "source.csv").read_bytes() == before


# -- during a run -----------------------------------------------------------------------------------


def test_only_the_release_remains(tmp_path: Path) -> None:
    release(write_ages_plan(tmp_path))
    written = ["released.certificate.json", "released.csv", "released.report.html"]
    assert names(tmp_path) == ["plan.toml", *written, "source.csv"]
    assert_whole(tmp_path / "released.csv")


def test_same_plan_gives_same_bytes(tmp_path: Path) -> None:
    plan = write_ages_plan(tmp_path)
    release(plan)
    first = [(tmp_path / name).read_bytes() for name in ("released.csv", "released.certificate.json")]
    release(plan, overwrite=True)
    assert [(tmp_path / name).read_bytes() for name in ("released.csv", "released.certificate.json")] == first


def test_staging_is_private_and_removed(tmp_path: Path) -> None:
    with staging(tmp_path / "r[1].csv") as folder:
        assert folder.parent == tmp_path
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (folder / "x").write_text("records")
    assert names(tmp_path) == []
    with pytest.raises(RuntimeError), staging(tmp_path / "r.csv"):
        raise RuntimeError
    assert names(tmp_path) == []


@pytest.mark.parametrize("name", ["released.csv", "r[1]*.csv", "😀" * 40 + ".csv", "😀" * 60 + ".csv"])
def test_next_run_removes_files_of_a_killed_run(tmp_path: Path, name: str) -> None:
    left = staging_of(tmp_path / name)
    (left / "table.csv").mkdir(parents=True)
    (left / "table.csv" / "part-0").write_text("records")
    (left / "link").symlink_to(tmp_path)
    (tmp_path / ".notes.shoal").mkdir()
    with staging(tmp_path / name) as folder:
        assert folder == left
        assert names(folder) == [".lock"]
    assert names(tmp_path) == [".notes.shoal"]


@pytest.mark.parametrize("old", [True, False])
@pytest.mark.parametrize("error", [InfeasibleError, VerificationError, RuntimeError, KeyboardInterrupt])
def test_failed_run_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException], old: bool
) -> None:
    from shoal.pipeline import decide

    plan = write_ages_plan(tmp_path)
    if old:
        release(plan)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(decide, "verify", fail)
    with pytest.raises(error):
        release(plan, overwrite=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_failed_move_leaves_the_old_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, certificate = tmp_path / "r.csv", tmp_path / "r.certificate.json"
    table.write_text("old")
    certificate.write_text("old")
    new = tmp_path / "new"
    new.mkdir()
    (new / "table.csv").write_text("new")
    (new / "certificate.json").write_text("new")
    move = os.replace

    def refuse(source: Path, target: Path) -> None:
        if target == table:
            raise PermissionError(1, "Operation not permitted")
        move(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OutputError, match="Operation not permitted"):
        publish((new / "table.csv", table), [(new / "certificate.json", certificate)])
    assert (table.read_text(), certificate.read_text()) == ("old", "old")


RELEASE_FOREVER = """
import sys
from shoal.pipeline.run import release
release(sys.argv[1], overwrite=True)
print("ready", flush=True)
while True:
    for plan in sys.argv[1:]:
        release(plan, overwrite=True)
"""


def test_sigkill_at_random_moments(tmp_path: Path) -> None:
    plans = [str(write_ages_plan(tmp_path, level=level, name=f"plan{level}")) for level in (1, 2)]
    moments = random.Random(4)
    for _ in range(4):
        with subprocess.Popen([sys.executable, "-c", RELEASE_FOREVER, *plans], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            time.sleep(moments.uniform(0.01, 0.3))
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL
        assert_whole(tmp_path / "released.csv")
    release(plans[0], overwrite=True)
    assert [name for name in names(tmp_path) if "shoal" in name] == []
    assert_whole(tmp_path / "released.csv")
    assert (tmp_path / "released.certificate.json").exists()


# -- full disks ------------------------------------------------------------------------------------


def run(plan: Path, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [Path(sys.executable).with_name("shoal"), "release", plan, "--overwrite"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **options)


@pytest.mark.parametrize("target", ["released.csv", "released.parquet"])
def test_file_size_limit(tmp_path: Path, target: str) -> None:
    release(write_ages_plan(tmp_path, rows=40, target=target))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.name != "source.csv"}
    plan = write_ages_plan(tmp_path, rows=20_000, target=target)
    if target.endswith("parquet"):  # values that do not compress into a few bytes
        lines = "".join(
            f"{20 + number % 20},{hashlib.sha256(str(number).encode()).hexdigest()}\n" for number in range(20_000)
        )
        (tmp_path / "source.csv").write_text("age,x\n" + lines)
    limit = 50_000
    done = run(plan, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    assert done.returncode == 2
    assert done.stderr.startswith("Error: The release cannot be written")
    assert done.stderr.count("\n") == 1
    assert "File too large" in done.stderr
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.name != "source.csv"} == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small file system")
@pytest.mark.parametrize("target", ["released.csv", "released.parquet"])
def test_full_disk(tmp_path: Path, target: str) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("this machine does not let us mount a file system")
    try:
        (disk / target).write_text("old")
        plan = write_ages_plan(tmp_path, target=f"disk/{target}")
        lines = "".join(
            f"{20 + number % 20},{hashlib.sha256(str(number).encode()).hexdigest()}\n" for number in range(20_000)
        )
        (tmp_path / "source.csv").write_text("age,x\n" + lines)
        with pytest.raises(OutputError, match="No space left on device"):
            release(plan, overwrite=True)
        assert names(disk) == [target]
        assert (disk / target).read_text() == "old"
    finally:
        subprocess.run(["umount", str(disk)], check=True)
