"""What a decision tree learns from a release: section 4 of "Generalization-based k-anonymization" (Armengol and Torra).

    python examples/classifier_comparison.py                          a generated census, a minute
    SHOAL_DATA=... python examples/classifier_comparison.py           Adult, beside the paper's Table 1

SHOAL_DATA names a folder with adult/adult.data and adult/adult.test. A tree is trained on the original records and on
releases by anti-unification, and tested on the originals (DB), on a random third of them (S1) and on records that no
release has seen (uci). Releases are read in two ways: one row per pattern, as the paper trains its trees, and one row
per record. The paper uses C4.5; here it is scikit-learn's tree by entropy, pruned as much as three-fold
cross-validation on the training table itself advises. C4.5 splits a record of unknown value over the branches; here
`*` is replaced by a value drawn from its column.

Needs the extra `learn`: pip install 'shoal[learn]'.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import shoal
from shoal.data.census import census_table
from shoal.schema import Column, Role, Schema, Widths

AGES = Widths((5,), bottom=20, top=90)  # low-19, 20-24, ..., 85-89, high-90
ORDERS = {"(<,>)": ("<", ">"), "(>,<)": (">", "<")}
PRUNING = [1e-4, 3e-4, 1e-3, 3e-3]
ADULT_COLUMNS = (
    ("age", 0), ("workclass", 1), ("education", 3), ("marital-status", 5), ("occupation", 6), ("race", 8), ("sex", 9),
    ("native-country", 13), ("salary", 14),
)  # fmt: skip

# Table 1 of the paper: accuracy in per cent by (model, test set) for K = 5, 10, 20, 30
PAPER = {
    ("DB", "S1"): (83.32, 83.32, 83.32, 83.32),
    ("(<,>)", "S1"): (73.19, 72.51, 80.38, 80.58),
    ("(>,<)", "S1"): (81.28, 81.51, 82.05, 72.18),
    ("DB", "uci"): (83.12, 83.12, 83.12, 83.12),
    ("(<,>)", "uci"): (73.23, 72.38, 80.34, 80.82),
    ("(>,<)", "uci"): (81.01, 81.75, 81.82, 72.18),
    ("DB", "DB"): (83.42, 83.42, 83.42, 83.42),
    ("(<,>)", "DB"): (73.01, 72.12, 80.27, 80.71),
    ("(>,<)", "DB"): (81.42, 81.66, 81.72, 71.73),
}


def adult(folder: Path) -> tuple[pa.Table, pa.Table]:
    """The 32561 training and the 16281 test records, eight attributes and salary; `?` is a value."""
    tables = []
    for name in ("adult.data", "adult.test"):
        with (folder / "adult" / name).open(newline="", encoding="utf-8") as lines:
            records = [row for row in csv.reader(lines, skipinitialspace=True) if len(row) == 15]
        tables.append(pa.table({title: [row[i].rstrip(".") for row in records] for title, i in ADULT_COLUMNS}))
    return tables[0], tables[1]


def generated(rows: int) -> tuple[pa.Table, pa.Table]:
    """Two census-like tables of as many columns, with a salary that follows education, age and marriage."""
    tables = []
    for seed in (1, 2):
        table = census_table(rows, seed)
        random = np.random.default_rng([seed, 99])
        learned = np.isin(table["education"].to_numpy(), ["Bachelors", "Masters", "Prof-school", "Doctorate"])
        married = np.isin(table["marital-status"].to_numpy(), ["Married", "Remarried"])
        score = -3.2 + 2.2 * learned + 2.0 * married + 0.03 * (table["age"].to_numpy() - 35)
        high = random.random(rows) < 1 / (1 + np.exp(-score))
        tables.append(table.append_column("salary", pa.array(np.where(high, ">50K", "<=50K"))))
    return tables[0], tables[1]


def schema_of(table: pa.Table) -> Schema:
    quasi = {name: Column(Role.QUASI_IDENTIFIER) for name in table.column_names if name != "salary"}
    quasi["age"] = Column(Role.QUASI_IDENTIFIER, AGES)
    return Schema({**quasi, "salary": Column(Role.SENSITIVE)})


def cut_ages(table: pa.Table) -> pa.Table:
    """The originals as the tree sees releases: ages in the intervals of the hierarchy's first level."""
    ages = table["age"].cast(pa.string()).to_pylist()
    values = sorted(set(ages))
    ladder = AGES.bind(values, missing=False)
    label = {value: ladder.labels[1][code] for value, code in zip(values, ladder.codes[1], strict=True)}
    return table.set_column(table.column_names.index("age"), "age", pa.array([label[age] for age in ages]))


class Learner:
    """A tree over the columns of one table."""

    def __init__(self, originals: pa.Table) -> None:
        self.names = [name for name in originals.column_names if name != "salary"]
        self.encoder = OneHotEncoder(handle_unknown="ignore", dtype=np.float32)
        self.encoder.fit(self.cells(originals))

    def cells(self, table: pa.Table) -> np.ndarray:
        """The values of a table, `*` replaced by a draw from what its column shows elsewhere.

        Whether a value is shown goes with the class it was published in, so a tree must not see it.
        """
        random = np.random.default_rng(0)
        columns = []
        for name in self.names:
            values = np.array(table[name].to_pylist(), dtype=object)
            hidden = values == "*"
            if not hidden.all():  # else there is nothing to draw from, and no value applies
                values[hidden] = random.choice(values[~hidden], hidden.sum())
            columns.append(values)
        return np.column_stack(columns)

    def train(self, table: pa.Table) -> GridSearchCV:
        """A tree, pruned as cross-validation on the table itself advises."""
        folds = StratifiedKFold(3, shuffle=True, random_state=0)
        tree = DecisionTreeClassifier(criterion="entropy", random_state=0)
        search = GridSearchCV(tree, {"ccp_alpha": PRUNING}, cv=folds)
        return search.fit(self.encoder.transform(self.cells(table)), table["salary"].to_pylist())

    def accuracy(self, tree: GridSearchCV, table: pa.Table) -> float:
        """In per cent."""
        return 100 * tree.score(self.encoder.transform(self.cells(table)), table["salary"].to_pylist())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000, help="of the generated tables")
    parser.add_argument("--k", type=int, nargs="+", default=[5, 10, 20, 30])
    chosen = parser.parse_args()
    data = os.environ.get("SHOAL_DATA")
    originals, unseen = adult(Path(data)) if data else generated(chosen.rows)
    start = time.perf_counter()
    schema = schema_of(originals)
    shown = cut_ages(originals)
    third = np.random.default_rng(0).permutation(originals.num_rows)[: round(originals.num_rows * 11486 / 32561)]
    tests = {"S1": shown.take(pa.array(np.sort(third))), "uci": cut_ages(unseen), "DB": shown}
    learner = Learner(shown)
    tree = learner.train(shown)
    accuracy = {("DB", "records", test, k): learner.accuracy(tree, table) for test, table in tests.items()
                for k in chosen.k}  # fmt: skip
    sizes = {}
    for k in chosen.k:
        for name, order in ORDERS.items():
            for way, reading in (("patterns", "overlapping"), ("records", "disjoint")):
                method = shoal.AntiUnification(order=order, patterns=reading)
                release = shoal.anonymize(originals, shoal.Plan(schema, (shoal.KAnonymity(k),), method))
                tree = learner.train(release.table)
                sizes[name, way, k] = release.certificate["groups"], release.certificate["suppressed"]
                for test, table in tests.items():
                    accuracy[name, way, test, k] = learner.accuracy(tree, table)
    print(f"{'Adult' if data else 'A generated census'}, {originals.num_rows} records; accuracy in per cent"
          f"{', beside it Table 1 of the paper' if data else ''}")  # fmt: skip
    print(f"{'trained on':<22}{'tested on':<11}" + "".join(f"{f'K = {k}':<16}" for k in chosen.k))
    for test in tests:
        for name in ("DB", *ORDERS):
            for way in ("records",) if name == "DB" else ("patterns", "records"):
                cells = []
                for k in chosen.k:
                    paper = PAPER[name, test][(5, 10, 20, 30).index(k)] if data and k in (5, 10, 20, 30) else None
                    beside = f" ({paper})" if paper is not None and (name == "DB" or way == "patterns") else ""
                    cells.append(f"{accuracy[name, way, test, k]:.2f}{beside}")
                print(f"{f'{name} {way}':<22}{test:<11}" + "".join(f"{cell:<16}" for cell in cells))
    print("Patterns and discarded records")
    for name in ORDERS:
        for way in ("patterns", "records"):
            cells = ["/".join(map(str, sizes[name, way, k])) for k in chosen.k]
            print(f"{f'{name} {way}':<33}" + "".join(f"{cell:<16}" for cell in cells))
    share = max(tests["DB"]["salary"].to_pylist().count(value) for value in ("<=50K", ">50K")) / originals.num_rows
    print(f"The larger class is {100 * share:.2f} per cent of DB. {time.perf_counter() - start:.0f} s.")


if __name__ == "__main__":
    main()
