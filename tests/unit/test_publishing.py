"""Publishing, stopped before each of its steps on the file system, leaves the old release or the new one."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import shutil
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

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
from tests.unit.test_output import names, write_plan

STEPS = ("open", "write", "fsync", "replace", "rename", "unlink", "mkdir", "rmdir")
STOPS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
Files = dict[str, bytes]


@dataclass(frozen=True)
class Case:
    """A release that is published: the kind of its table, whether there is an old one, whether a recoding is kept."""

    kind: str
    old: bool
    recoding: bool

    @property
    def name(self) -> str:
        return "released.csv" if self.kind == "csv" else "released.parquet"

    def write(self, folder: Path, version: str, *, recoding: bool = True) -> dict[Path, Path]:
        """Write the files of a release into a folder; to where each belongs."""
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
        return {place: place for place in release_paths(table) if place.exists()}

    def publish(self, made: Path, target: Path) -> None:
        """What a release does once its files are made."""
        table = target / self.name
        with staging(table) as folder:
            others = []
            for place in (report_of(table), recoding_of(table), certificate_of(table)):
                if (made / place.name).exists():
                    shutil.copyfile(made / place.name, folder / f"{len(others)}.text")
                    others.append((folder / f"{len(others)}.text", place))
            staged = folder / f"table{table.suffix}"
            shutil.copytree(made / self.name, staged) if self.kind == "parts" else shutil.copyfile(
                made / self.name, staged
            )
            outdated = [] if self.recoding else [recoding_of(table)]
            publish((staged, table), others, outdated, overwrite=self.old)


CASES = [Case(*case) for case in itertools.product(("csv", "parquet", "parts"), (False, True), (False, True))]


def files(folder: Path) -> Files:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def assert_no_lie(table: Path) -> None:
    """Where a certificate stands, its table stands beside it."""
    if certificate_of(table).exists():
        assert json.loads(certificate_of(table).read_text())["output"]["sha256"] == sha256_of(table)


def in_child(action: Callable[[], object]) -> tuple[int, str]:
    """Run in a fork of this process, with the handlers of a fresh one: how it ended, and what it printed."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # threads of libraries: the child does not use them
        child = os.fork()
    if child == 0:
        _be_a_process(action, write)
    os.close(write)
    with open(read, encoding="utf-8") as pipe:
        printed = pipe.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), printed


def _be_a_process(action: Callable[[], object], write: int) -> NoReturn:
    status = 70
    leave = os._exit
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        sys.stdout = sys.stderr = open(write, "w", encoding="utf-8")  # noqa: SIM115 - the process ends before it
        try:
            action()
            status = 0
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 70
        except BaseException as error:
            print(f"{type(error).__name__}: {error}")
        sys.stdout.flush()
    finally:
        leave(status)


def stop_before(step: int, number: int, within: Path | None = None) -> None:
    """Have this process get a signal before its n-th step on the file system (below a folder)."""
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
    """An action as the command line runs it."""

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
    """A place for one stop, and what the releases must be."""

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
        """Whether it is the new release; it is the old one else, and there is nothing beside."""
        found = files(self.folder)
        assert found in (self.before, self.after)
        assert [name for name in names(self.folder) if name.startswith(".")] == []
        return found == self.after


@pytest.fixture(autouse=True)
def no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step remains a step, but no signal needs to wait for a disk; what is synced when is tested elsewhere."""
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
    """Stop before each step in turn, until one release comes to its end."""
    for step in range(300):
        trial.reset()
        status, said = trial.run(step, number)
        if status == 0:
            assert said == ""
            assert trial.assert_whole() == (trial.after != trial.before)
            assert step >= 25
            return
        yield status, said
    pytest.fail("publishing never came to its end")


@pytest.mark.parametrize("trial", CASES, indirect=True, ids=str)
def test_a_kill_before_any_step_leaves_the_old_release_or_the_new_one(trial: Trial) -> None:
    ended = {True: 0, False: 0}
    for status, _ in stops(trial, signal.SIGKILL):
        assert status == -signal.SIGKILL
        assert_no_lie(trial.table)
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
def test_a_request_to_stop_before_any_step_leaves_a_whole_release_and_says_which(trial: Trial, number: int) -> None:
    ended = {True: 0, False: 0}
    for status, said in stops(trial, number):
        assert status == 128 + number
        is_new = trial.assert_whole()
        after, never = "Interrupted after the release was written", "Interrupted; no release was written"
        assert said.startswith(f"Error: {after if is_new else never}")
        assert said.count("\n") == 1
        ended[is_new] += 1
    assert min(ended.values()) >= 5


@pytest.mark.parametrize("trial", [Case("csv", True, True)], indirect=True, ids=str)
def test_a_terminal_that_goes_away_is_a_request_to_stop(trial: Trial) -> None:
    for status, _ in itertools.islice(stops(trial, signal.SIGHUP), 0, None, 10):
        assert status == 128 + signal.SIGHUP
        trial.assert_whole()


@pytest.mark.parametrize("trial", [Case("parts", True, True)], indirect=True, ids=str)
def test_a_kill_while_recovering_is_recovered_from(trial: Trial, tmp_path: Path) -> None:
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

            status, said = in_child(action)
            assert_no_lie(trial.table)
            if status == 0:
                break
            assert (status, said) == (-signal.SIGKILL, "")
            trial.recover()
            trial.assert_whole()
            seen += 1
    assert seen > 20


@pytest.mark.parametrize("target", ["released.csv", "released.parquet"])
def test_a_whole_release_is_stopped_at_every_other_step(tmp_path: Path, target: str) -> None:
    """From the plan to the last file, by the command itself, with one signal after the other."""
    from shoal.pipeline.run import release

    first, second = tmp_path / "first", tmp_path / "second"
    for folder, level in ((first, 1), (second, 2)):
        folder.mkdir()
        release(write_plan(folder, level=level, target=target), save_recoding=True)
        (folder / "plan.toml").unlink()
    before, after = files(first), files(second)
    work = tmp_path / "work"
    plan = write_plan(tmp_path, level=2, target=str(work / target))
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

        status, said = in_child(action)
        if status == 0:
            break
        assert_no_lie(work / target)
        if number == signal.SIGKILL:
            with staging(work / target):
                pass
        else:
            assert status == 128 + number, said
        found = _without_plan(files(work))
        assert found in (_without_plan(before), _without_plan(after))
        is_new = found == _without_plan(after)
        if number != signal.SIGKILL:
            assert ("no release was written" in said) != is_new
        ended[is_new] += 1
    assert _without_plan(files(work)) == _without_plan(after)
    assert min(ended.values()) >= 3


def _without_plan(found: Files) -> Files:
    """The files of a release; its papers tell the plan, in which the output has another place here."""
    kept = {}
    for name, content in found.items():
        if name.endswith(".json"):
            certificate = json.loads(content)
            kept[name] = json.dumps({key: certificate[key] for key in certificate if key != "plan"}).encode()
        elif not name.endswith(".html"):
            kept[name] = content
        else:
            kept[name] = b""
    return kept
