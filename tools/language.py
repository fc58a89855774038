"""Count violations of the rules of naming and prose in CONTRIBUTING.md.

    python tools/language.py                 # counts for the project
    python tools/language.py --list PATH ... # every finding below the paths, with file and line

Rules: no banned word in a name (modules, classes, functions, parameters, variables, attributes) or in the first line of
a docstring; a first line has at most 72 characters and begins with no question word; a test's name has at most 64.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "shoal"
FOLDERS = ("src/shoal", "tests", "tools", "benchmarks", "docs/making", "examples")
MAX_FIRST_LINE = 72
MAX_TEST_NAME = 64
BANNED_IN_NAMES = frozenset(
    [
        "absorbing",
        "absorbs",
        "ahead",
        "alike",
        "apart",
        "asked",
        "asking",
        "at_hand",
        "be_alone",
        "beside",
        "crew",
        "desk",
        "eased",
        "few",
        "gate",
        "held",
        "hold",
        "holding",
        "kept",
        "keeping",
        "lack",
        "laid",
        "lay",
        "many",
        "most",
        "nobody",
        "nobodys",
        "place",
        "places",
        "rehearsal",
        "rehearse",
        "rehearsed",
        "room",
        "rooms",
        "said",
        "says",
        "shown",
        "so_many",
        "sparing",
        "stands",
        "telling",
        "tell",
        "tells",
        "together",
        "told",
        "unites",
        "watching",
        "who",
        "whoever",
        "whom",
        "whose",
        "worth",
    ]
)
"""Words of a snake-case name; a phrase counts where its words are consecutive."""
CONTRACTS = {
    "examples/plugin/src/shoal_example/__init__.py": {"AtMost"},
    "src/shoal/api/functions.py": {"rehearse"},
    "src/shoal/methods/microaggregation/facts.py": {"most_groups_possible"},
    "src/shoal/methods/patterns/pattern_set.py": {"most", "shown"},
    "src/shoal/plan/plan.py": {"together"},
    "src/shoal/results/certificate.py": {"together"},
}
"""Names that are contracts with users, by file."""
ALLOWED_NAMES = frozenset({"at_most", "most_common"})
"""Names of other libraries."""
BANNED_IN_FIRST_LINES = re.compile(
    r"\b(told|tells?|telling|so many|whose|who|whoever|whom|of its own|laid|somebody|nobody|at hand|gate|rooms?|crew"
    r"|desk|beside)\b",
    re.I,
)
QUESTION_WORDS = re.compile(r"(what|who|whose|where|when|how|whether|which|why)\b", re.I)


RULES = (
    "banned word in a name",
    "banned word in a first line",
    "first line too long",
    "first line asks a question",
    "test name too long",
)


class Finding(NamedTuple):
    """One violation of a rule."""

    rule: str
    path: str
    line: int
    text: str


def words_of(name: str) -> str:
    """Split a name into snake-case words, with an underscore on either side."""
    return "_" + re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_") + "_"


def is_banned(name: str) -> bool:
    """Return whether a name has a banned word."""
    if name in ALLOWED_NAMES:
        return False
    split = words_of(name)
    return any(f"_{word}_" in split for word in BANNED_IN_NAMES)


def _definitions(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield every name that a module defines.

    These are names of classes, functions, parameters and variables.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno
        elif isinstance(node, ast.alias) and node.asname:
            yield node.asname, node.lineno


def _docstrings(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the first line of every docstring."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            text = ast.get_docstring(node)
            if text:
                yield text.split("\n")[0], getattr(node, "lineno", 1)


def findings_in(path: Path) -> Iterator[Finding]:
    """Yield the violations of rules in one module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    displayed = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
    if is_banned(path.stem):
        yield Finding("banned word in a name", displayed, 1, path.stem)
    for name, line in _definitions(tree):
        if is_banned(name) and name not in CONTRACTS.get(displayed, ()):
            yield Finding("banned word in a name", displayed, line, name)
        if name.startswith("test_") and len(name) > MAX_TEST_NAME:
            yield Finding("test name too long", displayed, line, name)
    for first, line in _docstrings(tree):
        if BANNED_IN_FIRST_LINES.search(first):
            yield Finding("banned word in a first line", displayed, line, first)
        if len(first) > MAX_FIRST_LINE:
            yield Finding("first line too long", displayed, line, first)
        if QUESTION_WORDS.match(first):
            yield Finding("first line asks a question", displayed, line, first)


def modules_below(paths: list[Path]) -> list[Path]:
    """List the modules below some paths."""
    found = {file for path in paths for file in ([path] if path.is_file() else path.rglob("*.py"))}
    return sorted(file for file in found if "node_modules" not in file.parts)


def shared_names() -> Counter[str]:
    """Count classes and public functions of the package that share a name."""
    names: Counter[str] = Counter()
    for path in modules_below([PACKAGE]):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
                names[node.name] += 1
    return Counter({name: count for name, count in names.items() if count > 1})


def counts() -> dict[str, int]:
    """Count the figures that a test compares with its limits."""
    modules = modules_below([PACKAGE])
    rules = Counter(
        finding.rule for path in modules_below([ROOT / folder for folder in FOLDERS]) for finding in findings_in(path)
    )
    shared = shared_names()
    return {
        "loose root modules": sum(1 for path in PACKAGE.glob("*.py") if path.stem not in ("__init__", "__main__")),
        **{rule: rules[rule] for rule in RULES},
        "definitions that share a name": sum(shared.values()),
        "modules": len(modules),
        "lines": sum(len(path.read_text(encoding="utf-8").splitlines()) for path in modules),
    }


def main() -> None:
    """Print counts, or every finding."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--list", action="store_true", help="list every finding below the paths")
    arguments = parser.parse_args()
    if arguments.list:
        for path in modules_below([path.resolve() for path in arguments.paths] or [ROOT / item for item in FOLDERS]):
            for finding in findings_in(path):
                print(f"{finding.path}:{finding.line}: {finding.rule}: {finding.text}")
        return
    for name, count in counts().items():
        print(f"{count:>8,}  {name}")
    for name, count in sorted(shared_names().items()):
        print(f"          {count} x {name}")


if __name__ == "__main__":
    main()
