"""Count branches on what is counted and what an intruder knows.

    python tools/branches.py          # counts by kind
    python tools/branches.py --list   # every branch, with file and line

Kinds: tests of the class of a model that wraps another (people, partial knowledge, scenarios), searches for such models
in a conjunction, and conditions on a person column or on a label for any value. The modules that define these models
are not counted. The fewer branches, the cheaper is a further way to count or to know.
"""

from __future__ import annotations

import argparse
import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "shoal"
DEFINING_MODULES = ("models/by_people.py", "models/partial_knowledge.py", "models/scenarios.py", "models/views.py")
WRAPPERS = frozenset({"ByPeople", "PartialKnowledge", "InScenario", "Known", "KnowsColumns"})
SEARCHES = frozenset({"partial_knowledge_models", "scenario_models"})
CONDITIONS = frozenset({"person", "wildcard"})


class Branch(NamedTuple):
    """One branch: its file, line and kind."""

    file: str
    line: int
    kind: str


def branches_in(text: str, file: str) -> Iterator[Branch]:
    """Yield the branches of a module."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            named = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
            if node.func.id == "isinstance" and named & WRAPPERS:
                yield Branch(file, node.lineno, "class of a model")
            elif node.func.id in SEARCHES:
                yield Branch(file, node.lineno, "search for models")
        test = getattr(node, "test", None)
        if isinstance(test, ast.expr) and any(_is_condition(one) for one in ast.walk(test)):
            yield Branch(file, node.lineno, "condition")  # type: ignore[attr-defined]


def _is_condition(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in CONDITIONS
    return isinstance(node, ast.Name) and node.id == "wildcard"


def count_branches() -> tuple[Branch, ...]:
    """Return all branches of the package, but those of defining modules."""
    return tuple(
        branch
        for path in sorted(PACKAGE.rglob("*.py"))
        if (file := path.relative_to(PACKAGE).as_posix()) not in DEFINING_MODULES
        for branch in branches_in(path.read_text(encoding="utf-8"), file)
    )


def main() -> None:
    """Print counts, or every branch."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--list", action="store_true", help="list every branch")
    found = count_branches()
    if parser.parse_args().list:
        for branch in found:
            print(f"{branch.file}:{branch.line}: {branch.kind}")
        return
    for kind, count in sorted(Counter(branch.kind for branch in found).items()):
        print(f"{count:6}  {kind}")
    print(f"{len(found):6}  in {len({branch.file for branch in found})} modules")


if __name__ == "__main__":
    main()
