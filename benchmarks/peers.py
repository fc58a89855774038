"""Releases of Adult by shoal and by Python peers: time, memory, loss.

    SHOAL_DATA=... python -m benchmarks.peers

All run on the same rows in the same run. Each gets a pandas frame in memory and returns one; imports and compilation
are not counted. shoal's time includes the verification of the release from its rows, which the others do not have. The
loss is computed from the published cells: the share of a column's domain that a cell covers, its mean over cells; a
suppressed row covers all of it. anjana generalizes whole columns. anonypy is a Mondrian that publishes ranges of ages
and sets of other values, without hierarchies; shoal's ranges are those between two values in the order of a hierarchy's
lines. Peers are installed separately, in .venv-peers.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.measure import measure, show

ROOT = Path(__file__).parent.parent
PEERS = ROOT / ".venv-peers"
QUASI = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass")
LOAD = """
import pandas as pd
data = pd.read_csv({path!r}, sep=";", dtype=str)[[*{quasi!r}, "occupation"]]
quasi, lines, hierarchy = {quasi!r}, {lines!r}, {hierarchy!r}
def tell(frame):
    shown = frame[list(quasi)].astype(str)
    weight = frame["count"] if "count" in frame else pd.Series(1, index=frame.index)
    groups = weight.groupby([shown[name] for name in quasi]).sum()
    cells = [[name, label, int(count)] for name in quasi for label, count in weight.groupby(shown[name]).sum().items()]
    return {{"rows": int(weight.sum()), "groups": len(groups), "smallest": int(groups.min()), "cells": cells}}
"""
SHOAL = """
import shoal
columns = {name: {"role": "quasi-identifier", "hierarchy": {"csv": hierarchy.format(name)}} for name in quasi}
if RANGES:  # no hierarchies: numbers as they are, other values in the order of the hierarchy's lines
    columns = {name: {"role": "quasi-identifier", "order": [line[0] for line in lines[name]]} for name in quasi}
def run(method):
    plan = shoal.Plan.from_dict({"columns": {**columns, "occupation": {"role": "sensitive"}},
        "models": [{"name": "k-anonymity", "k": 5}], "method": method})
    return tell(shoal.anonymize(data, plan).table)
run(METHOD)
"""
ANJANA = """
import numpy as np
from anjana.anonymity import k_anonymity
hierarchies = {name: {level: np.array(column) for level, column in enumerate(zip(*lines[name]))} for name in quasi}
"""
ANJANA_RUN = "answer = tell(k_anonymity(data, [], list(quasi), 5, SUPPRESSION, hierarchies))"
ANONYPY = """
import anonypy
frame = data.copy()
frame["age"] = frame["age"].astype(int)
for name in [*quasi, "occupation"]:
    if name != "age":
        frame[name] = frame[name].astype("category")
"""
ANONYPY_RUN = """
rows = anonypy.Preserver(frame, list(quasi), "occupation").anonymize_k_anonymity(k=5)
answer = tell(pd.DataFrame(rows).map(lambda cell: cell[0] if isinstance(cell, list) else cell))
"""


def peer_python() -> str:
    """Return the interpreter with the peers; install them if needed."""
    python = PEERS / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(PEERS)], check=True)
    requirements = ROOT / "requirements" / "peers.txt"
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", "-r", str(requirements)], check=True)
    return str(python)


def covered(name: str, label: str, lines: list[list[str]]) -> float:
    """Return the share of a column's domain that a label covers.

    A label is one of the hierarchy, a list of values, or a range of ages.
    """
    leaves = {line[0] for line in lines}
    below = sum(label in line for line in lines)
    if below:
        return below / len(lines)
    if name == "age" and "-" in label:
        low, high = (int(float(end)) for end in label.split("-"))
        return sum(low <= int(age) <= high for age in leaves) / len(leaves)
    if ".." in label:
        leaves_in_order = [line[0] for line in lines]
        first, last = (leaves_in_order.index(end) for end in label.split(".."))
        return (last - first + 1) / len(lines)
    values = label.split(",")
    if not set(values) <= leaves:
        raise ValueError(f"a label of column {name!r} is neither of the hierarchy, nor a list of values, nor a range")
    return len(values) / len(leaves)


def row(title: str, measured: dict, lines: dict[str, list[list[str]]], rows: int) -> tuple[object, ...]:
    answer = measured["answer"]
    lost = sum(count * covered(name, label, lines[name]) for name, label, count in answer["cells"])
    lost += (rows - answer["rows"]) * len(QUASI)
    return (
        title, measured["seconds"], measured["peak_mb"], lost / (rows * len(QUASI)), answer["groups"],
        answer["smallest"], rows - answer["rows"],
    )  # fmt: skip


def main() -> None:
    folder = os.environ.get("SHOAL_DATA")
    if not folder:
        print("SHOAL_DATA does not name the folder of the Adult data; this benchmark needs it.")
        return
    home = Path(folder) / "adult"
    lines = {}
    for name in QUASI:
        with (home / "hierarchies" / "arx" / f"{name}.csv").open(encoding="utf-8") as file:
            lines[name] = list(csv.reader(file, delimiter=";"))
    load = LOAD.format(
        path=str(home / "adult-arx.csv"),
        quasi=QUASI,
        lines=lines,
        hierarchy=str(home / "hierarchies" / "arx" / "{}.csv"),
    )
    rows = sum(1 for _ in (home / "adult-arx.csv").open(encoding="utf-8")) - 1
    python = peer_python()
    table = []
    for title, method, ranges in (
        ("shoal full-domain", {"name": "full-domain"}, False),
        ("shoal full-domain, 5 % left out", {"name": "full-domain", "suppression": 0.05}, False),
        ("shoal mondrian", {"name": "mondrian"}, False),
        ("shoal top-down", {"name": "top-down"}, False),
        ("shoal refine", {"name": "refine"}, False),
        ("shoal mondrian, ranges", {"name": "mondrian"}, True),
        ("shoal refine, ranges", {"name": "refine", "start": {"name": "mondrian"}}, True),
    ):
        measured = measure(f"METHOD, RANGES = {method!r}, {ranges}\n{load}{SHOAL}", "answer = run(METHOD)", repeat=3)
        table.append(row(title, measured, lines, rows))
    for title, share in (("anjana", 0), ("anjana, 5 % left out", 5)):
        measured = measure(load + ANJANA, ANJANA_RUN.replace("SUPPRESSION", str(share)), python=python)
        table.append(row(title, measured, lines, rows))
    table.append(row("anonypy", measure(load + ANONYPY, ANONYPY_RUN, python=python), lines, rows))
    show(
        f"Adult, {rows:,} rows, 7 quasi-identifiers, k = 5",
        ("tool", "seconds", "peak MB", "part of the domain that a cell covers", "groups", "smallest", "rows left out"),
        table,
    )


if __name__ == "__main__":
    main()
