"""What importing shoal brings in, and which way imports point inside it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import shoal

PACKAGE = Path(shoal.__file__).parent
# what may be imported by what: a module uses only what stands before it
ORDER = (
    "errors", "vocabulary", "identifiers", "variables", "showing", "extensions", "stopping", "checked", "threads",
    "schema", "formats", "engines", "gate", "encoding", "kernels", "models", "utility", "identifiability", "risk",
    "methods", "watching", "checking", "verify", "output", "asking", "plan", "plan_schema", "reuse", "description",
    "worth", "deciding", "certificate", "report", "pipeline", "data", "kinds", "roles", "profiling", "rehearsal",
    "explanation", "costs", "drafting", "exploration", "shorthand", "functions", "learn", "compilation", "testing",
    "reproduce", "web", "cli",
)  # fmt: skip


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_import_loads_nothing_heavy():
    loaded = run("import sys, shoal; print(' '.join(sys.modules))").split()
    heavy = {"numba", "pandas", "polars", "pyspark", "altair", "pyarrow", "pydantic", "typer", "duckdb", "numpy"}
    assert heavy.isdisjoint(loaded)


def test_a_check_loads_no_optional_package(tmp_path):
    """Arrow and DuckDB themselves look for an installed pandas; nothing else comes in."""
    (tmp_path / "t.csv").write_text("a,b\n1,x\n1,y\n")
    code = f"import sys, shoal; shoal.check({str(tmp_path / 't.csv')!r}, ['k-anonymity k=2', 'p-sensitive p=2'], "
    loaded = run(code + "quasi_identifiers=['a'], sensitive=['b']); print(' '.join(sys.modules))").split()
    assert {"numba", "polars", "pyspark", "altair", "typer", "rich"}.isdisjoint(loaded)


def test_every_public_name_is_there():
    for name in shoal.__all__:
        assert getattr(shoal, name) is not None
    assert set(shoal.__all__) <= set(dir(shoal))
    with pytest.raises(AttributeError, match="no attribute"):
        shoal.nothing  # noqa: B018


def test_no_module_hides_a_public_function():
    """A submodule that is imported becomes an attribute of the package, in place of a function of its name."""
    modules = {path.stem for path in PACKAGE.glob("*.py")} | {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    assert modules.isdisjoint(shoal.__all__)


def modules_used(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("shoal."):
            yield node.module.split(".")[1]


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path):
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if room == "__init__":
        return
    for used in modules_used(path):
        assert ORDER.index(used) <= ORDER.index(room), f"{room} must not use {used}"
