"""Statistical disclosure control for tables about people.

    import shoal
    release = shoal.anonymize(frame, quasi_identifiers=["age", "zip"], sensitive="illness", k=5)
    release.table, release.certificate, release.utility, release.risk

The public names are listed below and imported on first use, so that ``import shoal`` is fast. Public modules have the
rest: :mod:`shoal.models`, :mod:`shoal.methods`, :mod:`shoal.hierarchies`, :mod:`shoal.errors`, :mod:`shoal.budget`,
:mod:`shoal.sklearn`, :mod:`shoal.plugins` and :mod:`shoal.testing`.
"""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from shoal.advice.explain import Explanation, explain
    from shoal.advice.explore import Exploration, explore
    from shoal.advice.profile import Profile, profile
    from shoal.api.functions import Draft, anonymize, check, draft, release, spark_session
    from shoal.api.release import Release
    from shoal.audit.assess import RiskReport, assess
    from shoal.audit.attack import AttackReport, attack
    from shoal.audit.compare import Comparison, compare
    from shoal.audit.verify_release import ReleaseVerification, approve, verify
    from shoal.io.engines.base import EngineSettings as Engine
    from shoal.io.engines.base import Source
    from shoal.io.formats.csv_dialect import CsvFormat as CsvOptions
    from shoal.plan.plan import Output, Plan
    from shoal.plan.population import PopulationSource as Population
    from shoal.plan.review import Recipient, Review
    from shoal.results.certificate import Certificate
    from shoal.results.signatures import create_signing_key
    from shoal.schema import Column, Role
    from shoal.verification.check import CheckResult

__all__ = [
    "AttackReport",
    "Certificate",
    "CheckResult",
    "Column",
    "Comparison",
    "CsvOptions",
    "Draft",
    "Engine",
    "Explanation",
    "Exploration",
    "Output",
    "Plan",
    "Population",
    "Profile",
    "Recipient",
    "Release",
    "ReleaseVerification",
    "Review",
    "RiskReport",
    "Role",
    "Source",
    "__version__",
    "anonymize",
    "approve",
    "assess",
    "attack",
    "check",
    "compare",
    "create_signing_key",
    "draft",
    "explain",
    "explore",
    "profile",
    "release",
    "spark_session",
    "verify",
]

_HOMES = {
    "shoal.advice.explain": "Explanation explain",
    "shoal.advice.explore": "Exploration explore",
    "shoal.advice.profile": "Profile profile",
    "shoal.api.functions": "Draft anonymize check draft release spark_session",
    "shoal.api.release": "Release",
    "shoal.audit.assess": "RiskReport assess",
    "shoal.audit.attack": "AttackReport attack",
    "shoal.audit.compare": "Comparison compare",
    "shoal.audit.verify_release": "ReleaseVerification approve verify",
    "shoal.io.engines.base": "Engine=EngineSettings Source",
    "shoal.io.formats.csv_dialect": "CsvOptions=CsvFormat",
    "shoal.plan.plan": "Output Plan",
    "shoal.plan.population": "Population=PopulationSource",
    "shoal.plan.review": "Recipient Review",
    "shoal.results.certificate": "Certificate",
    "shoal.results.signatures": "create_signing_key",
    "shoal.schema": "Column Role",
    "shoal.verification.check": "CheckResult",
}
"""Modules of the public names, as ``public name=name in the module`` where these differ."""

_OBJECTS = {
    public: (module, name or public)
    for module, names in _HOMES.items()
    for public, _, name in (entry.partition("=") for entry in names.split())
}
_PUBLIC_MODULES = ("budget", "errors", "hierarchies", "methods", "models", "plugins", "sklearn", "testing")

_DEPRECATED_HOMES = {
    "shoal.api.compile": "compile_methods",
    "shoal.api.functions": "minimal_recodings",
    "shoal.budget": "Ledger Questions",
    "shoal.budget.methods": "PopulationGrid SampledGrid",
    "shoal.errors": (
        "HierarchyError InfeasibleError InputError OutputError PlanError ShoalError ShoalWarning TableError "
        "VerificationError"
    ),
    "shoal.hierarchies": "Categories cuts dates flat intervals levels_from ordered prefix tree",
    "shoal.methods": (
        "AntiUnification Auto Cbfs FactsSuppression FullDomain HiddenCells KFirst Levels LocalSuppression Mdav "
        "Mondrian PFirst Refine Switching TopDown Univariate VMdav"
    ),
    "shoal.methods.patterns.pattern_set": "pattern_set",
    "shoal.models": (
        "AlphaK BetaLikeness DeltaDisclosure KAnonymity KeySet Known LDiversity PAlphaSensitive PPlusAlphaSensitive "
        "PSensitive TCloseness TrajectoryAnonymity"
    ),
    "shoal.papers.run": "reproduce_papers",
    "shoal.plugins": "Schema",
    "shoal.schema": "Calendar Cuts Flat Intervals Ordered Prefix Table Tree Widths",
    "shoal.schema.builders": "drop identifier other person quasi sensitive",
}
"""Modules of the names that were public here before."""

_REPLACEMENTS = {
    "Attacks": "shoal.AttackReport",
    "RiskAssessment": "shoal.RiskReport",
    "learn": "shoal.sklearn",
    "session": "shoal.spark_session",
    "Calendar": "shoal.hierarchies.dates",
    "Cuts": "shoal.hierarchies.cuts",
    "Flat": "shoal.hierarchies.flat",
    "Intervals": "shoal.hierarchies.cuts",
    "Ordered": "shoal.hierarchies.ordered",
    "Prefix": "shoal.hierarchies.prefix",
    "Table": "shoal.hierarchies.levels_from",
    "Tree": "shoal.hierarchies.tree",
    "Widths": "shoal.hierarchies.intervals",
    **dict.fromkeys(("drop", "identifier", "other", "person", "quasi", "sensitive"), "shoal.Column"),
}
_DEPRECATED_OBJECTS = {
    name: (module, name) for module, names in _DEPRECATED_HOMES.items() for name in names.split()
} | {
    "Attacks": ("shoal.audit.attack", "AttackReport"),
    "RiskAssessment": ("shoal.audit.assess", "RiskReport"),
    "session": ("shoal.api.functions", "spark_session"),
}
_DEPRECATED = {name: ".".join(found) for name, found in _DEPRECATED_OBJECTS.items()} | _REPLACEMENTS
"""Names that were public here before, and what to use instead."""


def __getattr__(name: str) -> Any:
    if name in _DEPRECATED:
        warnings.warn(f"shoal.{name} is deprecated; use {_DEPRECATED[name]}.", DeprecationWarning, stacklevel=2)
        if name == "learn":
            return importlib.import_module("shoal.sklearn")
        module, own = _DEPRECATED_OBJECTS[name]
        return getattr(importlib.import_module(module), own)
    if name in _PUBLIC_MODULES or name == "schema":
        return importlib.import_module(f"shoal.{name}")
    if name not in _OBJECTS:
        raise AttributeError(f"module 'shoal' has no attribute {name!r}")
    module, own = _OBJECTS[name]
    value = getattr(importlib.import_module(module), own)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_PUBLIC_MODULES})
