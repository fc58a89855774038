"""Scenarios: a survey with six columns of a register and any one further.

python -m benchmarks.scenarios [ROWS [METHOD ...]]

The generated survey has twenty quasi-identifiers and one sensitive column. Times include reading, deciding and both
verifications; the loss is ncp over all quasi-identifiers.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import pyarrow as pa

import shoal

ROWS = 64_600
METHODS = ("mondrian", "refine", "local-suppression", "full-domain")


def generate_survey(rows: int, seed: int = 1) -> pa.Table:
    """Return a survey of people of unequal groups, without names."""
    random = np.random.default_rng(seed)
    kind = random.integers(0, 6, rows)
    columns = {
        "age": np.clip(random.normal(45 + 3 * kind, 16), 18, 95).astype(int),
        "sex": random.choice(["m", "f"], rows),
        "region": random.choice(16, rows, p=np.arange(1, 17) / 136),
        "education": (kind + random.integers(0, 2, rows)) % 6,
        "marital": random.choice(4, rows, p=[0.5, 0.3, 0.15, 0.05]),
        "household": np.minimum(random.geometric(0.4, rows), 7),
    }
    for number in range(14):
        values = 3 + number % 6
        weights = 0.6 ** np.arange(values)
        noise = random.choice(values, rows, p=weights / weights.sum())
        columns[f"fact {number + 1}"] = np.where(random.random(rows) < 0.3, kind % values, noise)
    columns["income"] = random.choice(["low", "middle", "high"], rows, p=[0.3, 0.5, 0.2])
    return pa.table({name: pa.array(values) for name, values in columns.items()})


def make_plan(method: str, plus: int) -> dict[str, object]:
    """Return the plan of the survey: six columns, and any ``plus`` further."""
    named = ["age", "sex", "region", "education", "marital", "household"]
    columns: dict[str, object] = dict.fromkeys([*named, *(f"fact {n + 1}" for n in range(14))], "quasi-identifier")
    columns["age"] = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10, 20, 40]}}
    columns["income"] = {"role": "sensitive", "known_to_others": False}
    if not plus:
        columns |= {f"fact {n + 1}": "other" for n in range(14)}
    scenario = {"name": "register", "columns": named, "plus": plus, "k": 5, "models": [{"name": "p-sensitive", "p": 2}]}
    return {"columns": columns, "together": False, "scenarios": [scenario], "method": method}


def main() -> None:
    """Release the survey by each method and print times and losses."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    table = generate_survey(rows)
    print(f"{'method':20} {'plus':>4} {'seconds':>8} {'deciding':>9} {'verifying':>9} {'CPU':>7} {'ncp':>7}")
    for method in sys.argv[2:] or METHODS:
        for plus in (0, 1):
            start, spent = time.perf_counter(), time.process_time()
            release = shoal.anonymize(table, make_plan(method, plus))
            steps = release.seconds
            print(
                f"{method:20} {plus:4} {time.perf_counter() - start:8.1f} {steps.get('deciding', 0):9.1f} "
                f"{steps.get('verifying', 0):9.1f} {time.process_time() - spent:7.1f} {release.utility['ncp']:7.4f}"
            )


if __name__ == "__main__":
    main()
