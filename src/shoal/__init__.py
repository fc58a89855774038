"""shoal: tables about people, made fit to publish.

    import shoal
    release = shoal.anonymize(frame, quasi_identifiers=["age", "zip"], sensitive="illness", k=5)
    release.table, release.certificate, release.utility, release.risk

The public names are listed below and loaded when they are first used, so that ``import shoal`` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from shoal.assessing import RiskAssessment, assess
    from shoal.attacking import Attacks, attack
    from shoal.certificate import Certificate, Release
    from shoal.checking import CheckResult
    from shoal.comparing import Comparison, compare
    from shoal.compilation import compile_methods
    from shoal.errors import (
        HierarchyError,
        InfeasibleError,
        InputError,
        OutputError,
        PlanError,
        ShoalError,
        ShoalWarning,
        TableError,
        VerificationError,
    )
    from shoal.explanation import explain
    from shoal.exploration import Exploration, explore
    from shoal.functions import Draft, anonymize, check, draft, minimal_recodings, release, session
    from shoal.identifiability import Ledger
    from shoal.identifiability.tables import Questions
    from shoal.methods import (
        AntiUnification,
        Auto,
        Cbfs,
        FactsSuppression,
        FullDomain,
        HiddenCells,
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
    from shoal.methods.patterns.pattern_set import pattern_set
    from shoal.models import (
        AlphaK,
        BetaLikeness,
        DeltaDisclosure,
        KAnonymity,
        KeySet,
        Known,
        LDiversity,
        PAlphaSensitive,
        PPlusAlphaSensitive,
        PSensitive,
        TCloseness,
        TrajectoryAnonymity,
    )
    from shoal.plan import Output, Plan
    from shoal.profiling import Profile, profile
    from shoal.reproduce.run import reproduce_papers
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
    from shoal.schema.words import (
        cuts,
        dates,
        drop,
        flat,
        identifier,
        intervals,
        levels_from,
        ordered,
        other,
        person,
        prefix,
        quasi,
        sensitive,
        tree,
    )

__all__ = [
    "AlphaK",
    "AntiUnification",
    "Attacks",
    "Auto",
    "BetaLikeness",
    "Calendar",
    "Categories",
    "Cbfs",
    "Certificate",
    "CheckResult",
    "Column",
    "Comparison",
    "Cuts",
    "DeltaDisclosure",
    "Draft",
    "Exploration",
    "FactsSuppression",
    "Flat",
    "FullDomain",
    "HiddenCells",
    "HierarchyError",
    "InfeasibleError",
    "InputError",
    "Intervals",
    "KAnonymity",
    "KFirst",
    "KeySet",
    "Known",
    "LDiversity",
    "Ledger",
    "Levels",
    "LocalSuppression",
    "Mdav",
    "Mondrian",
    "Ordered",
    "Output",
    "OutputError",
    "PAlphaSensitive",
    "PFirst",
    "PPlusAlphaSensitive",
    "PSensitive",
    "Plan",
    "PlanError",
    "PopulationGrid",
    "Prefix",
    "Profile",
    "Questions",
    "Refine",
    "Release",
    "RiskAssessment",
    "Role",
    "SampledGrid",
    "Schema",
    "ShoalError",
    "ShoalWarning",
    "Switching",
    "TCloseness",
    "Table",
    "TableError",
    "TopDown",
    "TrajectoryAnonymity",
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
    "compile_methods",
    "cuts",
    "dates",
    "draft",
    "drop",
    "explain",
    "explore",
    "flat",
    "identifier",
    "intervals",
    "levels_from",
    "minimal_recodings",
    "ordered",
    "other",
    "pattern_set",
    "person",
    "prefix",
    "profile",
    "quasi",
    "release",
    "reproduce_papers",
    "sensitive",
    "session",
    "tree",
]

_HOMES = {
    "shoal.errors": (
        "HierarchyError InfeasibleError InputError OutputError PlanError ShoalError ShoalWarning TableError "
        "VerificationError"
    ),
    "shoal.methods": (
        "AntiUnification Auto Cbfs FactsSuppression FullDomain HiddenCells KFirst Levels LocalSuppression Mdav "
        "Mondrian PFirst PopulationGrid Refine SampledGrid Switching TopDown Univariate VMdav"
    ),
    "shoal.methods.patterns.pattern_set": "pattern_set",
    "shoal.models": (
        "AlphaK BetaLikeness DeltaDisclosure KAnonymity KeySet Known LDiversity PAlphaSensitive PPlusAlphaSensitive "
        "PSensitive TCloseness TrajectoryAnonymity"
    ),
    "shoal.compilation": "compile_methods",
    "shoal.assessing": "RiskAssessment assess",
    "shoal.attacking": "Attacks attack",
    "shoal.comparing": "Comparison compare",
    "shoal.explanation": "explain",
    "shoal.exploration": "Exploration explore",
    "shoal.functions": "Draft anonymize check draft minimal_recodings release session",
    "shoal.identifiability": "Ledger",
    "shoal.identifiability.tables": "Questions",
    "shoal.plan": "Output Plan",
    "shoal.profiling": "Profile profile",
    "shoal.reproduce.run": "reproduce_papers",
    "shoal.certificate": "Certificate Release",
    "shoal.schema": "Calendar Categories Column Cuts Flat Intervals Ordered Prefix Role Schema Table Tree Widths",
    "shoal.schema.words": (
        "cuts dates drop flat identifier intervals levels_from ordered other person prefix quasi sensitive tree"
    ),
    "shoal.checking": "CheckResult",
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
