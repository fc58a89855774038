"""Modules that importing shoal loads, and the order of its packages."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import shoal

PACKAGE = Path(shoal.__file__).parent
# permitted imports: a module uses only packages that are listed before its own
ORDER = (
    "formatting", "errors", "runtime", "schema", "hierarchies", "datasets", "verification.independent", "io", "render",
    "table", "kernels", "models", "utility", "budget", "risk", "bounds", "verification", "methods", "budget.methods",
    "plugins", "plan", "results", "report", "pipeline", "advice", "audit", "api", "sklearn", "learn", "testing",
    "papers", "web", "cli",
)  # fmt: skip


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_import_loads_nothing_heavy():
    loaded = run("import sys, shoal; print(' '.join(sys.modules))").split()
    heavy = {"numba", "pandas", "polars", "pyspark", "altair", "pyarrow", "pydantic", "typer", "duckdb", "numpy"}
    assert heavy.isdisjoint(loaded)


def test_a_check_loads_no_optional_package(tmp_path):
    """Nothing optional is loaded except pandas.

    Arrow and DuckDB themselves look for an installed pandas.
    """
    (tmp_path / "t.csv").write_text("a,b\n1,x\n1,y\n")
    code = f"import sys, shoal; shoal.check({str(tmp_path / 't.csv')!r}, ['k-anonymity k=2', 'p-sensitive p=2'], "
    loaded = run(code + "quasi_identifiers=['a'], sensitive=['b']); print(' '.join(sys.modules))").split()
    assert {"numba", "polars", "pyspark", "altair", "typer", "rich"}.isdisjoint(loaded)


PLAN = """
[source]
path = "t.csv"
[columns.a]
role = "quasi-identifier"
[columns.b]
role = "sensitive"
[[models]]
name = "k-anonymity"
k = 2
[output]
path = "{name}"
"""
UNUSED = {
    "pandas", "scipy", "polars", "pyspark", "sklearn", "altair", "openpyxl", "shoal.web", "shoal.papers",
    "shoal.advice.explore", "shoal.advice.explain", "shoal.advice.profile", "shoal.advice.draft", "shoal.api.keywords",
    "shoal.cli.serve", "shoal.cli.attack", "multiprocessing.pool",
}  # fmt: skip


def command(folder, *arguments):
    """Run the command line in a new process; return the loaded modules."""
    code = (
        "import sys\nfrom shoal.cli import main\ntry:\n    main()\nexcept SystemExit as end:\n    status = end.code\n"
        "print(status, ' '.join(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=folder, check=True
    )
    status, *loaded = done.stdout.splitlines()[-1].split()
    assert status == "0", done
    return loaded


def test_release_command_loads_no_unused_modules(tmp_path):
    """Arrow and Numba do not get pandas and SciPy, which they look for.

    They are blocked in a process that runs only shoal's code.
    """
    (tmp_path / "t.csv").write_text("a,b\n1,x\n1,y\n2,x\n2,y\n")
    (tmp_path / "plan.toml").write_text(PLAN.format(name="out.csv"))
    loaded = command(tmp_path, "release", "plan.toml", "--quiet")
    assert (tmp_path / "out.csv").read_text() == "a,b\n1,x\n1,y\n2,x\n2,y\n"
    assert {"numba", "duckdb", "pyarrow"} <= set(loaded)
    assert UNUSED.isdisjoint(loaded)


def test_cached_code_loads_without_the_compiler(tmp_path):
    """Cached code needs none of the tables by which Numba compiles.

    Arrow's help texts are not parsed either.
    """
    (tmp_path / "t.csv").write_text("a,b\n1,x\n1,y\n2,x\n2,y\n")
    (tmp_path / "plan.toml").write_text(PLAN.format(name="out.csv"))
    for _ in range(2):  # the first run may have to compile on this machine
        loaded = command(tmp_path, "release", "plan.toml", "--quiet", "--overwrite")
    compiler = {"numba.np.linalg", "numba.np.arraymath", "numba.typed.typeddict"}
    assert {*compiler, "pyarrow.dataset", "pyarrow.parquet"}.isdisjoint(loaded)


def test_compilation_after_loading_cached_code():
    """The tables are filled as soon as something must be compiled."""
    code = """
import numba, numpy as np
from shoal.methods import FullDomain
import sys
FullDomain().warm()
before = "numba.np.linalg" in sys.modules

@numba.njit
def product(one):
    found = {}
    found[1] = np.dot(one, one)
    return found[1] + len(str(1))

print(before, product(np.ones((2, 2)))[0, 0])
"""
    run(code)
    assert run(code) == "False 3.0"


def test_arrow_works_without_its_help_texts():
    code = "import sys\nfrom shoal.runtime import lean_imports as lean\n"
    code += "lean.assume_dedicated_process(); lean.load_arrow()\nimport pyarrow as pa\n"
    code += "import pyarrow.compute as pc\nfrom pyarrow.vendored import docscrape\n"
    code += "table = pa.table({'a': [1, 1, 2], 'b': ['x', None, 'z']})\n"
    code += "print(pc.sort_indices(table['b'], null_placement='at_start').to_pylist(), "
    code += "table.group_by('a').aggregate([('b', 'count')]).to_pylist(), docscrape.NumpyDocString.__name__)"
    assert run(code) == "[1, 0, 2] [{'a': 1, 'b_count': 1}, {'a': 2, 'b_count': 1}] NumpyDocString"


def test_blocked_packages_load_on_demand(tmp_path):
    """A format that is written through pandas still is, in the same process."""
    pytest.importorskip("pyreadstat")
    (tmp_path / "t.csv").write_text("a,b\n1,x\n1,y\n2,x\n2,y\n")
    (tmp_path / "plan.toml").write_text(PLAN.format(name="out.sav"))
    assert "pandas" in command(tmp_path, "release", "plan.toml", "--quiet")
    assert (tmp_path / "out.sav").is_file()


def test_other_processes_find_pandas_and_scipy():
    """In a process that is not shoal's own, libraries find what is installed."""
    code = "import sys\nfrom shoal.runtime import lean_imports as lean\n{}lean.load_arrow(); lean.load_compiler()\n"
    looked = "import numba.np.arraymath; print('pandas' in sys.modules, 'scipy' in sys.modules)"
    assert run(code.format("") + looked) == "True True"
    assert run(code.format("lean.assume_dedicated_process(); ") + looked) == "False False"
    found = "import pandas, scipy; print(pandas.__name__, scipy.__name__)"
    assert run(code.format("lean.assume_dedicated_process(); ") + found) == "pandas scipy"


@pytest.mark.parametrize(("before", "threads"), [("", "1"), ("os.environ['OPENBLAS_NUM_THREADS'] = '3'; ", "3")])
def test_numpy_starts_no_threads_in_a_dedicated_process(before, threads):
    """Starting threads takes half the time of loading NumPy.

    A number of threads that was set before is respected.
    """
    code = f"import os; os.environ.pop('OPENBLAS_NUM_THREADS', None); {before}from shoal.runtime import lean_imports; "
    assert run(code + "lean_imports.assume_dedicated_process(); print(os.environ['OPENBLAS_NUM_THREADS'])") == threads


def test_package_is_blocked_in_one_thread_only():
    """A reader may load pandas while another thread loads compiled code."""
    from shoal.runtime.lean_imports import _BlockingFinder

    refusing = _BlockingFinder("pandas")
    with pytest.raises(ModuleNotFoundError):
        refusing.find_spec("pandas", None)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(refusing.find_spec, "pandas", None).result() is None


def test_every_public_name_is_there():
    for name in shoal.__all__:
        assert getattr(shoal, name) is not None
    assert set(shoal.__all__) <= set(dir(shoal))
    with pytest.raises(AttributeError, match="no attribute"):
        shoal.nothing  # noqa: B018


@pytest.mark.parametrize("name", sorted(shoal._DEPRECATED))
def test_deprecated_names_lead_to_existing_replacements(name):
    """Deprecated names work, warn at the caller's line and name the new one."""
    with pytest.warns(DeprecationWarning, match=f"shoal.{name} is deprecated; use shoal") as caught:
        old = getattr(shoal, name)
    assert caught[0].filename == __file__
    module, _, new = shoal._DEPRECATED[name].rpartition(".")
    replacement = getattr(importlib.import_module(module), new)
    assert old is replacement or inspect.isfunction(replacement) or replacement is shoal.Column


def test_no_module_hides_a_public_function():
    """No submodule has the name of a public function.

    A submodule that is imported becomes an attribute of the package and would replace the function.
    """
    modules = {path.stem for path in PACKAGE.glob("*.py")} | {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    assert modules.isdisjoint(shoal.__all__)


def package_of(module):
    """Return the entry of ORDER that a module below shoal belongs to.

    It is the longest entry with which the module's name begins.
    """
    while module and module not in ORDER:
        module = module.rpartition(".")[0]
    return module


def modules_used(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "shoal":
            for alias in node.names:
                yield f"{node.module}.{alias.name}".removeprefix("shoal.")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("shoal."):
                    yield alias.name.removeprefix("shoal.")


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path):
    module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
    if module in ("__init__", "__main__"):
        return
    own = ORDER.index(package_of(module))
    for used in modules_used(path):
        package = package_of(used)
        assert not package or ORDER.index(package) <= own, f"{module} must not use {used}"


def test_command_line_as_a_module():
    """``python -m shoal`` works if the script is not on the path.

    The exit statuses are the same.
    """
    done = subprocess.run([sys.executable, "-m", "shoal", "version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == shoal.__version__
    done = subprocess.run([sys.executable, "-m", "shoal", "release", "none.toml"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: The plan 'none.toml' cannot be read")
