"""What a method decided: which rows form a group, and what the group publishes.

Two forms. :class:`ByLevel` is global: one level of the hierarchy per column. :class:`ByGroup` is local: a
partition of the combinations, of which each group publishes labels of its own. Both can leave rows out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shoal.encoding.frequency import FrequencySet
from shoal.encoding.groups import group_keys
from shoal.engines.base import Engine, Relation
from shoal.schema import Ladder

__all__ = ["ByGroup", "ByLevel", "Recoding", "apply", "recode_codes"]


@dataclass(frozen=True)
class ByLevel:
    """One level per quasi-identifier.

    Attributes
    ----------
    levels
        int (q,): the level of each quasi-identifier.
    group
        int64 (n,): group of each combination of the frequency set, -1 where it is suppressed.
    facts
        What the method wants to tell about its work, for the certificate.
    """

    levels: tuple[int, ...]
    group: npt.NDArray[np.int64]
    facts: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class ByGroup:
    """A partition with labels.

    Of combination ``row[i]``, ``count[i]`` rows go to group ``group[i]``; rows that go nowhere are
    suppressed. Entries of one combination stand together. ``labels[j][g]`` is what group g publishes in
    quasi-identifier j (``None``: missing); ``height[g, j]`` and ``share[g, j]`` are how far up its hierarchy
    that is, as part of the height, and which part of the domain it covers.
    """

    row: npt.NDArray[np.int64]
    group: npt.NDArray[np.int64]
    count: npt.NDArray[np.int64]
    labels: tuple[tuple[str | None, ...], ...]
    height: npt.NDArray[np.float64]
    share: npt.NDArray[np.float64]
    facts: Mapping[str, object] = field(default_factory=dict)


Recoding = ByLevel | ByGroup


def recode_codes(
    codes: npt.NDArray[np.int32], ladders: Sequence[Ladder], levels: Sequence[int]
) -> tuple[npt.NDArray[np.int32], list[int]]:
    """Codes (n, q) of level 0 lifted to some levels, and how many codes each column has there."""
    lifted = [ladder.codes[level][codes[:, j]] for j, (ladder, level) in enumerate(zip(ladders, levels, strict=True))]
    sizes = [ladder.size(level) for ladder, level in zip(ladders, levels, strict=True)]
    return (np.stack(lifted, axis=1) if lifted else np.zeros((len(codes), 0), np.int32)), sizes


def apply(
    engine: Engine,
    table: Relation,
    keep: tuple[str, ...],
    frequencies: FrequencySet,
    ladders: tuple[Ladder, ...],
    recoding: Recoding,
) -> Relation:
    """Let the engine recode the rows; ``keep`` names the columns that are published, in their order."""
    places = table.places(keep)
    if isinstance(recoding, ByLevel):
        return _apply_levels(engine, table, places, frequencies, ladders, recoding)
    return _apply_groups(engine, table, places, frequencies, recoding)


def _apply_levels(
    engine: Engine,
    table: Relation,
    places: tuple[int, ...],
    frequencies: FrequencySet,
    ladders: tuple[Ladder, ...],
    recoding: ByLevel,
) -> Relation:
    import pyarrow as pa

    maps = {}
    constants = {}
    shown = []  # the columns in which published groups differ, as Arrow values by code
    for dictionary, ladder, level in zip(frequencies.quasi, ladders, recoding.levels, strict=True):
        labels = ladder.labels[level]
        if level == 0:
            values = pa.concat_arrays([dictionary.values, pa.nulls(dictionary.missing, dictionary.values.type)])
            shown.append((dictionary.place, values))
        elif len(labels) == 1 and labels[0] is not None and level == ladder.height:
            constants[dictionary.place] = labels[0]
            shown.append((dictionary.place, None))
        else:
            values = pa.concat_arrays([dictionary.values, pa.nulls(dictionary.missing, dictionary.values.type)])
            maps[dictionary.place] = (
                values,
                pa.array([labels[code] for code in ladder.codes[level]], pa.string()),
            )
            shown.append((dictionary.place, pa.array(labels, pa.string())))
    suppressed = None
    out = np.flatnonzero(recoding.group < 0)
    if len(out):
        codes, sizes = recode_codes(frequencies.codes[out], ladders, recoding.levels)
        number, _ = group_keys(codes, sizes)
        _, first = np.unique(number, return_index=True)
        suppressed = pa.table(
            {f"c{place}": by_code.take(pa.array(codes[first, j]))
             for j, (place, by_code) in enumerate(shown) if by_code is not None}
        )  # fmt: skip
    return engine.recode_by_level(table, places, maps, constants, suppressed)


def _apply_groups(
    engine: Engine, table: Relation, places: tuple[int, ...], frequencies: FrequencySet, recoding: ByGroup
) -> Relation:
    import pyarrow as pa

    row, group, count = recoding.row, recoding.group, recoding.count
    columns = [(d, frequencies.codes[row, j]) for j, d in enumerate(frequencies.quasi)]
    whole, combinations = group_keys(frequencies.codes, [d.size for d in frequencies.quasi])
    homes = np.unique(np.stack([whole[row], group], axis=1), axis=0)
    data: dict[str, object] = {}
    every = len(row) == len(frequencies.count) and bool((count == frequencies.count[row]).all())
    if every and len(homes) == combinations:
        # rows alike in all quasi-identifiers share a group, so the sensitive values need not be looked at
        first = np.unique(whole[row], return_index=True)[1]
        columns = [(d, codes[first]) for d, codes in columns]
        data["g"] = pa.array(group[first])
    else:
        missing = [
            np.where(s < 0, len(d.text), s) for d, s in zip(frequencies.sensitive, frequencies.secrets.T, strict=True)
        ]
        columns += [(d, codes[row]) for d, codes in zip(frequencies.sensitive, missing, strict=True)]
        data["g"] = pa.array(group)
        new = np.r_[True, row[1:] != row[:-1]] if len(row) else np.zeros(0, np.bool_)
        if not (bool(new.all()) and bool((count == frequencies.count[row]).all())):
            high = np.cumsum(count)
            before = np.r_[0, high[:-1]]
            base = before[new][np.cumsum(new) - 1]
            data["low"], data["high"] = pa.array(before - base), pa.array(high - base)
    for dictionary, codes in columns:
        values = pa.concat_arrays([dictionary.values, pa.nulls(1, dictionary.values.type)])
        data[f"c{dictionary.place}"] = values.take(pa.array(codes))
    labels: dict[str, object] = {"g": pa.array(np.arange(len(recoding.height), dtype=np.int64))}
    for dictionary, published in zip(frequencies.quasi, recoding.labels, strict=True):
        labels[f"c{dictionary.place}"] = pa.array(published, pa.string())
    return engine.recode_by_group(table, places, pa.table(data), pa.table(labels))
