"""The same plan on both engines: the same groups, the same published values, row by row."""

from __future__ import annotations

import json
import re

import pytest

import shoal
from tests.conformance.test_methods import METHODS, MODELS, SCHEMA, table_of

pytestmark = pytest.mark.xdist_group("spark")


def serves(method, model):
    try:
        shoal.Plan(SCHEMA, MODELS[model][0], METHODS[method])
    except shoal.PlanError:
        return False
    return True


def pairs():
    """Every method with one model, and every model with a method that serves it, another one each time."""
    yield from ((method, "p") for method in METHODS)
    names = list(METHODS)
    for number, model in enumerate(MODELS):
        if model != "p":
            yield next(method for method in names[number:] + names[:number] if serves(method, model)), model


@pytest.mark.parametrize(("method", "model"), list(pairs()))
def test_both_engines_release_the_same(spark, method, model):
    table = table_of(200, 3)
    plan = shoal.Plan(SCHEMA, MODELS[model][0], METHODS[method], seed=3)
    frame = spark.createDataFrame(table).repartition(3)
    try:
        ours = shoal.anonymize(table, plan)
    except shoal.InfeasibleError as error:
        with pytest.raises(shoal.InfeasibleError, match=re.escape(str(error))):
            shoal.anonymize(frame, plan)
        return
    theirs = shoal.anonymize(frame, plan)
    assert theirs.table.toArrow().to_pylist() == ours.table.to_pylist()
    if getattr(plan.method, "block", None):  # each part adds up its own losses, so their last digits may differ
        assert close(json.loads(theirs.certificate.to_json())) == close(json.loads(ours.certificate.to_json()))
    else:
        assert theirs.certificate.to_json() == ours.certificate.to_json()


def close(content):
    """The same content with numbers of nine digits."""
    if isinstance(content, dict):
        return {key: close(value) for key, value in content.items()}
    if isinstance(content, list):
        return [close(value) for value in content]
    return float(f"{content:.9g}") if isinstance(content, float) else content
