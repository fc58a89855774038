"""Publishing stopped before each of its steps on the file system.

It leaves the old release or the new one.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer

from shoal.cli import app as edge
from shoal.io import publish as io_publish
from shoal.io.publish import (
    certificate_of,
    publish,
    recoding_of,
    release_paths,
    report_of,
    sha256_of,
    staging,
    staging_of,
)
from tests.builders.processes import in_child
from tests.builders.publishing import names, write_ages_plan

STEPS = ("open", "write", "fsync", "replace", "rename", "unlink", "mkdir", "rmdir")
STOPS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
Files = dict[str, bytes]


@dataclass(frozen=True)
class Case:
    """A release to publish.

    The kind of its table, whether there is an old release, and whether a recoding is saved.
    """

    kind: str
    old: bool
    recoding: bool

    @property
    def name(self) -> str:
        return "released.csv" if self.kind == "csv" else "released.parquet"

    def write(self, folder: Path, version: str, *, recoding: bool = True) -> dict[Path, Path]:
        """Write the files of a release into a folder; return their paths."""
        folder.mkdir(exist_ok=True)
        table = folder / self.name
        if self.kind == "parts":
            table.mkdir()
            for number in range(2):
                (table / f"part-{number}").write_text(f"{version} part {number}")
        else:
            table.write_text(f"{version} table")
        report_of(table).write_text(f"{version} report")
        if recoding:
            recoding_of(table).write_text(f"{version} recoding")
        certificate_of(table).write_text(json.dumps({"output": {"name": self.name, "sha256": sha256_of(table)}}))
        return {path: path for path in release_paths(table) if path.exists()}

    def publish(self, made: Path, target: Path) -> None:
        """Publish the files of a release that are made."""
        table = target / self.name
        with staging(table) as folder:
            others = []
            for path in (report_of(table), recoding_of(table), certificate_of(table)):
                if (made / path.name).exists():
                    shutil.copyfile(made / path.name, folder / f"{len(others)}.text")
                    others.append((folder / f"{len(others)}.text", path))
            staged = folder / f"table{table.suffix}"
            shutil.copytree(made / self.name, staged) if self.kind == "parts" else shutil.copyfile(
                made / self.name, staged
            )
            outdated = [] if self.recoding else [recoding_of(table)]
            publish((staged, table), others, outdated, overwrite=self.old)


CASES = [Case(*case) for case in itertools.product(("csv", "parquet", "parts"), (False, True), (False, True))]


def files(folder: Path) -> Files:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def assert_certificate_matches(table: Path) -> None:
    """Assert that a certificate, if there is one, matches its table."""
    if certificate_of(table).exists():
        assert json.loads(certificate_of(table).read_text())["output"]["sha256"] == sha256_of(table)


def stop_before(step: int, number: int, within: Path | None = None) -> None:
    """Send this process a signal before its n-th file system step.

    If a folder is given, steps elsewhere do not count.
    """
    done = 0

    def counted(function: Callable[..., Any], *given: Any, **options: Any) -> Any:
        nonlocal done
        if within is None or not given or not isinstance(given[0], str | Path) or str(within) in str(given[0]):
            done += 1
            if done == step + 1:
                os.kill(os.getpid(), number)
        return function(*given, **options)

    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given, **options: counted(function, *given, **options)

    for name in STEPS:
        setattr(os, name, wrap(getattr(os, name)))
    fcntl.flock = wrap(fcntl.flock)  # type: ignore[assignment]


def command(action: Callable[[], None]) -> Callable[[], None]:
    """Return an action as the command line runs it."""

    def run() -> None:
        app = typer.Typer()
        app.command()(action)
        edge.make_app = lambda *names: app
        io_publish.published.clear()
        sys.argv = ["shoal", "--"]
        edge.run()

    return run


@dataclass
class Trial:
    """A folder for one stop, and the expected releases."""

    case: Case
    folder: Path
    made: Path
    before: Files
    after: Files

    @property
    def table(self) -> Path:
        return self.folder / self.case.name

    def reset(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        if self.case.old:
            self.case.write(self.folder, "old")

    def run(self, step: int, number: int) -> tuple[int, str]:
        def action() -> None:
            stop_before(step, number)
            self.case.publish(self.made, self.folder)

        return in_child(command(action))

    def recover(self) -> None:
        with staging(self.table):
            pass

    def assert_whole(self) -> bool:
        """Return whether the folder has the new release.

        Otherwise it has the old one; there must be nothing else.
        """
        found = files(self.folder)
        assert found in (self.before, self.after)
        assert [name for name in names(self.folder) if name.startswith(".")] == []
        return found == self.after


@pytest.fixture(autouse=True)
def no_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count fsync as a step, without waiting for a disk.

    The order of syncs is tested elsewhere.
    """
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.fixture
def trial(request: pytest.FixtureRequest, tmp_path: Path) -> Trial:
    case = request.param
    case.write(tmp_path / "made", "new", recoding=case.recoding)
    made = Trial(case, tmp_path / "out", tmp_path / "made", {}, files(tmp_path / "made"))
    made.reset()
    made.before = files(made.folder)
    return made


def stops(trial: Trial, number: int) -> Iterator[tuple[int, str]]:
    """Stop before each step in turn, until one release is completed."""
    for step in range(300):
        trial.reset()
        status, printed = trial.run(step, number)
        if status == 0:
            assert printed == ""
            assert trial.assert_whole() == (trial.after != trial.before)
            assert step >= 25
            return
        yield status, printed
    pytest.fail("publishing never came to its end")


@pytest.mark.parametrize("trial", CASES, indirect=True, ids=str)
def test_kill_before_any_step(trial: Trial) -> None:
    """Recovery leaves the old release or the new one."""
    ended = {True: 0, False: 0}
    for status, _ in stops(trial, signal.SIGKILL):
        assert status == -signal.SIGKILL
        assert_certificate_matches(trial.table)
        assert trial.table.exists() or not trial.case.old or trial.case.kind == "parts"
        trial.recover()
        ended[trial.assert_whole()] += 1
    assert min(ended.values()) >= 5


@pytest.mark.parametrize(
    ("trial", "number"),
    [
        (Case("csv", True, True), signal.SIGTERM),
        (Case("csv", False, True), signal.SIGINT),
        (Case("parquet", True, True), signal.SIGINT),
        (Case("parquet", False, True), signal.SIGTERM),
    ],
    indirect=["trial"],
    ids=str,
)
def test_stop_signal_before_any_step(trial: Trial, number: int) -> None:
    """Leave a complete release, and print whether it is the new one."""
    ended = {True: 0, False: 0}
    for status, printed in stops(trial, number):
        assert status == 128 + number
        is_new = trial.assert_whole()
        after, never = "Interrupted after the release was written", "Interrupted; no release was written"
        assert printed.startswith(f"Error: {after if is_new else never}")
        assert printed.count("\n") == 1
        ended[is_new] += 1
    assert min(ended.values()) >= 5


@pytest.mark.parametrize("trial", [Case("csv", True, True)], indirect=True, ids=str)
def test_hangup_is_a_stop_signal(trial: Trial) -> None:
    for status, _ in itertools.islice(stops(trial, signal.SIGHUP), 0, None, 10):
        assert status == 128 + signal.SIGHUP
        trial.assert_whole()


@pytest.mark.parametrize("trial", [Case("parts", True, True)], indirect=True, ids=str)
def test_kill_during_recovery(trial: Trial, tmp_path: Path) -> None:
    seen = 0
    for _ in itertools.islice(stops(trial, signal.SIGKILL), 0, None, 3):
        if not (staging_of(trial.table) / io_publish.JOURNAL).exists():
            continue
        broken = tmp_path / "broken"
        shutil.rmtree(broken, ignore_errors=True)
        shutil.copytree(trial.folder, broken)
        for step in itertools.count():
            shutil.rmtree(trial.folder)
            shutil.copytree(broken, trial.folder)

            def action(step: int = step) -> None:
                stop_before(step, signal.SIGKILL)
                trial.recover()

            status, printed = in_child(action)
            assert_certificate_matches(trial.table)
            if status == 0:
                break
            assert (status, printed) == (-signal.SIGKILL, "")
            trial.recover()
            trial.assert_whole()
            seen += 1
    assert seen > 20


@pytest.mark.parametrize("target", ["released.csv", "released.parquet"])
def test_release_command_stopped_at_every_other_step(tmp_path: Path, target: str) -> None:
    """Stop the release command from the plan to the last file.

    The signals alternate.
    """
    from shoal.pipeline.run import release

    first, second = tmp_path / "first", tmp_path / "second"
    for folder, level in ((first, 1), (second, 2)):
        folder.mkdir()
        release(write_ages_plan(folder, level=level, target=target), save_recoding=True)
        (folder / "plan.toml").unlink()
    before, after = files(first), files(second)
    work = tmp_path / "work"
    plan = write_ages_plan(tmp_path, level=2, target=str(work / target))
    ended = {True: 0, False: 0}
    for step in range(0, 300, 2):
        number = STOPS[step // 2 % 3]
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(first, work)

        def action(step: int = step, number: int = number) -> None:
            sys.argv = ["shoal", "release", str(plan), "--overwrite", "--save-recoding", "--quiet"]
            io_publish.published.clear()
            stop_before(step, number, work)
            edge.run()

        status, printed = in_child(action)
        if status == 0:
            break
        assert_certificate_matches(work / target)
        if number == signal.SIGKILL:
            with staging(work / target):
                pass
        else:
            assert status == 128 + number, printed
        found = _without_plan(files(work))
        assert found in (_without_plan(before), _without_plan(after))
        is_new = found == _without_plan(after)
        if number != signal.SIGKILL:
            assert ("no release was written" in printed) != is_new
        ended[is_new] += 1
    assert _without_plan(files(work)) == _without_plan(after)
    assert min(ended.values()) >= 3


def _without_plan(found: Files) -> Files:
    """Return the files of a release without the plan.

    Certificate and report contain the plan, in which the output has another path here.
    """
    content_without_plan = {}
    for name, content in found.items():
        if name.endswith(".json"):
            certificate = json.loads(content)
            content_without_plan[name] = json.dumps(
                {key: certificate[key] for key in certificate if key != "plan"}
            ).encode()
        elif not name.endswith(".html"):
            content_without_plan[name] = content
        else:
            content_without_plan[name] = b""
    return content_without_plan
