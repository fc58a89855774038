"""What an intruder gains from a table: risks in figures, and attacks that run.

assess       prosecutor, journalist and marketer risk; uniqueness; individual risk; special uniques
attack       linkage, homogeneity, similarity, inference, background knowledge, distance, minimality, audits

The names below are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.risk.assessment import RiskAssessment, assess
    from shoal.risk.attacks import AttackResult
    from shoal.risk.attacks_all import Attacks, attack

__all__ = ["AttackResult", "Attacks", "RiskAssessment", "assess", "attack"]

_HOMES = {
    "AttackResult": "attacks",
    "Attacks": "attacks_all",
    "RiskAssessment": "assessment",
    "assess": "assessment",
    "attack": "attacks_all",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
