"""Branches on what is counted and known: their number, and a further view."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
from tools import branches

import shoal
from shoal.models import KAnonymity, Model
from shoal.models.views import CodedTable, Examined
from shoal.schema import Column, Role, Schema

MAX_BRANCHES = 93
"""Branches outside the modules that define views; it only falls."""


def test_branches_do_not_grow():
    assert len(branches.count_branches()) <= MAX_BRANCHES, "run: python tools/branches.py --list"


def test_every_kind_of_branch_is_counted():
    text = """
if isinstance(part, PartialKnowledge | str) or schema.person:
    pass
found = scenario_models(model) if wildcard is None else isinstance(part, str)
"""
    assert [branch.kind for branch in branches.branches_in(text, "file")].count("condition") == 2
    assert {branch.kind for branch in branches.branches_in(text, "file")} == {
        "condition",
        "class of a model",
        "search for models",
    }


@dataclass(frozen=True)
class EveryColumn(Model):
    """A further view: the rows with the same label in each single column."""

    k: int
    name: ClassVar[str] = "every-column"
    binds_all_columns: ClassVar[bool] = False
    by_size: ClassVar[bool] = True

    @property
    def least(self) -> int:
        return self.k

    def positions(self, columns: Sequence[str], quasi: Sequence[str]) -> Iterable[tuple[int, ...]]:
        return [(j,) for j in range(len(quasi))]

    def applies(self, known: Iterable[str]) -> bool:
        return True

    def assess_known(self, groups, known):
        return KAnonymity(self.k).assess(groups)

    def assess(self, groups):
        return KAnonymity(self.k).assess(groups)

    def examine(self, table: CodedTable) -> Examined:
        frequencies = table.frequencies
        failing, smallest = np.zeros(len(frequencies.count), np.bool_), frequencies.rows
        for codes in frequencies.codes.T:
            size = np.bincount(codes, frequencies.count)
            failing |= size[codes] < self.k
            smallest = min(smallest, int(size[codes].min()))
        return Examined(not failing.any(), {"k": smallest}, failing)


def test_a_further_view_is_one_class():
    table = pa.table({"a": ["1", "1", "2", "2", "3", "3"], "b": ["x", "x", "x", "y", "y", "z"]})
    schema = Schema({name: Column(Role.QUASI_IDENTIFIER) for name in ("a", "b")})
    plan = shoal.Plan(schema, (EveryColumn(2),), shoal.methods.FullDomain())
    assert shoal.check(table, (EveryColumn(2),), quasi_identifiers=["a", "b"]).failing_rows == 1
    release = shoal.anonymize(table, plan)
    assert release.figures["levels"] == {"a": 0, "b": 1}
    assert release.figures["models"][0]["judged_by"] == "the model alone"
