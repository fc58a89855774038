"""Anti-unification: growth with rows, loss, and a reference in Python.

    SHOAL_DATA=... python -m benchmarks.anti_unification --rows 32561 1000000 --redrawn 0.1

Rows are drawn from Adult (eight attributes and salary, if SHOAL_DATA names the folder of adult/adult.data; otherwise
from skewed columns with the same numbers of values). A share of all cells is redrawn uniformly from the column's
values, so that rare combinations do not vanish as the table grows. The frequency set is built before the clock starts.
The reference implementation runs on a small table.
"""

import argparse
import csv
import os
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.measure import draw, show
from shoal.methods.patterns.kernels.finding import find_patterns
from shoal.methods.patterns.kernels.groups import group_by_patterns
from shoal.methods.patterns.kernels.matching import measure_overlap

CARDINALITIES = (15, 9, 16, 7, 15, 5, 2, 42, 2)


def adult_rows():
    """Return codes of Adult's 32561 training records, int32 (n, 9).

    Without the file, the codes are random and skewed.
    """
    file = Path(os.environ.get("SHOAL_DATA", "")) / "adult" / "adult.data"
    if not file.is_file():
        generator = np.random.default_rng(0)
        columns = [np.minimum(generator.zipf(1.6, 32561), size) - 1 for size in CARDINALITIES]
        return "skewed columns", np.column_stack(columns).astype(np.int32)
    with file.open(newline="", encoding="utf-8") as lines:
        records = [row for row in csv.reader(lines, skipinitialspace=True) if len(row) == 15]
    ages = [0 if int(row[0]) < 20 else min(int(row[0]), 90) // 5 for row in records]
    chosen = np.array([[row[i] for i in (1, 3, 5, 6, 8, 9, 13, 14)] for row in records])
    columns = [np.unique(column, return_inverse=True)[1] for column in (np.array(ages), *chosen.T)]
    return "Adult", np.column_stack(columns).astype(np.int32)


def drawn(base, rows, redrawn, seed):
    """Return the frequency set of a table drawn from ``base``.

    A share of its quasi-identifier cells is redrawn.
    """
    generator = np.random.default_rng(seed)
    table = base if rows == len(base) else base[generator.integers(0, len(base), rows)]
    table = table.copy()
    for column in range(table.shape[1] - 1):
        cells = np.flatnonzero(generator.random(rows) < redrawn)
        table[cells, column] = generator.integers(0, base[:, column].max() + 1, len(cells))
    keys = np.zeros(rows, dtype=np.int64)
    for column in table.T:
        keys = keys * (int(column.max()) + 1) + column
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    return np.ascontiguousarray(table[first, :-1]), table[first, -1].copy(), counts.astype(np.int64)


def two_classes(classes):
    """Return a model: at least two confidential values in each group.

    It is for the model-aware reading.
    """
    size = int(classes.max()) + 1

    def accept(rows, groups, number):
        histogram = np.bincount(groups * size + classes[rows], minlength=number * size)
        return (histogram.reshape(number, size) > 0).sum(axis=1) >= 2

    return accept


def timed(function):
    start = time.perf_counter()
    result = function()
    return result, time.perf_counter() - start


def measure(table, k, indifferent, order):
    """Return one line per reading.

    A line has the name, seconds, patterns or groups, suppressed rows and the share of cells that are stars.
    """
    codes, classes, counts = table
    free = np.zeros_like(classes)
    patterns, search = timed(lambda: find_patterns(codes, classes, counts, k, indifferent, order))
    _, overlap = timed(lambda: measure_overlap(codes, classes, counts, patterns))
    lines = [("overlapping", search + overlap, len(patterns.codes), int(counts[patterns.identified == -1].sum()), "")]
    for name, arguments in {
        "disjoint": (classes, None, False),
        "disjoint, rest kept": (classes, None, True),
        "model-aware": (free, two_classes(classes), False),
    }.items():
        given, accept, keep = arguments
        groups, seconds = timed(
            lambda given=given, accept=accept, keep=keep: group_by_patterns(
                codes, given, counts, k, indifferent, order, accept, keep
            )
        )
        stars = ((groups.codes == -1).sum(axis=1) * groups.sizes).sum() / (groups.sizes.sum() * codes.shape[1])
        lines.append((name, seconds, len(groups.sizes), int(counts.sum() - groups.sizes.sum()), float(stars)))
    return lines


def end_to_end(base, rows, redrawn, seed, k, indifferent):
    """Print the seconds from a table in memory to a verified release.

    There is one line per reading, with the seconds of each step.
    """
    import pyarrow as pa

    import shoal
    from shoal.schema import Column, Role, Schema

    codes, classes, counts = drawn(base, rows, redrawn, seed)
    table = np.repeat(np.column_stack([codes, classes]), counts, axis=0)
    names = [f"column {j}" for j in range(table.shape[1])]
    values = pa.array([f"value {code:02}" for code in range(int(table.max()) + 1)])
    frame = pa.table({name: values.take(pa.array(column)) for name, column in zip(names, table.T, strict=True)})
    schema = Schema({**{name: Column(Role.QUASI_IDENTIFIER) for name in names[:-1]}, names[-1]: Column(Role.SENSITIVE)})
    for reading, keep_rest, models in (
        ("overlapping", False, ()),
        ("disjoint", False, ()),
        ("disjoint", True, ()),
        ("model-aware", False, (shoal.models.PSensitive(2),)),
        ("model-aware", False, (shoal.models.TCloseness(0.3),)),
    ):
        method = shoal.methods.AntiUnification(indifferent, patterns=reading, keep_rest=keep_rest)
        plan = shoal.Plan(schema, (shoal.models.KAnonymity(k), *models), method)
        release, seconds = timed(lambda plan=plan: shoal.anonymize(frame, plan))
        steps = ", ".join(f"{name} {spent:.2f}" for name, spent in release.seconds.items())
        what = " ".join([reading, *(["kept"] if keep_rest else []), *(model.name for model in models)])
        print(f"  end to end, k={k}, {what}: {seconds:.2f} s ({steps}), left {release.figures['suppressed']}")


def slow_twin(table, k, indifferent, order):
    """Return the seconds of the reference and of the kernel.

    Both use the disjoint reading and must agree.
    """
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from tests.reference import anti_unification as reference

    codes, classes, counts = table
    rows = list(zip(map(tuple, codes.tolist()), classes.tolist(), counts.tolist(), strict=True))
    expected, slow = timed(lambda: reference.form_groups(rows, k, indifferent, order))
    groups, fast = timed(lambda: group_by_patterns(codes, classes, counts, k, indifferent, order))
    found = [None if group == -1 else tuple(groups.codes[group].tolist()) for group in groups.assignment]
    return slow, fast, found == expected


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 32561, 100_000, 316_000, 1_000_000])
    parser.add_argument("--redrawn", type=float, default=0.1, help="share of cells redrawn (Adult itself: 0)")
    parser.add_argument("--k", type=int, nargs="+", default=[5, 30])
    parser.add_argument("--indifferent", type=int, default=2)
    parser.add_argument("--twin-rows", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--end-to-end", action="store_true", help="also the whole way of a table in memory")
    chosen = parser.parse_args()
    source, base = adult_rows()
    measure(
        drawn(base, 500, 0.0, 0), 5, chosen.indifferent, ("<", ">")
    )  # compiles the kernels, or loads them from the cache
    small = drawn(base, chosen.twin_rows, 0.0, chosen.seed)
    slow, fast, equal = slow_twin(small, 5, chosen.indifferent, ("<", ">"))
    show(
        f"{source}, {chosen.twin_rows:,} rows, k = 5, beside the plain twin in Python",
        ("twin s", "shoal s", "times faster", "same groups"),
        [(slow, fast, slow / fast, equal)],
    )
    rows, lines = [], {}
    for size in chosen.rows:
        for redrawn in dict.fromkeys((0.0, chosen.redrawn)) if size == len(base) else (chosen.redrawn,):
            table = drawn(base, size, redrawn, chosen.seed)
            for k in chosen.k:
                for name, seconds, groups, left, stars in measure(table, k, chosen.indifferent, ("<", ">")):
                    rows.append(
                        (f"{size:,}", f"{redrawn:.0%}", f"{len(table[2]):,}", k, name, seconds, groups, left, stars)
                    )
                    if k == chosen.k[0] and redrawn == chosen.redrawn:
                        lines.setdefault(name, []).append((size, seconds))
                if chosen.end_to_end:
                    end_to_end(base, size, redrawn, chosen.seed, k, chosen.indifferent)
    show(
        f"{source}, 8 columns and a class, passes (<, >)",
        (
            "rows",
            "cells redrawn",
            "combinations",
            "k",
            "reading",
            "seconds",
            "patterns",
            "rows left",
            "part of cells *",
        ),
        rows,
    )
    draw(f"Anti-unification: time against rows, k = {chosen.k[0]}", "rows", "seconds", lines)


if __name__ == "__main__":
    main()
