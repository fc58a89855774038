"""Lower bounds of the loss of the methods of local recoding.

See :mod:`shoal.bounds.recodings`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from shoal.bounds.bound import Bound, least_geometric, rounded_down
from shoal.methods.base import Method, Problem
from shoal.models import partial_knowledge_models
from shoal.schema import Ladder
from shoal.table import Recoding

Levels = Sequence[Sequence[int]]
EFFORT = {"good": 4, "best": 20}
"""Multiple of the usual work of a bound, by the quality of the method, which takes longer too."""


def effort_of(method: Method, usual: int = 1) -> int:
    """Return the effort for the bound of a method.

    It is ``usual`` where no quality asks for more, and 1 where the method has a time limit.
    """
    quality = getattr(method, "quality", None)
    if quality not in EFFORT:
        return usual
    return 1 if getattr(method, "time_limit", None) is not None else EFFORT[quality]


def bound_recoding(
    problem: Problem,
    recoding: Recoding,
    loss: str,
    weights: Mapping[str, float],
    kinds: Sequence[str] | None = None,
    ranks: Sequence[npt.NDArray[np.int32] | None] | None = None,
    *,
    whole: bool = True,
    effort: int = 1,
    levels: Levels | None = None,
) -> Bound | None:
    """Return the loss of a recoding and a lower bound of any such recoding.

    ``kinds`` and ``ranks`` are as in a local problem; all columns have hierarchies by default. With an effort of 0 each
    row is bounded by itself, which takes less time than cutting; an effort of 1 takes about as long as refining.
    ``levels`` lists for each column the levels that labels may have besides the highest; all levels by default.
    """
    from shoal.bounds.recodings import least_recoding_loss, local_measure, recoding_loss

    frequencies, ladders = problem.frequencies, problem.ladders
    kinds = kinds or ["ancestor"] * len(ladders)
    ranks = ranks or [None] * len(ladders)
    measure = local_measure(loss, frequencies, ladders, weights)
    least = least_recoding_loss(
        measure, frequencies, ladders, problem.model, kinds, ranks, whole=whole, effort=effort,
        levels=None if levels is None else _with_top(levels, ladders),
    )  # fmt: skip
    if least is None:
        return None
    lost = recoding_loss(measure, frequencies, ladders, recoding, kinds)
    return Bound(f"{loss}, the mean over columns", lost, least, _reported(loss, weights, least, len(ladders)))


def bound_cells(problem: Problem, recoding: Recoding, loss: str, weights: Mapping[str, float], levels: Levels) -> Bound:
    """Return the loss and a lower bound of levels and hidden cells.

    They are for an intruder with partial knowledge.
    """
    from shoal.bounds.partial_knowledge import least_loss_partial_knowledge
    from shoal.bounds.recodings import local_measure, recoding_loss

    frequencies, ladders = problem.frequencies, problem.ladders
    measure = local_measure(loss, frequencies, ladders, weights)
    parts, names = partial_knowledge_models(problem.model), problem.names
    least = least_loss_partial_knowledge(measure, frequencies, ladders, parts, names, _with_top(levels, ladders))
    lost = recoding_loss(measure, frequencies, ladders, recoding, ["ancestor"] * len(ladders))
    return Bound(f"{loss}, the mean over columns", lost, least, _reported(loss, weights, least, len(ladders)))


def all_levels(ladders: Sequence[Ladder]) -> Levels:
    """Return every level of every column."""
    return [range(ladder.height + 1) for ladder in ladders]


def levels_between(lowest: Sequence[int], highest: Sequence[int]) -> Levels:
    """Return the levels from one to another, column by column."""
    return [range(low, high + 1) for low, high in zip(lowest, highest, strict=True)]


def _with_top(levels: Levels, ladders: Sequence[Ladder]) -> Levels:
    return [sorted({*column_levels, ladder.height}) for column_levels, ladder in zip(levels, ladders, strict=True)]


def _reported(loss: str, weights: Mapping[str, float], least: float, columns: int) -> dict[str, float]:
    """Return the bounds of further figures of the certificate.

    They follow if all columns have the same weight.
    """
    if any(weight != 1.0 for weight in weights.values()):
        return {}
    if loss == "ncp":
        return {"ncp": rounded_down(least_geometric(least, columns))}
    return {loss.replace("-", "_"): least} if loss in ("precision", "distortion-ratio") else {}
