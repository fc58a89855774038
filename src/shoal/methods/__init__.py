"""How groups are found: one file per method."""

from __future__ import annotations

from shoal.methods.anti_unification import AntiUnification
from shoal.methods.base import Method, Problem, Progress, quiet
from shoal.methods.full_domain import FullDomain
from shoal.methods.grids import PopulationGrid, SampledGrid
from shoal.methods.levels import Levels

__all__ = [
    "METHODS",
    "AntiUnification",
    "FullDomain",
    "Levels",
    "Method",
    "PopulationGrid",
    "Problem",
    "Progress",
    "SampledGrid",
    "quiet",
]

METHODS: dict[str, type[Method]] = {
    method.name: method for method in (Levels, FullDomain, AntiUnification, PopulationGrid, SampledGrid)
}
