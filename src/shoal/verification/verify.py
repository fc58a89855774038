"""Verify every release before it is written, by the models and again.

The verification starts from the released table and knows nothing of the search (:mod:`shoal.verification.check`). The
independent verification counts and evaluates with code of its own (:mod:`shoal.verification.independent`). If the two
differ in any figure, nothing is written.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import VerificationError
from shoal.io.engines.base import DistributedTable, Engine, Relation, require_columns
from shoal.models import AllOf, Model, combine
from shoal.models.by_people import ByPeople
from shoal.models.partial_knowledge import partial_knowledge_models
from shoal.schema import Schema
from shoal.table import FrequencySet
from shoal.table.canonical import negative_zero_as_text
from shoal.table.distributed import SensitiveLists, list_sensitive
from shoal.table.frequency_set import encode_column
from shoal.table.groups import group_keys
from shoal.verification.check import (
    CheckedPopulation,
    CheckResult,
    PartialCheck,
    assess_part,
    check_relation,
    merge_parts,
)
from shoal.verification.independent import (
    ENGINE,
    CountedRelease,
    IndependentPopulation,
    IndependentTable,
    SensitiveColumn,
    TableEvaluation,
    WrittenTable,
    columns_needed,
    count_groups,
    count_groups_with_wildcards,
    count_people_by_group,
    count_rows_up_to,
    count_written_rows,
    differences,
    evaluate_people,
    have_same_rows,
    judge,
    list_sensitive_columns,
    merge_evaluations,
    name_judges,
    read_texts,
)
from shoal.verification.original import count_source_labels
from shoal.verification.written_texts import spell_as_written

if TYPE_CHECKING:
    import pyarrow as pa


MAX_COMBINATIONS_READ = 1 << 23
"""Number of combinations of a distributed release up to which the driver reads it itself."""


def verify(
    engine: Engine,
    released: Relation,
    schema: Schema,
    models: Sequence[Model] | AllOf,
    rows: int,
    wildcard: str | None = None,
    source: FrequencySet | None = None,
    people: pa.Table | None = None,
    released_labels: Sequence[Sequence[str | None]] = (),
    written: IndependentTable | None = None,
    original: WrittenTable | None = None,
    population: tuple[CheckedPopulation, IndependentPopulation] | None = None,
) -> CheckResult:
    """Verify a release twice before it is written.

    ``rows`` is the number of rows that the method meant to release. If the schema has a person column, the release
    still contains it, and ``people`` is the result of :func:`read_source_people`. ``released_labels`` are as in
    :func:`shoal.verification.check.check_relation`.

    ``written`` is the file of the release, the table of a server, or the frame that is handed back: the independent
    verification reads it anew. Without it, both verifications use the engine's reading. ``original`` is the file of the
    source, which it reads anew too, where the people of the source are looked up: for partial knowledge and where a
    label may stand for any value. ``population`` is the population for either verification.
    """
    required = (*schema.quasi_identifiers, *schema.sensitive, *schema.person)
    require_columns(released, required)
    released = negative_zero_as_text(engine, released, schema)
    counted = engine.frequencies(released, released.positions(required))
    model = models if isinstance(models, AllOf) else combine(models)
    if partial_knowledge_models(model) and (source is None or not released_labels):
        raise VerificationError("verification.needs-original")
    compared = source if needs_original(schema, model, wildcard) else None
    spelled = _spell_labels(released_labels, source, counted, released)
    people_checked, people_again = population or (None, None)
    result = check_relation(
        engine, released, schema, model, wildcard, counted, compared, spelled, population=people_checked
    )
    if written is not None:
        others = released.positions((*schema.sensitive, *schema.person))
        counted = count_written_rows(written, released.positions(schema.quasi_identifiers), others)
    result = replace(result, reading=ENGINE if written is None else written.reader)
    labels: Counter[tuple[str | None, ...]] = Counter()
    if source is not None and looks_up_people(model, wildcard):
        texts = released_labels if wildcard is None else [(*dictionary.text, None) for dictionary in source.quasi]
        labels = count_source_labels(source, _spell_labels(texts, source, counted, released), original)
        result = replace(result, original_reading=ENGINE if original is None else original.reader)
    if schema.person:
        independent = _evaluate_people_again(counted, released, schema, model, people, labels)
    else:
        independent = _evaluate_again(counted, released, schema, model, wildcard, labels, people_again)
    return _require_agreement(result, independent, model, rows)


def _spell_labels(
    labels: Sequence[Sequence[str | None]], source: FrequencySet | None, counted: pa.Table, released: Relation
) -> list[list[str | None]]:
    """Spell the labels of quasi-identifiers as a reading of the release does."""
    if source is None or not labels:
        return []
    return [
        spell_as_written(column, dictionary.values.type, read_texts(counted.column(f"c{position}")))
        for column, dictionary in zip(labels, source.quasi, strict=True)
        for position in released.positions((dictionary.name,))
    ]


def needs_original(schema: Schema, model: AllOf, wildcard: str | None) -> bool:
    """Return whether promises are about people or rows of the original."""
    return bool(schema.person) or looks_up_people(model, wildcard)


def looks_up_people(model: AllOf, wildcard: str | None) -> bool:
    """Return whether a hidden cell matches what the original had there."""
    return wildcard is not None or bool(partial_knowledge_models(model))


def _evaluate_again(
    counted: pa.Table,
    released: Relation,
    schema: Schema,
    model: AllOf,
    wildcard: str | None,
    people: Counter[tuple[str | None, ...]],
    population: IndependentPopulation | None = None,
) -> TableEvaluation:
    """Evaluate the counted combinations of a release independently.

    ``people`` are the numbers of rows of the source by the labels that the release has for them.
    """
    positions = released.positions(schema.quasi_identifiers)
    if wildcard is not None:
        return judge(count_groups_with_wildcards(counted, positions, wildcard, people), (), model.parts)
    columns = {
        name: (position, counted.column(f"c{position}"), counted.column("n"))
        for name in columns_needed(model.parts, schema.sensitive)
        for position in released.positions((name,))
    }
    sensitive = list_sensitive_columns(columns, schema)
    second = None
    if population is not None:
        second = count_people_by_group(counted, schema.quasi_identifiers, positions, population)
    independent = judge(count_groups(counted, positions, sensitive), sensitive, model.of_all_columns.parts, second)
    names = (*schema.quasi_identifiers, *schema.sensitive)
    position_of = dict(zip(names, released.positions(names), strict=True))
    return _with_sets(independent, model, CountedRelease(counted, position_of, schema, sensitive, people))


def _with_sets(independent: TableEvaluation, model: AllOf, release: CountedRelease) -> TableEvaluation:
    """Add the evaluations of the models of sets of columns."""
    others = iter(independent.evaluations)
    evaluations = [next(others) if part.binds_all_columns else release.evaluate(part) for part in model.parts]
    return replace(independent, evaluations=tuple(evaluations))


def _evaluate_people_again(
    counted: pa.Table,
    released: Relation,
    schema: Schema,
    model: AllOf,
    people: pa.Table | None,
    labels: Counter[tuple[str | None, ...]],
) -> TableEvaluation:
    """Evaluate a release independently in people.

    ``people`` are the values that the people of the source have, ``labels`` the numbers of the source's rows by label.
    """
    general = model.of_all_columns.parts
    (person,) = released.positions(schema.person)
    positions = released.positions(schema.quasi_identifiers)
    known_rows = next((part.known_rows for part in general if isinstance(part, ByPeople)), 1)
    models = [part.row_model for part in general]
    independent = evaluate_people(counted, people, positions, person, schema, models, known_rows)
    names = (*schema.quasi_identifiers, *schema.sensitive)
    position_of = dict(zip(names, released.positions(names), strict=True))
    return _with_sets(independent, model, CountedRelease(counted, position_of, schema, (), labels, person, people))


def read_source_people(engine: Engine, source: Relation, schema: Schema, model: AllOf) -> pa.Table | None:
    """Read the values of the source's people for independent verification.

    The table has the column names of the schema and values, not codes, so that the independent verification shares no
    encoding with the models. None where no model looks at the values of people.
    """
    needed = columns_needed([part.row_model for part in model.parts], schema.sensitive)
    if not needed:
        return None
    names = (*schema.person, *needed)
    positions = source.positions(names)
    found = engine.frequencies(source, positions)
    return found.select([*(f"c{position}" for position in positions), "n"]).rename_columns([*names, "n"])


def require_same_rows(
    engine: Engine, written: Relation, verified: Relation, replacements: Mapping[str, Mapping[str, str]] | None = None
) -> None:
    """Raise unless a written table has the rows of the verified table.

    The person column is not compared. ``replacements`` are, by column, the texts that were written in place of the
    verified ones; a text without a replacement is missing.
    """
    written_rows = _count_rows(engine, written, written.columns, {})
    if written_rows != _count_rows(engine, verified, written.columns, replacements or {}):
        raise VerificationError("verification.other-rows-of-people")


def require_same_files(written: IndependentTable, verified: IndependentTable, names: Sequence[str]) -> None:
    """Raise unless two written tables have the same rows in some columns.

    Both are read anew, without the engine.
    """
    if names and not have_same_rows(written, verified, names):
        raise VerificationError("verification.other-rows-of-people")


def _count_rows(
    engine: Engine, table: Relation, names: Sequence[str], replacements: Mapping[str, Mapping[str, str]]
) -> Counter[tuple[Any, ...]]:
    """Count each distinct row of some columns, with replaced texts in some."""
    positions = table.positions(names)
    counted = engine.frequencies(table, positions)
    cells = [_comparable_cells(counted.column(f"c{position}")) for position in positions]
    for name, texts in replacements.items():
        index = names.index(name)
        cells[index] = [texts.get(str(cell)) for cell in cells[index]]
    found: Counter[tuple[Any, ...]] = Counter()
    for row, times in zip(zip(*cells, strict=True), counted.column("n").to_pylist(), strict=True):
        found[row] += times
    return found


def _comparable_cells(column: pa.ChunkedArray) -> list[Any]:
    """Return cells; dates as text, for Python's calendar has not all of them."""
    import pyarrow as pa

    is_date = pa.types.is_date(column.type) or pa.types.is_timestamp(column.type)
    found: list[Any] = (column.cast(pa.string()) if is_date else column).to_pylist()
    return found


def _require_agreement(result: CheckResult, independent: TableEvaluation, model: AllOf, rows: int) -> CheckResult:
    """Raise unless the models hold and the independent verification agrees.

    The number of rows must be the expected one, and both verifications must agree in every figure.
    """
    if not result.rows == independent.rows == rows or rows < 1:
        raise VerificationError(
            "verification.other-number-of-rows", found=result.rows, recounted=independent.rows, expected=rows
        )
    smallest, unit = result.smallest_group, "rows"
    if result.people is not None:
        smallest, unit = result.people.smallest_group, "people"
    if (result.groups, smallest) != (independent.groups, independent.smallest):
        raise VerificationError(
            "verification.other-groups",
            groups=result.groups,
            smallest=smallest,
            unit=unit,
            recounted_groups=independent.groups,
            recounted_smallest=independent.smallest,
        )
    verdicts = []
    for part, verdict, evaluation in zip(model.parts, result.models, independent.evaluations, strict=True):
        condition = part.row_model
        differing = [] if evaluation is None else differences(evaluation, condition, verdict.holds, verdict.effective)
        if differing:
            raise VerificationError(
                "verification.judgements-differ", model=part.name, differences=" and in ".join(differing)
            )
        verdicts.append(replace(verdict, judged_by=name_judges(condition, evaluation)))
    if not result.holds:
        failing = ", ".join(model.name for model in result.models if not model.holds)
        raise VerificationError(
            "verification.model-not-met", model=failing, failing=result.failing_groups, groups=result.groups
        )
    return replace(result, models=tuple(verdicts))


def verify_distributed(
    counted: DistributedTable,
    released: Relation,
    schema: Schema,
    model: AllOf,
    rows: int,
    written: IndependentTable | None = None,
) -> CheckResult:
    """Verify a distributed release where it is stored, group by group.

    Every group is evaluated in one partition. The driver receives the values of the sensitive columns and one verdict
    for each part of the table. For the independent verification the driver reads ``written`` itself, unless it has too
    many combinations: then the parts that the engine has counted are evaluated once more.
    """
    sensitive = list_sensitive(counted, released, schema)
    model.check(sensitive.domains)
    positions = released.positions(schema.quasi_identifiers)
    needed = columns_needed(model.parts, schema.sensitive)
    read = None
    if written is not None:
        read = count_rows_up_to(written, positions, released.positions(needed), MAX_COMBINATIONS_READ)
    independent_sensitive = None
    if read is None:
        columns = {}
        for name, position in zip(needed, released.positions(needed), strict=True):
            values = counted.values(position)
            columns[name] = (position, values.column(f"c{position}"), values.column("n"))
        independent_sensitive = list_sensitive_columns(columns, schema)
    evaluated: list[tuple[PartialCheck, TableEvaluation | None]] = counted.gather_by(
        positions, functools.partial(_evaluate_part, positions, sensitive, independent_sensitive, model)
    )
    result = replace(
        merge_parts([part for part, _ in evaluated], model),
        folded=sensitive.folded,
        read_as_missing=sensitive.read_as_missing,
        sensitive_texts={part.written.name: part.written.text for part in sensitive.spellings},
        reading=ENGINE if read is None or written is None else written.reader,
    )
    if read is not None:
        independent = _evaluate_again(read, released, schema, model, None, Counter())
    else:
        independent = merge_evaluations([found for _, found in evaluated if found is not None], model.parts)
    return _require_agreement(result, independent, model, rows)


def _evaluate_part(
    positions: Sequence[int],
    sensitive: SensitiveLists,
    independent_sensitive: tuple[SensitiveColumn, ...] | None,
    model: AllOf,
    table: pa.Table,
) -> tuple[PartialCheck, TableEvaluation | None]:
    """Evaluate the groups of one part, and again; every group is whole in it.

    Without ``independent_sensitive`` they are evaluated again elsewhere.
    """
    coded = [encode_column(table.column(f"c{position}"), "", position) for position in positions]
    inverse, count = group_keys(np.stack([codes for _, codes in coded], axis=1), [d.size for d, _ in coded])
    rows = np.asarray(table.column("n").to_numpy(), np.int64)
    secrets = sensitive.codes(table)
    entries = FrequencySet((), (), sensitive.domains, secrets[:, :0], secrets, rows)
    groups = entries.groups_of(inverse, count).within(sensitive.totals)
    checked = assess_part(groups, model)
    if independent_sensitive is None:
        return checked, None
    counts = count_groups(table, positions, independent_sensitive)
    return checked, judge(counts, independent_sensitive, model.parts)
