"""Models asked about the crowds of linked facts.

A crowd is everybody with the same root label and some facts in common. Models count people there, each with the set of
his or her values (:mod:`shoal.table.people`), over all rows that are published.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shoal.models import Model
from shoal.models.base import Assessment, SensitiveModel
from shoal.risk.linked_facts import fact_crowds, number_facts, root_crowds
from shoal.schema import Domain
from shoal.schema.people import People
from shoal.table.groups import Groups, Histogram
from shoal.table.linked_rows import LinkedRowCrowds
from shoal.table.linked_tables import LinkedPeople
from shoal.table.people import by_people, value_sets

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True)
class SensitiveRows:
    """The values of a sensitive column, row by row.

    Attributes
    ----------
    person, value
        int64 and int32 (rows,): the person, and the code of the value in the domain; -1 is missing.
    """

    domain: Domain
    person: Whole
    value: npt.NDArray[np.int32]


@dataclass(frozen=True)
class CrowdVerdict:
    """The verdict of a model on all crowds of linked facts."""

    model: Model
    holds: bool
    effective: Mapping[str, float | int]


class CrowdJudge:
    """Models, and the sensitive values of people on which they look."""

    def __init__(self, people: int, sensitive: Sequence[SensitiveRows], models: Sequence[Model]) -> None:
        self.models = tuple(models)
        self.domains = tuple(part.domain for part in sensitive)
        sets = {part.domain.name: value_sets(part.person, part.value, people, part.domain) for part in sensitive}
        self.person = Domain("person", people, people=People(people, sets))
        for model in models:
            model.require_harmless_support(self.domains)
            model.check(self.domains)

    def assess(self, model: Model, crowds: LinkedRowCrowds) -> Assessment:
        """Assess crowds of people by a model."""
        size = np.diff(crowds.start)
        none = np.zeros(0, np.int64)
        members = Histogram(
            self.person,
            crowds.start.astype(np.int64),
            crowds.person.astype(np.int32),
            np.ones(len(crowds.person), np.int64),
            size,
            np.ones(self.person.size, np.int64),
        )
        columns = [Histogram(one, none, none.astype(np.int32), none, none, none) for one in self.domains]
        needed = [one.name for one in model.columns(self.domains)] if isinstance(model, SensitiveModel) else []
        groups = Groups(size, (*columns, members))
        return model.assess(by_people(groups, needed, shares=model.uses_shares))

    def judge(self, linked: LinkedPeople, facts: int) -> tuple[CrowdVerdict, ...]:
        """Judge the crowds of the root and any ``facts`` rows or fewer."""
        found: list[list[Assessment]] = [[] for _ in self.models]
        for crowds in _all_crowds(linked, facts):
            for number, model in enumerate(self.models):
                found[number].append(self.assess(model, crowds))
        return tuple(_merge(model, parts) for model, parts in zip(self.models, found, strict=True))

    def check_roots(self, linked: LinkedPeople) -> bool:
        """Return whether the crowds of the root alone meet all models."""
        crowds = root_crowds(linked)
        return all(bool(self.assess(model, crowds).holds.all()) for model in self.models)

    def failing_sets(self, linked: LinkedPeople, facts: int) -> Whole:
        """Return the sets of facts with a crowd that fails a model.

        int64 (sets, 3): the root label and one or two labels of facts; -1 for no second one.
        """
        person, label, group = number_facts(linked)
        groups = int(group.max(initial=-1)) + 1
        root_of, label_of = np.zeros(groups, np.int64), np.zeros(groups, np.int64)
        root_of[group], label_of[group] = linked.root[person], label
        found = [np.zeros((0, 3), np.int64)]
        for crowds in fact_crowds(linked, facts):
            if not crowds.count:
                continue
            failing = np.zeros(crowds.count, np.bool_)
            for model in self.models:
                failing |= ~self.assess(model, crowds).holds
            order = np.argsort(crowds.crowd, kind="stable")
            known = crowds.group[order].reshape(crowds.count, -1)[failing]
            second = label_of[known[:, 1]] if known.shape[1] > 1 else np.full(len(known), -1)
            found.append(np.stack([root_of[known[:, 0]], label_of[known[:, 0]], second], axis=1))
        return np.concatenate(found)


def _all_crowds(linked: LinkedPeople, facts: int) -> Iterator[LinkedRowCrowds]:
    yield root_crowds(linked)
    yield from fact_crowds(linked, facts)


def _merge(model: Model, parts: Sequence[Assessment]) -> CrowdVerdict:
    """Merge the assessments of one model on parts of the crowds."""
    first, *others = parts
    conditions = []
    for number, condition in enumerate(first.conditions):
        values = [condition.value, *(part.conditions[number].value for part in others)]
        conditions.append(replace(condition, value=np.concatenate(values)))
    holds = np.concatenate([part.holds for part in parts])
    return CrowdVerdict(model, bool(holds.all()), Assessment(holds, tuple(conditions)).effective)
