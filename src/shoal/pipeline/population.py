"""Readings of a plan's population, for search and verification."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from shoal.io.engines.base import Engine
from shoal.io.formats.csv_dialect import detect
from shoal.plan.population import PopulationSource
from shoal.table.canonical import canonical_text
from shoal.table.frequency_set import encode_column
from shoal.table.population import COUNT, CountedPeople, count_population
from shoal.verification.independent import (
    WrittenTable,
    count_people_of_values,
    count_written_rows,
    has_plain_types,
    is_plain_file,
)

Cells = tuple[str | None, ...]


def read_population(engine: Engine, population: PopulationSource, names: Sequence[str]) -> CountedPeople:
    """Read and count the people of a population by quasi-identifiers."""
    table = engine.read(population.source)
    return count_population(engine, table, names, person=population.person, of_cells=population.counts is not None)


def read_population_again(engine: Engine, population: PopulationSource, names: Sequence[str]) -> Counter[Cells]:
    """Count the people of a population as texts, for independent verification.

    A plain file is read without the engine.
    """
    table = engine.read(population.source)
    further = (population.person,) if population.person is not None else (COUNT,) if population.counts else ()
    quasi, others = table.positions(names), table.positions(further)
    file = _plain_file(population, table.columns, (*names, *further))
    if file is not None:
        counted = count_written_rows(file, quasi, others)
    else:
        counted = engine.frequencies(table, (*quasi, *others))
        dictionaries = [
            encode_column(counted.column(f"c{position}"), name, position)[0]
            for name, position in zip(names, quasi, strict=True)
        ]
        counted = engine.frequencies(canonical_text(engine, table, dictionaries), (*quasi, *others))
    (last,) = others or (None,)
    is_cell = population.counts is not None
    return count_people_of_values(counted, quasi, None if is_cell else last, last if is_cell else None)


def _plain_file(population: PopulationSource, columns: tuple[str, ...], names: Sequence[str]) -> WrittenTable | None:
    """Return the file of a population, if it is of a kind that is read anew."""
    path = population.path or population.counts
    if path is None or not is_plain_file(Path(path)) or not has_plain_types(Path(path), names):
        return None
    if Path(path).suffix.lower() == ".parquet":
        return WrittenTable(Path(path), columns)
    form = detect(Path(path), population.source.csv)
    if form.header is False or form.encoding not in (None, "utf-8") or form.names != columns or len(columns) == 1:
        return None
    return WrittenTable(Path(path), columns, form.delimiter or ",", form.quote or '"', skips_blank_lines=True)
