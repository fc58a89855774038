"""Microaggregation of a distributed table.

The driver sees counts, sums and a sample, never all rows.

1. Lists of values of the columns that need one (text, hierarchies, ranks, sensitive columns) come to the driver with
   their counts; of plain numbers, only exact sums do. With them comes a sample by the hash of the values.
2. The k-d trees are grown from the sample, the rows of their leaves are counted where they are stored, and leaves are
   merged into blocks.
3. Every block is aggregated where it is stored, by the same code as on one machine (see
   :mod:`shoal.methods.microaggregation.local_blocks`).

The engine moves the data: see :class:`shoal.io.engines.base.DistributedTable`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.errors import ShoalError
from shoal.io.engines.base import DistributedTable, Relation
from shoal.methods.base import Outcome, require_feasible_as_one_group
from shoal.methods.microaggregation.blocks import Forest, hash_rows, sample_rate, sampled
from shoal.methods.microaggregation.exact_moments import Moments, moments
from shoal.methods.microaggregation.local_blocks import (
    RowSubset,
    SharedInputs,
    ValueCounts,
    cut_table,
    is_measured,
    make_facts,
    make_shared_inputs,
    number_keys,
)
from shoal.methods.microaggregation.points import (
    Extent,
    PointColumn,
    Scaling,
    column_options,
    exact_ranges_warning,
    point_column,
    require_span,
    show_groups,
)
from shoal.models import AllOf
from shoal.models.base import SensitiveModel
from shoal.runtime.progress import Progress
from shoal.schema import Flat, Schema
from shoal.table import Dictionary, FrequencySet, Groups
from shoal.table.distributed import SensitiveLists, codes_in, list_sensitive, list_values
from shoal.table.frequency_set import encode_column
from shoal.table.group_means import dictionary_numbers
from shoal.table.groups import histogram
from shoal.utility.loss import LossSums, NumericChange, Published, distances, measure_change, measures

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.methods.microaggregation.method import PublishedValue, _Microaggregation

_BlockLosses = tuple[LossSums, dict[str, NumericChange]]
"""A block's part of the losses: sums over its rows, and the displacement of each column's numbers."""


def _numbers(table: pa.Table, name: str, position: int) -> npt.NDArray[np.float64]:
    """Return the numbers of a measured column, float64 (n,); NaN is missing."""
    column = table.column(f"c{position}").combine_chunks()
    numbers = np.full(len(column), np.nan)
    known = column.drop_null()
    found = dictionary_numbers(Dictionary(name, position, known, (), False))
    if found is not None:
        numbers[np.asarray(column.is_valid().to_numpy(zero_copy_only=False), np.bool_)] = found
    return numbers


@dataclass(frozen=True)
class _QuasiColumn:
    """A quasi-identifier.

    ``listed`` is set where its values are listed; otherwise the other fields define how its numbers are measured.
    """

    name: str
    position: int
    listed: PointColumn | None
    scaling: Scaling | None = None
    weight: float = 1.0
    statistic: PublishedValue = "mean"
    extent: Extent | None = None
    size: int = 0

    @property
    def published_as(self) -> PublishedValue:
        """The value that groups publish."""
        return self.statistic if self.listed is None else self.listed.published_as

    def raw(self, table: pa.Table) -> npt.NDArray[np.float64]:
        """Return numbers, or codes as numbers, float64 (n,)."""
        if self.listed is None:
            return _numbers(table, self.name, self.position)
        dictionary = self.listed.dictionary
        return codes_in(table, dictionary, len(dictionary.text)).astype(np.float64)

    def keys(self, raw: npt.NDArray[np.float64]) -> npt.NDArray[np.uint64]:
        """Return the keys that decide whether a row is sampled, uint64 (n,)."""
        return number_keys(raw) if self.listed is None else raw.astype(np.uint64)

    def coordinates(self, raw: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return coordinates, float64 (n, d), of the output of :meth:`raw`."""
        if self.listed is not None:
            return self.listed.coordinates[raw.astype(np.int64)]
        assert self.scaling is not None
        return np.asarray(self.scaling(raw) * np.sqrt(self.weight), np.float64)

    def column(self, table: pa.Table) -> tuple[PointColumn, npt.NDArray[np.int32]]:
        """Return the column of one block as points, and its codes."""
        if self.listed is not None:
            return self.listed, codes_in(table, self.listed.dictionary, len(self.listed.dictionary.text))
        dictionary, codes = encode_column(table.column(f"c{self.position}"), self.name, self.position)
        numbers = dictionary_numbers(dictionary)
        if numbers is None:  # the whole block is missing
            numbers = np.full(dictionary.size, np.nan)
        ladder = Flat().bind(dictionary.text, dictionary.missing, column=self.name)
        return PointColumn(dictionary, ladder, self.coordinates(numbers), numbers, self.statistic, self.extent), codes


@dataclass(frozen=True)
class _TableEncoding:
    """Encoding of the columns, sent to the machines before the k-d trees."""

    quasi: tuple[_QuasiColumn, ...]
    sensitive: SensitiveLists
    strata: tuple[int, ...]
    seed: int

    def raw(self, table: pa.Table) -> npt.NDArray[np.float64]:
        """Return numbers and codes of the quasi-identifiers, float64 (n, q)."""
        return np.stack([column.raw(table) for column in self.quasi], axis=1)

    def points(self, raw: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return points, float64 (n, d)."""
        return np.concatenate([column.coordinates(raw[:, j]) for j, column in enumerate(self.quasi)], axis=1)

    def mean(self, name: str) -> float:
        """Return the mean of a numeric column over the whole table."""
        column = next(column for column in self.quasi if column.name == name)
        extent = column.extent if column.listed is None else column.listed.extent
        assert extent is not None
        return extent.mean

    def strata_keys(self, raw: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Return a number for each row's stratum, in code order, int64 (n,)."""
        key = np.zeros(len(raw), np.int64)
        for j in self.strata:
            listed = self.quasi[j].listed
            assert listed is not None
            key = key * listed.dictionary.size + raw[:, j].astype(np.int64)
        return key


@dataclass(frozen=True)
class _Survey:
    """First statistics of a part of the table.

    These are the moments of the measured columns, its sample, and its strata.
    """

    moments: tuple[Moments, ...]
    sample: npt.NDArray[np.float64]
    count: npt.NDArray[np.int64]
    strata: npt.NDArray[np.int64]


def _survey(encoding: _TableEncoding, lows: Mapping[int, float], rate: float, table: pa.Table) -> _Survey:
    raw = encoding.raw(table)
    count = np.asarray(table.column("n").to_numpy(), np.int64)
    keys = np.stack([column.keys(raw[:, j]) for j, column in enumerate(encoding.quasi)], axis=1)
    chosen = sampled(hash_rows(keys, encoding.seed), rate)
    return _Survey(
        tuple(moments(raw[:, j], count, low) for j, low in lows.items()),
        raw[chosen],
        count[chosen],
        np.unique(encoding.strata_keys(raw)),
    )


def _locate(
    encoding: _TableEncoding,
    forest: Forest,
    strata: npt.NDArray[np.int64],
    block: npt.NDArray[np.int64] | None,
    table: pa.Table,
) -> npt.NDArray[np.int64]:
    """Return the leaf of each combination or, with ``block``, its block."""
    raw = encoding.raw(table)
    stratum = np.searchsorted(strata, encoding.strata_keys(raw))
    leaf = forest.leaf_of(encoding.points(raw), stratum)
    return leaf if block is None else block[leaf]


def aggregate_distributed(
    method: _Microaggregation,
    counted: DistributedTable,
    table: Relation,
    schema: Schema,
    model: AllOf,
    seed: int,
    progress: Progress,
) -> Outcome:
    """Form and publish groups block by block, where the rows are stored.

    The driver needs memory for the lists of values, for the sample (some 256 rows of every block) and for the sensitive
    values of each leaf of the k-d trees.
    """
    assert method.block is not None
    positions = table.positions(schema.quasi_identifiers)
    sensitive = list_sensitive(counted, table, schema)
    model.check(sensitive.domains)
    shared = make_shared_inputs(method, model, seed, sensitive.domains, sensitive.totals, counted.rows)
    require_feasible_as_one_group(_one_group(shared), model)
    progress(f"{method.name}: cutting blocks", None)
    encoding, lows = _columns(method, counted, schema, positions, sensitive, seed)
    surveys: list[_Survey] = counted.gather(functools.partial(_survey, encoding, lows, sample_rate(method.block)))
    encoding = _scaled(encoding, lows, surveys, counted.rows)
    strata = np.unique(np.concatenate([survey.strata for survey in surveys]))
    raw = np.concatenate([survey.sample for survey in surveys])
    weight = np.concatenate([survey.count for survey in surveys])
    stratum = np.searchsorted(strata, encoding.strata_keys(raw))
    forest = cut_table(shared, encoding.points(raw), weight, stratum, len(strata))
    blocks = _count_leaves(shared, counted, encoding, forest, strata).blocks(shared, forest, method.block)
    progress(f"{method.name}: forming groups", None)
    entries, block_losses = counted.recode_blocks(
        functools.partial(_locate, encoding, forest, strata, blocks.of_leaf),
        len(blocks.rows),
        functools.partial(_run_block, shared, encoding),
        _published(encoding, counted),
    )
    loss, per_column = _losses(encoding, block_losses)
    warned = exact_ranges_warning(method.ends(model), [column.published_as for column in encoding.quasi])
    facts = replace(make_facts(shared, blocks), warned=warned, sse_sst_by_column=per_column or None)
    released = sum(sums.released for sums, _ in block_losses)
    if released != counted.rows or len(block_losses) != len(blocks.rows):
        raise ShoalError("source.changed-while-read", found=released, rows=counted.rows)
    return Outcome(entries, tuple(positions), counted.rows, facts, loss)


def _one_group(shared: SharedInputs) -> Groups:
    """Return the whole table as one group."""
    found = []
    for domain, total in zip(shared.domains, shared.totals, strict=True):
        values = np.flatnonzero(total)
        one = np.zeros(len(values), np.int64)
        found.append(histogram(one, values.astype(np.int32), total[values], 1, domain))
    return Groups(np.asarray([shared.rows], np.int64), tuple(found))


def _columns(
    method: _Microaggregation,
    counted: DistributedTable,
    schema: Schema,
    positions: Sequence[int],
    sensitive: SensitiveLists,
    seed: int,
) -> tuple[_TableEncoding, dict[int, float]]:
    """Return the encoding, and the lowest number of each measured column.

    The lowest numbers are keyed by the position among the quasi-identifiers.
    """
    names = schema.quasi_identifiers
    kinds = [counted.schema.field(f"c{position}").type for position in positions]
    measured = [is_measured(method, schema, name, kind) for name, kind in zip(names, kinds, strict=True)]
    ends = counted.ends([position for position, yes in zip(positions, measured, strict=True) if yes])
    quasi, lows = [], {}
    for j, (name, position) in enumerate(zip(names, positions, strict=True)):
        low, high = (math.nan, math.nan) if not measured[j] else _numbers(ends, name, position).tolist()
        if math.isnan(low):  # the values must be listed, or all are missing
            dictionary, count = list_values(counted, name, position)
            ladder = schema.ladder(name, dictionary.text, dictionary.missing)
            quasi.append(_QuasiColumn(name, position, point_column(method, dictionary, ladder, count)))
            continue
        weight, _, statistic = column_options(method, name, True, True)
        require_span(low, high, name)
        lows[j] = low
        quasi.append(
            _QuasiColumn(
                name, position, None, None, weight, statistic, Extent(0.0, low, high), counted.distinct(position)
            )
        )
    strata = tuple(names.index(name) for name in method.strata)
    return _TableEncoding(tuple(quasi), sensitive, strata, seed), lows


def _scaled(
    encoding: _TableEncoding, lows: Mapping[int, float], surveys: Sequence[_Survey], rows: int
) -> _TableEncoding:
    """Return the encoding with the scaling of the measured columns."""
    quasi = list(encoding.quasi)
    for number, (j, low) in enumerate(lows.items()):
        found = sum((survey.moments[number] for survey in surveys), Moments(low))
        extent = quasi[j].extent
        assert extent is not None
        scaling = Scaling(found.mean, found.deviation, found.count < rows)
        quasi[j] = replace(quasi[j], scaling=scaling, extent=replace(extent, mean=found.mean))
    return replace(encoding, quasi=tuple(quasi))


def _count_leaves(
    shared: SharedInputs,
    counted: DistributedTable,
    encoding: _TableEncoding,
    forest: Forest,
    strata: npt.NDArray[np.int64],
) -> ValueCounts:
    """Count the rows of the leaves and, if models need them, their values.

    The values are those of the sensitive columns.
    """
    locate = functools.partial(_locate, encoding, forest, strata, None)
    rows = np.zeros(forest.leaves, np.int64)
    found = counted.count_by(locate, ())
    rows[found.column("b").to_numpy()] = found.column("n").to_numpy()
    needs_values = any(isinstance(part, SensitiveModel) for part in shared.model.parts)
    entries = []
    for s, dictionary in enumerate(encoding.sensitive.dictionaries):
        leaf, value, count = np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64)
        if needs_values:
            found = counted.count_by(locate, (dictionary.position,))
            codes = encoding.sensitive.column(found, s)
            known = codes >= 0
            leaf = np.asarray(found.column("b").to_numpy(), np.int64)[known]
            value, count = codes[known], np.asarray(found.column("n").to_numpy(), np.int64)[known]
        entries.append((leaf, value, count))
    return ValueCounts(rows, tuple(entries))


def _published(encoding: _TableEncoding, counted: DistributedTable) -> pa.Schema:
    """Return the types of the published labels, l<i>."""
    import pyarrow as pa

    fields = []
    for column in encoding.quasi:
        published_as = column.published_as
        kind = counted.schema.field(f"c{column.position}").type
        if published_as not in ("mean", "median") or pa.types.is_string(kind) or pa.types.is_large_string(kind):
            kind = pa.string()
        elif pa.types.is_decimal(kind):
            kind = pa.float64()
        fields.append(pa.field(f"l{column.position}", kind))
    return pa.schema(fields)


# -- one block, where it is stored -----------------------------------------------------------------------------------


def _run_block(shared: SharedInputs, encoding: _TableEncoding, table: pa.Table) -> tuple[pa.Table, _BlockLosses]:
    """Form the groups of one block; return entries and sums for the losses."""
    import pyarrow as pa

    found = [column.column(table) for column in encoding.quasi]
    codes = np.stack([codes for _, codes in found], axis=1)
    secrets = encoding.sensitive.codes(table)
    order = np.lexsort((*encoding.sensitive.written(table).T[::-1], *secrets.T[::-1], *codes.T[::-1]))
    codes, secrets, table = codes[order], secrets[order], table.take(pa.array(order))
    count = np.asarray(table.column("n").to_numpy(), np.int64)
    columns = [column for column, _ in found]
    row = np.repeat(np.arange(len(count), dtype=np.int64), count)
    part = RowSubset(shared, columns, codes[row], np.ascontiguousarray(secrets[row], np.int32))
    group = part.finish(part.form().group, shared.rows)
    quasi = tuple(column.dictionary for column in columns)
    block = FrequencySet(quasi, encoding.sensitive.dictionaries, shared.domains, codes, secrets, count)
    ends = shared.method.ends(shared.model)
    recoding, measured = show_groups(block, [column.ladder for column in columns], columns, row, group, ends)
    high = np.cumsum(recoding.count)
    first = np.r_[True, recoding.row[1:] != recoding.row[:-1]]
    base = (high - recoding.count)[first][np.cumsum(first) - 1]
    entries = table.drop_columns(["n"]).take(pa.array(recoding.row))
    entries = entries.append_column("low", pa.array(high - recoding.count - base))
    entries = entries.append_column("high", pa.array(high - base))
    of_group = pa.array(recoding.group)
    for dictionary, labels in zip(quasi, recoding.labels, strict=True):
        published_labels = labels if isinstance(labels, pa.Array) else pa.array(labels, pa.string())
        entries = entries.append_column(f"l{dictionary.position}", published_labels.take(of_group))
    published = Published(
        recoding.count, recoding.group, recoding.height[recoding.group], recoding.share[recoding.group]
    )
    return entries, (
        LossSums.of(published),
        {name: measure_change(before, after, encoding.mean(name)) for name, before, after in measured},
    )


def _losses(
    encoding: _TableEncoding, block_losses: Sequence[_BlockLosses]
) -> tuple[dict[str, float], dict[str, float]]:
    """Compute all measures, and SSE/SST by column, from the blocks' sums."""
    loss, per_column = distances({name: [far[name] for _, far in block_losses] for name in block_losses[0][1]})
    ladders = [None if column.listed is None else column.listed.ladder for column in encoding.quasi]
    heights = [1.0 if ladder is None else float(ladder.height) for ladder in ladders]
    sizes = [column.size for column in encoding.quasi]
    leaf = [1 / s if lad is None else float(lad.share[0].min()) for lad, s in zip(ladders, sizes, strict=True)]
    return loss | measures([sums for sums, _ in block_losses], heights, leaf), per_column
