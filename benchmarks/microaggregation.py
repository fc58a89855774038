"""Microaggregation kernels: time, growth, memory and loss.

    python -m benchmarks.microaggregation            # up to 1,000,000 records, about two minutes
    python -m benchmarks.microaggregation --most 100000

A brute-force kernel is measured in the same run. Records are standard normal in six attributes, k = 5, p = 3; the three
confidential attributes have 15 values each, common and rare ones. Compilation is not timed: every kernel runs once on a
small table first. The loss is SSE/SST in per cent; the memory is the process's peak so far. sdcMicro 5.8, measured
elsewhere on two cores: 10,000 records 0.35 s, 100,000 records 47 s.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numba import njit

from benchmarks.cold import run
from benchmarks.measure import draw, show
from shoal.kernels.rules import Rules, columns_of, make_rules
from shoal.methods.microaggregation.kernels.mdav import cbfs, mdav, v_mdav
from shoal.methods.microaggregation.kernels.p_first import grow_until
from shoal.methods.microaggregation.kernels.partition import within_squares
from shoal.methods.microaggregation.kernels.refinement import refine_partition
from shoal.table.rules import DISTINCT, Rule

ATTRIBUTES, K, P = 6, 5, 3


@njit(cache=True)
def brute_force_mdav(points, k):
    """Compute MDAV with a scan of all remaining records per query: n² d / k."""
    records, attributes = points.shape
    left = np.arange(records)
    group = np.full(records, -1, np.int32)
    total = np.zeros(attributes)
    for row in range(records):
        total += points[row]
    groups = 0
    while len(left) >= 2 * k:
        paired = len(left) >= 3 * k
        query = total / len(left)
        for _ in range(2 if paired else 1):
            distance = np.zeros(len(left))
            for i in range(len(left)):
                for j in range(attributes):
                    step = points[left[i], j] - query[j]
                    distance[i] += step * step
            seed = left[np.argmax(distance)]
            for i in range(len(left)):
                distance[i] = 0.0
                for j in range(attributes):
                    step = points[left[i], j] - points[seed, j]
                    distance[i] += step * step
            distance[np.searchsorted(left, seed)] = -1.0
            for _ in range(k):
                nearest = np.argmin(distance)
                distance[nearest] = np.inf
                group[left[nearest]] = groups
                total -= points[left[nearest]]
            groups += 1
            left = left[group[left] < 0]
            query = points[seed]
    group[left] = groups
    return group


def make_codes(records: int, rng: np.random.Generator) -> np.ndarray:
    return np.minimum(rng.geometric(0.3, size=(records, 3)) - 1, 14).astype(np.int32)


def seconds_of(run: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    start = time.perf_counter()
    group = run()
    return time.perf_counter() - start, group


def peak_megabytes() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def loss(points: np.ndarray, group: np.ndarray) -> float:
    total = ((points - points.mean(axis=0)) ** 2).sum()
    return 100 * within_squares(points, group, int(group.max()) + 1) / total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=1_000_000, help="records of the largest table")
    max_records = parser.parse_args().most
    rng = np.random.default_rng(1)
    everything = rng.normal(size=(max_records, ATTRIBUTES))
    all_codes = make_codes(max_records, rng)

    small, small_codes = everything[:3_000], all_codes[:3_000]
    for method in (mdav, cbfs, brute_force_mdav):
        method(small, K)
    v_mdav(small, K, 0.2)
    rules = p_sensitive(small_codes)
    refine_partition(small, columns_of(small_codes, rules), rules, p_first(small, small_codes), 1_000, 1)

    against_brute_force(everything[:20_000])
    growth(everything, all_codes)
    whole_release(everything)
    refinement(everything[:20_000], all_codes[:20_000])


def p_sensitive(codes: np.ndarray) -> Rules:
    totals = [np.bincount(column) for column in codes.T]
    return make_rules(K, totals, [(a, Rule(DISTINCT, P)) for a in range(codes.shape[1])])


def p_first(table: np.ndarray, codes: np.ndarray) -> np.ndarray:
    rules = p_sensitive(codes)
    return grow_until(table, columns_of(codes, rules), rules, lacking=False)


def against_brute_force(table: np.ndarray) -> None:
    slow, expected = seconds_of(lambda: brute_force_mdav(table, K))
    fast, group = seconds_of(lambda: mdav(table, K))
    show(
        f"MDAV, {len(table):,} records, beside a compiled kernel that scans all records for every query",
        ("brute force s", "shoal s", "times faster", "same groups"),
        [(slow, fast, slow / fast, bool((group == expected).all()))],
    )


def growth(everything: np.ndarray, all_codes: np.ndarray) -> None:
    rows = []
    lines: dict[str, list[tuple[float, float]]] = {"MDAV": [], "CBFS": [], "p-first": []}
    for records in (1_000, 10_000, 100_000, 316_000, 1_000_000):
        if records > len(everything):
            break
        table, codes = everything[:records], all_codes[:records]
        runs = {
            "MDAV": lambda table=table: mdav(table, K),
            "CBFS": lambda table=table: cbfs(table, K),
            "p-first": lambda table=table, codes=codes: p_first(table, codes),
        }
        for name, made in runs.items():
            seconds, group = min(
                (seconds_of(made) for _ in range(1 if records > 200_000 else 3)), key=lambda one: one[0]
            )
            lines[name].append((records, seconds))
            by_mdav = seconds / lines["MDAV"][-1][1]
            rows.append((name, f"{records:,}", seconds, by_mdav, loss(table, group), peak_megabytes()))
    show("Growth", ("method", "records", "seconds", "times MDAV", "loss %", "peak MB"), rows)
    draw("Microaggregation: time against records", "records", "seconds", lines)


PLAN = """[source]
path = "numbers.csv"
[columns]
{columns}
[[models]]
name = "k-anonymity"
k = {k}
[method]
name = "mdav"
[output]
path = "out.csv"
"""


def whole_release(everything: np.ndarray) -> None:
    """Measure a release from CSV to CSV, compared with the kernel alone.

    The release is verified and has its report; it runs in a separate process.
    """
    import pyarrow as pa
    import pyarrow.csv

    start = time.perf_counter(), time.process_time()
    mdav(everything, K)
    alone = time.perf_counter() - start[0], time.process_time() - start[1]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        columns = {f"x{j}": np.round(column, 6) for j, column in enumerate(everything.T)}
        pyarrow.csv.write_csv(pa.table(columns), folder / "numbers.csv")
        roles = "\n".join(f'{column} = {{ role = "quasi-identifier" }}' for column in columns)
        (folder / "plan.toml").write_text(PLAN.format(columns=roles, k=K), encoding="utf-8")
        used = run([sys.executable, "-m", "shoal", "release", "plan.toml", "--json"], folder)
        steps = json.loads((folder / "told").read_text().splitlines()[-1])["seconds"]
    steps_text = ", ".join(f"{step} {seconds:.2f}" for step, seconds in steps.items())
    show(
        f"MDAV of {len(everything):,} records from CSV to a verified CSV with its report, in one cold process",
        ("", "s", "CPU s", "peak MB"),
        [
            ("kernel alone", *alone, ""),
            ("whole release", used["s"], used["CPU s"], used["MB"]),
            ("ratio", used["s"] / alone[0], used["CPU s"] / alone[1], ""),
        ],
        f"Seconds of its steps: {steps_text}. Bounding is the proof of what any microaggregation must lose.",
    )


def refinement(table: np.ndarray, codes: np.ndarray) -> None:
    rules = p_sensitive(codes)
    columns = columns_of(codes, rules)
    start = p_first(table, codes)
    rows = []
    for name, made in (
        ("V-MDAV", lambda: v_mdav(table, K, 0.2)),
        ("p-first", lambda: p_first(table, codes)),
        ("p-first, descent", lambda: refine_partition(table, columns, rules, start, 0, 1)),
        ("p-first, annealed", lambda: refine_partition(table, columns, rules, start, 5_000_000, 1)),
    ):
        seconds, group = seconds_of(made)
        rows.append((name, seconds, loss(table, group)))
    show(f"Variants and refinement, {len(table):,} records", ("method", "seconds", "loss %"), rows)


if __name__ == "__main__":
    main()
