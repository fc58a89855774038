"""The same plan on both engines: the same groups, the same published values, row by row."""

from __future__ import annotations

import re

import pytest

import shoal
from shoal.engines.base import EngineSettings
from tests.conformance.test_methods import METHODS, MODELS, SCHEMA, table_of

pytestmark = pytest.mark.xdist_group("spark")

ON_SPARK = EngineSettings(name="spark")
# every model once, over methods in turn; k and p+ with all of them
PAIRS = [(method, model) for method in METHODS for model in ("k", "p+, alpha")]
PAIRS += [
    (list(METHODS)[number % len(METHODS)], model)
    for number, model in enumerate(MODELS)
    if model not in ("k", "p+, alpha")
]


@pytest.mark.parametrize(("method", "model"), PAIRS)
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
    assert theirs.certificate.to_json() == ours.certificate.to_json()
