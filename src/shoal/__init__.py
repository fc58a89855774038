"""shoal: tables about people, made fit to publish.

    import shoal
    release = shoal.anonymize(frame, "plan.toml")
    release.table, release.certificate, release.utility, release.risk

The public names are listed below and loaded when they are first used, so that ``import shoal`` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from shoal.certificate import Certificate, Release
    from shoal.errors import (
        HierarchyError,
        InfeasibleError,
        InputError,
        OutputError,
        PlanError,
        ShoalError,
        TableError,
        VerificationError,
    )
    from shoal.methods import (
        AntiUnification,
        Auto,
        Cbfs,
        FullDomain,
        KFirst,
        Levels,
        LocalSuppression,
        Mdav,
        Mondrian,
        PFirst,
        PopulationGrid,
        Refine,
        SampledGrid,
        Switching,
        TopDown,
        Univariate,
        VMdav,
    )
    from shoal.methods.pattern_set import pattern_set
    from shoal.models import (
        AlphaK,
        BetaLikeness,
        DeltaDisclosure,
        KAnonymity,
        LDiversity,
        PAlphaSensitive,
        PPlusAlphaSensitive,
        PSensitive,
        TCloseness,
    )
    from shoal.pipeline import anonymize, check, minimal_recodings, release
    from shoal.plan import Plan
    from shoal.risk import assess, attack
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
        Table,
        Tree,
        Widths,
    )
    from shoal.utility import compare
    from shoal.verify import CheckResult

__all__ = [
    "AlphaK",
    "AntiUnification",
    "Auto",
    "BetaLikeness",
    "Calendar",
    "Categories",
    "Cbfs",
    "Certificate",
    "CheckResult",
    "Column",
    "Cuts",
    "DeltaDisclosure",
    "Flat",
    "FullDomain",
    "HierarchyError",
    "InfeasibleError",
    "InputError",
    "Intervals",
    "KAnonymity",
    "KFirst",
    "LDiversity",
    "Levels",
    "LocalSuppression",
    "Mdav",
    "Mondrian",
    "Ordered",
    "OutputError",
    "PAlphaSensitive",
    "PFirst",
    "PPlusAlphaSensitive",
    "PSensitive",
    "Plan",
    "PlanError",
    "PopulationGrid",
    "Prefix",
    "Refine",
    "Release",
    "Role",
    "SampledGrid",
    "Schema",
    "ShoalError",
    "Switching",
    "TCloseness",
    "Table",
    "TableError",
    "TopDown",
    "Tree",
    "Univariate",
    "VMdav",
    "VerificationError",
    "Widths",
    "__version__",
    "anonymize",
    "assess",
    "attack",
    "check",
    "compare",
    "minimal_recodings",
    "pattern_set",
    "release",
]

_HOMES = {
    "shoal.errors": (
        "HierarchyError InfeasibleError InputError OutputError PlanError ShoalError TableError VerificationError"
    ),
    "shoal.methods": (
        "AntiUnification Auto Cbfs FullDomain KFirst Levels LocalSuppression Mdav Mondrian PFirst PopulationGrid "
        "Refine SampledGrid Switching TopDown Univariate VMdav"
    ),
    "shoal.methods.pattern_set": "pattern_set",
    "shoal.models": (
        "AlphaK BetaLikeness DeltaDisclosure KAnonymity LDiversity PAlphaSensitive PPlusAlphaSensitive PSensitive "
        "TCloseness"
    ),
    "shoal.pipeline": "anonymize check minimal_recodings release",
    "shoal.plan": "Plan",
    "shoal.certificate": "Certificate Release",
    "shoal.risk": "assess attack",
    "shoal.schema": "Calendar Categories Column Cuts Flat Intervals Ordered Prefix Role Schema Table Tree Widths",
    "shoal.utility": "compare",
    "shoal.verify": "CheckResult",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'shoal' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
