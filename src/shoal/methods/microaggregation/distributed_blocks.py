"""Microaggregation of a table that no one machine holds: the driver sees counts, sums and a sample, never the rows.

1. Lists of values of the columns that need one (text, hierarchies, ranks, sensitive columns) come to the driver with
   their counts; of plain numbers, only exact sums do. With them comes a sample by the hash of the values.
2. The splitter is grown from the sample, the rows of its leaves are counted where they are, and leaves are joined to
   blocks.
3. Every block is aggregated where it is, by the same code as on one machine (see points_blocks).

How the engine moves what is needed is its own business: see :class:`shoal.io.engines.base.Spread`.
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
from shoal.io.engines.base import Relation, Spread
from shoal.methods.base import Outcome, require_whole
from shoal.methods.microaggregation.blocks import Forest, hash_rows, sample_rate, sampled
from shoal.methods.microaggregation.exact_moments import Moments, moments
from shoal.methods.microaggregation.local_blocks import (
    Part,
    Shared,
    ValueCounts,
    cut_table,
    is_measured,
    number_keys,
    share_facts,
    shared_by_blocks,
)
from shoal.methods.microaggregation.points import (
    Extent,
    PointColumn,
    Scaling,
    choices,
    point_column,
    require_span,
    show_groups,
    warned_of,
)
from shoal.models import AllOf
from shoal.models.base import SensitiveModel
from shoal.runtime.progress import Progress
from shoal.schema import Flat, Schema
from shoal.table import Dictionary, FrequencySet, Groups
from shoal.table.distributed import SensitiveLists, codes_in, list_sensitive, list_values
from shoal.table.frequency_set import encode_column
from shoal.table.group_means import numbers_of
from shoal.table.groups import histogram
from shoal.utility.loss import Moved, Published, Sums, distances, measures, moved

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.methods.microaggregation.method import Shown, _Microaggregation

__all__ = ["aggregate_spread"]

_Told = tuple[Sums, dict[str, Moved]]
"""What a block tells for the losses: sums over its rows, and how far the numbers of each column moved."""


def _numbers(table: pa.Table, name: str, place: int) -> npt.NDArray[np.float64]:
    """The numbers of a measured column, float64 (n,); NaN is missing."""
    column = table.column(f"c{place}").combine_chunks()
    numbers = np.full(len(column), np.nan)
    known = column.drop_null()
    found = numbers_of(Dictionary(name, place, known, (), False))
    if found is not None:
        numbers[np.asarray(column.is_valid().to_numpy(zero_copy_only=False), np.bool_)] = found
    return numbers


@dataclass(frozen=True)
class _Quasi:
    """A quasi-identifier: ``listed`` where its values are, else how its numbers are measured."""

    name: str
    place: int
    listed: PointColumn | None
    scaling: Scaling | None = None
    weight: float = 1.0
    shown: Shown = "mean"
    extent: Extent | None = None
    size: int = 0

    @property
    def shows(self) -> Shown:
        """What groups show of it."""
        return self.shown if self.listed is None else self.listed.shown

    def raw(self, table: pa.Table) -> npt.NDArray[np.float64]:
        """Numbers, or codes as numbers, float64 (n,)."""
        if self.listed is None:
            return _numbers(table, self.name, self.place)
        dictionary = self.listed.dictionary
        return codes_in(table, dictionary, len(dictionary.text)).astype(np.float64)

    def keys(self, raw: npt.NDArray[np.float64]) -> npt.NDArray[np.uint64]:
        """What decides whether a row is in the sample, uint64 (n,)."""
        return number_keys(raw) if self.listed is None else raw.astype(np.uint64)

    def coordinates(self, raw: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Coordinates, float64 (n, d), of what :meth:`raw` gives."""
        if self.listed is not None:
            return self.listed.coordinates[raw.astype(np.int64)]
        assert self.scaling is not None
        return np.asarray(self.scaling(raw) * np.sqrt(self.weight), np.float64)

    def column(self, table: pa.Table) -> tuple[PointColumn, npt.NDArray[np.int32]]:
        """The column of one block as points, and its codes."""
        if self.listed is not None:
            return self.listed, codes_in(table, self.listed.dictionary, len(self.listed.dictionary.text))
        dictionary, codes = encode_column(table.column(f"c{self.place}"), self.name, self.place)
        numbers = numbers_of(dictionary)
        if numbers is None:  # all of the block is missing
            numbers = np.full(dictionary.size, np.nan)
        ladder = Flat().bind(dictionary.text, dictionary.missing, column=self.name)
        return PointColumn(dictionary, ladder, self.coordinates(numbers), numbers, self.shown, self.extent), codes


@dataclass(frozen=True)
class _Scene:
    """What goes to the machines of the columns; the splitter follows once it is known."""

    quasi: tuple[_Quasi, ...]
    sensitive: SensitiveLists
    strata: tuple[int, ...]
    seed: int

    def raw(self, table: pa.Table) -> npt.NDArray[np.float64]:
        """Numbers and codes of the quasi-identifiers, float64 (n, q)."""
        return np.stack([column.raw(table) for column in self.quasi], axis=1)

    def points(self, raw: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Points, float64 (n, d)."""
        return np.concatenate([column.coordinates(raw[:, j]) for j, column in enumerate(self.quasi)], axis=1)

    def mean(self, name: str) -> float:
        """The mean of a column of numbers, over the whole table."""
        column = next(column for column in self.quasi if column.name == name)
        extent = column.extent if column.listed is None else column.listed.extent
        assert extent is not None
        return extent.mean

    def strata_keys(self, raw: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """A number for each row's stratum, in the order of the codes, int64 (n,)."""
        key = np.zeros(len(raw), np.int64)
        for j in self.strata:
            listed = self.quasi[j].listed
            assert listed is not None
            key = key * listed.dictionary.size + raw[:, j].astype(np.int64)
        return key


@dataclass(frozen=True)
class _Survey:
    """What a part of the table tells at first: moments of the measured columns, its sample, and its strata."""

    moments: tuple[Moments, ...]
    sample: npt.NDArray[np.float64]
    count: npt.NDArray[np.int64]
    strata: npt.NDArray[np.int64]


def _survey(scene: _Scene, lows: Mapping[int, float], rate: float, table: pa.Table) -> _Survey:
    raw = scene.raw(table)
    count = np.asarray(table.column("n").to_numpy(), np.int64)
    keys = np.stack([column.keys(raw[:, j]) for j, column in enumerate(scene.quasi)], axis=1)
    chosen = sampled(hash_rows(keys, scene.seed), rate)
    return _Survey(
        tuple(moments(raw[:, j], count, low) for j, low in lows.items()),
        raw[chosen],
        count[chosen],
        np.unique(scene.strata_keys(raw)),
    )


def _tag(
    scene: _Scene,
    forest: Forest,
    strata: npt.NDArray[np.int64],
    block: npt.NDArray[np.int64] | None,
    table: pa.Table,
) -> npt.NDArray[np.int64]:
    """The leaf of each combination or, once leaves are joined, its block."""
    raw = scene.raw(table)
    stratum = np.searchsorted(strata, scene.strata_keys(raw))
    leaf = forest.leaf_of(scene.points(raw), stratum)
    return leaf if block is None else block[leaf]


def aggregate_spread(
    method: _Microaggregation,
    counted: Spread,
    table: Relation,
    schema: Schema,
    model: AllOf,
    seed: int,
    progress: Progress,
) -> Outcome:
    """Form groups block by block where the rows are, and publish them there.

    The driver needs memory for the lists of values, for the sample (some 256 rows of every block) and for the sensitive
    values that each leaf of the splitter holds.
    """
    assert method.block is not None
    places = table.places(schema.quasi_identifiers)
    sensitive = list_sensitive(counted, table, schema)
    model.check(sensitive.domains)
    shared = shared_by_blocks(method, model, seed, sensitive.domains, sensitive.totals, counted.rows)
    require_whole(_whole(shared), model)
    progress(f"{method.name}: cutting blocks", None)
    scene, lows = _columns(method, counted, schema, places, sensitive, seed)
    surveys: list[_Survey] = counted.gather(functools.partial(_survey, scene, lows, sample_rate(method.block)))
    scene = _scaled(scene, lows, surveys, counted.rows)
    strata = np.unique(np.concatenate([survey.strata for survey in surveys]))
    raw = np.concatenate([survey.sample for survey in surveys])
    weight = np.concatenate([survey.count for survey in surveys])
    stratum = np.searchsorted(strata, scene.strata_keys(raw))
    forest = cut_table(shared, scene.points(raw), weight, stratum, len(strata))
    blocks = _tally(shared, counted, scene, forest, strata).blocks(shared, forest, method.block)
    progress(f"{method.name}: forming groups", None)
    entries, told = counted.by_block(
        functools.partial(_tag, scene, forest, strata, blocks.of_leaf),
        len(blocks.rows),
        functools.partial(_run_block, shared, scene),
        _published(scene, counted),
    )
    loss, per_column = _losses(scene, told)
    warned = warned_of(method.ends(model), [column.shows for column in scene.quasi])
    facts = replace(share_facts(shared, blocks), warned=warned, sse_sst_by_column=per_column or None)
    released = sum(sums.released for sums, _ in told)
    if released != counted.rows or len(told) != len(blocks.rows):
        raise ShoalError(
            f"Blocks have accounted for {released} of {counted.rows} rows: the source changed while it was read, or "
            f"this is a fault in shoal. Nothing was written."
        )
    return Outcome(entries, tuple(places), counted.rows, facts, loss)


def _whole(shared: Shared) -> Groups:
    """The whole table as one group."""
    found = []
    for domain, total in zip(shared.domains, shared.totals, strict=True):
        values = np.flatnonzero(total)
        one = np.zeros(len(values), np.int64)
        found.append(histogram(one, values.astype(np.int32), total[values], 1, domain))
    return Groups(np.asarray([shared.rows], np.int64), tuple(found))


def _columns(
    method: _Microaggregation,
    counted: Spread,
    schema: Schema,
    places: Sequence[int],
    sensitive: SensitiveLists,
    seed: int,
) -> tuple[_Scene, dict[int, float]]:
    """The quasi-identifiers, and the lowest number of those that are measured, by their place among them."""
    names = schema.quasi_identifiers
    kinds = [counted.schema.field(f"c{place}").type for place in places]
    measured = [is_measured(method, schema, name, kind) for name, kind in zip(names, kinds, strict=True)]
    ends = counted.ends([place for place, yes in zip(places, measured, strict=True) if yes])
    quasi, lows = [], {}
    for j, (name, place) in enumerate(zip(names, places, strict=True)):
        low, high = (math.nan, math.nan) if not measured[j] else _numbers(ends, name, place).tolist()
        if math.isnan(low):  # its values are to be listed, or all are missing
            dictionary, count = list_values(counted, name, place)
            ladder = schema.ladder(name, dictionary.text, dictionary.missing)
            quasi.append(_Quasi(name, place, point_column(method, dictionary, ladder, count)))
            continue
        weight, _, shown = choices(method, name, True, True)
        require_span(low, high, name)
        lows[j] = low
        quasi.append(_Quasi(name, place, None, None, weight, shown, Extent(0.0, low, high), counted.distinct(place)))
    strata = tuple(names.index(name) for name in method.strata)
    return _Scene(tuple(quasi), sensitive, strata, seed), lows


def _scaled(scene: _Scene, lows: Mapping[int, float], surveys: Sequence[_Survey], rows: int) -> _Scene:
    """The scene with the scaling of the measured columns."""
    quasi = list(scene.quasi)
    for number, (j, low) in enumerate(lows.items()):
        found = sum((survey.moments[number] for survey in surveys), Moments(low))
        extent = quasi[j].extent
        assert extent is not None
        scaling = Scaling(found.mean, found.deviation, found.count < rows)
        quasi[j] = replace(quasi[j], scaling=scaling, extent=replace(extent, mean=found.mean))
    return replace(scene, quasi=tuple(quasi))


def _tally(
    shared: Shared, counted: Spread, scene: _Scene, forest: Forest, strata: npt.NDArray[np.int64]
) -> ValueCounts:
    """Count the rows of the leaves and, where models ask for them, their sensitive values."""
    tag = functools.partial(_tag, scene, forest, strata, None)
    rows = np.zeros(forest.leaves, np.int64)
    found = counted.count_by(tag, ())
    rows[found.column("b").to_numpy()] = found.column("n").to_numpy()
    asked = any(isinstance(part, SensitiveModel) for part in shared.model.parts)
    entries = []
    for s, dictionary in enumerate(scene.sensitive.dictionaries):
        leaf, value, count = np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64)
        if asked:
            found = counted.count_by(tag, (dictionary.place,))
            codes = scene.sensitive.column(found, s)
            known = codes >= 0
            leaf = np.asarray(found.column("b").to_numpy(), np.int64)[known]
            value, count = codes[known], np.asarray(found.column("n").to_numpy(), np.int64)[known]
        entries.append((leaf, value, count))
    return ValueCounts(rows, tuple(entries))


def _published(scene: _Scene, counted: Spread) -> pa.Schema:
    """The types of what is shown, l<i>."""
    import pyarrow as pa

    fields = []
    for column in scene.quasi:
        shown = column.shows
        kind = counted.schema.field(f"c{column.place}").type
        if shown not in ("mean", "median") or pa.types.is_string(kind) or pa.types.is_large_string(kind):
            kind = pa.string()
        elif pa.types.is_decimal(kind):
            kind = pa.float64()
        fields.append(pa.field(f"l{column.place}", kind))
    return pa.schema(fields)


# -- one block, where its rows are -----------------------------------------------------------------------------------


def _run_block(shared: Shared, scene: _Scene, table: pa.Table) -> tuple[pa.Table, _Told]:
    """Groups of one block, as entries and as sums for the losses."""
    import pyarrow as pa

    found = [column.column(table) for column in scene.quasi]
    codes = np.stack([codes for _, codes in found], axis=1)
    secrets = scene.sensitive.codes(table)
    order = np.lexsort((*scene.sensitive.written(table).T[::-1], *secrets.T[::-1], *codes.T[::-1]))
    codes, secrets, table = codes[order], secrets[order], table.take(pa.array(order))
    count = np.asarray(table.column("n").to_numpy(), np.int64)
    columns = [column for column, _ in found]
    row = np.repeat(np.arange(len(count), dtype=np.int64), count)
    part = Part(shared, columns, codes[row], np.ascontiguousarray(secrets[row], np.int32))
    group = part.finish(part.form().group, shared.rows)
    quasi = tuple(column.dictionary for column in columns)
    block = FrequencySet(quasi, scene.sensitive.dictionaries, shared.domains, codes, secrets, count)
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
        shown = labels if isinstance(labels, pa.Array) else pa.array(labels, pa.string())
        entries = entries.append_column(f"l{dictionary.place}", shown.take(of_group))
    fate = Published(recoding.count, recoding.group, recoding.height[recoding.group], recoding.share[recoding.group])
    return entries, (
        Sums.of(fate),
        {name: moved(before, after, scene.mean(name)) for name, before, after in measured},
    )


def _losses(scene: _Scene, told: Sequence[_Told]) -> tuple[dict[str, float], dict[str, float]]:
    """All measures, and SSE/SST by column, from the sums of the blocks."""
    loss, per_column = distances({name: [far[name] for _, far in told] for name in told[0][1]})
    ladders = [None if column.listed is None else column.listed.ladder for column in scene.quasi]
    heights = [1.0 if ladder is None else float(ladder.height) for ladder in ladders]
    sizes = [column.size for column in scene.quasi]
    leaf = [1 / s if lad is None else float(lad.share[0].min()) for lad, s in zip(ladders, sizes, strict=True)]
    return loss | measures([sums for sums, _ in told], heights, leaf), per_column
