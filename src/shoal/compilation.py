"""Compiled code: made for all methods at once, or told of where a first run has to wait for it.

Numba compiles a kernel when it is first called and keeps the result on disk, see :mod:`shoal.kernels`. That takes up to
a minute for a method, once after an installation. ``shoal compile`` calls every method on a small table beforehand.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.methods import METHODS
from shoal.methods.base import Method, Progress, quiet

if TYPE_CHECKING:
    from shoal.models import Model

__all__ = ["compile_methods", "told_of_compiling"]

PARTS = (
    ("mondrian", "top-down", "refine", "switching", "local-suppression"),
    ("full-domain", "anti-unification", "mdav", "p-first", "k-first", "cbfs", "v-mdav", "univariate"),
)
"""Methods that share kernels, in the order in which they are compiled; the parts take about the same time."""


@contextlib.contextmanager
def told_of_compiling(method: Method, progress: Progress) -> Iterator[None]:
    """Say that a decision has to be compiled first where it is the method's first one since an installation."""
    if "shoal.kernels" not in sys.modules:  # nothing compiled is used
        yield
        return
    mark = _store() / f"{method.name}.ran"
    if not mark.exists():
        progress("deciding (the first run of a method compiles it, which can take a minute)", None)
    yield
    with contextlib.suppress(OSError):
        mark.touch()


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


def _store() -> Path:
    from shoal import kernels

    return kernels._store()


def _run(methods: tuple[str, ...]) -> None:
    """Methods on a small table, with models on a sensitive column where they take them."""
    from shoal.data.census import QUASI_IDENTIFIERS, SENSITIVE, census_table
    from shoal.errors import PlanError
    from shoal.models import KAnonymity, PSensitive
    from shoal.pipeline import anonymize
    from shoal.plan import Plan
    from shoal.schema import Column, Role, Schema, Widths

    columns = {name: Column(Role.QUASI_IDENTIFIER) for name in QUASI_IDENTIFIERS}
    columns["age"] = Column(Role.QUASI_IDENTIFIER, Widths((5, 10, 20)))
    schema = Schema({**columns, SENSITIVE: Column(Role.SENSITIVE)})
    table = census_table(300)
    choices: tuple[tuple[Model, ...], ...] = ((KAnonymity(3),), (KAnonymity(3), PSensitive(2)))
    for method in methods:
        for models in choices:
            with contextlib.suppress(PlanError):  # not every method takes every model
                anonymize(table, Plan(schema, models, METHODS[method]()))
