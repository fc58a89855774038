"""Programs that type checkers accept and refuse."""

from __future__ import annotations

GOOD = """
import pandas as pd
import shoal
from shoal import Column, Plan, Release, Role
from shoal.hierarchies import intervals, prefix
from shoal.methods import Mondrian
from shoal.models import KAnonymity

plan: Plan = Plan(
    columns={"age": intervals(5, 10), "zip": prefix(), "name": "identifier", "sex": "quasi-identifier",
             "illness": Column(Role.SENSITIVE, order=("a", "b"))},
    models=[KAnonymity(5)],
    method=Mondrian(),
)
other: Plan = plan.with_(k=10, method="full-domain", models="k-anonymity k=3")
text: str = plan.to_toml()
asked: pd.DataFrame = pd.DataFrame()
release: Release[pd.DataFrame] = shoal.anonymize(asked, quasi_identifiers="age", sensitive=["i"], k=5, method=Mondrian)
held: bool = shoal.check("t.csv", "k-anonymity k=5", quasi_identifiers="age").holds
loss: float = shoal.compare("a.csv", "b.csv", plan).propensity.ratio
rows: list[int] = shoal.anonymize([1], k=5).table
"""
BAD = """
from shoal import Column, Plan, anonymize
from shoal.hierarchies import intervals
Plan(columns={"age": 3}, models="k-anonymity k=5")
Column("age")
intervals("5")
anonymize(None, quasi_identifier="age")
anonymize(None, k="5")
wrong: str = anonymize([1], k=5).table
"""
