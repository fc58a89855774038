"""Special uniques, attacks and the comparison on Adult.

Special uniques are also searched without shrinking the set of rows.

SHOAL_DATA=... python -m benchmarks.risk
"""

from __future__ import annotations

import os
import sys

from benchmarks.measure import measure, show

SETUP = """
import itertools
import numpy as np, pyarrow.csv as pc
import shoal
from shoal.audit.assess import assess
from shoal.audit.attack import attack
from shoal.risk.special_uniques import special_uniques
from shoal.audit.compare import compare
data = {data!r}
names = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"]
hierarchies = {{name: {{"csv": f"{{data}}/adult/hierarchies/arx/{{name}}.csv"}} for name in names}}
columns = {{name: {{"role": "quasi-identifier", "hierarchy": hierarchies[name]}} for name in names}}
columns |= {{"occupation": {{"role": "sensitive"}}, "salary-class": {{"role": "other"}}}}
plan = shoal.Plan.from_dict({{"columns": columns, "models": [{{"name": "k-anonymity", "k": 5}}],
                              "method": {{"name": "full-domain", "suppression": 0.02}}}})
table = pc.read_csv(f"{{data}}/adult/adult-arx.csv", parse_options=pc.ParseOptions(delimiter=";"))
released = shoal.anonymize(table, plan).table
every = [*names, "occupation", "salary-class"]
columns = [np.unique(table[name].to_pylist(), return_inverse=True)[1] for name in every]
codes, count = np.unique(np.stack(columns, axis=1).astype(np.int32), axis=0, return_counts=True)

def plain(codes, count, largest):
    # every set of columns over all rows, and a row's sets checked against the smaller ones
    found = [[] for _ in codes]
    for size in range(1, largest + 1):
        for chosen in itertools.combinations(range(codes.shape[1]), size):
            _, number = np.unique(codes[:, chosen], axis=0, return_inverse=True)
            alone = np.bincount(number.reshape(-1), weights=count)[number.reshape(-1)] == 1
            for row in np.flatnonzero(alone):
                if not any(set(part) <= set(chosen) for part in found[row]):
                    found[row].append(chosen)
    return sum(map(len, found))
"""
RUNS = {
    "special uniques, 9 columns, sets up to 3": "answer = int(special_uniques(codes, count, largest=3).sets.sum())",
    "the same, every set over all rows": "answer = plain(codes, count, 3)",
    "special uniques, 9 columns, sets up to 9": "answer = int(special_uniques(codes, count, largest=9).sets.sum())",
    "assess the original": "answer = assess(table, plan, fraction=0.01).uniqueness.sample_uniques",
    "attack the release, original given": "answer = attack(released, plan, original=table).groups",
    "compare, no classifier": "answer = round(compare(table, released, plan).propensity.ratio)",
    "compare with a tree": "answer = compare(table, released, plan, target='salary-class').accuracy[0].released",
}


def main() -> None:
    data = os.environ.get("SHOAL_DATA")
    if not data:
        sys.exit("SHOAL_DATA must name the folder with adult/adult-arx.csv.")
    rows = []
    for name, run in RUNS.items():
        result = measure(SETUP.format(data=data), run, repeat=3)
        rows.append((name, result["seconds"], result["peak_mb"], result["answer"]))
    show(
        "Adult, 30,162 rows (best of 3)",
        ("what", "seconds", "peak MB", "answer"),
        rows,
        f"Sets up to 3: {rows[1][1] / rows[0][1]:.1f} times as fast as every set over all rows.",
    )


if __name__ == "__main__":
    main()
