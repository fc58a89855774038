"""k, l, entropy l and t of Adult, compared with pycanon.

    SHOAL_DATA=... python -m benchmarks.pycanon

Times and answers are from the same run. pycanon is installed separately, in .venv-peers, since it pins older versions.
Both get a pandas frame in memory; imports are not counted.
"""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.measure import measure, show
from benchmarks.peers import peer_python

QUASI = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"]
LOAD = """
import pandas as pd
data = pd.read_csv({path!r}, sep=";", dtype=str)
quasi = {quasi!r}
sensitive = ["occupation"]
"""
OURS = """
import shoal
def ask(model): return shoal.check(data, [model], quasi_identifiers=quasi, sensitive=sensitive).models[0].effective
ask("k-anonymity k=2")
"""
CASES = {
    "k": ("k-anonymity k=2", "k", "anonymity.k_anonymity(data, quasi)"),
    "distinct l": ("l-diversity l=2", "l", "anonymity.l_diversity(data, quasi, sensitive)"),
    "entropy l": ("l-diversity l=2 kind=entropy", "l", "anonymity.entropy_l_diversity(data, quasi, sensitive)"),
    "t": ("t-closeness t=0.5", "t", "anonymity.t_closeness(data, quasi, sensitive)"),
}


def main() -> None:
    folder = os.environ.get("SHOAL_DATA")
    if not folder:
        print("SHOAL_DATA does not name the folder of the Adult data; this benchmark needs it.")
        return
    load = LOAD.format(path=str(Path(folder) / "adult" / "adult-arx.csv"), quasi=QUASI)
    python = peer_python()
    rows = []
    total = 0.0
    for name, (model, key, call) in CASES.items():
        ours = measure(load + OURS, f"answer = ask({model!r})[{key!r}]", repeat=5)
        theirs = measure(load + "from pycanon import anonymity", f"answer = float({call})", python=python)
        total += theirs["seconds"]
        rows.append(
            (
                name,
                ours["seconds"],
                theirs["seconds"],
                theirs["seconds"] / ours["seconds"],
                ours["peak_mb"],
                theirs["peak_mb"],
                ours["answer"],
                theirs["answer"],
            )
        )
    models = [model for model, _, _ in CASES.values()]
    all_models = measure(
        load + OURS, f"shoal.check(data, {models!r}, quasi_identifiers=quasi, sensitive=sensitive)", repeat=5
    )
    rows.append(
        ("all four", all_models["seconds"], total, total / all_models["seconds"], all_models["peak_mb"], "", "", "")
    )
    show(
        "Adult, 30,162 rows, 7 quasi-identifiers: seconds and answers",
        ("figure", "shoal s", "pycanon s", "times faster", "shoal MB", "pycanon MB", "shoal", "pycanon"),
        rows,
    )


if __name__ == "__main__":
    main()
