"""Evaluate a release of linked tables from its files alone.

The files are read by the readers of :mod:`shoal.verification.independent.reading`, row by row. Foreign keys are
followed in dictionaries. The facts of a person are a sorted list of numbers of labels; the sets of facts are Python's
combinations of it, counted in dictionaries, one root label after another.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shoal.errors import VerificationError
from shoal.schema import Column, Role, Schema
from shoal.verification.independent.definitions import DEFINITIONS, Verdict
from shoal.verification.independent.judge import ModelEvaluation
from shoal.verification.independent.people import combine_verdicts, make_evaluators
from shoal.verification.independent.reading import WrittenTable, read_cells

FactSet = tuple[int, ...]
"""Numbers of the labels of known facts."""


@dataclass(frozen=True)
class ReleasedFile:
    """A table of a release: its file, its links, and what its columns are.

    Attributes
    ----------
    parent, on
        The table that it refers to, and the column that does; None for the root.
    key
        The column that identifies its rows, if others refer to it.
    known
        The columns that an intruder may know.
    sensitive
        The sensitive columns.
    """

    name: str
    file: WrittenTable
    parent: str | None
    on: str | None
    key: str | None
    known: tuple[str, ...]
    sensitive: Mapping[str, Column] = field(default_factory=dict)


@dataclass(frozen=True)
class LinkedEvaluation:
    """Independent verdict on linked tables.

    Attributes
    ----------
    smallest, crowds
        The number of people in the smallest crowd, and the number of crowds, by the number of known facts.
    evaluations
        The verdict on each model; None for a model without a definition here.
    """

    people: int
    rows: Mapping[str, int]
    smallest: tuple[int, ...]
    crowds: tuple[int, ...]
    evaluations: tuple[ModelEvaluation | None, ...]


def evaluate_linked(tables: Sequence[ReleasedFile], models: Sequence[Any], facts: int) -> LinkedEvaluation:
    """Evaluate the crowds of the root and any ``facts`` rows or fewer."""
    root, owned, values, rows = _read(tables)
    by_root: dict[int, list[int]] = {}
    for person, label in enumerate(root):
        by_root.setdefault(label, []).append(person)
    evaluators = [_evaluators(model, values, len(root)) for model in models]
    by_size = all(made is None or len(made[1]) == 0 for made in evaluators)
    found: list[set[Verdict]] = [set() for _ in models]
    smallest, crowds = [len(root)] * (facts + 1), [0] * (facts + 1)
    for people in by_root.values():
        groups: list[dict[FactSet, list[int]]] = [{(): people}, *({} for _ in range(facts))]
        sizes: list[Counter[FactSet]] = [Counter({(): len(people)}), *(Counter() for _ in range(facts))]
        for person in people:
            for known in range(1, facts + 1):
                sets = set(itertools.combinations(owned[person], known))
                sizes[known].update(sets)
                if not by_size:
                    for one in sets:
                        groups[known].setdefault(one, []).append(person)
        for known, counted in enumerate(sizes):
            smallest[known] = min([smallest[known], *set(counted.values())])
            crowds[known] += len(counted)
        for made, verdicts in zip(evaluators, found, strict=True):
            if made is None:
                continue
            judge, of_people = made
            if judge is not None:
                verdicts |= {judge(size, ()) for counted in sizes for size in set(counted.values())}
            members = {frozenset(group) for part in groups for group in part.values()} if of_people else set()
            verdicts |= {evaluate(sorted(group)) for evaluate in of_people for group in members}
    evaluations = [
        combine_verdicts(DEFINITIONS[model.name], model, sorted(verdicts)) if model.name in DEFINITIONS else None
        for model, verdicts in zip(models, found, strict=True)
    ]
    return LinkedEvaluation(len(root), rows, tuple(smallest), tuple(crowds), tuple(evaluations))


def _read(
    tables: Sequence[ReleasedFile],
) -> tuple[list[int], list[list[int]], dict[str, tuple[Column, list[tuple[int, Any]]]], dict[str, int]]:
    """Read root labels, facts and sensitive values of people, and count rows."""
    labels: dict[tuple[Any, ...], int] = {}
    located: dict[str, dict[str, tuple[int, int]]] = {}
    root: list[int] = []
    owned: list[list[int]] = []
    values: dict[str, tuple[Column, list[tuple[int, Any]]]] = {}
    rows: dict[str, int] = {}
    for table in tables:
        names = list(dict.fromkeys([*filter(None, (table.key, table.on)), *table.known, *table.sensitive]))
        cells = dict(zip(names, read_cells(table.file, names, table.known), strict=True))
        count = rows[table.name] = len(cells[names[0]])
        known = list(zip(*(cells[name] for name in table.known), strict=True)) or [()] * count
        above = located[table.parent] if table.parent is not None else {}
        own = located.setdefault(table.name, {})
        people: list[int] = []
        for row in range(count):
            if table.parent is None:
                person, path = row, -1
                owned.append([])
            else:
                reference = cells[str(table.on)][row]
                if reference not in above:
                    raise VerificationError("linked.release-orphan", table=table.name)
                person, path = above[reference]
            label = labels.setdefault((table.name, path, *known[row]), len(labels))
            if table.parent is None:
                root.append(label)
            else:
                owned[person].append(label)
            people.append(person)
            if table.key is not None:
                key = cells[table.key][row]
                if key is None or key in own:
                    raise VerificationError("linked.release-key", table=table.name)
                own[key] = person, -1 if table.parent is None else label
        for name, column in table.sensitive.items():
            values[f"{table.name}.{name}"] = column, list(zip(people, cells[name], strict=True))
    for facts in owned:
        facts.sort()
    return root, owned, values, rows


def _evaluators(
    model: Any, values: Mapping[str, tuple[Column, list[tuple[int, Any]]]], count: int
) -> tuple[Callable[[int, Any], Verdict] | None, list[Callable[[Sequence[int]], Verdict]]] | None:
    """Return the evaluators of a model: by size, or by people for each column."""
    import pyarrow as pa

    definition = DEFINITIONS.get(model.name)
    if definition is None:
        return None
    if not definition.sensitive:
        return definition.judge(model, None), []
    made: list[Callable[[Sequence[int]], Verdict]] = []
    for name, (column, cells) in values.items():
        if getattr(model, "column", None) not in (None, name):
            continue
        people, found = ([cell[part] for cell in cells] for part in (0, 1))
        source = pa.table([pa.array(people), pa.array(found), pa.array([1] * len(cells))], ["p", name, "n"])
        schema = Schema({"p": Column(Role.PERSON), name: column})
        made += make_evaluators(definition, model, range(count), source, schema)
    return None, made
