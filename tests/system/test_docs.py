"""The documentation: examples run, links resolve, plan fragments parse.

Also the tables that name tests, modules and files.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pyarrow.csv
import pytest

import shoal
from shoal.methods import METHODS
from shoal.models import MODELS

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted([*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")])
OWN_TESTS = {"identifiability.md"}  # pages with examples that need a ledger or files, run by separate tests


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_resolve(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target and not target.startswith("made/"):  # generated pages: see test_site.py
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.parent.name == "docs" and page.name not in OWN_TESTS and blocks(page, "python")],
    ids=lambda page: page.name,
)
def test_python_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page, "python"):
        exec(compile(block, page.name, "exec"), scope)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "toml")], ids=lambda page: page.name)
def test_plan_fragments_are_toml_with_known_names(page):
    for block in blocks(page, "toml"):
        document = tomllib.loads(block)
        if "method" in document:
            method = METHODS[document["method"].pop("name")]
            assert set(document["method"]) <= set(method.__dataclass_fields__)
        for model in document.get("models", []):
            assert model["name"] in MODELS


def test_tests_named_on_the_safety_page_exist():
    page = (ROOT / "docs" / "safety.md").read_text(encoding="utf-8")
    files = [
        path
        for lane in ("unit", "integration", "system", "system/web")
        for path in (ROOT / "tests" / lane).glob("*.py")
    ]
    file, named = None, 0
    for found in re.finditer(r"`((?:\w+/)*test_\w+\.py)?(?:::(\w+))?`", page):
        file = found[1] or file
        sources = [path for path in files if str(path).endswith(f"/{file}")]
        assert len(sources) == 1, file
        source = sources[0]
        if found[2]:
            named += 1
            assert f"def {found[2]}(" in source.read_text(encoding="utf-8"), f"{file}::{found[2]}"
    assert named > 60
    rows = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith("| class of fault")]
    assert [line for line in rows if not re.search(r"`(?:\w+/)*test_\w+\.py(?:::\w+)?`[^|]*\|$", line)] == []


def test_architecture_table_is_current():
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "architecture", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_map_of_the_code_names_existing_files():
    """Resolve the files and names of the map in CONTRIBUTING.md.

    Answers name files from the project's root, or in the folder of the previous file; and names that are in one of
    them.
    """
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    answers = [
        line.split("|")[2] for line in page[page.index("## Where is it?") :].splitlines() if line.startswith("| ")
    ]
    assert len(answers) > 12
    for answer in answers[1:]:
        folder, found, names = ROOT, [], []
        for name_or_path in re.findall("`([^`]+)`", answer):
            path = next((path for path in (ROOT / name_or_path, folder / name_or_path) if path.exists()), None)
            if path is None:
                assert "/" not in name_or_path, name_or_path
                assert not name_or_path.endswith(".py"), name_or_path
                names.append(name_or_path)
                continue
            found.append(path)
            folder = path.parent
        assert found or "annotation" in answer, answer
        assert all(any(name in path.read_text() for path in found) for name in names), answer


def test_readme_can_be_followed(tmp_path, monkeypatch):
    """Run the README's commands and its Python.

    Its plan is for the table that the demo writes, and its commands for that plan; its Python follows.
    """
    monkeypatch.chdir(tmp_path)
    readme = ROOT / "README.md"
    commands = re.findall(r"^    shoal (.+?)(?:  +#.*)?$", readme.read_text(encoding="utf-8"), re.M)
    assert {command.split()[0] for command in commands} >= {"plan", "release", "check", "attack", "compare", "explain"}
    run(tmp_path, "demo")
    (plan,) = blocks(readme, "toml")
    (tmp_path / "demo" / "plan.toml").write_text(plan, encoding="utf-8")
    for command in commands:
        if command.split()[0] not in ("serve", "reproduce", "explore"):  # these take long, and have separate tests
            run(tmp_path / "demo", *command.split())
    monkeypatch.chdir(tmp_path / "demo")
    (code,) = blocks(readme, "python")
    frame = pyarrow.csv.read_csv("patients.csv")
    with pytest.warns(shoal.errors.ShoalWarning, match="'name'"):
        exec(compile(code, "README.md", "exec"), {"frame": frame})


def run(folder, *command):
    done = subprocess.run([sys.executable, "-m", "shoal", *command], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stderr)
