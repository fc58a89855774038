"""Every release is verified before it is written: by the models, and by a second opinion.

It starts from the released table and knows nothing of the search (:mod:`shoal.verification.check`). The second opinion counts and
judges for itself (:mod:`shoal.verification.independent`); where the two differ in anything, nothing is written.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.errors import VerificationError
from shoal.io.engines.base import Engine, Relation, Spread, require_columns
from shoal.models import AllOf, Model, combine
from shoal.models.by_people import ByPeople
from shoal.models.partial_knowledge import Limited, limited
from shoal.risk.patterns import INDIFFERENT, PatternExposure, expose_patterns
from shoal.schema import TOP, Ladder, Schema
from shoal.table import ByPattern, FrequencySet
from shoal.table.canonical import two_zeros
from shoal.table.distributed import SensitiveLists, list_sensitive
from shoal.table.frequency_set import encode_column
from shoal.table.groups import group_keys
from shoal.verification.check import CheckResult, ModelVerdict, Part, answer, assess_part, check_relation
from shoal.verification.independent import (
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
from shoal.verification.independent import list_sensitive as list_sensitive_again

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["PatternCheck", "people_of_source", "require_same_rows", "verify", "verify_patterns", "verify_spread"]


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
    people: pa.Table | None,
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


def people_of_source(engine: Engine, source: Relation, schema: Schema, model: AllOf) -> pa.Table | None:
    """What the people of the source have, by the names of its columns: for the gate, which takes no code from us.

    None where no model looks at what people have.
    """
    asked = [part.of_rows.of for part in model.parts if isinstance(part, Limited)]
    asked += [part.of_rows for part in model.parts if isinstance(part, ByPeople)]
    needed = columns_needed(asked, schema.sensitive)
    if not needed:
        return None
    names = (*schema.person, *needed)
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


def verify_spread(counted: Spread, released: Relation, schema: Schema, model: AllOf, rows: int) -> CheckResult:
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
    judged: list[tuple[Part, Judgement]] = counted.gather_by(
        places, functools.partial(_judge_part, places, sensitive, again, model)
    )
    result = replace(answer([part for part, _ in judged], model), folded=sensitive.folded)
    return _require(result, together([own for _, own in judged], model.parts), model, rows)


def _judge_part(
    places: Sequence[int], sensitive: SensitiveLists, again: tuple[Sensitive, ...], model: AllOf, table: pa.Table
) -> tuple[Part, Judgement]:
    """Both verdicts on the groups of one part, where it is; every group is whole in its part."""
    coded = [encode_column(table.column(f"c{place}"), "", place) for place in places]
    inverse, count = group_keys(np.stack([codes for _, codes in coded], axis=1), [d.size for d, _ in coded])
    rows = np.asarray(table.column("n").to_numpy(), np.int64)
    secrets = sensitive.codes(table)
    entries = FrequencySet((), (), sensitive.domains, secrets[:, :0], secrets, rows)
    groups = entries.groups_of(inverse, count).within(sensitive.totals)
    return assess_part(groups, model), judge(count_groups(table, places, again), again, model.parts)


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
