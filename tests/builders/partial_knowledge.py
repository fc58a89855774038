"""Releases judged by the model and by the verification."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from unittest.mock import patch

import pyarrow as pa

from shoal.models import partial_knowledge as known_models
from shoal.models.partial_knowledge import assess_sets
from shoal.schema import Categories, Column, Role, Schema, Tree
from shoal.table import read_frequency_set
from shoal.table.column_subsets import read_subset_counters
from shoal.verification.independent import (
    array_counts,
    differences,
    evaluate_column_sets,
    list_sensitive_columns,
    read_released_rows,
)
from shoal.verification.independent import column_subsets as independent_subsets
from tests.builders.conformance import CLASSES, MODELS, SECRETS
from tests.reference import known as slow

NAMES = ("a", "b", "c", "d")


def schema_of(columns, **options):
    """Schema of quasi-identifiers and one sensitive column."""
    secret = Column(
        Role.SENSITIVE,
        hierarchy=Tree({"1": ["u", "v"], "2": ["w", "x"]}),
        categories=Categories(CLASSES),
        order=tuple(SECRETS),
    )
    quasi = {name: Column(Role.QUASI_IDENTIFIER, **options) for name in columns}
    return Schema({**quasi, "s": secret})


class ColumnPositions:
    """A relation of which only the positions of columns are used."""

    def positions(self, names):
        return tuple(range(len(names)))


def coded(cells, secrets, schema):
    """Return the frequency set of rows, and the table that it is read from."""
    names = schema.quasi_identifiers
    rows = Counter(zip(map(tuple, cells), secrets, strict=True))
    columns = {f"c{j}": pa.array([row[j] for row, _ in rows], "string") for j in range(len(names))}
    columns[f"c{len(names)}"] = pa.array([secret for _, secret in rows], "string")
    counted = pa.table({**columns, "n": pa.array(rows.values(), "int64")})
    found = read_frequency_set(None, ColumnPositions(), schema, ordered=False, counted=counted)
    return found, counted, {name: j for j, name in enumerate(names)}, len(names)


def evaluate_both_ways(people, released, secrets, part, with_source=True):
    """Return the verdicts of the model and of the verification."""
    schema = schema_of(NAMES[: len(people[0])])
    frequencies, counted, quasi, sensitive_index = coded(released, secrets, schema)
    source, _, _, _ = coded(people, secrets, schema)
    labels = [(*dictionary.text, None) for dictionary in source.quasi]
    visible, known = read_subset_counters(frequencies, "*", source if with_source else None, labels)
    found = assess_sets(visible, frequencies, part, schema.quasi_identifiers, known)
    columns = {"s": (sensitive_index, counted.column(f"c{sensitive_index}"), counted.column("n"))}
    crowd = {}
    for person in people:
        crowd[tuple(person)] = crowd.get(tuple(person), 0) + 1
    rows = read_released_rows(counted, quasi, list_sensitive_columns(columns, schema), crowd, "*")
    opinion = evaluate_column_sets(rows, part)
    # the verification gives the same with all or some columns in dictionaries, one column per field, two addends
    for changed in (
        {},
        {"MIN_LABELS_FOR_DICTIONARY": 0, "DICTIONARY_NANOSECONDS_PER_ROW": 0},
        {"MIN_LABELS_FOR_DICTIONARY": 2},
        {"MAX_FIELD_BYTES": 1, "DICTIONARY_NANOSECONDS_PER_ROW": 1e9},
        {"_max_addends": lambda *_: 2},
    ):
        with patch.multiple(independent_subsets, USES_ARRAYS=False, **changed):
            assert evaluate_column_sets(replace(rows, min_rows_per_person={}), part) == opinion
    with patch.object(array_counts, "TABLE_ENTRIES_PER_ROW", -(10**6)):  # candidates by dictionaries
        assert evaluate_column_sets(replace(rows, min_rows_per_person={}), part) == opinion
    with patch.object(known_models, "MIN_ENTRIES_TO_COMPILE", 0):  # by compiled code
        again = assess_sets(visible, frequencies, part, schema.quasi_identifiers, known)
    assert (again.holds, again.enough_candidates, again.effective, again.sets, again.facts, again.failing_groups) == (
        found.holds, found.enough_candidates, found.effective, found.sets, found.facts, found.failing_groups,
    )  # fmt: skip
    assert again.failing.tolist() == found.failing.tolist()
    assert evaluate_column_sets(rows, part) == opinion  # cached facts about people give the same result
    return found, opinion


def expected(people, released, secrets, sets, holds, least):
    """Return the expected verdict and the fewest rows of a person."""
    good = slow.row_to_people(released, secrets, sets, holds)
    good = good and slow.person_to_rows(people, released, secrets, sets, holds)
    min_rows_per_person = slow.fewest_rows(people, released, sets)
    return good and min_rows_per_person >= least, min_rows_per_person


def assert_agreement(people, released, secrets, limit, sets, name):
    """Compare each model of a combination with its definition.

    MODELS has the definition of the last one, after k-anonymity.
    """
    models, holds = MODELS[name]
    for model in models:
        k = getattr(model, "k", 1)
        alone = (lambda group, table, k=k: len(group) >= k) if model.sizes_only else holds
        if len(models) > 1 and not model.sizes_only:
            k_first = models[0].k
            if not slow.row_to_people(released, secrets, sets, lambda group, _, k=k_first: len(group) >= k):
                continue  # the definition includes k-anonymity
            if slow.fewest_rows(people, released, sets) < k_first:
                continue
        part = limit(model)
        found, opinion = evaluate_both_ways(people, released, secrets, part)
        good, min_rows_per_person = expected(people, released, secrets, sets, alone, k)
        assert found.holds == good, (part, found)
        assert found.effective["rows_per_person"] == min_rows_per_person
        assert differences(opinion, part, found.holds, found.effective) == []
