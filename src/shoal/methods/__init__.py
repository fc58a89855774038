"""Methods that form groups, one package per family.

Each package holds the method, its search and its kernels.
"""

from __future__ import annotations

from collections.abc import Mapping

from shoal.methods.auto import Auto
from shoal.methods.base import Method, Problem
from shoal.methods.full_domain.levels import Levels
from shoal.methods.full_domain.method import FullDomain
from shoal.methods.local.hidden_cells import HiddenCells
from shoal.methods.local.mondrian import Mondrian
from shoal.methods.local.refine import Refine
from shoal.methods.local.row_suppression import FactsSuppression
from shoal.methods.local.suppression import LocalSuppression
from shoal.methods.local.switching import Switching
from shoal.methods.local.top_down import TopDown
from shoal.methods.microaggregation.method import Cbfs, KFirst, Mdav, PFirst, Univariate, VMdav
from shoal.methods.patterns.anti_unification import AntiUnification
from shoal.runtime.registry import Registry

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
    "Problem",
    "Refine",
    "Switching",
    "TopDown",
    "Univariate",
    "VMdav",
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
        Mdav,
        Cbfs,
        VMdav,
        KFirst,
        PFirst,
        Univariate,
        Auto,
    )
}
METHODS: Mapping[str, type[Method]] = Registry(OWN, "shoal.methods", Method)
"""Methods by name: those of shoal and those of installed packages."""
