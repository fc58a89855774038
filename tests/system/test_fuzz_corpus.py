"""The corpus of former failures, and the judge of fuzzing.

Cases that failed once are answered correctly now, and the judge finds errors.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from tools.fuzz.cases import Case, make_case
from tools.fuzz.harness import Outcome, call, within
from tools.fuzz.judge import judge
from tools.fuzz.replay import run_case

PROJECT = Path(__file__).parent.parent.parent
CORPUS = sorted((PROJECT / "tests" / "corpus").glob("*.json"))


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_corpus_case(tmp_path: Path, path: Path) -> None:
    case = Case.from_json(path.read_text(encoding="utf-8"))
    assert run_case(case, tmp_path) is None


@pytest.mark.parametrize("seed", range(8))
def test_cases_of_fixed_seeds(tmp_path: Path, seed: int) -> None:
    assert run_case(make_case(seed), tmp_path) is None


def test_case_round_trip() -> None:
    for seed in range(20):
        case = make_case(seed)
        assert Case.from_json(case.to_json()) == case


PLAN = """
source = { path = "source.csv" }
output = { path = "released.csv" }
[columns]
name = { role = "identifier" }
age = { role = "quasi-identifier", hierarchy = { intervals = [10] } }
ill = { role = "sensitive" }
[[models]]
name = "k-anonymity"
k = 2
[[models]]
name = "l-diversity"
l = 2
"""


@pytest.fixture
def released(tmp_path: Path) -> tuple[Path, Outcome]:
    rows = "".join(f"n{age},{age},{('flu', 'gout')[age % 2]}\n" for age in range(20, 40))
    (tmp_path / "source.csv").write_text("name,age,ill\n" + rows)
    (tmp_path / "plan.toml").write_text(PLAN)
    with within(tmp_path):
        done = call(["release", "plan.toml"])
    return tmp_path, done


def test_judge_accepts_a_correct_release(released: tuple[Path, Outcome]) -> None:
    folder, done = released
    assert judge(folder, ["release", "plan.toml"], done, ["n20"]) is None


@pytest.mark.parametrize("change", ["k", "l", "column", "count"])
def test_judge_finds_a_wrong_release(released: tuple[Path, Outcome], change: str) -> None:
    folder, done = released
    table, certificate = folder / "released.csv", folder / "released.certificate.json"
    lines = table.read_text().splitlines()
    content = json.loads(certificate.read_text())
    if change == "k":
        lines.append("77,flu")
        content["released"] += 1
        content["groups"] += 1
    elif change == "l":
        lines += ["77,flu", "77,flu"]
        content["released"] += 2
        content["groups"] += 1
    elif change == "column":
        lines = [f"{line},x" for line in lines]
    else:
        content["groups"] += 1
    table.write_text("\n".join(lines) + "\n")
    certificate.write_text(json.dumps(content))
    assert judge(folder, ["release", "plan.toml"], done, []) is not None


@pytest.mark.parametrize(
    "done",
    [
        Outcome(70, "", "Error: A fault.\n", ""),
        Outcome(2, "", "Error: one.\nAnd two.\n", ""),
        Outcome(2, "", "Traceback\n", ""),
        Outcome(2, "", "Error: 'Qz12' is wrong.\n", ""),
        Outcome(3, "", "Error: no.\n", "Qz12"),
        Outcome(-9, "", "", ""),
    ],
)
def test_judge_finds_a_wrong_error(tmp_path: Path, done: Outcome) -> None:
    assert judge(tmp_path, ["release", "plan.toml"], done, ["Qz12"]) is not None


@pytest.mark.parametrize(
    ("lines_read", "findings", "begun"),
    [((None, "end 7"), 0, [7, 7]), ((None, None), 1, [7, 7, 8]), (("end 7", "begin 8", ""), 1, [7, 9])],
)
def test_case_over_the_time_limit_runs_twice(
    monkeypatch: pytest.MonkeyPatch, lines_read: tuple[str | None, ...], findings: int, begun: list[int]
) -> None:
    """Repeat a case that exceeds the time limit.

    A case that is too slow once has compiled code; one that is too slow twice hangs.
    """
    from tools.fuzz import __main__ as fuzz

    lines = iter(("begin 7", *lines_read))
    done: list[object] = []

    class CaseProcess:
        process = SimpleNamespace(poll=lambda: -9)

        def __init__(self, first: int, environment: object) -> None:
            done.append(first)

        def next_line(self, seconds: float) -> str | None:
            return next(lines, "begin 9")

        def stop(self) -> None:
            pass

    monkeypatch.setattr(fuzz, "CaseProcess", CaseProcess)
    monkeypatch.setattr(fuzz, "compile_methods", lambda: done.append("compiled"))
    assert fuzz.run_campaign(0.05, 7, 30.0, keep=False) == findings
    assert done == ["compiled", *begun]


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_fuzzing_uses_new_seeds() -> None:
    given = {name: value for name, value in os.environ.items() if name not in ("SEED", "MAKEFLAGS")}
    printed = subprocess.run(["make", "-n", "fuzz"], cwd=PROJECT, env=given, capture_output=True, text=True, check=True)
    assert "tools.fuzz" in printed.stdout
    assert "--seed" not in printed.stdout
