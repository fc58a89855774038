"""Searches of local recoding: top-down cutting, descent, switching."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.kernels.rules import group_deficits, make_tally
from shoal.methods.local.kernels.exchange import (
    exchange_rows,
    fill_groups,
    make_linked_groups,
    partition_loss,
    read_groups,
)
from shoal.methods.local.kernels.nearness import near_items
from shoal.methods.local.kernels.specialization import MAX_PASSES, cut_groups, make_cut_scratch
from shoal.methods.local.kernels.switching import switch_rows
from shoal.methods.local.problem import LocalProblem, Pieces
from shoal.methods.time_limits import is_late
from shoal.runtime.threads import parallel_map


def loss_of(local: LocalProblem, pieces: Pieces) -> float:
    """Return the total loss of a partition divided by the number of rows."""

    return float(partition_loss(local.setting, pieces.item, pieces.count, pieces.start)) / int(local.count.sum())


def cut_pieces(
    local: LocalProblem, pieces: Pieces, *, strict: bool, choose: str, deadline: float | None = None
) -> Pieces:
    """Cut groups from the top down.

    See :mod:`shoal.methods.local.kernels.specialization`. ``choose`` names the rule for the next cut: ``loss`` (the
    least remaining loss), ``rate`` (the largest decrease of the loss per information that the cut uses up, which is the
    entropy of the sizes of its parts), or ``best``, which tries both, each on its own core, and takes the better
    result. Groups are valid at any time: at a ``deadline`` (of :func:`shoal.runtime.search_clock.now`) the current ones
    are returned.
    """

    def run(by_bits: bool) -> Pieces:
        setting = local.setting
        tally, other = make_tally(setting.rules), make_tally(setting.rules)
        scratch = make_cut_scratch(setting.space, len(local.count))
        found = pieces
        passes = 1 if deadline is not None else MAX_PASSES
        while not is_late(deadline):
            before = found
            found = Pieces(
                *cut_groups(
                    setting, tally, other, scratch, before.item, before.count, before.start, strict, by_bits, passes
                )
            )
            if deadline is None or len(found.start) == len(before.start):
                break
            passes = min(2 * passes, MAX_PASSES)
        return found

    if choose != "best":
        return run(choose == "rate")
    by_loss, by_rate = parallel_map(run, (False, True))
    return by_loss if loss_of(local, by_loss) <= loss_of(local, by_rate) else by_rate


@dataclass(frozen=True)
class Refined:
    """The result of a descent.

    ``changes`` is the number of changes made, ``finished`` whether no further change was found.
    """

    pieces: Pieces
    changes: int
    finished: bool


def refine_pieces(local: LocalProblem, pieces: Pieces, deadline: float | None = None, rounds: int = 50) -> Refined:
    """Lower the loss of a partition that meets the models.

    See :mod:`shoal.methods.local.kernels.exchange`. Descent and cutting alternate until a round gains less than a
    ten-thousandth of the remaining loss, or until ``deadline`` (of :func:`shoal.runtime.search_clock.now`) or the
    number of rounds is reached.
    """

    setting = local.setting
    near = near_items(setting.space, setting.values)
    closed_under_superset = local.problem.model.closed_under_superset
    loss = loss_of(local, pieces)
    changes = 0
    for _ in range(rounds):
        if is_late(deadline):
            break
        linked = make_linked_groups(len(local.count), setting.values.shape[1], pieces.item, pieces.start)
        fill_groups(setting, linked, pieces.item, pieces.count, pieces.start)
        pass_number = 1
        while pass_number <= 24:
            made = exchange_rows(
                setting, make_tally(setting.rules), linked, near, pass_number, 3, closed_under_superset
            )
            pass_number += 3
            changes += made
            late = is_late(deadline)
            if made == 0 or late:
                break
        pieces = cut_pieces(local, Pieces(*read_groups(linked)), strict=False, choose="loss", deadline=deadline)
        after = loss_of(local, pieces)
        if loss - after <= 1e-4 * after:
            return Refined(pieces, changes, True)
        loss = after
        if late:
            break
    return Refined(pieces, changes, False)


@dataclass(frozen=True)
class Switched:
    """The result of switching, with the numbers of its steps.

    It counts rows exchanged, rows taken over, groups merged, and the groups and rows that failed before.
    """

    pieces: Pieces
    exchanged: int
    taken_over: int
    merges: int
    failing_groups: int
    failing_rows: int


def switch(local: LocalProblem, pieces: Pieces) -> Switched:
    """Switch rows between groups until all meet the models.

    See :mod:`shoal.methods.local.kernels.switching`.
    """

    setting = local.setting
    tally, other = make_tally(setting.rules), make_tally(setting.rules)
    groups = len(pieces.start) - 1
    deficits = group_deficits(setting.rules, tally, setting.columns[pieces.item], pieces.count, pieces.group, groups)
    failing = deficits > 0
    rows = int(np.bincount(pieces.group, weights=pieces.count, minlength=groups)[failing].sum())
    linked = make_linked_groups(len(local.count), setting.values.shape[1], pieces.item, pieces.start)
    fill_groups(setting, linked, pieces.item, pieces.count, pieces.start)
    near = near_items(setting.space, setting.values)
    made = switch_rows(setting, tally, other, linked, near, deficits)
    exchanged, taken_over, merges = map(int, made)
    found = Pieces(*read_groups(linked))
    return Switched(found, exchanged, taken_over, merges, int(failing.sum()), rows)
