"""Independent check of a release by brute force, from the definitions.

Nothing of the package is used. Files are read by :mod:`tools.fuzz.tables`, and every model is asked of every group, for
each unit (rows, people, linked rows) and each knowledge (all columns, some of them, key sets, strict or loose). Rows of
the release are assigned to rows of the source by a column ``row`` of role other, if both have one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from tests.reference import models as by_rows
from tests.reference import people as by_people

from tools.fuzz.tables import Cell, canonical, fold, read_source

HIDDEN = "*"
ROW = "row"


class UnknownLabel(Exception):
    """A label of which the covered values are not known here."""


@dataclass(frozen=True)
class Release:
    """A released table with its plan and, as far as readable, its source."""

    folder: Path
    document: Mapping[str, Any]
    header: list[str]
    rows: list[list[Cell]]

    @property
    def columns(self) -> Mapping[str, Any]:
        """The columns of the plan."""
        return self.document["columns"]  # type: ignore[no-any-return]

    def named(self, *roles: str) -> list[str]:
        """Return the columns with one of some roles, in the order of the plan."""
        return [name for name, column in self.columns.items() if column["role"] in roles]

    @property
    def naming(self) -> list[str]:
        """The columns that name the unit: a household only if linked."""
        linked = [name for name in self.named("household") if self.columns[name].get("pseudonym")]
        return linked or self.named("person")

    def cells(self, name: str) -> list[Cell]:
        """Return a column of the released table."""
        position = self.header.index(name)
        return [row[position] for row in self.rows]

    def values(self, name: str) -> list[Any]:
        """Return a sensitive column of the released table, folded."""
        exact = bool(self.columns[name].get("exact"))
        return [fold(cell, exact=exact) for cell in self.cells(name)]

    def source(self) -> list[dict[str, Cell]] | None:
        """Read the source, if it is a plain file that matches the release."""
        path = self.folder / self.document["source"]["path"]
        if path.suffix != ".csv" or set(self.document["source"]) - {"path", "missing"}:
            return None
        return read_source(path, list(self.columns), [str(text) for text in self.document["source"].get("missing", [])])


def check_release(release: Release) -> str | None:
    """Describe the first promise that a release does not keep."""
    models = list(release.document.get("models", []))
    for check in (_check_people,) if release.naming else (_check_rows,):
        wrong = check(release, models)
        if wrong:
            return wrong
    return None


# -- rows --------------------------------------------------------------------------------------------


def _check_rows(release: Release, models: Sequence[Mapping[str, Any]]) -> str | None:
    quasi = release.named("quasi-identifier")
    labels = list(zip(*(release.cells(name) for name in quasi), strict=True))
    if release.document["method"].get("missing") == "loose":
        return _check_loose(release, quasi, labels, max(model.get("k", 1) for model in models))
    for model, sets, loose in _knowledge(release.document, models, quasi):
        for columns, holds in _row_conditions(release, model):
            fails = next(
                (f"{model} fails for {columns} in a group of {len(group)}"
                 for chosen in sets
                 for group in _groups(labels, chosen, loose)
                 if not holds(group)),
                None,
            )  # fmt: skip
            if fails:
                return fails
            if loose:
                wrong = _check_candidates(release, quasi, labels, sets, holds)
                if wrong:
                    return f"{model}: {wrong}"
    return None


def _knowledge(
    document: Mapping[str, Any], models: Sequence[Mapping[str, Any]], quasi: Sequence[str]
) -> Iterable[tuple[Mapping[str, Any], list[tuple[int, ...]], bool]]:
    """Yield each model with the column sets on which it must hold.

    The last of three says whether a hidden cell matches everything.
    """
    keys = document.get("keys", [])
    for model in models:
        plain = {name: value for name, value in model.items() if name not in ("known", "reading")}
        if "known" in model:
            yield plain, _subsets(range(len(quasi)), model["known"]), model.get("reading") == "loose"
        elif not keys:
            yield plain, [tuple(range(len(quasi)))], False
    for key in keys:
        chosen = [quasi.index(name) for name in key["columns"]]
        own = [*([{"name": "k-anonymity", "k": key["k"]}] if "k" in key else []), *key.get("models", [])]
        inherited = [
            model
            for model in models
            if "known" not in model
            and not any(
                one["name"] == model["name"] and one.get("column") in (None, model.get("column")) for one in own
            )
        ]
        for model in (*own, *inherited):
            yield model, _subsets(chosen, len(chosen)), key.get("reading") == "loose"


def _subsets(columns: Iterable[int], limit: int) -> list[tuple[int, ...]]:
    listed = sorted(columns)
    return [chosen for size in range(limit + 1) for chosen in itertools.combinations(listed, size)]


def _groups(labels: Sequence[tuple[Cell, ...]], chosen: Sequence[int], loose: bool) -> list[list[int]]:
    """Group row numbers by labels; with the loose reading all are visible."""
    found: dict[tuple[Cell, ...], list[int]] = {}
    for number, row in enumerate(labels):
        key = tuple(row[j] for j in chosen)
        if not (loose and HIDDEN in key):
            found.setdefault(key, []).append(number)
    return list(found.values())


def _row_conditions(release: Release, model: Mapping[str, Any]) -> list[tuple[str, Callable[[Sequence[int]], bool]]]:
    """Return the conditions on row numbers, one for each sensitive column."""
    if model["name"] == "k-anonymity":
        return [("all", lambda group: len(group) >= model["k"])]
    conditions = []
    for name in [model["column"]] if "column" in model else release.named("sensitive"):
        values, column = release.values(name), release.columns[name]

        def holds(group: Sequence[int], values: list[Any] = values, column: Any = column) -> bool:
            return meets(model, [values[number] for number in group], [values], column)

        conditions.append((name, holds))
    return conditions


def _check_candidates(
    release: Release,
    quasi: Sequence[str],
    labels: Sequence[tuple[Cell, ...]],
    sets: Sequence[tuple[int, ...]],
    holds: Callable[[Sequence[int]], bool],
) -> str | None:
    """Ask a condition of the rows that can be a person's, for everybody."""
    source = release.source()
    if source is None or len(source) != len(labels):
        return None
    try:
        covers = _covering(release, quasi, labels, source)
    except UnknownLabel:
        return None
    for chosen in sets:
        for person in {tuple(row[quasi[j]] for j in chosen) for row in source}:
            crowd = [
                number
                for number, row in enumerate(labels)
                if all(value in covers[j][row[j]] for j, value in zip(chosen, person, strict=True))
            ]
            if not holds(crowd):
                return f"fails for the {len(crowd)} rows that can be a person's, by {len(chosen)} columns"
    return None


def _check_loose(release: Release, quasi: Sequence[str], labels: Sequence[tuple[Cell, ...]], k: int) -> str | None:
    """Count the people behind each row and the rows of each person."""
    source = release.source()
    if source is None:
        return None
    try:
        covers = _covering(release, quasi, labels, source)
    except UnknownLabel:
        return None
    people = [tuple(row[name] for name in quasi) for row in source]
    fits = [[all(value in covers[j][row[j]] for j, value in enumerate(one)) for row in labels] for one in people]
    fewest = min(min(map(sum, fits)), min(map(sum, zip(*fits, strict=True))))
    return f"{fewest} candidates where k is {k}" if fewest < k else None


def _covering(
    release: Release, quasi: Sequence[str], labels: Sequence[tuple[Cell, ...]], source: Sequence[Mapping[str, Cell]]
) -> list[dict[Cell, set[Cell]]]:
    """Return, for each column and label, the values of the source it covers."""
    found: list[dict[Cell, set[Cell]]] = []
    for j, name in enumerate(quasi):
        hierarchy = release.columns[name].get("hierarchy") or {}
        values = {row[name] for row in source}
        found.append(
            {
                label: {value for value in values if _is_covered(value, label, hierarchy, release.folder)}
                for label in {row[j] for row in labels}
            }
        )
    return found


def _is_covered(value: Cell, label: Cell, hierarchy: Mapping[str, Any], folder: Path) -> bool:
    if label == HIDDEN or value == label:
        return True
    if value is None or label is None:
        return False
    if not hierarchy or "flat" in hierarchy:
        return False
    if "tree" in hierarchy:
        return _in_tree(value, label, hierarchy["tree"])
    if "csv" in hierarchy:
        lines = (folder / hierarchy["csv"]).read_text(encoding="utf-8").splitlines()
        return any(canonical(line.split(";")[0]) == value and label in line.split(";")[1:] for line in lines)
    if "prefix" in hierarchy:
        return label.endswith(HIDDEN) and value.startswith(label.rstrip(HIDDEN))
    if "dates" in hierarchy and label.replace("-", "").isdigit():
        return value.startswith(f"{label}-")
    low, dots, high = label.partition("..")
    if "intervals" in hierarchy and dots:
        try:
            return float(low) <= float(value) <= float(high)
        except ValueError:
            return False
    raise UnknownLabel


def _in_tree(value: str, label: str, tree: Any) -> bool:
    if isinstance(tree, Mapping):
        return any(
            (value in _leaves(below)) if name == label else _in_tree(value, label, below)
            for name, below in tree.items()
        )
    return False


def _leaves(tree: Any) -> set[str]:
    if isinstance(tree, Mapping):
        return set().union(*(_leaves(below) for below in tree.values()))
    return {str(value) for value in tree}


# -- people ------------------------------------------------------------------------------------------


def _check_people(release: Release, models: Sequence[Mapping[str, Any]]) -> str | None:
    """Check people; only numbers of rows if rows cannot be assigned."""
    quasi = release.named("quasi-identifier")
    labels = list(zip(*(release.cells(name) for name in quasi), strict=True))
    aligned = _align(release)
    if aligned is None:
        for model, sets, loose in _knowledge(release.document, models, quasi):
            groups = [group for chosen in sets for group in _groups(labels, chosen, loose)]
            if model["name"] == "k-anonymity" and min(map(len, groups), default=model["k"]) < model["k"]:
                return f"fewer than {model['k']} rows in a group, and so fewer people"
        return None
    owner, known_rows, source = aligned
    linked = [model for model in models if model["name"] == "trajectory-anonymity"]
    steps = linked[0].get("known_rows") if linked else 1
    for model, sets, loose in _knowledge(release.document, models, quasi):
        groups = [sorted({owner[n] for n in group}) for chosen in sets for group in _groups(labels, chosen, loose)]
        for chosen in sets if linked else ():
            known = [tuple(row[j] for j in chosen) for row in labels]
            groups += by_people.crowds(list(zip(owner, known, strict=True)), steps)
        if loose:
            groups += _people_candidates(release, quasi, labels, sets, owner, [source[n] for n in known_rows])
        for name, holds in _people_conditions(release, model, source, owner):
            fails = next((group for group in groups if not holds(group)), None)
            if fails is not None:
                return f"{model} fails for {name} in a group of {len(fails)} people"
    return None


def _align(release: Release) -> tuple[list[int], list[int], list[dict[str, Any]]] | None:
    """Return the person and the source row of each released row, and source.

    The source's rows get a key ``None`` with the number of the person.
    """
    source = release.source()
    naming = release.naming
    if source is None or len(naming) != 1 or ROW not in release.header or ROW not in release.columns:
        return None
    position = {row[ROW]: number for number, row in enumerate(source)}
    found = [position.get(canonical(cell)) for cell in release.cells(ROW)]
    if len(position) < len(source) or None in found or len(set(found)) < len(found):
        return None
    numbers: dict[Any, int] = {}
    people: list[dict[str, Any]] = []
    for index, row in enumerate(source):
        name = fold(row[naming[0]])
        key = ("nobody", index) if name is None else name
        people.append({**row, "": numbers.setdefault(key, len(numbers))})
    chosen = [number for number in found if number is not None]
    return [people[number][""] for number in chosen], chosen, people


def _people_candidates(
    release: Release,
    quasi: Sequence[str],
    labels: Sequence[tuple[Cell, ...]],
    sets: Sequence[tuple[int, ...]],
    owner: Sequence[int],
    source: Sequence[Mapping[str, Cell]],
) -> list[list[int]]:
    """Return the candidate people of every row of the source."""
    try:
        covers = _covering(release, quasi, labels, source)
    except UnknownLabel:
        return []
    return [
        sorted(
            {
                owner[number]
                for number, row in enumerate(labels)
                if all(value in covers[j][row[j]] for j, value in zip(chosen, person, strict=True))
            }
        )
        for chosen in sets
        for person in {tuple(row[quasi[j]] for j in chosen) for row in source}
    ]


def _people_conditions(
    release: Release, model: Mapping[str, Any], source: Sequence[Mapping[str, Any]], owner: Sequence[int]
) -> list[tuple[str, Callable[[Sequence[int]], bool]]]:
    if model["name"] in ("k-anonymity", "trajectory-anonymity"):
        return [("all", lambda group: len(group) >= model["k"])]
    conditions = []
    for name in [model["column"]] if "column" in model else release.named("sensitive"):
        exact = bool(release.columns[name].get("exact"))
        has: dict[int, set[Any]] = {row[""]: set() for row in source}
        for row in source:
            value = fold(row[name], exact=exact)
            if value is not None:
                has[row[""]].add(value)
        column, present = release.columns[name], sorted(set(owner))

        def holds(group: Sequence[int], has: Any = has, column: Any = column, present: Any = present) -> bool:
            return people_meet(model, group, has, present, column)

        conditions.append((name, holds))
    return conditions


# -- models ------------------------------------------------------------------------------------------


def _classes(column: Mapping[str, Any]) -> list[list[Any]]:
    return [[fold(str(value)) for value in values] for values in column.get("categories", [])]


def meets(model: Mapping[str, Any], group: list[Any], table: list[list[Any]], column: Mapping[str, Any]) -> bool:
    """Return whether the values of some rows meet a model.

    Hierarchical distances have no definition here and are taken to hold.
    """
    name, kind = model["name"], model.get("kind", "distinct")
    if name == "p-sensitive":
        return by_rows.p_sensitive(group, model["p"])
    if name in ("p-alpha-sensitive", "p-plus-alpha-sensitive"):
        test = by_rows.p_alpha if name == "p-alpha-sensitive" else by_rows.p_plus_alpha
        return test(group, model["p"], model["alpha"], _classes(column))
    if name == "l-diversity" and kind == "distinct":
        return by_rows.distinct_diverse(group, model["l"])
    if name == "l-diversity" and kind == "entropy":
        return by_rows.entropy_diverse(group, model["l"])
    if name == "l-diversity":
        return by_rows.recursive_diverse(group, model["c"], model["l"])
    if name == "alpha-k":
        return by_rows.alpha_k(group, model["alpha"], model["k"])
    if name == "t-closeness":
        cost = _cost(model, table[0], column)
        return cost is None or by_rows.t_distance(group, table, cost) <= Fraction(str(model["t"]))
    if name == "delta-disclosure":
        return by_rows.delta_disclosed(group, table, model["delta"], model.get("ignore_absent", False))
    if name == "beta-likeness":
        return by_rows.beta_like(group, table, model["beta"], model.get("enhanced", False))
    raise ValueError(f"no definition of {name}")


def people_meet(
    model: Mapping[str, Any], group: Sequence[int], has: Mapping[int, set[Any]], present: Sequence[int], column: Any
) -> bool:
    """Return whether some people meet a model."""
    name, kind = model["name"], model.get("kind", "distinct")
    if name == "p-sensitive" or (name == "l-diversity" and kind == "distinct"):
        return by_people.p_sensitive(group, has, model["p"] if name == "p-sensitive" else model["l"])
    if name in ("p-alpha-sensitive", "p-plus-alpha-sensitive"):
        classes = _classes(column)
        rank = {value: index for index, values in enumerate(classes) for value in values}
        kinds = has if name == "p-alpha-sensitive" else {u: {rank[v] for v in own} for u, own in has.items()}
        weight = by_people.weight(group, has, lambda value: Fraction(rank[value], len(classes) - 1))
        return by_people.p_sensitive(group, kinds, model["p"]) and weight >= Fraction(str(model["alpha"]))
    if name == "l-diversity" and kind == "entropy":
        return by_people.entropy_diverse(group, has, model["l"])
    if name == "l-diversity":
        return by_people.recursive_diverse(group, has, Fraction(str(model["c"])), model["l"])
    if name == "alpha-k":
        return by_people.alpha_k(group, has, Fraction(str(model["alpha"])), model["k"])
    if name == "t-closeness":
        cost = _cost(model, [value for u in present for value in has[u]], column)
        return cost is None or by_people.moved(group, has, present, cost) <= Fraction(str(model["t"]))
    if name == "delta-disclosure":
        return model.get("ignore_absent", False) or by_people.delta_disclosed(group, has, present, model["delta"])
    if name == "beta-likeness":
        return by_people.beta_like(
            group, has, present, Fraction(str(model["beta"])), enhanced=model.get("enhanced", False)
        )
    raise ValueError(f"no definition of {name}")


def _cost(model: Mapping[str, Any], values: Sequence[Any], column: Mapping[str, Any]) -> Any:
    """Return the cost of one value for another, or None if not known here."""
    distance = model.get("distance", "equal")
    if distance == "equal":
        return by_rows.equal_cost
    if distance == "ordered":
        order = [fold(str(value)) for value in column.get("order", [])] or sorted({v for v in values if v is not None})
        return by_rows.ordered_cost(order)
    return None
