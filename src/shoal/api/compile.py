"""Compilation of all methods in advance, so that no first run is delayed.

Numba compiles a kernel on its first call and stores the result on disk, see :mod:`shoal.kernels.cache`. That takes up
to a minute per method, once after an installation. ``shoal compile`` runs every method on a small table beforehand, and
calls separately the kernels that only large tables need.
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

PARTS = (
    ("mondrian", "top-down", "refine", "switching", "local-suppression"),
    ("full-domain", "anti-unification", "mdav", "p-first", "k-first", "cbfs", "v-mdav", "univariate"),
)
"""Methods by process, in the order of compilation; methods that share kernels are together, durations similar."""


def compile_methods(progress: Progress = quiet) -> None:
    """Run every method once on a small table, in two processes.

    Takes about two minutes if nothing is compiled yet.
    """
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor, as_completed

    progress("compiling", 0.0)
    with ProcessPoolExecutor(len(PARTS), multiprocessing.get_context("spawn")) as pool:
        futures = [pool.submit(_run, names) for names in PARTS]
        for done, future in enumerate(as_completed(futures), 1):
            future.result()
            progress("compiling", done / len(futures))


def pack_compiled() -> Path:
    """Compile all methods and pack the code for a wheel; return its path.

    The package is written next to the kernels, where the build of a wheel includes it.
    """
    from shoal.kernels import cache

    compile_methods()
    target = cache.packed_path(cache._store())
    cache.pack(cache._store(), target)
    return target


def _run(methods: tuple[str, ...]) -> None:
    """Run methods on a small table, with models of a sensitive column too.

    Kernels that this does not reach are compiled afterwards.
    """
    columns = {name: Column(Role.QUASI_IDENTIFIER) for name in QUASI_IDENTIFIERS}
    columns["age"] = Column(Role.QUASI_IDENTIFIER, Widths((5, 10, 20)))
    schema = Schema({**columns, SENSITIVE: Column(Role.SENSITIVE)})
    table = census_table(300)
    k_anonymity, p_sensitive = make_model("k-anonymity", k=3), make_model("p-sensitive", p=2)
    for method in methods:
        for models in ((k_anonymity,), (k_anonymity, p_sensitive)):
            with contextlib.suppress(PlanError):  # not every method supports every model
                anonymize(table, Plan(schema, models, METHODS[method]()))
    if "full-domain" in methods:
        t_closeness = make_model("t-closeness", t=0.3)
        anonymize(table, Plan(schema, (k_anonymity, t_closeness), FullDomain(suppression=0.05)))
        anonymize(table, Plan(schema, (k_anonymity, p_sensitive), AntiUnification(patterns="model-aware")))
        for rows in (table, table.slice(0, 12)):
            anonymize(rows, Plan(schema, (k_anonymity,), Mdav(quality="good", effort=1)))
        columns = {name: schema.columns[name] for name in QUASI_IDENTIFIERS}
        without_sensitive = table.select(list(columns))
        anonymize(without_sensitive, Plan(Schema(columns), (k_anonymity,), AntiUnification(patterns="overlapping")))
        _compile_lattice_search()
        _compile_subset_counting()
        _compile_parallel_mdav()
        _compile_linked_facts()
    else:
        anonymize(table, Plan(schema, (k_anonymity,), LocalSuppression(missing="loose")))
        numeric_table, numeric_schema = _numeric_table(2, 2501)
        anonymize(numeric_table, Plan(numeric_schema, (k_anonymity,), Mondrian(publish={"q0": "range", "q1": "range"})))
        anonymize(numeric_table, Plan(numeric_schema, (k_anonymity,), Cbfs()))


def _numeric_table(columns: int, rows: int) -> tuple[pa.Table, Schema]:
    """Build a table of numbers, and its schema with nested intervals."""
    import numpy as np
    import pyarrow as pa

    random = np.random.default_rng(0)
    names = [f"q{number}" for number in range(columns)]
    schema = Schema({name: Column(Role.QUASI_IDENTIFIER, Widths((5, 10, 20))) for name in names})
    return pa.table({name: random.integers(0, 30, rows) for name in names}), schema


def _compile_lattice_search() -> None:
    """Search a lattice with too many nodes to store a bound for each.

    Such lattices use another search.
    """
    table, schema = _numeric_table(12, 300)
    method = FullDomain(suppression=0.05, time_limit=1.0)  # of searching
    anonymize(table, Plan(schema, (make_model("k-anonymity", k=3),), method))


def _compile_parallel_mdav() -> None:
    """Run MDAV on enough rows for its parallel rounds."""
    import numpy as np

    from shoal.methods.microaggregation.kernels.mdav import mdav
    from shoal.methods.microaggregation.kernels.parallel_mdav import MIN_RECORDS_FOR_ROUNDS

    mdav(np.random.default_rng(0).normal(size=(MIN_RECORDS_FOR_ROUNDS, 6)), 3)


def _compile_linked_facts() -> None:
    """Leave out facts of linked tables, and put them back."""
    import numpy as np

    from shoal.methods.linked.suppress import leave_out, put_back
    from shoal.table.linked_coding import CodedChild, CodedTables

    person = np.arange(8) // 2
    facts = CodedTables(4, (CodedChild("facts", -1, person, person, (), ()),))
    root, label, lot = np.zeros(4, np.int64), np.arange(8) % 3, np.arange(8)
    alive = leave_out(facts, root, label, 2, 2, lot)
    put_back(facts, root, label, 2, 2, lot, alive)


def _compile_subset_counting() -> None:
    """Count column subsets by the kernels for large tables.

    They are called directly: a large table would take long.
    """
    import numpy as np

    from shoal.kernels.column_subsets import count_sets_parallel, hide_rare
    from shoal.table.cell_suppression import HIDE, make_cell_state, make_subset_counts
    from shoal.table.column_subsets import SubsetCounter

    fixed = np.ones(1, np.int64)
    fixed.flags.writeable = False  # like the counts of an engine
    for count in (np.ones(1, np.int64), fixed):
        facts = SubsetCounter(np.zeros((1, 2), np.int64), [1, 1], count)
        count_sets_parallel(facts, facts, [(0, 1)])
    sets, found, often = np.asarray([(0, 1)]), np.zeros(1, np.int8), np.zeros((1, 2), np.float32)
    tables = make_subset_counts([1, 1], {(0, 1): 0}, np.full(1, -1, np.int64), 16)
    hide_rare(
        make_cell_state(np.zeros((2, 1))), np.ones(2, np.int64), np.ones(1, np.int32), sets, np.zeros(1, np.int64),
        np.ones(1, np.int64), often, np.ones(2), HIDE, tables, 16, found,
    )  # fmt: skip


if __name__ == "__main__":
    print(pack_compiled().name)
