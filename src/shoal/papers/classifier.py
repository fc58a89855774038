"""Decision trees on releases: section 4 of Armengol and Torra.

A tree is trained on the original records and on releases by anti-unification, and tested on the originals (DB), on a
random third of them (S1) and on records that no release has seen (uci). Releases are read in two ways: one row per
pattern, as the paper trains its trees, and one row per record. The paper uses C4.5; here it is scikit-learn's tree by
entropy, pruned by three-fold cross-validation on the training table itself. C4.5 splits a record of unknown value over
the branches; here `*` is replaced by a value drawn from its column.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from shoal.methods import AntiUnification
from shoal.models import KAnonymity
from shoal.pipeline.run import anonymize
from shoal.plan.plan import Plan
from shoal.schema import Column, Role, Schema, Widths

if TYPE_CHECKING:
    import pyarrow as pa


AGES = Widths((5,), bottom=20, top=90)  # low-19, 20-24, ..., 85-89, high-90
ORDERS: dict[str, tuple[Literal["<", ">"], ...]] = {"(<, >)": ("<", ">"), "(>, <)": (">", "<")}
TESTS = ("S1", "uci", "DB")
PRUNING = [1e-4, 3e-4, 1e-3, 3e-3]
THIRD = 11486 / 32561  # of the records, as in the paper's S1
ADULT_COLUMNS = (
    ("age", 0), ("workclass", 1), ("education", 3), ("marital-status", 5), ("occupation", 6), ("race", 8), ("sex", 9),
    ("native-country", 13), ("salary", 14),
)  # fmt: skip


@dataclass(frozen=True)
class TreeComparison:
    """Accuracies in per cent.

    ``originals`` by test set; ``releases`` by (passes, patterns or records, test set, k); ``sizes`` by (passes,
    patterns or records, k): how many patterns, and how many records were discarded.
    """

    originals: dict[str, float]
    releases: dict[tuple[str, str, str, int], float]
    sizes: dict[tuple[str, str, int], tuple[int, int]]


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
    coarsened = _cut_ages(originals)
    third = np.random.default_rng(0).permutation(originals.num_rows)[: round(originals.num_rows * THIRD)]
    tests = dict(zip(TESTS, (coarsened.take(pa.array(np.sort(third))), _cut_ages(unseen), coarsened), strict=True))
    learner = _Learner(coarsened)
    tree = learner.train(coarsened)
    found = TreeComparison({test: learner.accuracy(tree, table) for test, table in tests.items()}, {}, {})
    for k in sizes:
        for name, order in ORDERS.items():
            for way in ("patterns", "records"):
                method = AntiUnification(order=order, patterns="overlapping" if way == "patterns" else "disjoint")
                release = anonymize(originals, Plan(schema, (KAnonymity(k),), method))
                tree = learner.train(release.table)
                found.sizes[name, way, k] = release.figures["groups"], release.figures["suppressed"]
                for test, table in tests.items():
                    found.releases[name, way, test, k] = learner.accuracy(tree, table)
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
    """A decision tree over the columns of one table."""

    def __init__(self, originals: pa.Table) -> None:
        from sklearn.preprocessing import OneHotEncoder

        self.names = [name for name in originals.column_names if name != "salary"]
        self.encoder = OneHotEncoder(handle_unknown="ignore", dtype=np.float32)
        self.encoder.fit(self.cells(originals))

    def cells(self, table: pa.Table) -> npt.NDArray[np.object_]:
        """Return the values of a table, with `*` replaced by random draws.

        A draw is from the other values of the column. Suppression of a value is correlated with the class of its
        record, so a tree must not see it.
        """
        random = np.random.default_rng(0)
        columns = []
        for name in self.names:
            values = np.array(table[name].to_pylist(), dtype=object)
            hidden = values == "*"
            if not hidden.all():  # otherwise there is nothing to draw from, and no value applies
                values[hidden] = random.choice(values[~hidden], hidden.sum())
            columns.append(values)
        return np.column_stack(columns)

    def train(self, table: pa.Table) -> Any:
        """Train a tree, pruned by cross-validation on the table itself."""
        from sklearn.model_selection import GridSearchCV, StratifiedKFold
        from sklearn.tree import DecisionTreeClassifier

        folds = StratifiedKFold(3, shuffle=True, random_state=0)
        tree = DecisionTreeClassifier(criterion="entropy", random_state=0)
        search = GridSearchCV(tree, {"ccp_alpha": PRUNING}, cv=folds, n_jobs=2)
        return search.fit(self.encoder.transform(self.cells(table)), table["salary"].to_pylist())

    def accuracy(self, tree: Any, table: pa.Table) -> float:
        """Return the accuracy in per cent."""
        return 100 * float(tree.score(self.encoder.transform(self.cells(table)), table["salary"].to_pylist()))
