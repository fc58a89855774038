"""Wrong answers of other Python tools that shoal must not give.

pycanon 1.3, anjana 1.2 and anonypy 0.2 were seen to do these things.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import shoal


def column(role, **known):
    return shoal.Column(shoal.Role(role), **known)


def frame():
    random = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "age": random.integers(20, 24, 80).astype(str),
            "city": random.choice(["A", "B"], 80),
            "illness": random.choice(["flu", "asthma", "cancer", "none"], 80, p=[0.6, 0.2, 0.1, 0.1]),
        }
    )


def effective(table, model):
    return shoal.check(table, [model], quasi_identifiers=["age", "city"], sensitive=["illness"]).models[0].effective


@pytest.mark.parametrize(
    "model", ["t-closeness t=0.1", "l-diversity l=2 kind=entropy", "k-anonymity k=2", "alpha-k alpha=0.5 k=2"]
)
def test_row_order_and_index_do_not_matter(model):
    """pycanon takes index labels for positions.

    The same table, sorted otherwise, has another t there.
    """
    table = frame()
    shuffled = table.sample(frac=1, random_state=1)
    by_value = table.sort_values("illness")
    assert effective(table, model) == effective(shuffled, model) == effective(by_value, model)


def test_entropy_l_is_not_truncated():
    """pycanon truncates exp(entropy) to an integer."""
    table = pd.DataFrame({"age": ["1"] * 4, "city": ["A"] * 4, "illness": ["a", "a", "a", "b"]})
    assert effective(table, "l-diversity l=1.5 kind=entropy")["l"] == pytest.approx(1.7547653506)


def test_recursive_diversity_is_as_defined():
    """r1 < c (r_l + ... + r_m), with counts in descending order.

    pycanon gets it wrong.
    """
    table = pd.DataFrame({"age": ["1"] * 8, "city": ["A"] * 8, "illness": list("aaaabbcd")})
    ask = {"quasi_identifiers": ["age", "city"], "sensitive": ["illness"]}
    assert not shoal.check(table, ["l-diversity l=3 kind=recursive c=2"], **ask).holds  # 4 < 2 (1 + 1) is false
    assert shoal.check(table, ["l-diversity l=3 kind=recursive c=2.1"], **ask).holds
    assert shoal.check(table, ["l-diversity l=2 kind=recursive c=1.1"], **ask).holds  # 4 < 1.1 (2 + 1 + 1)


def test_rows_with_missing_quasi_identifiers_count():
    """pycanon drops them; anonypy loses them from the release.

    pycanon reports k = 2 where k is 1.
    """
    table = pd.DataFrame({"age": ["1", "1", None], "city": ["A", "A", "A"], "illness": ["a", "b", "a"]})
    assert effective(table, "k-anonymity k=2") == {"k": 1}
    plan = shoal.Plan(
        shoal.schema.Schema(
            {"age": column("quasi-identifier"), "city": column("quasi-identifier"), "illness": column("sensitive")}
        ),
        (shoal.models.KAnonymity(3),),
        shoal.methods.Levels({"age": 1}),
    )
    assert len(shoal.anonymize(table, plan).table) == 3


def test_release_has_no_row_numbers():
    """anjana leaves a column of original row numbers in the release.

    The order of rows would disclose as much.
    """
    table = pd.DataFrame(
        {"age": [str(age) for age in (30, 21, 30, 21)], "illness": ["a", "b", "c", "d"]}, index=[7, 5, 3, 1]
    )
    plan = shoal.Plan(
        shoal.schema.Schema({"age": column("quasi-identifier"), "illness": column("sensitive")}),
        (shoal.models.KAnonymity(2),),
    )
    released = shoal.anonymize(table, plan).table
    assert list(released.columns) == ["age", "illness"]
    assert released.index.tolist() == [0, 1, 2, 3]
    assert released["illness"].tolist() == ["b", "d", "a", "c"]  # by content, not as in the source


def test_interval_includes_its_lower_end():
    """anjana puts 20 into [15, 20)."""
    ladder = shoal.schema.Widths((5,)).bind(["15", "19", "20"], missing=False)
    assert [ladder.labels[1][code] for code in ladder.codes[1]] == ["15..19", "15..19", "20..24"]


def test_t_closeness_is_enforced():
    """anonypy takes t and ignores it."""
    table = pd.DataFrame({"age": ["1", "1", "2", "2"], "illness": ["a", "a", "b", "b"]})
    schema = shoal.schema.Schema({"age": column("quasi-identifier"), "illness": column("sensitive")})
    models = (shoal.models.KAnonymity(2), shoal.models.TCloseness(0.1))
    with pytest.raises(shoal.errors.InfeasibleError, match="t-closeness"):
        shoal.anonymize(table, shoal.Plan(schema, models, shoal.methods.Levels({"age": 0})))
    assert shoal.anonymize(table, shoal.Plan(schema, models, shoal.methods.Levels({"age": 1}))).figures["groups"] == 1


def test_k_above_the_number_of_rows_is_an_error():
    """anonypy returns silently."""
    schema = shoal.schema.Schema({"age": column("quasi-identifier")})
    with pytest.raises(shoal.errors.InfeasibleError, match="k = 3"):
        shoal.anonymize(
            pd.DataFrame({"age": ["1", "2", "3"]}),
            shoal.Plan(schema, (shoal.models.KAnonymity(4),), shoal.methods.Levels({"age": 1})),
        )
