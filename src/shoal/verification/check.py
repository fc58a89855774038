"""Check whether a table meets privacy models.

The rows of the table are grouped again by their published quasi-identifiers, and every group is assessed. The method
that made the table plays no part. A distributed table is assessed in parts, each of which contains whole groups; a
local table is one part.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.errors import PlanError
from shoal.formatting import counted, format_parameters
from shoal.io.engines.base import Engine, Relation, require_columns
from shoal.models import AllOf, Model, combine
from shoal.models.base import Assessment, Condition
from shoal.models.by_people import ByPeople, as_people_models
from shoal.models.partial_knowledge import partial_knowledge_models
from shoal.models.views import CodedTable, examine
from shoal.render import Displayable, Grid, Summary
from shoal.runtime.lazy_dataclass import dataclass
from shoal.schema import Schema
from shoal.table import FrequencySet, Groups, read_frequency_set
from shoal.table.canonical import negative_zero_as_text
from shoal.table.groups import Histogram
from shoal.table.linked_rows import add_crowds
from shoal.table.people import with_source_people
from shoal.table.population import CountedPeople
from shoal.table.wildcard_matches import count_certain_candidates, smallest_candidate_count
from shoal.utility.covered_people import count_covered_people

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class ModelVerdict:
    """Verdict of one model: whether it holds, where it fails, what is reached."""

    name: str
    parameters: dict[str, Any]
    holds: bool
    effective: dict[str, float | int]
    failing_groups: int
    failing_rows: int
    counts: str = "rows"
    """Unit that the model counts: rows or people."""
    judged_by: str | None = None
    """For a release: whether the independent verification evaluated the model too, or the model alone did."""
    facts: Mapping[str, Any] | None = None
    """For a model of partial knowledge or a scenario: which column sets were examined, and with which tables."""

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict for JSON; infinite figures and fractions become text."""
        optional: dict[str, Any] = {} if self.judged_by is None else {"judged_by": self.judged_by}
        if self.facts is not None:
            optional["facts"] = dict(self.facts)
        return {
            "name": self.name,
            "parameters": {key: _plain(value) for key, value in self.parameters.items()},
            "holds": self.holds,
            "effective": {key: _plain(value) for key, value in self.effective.items()},
            "failing_groups": self.failing_groups,
            "failing_rows": self.failing_rows,
            **({} if self.counts == "rows" else {"counts": self.counts}),
            **optional,
        }


@dataclass(frozen=True)
class PeopleCounts:
    """Numbers of people in a table and in its groups.

    ``total`` counts each person once, ``smallest_group`` the people of the smallest group, and ``memberships`` the
    people of all groups added up, so that a person in several groups counts several times.

    Where the rows of a person can be linked, ``smallest_crowd`` is the size of the smallest set of people who share the
    known rows, and ``mean_risk`` the mean over people of one over the smallest such set that contains each.
    """

    total: int
    smallest_group: int
    memberships: int
    smallest_crowd: int | None = None
    mean_risk: float = 0.0

    @classmethod
    def from_groups(cls, groups: Groups, people: Histogram, model: AllOf) -> PeopleCounts:
        """Count the people of groups in the way that the models count them."""
        counted = (len(np.unique(people.value)), int(people.distinct.min()), int(people.distinct.sum()))
        linked = next((part for part in model.parts if isinstance(part, ByPeople) and part.requires_people), None)
        if linked is None:
            return cls(*counted)
        linked_people = add_crowds(groups, linked.known_rows)[0].people
        assert linked_people is not None
        smallest = np.full(int(linked_people.value.max()) + 1, np.iinfo(np.int64).max)
        np.minimum.at(smallest, linked_people.value, linked_people.distinct[linked_people.owner])
        smallest_of_person = smallest[np.unique(linked_people.value)]
        return cls(*counted, int(smallest_of_person.min()), float((1 / smallest_of_person).mean()))

    def to_dict(self) -> dict[str, int]:
        """Return the counts for JSON."""
        optional = {} if self.smallest_crowd is None else {"smallest_crowd": self.smallest_crowd}
        return {"total": self.total, "smallest_group": self.smallest_group, **optional}


@dataclass(frozen=True, repr=False)
class CheckResult(Displayable):
    """Result of checking a table.

    Failing groups and rows are those that fail at least one model; a group fails a model of partial knowledge if its
    rows fail on some set of columns, so that no more groups fail than there are. ``failing_sizes`` are the sizes of the
    failing groups in ascending order. ``found`` are the groups themselves, where the models assessed them directly.
    ``folded`` gives, for each sensitive column, how many spellings were counted as another one, and ``read_as_missing``
    how many texts other programs commonly read as missing. ``average`` is the mean over rows of one over the number of
    candidate rows; without it, the average risk is groups over rows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import shoal
    >>> found = shoal.check(pa.table({"age": ["<30", "<30", ">40"]}), "k-anonymity k=2", quasi_identifiers="age")
    >>> found.holds, found.groups, found.failing_groups
    (False, 2, 1)
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
    people: PeopleCounts | None = None
    """Numbers of people, where people were counted."""
    read_as_missing: Mapping[str, int] = field(default_factory=dict)
    reading: str | None = None
    """For a release: what read it for the independent verification; the engine reads it for the models."""
    original_reading: str | None = None
    """The same for the original, where people are looked up in it."""
    unanswered: tuple[str, ...] = ()
    """Parts of the plan's question that this table alone cannot answer, as sentences."""
    combinations: FrequencySet | None = field(default=None, repr=False, compare=False)
    """The table's combinations, where they are in memory."""
    sensitive_texts: Mapping[str, Sequence[str]] = field(default_factory=dict, repr=False, compare=False)
    """Different texts of sensitive columns, where the table is distributed."""

    @property
    def complete(self) -> bool:
        """Return whether the whole question was answered."""
        return not self.unanswered

    @property
    def unit(self) -> str:
        """The unit that was counted: rows or people."""
        return "rows" if self.people is None else "people"

    @property
    def holds(self) -> bool:
        """Return whether every group meets every model."""
        return all(model.holds for model in self.models)

    def summary(self) -> Summary:
        """Return the verdict and the parameters that the table reaches."""
        figures = (("rows", self.rows), ("groups", self.groups), ("rows in the smallest", self.smallest_group))
        title = "The table meets the models" if self.holds else "The table does not meet the models"
        sentences = [*self.unanswered, *(f"Warning: {warning['text']}" for warning in self.warnings)]
        return Summary(title, figures, sentences, [verdict_grid([model.to_dict() for model in self.models])])

    @property
    def warnings(self) -> list[dict[str, str]]:
        """Warnings for users, each with a code for programs and a text."""
        return read_as_missing_warnings(self.read_as_missing)

    @property
    def risk(self) -> dict[str, float]:
        """Highest and average prosecutor risk, given all quasi-identifiers."""
        if self.people is not None and self.people.smallest_crowd is not None:
            return {"highest": 1 / self.people.smallest_crowd, "average": self.people.mean_risk}
        if self.people is not None:
            return {"highest": 1 / self.people.smallest_group, "average": self.groups / self.people.memberships}
        average = self.groups / self.rows if self.average is None or self.found is not None else self.average
        return {"highest": 1 / self.smallest_group, "average": average}

    def to_dict(self) -> dict[str, Any]:
        """Return the result for JSON."""
        return {
            "holds": self.holds,
            "complete": self.complete,
            **({"unanswered": list(self.unanswered)} if self.unanswered else {}),
            "unit": self.unit,
            "rows": self.rows,
            "groups": self.groups,
            "smallest_group": self.smallest_group,
            "models": [model.to_dict() for model in self.models],
            "failing_groups": self.failing_groups,
            "failing_rows": self.failing_rows,
            **({"people": self.people.to_dict()} if self.people else {}),
            **({"folded": dict(self.folded)} if self.folded else {}),
            **({"read_as_missing": dict(self.read_as_missing)} if self.read_as_missing else {}),
        }


NOT_IN_RELEASE = "verified with the original; the release alone does not tell"


def verdict_grid(models: Sequence[Mapping[str, Any]], without: Collection[str] = ()) -> Grid:
    """Describe the verdicts on models, as they are in JSON.

    Parameters ``without`` are left out. Groups and rows that fail are given where there are any.
    """
    rows = []
    for model in models:
        parameters = {key: value for key, value in model["parameters"].items() if key not in without}
        reached = format_parameters(model["effective"]) or NOT_IN_RELEASE
        groups, failing = model.get("failing_groups", 0), "none"
        if groups:
            failing = f"{counted(model['failing_rows'], 'row')} in {counted(groups, 'group')}"
        name = f"{model['name']} of people" if model.get("counts") == "people" else model["name"]
        rows.append((name, format_parameters(parameters), model["holds"], reached, failing))
    columns = ("model", "asked for", "holds", "the table has", "failing")
    grid = Grid("Models", columns, rows)
    return grid if any(model.get("failing_groups") for model in models) else grid.select(*columns[:-1])


def read_as_missing_warnings(texts: Mapping[str, int]) -> list[dict[str, str]]:
    """Return the warning about sensitive texts that others read as missing.

    ``texts`` are the numbers of such texts by column; without any there is no warning.
    """
    if not texts:
        return []
    columns = ", ".join(f"{name!r} ({counted(number, 'text')})" for name, number in texts.items())
    text = (
        f"Sensitive texts such as NA, None or null were counted as values, but pandas and R read them as missing: "
        f"{columns}. For such a reader groups have fewer values. If they mean missing, list them in missing of the "
        f"source; else write them in other words."
    )
    return [{"code": "read-as-missing", "text": text}]


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
    released_labels: Sequence[Sequence[str | None]] = (),
    population: CheckedPopulation | None = None,
) -> CheckResult:
    """Check a table against models.

    This costs one aggregation over the rows, unless the combinations are already ``counted``; then no engine is used.

    ``wildcard`` is a label that may stand for any value. With ``source``, the original table, the size of a group is
    then the smaller of two numbers: the people who match its rows, and the rows that match each of these people.
    Without ``source`` it is the number of candidates that is certain whatever the wildcard stands for, which is never
    larger. Only k-anonymity can be checked with a wildcard.

    If the schema has a person column, which holds the numbers of :func:`shoal.table.people.number_people`, people are
    counted, with all values that they have in ``source``, or in the table itself without a source.

    Models of partial knowledge need the people of the source; ``released_labels[j]`` are the labels that the release
    has for the codes of its column j. Without a source only a lower bound of their second condition is reported, which
    decides nothing.

    Models of a population need ``population``: its people are counted by what the labels of the table cover.
    """
    if not schema.quasi_identifiers:
        raise PlanError("columns.no-quasi-identifier")
    required = (*schema.quasi_identifiers, *schema.sensitive, *schema.person)
    require_columns(table, required)
    model = models if isinstance(models, AllOf) else combine(models)
    if schema.person and not isinstance(models, AllOf):
        model = as_people_models(model)
    if counted is None:
        assert engine is not None
        table = negative_zero_as_text(engine, table, schema)
    frequencies = read_frequency_set(engine, table, schema, ordered=False, counted=counted)
    texts: dict[str, Any] = {
        "folded": frequencies.folded,
        "read_as_missing": frequencies.read_as_missing,
        "combinations": frequencies,
    }
    if schema.person and source is not None:
        frequencies = with_source_people(frequencies, source)
    model.check(frequencies.domains)
    inverse, groups = frequencies.group(frequencies.codes, [dictionary.size for dictionary in frequencies.quasi])
    if model.needs_population:
        groups = _with_population(frequencies, inverse, groups, model, schema, population)
    matching = None
    plain = model.of_all_columns
    if wildcard is not None and plain.parts and not partial_knowledge_models(model):
        if not plain.sizes_only:
            if schema.person:
                raise PlanError("check.label-for-any-value-not-people")
            raise PlanError("check.label-for-any-value-only-k-anonymity")
        matching = _matching_groups(frequencies, inverse, groups, wildcard, source)
    result = assess_groups(groups, plain, matching)
    if model.of_some_columns:
        result = _with_sets(result, frequencies, inverse, groups, model, source, released_labels, matching)
    return replace(result, **texts)


@dataclass(frozen=True)
class CheckedPopulation:
    """The population of a table that is checked.

    Attributes
    ----------
    people
        Its people by original values.
    schema
        The plan's columns, with their hierarchies.
    contains_release
        Whether everybody in the table is one of these people.
    left_out
        The number of rows of the original that the table does not have; None where it is not known.
    classes
        By column, the number of the label that each value of the population has at the levels of the release.
    """

    people: CountedPeople
    schema: Schema
    contains_release: bool = True
    left_out: int | None = None
    classes: tuple[npt.NDArray[np.int32], ...] = ()


def _with_population(
    frequencies: FrequencySet,
    inverse: npt.NDArray[np.int64],
    groups: Groups,
    model: AllOf,
    schema: Schema,
    population: CheckedPopulation | None,
) -> Groups:
    """Return the groups with the people of a population."""
    if population is None:
        name = next(part.name for part in model.parts if part.needs_population)
        raise PlanError("population.missing", model=name)
    codes = np.zeros((groups.count, len(frequencies.quasi)), np.int32)
    codes[inverse] = frequencies.codes
    labels = [(*one.text, *((None,) if one.missing else ())) for one in frequencies.quasi]
    found = count_covered_people(
        labels,
        codes,
        groups,
        population.people,
        population.schema,
        contains_release=population.contains_release,
        classes=population.classes,
    )
    strict = [part.name for part in model.parts if part.needs_disjoint_labels]
    if found.overlap and strict:
        raise PlanError("population.labels-overlap", model=strict[0])
    if population.contains_release and (lacking := int((found.people.count < groups.size).sum())):
        raise PlanError("population.too-few-people", failing=lacking)
    return replace(groups, people_of=replace(found.people, left_out=population.left_out or 0))


def _with_sets(
    result: CheckResult,
    frequencies: FrequencySet,
    inverse: npt.NDArray[np.int64],
    groups: Groups,
    model: AllOf,
    source: FrequencySet | None,
    released_labels: Sequence[Sequence[str | None]],
    matching: Groups | None,
) -> CheckResult:
    """Merge the verdicts of models of some columns into a result.

    These are the models of partial knowledge and of scenarios. ``result`` has the verdicts of the other models, on the
    groups or on ``matching`` ones; every verdict takes the position of its model.
    """
    table = CodedTable(frequencies, source, released_labels)
    fails = np.zeros(groups.count, np.bool_)
    others = iter(result.models)
    verdicts = []
    for part in model.parts:
        if part.binds_all_columns:
            verdicts.append(next(others))
            continue
        found = examine(part, table)
        failing_groups = np.unique(inverse[found.failing])
        fails[failing_groups] = True
        rows = int(frequencies.count[found.failing].sum())
        verdicts.append(
            ModelVerdict(
                part.name,
                dict(part.parameters),
                found.holds,
                found.effective,
                len(failing_groups),
                rows,
                part.counts,
                facts=found.facts,
            )
        )
    for verdict, part in zip(verdicts, model.parts, strict=True):
        if part.binds_all_columns and not verdict.holds:
            fails |= ~part.assess(matching or groups).holds
    failing = np.sort(groups.size[fails]).tolist()
    undecided = sorted({v.name for v in verdicts if v.facts and isinstance(v.facts.get("person_to_rows"), str)})
    return replace(
        result,
        models=tuple(verdicts),
        unanswered=tuple(
            f"Whether the rows that match each person meet {name} (partial knowledge) needs the original to decide."
            for name in undecided
        ),
        failing_groups=len(failing),
        failing_rows=sum(failing),
        failing_sizes=tuple(failing),
    )


def _matching_groups(
    frequencies: FrequencySet,
    inverse: npt.NDArray[np.int64],
    groups: Groups,
    wildcard: str,
    source: FrequencySet | None,
) -> Groups:
    """Return the groups, each with the number of candidate rows as its size."""
    codes = np.zeros((groups.count, len(frequencies.quasi)), np.int32)
    codes[inverse] = frequencies.codes
    known = None if source is None else np.zeros_like(source.codes)
    for j, dictionary in enumerate(frequencies.quasi):
        # a CSV reader cannot distinguish empty text from a missing value
        texts: list[str | None] = [text or None for text in dictionary.text] + [None]
        code_by_text: dict[str | None, int] = {}
        recoded = np.asarray(
            [-1 if text == wildcard else code_by_text.setdefault(text, len(code_by_text)) for text in texts], np.int32
        )
        codes[:, j] = recoded[codes[:, j]]
        if source is not None and known is not None:
            texts = [text or None for text in source.quasi[j].text] + [None]
            known[:, j] = np.asarray([code_by_text.setdefault(text, len(code_by_text)) for text in texts], np.int32)[
                source.codes[:, j]
            ]
    if source is None or known is None:
        return Groups(count_certain_candidates(codes, groups.size))
    return Groups(smallest_candidate_count(known, source.count, codes, groups.size))


@dataclass(frozen=True)
class PartialCheck:
    """Assessment of the groups of one part of a table.

    It has, for each model, the failing groups and rows and the worst figures.
    """

    rows: int
    groups: int
    smallest: int
    failing: tuple[tuple[int, int], ...]
    conditions: tuple[tuple[Condition, ...], ...]
    sizes: tuple[int, ...]
    """Sizes of the groups that fail some model, in ascending order."""


def assess_part(groups: Groups, model: AllOf, seen: Groups | None = None) -> PartialCheck:
    """Assess the groups of a part.

    ``seen`` replaces the groups that the models assess, where it is given.
    """
    seen = seen or groups
    assessed = [part.assess(seen) for part in model.parts]
    fails = np.zeros(groups.count, np.bool_)
    for one in assessed:
        fails |= ~one.holds
    return PartialCheck(
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


def merge_parts(parts: Sequence[PartialCheck], model: AllOf) -> CheckResult:
    """Merge the assessments of all parts into the result for the table."""
    verdicts = []
    for index, submodel in enumerate(model.parts):
        merged = tuple(
            replace(same[0], value=np.concatenate([condition.value for condition in same]))
            for same in zip(*(part.conditions[index] for part in parts), strict=True)
        )
        groups, rows = (sum(part.failing[index][i] for part in parts) for i in (0, 1))
        effective = Assessment(np.zeros(0, np.bool_), merged).effective
        verdicts.append(
            ModelVerdict(
                submodel.name, dict(submodel.parameters), groups == 0, effective, groups, rows, submodel.counts
            )
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
    """Assess the counted groups of a whole table.

    ``seen`` is as in :func:`assess_part`.
    """
    seen = seen or groups
    people = groups.people
    people_counts = None if people is None else PeopleCounts.from_groups(groups, people, model)
    return replace(
        merge_parts([assess_part(groups, model, seen)], model),
        found=groups if seen is groups else None,
        average=float((groups.size / np.maximum(seen.size, 1)).sum()) / groups.rows,
        people=people_counts,
    )
