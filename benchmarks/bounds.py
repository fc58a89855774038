"""How far releases are from the best possible: loss, proven bound and time, by method and quality.

    SHOAL_DATA=... python -m benchmarks.bounds            # quality fast and good
    SHOAL_DATA=... python -m benchmarks.bounds --best     # best too: some minutes
    SHOAL_DATA=... python -m benchmarks.bounds --small 2000   # gaps on so many small tables, against all partitions
    SHOAL_DATA=... python -m benchmarks.bounds --growth   # the bound's own time up to a million rows

Adult has ARX's columns and hierarchies, k = 5, and the loss is 1 - granularity times the mean weight of columns, as
:mod:`benchmarks.local_recoding` has it. Times are the process's processor time, for machines are shared. ``gap`` is the
loss over the sharpest bound; ``rows alone`` is the bound without prices, each row by itself. On small tables the gap is
the part of the optimum that the bound misses.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from pathlib import Path

import numpy as np

from benchmarks.local_recoding import ADULT, NINE, adult, granularity, problem_of
from benchmarks.measure import show
from shoal.bounds.recodings import least_loss, local_measure
from shoal.data.census import QUASI_IDENTIFIERS, census_table
from shoal.engines.base import Source
from shoal.kernels.rules import make_rules
from shoal.methods import Method, Problem, Refine, TopDown
from shoal.methods.local.bounding import EFFORT
from shoal.methods.microaggregation.bounding import least_squares
from shoal.methods.microaggregation.kernels.mdav import mdav
from shoal.methods.microaggregation.kernels.partition import within_squares
from shoal.methods.microaggregation.kernels.refinement import refine_partition
from shoal.models import KAnonymity
from shoal.schema import Column, Role, Schema, Widths


def bound_of(problem: Problem, effort: int = 1) -> tuple[float, float]:
    """The bound of granularity's loss, and the seconds that it takes."""
    measure = local_measure("granularity", problem.frequencies, problem.ladders, {})
    shown = ["ancestor"] * len(problem.ladders)
    start = time.process_time()
    least = least_loss(
        measure, problem.frequencies, problem.ladders, problem.model, shown, [None] * len(shown), whole=True,
        effort=effort,
    )  # fmt: skip
    assert least is not None
    return least / float(measure.weight.sum()), time.process_time() - start


def on_adult(folder: Path, qualities: tuple[str | None, ...]) -> None:
    for names in (ADULT, NINE):
        problem = adult(folder, names, 5)
        bound_of(problem)
        TopDown("granularity").decide(problem)  # compiles, or loads what was compiled
        rows = []
        least = 0.0
        for effort in (0, 1, *(EFFORT[quality] for quality in qualities if quality in EFFORT)):
            found, seconds = bound_of(problem, effort)
            least = max(least, found)
            title = f"bound, {effort} times the work" if effort else "bound, rows alone"
            rows.append((title, f"{1 - found:.5f}", "", f"{seconds:.2f}"))
        methods: list[tuple[str, Method]] = [("top-down", TopDown("granularity"))]
        methods += [(f"refine {quality or ''}", Refine(loss="granularity", quality=quality)) for quality in qualities]  # type: ignore[arg-type]
        for title, method in methods:
            start = time.process_time()
            left = granularity(problem, method.decide(problem))
            taken = time.process_time() - start
            rows.append((title, f"{left:.5f}", f"{(1 - left) / least:.3f}", f"{taken:.2f}"))
        show(f"Adult, {len(names)} columns, k = 5", ("", "granularity", "gap", "seconds"), rows)


def on_numbers(folder: Path, proposals: tuple[int, ...]) -> None:
    for name in ("census", "tarragona", "eia"):
        with (folder / "casc" / f"{name}.csv").open() as file:
            lines = list(csv.reader(file))[1:]
        kept = [j for j in range(len(lines[0])) if all(_is_number(line[j]) for line in lines)]
        table = np.asarray([[float(line[j]) for j in kept] for line in lines])
        table = table[:, table.std(axis=0) > 0]
        points = np.ascontiguousarray((table - table.mean(axis=0)) / table.std(axis=0, ddof=1))
        total = float(((points - points.mean(axis=0)) ** 2).sum())
        none = np.empty((len(points), 0), np.int32)
        rows = []
        for k in (3, 5, 10):
            least = 100 * float(least_squares(points, k, []).sum()) / total
            group = mdav(points, k)
            found = [100 * float(within_squares(points, group, int(group.max()) + 1)) / total]
            for steps in proposals:
                better = refine_partition(points, none, make_rules(k, [], []), group, steps, 0)
                found.append(100 * float(within_squares(points, better, int(better.max()) + 1)) / total)
            rows.append((str(k), f"{least:.3f}", *(f"{figure:.3f}" for figure in found)))
        heads = ("k", "bound", "mdav", *(f"{steps:,} proposals" for steps in proposals))
        show(f"{name}, {points.shape[1]} columns, 100 SSE/SST", heads, rows)


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def on_small_tables(count: int) -> None:
    """Gaps between the bound and the optimum of all partitions, model by model, and how often refine finds that."""
    from tests.unit.test_bounds import MODELS, optimum, tiny

    rows = []
    for name, models in MODELS.items():
        rng = np.random.default_rng(1)
        wrong = tight = some = 0
        found = dict.fromkeys(("fast", "good", "best"), 0)
        gaps = []
        for _ in range(count // len(MODELS)):
            problem = tiny(rng, models, rows=int(rng.integers(4, 8)))
            measure = local_measure("ncp", problem.frequencies, problem.ladders, {})
            shown = ["ancestor"] * 3
            least = least_loss(
                measure, problem.frequencies, problem.ladders, problem.model, shown, [None] * 3, whole=True
            )
            best = optimum(problem, measure, shown, True)
            if not 0 < best < np.inf or least is None:
                continue
            some += 1
            wrong += least > best * (1 + 1e-12)
            tight += least > best * (1 - 1e-9)
            gaps.append(1 - least / best)
            for quality in found:
                method = Refine(quality=quality)  # type: ignore[arg-type]
                bound = method.lower_bound(problem, method.decide(problem))
                found[quality] += bound is not None and bound.loss <= best * (1 + 1e-9)
        spread = [f"{np.quantile(gaps, part):.3f}" for part in (0.5, 0.9, 1.0)] if gaps else ["", "", ""]
        rows.append((name, *map(str, (some, wrong, tight)), *spread, *map(str, found.values())))
    heads = ("model", "tables", "bound above", "bound is the optimum", "gap: median", "nine of ten", "largest",
             *(f"found by {quality}" for quality in found))  # fmt: skip
    show("Small tables, all partitions", heads, rows)


def growth(most: int) -> None:
    rows = []
    for count in (10_000, 100_000, 1_000_000):
        if count > most:
            break
        columns = {name: Column(Role.QUASI_IDENTIFIER) for name in QUASI_IDENTIFIERS}
        if "age" in columns:
            columns["age"] = Column(Role.QUASI_IDENTIFIER, Widths((5, 10, 20)))
        table = census_table(count, seed=1).select(list(columns))
        problem = problem_of(Source(frame=table), Schema(columns), (KAnonymity(5),))
        taken = [bound_of(problem, effort)[1] for effort in (0, 0, 1, 1)][1::2]  # the first of each loads compiled code
        for method in (TopDown("granularity"), Refine(loss="granularity")):
            method.decide(problem)
            start = time.process_time()
            method.decide(problem)
            taken.append(time.process_time() - start)
        rows.append((f"{count:,}", f"{len(problem.frequencies.count):,}", *(f"{seconds:.2f}" for seconds in taken)))
    heads = ("rows", "combinations", "rows alone", "with prices", "top-down", "refine")
    show("The bounds' time beside the methods', processor seconds", heads, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--best", action="store_true")
    parser.add_argument("--small", type=int, default=0)
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--most", type=int, default=1_000_000)
    given = parser.parse_args()
    if given.small:
        on_small_tables(given.small)
    elif given.growth:
        growth(given.most)
    else:
        folder = Path(os.environ["SHOAL_DATA"])
        on_adult(folder, (None, "good", "best") if given.best else (None, "good"))
        on_numbers(folder, (5_000_000, 50_000_000) if given.best else (5_000_000,))


if __name__ == "__main__":
    main()
