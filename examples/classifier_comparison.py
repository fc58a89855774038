"""Accuracy of decision trees that are trained on a release.

    python examples/classifier_comparison.py                          a generated census, a minute

This is the experiment of section 4 of "Generalization-based k-anonymization" (Armengol and Torra). A tree is trained on
the original records and on releases by anti-unification, read as patterns and as records. It is tested on records that
no release has seen. `shoal reproduce` does the same on Adult and compares with the paper's Table 1. The module
shoal.papers.classifier describes how trees are trained.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pyarrow as pa

from shoal.datasets.census import census_table
from shoal.papers.classifier import ORDERS, compare_trees


def generated(rows: int) -> tuple[pa.Table, pa.Table]:
    """Generate two census-like tables.

    Their salary depends on education, age and marriage.
    """
    tables = []
    for seed in (1, 2):
        table = census_table(rows, seed)
        random = np.random.default_rng([seed, 99])
        learned = np.isin(table["education"].to_numpy(), ["Bachelors", "Masters", "Prof-school", "Doctorate"])
        married = np.isin(table["marital-status"].to_numpy(), ["Married", "Remarried"])
        score = -3.2 + 2.2 * learned + 2.0 * married + 0.03 * (table["age"].to_numpy() - 35)
        high = random.random(rows) < 1 / (1 + np.exp(-score))
        tables.append(table.append_column("salary", pa.array(np.where(high, ">50K", "<=50K"))))
    return tables[0], tables[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000, help="of the generated tables")
    parser.add_argument("--k", type=int, nargs="+", default=[5, 10, 20, 30])
    chosen = parser.parse_args()
    originals, unseen = generated(chosen.rows)
    start = time.perf_counter()
    found = compare_trees(originals, unseen, chosen.k)
    print(f"A generated census, {originals.num_rows} records; accuracy on unseen records in per cent")
    print(f"{'trained on':<22}" + "".join(f"{f'K = {k}':<12}" for k in chosen.k))
    print(f"{'originals':<22}" + f"{found.originals['uci']:<12.2f}" * len(chosen.k))
    for name in ORDERS:
        for way in ("patterns", "records"):
            cells = [f"{found.releases[name, way, 'uci', k]:<12.2f}" for k in chosen.k]
            print(f"{f'{name} {way}':<22}" + "".join(cells))
    print("Patterns and discarded records")
    for name in ORDERS:
        for way in ("patterns", "records"):
            cells = [f"{'/'.join(map(str, found.sizes[name, way, k])):<12}" for k in chosen.k]
            print(f"{f'{name} {way}':<22}" + "".join(cells))
    larger = max(unseen["salary"].to_pylist().count(value) for value in ("<=50K", ">50K")) / unseen.num_rows
    print(f"The larger class is {100 * larger:.2f} per cent of the unseen. {time.perf_counter() - start:.0f} s.")


if __name__ == "__main__":
    main()
