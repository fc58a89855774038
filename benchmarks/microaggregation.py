"""Time, growth, memory and loss of the microaggregation kernels, beside a brute-force kernel in the same run.

    python benchmarks/microaggregation.py            # up to 1,000,000 records, about two minutes
    python benchmarks/microaggregation.py --most 100000

Records are standard normal in six attributes, k = 5; the confidential attributes have 15 values each, common and
rare ones. Compilation is not timed: every kernel runs once on a small table first.
"""

import argparse
import resource
import sys
import time
from collections.abc import Callable

import numpy as np
from numba import njit

from shoal.kernels.judge import p_sensitive
from shoal.kernels.mdav import cbfs, mdav, v_mdav
from shoal.kernels.p_first import p_first
from shoal.kernels.partition import within_squares
from shoal.kernels.refinement import refine

ATTRIBUTES, K, P = 6, 5, 3


@njit(cache=True)
def brute_force_mdav(points, k):
    """MDAV by scanning all records left for every query: n² d / k."""
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


def report(name: str, points: np.ndarray, run: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    seconds, group = seconds_of(run)
    bar = "#" * max(1, round(4 * np.log2(1 + 10 * seconds)))
    print(
        f"{name:18}{len(points):>10,}{seconds:>10.3f} s{loss(points, group):>9.3f} %{peak_megabytes():>8.0f} MB  {bar}",
        flush=True,
    )
    return seconds, group


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=1_000_000, help="records of the largest table")
    most = parser.parse_args().most
    rng = np.random.default_rng(1)
    everything = rng.normal(size=(most, ATTRIBUTES))
    all_codes = make_codes(most, rng)

    small, small_codes = everything[:3_000], all_codes[:3_000]
    for method in (mdav, cbfs, brute_force_mdav):
        method(small, K)
    v_mdav(small, K, 0.2)
    refine(small, small_codes, p_sensitive(small_codes, K, P), p_first(small, small_codes, K, P), 1_000, 1)

    print(f"{'method':18}{'records':>10}{'time':>12}{'loss':>11}{'peak':>11}  (bar: logarithm of the time)")
    table = everything[:20_000]
    slow, expected = report("MDAV brute force", table, lambda: brute_force_mdav(table, K))
    fast, group = report("MDAV", table, lambda: mdav(table, K))
    print(f"    same partition: {bool((group == expected).all())}; {slow / fast:.0f} times faster than brute force")

    for records in (10_000, 100_000, 1_000_000):
        if records > most:
            break
        table, codes = everything[:records], all_codes[:records]
        base, _ = report("MDAV", table, lambda table=table: mdav(table, K))
        report("CBFS", table, lambda table=table: cbfs(table, K))
        grown, _ = report("p-first", table, lambda table=table, codes=codes: p_first(table, codes, K, P))
        print(f"    p-first takes {grown / base:.1f} times as long as MDAV")
    table, codes = everything[:20_000], all_codes[:20_000]
    judge = p_sensitive(codes, K, P)
    start = p_first(table, codes, K, P)
    report("V-MDAV", table, lambda: v_mdav(table, K, 0.2))
    report("p-first, descent", table, lambda: refine(table, codes, judge, start, 0, 1))
    report("p-first, annealed", table, lambda: refine(table, codes, judge, start, 5_000_000, 1))


if __name__ == "__main__":
    main()
