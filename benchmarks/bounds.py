"""Gaps between releases and their lower bounds, by method and quality.

    SHOAL_DATA=... python -m benchmarks.bounds            # quality fast and good
    SHOAL_DATA=... python -m benchmarks.bounds --best     # best too: some minutes
    SHOAL_DATA=... python -m benchmarks.bounds --small 2000   # gaps on 2000 small tables, against all partitions
    SHOAL_DATA=... python -m benchmarks.bounds --small-numbers 1000   # the same for microaggregation
    SHOAL_DATA=... python -m benchmarks.bounds --growth   # the time of the bound up to a million rows
    SHOAL_DATA=... python -m benchmarks.bounds --numbers census --sizes 3 10   # microaggregation of one table only
    SHOAL_DATA=... python -m benchmarks.bounds --numbers sensitive --sizes 3   # the same, p-sensitive

Adult has ARX's columns and hierarchies, k = 5, and the loss is 1 - granularity times the mean weight of columns, as
in :mod:`benchmarks.local_recoding`. Times are processor time, since machines are shared. ``gap`` is the loss over the
sharpest bound; ``rows alone`` is the bound without prices, each row by itself. On small tables the gap is the share of
the optimum that the bound misses.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.local_recoding import ADULT, NINE, adult, granularity, problem_of
from benchmarks.measure import show
from shoal.bounds.recodings import least_recoding_loss, local_measure
from shoal.datasets.census import QUASI_IDENTIFIERS, census_table
from shoal.io.engines.base import Source
from shoal.kernels.rules import columns_of, make_rules
from shoal.methods import Mdav, Method, PFirst, Problem, Refine, TopDown
from shoal.methods.base import Quality, quiet
from shoal.methods.local.lower_bounds import EFFORT
from shoal.methods.microaggregation.kernels.mdav import mdav
from shoal.methods.microaggregation.kernels.p_first import grow_until
from shoal.methods.microaggregation.kernels.partition import within_squares
from shoal.methods.microaggregation.lower_bounds import min_squares_per_row
from shoal.methods.microaggregation.points import form_groups, improve
from shoal.models import KAnonymity
from shoal.schema import Column, Role, Schema, Widths
from shoal.table.rules import DISTINCT, Rule

NUMBERS = ("census", "tarragona", "eia")
SIZES, P_SIZES = (3, 5, 10), (3, 5, 7, 10)


def bound_of(problem: Problem, effort: int = 1) -> tuple[float, float]:
    """Return the lower bound of granularity's loss, and its seconds."""
    measure = local_measure("granularity", problem.frequencies, problem.ladders, {})
    output = ["ancestor"] * len(problem.ladders)
    start = time.process_time()
    least = least_recoding_loss(
        measure, problem.frequencies, problem.ladders, problem.model, output, [None] * len(output), whole=True,
        effort=effort,
    )  # fmt: skip
    assert least is not None
    return least / float(measure.weight.sum()), time.process_time() - start


def on_adult(folder: Path, qualities: tuple[str | None, ...]) -> None:
    for names in (ADULT, NINE):
        problem = adult(folder, names, 5)
        bound_of(problem)
        TopDown("granularity").decide(problem)  # compiles the kernels, or loads them from the cache
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


def on_numbers(folder: Path, names: tuple[str, ...], sizes: tuple[int, ...], qualities: tuple[Quality, ...]) -> None:
    """Measure SSE/SST in per cent by quality, with the lower bound.

    The seconds are processor time of each improvement.
    """
    for name in names:
        points = standardised(_numbers(folder, name))
        total = float(((points - points.mean(axis=0)) ** 2).sum())
        none = np.empty((len(points), 0), np.int32)
        rows = []
        for k in sizes:
            least = 100 * float(min_squares_per_row(points, k, []).sum()) / total
            group = mdav(points, k)
            rules = make_rules(k, [], [])
            for method in (Mdav(), Mdav(refine=True), *(Mdav(quality=quality) for quality in qualities)):
                start = time.process_time()
                better = improve(method, points, none, rules, group, len(points), 0, quiet)
                seconds = time.process_time() - start
                found = 100 * float(within_squares(points, better, int(better.max()) + 1)) / total
                title = "refine" if method.refine else method.quality or "mdav"
                rows.append((str(k), title, f"{found:.3f}", f"{found / least:.3f}", f"{least:.3f}", f"{seconds:.1f}"))
        show(f"{name}, {points.shape[1]} columns, 100 SSE/SST", ("k", "", "loss", "gap", "bound", "seconds"), rows)


def on_sensitive(folder: Path, sizes: tuple[int, ...], qualities: tuple[Quality, ...]) -> None:
    """Measure p-sensitive microaggregation of Census.

    As in Domingo-Ferrer, Sebé and Solanas, six columns are quasi-identifiers, and three, in 15 classes, are sensitive.
    """
    table = _numbers(folder, "census")
    points, hidden = standardised(table[:, :6]), table[:, 6:9]
    low, high = hidden.min(axis=0), hidden.max(axis=0)
    codes = np.ascontiguousarray(np.minimum(((hidden - low) / (high - low) * 15).astype(np.int32), 14))
    totals = [np.bincount(column, minlength=15) for column in codes.T]
    total = float(((points - points.mean(axis=0)) ** 2).sum())
    rows = []
    for p in sizes:
        rules = make_rules(p, totals, [(a, Rule(DISTINCT, p)) for a in range(3)])
        columns = columns_of(codes, rules)
        least = (
            100
            * float(min_squares_per_row(points, p, [(codes[:, a].astype(np.int64), p) for a in range(3)]).sum())
            / total
        )
        group = grow_until(points, columns, rules, lacking=False)
        for method in (PFirst(refine=False), PFirst(), *(PFirst(quality=quality) for quality in qualities)):
            start = time.process_time()
            better = improve(method, points, columns, rules, group, len(points), 0, quiet)
            seconds = time.process_time() - start
            found = 100 * float(within_squares(points, better, int(better.max()) + 1)) / total
            title = method.quality or ("refine" if method.refine else "p-first")
            rows.append((str(p), title, f"{found:.3f}", f"{found / least:.3f}", f"{least:.3f}", f"{seconds:.1f}"))
    show("Census, 6 columns, p-sensitive in 3 others, k = p, 100 SSE/SST", ("p", "", "loss", "gap", "bound", "seconds"),
         rows)  # fmt: skip


def standardised(table: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray((table - table.mean(axis=0)) / table.std(axis=0, ddof=1))


def _numbers(folder: Path, name: str) -> np.ndarray:
    """Return the numeric columns of a CASC table, without constant ones."""
    with (folder / "casc" / f"{name}.csv").open() as file:
        lines = list(csv.reader(file))[1:]
    numeric = [j for j in range(len(lines[0])) if all(_is_number(line[j]) for line in lines)]
    table = np.asarray([[float(line[j]) for j in numeric] for line in lines])
    return np.asarray(table[:, table.std(axis=0) > 0])


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def on_small_tables(count: int) -> None:
    """Measure gaps to the optimum of all partitions, model by model.

    The table also counts the optima that refine finds.
    """
    from tests.builders.bounds import MODELS

    rows = [gaps_of(name, count // len(MODELS)) for name in MODELS]
    header = ("model", "tables", "bound above", "bound is the optimum", "gap: median", "nine of ten", "largest",
             "found by fast", "good", "best")  # fmt: skip
    show("Small tables, all partitions", header, rows)


def gaps_of(name: str, count: int) -> tuple[str, ...]:
    """Return the line of one model: random tables of four to seven rows."""
    from tests.builders.bounds import MODELS, optimum, small_problem

    rng = np.random.default_rng(1)
    wrong = tight = 0
    gaps = []
    found = {"fast": 0, "good": 0, "best": 0}
    for _ in range(count):
        problem = small_problem(rng, MODELS[name], rows=int(rng.integers(4, 8)))
        measure = local_measure("ncp", problem.frequencies, problem.ladders, {})
        output = ["ancestor"] * 3
        least = least_recoding_loss(
            measure, problem.frequencies, problem.ladders, problem.model, output, [None] * 3, whole=True
        )
        best = optimum(problem, measure, output, True)
        if not 0 < best < np.inf or least is None:
            continue
        wrong += least > best * (1 + 1e-12)
        tight += least > best * (1 - 1e-9)
        gaps.append(1 - least / best)
        for quality in found:
            method = Refine(quality=quality)  # type: ignore[arg-type]
            bound = method.lower_bound(problem, method.decide(problem))
            found[quality] += bound is not None and bound.loss <= best * (1 + 1e-9)
    quantiles = [f"{max(np.quantile(gaps, part), 0):.3f}" for part in (0.5, 0.9, 1.0)] if gaps else ["", "", ""]
    return name, *map(str, (len(gaps), wrong, tight)), *quantiles, *map(str, found.values())


NUMBER_DEMANDS = {"k = 2": (2, 1), "k = 3": (3, 1), "k = 2, p = 2": (2, 2), "k = 3, p = 2": (3, 2), "k = p = 3": (3, 3)}


def on_small_numbers(count: int) -> None:
    """Measure gaps of microaggregation to the optimum of all partitions.

    The tables have one to three columns.
    """
    rows = [number_gaps_of(name, *NUMBER_DEMANDS[name], count // len(NUMBER_DEMANDS)) for name in NUMBER_DEMANDS]
    header = ("model", "tables", "bound above", "bound is the optimum", "gap: median", "nine of ten", "largest",
             "found by fast", "good", "best")  # fmt: skip
    show("Small tables of numbers, all partitions", header, rows)


def number_gaps_of(name: str, k: int, need: int, count: int) -> tuple[str, ...]:
    """Return the line of one demand: random tables of four to nine rows."""
    from tests.reference.bounds import least_partition, members, squares

    rng = np.random.default_rng(1)
    wrong = tight = 0
    gaps = []
    found = {"fast": 0, "good": 0, "best": 0}
    for _ in range(count):
        points = rng.normal(size=(int(rng.integers(max(4, k), 10)), int(rng.integers(1, 4))))
        mark = rng.integers(0, 4, len(points))
        loss = [squares(points[members(chosen)]) if chosen else 0.0 for chosen in range(1 << len(points))]
        fine = [len(own := members(chosen)) >= k and len(set(mark[own])) >= need for chosen in range(1 << len(points))]
        best = least_partition((1 << len(points)) - 1, loss.__getitem__, fine.__getitem__)
        if not 0 < best < np.inf:
            continue
        least = float(min_squares_per_row(points, k, [(mark, need)]).sum())
        wrong += least > best * (1 + 1e-12)
        tight += least > best * (1 - 1e-9)
        gaps.append(1 - least / best)
        demands = [(0, Rule(DISTINCT, need))] if need > 1 else []
        rules = make_rules(k, [np.bincount(mark, minlength=4)] if demands else [], demands)
        columns = columns_of(mark[:, None].astype(np.int32)[:, : len(demands)], rules)
        method: PFirst | Mdav = PFirst(refine=False) if demands else Mdav()
        start = form_groups(method, points, columns, rules).group
        for quality in found:
            method = PFirst(quality=quality) if demands else Mdav(quality=quality)  # type: ignore[arg-type]
            group = improve(method, points, columns, rules, start, len(points), 0, quiet)
            found[quality] += within_squares(points, group, int(group.max()) + 1) <= best * (1 + 1e-9)
    quantiles = [f"{max(np.quantile(gaps, part), 0):.3f}" for part in (0.5, 0.9, 1.0)]
    return name, *map(str, (len(gaps), wrong, tight)), *quantiles, *map(str, found.values())


def growth_of_numbers(max_rows: int) -> None:
    """Measure the time of the bound and of MDAV as the table grows.

    The records are standard normal with six columns, k = 5; both are called as in a release.
    """
    rng = np.random.default_rng(1)
    rows = []
    for count in (500, 50_000, 200_000, 1_000_000):  # the first loads the compiled kernels
        if count > max_rows:
            break
        table = pa.table({f"x{j}": rng.normal(size=count) for j in range(6)})
        schema = Schema({name: Column(Role.QUASI_IDENTIFIER) for name in table.column_names})
        problem = problem_of(Source(frame=table), schema, (KAnonymity(5),))
        method = Mdav()
        start = time.process_time()
        recoding = method.decide(problem)
        middle = time.process_time()
        method.lower_bound(problem, recoding)
        end = time.process_time()
        rows.append(
            (f"{count:,}", f"{end - middle:.2f}", f"{middle - start:.2f}", f"{(end - middle) / (middle - start):.2f}")
        )
    show("Microaggregation's bound beside mdav, processor seconds", ("rows", "bound", "mdav", "times"), rows[1:])


def growth(max_rows: int) -> None:
    rows = []
    for count in (10_000, 100_000, 1_000_000):
        if count > max_rows:
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
    header = ("rows", "combinations", "rows alone", "with prices", "top-down", "refine")
    show("The bounds' time beside the methods', processor seconds", header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--best", action="store_true")
    parser.add_argument("--small", type=int, default=0)
    parser.add_argument("--small-numbers", type=int, default=0)
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--most", type=int, default=1_000_000)
    parser.add_argument("--numbers", choices=(*NUMBERS, "sensitive"))
    parser.add_argument("--sizes", type=int, nargs="*", default=())
    given = parser.parse_args()
    folder = Path(os.environ.get("SHOAL_DATA", "."))
    qualities: tuple[Quality, ...] = ("good", "best") if given.best else ("good",)
    if given.small:
        on_small_tables(given.small)
    elif given.small_numbers:
        on_small_numbers(given.small_numbers)
    elif given.growth:
        growth(given.most)
        growth_of_numbers(given.most)
    elif given.numbers == "sensitive":
        on_sensitive(folder, tuple(given.sizes) or P_SIZES, qualities)
    elif given.numbers:
        on_numbers(folder, (given.numbers,), tuple(given.sizes) or SIZES, qualities)
    else:
        on_adult(folder, (None, *qualities))
        on_numbers(folder, NUMBERS, SIZES, qualities)
        on_sensitive(folder, P_SIZES, qualities)


if __name__ == "__main__":
    main()
