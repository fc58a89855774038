"""Readable tables of patterns: labels, record counts and sensitive values.

A pattern set discloses no more than the released table, from which it can be counted at any time; groups below k are
never listed.

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


@dataclass(frozen=True)
class Pattern:
    """The published values of one group.

    Attributes
    ----------
    shown
        The published label of each quasi-identifier; None is missing.
    support
        The number of records of the group.
    shares
        For each sensitive column, the share of the group's records that has each value, most frequent first; a missing
        value has no entry.
    """

    shown: Mapping[str, str | None]
    support: int
    shares: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON."""
        shares = {column: dict(values) for column, values in self.shares.items()}
        return {"pattern": dict(self.shown), "support": self.support, "shares": shares}


def pattern_set(table: Any, schema: Schema, k: int, most: int | None = None) -> list[Pattern]:
    """Return the groups of a released table, the largest first.

    Parameters
    ----------
    table
        A pandas, Polars, PyArrow or DuckDB object, such as ``release.table``.
    schema
        The columns' roles, such as ``plan.schema``; hierarchies are ignored.
    k
        Groups of fewer records are omitted.
    most
        The largest number of patterns to return; all by default.

    Costs one aggregation over the rows, and time and memory in proportion to groups and their different values.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from shoal import Column, Role
    >>> from shoal.schema import Schema
    >>> released = pa.table({"sex": list("FFFM"), "age": list("***9"), "ill": ["yes", "no", "no", "no"]})
    >>> roles = {"sex": "quasi-identifier", "age": "quasi-identifier", "ill": "sensitive"}
    >>> for pattern in pattern_set(released, Schema({name: Column(Role(role)) for name, role in roles.items()}), k=3):
    ...     pattern.shown, pattern.support, {value: round(part, 2) for value, part in pattern.shares["ill"].items()}
    ({'sex': 'F', 'age': '*'}, 3, {'no': 0.67, 'yes': 0.33})
    """
    if not schema.quasi_identifiers:
        raise PlanError("columns.no-quasi-identifier")
    # only the equality of values matters
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
    limit: int | None = None,
) -> list[Pattern]:
    """Return the patterns of groups of at least k records.

    ``labels[j][g]`` is the label of quasi-identifier j in group g. The largest groups come first, then by their labels.
    """
    names = [dictionary.name for dictionary in frequencies.quasi]

    def rank(group: int) -> tuple[int, list[tuple[bool, str]]]:
        return -int(groups.size[group]), [(column[group] is not None, column[group] or "") for column in labels]

    chosen = sorted((int(group) for group in np.flatnonzero(groups.size >= k)), key=rank)[:limit]
    patterns = []
    for group in chosen:
        size = int(groups.size[group])
        shares = {}
        for dictionary, histogram in zip(frequencies.sensitive, groups.histograms, strict=True):
            if histogram.domain.people is not None:  # identities of people are not published
                continue
            entries = slice(histogram.start[group], histogram.start[group + 1])
            counts = zip(histogram.value[entries].tolist(), histogram.count[entries].tolist(), strict=True)
            ordered = sorted(counts, key=lambda entry: (-entry[1], entry[0]))
            shares[dictionary.name] = {dictionary.text[value]: count / size for value, count in ordered}
        published = {name: column[group] for name, column in zip(names, labels, strict=True)}
        patterns.append(Pattern(published, size, shares))
    return patterns
