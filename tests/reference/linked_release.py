"""Slow twins of linked releases: the rule of leaving out, and all crowds.

Crowds are found by comparing every set of a person's facts with the facts of everybody, from the files by Python's csv
module; nothing of shoal is used.
"""

from __future__ import annotations

import csv
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

LINKS = {"visit": ("person", "id"), "test": ("visit", "visit_id"), "drug": ("person", "id")}
KNOWN = {"person": ("sex", "age"), "visit": ("month",), "test": ("kind",), "drug": ("name",)}
KEYS = {"person": "id", "visit": "visit_id"}


def read_people(folder: Path) -> list[dict[str, object]]:
    """Return root label, multiset of facts and test results of each person."""
    tables = {}
    for name in ("person", "visit", "test", "drug"):
        with (folder / f"{name}.csv").open(newline="") as file:
            tables[name] = list(csv.DictReader(file))
    people = {
        row["id"]: {"root": tuple(row[name] for name in KNOWN["person"]), "facts": Counter(), "results": set()}
        for row in tables["person"]
    }
    assert len(people) == len(tables["person"])
    visits = {row["visit_id"]: row for row in tables["visit"]}
    assert len(visits) == len(tables["visit"])
    for row in tables["visit"]:
        people[row["id"]]["facts"][("visit", row["month"])] += 1
    for row in tables["test"]:
        visit = visits[row["visit_id"]]
        person = people[visit["id"]]
        person["facts"][("test", visit["month"], row["kind"])] += 1
        if row["result"]:
            person["results"].add(row["result"])
    for row in tables["drug"]:
        people[row["id"]]["facts"][("drug", row["name"])] += 1
    return list(people.values())


def all_crowds(people: Sequence[Mapping[str, object]], facts: int) -> list[list[Mapping[str, object]]]:
    """Return the crowd of every set of at most ``facts`` facts of everybody."""
    crowds = []
    for person in people:
        rows = list(person["facts"].elements())
        for size in range(facts + 1):
            for known in {tuple(sorted(one)) for one in itertools.combinations(rows, size)}:
                needed = Counter(known)
                crowds.append([
                    other
                    for other in people
                    if other["root"] == person["root"] and all(other["facts"][one] >= n for one, n in needed.items())
                ])  # fmt: skip
    return crowds


def promise_holds(people: Sequence[Mapping[str, object]], facts: int, k: int, p: int = 1) -> bool:
    """Return whether every crowd has k people, and p values that it needs."""
    return all(len(crowd) >= k and _needed_values(crowd, p) >= p for crowd in all_crowds(people, facts))


def smallest_crowd(people: Sequence[Mapping[str, object]], facts: int) -> int:
    """Return the number of people in the smallest crowd."""
    return min(map(len, all_crowds(people, facts)))


def _needed_values(crowd: Sequence[Mapping[str, object]], p: int) -> int:
    """Return the fewest values of which everybody with a value has one."""
    if p < 2:
        return p
    sets = [person["results"] for person in crowd if person["results"]]
    values = sorted(set().union(*sets)) if sets else []
    if not sets:
        return 0
    for size in range(1, len(values) + 1):
        if any(all(set(chosen) & one for one in sets) for chosen in itertools.combinations(values, size)):
            return min(size, p)
    return p


def thin_slowly(
    groups: Sequence[Sequence[int]], people: Mapping[int, dict[int, int]], lots: Mapping[tuple[int, int], int],
    k: int, facts: int, banned: frozenset[tuple[int, ...]] = frozenset(),
) -> dict[int, dict[int, int]]:  # fmt: skip
    """Leave out labels of people by the rule of the kernel, set by set.

    ``people`` have labels with their number, at most two; ``lots`` decide ties.
    """
    remaining = {person: dict(labels) for person, labels in people.items()}

    def support(group, known):
        if known in banned:
            return -1
        needed = Counter(known)
        return sum(all(remaining[one].get(label, 0) >= n for label, n in needed.items()) for one in group)

    for group in groups:
        changed = True
        while changed:
            changed = False
            for person in group:
                own = remaining[person]
                while True:
                    for label in sorted(own):
                        if support(group, (label,)) < k:
                            del own[label]
                            changed = True
                        elif facts > 1 and own[label] > 1 and support(group, (label, label)) < k:
                            own[label] = 1
                            changed = True
                    if facts < 2:
                        break
                    rare = {
                        one: sum(support(group, tuple(sorted((one, two)))) < k for two in own if two != one)
                        for one in own
                    }
                    chosen = [one for one in own if rare[one]]
                    if not chosen:
                        break
                    best = min(chosen, key=lambda one: (-rare[one], support(group, (one,)), lots[person, one]))
                    del own[best]
                    changed = True
    return remaining
