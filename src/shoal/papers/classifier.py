"""Decision trees on releases: section 4 of Armengol and Torra.

A tree is trained on the original records and on releases by anti-unification, and tested on the originals (DB), on a
random third of them (S1) and on records that no release has seen (uci). Releases are read in two ways: one row per
pattern, as the paper trains its trees, and one row per record. The paper uses Weka's J48, a clone of C4.5; here it is
:mod:`shoal.utility.c45`, which gives the same trees. `*` and `?` are unknown values.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from shoal.methods import AntiUnification
from shoal.models import KAnonymity
from shoal.pipeline.run import anonymize
from shoal.plan.plan import Plan
from shoal.schema import Column, Role, Schema, Widths
from shoal.utility.c45 import CONFIDENCE, Node, predict_classes, train_tree

if TYPE_CHECKING:
    import pyarrow as pa


AGES = Widths((5,), bottom=20, top=90)  # low-19, 20-24, ..., 85-89, high-90
ORDERS: dict[str, tuple[Literal["<", ">"], ...]] = {"(<, >)": ("<", ">"), "(>, <)": (">", "<")}
TESTS = ("S1", "uci", "DB")
UNKNOWN = ("*", "?")
PRUNINGS: tuple[float | None, ...] = (0.1, CONFIDENCE, 0.5, None)
"""Confidences of the pruning that are compared; None for an unpruned tree."""
THIRD = 11486 / 32561  # of the records, as in the paper's S1
ADULT_COLUMNS = (
    ("age", 0), ("workclass", 1), ("education", 3), ("marital-status", 5), ("occupation", 6), ("race", 8), ("sex", 9),
    ("native-country", 13), ("salary", 14),
)  # fmt: skip


@dataclass(frozen=True)
class TreeComparison:
    """Accuracies in per cent.

    ``originals`` by test set; ``releases`` by (passes, patterns or records, test set, k); ``sizes`` by (passes,
    patterns or records, k): how many patterns, and how many records were discarded; ``leaves`` of the trees by (passes,
    patterns or records, k); ``pruned`` the accuracy on unseen records of trees trained on patterns, by (passes, k,
    confidence).
    """

    originals: dict[str, float]
    releases: dict[tuple[str, str, str, int], float]
    sizes: dict[tuple[str, str, int], tuple[int, int]]
    leaves: dict[tuple[str, str, int], int]
    pruned: dict[tuple[str, int, float | None], float]


def adult_records(path: Path) -> pa.Table:
    """Return the records of a file of Adult.

    They have eight attributes and salary; `?` is a value.
    """
    import pyarrow as pa

    with path.open(newline="", encoding="utf-8") as lines:
        records = [row for row in csv.reader(lines, skipinitialspace=True) if len(row) == 15]
    return pa.table({title: [row[i].rstrip(".") for row in records] for title, i in ADULT_COLUMNS})


def compare_trees(originals: pa.Table, unseen: pa.Table, sizes: Sequence[int]) -> TreeComparison:
    """Train on the originals and on releases of every k in ``sizes``.

    The class is the column ``salary``.
    """
    import pyarrow as pa

    schema = _schema_of(originals)
    coarsened, new = _cut_ages(originals), _cut_ages(unseen)
    third = np.random.default_rng(0).permutation(originals.num_rows)[: round(originals.num_rows * THIRD)]
    tests = dict(zip(TESTS, (coarsened.take(pa.array(np.sort(third))), new, coarsened), strict=True))
    learner = _Learner(coarsened, new)
    coded = {test: learner.codes(table) for test, table in tests.items()}
    tree = learner.train(coarsened)
    accuracies = {test: learner.accuracy(tree, *pair) for test, pair in coded.items()}
    found = TreeComparison(accuracies, {}, {}, {}, {})
    for k in sizes:
        for name, order in ORDERS.items():
            for way in ("patterns", "records"):
                method = AntiUnification(order=order, patterns="overlapping" if way == "patterns" else "disjoint")
                release = anonymize(originals, Plan(schema, (KAnonymity(k),), method))
                tree = learner.train(release.table)
                found.sizes[name, way, k] = release.figures["groups"], release.figures["suppressed"]
                found.leaves[name, way, k] = tree.leaves()
                for test, pair in coded.items():
                    found.releases[name, way, test, k] = learner.accuracy(tree, *pair)
                for confidence in PRUNINGS if way == "patterns" else ():
                    tree = learner.train(release.table, confidence)
                    found.pruned[name, k, confidence] = learner.accuracy(tree, *coded["uci"])
    return found


def _schema_of(table: pa.Table) -> Schema:
    quasi = {name: Column(Role.QUASI_IDENTIFIER) for name in table.column_names if name != "salary"}
    quasi["age"] = Column(Role.QUASI_IDENTIFIER, AGES)
    return Schema({**quasi, "salary": Column(Role.SENSITIVE)})


def _cut_ages(table: pa.Table) -> pa.Table:
    """Generalize ages of the originals as in the releases.

    They become the intervals of the hierarchy's first level.
    """
    import pyarrow as pa

    ages = table["age"].cast(pa.string()).to_pylist()
    values = sorted(set(ages))
    ladder = AGES.bind(values, missing=False)
    label = {value: ladder.labels[1][code] for value, code in zip(values, ladder.codes[1], strict=True)}
    return table.set_column(table.column_names.index("age"), "age", pa.array([label[age] for age in ages]))


class _Learner:
    """C4.5 over the columns of some tables."""

    def __init__(self, *tables: pa.Table) -> None:
        names = [name for name in tables[0].column_names if name != "salary"]
        found = {name: sorted({value for table in tables for value in table[name].to_pylist()}) for name in names}
        self.values = {
            name: {value: code for code, value in enumerate(v for v in values if v not in UNKNOWN)}
            for name, values in found.items()
        }
        self.classes = sorted({value for table in tables for value in table["salary"].to_pylist()})

    def codes(self, table: pa.Table) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Return the codes of a table, -1 for unknown values, and the classes."""
        columns = [[codes.get(value, -1) for value in table[name].to_pylist()] for name, codes in self.values.items()]
        number = {value: code for code, value in enumerate(self.classes)}
        labels = [number[value] for value in table["salary"].to_pylist()]
        return np.asarray(columns, np.int32).T, np.asarray(labels, np.int64)

    def train(self, table: pa.Table, confidence: float | None = CONFIDENCE) -> Node:
        """Train a tree, pruned at a confidence or not at all."""
        codes, labels = self.codes(table)
        sizes = tuple(map(len, self.values.values()))
        return train_tree(codes, labels, sizes, len(self.classes), confidence)

    def accuracy(self, tree: Node, codes: npt.NDArray[np.int32], labels: npt.NDArray[np.int64]) -> float:
        """Return the accuracy in per cent."""
        return 100 * float((predict_classes(tree, codes) == labels).mean())
