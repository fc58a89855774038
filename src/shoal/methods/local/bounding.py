"""How far a local recoding can be from the best one of its kind; see :mod:`shoal.bounds.recodings`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from shoal.bounds.bound import Bound, least_geometric, rounded_down
from shoal.encoding import Recoding
from shoal.encoding.recoding import ByGroup
from shoal.methods.base import Problem

__all__ = ["bound_recoding"]


def bound_recoding(
    problem: Problem,
    recoding: Recoding,
    loss: str,
    weights: Mapping[str, float],
    shown: Sequence[str] | None = None,
    ranks: Sequence[npt.NDArray[np.int32] | None] | None = None,
    *,
    whole: bool = True,
    sharp: bool = True,
) -> Bound | None:
    """What a recoding loses and what any must; ``shown`` and ``ranks`` as in a local problem, hierarchies without.

    A sharp bound takes about as long as refining does; one that is not, less than cutting.
    """
    from shoal.bounds.recodings import ROUNDS, least_loss, local_measure, recoding_loss

    assert isinstance(recoding, ByGroup)
    frequencies, ladders = problem.frequencies, problem.ladders
    shown = shown or ["ancestor"] * len(ladders)
    ranks = ranks or [None] * len(ladders)
    measure = local_measure(loss, frequencies, ladders, weights)
    least = least_loss(
        measure, frequencies, ladders, problem.model, shown, ranks, whole=whole, rounds=ROUNDS if sharp else 0
    )
    if least is None:
        return None
    lost = recoding_loss(measure, frequencies, recoding, shown)
    return Bound(f"{loss}, the mean over columns", lost, least, _reported(loss, weights, least, len(ladders)))


def _reported(loss: str, weights: Mapping[str, float], least: float, columns: int) -> dict[str, float]:
    """Of the figures that every certificate has, those that are bounded too: where all columns count alike."""
    if any(weight != 1.0 for weight in weights.values()):
        return {}
    if loss == "ncp":
        return {"ncp": rounded_down(least_geometric(least, columns))}
    return {loss.replace("-", "_"): least} if loss in ("precision", "distortion-ratio") else {}
