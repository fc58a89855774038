"""Attacks and classifiers on the real Adult files, as the papers use them."""

from __future__ import annotations

import csv

import numpy as np
import pyarrow as pa
import pytest

from shoal import Column, Role
from shoal.audit.assess import assess
from shoal.audit.attack import attack
from shoal.audit.compare import compare
from shoal.schema import Categories, Schema, read_table
from tests.reference import risk as slow

FIELDS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "gain", "loss", "hours", "native-country", "salary",
)  # fmt: skip
CONDITIONS = ("HIV", "Cancer", "Phthisis", "Hepatitis", "Obesity", "Asthma", "Flu", "Indigestion")
CATEGORIES = Categories(tuple(CONDITIONS[i : i + 2] for i in range(0, 8, 2)))
# the order of Table 9 of Sun et al. (2008), and a level of each hierarchy at which small groups remain
LEVELS = {"age": 2, "workclass": 1, "education": 1, "native-country": 1, "marital-status": 1, "race": 1, "sex": 0}


def read(path):
    with path.open(newline="") as file:
        rows = [[cell.strip().rstrip(".") for cell in row] for row in csv.reader(file) if len(row) == len(FIELDS)]
    return [dict(zip(FIELDS, row, strict=True)) for row in rows]


@pytest.fixture(scope="module")
def records(shared_data):
    return [*read(shared_data / "adult" / "adult.data"), *read(shared_data / "adult" / "adult.test")]


def test_similarity_attack_counts_as_the_paper_does(records, shared_data):
    """Groups of one category are exposed.

    There are 45,222 complete records, and eight conditions in four categories, drawn uniformly.
    """
    names = list(LEVELS)
    complete = [row for row in records if all(row[name] != "?" for name in (*names, "occupation"))]
    assert len(complete) == 45222
    drawn = np.random.default_rng(8).integers(0, 8, len(complete))
    hierarchies = {name: read_table(shared_data / "adult" / "hierarchies" / "paper" / f"{name}.csv") for name in names}
    labels = {name: {row[0]: row[LEVELS[name]] for row in hierarchies[name].rows} for name in names}
    generalized = [tuple(labels[name][row[name]] for name in names) for row in complete]
    values = [CONDITIONS[code] for code in drawn]
    table = pa.table({name: [row[j] for row in generalized] for j, name in enumerate(names)} | {"condition": values})
    columns = {name: Column(Role.QUASI_IDENTIFIER, hierarchies[name]) for name in names}
    schema = Schema(columns | {"condition": Column(Role.SENSITIVE, categories=CATEGORIES)})
    answer = attack(table, schema)
    rows = list(zip(generalized, values, strict=True))
    category = {value: CATEGORIES.index(value) for value in CONDITIONS}
    assert answer.named("similarity").exposed == slow.similar(rows, category) > 100
    assert answer.named("homogeneity").exposed == slow.homogeneous(rows)
    assert answer.named("inference").exposed == slow.guessed(rows)
    # everybody, linked by original values: the same groups, so the same people
    original = pa.table({name: [row[name] for row in complete] for name in names})
    linked = [r for r in attack(table, schema, original=original).results if r.name == "linkage of everybody"]
    assert linked[0].figures["matched"] == 45222
    assert linked[2].exposed == answer.named("similarity").exposed
    sizes = [len(group) for group in slow.by_group(rows).values()]
    risk = assess(table, schema, special=False).reidentification.prosecutor
    assert risk.average == pytest.approx(len(sizes) / 45222)
    assert risk.at_risk == pytest.approx(sum(size for size in sizes if size < 5) / 45222)


def test_tree_accuracy_on_originals_as_in_the_paper(records):
    """Armengol and Torra, Table 1: C4.5 classifies 83.12 % correctly.

    It is trained on 32,561 records with eight attributes, and evaluated on the test file.
    """
    pytest.importorskip("sklearn")
    names = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country"]
    train, test = (
        pa.table({name: [row[name] for row in part] for name in (*names, "salary")})
        for part in (records[:32561], records[32561:])
    )
    columns = {name: Column(Role.QUASI_IDENTIFIER) for name in names}
    schema = Schema(columns | {"salary": Column(Role.OTHER)})
    answer = compare(train, train, schema, target="salary", test=test, queries=1).accuracy[0]
    assert answer.test_rows == 16281
    assert answer.original == answer.released
    assert answer.majority == pytest.approx(0.7638, abs=1e-4)
    assert answer.original == pytest.approx(0.8312, abs=0.015)
