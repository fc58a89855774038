"""Differential identifiability: budgets, noisy answers and grid releases.

The guarantees hold against an intruder who knows every row but one.

arithmetic     ρ, E, δ and k as exact fractions
sampling       random bits and exact Bernoulli draws
mechanisms     integer noise for counts, sums, means, histograms and private selection
guarantee      the guarantee of a release or an answer, in numbers and in plain words
grids          population and sampled releases on a public grid
ledger         the ledger of a data set: budget spent and budget left
noisy_queries  answers with noise, booked in the ledger before they are computed
questions      queries to a table, computed by the engine
universe       the declared counts of a population

The names below are imported on first use. A process that only books in the ledger loads the standard library and
nothing else.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.budget.guarantee import (
        Guarantee,
        population_guarantee,
        query_guarantee,
        sampled_guarantee,
    )
    from shoal.budget.hash_chain import Entry
    from shoal.budget.ledger import Booking, Ledger, Status
    from shoal.budget.mechanisms import Span
    from shoal.budget.noisy_queries import (
        Answer,
        ask_best_of,
        ask_count,
        ask_histogram,
        ask_mean,
        ask_sum,
    )
    from shoal.budget.questions import Questions
    from shoal.budget.sampling import SystemSource

__all__ = [
    "Answer",
    "Booking",
    "Entry",
    "Guarantee",
    "Ledger",
    "Questions",
    "Span",
    "Status",
    "SystemSource",
    "ask_best_of",
    "ask_count",
    "ask_histogram",
    "ask_mean",
    "ask_sum",
    "population_guarantee",
    "query_guarantee",
    "sampled_guarantee",
]

_HOMES = {
    "guarantee": ("Guarantee", "population_guarantee", "query_guarantee", "sampled_guarantee"),
    "ledger": ("Booking", "Entry", "Ledger", "Status"),
    "mechanisms": ("Span",),
    "noisy_queries": ("Answer", "ask_best_of", "ask_count", "ask_histogram", "ask_mean", "ask_sum"),
    "sampling": ("SystemSource",),
    "questions": ("Questions",),
}


def __getattr__(name: str) -> object:
    if name == "methods":
        return import_module(f"{__name__}.methods")
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
