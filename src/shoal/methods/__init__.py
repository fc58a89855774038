"""How groups are found: one file per method."""

from __future__ import annotations

from collections.abc import Mapping

from shoal.extensions import Extended
from shoal.methods.anti_unification import AntiUnification
from shoal.methods.auto import Auto
from shoal.methods.base import Method, Problem, Progress, quiet
from shoal.methods.facts_suppression import FactsSuppression
from shoal.methods.full_domain import FullDomain
from shoal.methods.grids import PopulationGrid, SampledGrid
from shoal.methods.hidden_cells import HiddenCells
from shoal.methods.levels import Levels
from shoal.methods.local_suppression import LocalSuppression
from shoal.methods.microaggregation import Cbfs, KFirst, Mdav, PFirst, Univariate, VMdav
from shoal.methods.mondrian import Mondrian
from shoal.methods.refine import Refine
from shoal.methods.switching import Switching
from shoal.methods.top_down import TopDown

__all__ = [
    "METHODS",
    "AntiUnification",
    "Auto",
    "Cbfs",
    "FactsSuppression",
    "FullDomain",
    "HiddenCells",
    "KFirst",
    "Levels",
    "LocalSuppression",
    "Mdav",
    "Method",
    "Mondrian",
    "PFirst",
    "PopulationGrid",
    "Problem",
    "Progress",
    "Refine",
    "SampledGrid",
    "Switching",
    "TopDown",
    "Univariate",
    "VMdav",
    "quiet",
]

OWN: dict[str, type[Method]] = {
    method.name: method
    for method in (
        Levels,
        FullDomain,
        TopDown,
        Mondrian,
        Switching,
        LocalSuppression,
        HiddenCells,
        FactsSuppression,
        Refine,
        AntiUnification,
        PopulationGrid,
        SampledGrid,
        Mdav,
        Cbfs,
        VMdav,
        KFirst,
        PFirst,
        Univariate,
        Auto,
    )
}
METHODS: Mapping[str, type[Method]] = Extended(OWN, "shoal.methods", Method)
"""Methods by name: shoal's own, and those of installed packages."""
