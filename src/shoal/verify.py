"""Does a table meet a model? Asked of any table, and of every release before it is written.

The answer starts from the rows: they are grouped again by what they show, and every group is assessed. How
the table was made plays no part. Of a release a second opinion is asked for, which counts and judges for itself
(:mod:`shoal.gate`); where the two differ in anything, nothing is written.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.encoding import ByPattern, FrequencySet, Groups, read_frequency_set
from shoal.encoding.apart import SensitiveLists, list_sensitive
from shoal.encoding.canonical import two_zeros
from shoal.encoding.facts import read_facts
from shoal.encoding.frequency import encode_column
from shoal.encoding.groups import group_keys
from shoal.encoding.people import as_in_source
from shoal.encoding.wildcards import certain_candidates, crowd
from shoal.engines.base import Apart, Engine, Relation, require_columns
from shoal.errors import PlanError, VerificationError
from shoal.gate import (
    Judgement,
    Sensitive,
    columns_needed,
    count_fitting,
    count_groups,
    count_loosely,
    differences,
    judge,
    judge_people,
    judge_sets,
    judge_sets_of_people,
    read_texts,
    show_rows,
    together,
)
from shoal.gate import list_sensitive as list_sensitive_again
from shoal.models import AllOf, Model, combine
from shoal.models.base import Assessment, Condition
from shoal.models.known import Limited, SetsVerdict, assess_sets, limited
from shoal.models.people import ByPeople, counting_people
from shoal.risk.patterns import INDIFFERENT, PatternExposure, expose_patterns
from shoal.schema import TOP, Ladder, Schema
from shoal.showing import Grid, Sheet, Shown

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "CheckResult", "Crowds", "ModelVerdict", "PatternCheck", "assess_groups", "check_relation", "people_of_source",
    "require_same_rows", "verify", "verify_apart", "verify_patterns",
]  # fmt: skip


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
    """The people of a table, in all; in its smallest group; and in all groups together, some of them several times."""

    total: int
    smallest_group: int
    together: int

    def to_dict(self) -> dict[str, int]:
        """For JSON."""
        return {"total": self.total, "smallest_group": self.smallest_group}


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
                f"{model.failing_rows:,} rows in {model.failing_groups:,} group(s)" if model.failing_groups else "none",
            )
            for model in self.models
        ]
        figures = (("rows", self.rows), ("groups", self.groups), ("rows in the smallest", self.smallest_group))
        title = "The table meets the models" if self.holds else "The table does not meet the models"
        return Sheet(title, figures, (), [Grid("Models", ("model", "asked for", "holds", "has", "failing"), rows)])

    @property
    def risk(self) -> dict[str, float]:
        """How likely a person is found, at most and on average, by one who knows all quasi-identifiers."""
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
    engine: Engine,
    table: Relation,
    schema: Schema,
    models: Sequence[Model] | AllOf,
    wildcard: str | None = None,
    counted: pa.Table | None = None,
    source: FrequencySet | None = None,
    told: Sequence[Sequence[str | None]] = (),
) -> CheckResult:
    """Check a table against models. Costs one aggregation over its rows, unless the combinations are ``counted``.

    ``wildcard`` is a label that may stand for any value. With ``source``, the original, a group is then as large as the
    smaller of two numbers: the people who can be behind it, and the rows that can be theirs. Without it, as what is
    certain whatever the label stands for, which is never more. Only k-anonymity has such a reading.

    Where the schema says whose rows they are, by the numbers of :func:`shoal.encoding.people.number_people`, people are
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


def assess_groups(groups: Groups, model: AllOf, seen: Groups | None = None) -> CheckResult:
    """The answer for groups that are already counted; ``seen`` is what the models shall look at, if it differs."""
    seen = seen or groups
    held = groups.people
    crowds = None
    if held is not None:
        crowds = Crowds(len(np.unique(held.value)), int(held.distinct.min()), int(held.distinct.sum()))
    verdicts = []
    fails = np.zeros(groups.count, np.bool_)
    for part in model.parts:
        verdict = part.assess(seen)
        bad = ~verdict.holds
        fails |= bad
        verdicts.append(
            ModelVerdict(
                part.name,
                dict(part.parameters),
                not bad.any(),
                verdict.effective,
                int(bad.sum()),
                int(groups.size[bad].sum()),
                part.counts,
            )
        )
    return CheckResult(
        groups.rows,
        groups.count,
        int(seen.size.min()),
        tuple(verdicts),
        int(fails.sum()),
        int(groups.size[fails].sum()),
        tuple(int(size) for size in np.sort(groups.size[fails])),
        groups if seen is groups else None,
        average=float((groups.size / np.maximum(seen.size, 1)).sum()) / groups.rows,
        people=crowds,
    )


def verify(
    engine: Engine,
    released: Relation,
    schema: Schema,
    models: Sequence[Model] | AllOf,
    rows: int,
    wildcard: str | None = None,
    source: FrequencySet | None = None,
    people: pa.Table | None = None,
    told: Sequence[Sequence[str | None]] = (),
) -> CheckResult:
    """Check a release before it leaves, twice; ``rows`` is how many the method meant to release.

    Where the schema says whose rows they are, the release still has that column, and ``people`` are
    those of :func:`people_of_source`.
    """
    looked_at = (*schema.quasi_identifiers, *schema.sensitive, *schema.person)
    require_columns(released, looked_at)
    released = two_zeros(engine, released, schema)
    counted = engine.frequencies(released, released.places(looked_at))
    model = models if isinstance(models, AllOf) else combine(models)
    if limited(model) and (source is None or not told):
        raise VerificationError(
            "Models for few known columns need the original. A fault in shoal; nothing was written."
        )
    result = check_relation(engine, released, schema, model, wildcard, counted, source, told)
    if schema.person:
        assert people is not None
        own = _second_opinion_on_people(counted, released, schema, model, people, source, told)
    else:
        own = _second_opinion(counted, released, schema, model, wildcard, source, told)
    return _require(result, own, model, rows)


def _second_opinion(
    counted: pa.Table,
    released: Relation,
    schema: Schema,
    model: AllOf,
    wildcard: str | None,
    source: FrequencySet | None = None,
    told: Sequence[Sequence[str | None]] = (),
) -> Judgement:
    """What the gate finds in the combinations of a release, with their counts."""
    places = released.places(schema.quasi_identifiers)
    if wildcard is not None:
        assert source is not None
        people = _people(source, [(*dictionary.text, None) for dictionary in source.quasi])
        return judge(count_loosely(counted, places, wildcard, people), (), model.parts)
    columns = {
        name: (place, counted.column(f"c{place}"), counted.column("n"))
        for name in columns_needed(model.parts, schema.sensitive)
        for place in released.places((name,))
    }
    sensitive = list_sensitive_again(columns, schema)
    plain = [part for part in model.parts if not isinstance(part, Limited)]
    own = judge(count_groups(counted, places, sensitive), sensitive, plain)
    if len(plain) == len(model.parts):
        return own
    assert source is not None
    quasi = dict(zip(schema.quasi_identifiers, places, strict=True))
    shown = show_rows(counted, quasi, sensitive, _people(source, told), TOP)
    others = iter(own.opinions)
    opinions = [judge_sets(shown, part) if isinstance(part, Limited) else next(others) for part in model.parts]
    return replace(own, opinions=tuple(opinions))


def _people(source: FrequencySet, labels: Sequence[Sequence[str | None]]) -> Counter[tuple[str | None, ...]]:
    """The rows of the source by label, empty text as missing; ``labels[j]`` are those of the codes of column j."""
    texts = [[text or None for text in column] for column in labels]
    people: Counter[tuple[str | None, ...]] = Counter()
    for codes, count in zip(source.codes.tolist(), source.count.tolist(), strict=True):
        people[tuple(text[code] for text, code in zip(texts, codes, strict=True))] += count
    return people


def _second_opinion_on_people(
    counted: pa.Table,
    released: Relation,
    schema: Schema,
    model: AllOf,
    people: pa.Table,
    source: FrequencySet | None,
    told: Sequence[Sequence[str | None]],
) -> Judgement:
    """The same in people, of whom the gate is told what the source has."""
    models = [part.of_rows for part in model.parts if isinstance(part, ByPeople)]
    (person,) = released.places(schema.person)
    places = released.places(schema.quasi_identifiers)
    known_rows = next((part.known_rows for part in model.parts if isinstance(part, ByPeople)), 1)
    own = judge_people(counted, people, places, person, schema, models, known_rows)
    if len(models) == len(model.parts):
        return own
    assert source is not None
    quasi = dict(zip(schema.quasi_identifiers, places, strict=True))
    shown = show_rows(counted, quasi, (), _people(source, told), TOP)
    others = iter(own.opinions)
    opinions = [
        judge_sets_of_people(shown, counted, people, person, schema, part.of_rows)
        if isinstance(part, Limited)
        else next(others)
        for part in model.parts
    ]
    return replace(own, opinions=tuple(opinions))


def people_of_source(engine: Engine, source: Relation, schema: Schema) -> pa.Table:
    """What the people of the source have, by the names of its columns: for the gate, which takes no code from us."""
    names = (*schema.person, *schema.sensitive)
    places = source.places(names)
    found = engine.frequencies(source, places)
    return found.select([*(f"c{place}" for place in places), "n"]).rename_columns([*names, "n"])


def require_same_rows(
    engine: Engine, written: Relation, verified: Relation, shown: Mapping[str, Mapping[str, str]] | None = None
) -> None:
    """Raise unless a table is what was verified, without the column that says whose rows they are.

    ``shown`` are, by column, the texts that were written in place of what was verified; missing where there is none.
    """
    told = _rows_of(engine, written, written.columns, {})
    if told != _rows_of(engine, verified, written.columns, shown or {}):
        raise VerificationError(
            "The rows that were written are not those that were verified by people. This is a fault in shoal; nothing "
            "was published."
        )


def _rows_of(
    engine: Engine, table: Relation, names: Sequence[str], shown: Mapping[str, Mapping[str, str]]
) -> Counter[tuple[Any, ...]]:
    """How often each row stands in some columns of a table, with other texts in some of them."""
    places = table.places(names)
    counted = engine.frequencies(table, places)
    cells = [counted.column(f"c{place}").to_pylist() for place in places]
    for name, texts in shown.items():
        at = names.index(name)
        cells[at] = [texts.get(str(cell)) for cell in cells[at]]
    found: Counter[tuple[Any, ...]] = Counter()
    for row, times in zip(zip(*cells, strict=True), counted.column("n").to_pylist(), strict=True):
        found[row] += times
    return found


def _require(result: CheckResult, own: Judgement, model: AllOf, rows: int) -> CheckResult:
    """Raise unless the models hold, no row is too many or too few, and the gate agrees in every figure."""
    if not result.rows == own.rows == rows or rows < 1:
        raise VerificationError(
            f"The release has {result.rows} rows ({own.rows} when counted again) where the method accounted for "
            f"{rows}. This is a fault in shoal; nothing was written."
        )
    smallest, unit = result.smallest_group, "rows"
    if result.people is not None:
        smallest, unit = result.people.smallest_group, "people"
    if (result.groups, smallest) != (own.groups, own.smallest):
        raise VerificationError(
            f"The release has {result.groups} groups of at least {smallest} {unit}, but {own.groups} of at "
            f"least {own.smallest} when counted again. This is a fault in shoal; nothing was written."
        )
    verdicts = []
    for part, told, opinion in zip(model.parts, result.models, own.opinions, strict=True):
        asked = part.of_rows if isinstance(part, ByPeople | Limited) else part
        differ = [] if opinion is None else differences(opinion, asked, told.holds, told.effective)
        if differ:
            raise VerificationError(
                f"Two ways to judge {part.name} differ in {' and in '.join(differ)}. This is a fault in shoal; nothing "
                f"was written."
            )
        verdicts.append(replace(told, judged_by="the model alone" if opinion is None else "the model and the gate"))
    if not result.holds:
        failing = ", ".join(model.name for model in result.models if not model.holds)
        raise VerificationError(
            f"The release does not meet {failing} in {result.failing_groups} groups of {result.groups}. A fault "
            f"in shoal; nothing was written."
        )
    return replace(result, models=tuple(verdicts))


@dataclass(frozen=True)
class _Part:
    """What the groups of one part of a table say: of each model failing groups and rows, and its worst figures."""

    rows: int
    groups: int
    smallest: int
    failing: tuple[tuple[int, int], ...]
    conditions: tuple[tuple[Condition, ...], ...]
    sizes: tuple[int, ...]
    own: Judgement


def verify_apart(counted: Apart, released: Relation, schema: Schema, model: AllOf, rows: int) -> CheckResult:
    """Check a release that no one machine holds, where it is: group by group, each group in one place.

    The values of the sensitive columns come to the driver, and one verdict for each part of the table.
    """
    sensitive = list_sensitive(counted, released, schema)
    model.check(sensitive.domains)
    places = released.places(schema.quasi_identifiers)
    columns = {}
    for name in columns_needed(model.parts, schema.sensitive):
        (place,) = released.places((name,))
        values = counted.values(place)
        columns[name] = (place, values.column(f"c{place}"), values.column("n"))
    again = list_sensitive_again(columns, schema)
    parts: list[_Part] = counted.gather_by(places, functools.partial(_assess_part, places, sensitive, again, model))
    verdicts = []
    for number, part in enumerate(model.parts):
        worst = [one.conditions[number] for one in parts]
        merged = tuple(
            replace(same[0], value=np.concatenate([condition.value for condition in same]))
            for same in zip(*worst, strict=True)
        )
        groups, failing_rows = (sum(one.failing[number][i] for one in parts) for i in (0, 1))
        effective = Assessment(np.zeros(0, np.bool_), merged).effective
        verdicts.append(ModelVerdict(part.name, dict(part.parameters), groups == 0, effective, groups, failing_rows))
    failing = sorted(size for one in parts for size in one.sizes)
    result = CheckResult(
        sum(one.rows for one in parts),
        sum(one.groups for one in parts),
        min((one.smallest for one in parts), default=0),
        tuple(verdicts),
        len(failing),
        sum(failing),
        tuple(failing),
        folded=sensitive.folded,
    )
    return _require(result, together([one.own for one in parts], model.parts), model, rows)


def _assess_part(
    places: Sequence[int], sensitive: SensitiveLists, again: tuple[Sensitive, ...], model: AllOf, table: pa.Table
) -> _Part:
    """The verdict on the groups of one part, runs where it is; every group is whole in its part."""
    coded = [encode_column(table.column(f"c{place}"), "", place) for place in places]
    inverse, count = group_keys(np.stack([codes for _, codes in coded], axis=1), [d.size for d, _ in coded])
    rows = np.asarray(table.column("n").to_numpy(), np.int64)
    secrets = sensitive.codes(table)
    entries = FrequencySet((), (), sensitive.domains, secrets[:, :0], secrets, rows)
    groups = entries.groups_of(inverse, count).within(sensitive.totals)
    assessed = [part.assess(groups) for part in model.parts]
    bad = ~np.all([one.holds for one in assessed], axis=0)
    return _Part(
        groups.rows,
        groups.count,
        int(groups.size.min()),
        tuple((int((~one.holds).sum()), int(groups.size[~one.holds].sum())) for one in assessed),
        tuple(
            tuple(replace(condition, value=np.asarray([condition.worst])) for condition in one.conditions)
            for one in assessed
        ),
        tuple(groups.size[bad].tolist()),
        judge(count_groups(table, places, again), again, model.parts),
    )


@dataclass(frozen=True, kw_only=True)
class PatternCheck(CheckResult):
    """The answer for a set of overlapping patterns: groups are patterns, rows are the records that fit one."""

    least: int
    exposure: PatternExposure

    @property
    def risk(self) -> dict[str, float]:
        """What the patterns tell, with the smallest set of records that their supports can single out."""
        told = self.exposure
        return {
            "highest": 1 / int(told.cells.min()),
            "average": len(told.cells) / told.fitting,
            "records_in_cells_below_k": int(told.cells[told.cells < self.least].sum()),
            "patterns_below_k_own_records": int((told.own < self.least).sum()),
            "patterns_without_own_records": int((told.own == 0).sum()),
            "disclosed_records": told.disclosed,
        }


def verify_patterns(
    engine: Engine,
    released: Relation,
    source: FrequencySet,
    ladders: Sequence[Ladder],
    recoding: ByPattern,
    model: AllOf,
) -> PatternCheck:
    """Check a pattern set before it leaves: at least as many records of the source fit each pattern as it says, and k.

    Starts from the published table and the source; it claims nothing else of the set, but measures what it discloses.
    Empty text and missing values look alike in a CSV, and so does a value `*` and what is not shown: both are taken
    as a reader must take them.
    """
    least = max(getattr(part, "k", 1) for part in model.parts)
    table = engine.to_arrow(released)
    codes, patterns = [], []
    for j, (dictionary, ladder, level) in enumerate(zip(source.quasi, ladders, recoding.levels, strict=True)):
        labels = ladder.labels[level]
        code_of, by_code = _same_text(labels)
        codes.append(by_code[ladder.codes[level][source.codes[:, j]]])
        code_of = {**code_of, TOP: INDIFFERENT}
        patterns.append([code_of.get(text, len(labels)) for text in _column_text(table, dictionary.name)])
    secrets, pattern_secrets = [], []
    for s, dictionary in enumerate(source.sensitive):
        code_of, by_code = _same_text((*dictionary.text, None))
        secrets.append(by_code[source.secrets[:, s]])  # -1, missing, is the last
        pattern_secrets.append([code_of.get(text, -1) for text in _column_text(table, dictionary.name)])
    rows, size = len(source.count), table.num_rows
    both = np.concatenate([_stack(secrets, rows), _stack(pattern_secrets, size)]) + 1
    classes, _ = group_keys(both, (both.max(axis=0, initial=0) + 1).tolist())
    stacked = _stack(codes, rows), _stack(patterns, size)
    told = expose_patterns(stacked[0], classes[:rows], source.count, stacked[1], classes[rows:])
    support = np.asarray([int(text or 0) for text in _column_text(table, recoding.support)], np.int64)
    bad = (support < least) | (support > told.support)
    if bad.any() or not size or told.fitting != recoding.count.sum():
        raise VerificationError(
            f"Of {size} patterns, {int(bad.sum())} do not have the records they say they have, or fewer than {least}; "
            f"{told.fitting} records fit one where the method accounted for {int(recoding.count.sum())}. This is a "
            f"fault in shoal; nothing was written."
        )
    _require_same_count(table, source, ladders, recoding, told)
    smallest = int(support.min())
    verdict = ModelVerdict("pattern-support", {"k": least}, True, {"k": smallest}, 0, 0)
    return PatternCheck(told.fitting, size, smallest, (verdict,), 0, 0, least=least, exposure=told)


def _require_same_count(
    table: pa.Table, source: FrequencySet, ladders: Sequence[Ladder], recoding: ByPattern, told: PatternExposure
) -> None:
    """Raise unless the gate, which looks every record up by its labels, finds as many that fit."""
    names = [dictionary.name for dictionary in (*source.quasi, *source.sensitive)]
    labels = [
        [ladder.labels[level][code] for code in ladder.codes[level].tolist()]
        for ladder, level in zip(ladders, recoding.levels, strict=True)
    ]
    labels += [[*dictionary.text, None] for dictionary in source.sensitive]
    codes = [*source.codes.T.tolist(), *source.secrets.T.tolist()]
    records = [[column[code] or None for code in place] for column, place in zip(labels, codes, strict=True)]
    patterns = [read_texts(table.column(name)) for name in names]
    support, fitting = count_fitting(patterns, records, source.count.tolist(), len(source.quasi), TOP)
    if support != told.support.tolist() or fitting != told.fitting:
        raise VerificationError(
            f"Two ways to count the records that fit {len(support)} patterns differ. This is a fault in shoal; nothing "
            f"was written."
        )


def _column_text(table: Any, name: str) -> list[str | None]:
    """A column of an Arrow table as text, empty text as missing."""
    import pyarrow as pa

    return [text or None for text in table.column(name).cast(pa.string()).to_pylist()]


def _same_text(labels: Sequence[str | None]) -> tuple[dict[str | None, int], npt.NDArray[np.int32]]:
    """The code of each text, and for each label the code of its text; empty and missing have one."""
    code_of: dict[str | None, int] = {}
    return code_of, np.asarray([code_of.setdefault(label or None, len(code_of)) for label in labels], np.int32)


def _stack(columns: Sequence[Any], rows: int) -> npt.NDArray[np.int32]:
    return np.stack(columns, axis=1).astype(np.int32) if columns else np.zeros((rows, 0), np.int32)
