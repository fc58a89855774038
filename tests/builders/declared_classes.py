"""Smallest arguments of every class that users give to shoal."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa

import shoal
from shoal.budget import Ledger, Questions, Span
from shoal.io.engines.base import EngineSettings, Source
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.methods import METHODS
from shoal.models import KnowsColumns
from shoal.models.scenarios import InScenario, Knowledge, Scenario
from shoal.plan.plan import Output, Plan
from shoal.plan.population import PopulationSource
from shoal.schema import (
    Calendar,
    Categories,
    Column,
    Cuts,
    Flat,
    Intervals,
    Ordered,
    Prefix,
    Role,
    Schema,
    Shift,
    Table,
    Tree,
    Widths,
)

TINY = pa.table({
    "a": ["1", "2", "1", "2", "3", "3", "1", "2"],
    "b": ["x", "x", "x", "y", "y", "y", "x", "y"],
    "s": ["p", "q", "p", "q", "r", "p", "q", "r"],
})  # fmt: skip

VALIDATED: dict[type, dict[str, Any]] = {
    Column: {"role": "quasi-identifier"},
    Shift: {"days": 5},
    Categories: {"classes": (("a",), ("b",))},
    Schema: {"columns": {"a": Column(Role.QUASI_IDENTIFIER)}},
    Flat: {},
    Table: {"rows": (("a", "x"), ("b", "x"))},
    Tree: {"tree": {"x": ["a", "b"]}},
    Prefix: {},
    Ordered: {"fanout": (2,)},
    Widths: {"widths": (5,)},
    Cuts: {"levels": ((5,),)},
    Intervals: {"levels": (((0, 5),),)},
    Calendar: {},
    Plan: {"schema": Schema({"a": Column(Role.QUASI_IDENTIFIER)}), "models": (shoal.models.KAnonymity(2),)},
    Output: {"path": "r.csv"},
    Source: {},
    CsvFormat: {},
    shoal.Recipient: {"kind": "public"},
    shoal.Review: {"status": "draft"},
    EngineSettings: {},
    Span: {"lower": Fraction(0), "upper": Fraction(1), "step": Fraction(1)},
    Ledger: {"path": "a.ledger"},
    Questions: {"data": TINY, "ledger": Ledger(Path("a.ledger"))},
    shoal.models.KAnonymity: {"k": 2},
    shoal.models.PSensitive: {"p": 2},
    shoal.models.PAlphaSensitive: {"p": 2, "alpha": 1},
    shoal.models.PPlusAlphaSensitive: {"p": 2, "alpha": 1},
    shoal.models.LDiversity: {"l": 2},
    shoal.models.TCloseness: {"t": 0.5},
    shoal.models.AlphaK: {"alpha": 0.5, "k": 2},
    shoal.models.DeltaDisclosure: {"delta": 1},
    shoal.models.BetaLikeness: {"beta": 1},
    shoal.models.TrajectoryAnonymity: {"k": 2},
    shoal.models.Risk: {"highest": "1/5"},
    shoal.models.KMap: {"k": 2},
    shoal.models.DeltaPresence: {"at_most": "1/2"},
    PopulationSource: {"path": Path("people.csv")},
    shoal.models.Known: {"of": shoal.models.KAnonymity(2), "known": 1},
    shoal.models.LooselyKnown: {"of": shoal.models.KAnonymity(2), "known": 1},
    KnowsColumns: {"of": shoal.models.KAnonymity(2), "columns": ("a",)},
    shoal.models.KeySet: {"columns": ("a",), "k": 2},
    Scenario: {"name": "neighbour", "columns": ("a",)},
    InScenario: {"of": shoal.models.KAnonymity(2), "knowledge": Knowledge("neighbour", ("a",))},
    shoal.budget.methods.PopulationGrid: {"k": 2, "ledger": "a.ledger", "levels": {"a": 1}, "universe": 1000},
    shoal.budget.methods.SampledGrid: {"k": 2, "ledger": "a.ledger", "levels": {"a": 1}, "beta": "1/4", "bound": 2},
}
VALIDATED |= {method: {} for method in METHODS.values() if method not in VALIDATED}
