"""The searches of local recoding: cutting from the top down, descent, switching."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.kernels.rules import lacks_of, make_tally
from shoal.methods.local.kernels.exchange import exchange_rows, hold, make_holding, partition_loss, read_holding
from shoal.methods.local.kernels.nearness import near_items
from shoal.methods.local.kernels.specialization import MOST_PASSES, cut_groups, make_scratch
from shoal.methods.local.kernels.switching import switch_rows
from shoal.methods.local.problem import LocalProblem, Pieces
from shoal.methods.time_limits import is_late
from shoal.runtime.threads import spread

__all__ = ["Refined", "Switched", "cut_pieces", "loss_of", "refine_pieces", "switch"]


def loss_of(local: LocalProblem, pieces: Pieces) -> float:
    """What the rows of a partition lose together, over the number of rows."""

    return float(partition_loss(local.setting, pieces.item, pieces.count, pieces.start)) / int(local.count.sum())


def cut_pieces(
    local: LocalProblem, pieces: Pieces, *, strict: bool, choose: str, deadline: float | None = None
) -> Pieces:
    """Cut groups from the top down, see :mod:`shoal.methods.local.kernels.specialization`.

    ``choose`` names the rule for the next cut: ``loss`` (the least that remains), ``rate`` (the largest fall of the
    loss by the information that the cut uses up, which is the entropy of its parts' sizes), or ``best``, which tries
    both, each on a core of its own, and keeps the better result. Groups are good at any time: at a ``deadline`` (of
    :func:`shoal.runtime.search_clock.now`) those that there are are taken.
    """

    def run(by_bits: bool) -> Pieces:
        setting = local.setting
        tally, other = make_tally(setting.rules), make_tally(setting.rules)
        scratch = make_scratch(setting.space, len(local.count))
        found = pieces
        passes = 1 if deadline is not None else MOST_PASSES
        while not is_late(deadline):
            before = found
            found = Pieces(
                *cut_groups(
                    setting, tally, other, scratch, before.item, before.count, before.start, strict, by_bits, passes
                )
            )
            if deadline is None or len(found.start) == len(before.start):
                break
            passes = min(2 * passes, MOST_PASSES)
        return found

    if choose != "best":
        return run(choose == "rate")
    by_loss, by_rate = spread(run, (False, True))
    return by_loss if loss_of(local, by_loss) <= loss_of(local, by_rate) else by_rate


@dataclass(frozen=True)
class Refined:
    """The result of a descent: the groups, how many changes led to them, and whether nothing more was found."""

    pieces: Pieces
    changes: int
    finished: bool


def refine_pieces(local: LocalProblem, pieces: Pieces, deadline: float | None = None, rounds: int = 50) -> Refined:
    """Lower the loss of a partition that meets the models, see :mod:`shoal.methods.local.kernels.exchange`.

    Descent and cutting take turns until a round brings less than a ten-thousandth of what is left of the loss, or
    until ``deadline`` (of :func:`shoal.runtime.search_clock.now`) or the number of rounds is reached.
    """

    setting = local.setting
    near = near_items(setting.space, setting.values)
    absorbs = local.problem.model.absorbs
    loss = loss_of(local, pieces)
    changes = 0
    for _ in range(rounds):
        if is_late(deadline):
            break
        holding = make_holding(len(local.count), setting.values.shape[1], pieces.item, pieces.start)
        hold(setting, holding, pieces.item, pieces.count, pieces.start)
        time_of_pass = 1
        while time_of_pass <= 24:
            made = exchange_rows(setting, make_tally(setting.rules), holding, near, time_of_pass, 3, absorbs)
            time_of_pass += 3
            changes += made
            late = is_late(deadline)
            if made == 0 or late:
                break
        pieces = cut_pieces(local, Pieces(*read_holding(holding)), strict=False, choose="loss", deadline=deadline)
        after = loss_of(local, pieces)
        if loss - after <= 1e-4 * after:
            return Refined(pieces, changes, True)
        loss = after
        if late:
            break
    return Refined(pieces, changes, False)


@dataclass(frozen=True)
class Switched:
    """The result of switching, and what it took: rows exchanged and taken over, groups merged; what failed before."""

    pieces: Pieces
    exchanged: int
    taken_over: int
    merges: int
    failing_groups: int
    failing_rows: int


def switch(local: LocalProblem, pieces: Pieces) -> Switched:
    """Switch rows between groups until all meet the models, see :mod:`shoal.methods.local.kernels.switching`."""

    setting = local.setting
    tally, other = make_tally(setting.rules), make_tally(setting.rules)
    groups = len(pieces.start) - 1
    lacks = lacks_of(setting.rules, tally, setting.columns[pieces.item], pieces.count, pieces.group, groups)
    failing = lacks > 0
    rows = int(np.bincount(pieces.group, weights=pieces.count, minlength=groups)[failing].sum())
    holding = make_holding(len(local.count), setting.values.shape[1], pieces.item, pieces.start)
    hold(setting, holding, pieces.item, pieces.count, pieces.start)
    near = near_items(setting.space, setting.values)
    made = switch_rows(setting, tally, other, holding, near, lacks)
    exchanged, taken_over, merges = map(int, made)
    found = Pieces(*read_holding(holding))
    return Switched(found, exchanged, taken_over, merges, int(failing.sum()), rows)
