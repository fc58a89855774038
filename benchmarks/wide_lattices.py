"""Lattices beyond exhaustive search: loss after 1 to 30 seconds.

    python -m benchmarks.wide_lattices [--quick]

A plain best-first search is measured as well. Tables of 15 to 20 skewed and correlated columns are drawn
(:func:`wide_table`). The other search is a plain re-implementation of Lightning (Prasser, Bild, Eicher, Spengler,
Kohlmayer and Kuhn, "Lightning: utility-driven anonymization of high-dimensional data", 2016): best first by loss from
the bottom, all direct generalizations of a node checked when it is expanded, and periodically a dive that follows the
least loss upwards. It evaluates nodes with shoal's compiled roll-up. Figures of ARX are quoted, on other tables of the
same shape and with 30 seconds: loss .5602 with 16 columns and 85 million nodes, .4732 with 15 columns and 377 million.
"""

from __future__ import annotations

import heapq
import sys
import time
from collections.abc import Sequence

import numpy as np

from benchmarks.full_domain import of_columns
from benchmarks.measure import measure, show
from shoal.methods import FullDomain, Problem
from shoal.methods.base import row_limit
from shoal.methods.full_domain.exhaustive import find_optimum
from shoal.methods.full_domain.lattice import NodeEvaluator
from shoal.methods.full_domain.lattice_search import column_losses

SHAPES = {
    "16 columns": (
        60_000,
        (2, 74, 5, 7, 16, 41, 8, 14, 2, 60, 9, 3, 12, 5, 30, 4),
        (1, 4, 1, 2, 3, 4, 2, 3, 1, 4, 2, 1, 3, 1, 4, 2),
    ),
    "15 columns": (
        40_000,
        (90, 52, 12, 6, 26, 80, 9, 33, 15, 4, 70, 21, 7, 18, 45),
        (5, 4, 3, 2, 4, 5, 2, 4, 2, 1, 4, 3, 2, 2, 4),
    ),
    "20 columns": (
        30_000,
        (2, 40, 5, 8, 16, 30, 6, 14, 2, 20, 9, 3, 12, 5, 25, 4, 10, 7, 6, 18),
        (1, 3, 1, 2, 3, 3, 1, 2, 1, 3, 2, 1, 2, 1, 3, 1, 2, 2, 1, 3),
    ),
}
SECONDS = {"16 columns": (1, 3, 10, 30), "15 columns": (1, 3, 10, 30), "20 columns": (1, 3)}
"""The time limits of each search in seconds, by table."""


def wide_table(rows: int, leaves: tuple[int, ...], heights: tuple[int, ...], k: int = 5, seed: int = 0) -> Problem:
    """Draw a table of skewed and correlated columns.

    Each column depends on one of three hidden traits, more or less closely.
    """
    random = np.random.default_rng(seed)
    hidden = random.normal(size=(rows, 3))
    columns = []
    for values in leaves:
        closeness = random.uniform(0.2, 0.9)
        score = closeness * hidden[:, random.integers(3)] + (1 - closeness**2) ** 0.5 * random.normal(size=rows)
        share = 1 / np.arange(1, values + 1) ** random.uniform(0.5, 1.5)
        ends = np.quantile(score, np.cumsum(share / share.sum())[:-1])
        columns.append(np.searchsorted(ends, score))
    return of_columns(columns, leaves, heights, k)


def lightning(problem: Problem, suppression: float, seconds: Sequence[float]) -> list[tuple[float, int]]:
    """Return the least loss after each time of a best-first search.

    The search is plain, with dives. The number of evaluated nodes is returned as well.
    """
    start = time.monotonic()
    end = start + seconds[-1]
    reached: list[tuple[float, int]] = []
    method = FullDomain(suppression=suppression)
    lowest, highest = method.bounds(problem)
    measure = method.measure(problem)
    evaluator = NodeEvaluator(problem, measure)
    limit = row_limit(suppression, measure.rows)
    losses = column_losses(measure, problem, limit)
    best = float("inf")
    seen: set[tuple[int, ...]] = set()
    queue: list[tuple[float, tuple[int, ...]]] = []

    def least(node: tuple[int, ...]) -> float:
        return float(measure.combine(np.asarray([part[level] for part, level in zip(losses, node, strict=True)])))

    def check(node: tuple[int, ...]) -> float:
        nonlocal best
        while len(reached) < len(seconds) and time.monotonic() - start >= seconds[len(reached)]:
            reached.append((best, evaluator.seen))
        seen.add(node)
        best = min(best, evaluator.look(node, limit).loss)
        loss = least(node)
        heapq.heappush(queue, (loss, node))
        return loss

    def expand(node: tuple[int, ...]) -> tuple[int, ...] | None:
        """Evaluate the direct generalizations; return the one of least loss."""
        above = [(*node[:a], node[a] + 1, *node[a + 1 :]) for a in range(len(node)) if node[a] < highest[a]]
        found = []
        for one in above:
            if one not in seen and time.monotonic() < end:
                found.append((check(one), one))
        return min(found)[1] if found else None

    check(lowest)
    step = 0
    while queue and time.monotonic() < end:
        bound, node = heapq.heappop(queue)
        if bound >= best:
            break
        step += 1
        if step % len(node) == 1:  # a dive
            following: tuple[int, ...] | None = node
            while following is not None and time.monotonic() < end:
                following = expand(following)
        else:
            expand(node)
    return [*reached, *[(best, evaluator.seen)] * (len(seconds) - len(reached))]


def found_by_shoal(problem: Problem, suppression: float, seconds: float) -> tuple[float, float, int]:
    """Return the loss found, its lower bound, and the evaluated nodes."""
    method = FullDomain(suppression=suppression)
    found = find_optimum(problem, method.measure(problem), suppression, *method.bounds(problem), seconds)
    return (float("inf") if found.best is None else found.best.loss), found.lower_bound, found.seen


SETUP = """
from benchmarks.wide_lattices import *
problem = wide_table(*SHAPES[{name!r}])
small = wide_table(200, (3,) * 24, (1,) * 24)  # 16 million nodes: what is timed is compiled before
found_by_shoal(small, 0.02, 0.1), lightning(small, 0.02, (0.1,))
"""


def main(quick: bool = False) -> None:
    rows = []
    for name, (_, _, heights) in SHAPES.items():
        nodes = int(np.prod([height + 1 for height in heights]))
        times = SECONDS[name][:2] if quick else SECONDS[name]
        setup = SETUP.format(name=name)
        ours = measure(setup, f"answer = [found_by_shoal(problem, 0.02, seconds) for seconds in {times}]")
        plain = measure(setup, f"answer = lightning(problem, 0.02, {times})")
        for seconds, (loss, bound, seen), (other, looks) in zip(times, ours["answer"], plain["answer"], strict=True):
            rows.append(
                (name, f"{nodes:,}", f"{seconds} s", loss, other, bound, seen, looks, ours["peak_mb"], plain["peak_mb"])
            )
    show(
        "Lattices above ten million nodes, k = 5, 2 % left out",
        (
            "table",
            "nodes",
            "time",
            "loss",
            "loss, plain",
            "at least",
            "looked at",
            "looked at, plain",
            "peak MB",
            "peak MB, plain",
        ),
        rows,
        "Plain is a best-first search from the bottom with dives, as Lightning's, with the same compiled looks.",
    )


if __name__ == "__main__":
    main("--quick" in sys.argv)
