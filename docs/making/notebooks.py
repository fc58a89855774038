"""Execution of notebooks without a server, and notebooks as pages.

    python -m docs.making.notebooks docs/tutorials/*.ipynb    # runs them and rewrites their outputs

The output of a cell is the text that it prints and the value of its last expression, as text and, if possible, as HTML.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Cell = dict[str, Any]


def read(file: Path) -> list[Cell]:
    """Read the cells of a notebook."""
    cells: list[Cell] = json.loads(file.read_text(encoding="utf-8"))["cells"]
    return cells


def outputs(cells: list[Cell]) -> Iterator[list[dict[str, Any]]]:
    """Run the code of a notebook; yield the outputs of each code cell.

    The code runs in a temporary folder.
    """
    scope: dict[str, Any] = {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for number, cell in enumerate(cells):
            if cell["cell_type"] == "code":
                yield _run("".join(cell["source"]), f"cell {number}", scope)


def _run(code: str, name: str, scope: dict[str, Any]) -> list[dict[str, Any]]:
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(compile(tree, name, "exec"), scope)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval"), scope)
    text = printed.getvalue() + "".join(f"{one.category.__name__}: {one.message}\n" for one in caught)
    found: list[dict[str, Any]] = []
    if text:
        found.append({"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_().splitlines(keepends=True)
        found.append({"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": data})
    return found


def write(file: Path) -> None:
    """Run a notebook and save its outputs in its file."""
    notebook = json.loads(file.read_text(encoding="utf-8"))
    made = outputs(notebook["cells"])
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = next(made)
    list(made)  # exhausted, so that the folder is removed
    file.write_text(json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")


def page(file: Path) -> str:
    """Convert a notebook to Markdown: texts, code and outputs."""
    parts = []
    for cell in read(file):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "text/html" in data:
                parts.append('````{raw} html\n<div class="output">\n' + "".join(data["text/html"]) + "\n</div>\n````")
            else:
                text = "".join(output.get("text", data.get("text/plain", ())))
                parts.append(f"```text\n{text.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    os.environ["COLUMNS"] = "80"
    for one in sys.argv[1:]:
        write(Path(one).resolve())
