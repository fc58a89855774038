"""Statistical disclosure control for tables about people.

    import shoal
    release = shoal.anonymize(frame, quasi_identifiers=["age", "zip"], sensitive="illness", k=5)
    release.table, release.certificate, release.utility, release.risk

The public names are listed below and imported on first use, so that ``import shoal`` is fast.
"""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from shoal.advice.explain import explain
    from shoal.advice.explore import Exploration, explore
    from shoal.advice.profile import Profile, profile
    from shoal.api.compile import compile_methods
    from shoal.api.functions import Draft, anonymize, check, draft, minimal_recodings, release, session
    from shoal.api.release import Release
    from shoal.audit.assess import RiskAssessment, assess
    from shoal.audit.attack import Attacks, attack
    from shoal.audit.compare import Comparison, compare
    from shoal.audit.verify_release import ReleaseVerification, approve, verify
    from shoal.budget import Ledger
    from shoal.budget.methods.grids import PopulationGrid, SampledGrid
    from shoal.budget.questions import Questions
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
        Refine,
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
    from shoal.papers.run import reproduce_papers
    from shoal.plan.plan import Output, Plan
    from shoal.results.certificate import Certificate
    from shoal.results.signatures import create_signing_key
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
    from shoal.schema.builders import (
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
    from shoal.verification.check import CheckResult

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
    "ReleaseVerification",
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
    "approve",
    "assess",
    "attack",
    "check",
    "compare",
    "compile_methods",
    "create_signing_key",
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
    "verify",
]

_HOMES = {
    "shoal.errors": (
        "HierarchyError InfeasibleError InputError OutputError PlanError ShoalError ShoalWarning TableError "
        "VerificationError"
    ),
    "shoal.methods": (
        "AntiUnification Auto Cbfs FactsSuppression FullDomain HiddenCells KFirst Levels LocalSuppression Mdav "
        "Mondrian PFirst Refine Switching TopDown Univariate VMdav"
    ),
    "shoal.methods.patterns.pattern_set": "pattern_set",
    "shoal.models": (
        "AlphaK BetaLikeness DeltaDisclosure KAnonymity KeySet Known LDiversity PAlphaSensitive PPlusAlphaSensitive "
        "PSensitive TCloseness TrajectoryAnonymity"
    ),
    "shoal.api.compile": "compile_methods",
    "shoal.audit.assess": "RiskAssessment assess",
    "shoal.audit.attack": "Attacks attack",
    "shoal.audit.compare": "Comparison compare",
    "shoal.audit.verify_release": "ReleaseVerification approve verify",
    "shoal.results.signatures": "create_signing_key",
    "shoal.advice.explain": "explain",
    "shoal.advice.explore": "Exploration explore",
    "shoal.api.functions": "Draft anonymize check draft minimal_recodings release session",
    "shoal.budget": "Ledger Questions",
    "shoal.budget.methods": "PopulationGrid SampledGrid",
    "shoal.plan.plan": "Output Plan",
    "shoal.advice.profile": "Profile profile",
    "shoal.papers.run": "reproduce_papers",
    "shoal.api.release": "Release",
    "shoal.results.certificate": "Certificate",
    "shoal.schema": "Calendar Categories Column Cuts Flat Intervals Ordered Prefix Role Schema Table Tree Widths",
    "shoal.schema.builders": "drop identifier other person quasi sensitive",
    "shoal.hierarchies": "cuts dates flat intervals levels_from ordered prefix tree",
    "shoal.verification.check": "CheckResult",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}
_PUBLIC_MODULES = ("budget", "errors", "hierarchies", "methods", "models", "plugins", "schema", "sklearn", "testing")
_MOVED = ("shoal.budget", "shoal.budget.methods", "shoal.hierarchies", "shoal.methods", "shoal.models")
_DEPRECATED = {name: f"{module}.{name}" for module in _MOVED for name in _HOMES[module].split()} | {
    "pattern_set": "shoal.methods.patterns.pattern_set.pattern_set",
    "Calendar": "shoal.hierarchies.dates",
    "Cuts": "shoal.hierarchies.cuts",
    "Flat": "shoal.hierarchies.flat",
    "Intervals": "shoal.hierarchies.cuts",
    "Ordered": "shoal.hierarchies.ordered",
    "Prefix": "shoal.hierarchies.prefix",
    "Table": "shoal.hierarchies.levels_from",
    "Tree": "shoal.hierarchies.tree",
    "Widths": "shoal.hierarchies.intervals",
    "learn": "shoal.sklearn",
}


def __getattr__(name: str) -> Any:
    if name in _DEPRECATED:
        warnings.warn(f"shoal.{name} is deprecated; use {_DEPRECATED[name]}.", DeprecationWarning, stacklevel=2)
        if name == "learn":
            return importlib.import_module("shoal.sklearn")
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    if name in _PUBLIC_MODULES:
        return importlib.import_module(f"shoal.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'shoal' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_PUBLIC_MODULES})
