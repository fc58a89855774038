"""Evaluate the outcome of a case independently of the package.

Plain Python over the files, from the definitions. A correct outcome is status 0 or 1 with a true answer, or status 2 or
3 with one line that contains no value.
"""

from __future__ import annotations

import csv
import json
import math
import tomllib
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from tests.reference import models as slow

from tools.fuzz.harness import Outcome, find_leaks

Group = list[Any]
UNPUBLISHED = ("identifier", "drop", "person", "household")


def judge(folder: Path, arguments: Sequence[str], done: Outcome, secrets: Sequence[str]) -> str | None:
    """Describe the fault of an outcome, or return None."""
    if done.status not in (0, 1, 2, 3):
        return f"status {done.status}: {done.err.strip()[-300:]}"
    if done.status >= 2:
        if not done.err.startswith("Error: ") or done.err.count("\n") != 1:
            return f"status {done.status} without one line of an error: {done.err[:300]!r}"
        leaks = find_leaks(secrets, done.outputs)
        return f"told a value: {leaks[0]}" if leaks else None
    if "--json" in arguments:
        try:
            json.loads(done.out, parse_constant=_refuse)
        except ValueError as error:
            return f"no JSON: {error}"
    if arguments[0] == "release":
        return None if "--set" in arguments else _judge_release(folder, Path(arguments[1]))
    return None


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _judge_release(folder: Path, plan: Path) -> str | None:
    document = tomllib.loads((folder / plan).read_text(encoding="utf-8-sig"))
    if document.get("method", {}).get("patterns") or document.get("method", {}).get("missing") == "loose":
        return None  # groups of these methods are not rows that share all values
    released = folder / document["output"]["path"]
    columns = document["columns"]
    header, rows = _read(released)
    dropped = [
        name for name, column in columns.items() if column["role"] in UNPUBLISHED and not column.get("pseudonym")
    ]
    if set(header) != set(columns) - set(dropped):
        return "the release has other columns than the plan says"
    groups = _groups(header, rows, [name for name in header if columns[name]["role"] == "quasi-identifier"])
    certificate = json.loads(released.with_suffix(".certificate.json").read_text(encoding="utf-8"))
    if certificate["released"] != len(rows) or certificate["groups"] != len(groups):
        return (
            f"certified {certificate['released']} rows, {certificate['groups']} groups; has {len(rows)}, {len(groups)}"
        )
    people = any(column["role"] in ("person", "household") for column in columns.values())
    for model in document.get("models", []):
        if "known" in model or document.get("keys") or (people and model["name"] != "k-anonymity"):
            continue  # such groups are not rows that share all values; k people have at least k rows
        wrong = _judge_model(model, columns, header, groups)
        if wrong:
            return wrong
    return None


def _judge_model(model: dict[str, Any], columns: dict[str, Any], header: list[str], groups: list[Group]) -> str | None:
    about = [model["column"]] if "column" in model else [n for n in header if columns[n]["role"] == "sensitive"]
    if model["name"] == "k-anonymity":
        small = min(map(len, groups), default=model["k"])
        return f"a group of {small} where k is {model['k']}" if small < model["k"] else None
    for name in about:
        position = header.index(name)
        table = [[_fold(row[position]) for row in group] for group in groups]
        for group in table:
            if not _meets(model, group, table, columns[name]):
                return f"{model} does not hold of {name} in a group of {len(group)}"
    return None


def _meets(model: dict[str, Any], group: Group, table: list[Group], column: dict[str, Any]) -> bool:
    """Return whether a group meets a model.

    Models without a reference definition here are taken to hold.
    """
    name = model["name"]
    classes = [[_fold(str(value)) for value in values] for values in column.get("categories", [])]
    if name == "p-sensitive":
        return slow.p_sensitive(group, model["p"])
    if name in ("p-alpha-sensitive", "p-plus-alpha-sensitive"):
        test = slow.p_alpha if name == "p-alpha-sensitive" else slow.p_plus_alpha
        return test(group, model["p"], model["alpha"], classes)
    if name == "l-diversity" and model.get("kind", "distinct") == "distinct":
        return slow.distinct_diverse(group, model["l"])
    if name == "l-diversity" and model["kind"] == "entropy":
        values = slow.known(group)
        shares = [float(share) for share in slow.shares(values).values()]
        return bool(values) and math.exp(-sum(p * math.log(p) for p in shares)) >= model["l"] * (1 - 1e-9)
    if name == "l-diversity":
        return slow.recursive_diverse(group, model["c"], model["l"])
    if name == "alpha-k":
        return slow.alpha_k(group, model["alpha"], model["k"])
    if name == "t-closeness" and model.get("distance", "equal") == "equal":
        everyone = slow.shares([value for other in table for value in slow.known(other)])
        inside = slow.shares(slow.known(group)) if slow.known(group) else {}
        distance = sum(abs(inside.get(value, Fraction(0)) - share) for value, share in everyone.items()) / 2
        return bool(inside) and distance <= Fraction(str(model["t"]))
    return True


def _fold(value: Any) -> Any:
    """Return the value of a cell, or None if it has no visible character."""
    if value is None or all(unicodedata.category(sign) in ("Cc", "Cf", "Zs") for sign in value):
        return None
    return value


def _read(path: Path) -> tuple[list[str], list[list[Any]]]:
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        table = pq.read_table(path)
        return list(table.column_names), [
            list(row) for row in zip(*(c.cast("string").to_pylist() for c in table.columns), strict=True)
        ]
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    return header, [[cell or None for cell in row] for row in rows]


def _groups(header: list[str], rows: list[list[Any]], quasi: list[str]) -> list[Group]:
    positions = [header.index(name) for name in quasi]
    found: dict[tuple[Any, ...], Group] = defaultdict(list)
    for row in rows:
        found[tuple(row[position] for position in positions)].append(row)
    return list(found.values())
