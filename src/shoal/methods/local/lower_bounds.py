"""How far a local recoding can be from the best one of its kind; see :mod:`shoal.bounds.recodings`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from shoal.bounds.bound import Bound, least_geometric, rounded_down
from shoal.methods.base import Method, Problem
from shoal.models import limited
from shoal.schema import Ladder
from shoal.table import Recoding

__all__ = ["all_levels", "bound_cells", "bound_recoding", "effort_of", "levels_between"]

Levels = Sequence[Sequence[int]]
EFFORT = {"good": 4, "best": 20}
"""How many times the usual work a bound takes, by the quality of the method, which takes longer too."""


def effort_of(method: Method, usual: int = 1) -> int:
    """The effort for the bound of a method: no more than the usual one, or 1, where its time is limited."""
    quality = getattr(method, "quality", None)
    if quality not in EFFORT:
        return usual
    return 1 if getattr(method, "time_limit", None) is not None else EFFORT[quality]


def bound_recoding(
    problem: Problem,
    recoding: Recoding,
    loss: str,
    weights: Mapping[str, float],
    shown: Sequence[str] | None = None,
    ranks: Sequence[npt.NDArray[np.int32] | None] | None = None,
    *,
    whole: bool = True,
    effort: int = 1,
    levels: Levels | None = None,
) -> Bound | None:
    """What a recoding loses and what any must; ``shown`` and ``ranks`` as in a local problem, hierarchies without.

    With an effort of 0 each row is looked at by itself, which takes less time than cutting; with one of 1 about as
    long as refining does. ``levels`` are those at which labels may be, column by column, beside the highest; all of
    them without it.
    """
    from shoal.bounds.recodings import least_loss, local_measure, recoding_loss

    frequencies, ladders = problem.frequencies, problem.ladders
    shown = shown or ["ancestor"] * len(ladders)
    ranks = ranks or [None] * len(ladders)
    measure = local_measure(loss, frequencies, ladders, weights)
    least = least_loss(
        measure, frequencies, ladders, problem.model, shown, ranks, whole=whole, effort=effort,
        levels=None if levels is None else _with_top(levels, ladders),
    )  # fmt: skip
    if least is None:
        return None
    lost = recoding_loss(measure, frequencies, ladders, recoding, shown)
    return Bound(f"{loss}, the mean over columns", lost, least, _reported(loss, weights, least, len(ladders)))


def bound_cells(problem: Problem, recoding: Recoding, loss: str, weights: Mapping[str, float], levels: Levels) -> Bound:
    """The same of levels and hidden cells for an intruder who knows few columns."""
    from shoal.bounds.few_columns import least_loss_of_few
    from shoal.bounds.recodings import local_measure, recoding_loss

    frequencies, ladders = problem.frequencies, problem.ladders
    measure = local_measure(loss, frequencies, ladders, weights)
    parts, names = limited(problem.model), problem.names
    least = least_loss_of_few(measure, frequencies, ladders, parts, names, _with_top(levels, ladders))
    lost = recoding_loss(measure, frequencies, ladders, recoding, ["ancestor"] * len(ladders))
    return Bound(f"{loss}, the mean over columns", lost, least, _reported(loss, weights, least, len(ladders)))


def all_levels(ladders: Sequence[Ladder]) -> Levels:
    """Every level of every column."""
    return [range(ladder.height + 1) for ladder in ladders]


def levels_between(lowest: Sequence[int], highest: Sequence[int]) -> Levels:
    """The levels from one to another, column by column."""
    return [range(low, high + 1) for low, high in zip(lowest, highest, strict=True)]


def _with_top(levels: Levels, ladders: Sequence[Ladder]) -> Levels:
    return [sorted({*some, ladder.height}) for some, ladder in zip(levels, ladders, strict=True)]


def _reported(loss: str, weights: Mapping[str, float], least: float, columns: int) -> dict[str, float]:
    """Of the figures that every certificate has, those that are bounded too: where all columns count alike."""
    if any(weight != 1.0 for weight in weights.values()):
        return {}
    if loss == "ncp":
        return {"ncp": rounded_down(least_geometric(least, columns))}
    return {loss.replace("-", "_"): least} if loss in ("precision", "distortion-ratio") else {}
