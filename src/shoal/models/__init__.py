"""Privacy models: one module per family."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, overload

from shoal.errors import PlanError
from shoal.models.alpha_k_delta_beta import AlphaK, BetaLikeness, DeltaDisclosure
from shoal.models.base import AllOf, Assessment, Condition, Model
from shoal.models.k_anonymity import KAnonymity
from shoal.models.l_diversity import LDiversity
from shoal.models.p_sensitive import PAlphaSensitive, PPlusAlphaSensitive, PSensitive, single_category_groups
from shoal.models.partial_knowledge import KnowsColumns, LooselyKnown, PartialKnowledge, partial_knowledge_models
from shoal.models.population import DeltaPresence, KMap
from shoal.models.risk import Risk
from shoal.models.scenarios import (
    InScenario,
    KeySet,
    Known,
    Scenario,
    bind_known,
    scenario_models,
    without_scenarios,
)
from shoal.models.t_closeness import TCloseness
from shoal.models.trajectory import TrajectoryAnonymity
from shoal.runtime.registry import Registry

__all__ = [
    "MODELS",
    "AllOf",
    "AlphaK",
    "Assessment",
    "BetaLikeness",
    "Condition",
    "DeltaDisclosure",
    "DeltaPresence",
    "InScenario",
    "KAnonymity",
    "KMap",
    "KeySet",
    "Known",
    "KnowsColumns",
    "LDiversity",
    "LooselyKnown",
    "Model",
    "PAlphaSensitive",
    "PPlusAlphaSensitive",
    "PSensitive",
    "PartialKnowledge",
    "Risk",
    "Scenario",
    "TCloseness",
    "TrajectoryAnonymity",
    "bind_known",
    "combine",
    "initial_models",
    "make_model",
    "partial_knowledge_models",
    "scenario_models",
    "single_category_groups",
    "size_of_groups",
    "without_scenarios",
]

BUILT_IN_MODELS: dict[str, type[Model]] = {
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
        TrajectoryAnonymity,
        Risk,
        KMap,
        DeltaPresence,
    )
}
MODELS: Mapping[str, type[Model]] = Registry(BUILT_IN_MODELS, "shoal.models", Model)
"""Models by name: those of shoal, and those of installed packages."""


def make_model(name: str, **parameters: Any) -> Model:
    """Build the model of a name in :data:`MODELS`."""
    return MODELS[name](**parameters)


def combine(models: Iterable[Model]) -> AllOf:
    """Combine models into one; raise if they contradict each other.

    An example of a contradiction is p larger than k.
    """
    parts = tuple(part for model in models for part in model.parts)
    if not parts:
        raise PlanError("models.none")
    k = size_of_groups(parts, default=None)
    for part in parts:
        if part.of_table and not part.binds_all_columns:
            raise PlanError("models.table-of-some-columns", model=part.name)
        if part.needs_population and not part.binds_all_columns:
            raise PlanError("population.all-columns-only", model=part.name)
        p = getattr(part, "p", None)
        if k is not None and p is not None and p > k:
            raise PlanError("models.p-above-k", p=p, k=k)
    return AllOf(parts)


@overload
def size_of_groups(models: Iterable[Model], default: int) -> int: ...
@overload
def size_of_groups(models: Iterable[Model], default: None) -> int | None: ...
def size_of_groups(models: Iterable[Model], default: int | None) -> int | None:
    """Return the group size that models on sizes alone require.

    ``default`` is returned if there is no such model.
    """
    return max((part.least for model in models for part in model.parts if part.sizes_only), default=default)


def initial_models(model: Model) -> AllOf:
    """Return the models that the first groups of a switching method meet.

    These are k-anonymity, and p-sensitivity if a model is about distinct values or categories.

    >>> initial_models(combine((KAnonymity(4), PPlusAlphaSensitive(2, 2)))).parts
    (KAnonymity(k=4), PSensitive(p=2, column=None))
    """
    parts = [part.start for part in model.parts if part.start is not None]
    return combine(parts or [KAnonymity(2)])
