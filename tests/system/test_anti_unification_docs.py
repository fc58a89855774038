"""The documentation page and the example run and agree with the code."""

from __future__ import annotations

import doctest
import subprocess
import sys
import tomllib
from pathlib import Path

from shoal.methods import METHODS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "anti-unification.md"


def test_examples_of_the_page():
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert result.attempted > 5
    assert result.failed == 0


def test_plan_of_the_page_has_default_parameters():
    text = PAGE.read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]
    section = tomllib.loads(text)["method"]
    method = METHODS[section.pop("name")]()
    assert section == {
        "indifferent": method.indifferent,
        "order": list(method.order),
        "patterns": method.patterns,
        "keep_rest": method.keep_rest,
    }


def test_classifier_comparison_runs_on_generated_data():
    script = ROOT / "examples" / "classifier_comparison.py"
    done = subprocess.run(
        [sys.executable, str(script), "--rows", "600", "--k", "5"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    # originals, and two orders in two ways
    variants = ("originals", "patterns", "records")
    accuracies = [float(line[-1]) for line in lines if line[-2:-1] and line[-2] in variants and "/" not in line[-1]]
    assert len(accuracies) == 5
    assert all(40 < accuracy <= 100 for accuracy in accuracies)
