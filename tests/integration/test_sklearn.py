"""Anonymization as a step of scikit-learn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import shoal

sklearn = pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from sklearn.base import clone  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

from shoal.sklearn import Anonymizer  # noqa: E402

FAILS = {"check_fit2d_1sample": "one row cannot hide among others"}
RANDOM = np.random.default_rng(7)
X = np.column_stack([RANDOM.integers(18, 90, 400), RANDOM.integers(0, 5, 400)])
Y = (X[:, 0] > 50).astype(int)


def smallest(recoded: np.ndarray) -> int:
    return int(np.unique(recoded.astype(str), axis=0, return_counts=True)[1].min())


def test_estimator_checks():
    """Run all checks of estimators but those that cannot hold.

    Without verification: with it, a few rows alone are refused, as they should be.
    """
    made = Anonymizer(k=2, time_limit=1.0, verify=False)
    done = check_estimator(made, expected_failed_checks=FAILS, on_skip=None, on_fail="raise")
    assert {one["check_name"] for one in done if one["status"] == "xfail"} == set(FAILS)


@pytest.mark.parametrize("k", [2, 10, 50])
def test_groups_of_k_rows_in_the_original_order(k):
    made = Anonymizer(k=k).fit(X)
    recoded_labels = Anonymizer(k=k, encode="label").fit_transform(X)
    assert smallest(made.transform(X)) >= k
    assert smallest(recoded_labels) >= k
    for row, labels in zip(X, recoded_labels, strict=True):
        for value, label in zip(row, labels, strict=True):
            assert shoal.utility.labels.read_label(label).covers(str(value), float(value))


def test_the_same_recoding_is_applied_to_further_rows():
    made = Anonymizer(k=5, verify=False).fit(X)
    again = made.transform(X[:7])
    np.testing.assert_array_equal(again, made.transform(X)[:7])


def test_rows_without_a_group_are_refused():
    made = Anonymizer(k=5).fit(X)
    with pytest.raises(shoal.errors.InfeasibleError, match="verify=False"):
        made.transform(X[:3])


def test_it_is_a_step_of_a_pipeline():
    steps = make_pipeline(Anonymizer(k=5, verify=False), DecisionTreeClassifier(random_state=0)).fit(X, Y)
    assert steps.score(X, Y) > 0.8
    assert clone(steps).get_params()["anonymizer__k"] == 5


def test_hierarchies_by_name_or_number_and_feature_names():
    frame = pd.DataFrame({"age": X[:, 0], "grade": X[:, 1]})
    made = Anonymizer(k=5, hierarchies={"age": shoal.hierarchies.intervals(10, 20)}).fit(frame)
    assert made.plan_.columns["age"].hierarchy == shoal.hierarchies.intervals(10, 20)
    assert list(made.levels_) == ["age", "grade"]
    assert list(made.get_feature_names_out()) == ["age", "grade"]
    labels = Anonymizer(k=5, hierarchies={0: shoal.hierarchies.intervals(50)}, encode="label").fit_transform(X)
    assert set(labels[:, 0]) <= {"0..49", "50..99", "*"}


def test_words_are_recoded_as_labels():
    words = np.array([["14248", "f"], ["14247", "f"], ["94107", "m"], ["94108", "m"]] * 3, dtype=object)
    recoded_labels = Anonymizer(k=6, encode="label").fit_transform(words)
    assert smallest(recoded_labels) >= 6


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"hierarchies": {"nothing": shoal.hierarchies.flat()}}, "for column 'nothing'"),
        ({"hierarchies": {0: "sensitive"}}, "quasi-identifier"),
        ({"encode": "colour"}, "midpoint or label"),
        ({"k": 1}, "at least 2"),
    ],
)
def test_invalid_parameters_of_the_anonymizer(words, message):
    with pytest.raises(shoal.errors.PlanError, match=message):
        Anonymizer(**words).fit(X)
