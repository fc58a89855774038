"""A table of patterns for people: what groups show, how many records they have, how sensitive values are shared.

It says no more than the released table, from which it can be counted at any time; groups below k are never shown.

Armengol and Torra, "Generalization-based k-anonymization", section 5: an anonymized data base is a set of patterns that
have the form of the original records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shoal.errors import PlanError
from shoal.io.engines import open_engine
from shoal.io.engines.base import Source, require_columns
from shoal.schema import Column, Schema
from shoal.table import FrequencySet, Groups, read_frequency_set

__all__ = ["Pattern", "describe_groups", "pattern_set"]


@dataclass(frozen=True)
class Pattern:
    """What one group shows.

    Attributes
    ----------
    shown
        What is published of each quasi-identifier; None is missing.
    support
        How many records the group has.
    shares
        For each sensitive column, the part of the group's records that has each value, most frequent first; a missing
        value has no entry.
    """

    shown: Mapping[str, str | None]
    support: int
    shares: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        shares = {column: dict(values) for column, values in self.shares.items()}
        return {"pattern": dict(self.shown), "support": self.support, "shares": shares}


def pattern_set(table: Any, schema: Schema, k: int, most: int | None = None) -> list[Pattern]:
    """The groups of a released table, those of most records first.

    Parameters
    ----------
    table
        A pandas, Polars, PyArrow or DuckDB object, such as ``release.table``.
    schema
        The columns' roles, such as ``plan.schema``; hierarchies play no part.
    k
        Groups of fewer records are left out.
    most
        How many patterns are wanted; all by default.

    Costs one aggregation over the rows, and time and memory in proportion to groups and their different values.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from shoal import Column, Role, Schema
    >>> released = pa.table({"sex": list("FFFM"), "age": list("***9"), "ill": ["yes", "no", "no", "no"]})
    >>> roles = {"sex": "quasi-identifier", "age": "quasi-identifier", "ill": "sensitive"}
    >>> for pattern in pattern_set(released, Schema({name: Column(Role(role)) for name, role in roles.items()}), k=3):
    ...     pattern.shown, pattern.support, {value: round(part, 2) for value, part in pattern.shares["ill"].items()}
    ({'sex': 'F', 'age': '*'}, 3, {'no': 0.67, 'yes': 0.33})
    """
    if not schema.quasi_identifiers:
        raise PlanError("At least one quasi-identifier is needed: without one, all rows are one group.")
    # of the values only their equality counts
    plain = Schema({name: Column(column.role) for name, column in schema.columns.items()})
    with open_engine(None, table) as engine:
        relation = engine.read(Source(frame=table))
        require_columns(relation, (*plain.quasi_identifiers, *plain.sensitive))
        frequencies = read_frequency_set(engine, relation, plain)
    inverse, groups = frequencies.group(frequencies.codes, [dictionary.size for dictionary in frequencies.quasi])
    first = np.unique(inverse, return_index=True)[1]
    labels = [
        [(*dictionary.text, None)[code] for code in frequencies.codes[first, j]]
        for j, dictionary in enumerate(frequencies.quasi)
    ]
    return describe_groups(frequencies, groups, labels, k, most)


def describe_groups(
    frequencies: FrequencySet,
    groups: Groups,
    labels: Sequence[Sequence[str | None]],
    k: int,
    most: int | None = None,
) -> list[Pattern]:
    """The patterns of groups of at least k records, ``labels[j][g]`` being what group g shows of quasi-identifier j.

    Most records first, then by what they show.
    """
    names = [dictionary.name for dictionary in frequencies.quasi]

    def rank(group: int) -> tuple[int, list[tuple[bool, str]]]:
        return -int(groups.size[group]), [(column[group] is not None, column[group] or "") for column in labels]

    chosen = sorted((int(group) for group in np.flatnonzero(groups.size >= k)), key=rank)[:most]
    patterns = []
    for group in chosen:
        size = int(groups.size[group])
        shares = {}
        for dictionary, histogram in zip(frequencies.sensitive, groups.histograms, strict=True):
            if histogram.domain.people is not None:  # whose rows they are is not published
                continue
            entries = slice(histogram.start[group], histogram.start[group + 1])
            held = zip(histogram.value[entries].tolist(), histogram.count[entries].tolist(), strict=True)
            ordered = sorted(held, key=lambda entry: (-entry[1], entry[0]))
            shares[dictionary.name] = {dictionary.text[value]: count / size for value, count in ordered}
        shown = {name: column[group] for name, column in zip(names, labels, strict=True)}
        patterns.append(Pattern(shown, size, shares))
    return patterns
