"""What a safe group is: one file per family of models."""

from __future__ import annotations

from collections.abc import Iterable

from shoal.errors import PlanError
from shoal.models.base import AllOf, Assessment, Condition, Model
from shoal.models.disclosure import AlphaK, BetaLikeness, DeltaDisclosure
from shoal.models.k_anonymity import KAnonymity
from shoal.models.l_diversity import LDiversity
from shoal.models.sensitivity import PAlphaSensitive, PPlusAlphaSensitive, PSensitive
from shoal.models.t_closeness import TCloseness

__all__ = [
    "MODELS",
    "AllOf",
    "AlphaK",
    "Assessment",
    "BetaLikeness",
    "Condition",
    "DeltaDisclosure",
    "KAnonymity",
    "LDiversity",
    "Model",
    "PAlphaSensitive",
    "PPlusAlphaSensitive",
    "PSensitive",
    "TCloseness",
    "combine",
]

MODELS: dict[str, type[Model]] = {
    model.name: model
    for model in (
        KAnonymity,
        PSensitive,
        PAlphaSensitive,
        PPlusAlphaSensitive,
        LDiversity,
        TCloseness,
        AlphaK,
        DeltaDisclosure,
        BetaLikeness,
    )
}


def combine(models: Iterable[Model]) -> AllOf:
    """All models at once; raises where they contradict each other (p larger than k)."""
    parts = tuple(part for model in models for part in model.parts)
    if not parts:
        raise PlanError("At least one model is needed, for example k-anonymity with k = 5.")
    k = max((part.k for part in parts if isinstance(part, KAnonymity)), default=None)
    for part in parts:
        p = getattr(part, "p", None)
        if k is not None and p is not None and p > k:
            raise PlanError(
                f"p must be at most k, for a group of k rows holds at most k values; found p = {p} and k = {k}. "
                f"Raise k or lower p."
            )
    return AllOf(parts)
