"""Count what should be in one place of the package only.

    python tools/structure.py          # counts
    python tools/structure.py --list   # every finding, with file and line

Number formatters: formatted fields of f-strings, calls of format, percent signs on texts, and filters of page templates
that format or round numbers. ``formatting.py`` is the one module that may have them. Coordinates of
drawings, codes of fixed width and dates are not numbers for readers.

Walkers over annotations: functions that take type annotations apart. One validates, describes and makes the schema.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "shoal"
FORMATTING = PACKAGE / "formatting.py"
DRAWINGS = ("line_chart.py", "scatter.py", "pictures.py", "html.py")
"""Modules that write coordinates, with one or two decimal places or none."""
COORDINATES = frozenset({".0f", ".1f", ".2f"})
NO_NUMBER = re.compile(r"(.*%[A-Za-z].*|0?\d*[dxX]|0\d+|)")
"""Dates, whole numbers of fixed width, and hexadecimal digits."""
TEMPLATE_FORMATTERS = re.compile(r"\|\s*(?:format\b|round\b(?!\(0, 'ceil'\)\|int\b)(?!\|int\|number\b))")


class Finding(NamedTuple):
    """Code that should be elsewhere."""

    path: str
    line: int
    text: str


def number_formatters(path: Path) -> Iterator[Finding]:
    """Yield where a module or a template formats numbers by itself."""
    displayed = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
    content = path.read_text(encoding="utf-8")
    if path.suffix == ".html":
        for number, line in enumerate(content.splitlines(), 1):
            for found in TEMPLATE_FORMATTERS.finditer(line):
                yield Finding(displayed, number, found[0])
        return
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            specification = _text(node.format_spec)
            is_drawing = path.name in DRAWINGS and specification in COORDINATES
            if not is_drawing and not NO_NUMBER.fullmatch(specification):
                yield Finding(displayed, node.lineno, ast.unparse(node))
        elif (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "format") or (
            isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and _is_text(node.left)
        ):
            yield Finding(displayed, node.lineno, ast.unparse(node))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _text(specification: ast.expr) -> str:
    parts = getattr(specification, "values", [])
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)


def all_number_formatters() -> list[Finding]:
    """List the number formatters outside of the one module for them."""
    files = [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.html")]
    return [finding for path in sorted(files) if path != FORMATTING for finding in number_formatters(path)]


DESTRUCTURES = frozenset({"get_origin", "__origin__", "__args__"})
LOOKS_UP = frozenset({"get_type_hints", "get_annotations", "__annotations__"})
"""Names by which a function takes annotations apart, or looks up those of a class."""


def functions_with(used: frozenset[str]) -> list[Finding]:
    """List the functions of the package that use one of some names."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                names = {getattr(part, "id", None) or getattr(part, "attr", None) for part in ast.walk(node)}
                if names & used:
                    found.append(Finding(str(path.relative_to(ROOT)), node.lineno, node.name))
    return found


def main() -> None:
    """Print counts, or every finding."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--list", action="store_true", help="list every finding")
    found = {
        "number formatters outside of formatting.py": all_number_formatters(),
        "walkers over annotations": functions_with(DESTRUCTURES),
        "functions that look up annotations": functions_with(LOOKS_UP),
    }
    listed = parser.parse_args().list
    for name, findings in found.items():
        print(f"{len(findings):>8}  {name}")
        for finding in findings if listed else ():
            print(f"          {finding.path}:{finding.line}: {finding.text}")


if __name__ == "__main__":
    main()
