"""The command line: one-line errors, exit statuses, one JSON object.

Every kind of bad input of the user.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SHOAL = Path(sys.executable).with_name("shoal")
SECRET = "Zebulon"
"""A value of a record; no message may contain it."""

ROWS = f"name,age,zip,illness\n{SECRET},21,01234,flu\nBob,22,01235,gout\nCleo,31,04711,flu\nDan,32,04712,HIV\n"
PLAN = """
[source]
path = "source.csv"
[columns.name]
role = "identifier"
[columns.age]
role = "quasi-identifier"
hierarchy = { intervals = [5, 10] }
[columns.zip]
role = "quasi-identifier"
hierarchy = { prefix = true }
[columns.illness]
role = "sensitive"
categories = [["HIV"], ["gout"], ["flu"]]
[[models]]
name = "k-anonymity"
k = 2
[method]
name = "levels"
levels = { age = 2, zip = 2 }
[output]
path = "released.csv"
"""


@dataclass(frozen=True)
class Done:
    """The exit status and output of a command."""

    status: int
    out: str
    err: str

    @property
    def answer(self) -> dict[str, Any]:
        """The one JSON object on standard output."""
        assert self.out.count("\n") == 1
        answer = json.loads(self.out)
        assert isinstance(answer, dict)
        return answer


def command(*arguments: str | Path, folder: Path, **environment: str) -> Done:
    """Run the real command in a separate process."""
    done = subprocess.run(
        [SHOAL, *arguments], capture_output=True, cwd=folder, env=os.environ | environment, timeout=60, check=False
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


Shoal = Callable[..., Done]


@pytest.fixture
def shoal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Shoal:
    """The same command in this process, which is much quicker."""
    from shoal.cli.app import run

    monkeypatch.chdir(tmp_path)

    def call(*arguments: str | Path) -> Done:
        monkeypatch.setattr(sys, "argv", ["shoal", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            run()
        printed = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Done(ended.value.code, printed.out, printed.err)

    return call


def prepare(folder: Path, plan: str = PLAN, rows: str | bytes = ROWS) -> None:
    (folder / "plan.toml").write_text(plan, encoding="utf-8")
    (folder / "source.csv").write_bytes(rows if isinstance(rows, bytes) else rows.encode())


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def assert_refused(done: Done, status: int, message: str) -> None:
    assert done.status == status, done
    assert done.err.startswith("Error: ")
    assert done.err.count("\n") == 1
    assert message in done.err
    assert SECRET not in done.err + done.out


# -- bad input -------------------------------------------------------------------------------------

UNWRITABLE = "/proc/self/released.csv"
WEIGHTED = 'name = "p-alpha-sensitive"\np = 2\nalpha = {}\n[[models]]\nname = "k-anonymity"'

Change = Callable[[str], str]
Case = tuple[Callable[[str], str], Callable[[str], str | bytes], int, str]


def swap(old: str, new: str) -> Change:
    return lambda text: text.replace(old, new)


# change of the plan, change of the table, exit status, part of the message
BAD: dict[str, Case] = {
    "unknown column": (
        lambda plan: plan.replace("columns.age", "columns.agge").replace("{ age", "{ agge"), str, 2,
        "no column 'agge'. Did you mean column 2 of 4?"),
    "duplicate column names": (
        str, swap("name,age", "age,age"), 2, "2 columns share a name with another: column 1 of 4, column 2 of 4"),
    "a column with two roles": (
        swap("[source]", '[columns.age]\nrole = "other"\n[source]'), str, 2, "twice"),
    "an empty table": (
        str, lambda rows: "", 2, "is empty. A table needs a header and at least one row"),
    "a header only": (
        str, lambda rows: rows.split("\n")[0] + "\n", 2, "A table needs at least one row"),
    "ragged CSV": (
        str, lambda rows: rows + f"{SECRET},5\n", 2, "4; found 2 at line 6. Mend that line"),
    "wrong encoding": (
        str, lambda rows: rows.replace("gout", "goût").encode("latin-1"), 2, 'encoding = "latin-1"'),
    "a NUL byte": (
        str, swap("Bob", "B\0b"), 2, "has one at byte 43. Remove it"),
    "mixed types": (
        str, swap(",22,", f",{SECRET},"), 2, "1 distinct value that it does not cover (for example in data row 2)"),
    "a hierarchy that misses values": (
        swap("{ prefix = true }", '{ tree = { A = ["01234", "01235"] } }'), str, 2,
        "2 distinct values that it does not cover (for example in data row 3, 4). Extend the hierarchy"),
    "k < 2": (
        swap("k = 2", "k = 1"), str, 2, "'k' must be a whole number of at least 2. Found 1"),
    "p > k": (
        swap("[method]", '[[models]]\nname = "p-sensitive"\np = 3\n[method]'), str, 2, "Raise `k`, or lower `p`"),
    "alpha impossible": (
        swap('name = "k-anonymity"', WEIGHTED.format(50)), str, 3, "Lower the parameter"),
    "an output that is not writable": (
        swap("released.csv", UNWRITABLE), str, 2, "Choose another"),
    "an output that exists": (
        swap("released.csv", "there.csv"), str, 2, "exists. Remove it, choose another name"),
}  # fmt: skip

ALSO_BAD: dict[str, Case] = {
    "a forgotten column": (
        swap('[columns.name]\nrole = "identifier"\n', ""), str, 2,
        "It has none for column 1 of 4. Use `drop` to remove a column"),
    "an encoding that is not read": (
        swap("[columns.name]", 'encoding = "cp437"\n[columns.name]'), str, 2, "Convert the file to UTF-8"),
    "a hierarchy that does not nest": (
        swap("[5, 10]", "[5, 12]"), str, 2, "Column 'age': Each interval"),
    "intervals with a gap": (
        swap("[5, 10]", "[[[0, 20], [30, 40]]]"), str, 2, "leave a gap"),
    "categories that miss values": (
        swap('["gout"]', '["rash"]'), str, 2, "1 distinct value in no category"),
    "alpha negative": (
        swap('name = "k-anonymity"', WEIGHTED.format(-1)), str, 2, "must be a number of at least 0"),
    "k > n": (
        swap("k = 2", "k = 9"), str, 3, "Lower the parameter, or add rows"),
    "levels too low": (
        swap("age = 2, zip = 2", "age = 0"), str, 3, "Choose higher levels"),
    "a level that is not there": (
        swap("age = 2", "age = 9"), str, 2, "from 0 to 3. Found 9"),
    "an output in no directory": (
        swap("released.csv", "no/released.csv"), str, 2, "Create it first"),
    "a source that is not there": (
        swap("source.csv", "absent.csv"), str, 2, "Check the path"),
}  # fmt: skip


def assert_case(folder: Path, case: Case, run: Callable[[], Done]) -> None:
    change_plan, change_rows, status, message = case
    prepare(folder, change_plan(PLAN), change_rows(ROWS))
    (folder / "there.csv").write_text("mine")
    before = contents(folder)
    done = run()
    assert_refused(done, status, message)
    assert done.answer["error"] in done.err
    assert done.answer["exit_status"] == status
    assert contents(folder) == before
    assert sorted(path.name for path in folder.iterdir()) == ["plan.toml", "source.csv", "there.csv"]


@pytest.mark.parametrize("case", ["ragged CSV", "alpha impossible"])
def test_bad_input_in_a_separate_process(tmp_path: Path, case: str) -> None:
    """The real command for one refusal of each status.

    A full disk is in test_output.
    """
    assert_case(tmp_path, BAD[case], lambda: command("release", "plan.toml", "--json", folder=tmp_path))


@pytest.mark.parametrize("case", list(BAD))
def test_bad_input(tmp_path: Path, case: str, shoal: Shoal) -> None:
    """Each item of the list of bad input."""
    assert_case(tmp_path, BAD[case], lambda: shoal("release", "plan.toml", "--json"))


@pytest.mark.parametrize("case", list(ALSO_BAD))
def test_further_bad_input(tmp_path: Path, case: str, shoal: Shoal) -> None:
    assert_case(tmp_path, ALSO_BAD[case], lambda: shoal("release", "plan.toml", "--json"))


def test_unusual_valid_input(tmp_path: Path, shoal: Shoal) -> None:
    """A byte-order mark, a quoted newline, NA and NO.

    All are read literally.
    """
    rows = "\ufeff" + ROWS.replace("gout", '"go\nut"').replace("HIV", "NA").replace("Bob", "NO")
    prepare(tmp_path, PLAN.replace('"gout"', '"go\\nut"').replace('"HIV"', '"NA"'), rows)
    done = shoal("release", "plan.toml", "--json")
    assert (done.status, done.err) == (0, "")
    assert (tmp_path / "released.csv").read_text() == (
        'age,zip,illness\n20..29,012**,flu\n20..29,012**,"go\nut"\n30..39,047**,NA\n30..39,047**,flu\n'
    )


def test_missing_values_form_separate_groups(tmp_path: Path, shoal: Shoal) -> None:
    rows = ROWS.replace(",31,", ",?,").replace(",32,", ",,").replace("HIV", "?")
    prepare(tmp_path, PLAN.replace("[columns.name]", 'missing = ["?"]\n[columns.name]'), rows)
    assert shoal("release", "plan.toml").status == 0
    assert (tmp_path / "released.csv").read_text() == (
        "age,zip,illness\n,047**,\n,047**,flu\n20..29,012**,flu\n20..29,012**,gout\n"
    )
    # a missing-value marker of the plan's source is not a value in a table checked with the plan
    with_marker = "age,zip,illness\na,b,?\na,b,flu\n"
    (tmp_path / "other.csv").write_text(with_marker)
    extra = ("check", "other.csv", "--plan", "plan.toml", "-m", "p-sensitive p=2", "--json")
    assert shoal(*extra).answer["holds"] is False


# -- release ---------------------------------------------------------------------------------------


def test_release_in_a_separate_process(tmp_path: Path, shoal: Shoal) -> None:
    prepare(tmp_path)
    done = command("release", "plan.toml", "--json", folder=tmp_path)
    assert (done.status, done.err) == (0, "")
    answer = done.answer
    assert (answer["rows"], answer["released"], answer["suppressed"], answer["groups"]) == (4, 4, 0, 2)
    assert answer["smallest_group"] == 2
    assert answer["method"]["name"] == "levels"
    assert answer["levels"] == {"age": 2, "zip": 2}
    assert {"distortion_ratio", "ncp"} <= set(answer["loss"])
    assert [model["holds"] for model in answer["models"]] == [True]
    assert set(answer["seconds"]) >= {"reading", "deciding", "applying", "writing", "verifying"}
    certificate = json.loads((tmp_path / "released.certificate.json").read_text())
    assert "source" not in certificate
    assert certificate["released"] == 4
    assert certificate["output"]["name"] == "released.csv"
    assert SECRET not in (tmp_path / "released.csv").read_text()
    assert SECRET not in done.out + json.dumps(certificate)
    assert_refused(shoal("release", "plan.toml"), 2, "released.csv' already exists")
    assert shoal("release", "plan.toml", "--overwrite").status == 0


def test_release_prints_text(tmp_path: Path, shoal: Shoal) -> None:
    prepare(tmp_path)
    done = shoal("release", "plan.toml")
    assert (done.status, done.err) == (0, "")
    assert "Released 4 of 4 rows in 2 groups, the smallest of 2" in done.out
    assert "released.certificate.json" in done.out
    assert SECRET not in done.out


def test_release_without_source_or_output(tmp_path: Path, shoal: Shoal) -> None:
    prepare(tmp_path, PLAN.replace('[source]\npath = "source.csv"\n', ""))
    assert_refused(shoal("release", "plan.toml"), 2, "[source]")
    assert_refused(shoal("release", "absent.toml"), 2, "cannot be read")
    prepare(tmp_path, "[columns\n")
    assert_refused(shoal("release", "plan.toml"), 2, "not valid TOML")


# -- check -----------------------------------------------------------------------------------------


def test_check_answers_by_its_exit_status(tmp_path: Path, shoal: Shoal) -> None:
    (tmp_path / "t.csv").write_text("age,illness\n<30,flu\n<30,gout\n>40,flu\n>40,flu\n")
    yes = shoal("check", "t.csv", "-q", "age", "-m", "k-anonymity k=2", "--json")
    assert (yes.status, yes.answer["holds"], yes.err) == (0, True, "")
    no = command(
        "check", "t.csv", "-q", "age", "-s", "illness", "-m", "k-anonymity k=2", "-m", "p-sensitive p=2", "--json",
        folder=tmp_path,
    )  # fmt: skip
    assert (no.status, no.answer["holds"], no.err) == (1, False, "")
    assert (no.answer["groups"], no.answer["failing_groups"], no.answer["failing_rows"]) == (2, 1, 2)
    assert [model["effective"] for model in no.answer["models"]] == [{"k": 2}, {"p": 1}]
    wrong = shoal("check", "t.csv", "-q", "agee", "-m", "k-anonymity k=2", "--json")
    assert_refused(wrong, 2, "Did you mean column 1 of 2?")
    assert wrong.answer["kind"] == "TableError"


def test_check_prints_text(tmp_path: Path, shoal: Shoal) -> None:
    (tmp_path / "t.csv").write_text("age,illness\n<30,flu\n<30,gout\n>40,flu\n")
    done = shoal("check", "t.csv", "-q", "age", "-m", "k-anonymity k=2")
    assert done.status == 1
    assert "3 rows in 2 groups, the smallest of 1: does not hold." in done.out
    assert "1 groups fail, of 1 to 1 rows, 1 rows together." in done.out


def test_check_with_a_plan_ignores_further_columns(tmp_path: Path, shoal: Shoal) -> None:
    prepare(tmp_path)
    (tmp_path / "t.csv").write_text("age,zip,illness,further\n1,2,flu,x\n1,2,flu,y\n")
    assert shoal("check", "t.csv", "--plan", "plan.toml", "--json").answer["holds"] is True
    assert_refused(shoal("check", "t.csv", "--plan", "plan.toml", "-q", "age"), 2, "not both")
    assert_refused(shoal("check", "t.csv", "--plan", "plan.toml", "--categories", "a;b"), 2, "not both")


def test_check_with_categories(tmp_path: Path, shoal: Shoal) -> None:
    (tmp_path / "t.csv").write_text("age,illness,job\n1,flu,x\n1,HIV,y\n")
    ask = ("check", "t.csv", "-q", "age", "-m", "p-plus-alpha-sensitive p=2 alpha=1 column=illness", "--json")
    assert shoal(*ask, "-s", "illness", "--categories", "HIV; gout, flu").status == 0
    assert shoal(*ask, "-s", "illness,job", "--categories", "illness=HIV;gout,flu").status == 0
    assert_refused(shoal(*ask, "-s", "illness,job", "--categories", "HIV;gout,flu"), 2, "COLUMN=")
    assert_refused(shoal(*ask, "-s", "illness", "--categories", "HIV;;flu"), 2, "1 of them empty")
    assert_refused(shoal(*ask, "-s", "illness"), 2, "needs sensitivity categories")
    assert_refused(shoal(*ask, "-s", "job"), 2, "which is not sensitive")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-q", "age", "-s", "age", "-m", "k-anonymity k=2"], "'age' as both quasi-identifier and sensitive"),
        (["-q", "age,age", "-m", "k-anonymity k=2"], "named twice"),
        (["-m", "k-anonymity k=2"], "At least one quasi-identifier"),
        (["-q", "age"], "At least one model"),
        (["-q", "age", "-m", "k-anonymity k=1"], "at least 2"),
        (["-q", "age", "-m", "k-anonymity"], "needs the parameter 'k'"),
        (["-q", "age", "-m", "k-anonimity k=2"], "did you mean 'k-anonymity'"),
        (["-q", "age", "-m", "p-sensitive p=2"], "needs a sensitive column"),
        (["-q", "age", "-s", "illness", "-m", "p-sensitive p=3", "-m", "k-anonymity k=2"], "Raise `k`, or lower `p`"),
        (["-q", "age", "-m", "k-anonymity k=2", "--delimiter", "ab"], "one character"),
        (["-q", "age", "-m", "k-anonymity k=2", "--encoding", "ebcdic"], "Convert the file to UTF-8"),
        (["-q", "age", "-m", "k-anonymity k=2", "--memory", "much"], "An amount of memory must be written like 4GB"),
        (["--no-such-option"], "See shoal COMMAND --help"),
    ],
)
def test_check_refuses(tmp_path: Path, shoal: Shoal, arguments: list[str], message: str) -> None:
    (tmp_path / "t.csv").write_text(f"age,illness\n1,{SECRET}\n1,{SECRET}\n")
    done = shoal("check", "t.csv", *arguments, "--json")
    assert_refused(done, 2, message)
    assert done.answer["exit_status"] == 2


def test_check_reads_dialects(tmp_path: Path, shoal: Shoal) -> None:
    (tmp_path / "t.csv").write_bytes("age\tgöut\n1\tx\n1\tx\n".encode("latin-1"))
    ask = ("check", "t.csv", "-q", "göut", "-m", "k-anonymity k=2", "--json")
    assert shoal(*ask, "--encoding", "latin-1").status == 0
    assert shoal(*ask, "--encoding", "latin-1", "--delimiter", "\\t").status == 0
    (tmp_path / "t.csv").write_text("age,b\n?,x\n1,x\n")
    assert (
        shoal("check", "t.csv", "-q", "age", "-m", "k-anonymity k=2", "--missing", "?", "--json").answer["groups"] == 2
    )


def test_odd_names_on_the_command_line(tmp_path: Path, shoal: Shoal) -> None:
    names = ['"; drop table x; --', 'a"b', "😀", "n" * 300, "a,b", "[red]x[/red]", "x\x1b[31m"]
    header = ",".join('"' + name.replace('"', '""') + '"' for name in names)
    (tmp_path / "t [1].csv").write_text(header + "\n" + ",".join("x" * len(names)) + "\n", encoding="utf-8")
    quasi = ",".join(name.replace(",", ",,") for name in names[1:])
    done = command(
        "check", "t [1].csv", "-q", quasi, "-s", names[0], "-m", f"p-sensitive p=1 column={names[0]}", folder=tmp_path
    )
    assert (done.status, done.err) == (0, "")
    done = shoal("check", "t [1].csv", "-q", "x\x1b[31m\nq😀", "-m", "k-anonymity k=2", "--json")
    assert_refused(done, 2, "no column")
    assert "\x1b" not in done.err


# -- all commands ----------------------------------------------------------------------------------


def test_help(shoal: Shoal) -> None:
    for arguments in ([], ["--help"], ["-h"]):
        done = shoal(*arguments)
        assert done.status == 0
        assert all(name in done.out for name in ("demo", "release", "check", "Exit status"))
    for name, word in (("demo", "twelve patients"), ("release", "--overwrite"), ("check", "--quasi-identifiers")):
        done = shoal(name, "--help")
        assert done.status == 0
        assert word in done.out
        assert "--json" in done.out


def test_version(shoal: Shoal) -> None:
    from shoal import __version__

    assert shoal("version").out == f"{__version__}\n"
    assert shoal("version", "--json").answer == {"version": __version__}


@pytest.mark.parametrize("arguments", [["bogus"], ["release"], ["check", "--foo"], ["release", "a", "b"]])
def test_usage_errors_are_one_line(shoal: Shoal, arguments: list[str]) -> None:
    assert_refused(shoal(*arguments), 2, "--help")
    assert shoal(*arguments, "--json").answer["kind"] == "Usage"


def test_demo(tmp_path: Path, shoal: Shoal) -> None:
    done = shoal("demo", "--json")
    assert (done.status, done.err) == (0, "")
    assert done.answer["release"]["smallest_group"] >= 4
    assert {number: table["holds"] for number, table in done.answer["tables"].items()} == {
        "2": True, "5": False, "6": True, "7": True,
    }  # fmt: skip
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == [
        "patients.csv", "patients.toml", "released.certificate.json", "released.csv", "released.report.html",
    ]  # fmt: skip
    people = shoal("demo")
    assert people.status == 0
    assert all(f"Table {number}" in people.out for number in (2, 5, 6, 7))


def test_demo_does_not_overwrite_other_files(tmp_path: Path, shoal: Shoal) -> None:
    (tmp_path / "patients.csv").write_text("mine")
    assert_refused(shoal("demo", "--out", "."), 2, "Choose another folder with `--out`")
    (tmp_path / "patients.csv").unlink()
    (tmp_path / "released.csv").write_text("mine")
    assert_refused(shoal("demo", "--out", "."), 2, "released.csv' already exists")
    assert (tmp_path / "released.csv").read_text() == "mine"
    (tmp_path / "file").write_text("mine")
    assert_refused(shoal("demo", "--out", "file"), 2, "cannot be written")


def test_internal_error_names_its_kind_without_data(
    tmp_path: Path, shoal: Shoal, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shoal.api import functions

    def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError(SECRET)

    prepare(tmp_path)
    monkeypatch.setattr(functions, "release", fail)
    done = shoal("release", "plan.toml", "--json")
    assert_refused(done, 70, "A fault in shoal (ZeroDivisionError at shoal.cli.release:")
    monkeypatch.setenv("SHOAL_DEBUG", "1")
    monkeypatch.setattr(sys, "argv", ["shoal", "release", "plan.toml"])
    from shoal.cli.app import run

    with pytest.raises(ZeroDivisionError):
        run()


def test_interrupt(
    tmp_path: Path, shoal: Shoal, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    from shoal.pipeline import file_sinks

    def interrupt(*_: Any, **__: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    prepare(tmp_path)
    # a process started in the background may ignore Ctrl-C
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, handler))
    monkeypatch.setattr(file_sinks, "check_output", interrupt)
    before = contents(tmp_path)
    done = shoal("release", "plan.toml", "--json")
    assert_refused(done, 130, "Interrupted")
    assert done.answer["exit_status"] == 130
    assert contents(tmp_path) == before


def test_compile_runs_every_method_with_kernels():
    """Methods that are not listed have no compiled code."""
    from shoal.api.compile import PARTS
    from shoal.methods import METHODS

    listed = {name for part in PARTS for name in part}
    assert set(METHODS) - listed == {
        "levels", "hidden-cells", "facts-suppression", "population-grid", "sampled-grid", "auto",
    }  # fmt: skip
    assert listed <= set(METHODS)


def test_first_run_reports_compiling(tmp_path, monkeypatch):
    from shoal.methods import Mondrian, compile_notice

    monkeypatch.setattr(compile_notice, "_store", lambda: tmp_path)
    monkeypatch.setitem(sys.modules, "shoal.kernels.cache", object())
    steps = []
    for _ in range(2):
        with compile_notice.notify_compiling(Mondrian(), lambda step, done: steps.append(step)):
            pass
    assert len(steps) == 1
    assert "compiling" in steps[0]
