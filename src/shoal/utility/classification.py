"""Accuracy on original rows of classifiers trained on the release.

Cross-validation on the release would test generalized rows, so the test rows are original ones: the whole original, or
a test table that the release was not made from. For comparison there are the accuracy of the same classifier trained on
the original, and of always naming the most frequent class.

Armengol and Torra, "Generalization-based k-anonymization", section 4, use C4.5, which is :mod:`shoal.utility.c45`; the
other classifiers are scikit-learn's (``pip install shoal[learn]``). Generalized values are drawn from the values that
they cover, by a seed, so that a row of America trains as USA or as Canada; numbers are the means of their cells. C4.5
takes cells as categories, in no order, and a label that covers all values, such as `*`, as unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from shoal.errors import PlanError, TableError
from shoal.utility.c45 import predict_classes, train_tree
from shoal.utility.coded_tables import CodedColumn
from shoal.utility.label_distributions import ColumnReading, draw_rows

Classifier = Literal["tree", "logistic", "forest", "c45"]
CLASSIFIERS: tuple[Classifier, ...] = get_args(Classifier)


@dataclass(frozen=True)
class Accuracy:
    """Shares of the test rows that are classified correctly.

    Attributes
    ----------
    majority
        By always naming the most frequent class of the original.
    original, released
        By the classifier trained on the original, and on the release.
    """

    target: str
    classifier: str
    test_rows: int
    majority: float
    original: float
    released: float

    @property
    def retained(self) -> float | None:
        """Share of the original's gain over the majority that is retained.

        Negative where the release misleads; None where the original has no gain.
        """
        gain = self.original - self.majority
        return (self.released - self.majority) / gain if gain > 0 else None

    def to_dict(self) -> dict[str, float | int | str | None]:
        """Return the figures for JSON."""
        return {
            "target": self.target,
            "classifier": self.classifier,
            "test_rows": self.test_rows,
            "majority": self.majority,
            "original": self.original,
            "released": self.released,
            "kept": self.retained,
        }


def classification(
    columns: Sequence[ColumnReading],
    target: tuple[CodedColumn, CodedColumn],
    *,
    classifier: Classifier = "tree",
    test: tuple[Sequence[CodedColumn], CodedColumn] | None = None,
    seed: int = 0,
) -> Accuracy:
    """Train on both tables, test on original rows.

    Parameters
    ----------
    columns
        The features.
    target
        The class column of the original and of the release; rows where it is missing are left out.
    classifier
        ``tree``, ``logistic``, ``forest`` or ``c45``.
    test
        Feature columns and class column of a test table; by default the whole original is the test.
    """
    before, after = target
    labels = [value for value in before.values if value is not None]
    code_by_class = {value: code for code, value in enumerate(labels)}
    strange = sum(value is not None and value not in code_by_class for value in after.values)
    if strange:
        raise TableError("compare.class-column-changed", column=before.name, found=strange)
    random = np.random.default_rng(seed)
    original_cells = np.stack([column.original for column in columns], axis=1)
    drawn = draw_rows(columns, random)
    features = _Features(columns, np.concatenate([original_cells, drawn]))
    known, wanted = _classes(before, code_by_class)
    known_after, wanted_after = _classes(after, code_by_class)
    if len(np.unique(wanted)) < 2 or not len(wanted_after):
        raise TableError("compare.too-few-classes", column=before.name)
    test_cells, test_classes = original_cells[known], wanted
    if test is not None:
        there, test_classes = _classes(test[1], code_by_class)
        cells = [column.cells_of(other) for column, other in zip(columns, test[0], strict=True)]
        test_cells = np.stack(cells, axis=1)[there]
        if not len(test_classes):
            raise TableError("compare.no-test-rows", column=before.name)
    trained = ((original_cells[known], wanted), (drawn[known_after], wanted_after))
    if classifier == "c45":
        hidden = np.stack([_covers_all(column)[column.released] for column in columns], axis=1)[known_after]
        trained = (trained[0], (np.where(hidden, -1, trained[1][0]).astype(np.int32), wanted_after))
        scores = [_score_c45(columns, *training, test_cells, test_classes) for training in trained]
    else:
        rows = features.matrix(test_cells)
        scores = [
            _score(classifier, features.matrix(cells), classes, rows, test_classes, seed) for cells, classes in trained
        ]
    majority_class = int(np.bincount(wanted).argmax())
    return Accuracy(
        before.name, classifier, len(test_classes), float((test_classes == majority_class).mean()), scores[0], scores[1]
    )


def _classes(column: CodedColumn, code_by_class: dict[str, int]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the rows with a known class, and their classes."""
    code = np.asarray([-1 if value is None else code_by_class.get(value, -1) for value in column.values], np.int64)
    classes = code[column.code]
    known = np.flatnonzero(classes >= 0)
    return known, classes[known]


class _Features:
    """Feature matrix of cells.

    A number column has the means of its cells, another column indicators of the cells that occur.
    """

    def __init__(self, columns: Sequence[ColumnReading], cells: npt.NDArray[np.int32]) -> None:
        self._columns = columns
        self._present = [np.unique(cells[:, j]) for j in range(len(columns))]
        self._middle = []
        for column in columns:
            middle = column.middle
            self._middle.append(None if middle is None else np.where(np.isnan(middle), np.nanmean(middle), middle))

    def matrix(self, cells: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
        parts = []
        for j, middle in enumerate(self._middle):
            if middle is not None:
                parts.append(middle[cells[:, j]][:, None])
            else:
                parts.append((cells[:, j, None] == self._present[j][None, :]).astype(np.float64))
        return np.concatenate(parts, axis=1)


def _score(
    name: Classifier,
    rows: npt.NDArray[np.float64],
    classes: npt.NDArray[np.int64],
    test: npt.NDArray[np.float64],
    truth: npt.NDArray[np.int64],
    seed: int,
) -> float:
    if len(np.unique(classes)) == 1:  # a release of one class predicts that class
        return float((truth == classes[0]).mean())
    model = _make_classifier(name, seed).fit(rows, classes)
    return float((model.predict(test) == truth).mean())


def _covers_all(column: ColumnReading) -> npt.NDArray[np.bool_]:
    """Return for each label whether it covers all of several known values."""
    covered = np.delete(column.cell_mass > 0, _unknown_cells(column), axis=1)
    return np.asarray(covered.all(axis=1) & (covered.shape[1] > 1))


def _unknown_cells(column: ColumnReading) -> list[int]:
    """Return the cells of missing values and of values not in the original."""
    return sorted({column.cells - 1, column.cell_of.get(None, column.cells - 1)})


def _score_c45(
    columns: Sequence[ColumnReading],
    cells: npt.NDArray[np.int32],
    classes: npt.NDArray[np.int64],
    test: npt.NDArray[np.int32],
    truth: npt.NDArray[np.int64],
) -> float:
    def codes(table: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        unknown = [np.isin(table[:, j], _unknown_cells(column)) for j, column in enumerate(columns)]
        return np.where(np.stack(unknown, axis=1), -1, table).astype(np.int32)

    sizes = tuple(column.cells for column in columns)
    tree = train_tree(codes(cells), classes, sizes, int(max(classes.max(), truth.max())) + 1)
    return float((predict_classes(tree, codes(test)) == truth).mean())


def _make_classifier(name: Classifier, seed: int) -> Any:
    try:
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        from sklearn.tree import DecisionTreeClassifier
    except ImportError:
        raise PlanError("compare.scikit-learn-missing") from None
    match name:
        case "tree":
            # leaves of few rows overfit; C4.5 prunes for the same reason
            return DecisionTreeClassifier(min_samples_leaf=10, random_state=seed)
        case "logistic":
            return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        case "forest":
            return RandomForestClassifier(n_estimators=50, min_samples_leaf=5, random_state=seed)
    raise PlanError("compare.unknown-classifier", allowed=", ".join(CLASSIFIERS), found=name)
