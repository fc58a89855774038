"""Does a table meet models? Its rows are grouped again by what they show, and every group is assessed.

How the table was made plays no part. A table that no one machine holds is assessed in parts, in each of which its
groups are whole; a table that is here is one part.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.errors import PlanError, counted
from shoal.io.engines.base import Engine, Relation, require_columns
from shoal.models import AllOf, Model, combine
from shoal.models.base import Assessment, Condition
from shoal.models.by_people import ByPeople, counting_people
from shoal.models.partial_knowledge import Limited, SetsVerdict, assess_sets, limited
from shoal.render import Grid, Sheet, Shown
from shoal.schema import TOP, Schema
from shoal.table import FrequencySet, Groups, read_frequency_set
from shoal.table.canonical import two_zeros
from shoal.table.column_subsets import read_facts
from shoal.table.groups import Histogram
from shoal.table.linked_rows import link
from shoal.table.people import as_in_source
from shoal.table.wildcard_matches import certain_candidates, crowd

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CheckResult", "Crowds", "ModelVerdict", "Part", "answer", "assess_groups", "assess_part", "check_relation"]


@dataclass(frozen=True)
class ModelVerdict:
    """One model's answer: whether it holds, where it fails, and what the table really reaches."""

    name: str
    parameters: dict[str, Any]
    holds: bool
    effective: dict[str, float | int]
    failing_groups: int
    failing_rows: int
    counts: str = "rows"
    """What the model counts: rows or people."""
    judged_by: str | None = None
    """Of a release: whether the gate has judged it too, or the model alone."""
    facts: Mapping[str, Any] | None = None
    """Of a model for few known columns: what was looked at, and with what."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON; infinite figures become text, fractions too."""
        told: dict[str, Any] = {} if self.judged_by is None else {"judged_by": self.judged_by}
        if self.facts is not None:
            told["facts"] = dict(self.facts)
        return {
            "name": self.name,
            "parameters": {key: _plain(value) for key, value in self.parameters.items()},
            "holds": self.holds,
            "effective": {key: _plain(value) for key, value in self.effective.items()},
            "failing_groups": self.failing_groups,
            "failing_rows": self.failing_rows,
            **({} if self.counts == "rows" else {"counts": self.counts}),
            **told,
        }


@dataclass(frozen=True)
class Crowds:
    """The people of a table, in all; in its smallest group; and in all groups together, some of them several times.

    Where rows of a person can be linked: in the smallest crowd of those who share what is known; and the mean, over
    people, of one over the smallest crowd that each is in.
    """

    total: int
    smallest_group: int
    together: int
    smallest_crowd: int | None = None
    mean_risk: float = 0.0

    @classmethod
    def of(cls, groups: Groups, held: Histogram, model: AllOf) -> Crowds:
        """The people of groups, as the models look at them."""
        counted = (len(np.unique(held.value)), int(held.distinct.min()), int(held.distinct.sum()))
        linked = next((part for part in model.parts if isinstance(part, ByPeople) and part.only_people), None)
        if linked is None:
            return cls(*counted)
        both = link(groups, linked.known_rows)[0].people
        assert both is not None
        smallest = np.full(int(both.value.max()) + 1, np.iinfo(np.int64).max)
        np.minimum.at(smallest, both.value, both.distinct[both.owner])
        own = smallest[np.unique(both.value)]
        return cls(*counted, int(own.min()), float((1 / own).mean()))

    def to_dict(self) -> dict[str, int]:
        """For JSON."""
        told = {} if self.smallest_crowd is None else {"smallest_crowd": self.smallest_crowd}
        return {"total": self.total, "smallest_group": self.smallest_group, **told}


@dataclass(frozen=True, repr=False)
class CheckResult(Shown):
    """The answer for a table.

    Failing groups and rows are those that fail at least one model; ``failing_sizes`` are the failing groups'
    sizes, from small to large. ``found`` are the groups themselves, where the models looked at these. ``folded`` tells
    of sensitive columns how many spellings were counted as another one. ``average`` is the mean over rows of one over
    the rows that could be taken for it; groups over rows where it is not given.
    """

    rows: int
    groups: int
    smallest_group: int
    models: tuple[ModelVerdict, ...]
    failing_groups: int
    failing_rows: int
    failing_sizes: tuple[int, ...] = ()
    found: Groups | None = field(default=None, repr=False, compare=False)
    folded: Mapping[str, int] = field(default_factory=dict)
    average: float | None = None
    people: Crowds | None = None
    """Where people were counted: how many there are, in all and in the groups."""

    @property
    def holds(self) -> bool:
        """Whether every group meets every model."""
        return all(model.holds for model in self.models)

    def sheet(self) -> Sheet:
        """The verdict, and what the table really reaches."""
        rows = [
            (
                model.name,
                ", ".join(f"{key} = {value}" for key, value in model.parameters.items()),
                model.holds,
                ", ".join(f"{key} = {value:.6g}" for key, value in model.effective.items()),
                f"{counted(model.failing_rows, 'row')} in {counted(model.failing_groups, 'group')}"
                if model.failing_groups
                else "none",
            )
            for model in self.models
        ]
        figures = (("rows", self.rows), ("groups", self.groups), ("rows in the smallest", self.smallest_group))
        title = "The table meets the models" if self.holds else "The table does not meet the models"
        return Sheet(title, figures, (), [Grid("Models", ("model", "asked for", "holds", "has", "failing"), rows)])

    @property
    def risk(self) -> dict[str, float]:
        """How likely a person is found, at most and on average, by one who knows all quasi-identifiers."""
        if self.people is not None and self.people.smallest_crowd is not None:
            return {"highest": 1 / self.people.smallest_crowd, "average": self.people.mean_risk}
        if self.people is not None:
            return {"highest": 1 / self.people.smallest_group, "average": self.groups / self.people.together}
        average = self.groups / self.rows if self.average is None or self.found is not None else self.average
        return {"highest": 1 / self.smallest_group, "average": average}

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "holds": self.holds,
            "rows": self.rows,
            "groups": self.groups,
            "smallest_group": self.smallest_group,
            "models": [model.to_dict() for model in self.models],
            "failing_groups": self.failing_groups,
            "failing_rows": self.failing_rows,
            **({"people": self.people.to_dict()} if self.people else {}),
            **({"folded": dict(self.folded)} if self.folded else {}),
        }


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, bool | int | str) or value is None:
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else str(value)
    return str(value)


def check_relation(
    engine: Engine | None,
    table: Relation,
    schema: Schema,
    models: Sequence[Model] | AllOf,
    wildcard: str | None = None,
    counted: pa.Table | None = None,
    source: FrequencySet | None = None,
    told: Sequence[Sequence[str | None]] = (),
) -> CheckResult:
    """Check a table against models. Costs one aggregation over its rows, unless the combinations are ``counted``:
    then no engine is asked.

    ``wildcard`` is a label that may stand for any value. With ``source``, the original, a group is then as large as the
    smaller of two numbers: the people who can be behind it, and the rows that can be theirs. Without it, as what is
    certain whatever the label stands for, which is never more. Only k-anonymity has such a reading.

    Where the schema says whose rows they are, by the numbers of :func:`shoal.table.people.number_people`, people are
    counted, with all that they have in ``source``, or in the table itself without it.

    Models for few known columns ask the source for its people; ``told[j]`` are the labels that the release has for the
    codes of its column j. Without a source, of their second condition a lower bound is told, which decides nothing.
    """
    if not schema.quasi_identifiers:
        raise PlanError("At least one quasi-identifier is needed: without one, all rows are one group.")
    looked_at = (*schema.quasi_identifiers, *schema.sensitive, *schema.person)
    require_columns(table, looked_at)
    model = models if isinstance(models, AllOf) else combine(models)
    if schema.person and not isinstance(models, AllOf):
        model = counting_people(model)
    if counted is None:
        assert engine is not None
        table = two_zeros(engine, table, schema)
    frequencies = read_frequency_set(engine, table, schema, ordered=False, counted=counted)
    if schema.person and source is not None:
        frequencies = as_in_source(frequencies, source)
    model.check(frequencies.domains)
    inverse, groups = frequencies.group(frequencies.codes, [dictionary.size for dictionary in frequencies.quasi])
    if limited(model):
        result = assess_groups(groups, AllOf(tuple(part for part in model.parts if not isinstance(part, Limited))))
        return replace(_with_sets(result, frequencies, inverse, groups, model, source, told), folded=frequencies.folded)
    if wildcard is None:
        return replace(assess_groups(groups, model), folded=frequencies.folded)
    if not model.sizes_only:
        if schema.person:
            raise PlanError("People cannot be counted where a label may stand for any value.")
        raise PlanError("Only k-anonymity can be checked where a label may stand for any value.")
    seen = _matching(frequencies, inverse, groups, wildcard, source)
    return replace(assess_groups(groups, model, seen), folded=frequencies.folded)


def _with_sets(
    result: CheckResult,
    frequencies: FrequencySet,
    inverse: npt.NDArray[np.int64],
    groups: Groups,
    model: AllOf,
    source: FrequencySet | None,
    told: Sequence[Sequence[str | None]],
) -> CheckResult:
    """The answer of the models for all columns at once, with that of the models for few in their places."""
    names = tuple(dictionary.name for dictionary in frequencies.quasi)
    shown, known = read_facts(frequencies, TOP, source, told)
    fails = np.zeros(groups.count, np.bool_)
    others = iter(result.models)
    verdicts = []
    for part in model.parts:
        if not isinstance(part, Limited):
            verdicts.append(next(others))
            continue
        part.require(names)
        found = assess_sets(shown, frequencies, part, names, known)
        fails[inverse[found.failing]] = True
        rows = int(frequencies.count[found.failing].sum())
        verdicts.append(
            ModelVerdict(
                part.name,
                dict(part.parameters),
                found.holds,
                found.effective,
                found.failing_groups,
                rows,
                part.counts,
                facts=_told_of_sets(found, known is not None),
            )
        )
    for verdict, part in zip(verdicts, model.parts, strict=True):
        if not isinstance(part, Limited) and not verdict.holds:
            fails |= ~part.assess(groups).holds
    failing = np.sort(groups.size[fails]).tolist()
    return replace(
        result,
        models=tuple(verdicts),
        failing_groups=len(failing),
        failing_rows=sum(failing),
        failing_sizes=tuple(failing),
    )


def _told_of_sets(found: SetsVerdict, with_source: bool) -> dict[str, Any]:
    """What was looked at, and with what: the second condition of a model for few columns needs the original."""
    rows: bool | str = found.people_hold
    if not with_source:
        rows = True if found.people_hold else "not to be told from the release alone"
    return {
        "sets": found.sets,
        "row_to_people": not found.failing_groups,
        "person_to_rows": rows,
        "checked_with": "the release and its original" if with_source else "the release alone",
        "all_columns_at_once": "not promised",
        **({} if found.facts is None else {"fails_at": found.facts}),
    }


def _matching(
    frequencies: FrequencySet,
    inverse: npt.NDArray[np.int64],
    groups: Groups,
    wildcard: str,
    source: FrequencySet | None,
) -> Groups:
    """The groups, each with as many rows as could be taken for one of its own."""
    codes = np.zeros((groups.count, len(frequencies.quasi)), np.int32)
    codes[inverse] = frequencies.codes
    known = None if source is None else np.zeros_like(source.codes)
    for j, dictionary in enumerate(frequencies.quasi):
        # empty text and a missing value are the same to a reader of a CSV
        texts: list[str | None] = [text or None for text in dictionary.text] + [None]
        place: dict[str | None, int] = {}
        own = np.asarray([-1 if text == wildcard else place.setdefault(text, len(place)) for text in texts], np.int32)
        codes[:, j] = own[codes[:, j]]
        if source is not None and known is not None:
            texts = [text or None for text in source.quasi[j].text] + [None]
            known[:, j] = np.asarray([place.setdefault(text, len(place)) for text in texts], np.int32)[
                source.codes[:, j]
            ]
    if source is None or known is None:
        return Groups(certain_candidates(codes, groups.size))
    return Groups(crowd(known, source.count, codes, groups.size))


@dataclass(frozen=True)
class Part:
    """What the groups of a part of a table say: of each model failing groups and rows, and its worst figures."""

    rows: int
    groups: int
    smallest: int
    failing: tuple[tuple[int, int], ...]
    conditions: tuple[tuple[Condition, ...], ...]
    sizes: tuple[int, ...]
    """Of the groups that fail some model, from small to large."""


def assess_part(groups: Groups, model: AllOf, seen: Groups | None = None) -> Part:
    """Assess groups; ``seen`` is what the models shall look at, if it differs."""
    seen = seen or groups
    assessed = [part.assess(seen) for part in model.parts]
    fails = np.zeros(groups.count, np.bool_)
    for one in assessed:
        fails |= ~one.holds
    return Part(
        groups.rows,
        groups.count,
        int(seen.size.min()),
        tuple((int((~one.holds).sum()), int(groups.size[~one.holds].sum())) for one in assessed),
        tuple(
            tuple(replace(condition, value=np.asarray([condition.worst])) for condition in one.conditions)
            for one in assessed
        ),
        tuple(np.sort(groups.size[fails]).tolist()),
    )


def answer(parts: Sequence[Part], model: AllOf) -> CheckResult:
    """The answer for a table, of the parts that it has."""
    verdicts = []
    for number, asked in enumerate(model.parts):
        merged = tuple(
            replace(same[0], value=np.concatenate([condition.value for condition in same]))
            for same in zip(*(part.conditions[number] for part in parts), strict=True)
        )
        groups, rows = (sum(part.failing[number][i] for part in parts) for i in (0, 1))
        effective = Assessment(np.zeros(0, np.bool_), merged).effective
        verdicts.append(
            ModelVerdict(asked.name, dict(asked.parameters), groups == 0, effective, groups, rows, asked.counts)
        )
    failing = sorted(itertools.chain.from_iterable(part.sizes for part in parts))
    return CheckResult(
        sum(part.rows for part in parts),
        sum(part.groups for part in parts),
        min((part.smallest for part in parts), default=0),
        tuple(verdicts),
        len(failing),
        sum(failing),
        tuple(failing),
    )


def assess_groups(groups: Groups, model: AllOf, seen: Groups | None = None) -> CheckResult:
    """The answer for groups that are already counted, all of a table; ``seen`` as in :func:`assess_part`."""
    seen = seen or groups
    held = groups.people
    crowds = None if held is None else Crowds.of(groups, held, model)
    return replace(
        answer([assess_part(groups, model, seen)], model),
        found=groups if seen is groups else None,
        average=float((groups.size / np.maximum(seen.size, 1)).sum()) / groups.rows,
        people=crowds,
    )
