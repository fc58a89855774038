"""All methods compiled at once, so that no first run has to wait for it.

Numba compiles a kernel when it is first called and keeps the result on disk, see :mod:`shoal.kernels.cache`. That takes up to
a minute for a method, once after an installation. ``shoal compile`` calls every method on a small table beforehand, and
by itself what only large tables ask for.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.datasets.census import QUASI_IDENTIFIERS, SENSITIVE, census_table
from shoal.errors import PlanError
from shoal.methods import METHODS, AntiUnification, Cbfs, FullDomain, LocalSuppression, Mdav, Mondrian
from shoal.models import make_model
from shoal.pipeline.run import anonymize
from shoal.plan.plan import Plan
from shoal.runtime.progress import Progress, quiet
from shoal.schema import Column, Role, Schema, Widths

if TYPE_CHECKING:
    import pyarrow as pa

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
    from shoal.kernels import cache

    compile_methods()
    place = cache.packed(cache._store())
    cache.pack(cache._store(), place)
    return place


def _run(methods: tuple[str, ...]) -> None:
    """Methods on a small table, with models of a sensitive column where taken; then what that does not reach."""
    columns = {name: Column(Role.QUASI_IDENTIFIER) for name in QUASI_IDENTIFIERS}
    columns["age"] = Column(Role.QUASI_IDENTIFIER, Widths((5, 10, 20)))
    schema = Schema({**columns, SENSITIVE: Column(Role.SENSITIVE)})
    table = census_table(300)
    size, values = make_model("k-anonymity", k=3), make_model("p-sensitive", p=2)
    for method in methods:
        for models in ((size,), (size, values)):
            with contextlib.suppress(PlanError):  # not every method takes every model
                anonymize(table, Plan(schema, models, METHODS[method]()))
    if "full-domain" in methods:
        close = make_model("t-closeness", t=0.3)
        anonymize(table, Plan(schema, (size, close), FullDomain(suppression=0.05)))
        anonymize(table, Plan(schema, (size, values), AntiUnification(patterns="model-aware")))
        for rows in (table, table.slice(0, 12)):
            anonymize(rows, Plan(schema, (size,), Mdav(quality="good", effort=1)))
        columns = {name: schema.columns[name] for name in QUASI_IDENTIFIERS}
        alone = table.select(list(columns))
        anonymize(alone, Plan(Schema(columns), (size,), AntiUnification(patterns="overlapping")))
        _search_a_wide_lattice()
        _count_many_sets()
        _aggregate_in_rounds()
    else:
        anonymize(table, Plan(schema, (size,), LocalSuppression(missing="loose")))
        numbers, numeric = _numbers(2, 2501)
        anonymize(numbers, Plan(numeric, (size,), Mondrian(publish={"q0": "range", "q1": "range"})))
        anonymize(numbers, Plan(numeric, (size,), Cbfs()))


def _numbers(columns: int, rows: int) -> tuple[pa.Table, Schema]:
    """A table of numbers, whose intervals get wider."""
    import numpy as np
    import pyarrow as pa

    random = np.random.default_rng(0)
    names = [f"q{number}" for number in range(columns)]
    schema = Schema({name: Column(Role.QUASI_IDENTIFIER, Widths((5, 10, 20))) for name in names})
    return pa.table({name: random.integers(0, 30, rows) for name in names}), schema


def _search_a_wide_lattice() -> None:
    """More nodes than can have a bound each: such lattices are searched in another way."""
    table, schema = _numbers(12, 300)
    method = FullDomain(suppression=0.05, time_limit=1.0)  # of searching
    anonymize(table, Plan(schema, (make_model("k-anonymity", k=3),), method))


def _aggregate_in_rounds() -> None:
    """MDAV takes so many rows in rounds."""
    import numpy as np

    from shoal.methods.microaggregation.kernels.mdav import mdav
    from shoal.methods.microaggregation.kernels.parallel_mdav import WORTH

    mdav(np.random.default_rng(0).normal(size=(WORTH, 6)), 3)


def _count_many_sets() -> None:
    """Sets of columns are counted by compiled code where tables are large, which takes long: here by itself."""
    import numpy as np

    from shoal.kernels.column_subsets import hide_rare, look_at_sets
    from shoal.table.cell_suppression import HIDE, make_cells, make_tables
    from shoal.table.column_subsets import Facts

    fixed = np.ones(1, np.int64)
    fixed.flags.writeable = False  # as what an engine has counted
    for count in (np.ones(1, np.int64), fixed):
        facts = Facts(np.zeros((1, 2), np.int64), [1, 1], count)
        look_at_sets(facts, facts, [(0, 1)])
    sets, found, often = np.asarray([(0, 1)]), np.zeros(1, np.int8), np.zeros((1, 2), np.float32)
    tables = make_tables([1, 1], {(0, 1): 0}, np.full(1, -1, np.int64), 16)
    hide_rare(
        make_cells(np.zeros((2, 1))), np.ones(2, np.int64), np.ones(1, np.int32), sets, np.zeros(1, np.int64),
        np.ones(1, np.int64), often, np.ones(2), HIDE, tables, 16, found,
    )  # fmt: skip


if __name__ == "__main__":
    print(pack_compiled().name)
