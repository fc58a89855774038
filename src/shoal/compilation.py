"""All methods compiled at once, so that no first run has to wait for it.

Numba compiles a kernel when it is first called and keeps the result on disk, see :mod:`shoal.kernels`. That takes up to
a minute for a method, once after an installation. ``shoal compile`` calls every method on a small table beforehand.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from shoal.data.census import QUASI_IDENTIFIERS, SENSITIVE, census_table
from shoal.errors import PlanError
from shoal.methods import METHODS
from shoal.methods.base import Progress, quiet
from shoal.models import make_model
from shoal.pipeline import anonymize
from shoal.plan import Plan
from shoal.schema import Column, Role, Schema, Widths

__all__ = ["compile_methods", "pack_compiled"]

PARTS = (
    ("mondrian", "top-down", "refine", "switching", "local-suppression"),
    ("full-domain", "anti-unification", "mdav", "p-first", "k-first", "cbfs", "v-mdav", "univariate"),
)
"""Methods that share kernels, in the order in which they are compiled; the parts take about the same time."""


def compile_methods(progress: Progress = quiet) -> None:
    """Run every method once on a small table, in two processes; about two minutes where nothing is compiled yet."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor, as_completed

    progress("compiling", 0.0)
    with ProcessPoolExecutor(len(PARTS), multiprocessing.get_context("spawn")) as pool:
        waiting = [pool.submit(_run, names) for names in PARTS]
        for done, future in enumerate(as_completed(waiting), 1):
            future.result()
            progress("compiling", done / len(waiting))


def pack_compiled() -> Path:
    """Compile what is not yet, and lay the packed code beside the kernels, where a wheel takes it from; its place."""
    from shoal import kernels

    compile_methods()
    place = kernels.packed(kernels._store())
    kernels.pack(kernels._store(), place)
    return place


def _run(methods: tuple[str, ...]) -> None:
    """Methods on a small table, with models on a sensitive column where they take them."""
    columns = {name: Column(Role.QUASI_IDENTIFIER) for name in QUASI_IDENTIFIERS}
    columns["age"] = Column(Role.QUASI_IDENTIFIER, Widths((5, 10, 20)))
    schema = Schema({**columns, SENSITIVE: Column(Role.SENSITIVE)})
    table = census_table(300)
    size, values = make_model("k-anonymity", k=3), make_model("p-sensitive", p=2)
    for method in methods:
        for models in ((size,), (size, values)):
            with contextlib.suppress(PlanError):  # not every method takes every model
                anonymize(table, Plan(schema, models, METHODS[method]()))


if __name__ == "__main__":
    print(pack_compiled().name)
