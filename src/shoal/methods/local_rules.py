"""The models of shoal as rules that compiled code evaluates, see :mod:`shoal.kernels.tally`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.encoding import FrequencySet
from shoal.errors import PlanError
from shoal.kernels.tally import (
    CATEGORIES,
    DISCLOSURE,
    DISTINCT,
    ENTROPY,
    EQUAL,
    HIERARCHICAL,
    LIKENESS,
    ORDERED,
    RECURSIVE,
    SHARE,
    WEIGHT,
    Rules,
)
from shoal.models import (
    AlphaK,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    LDiversity,
    Model,
    PAlphaSensitive,
    PPlusAlphaSensitive,
    PSensitive,
    TCloseness,
)
from shoal.models.base import SensitiveModel, exact
from shoal.schema import Domain

__all__ = ["make_rules"]


@dataclass(frozen=True)
class _Rule:
    """One rule on one sensitive column; ``labels`` are int64 per value, ``lines`` what else the kernel needs."""

    kind: int
    attribute: int
    whole: int = 0
    real: float = 0.0
    labels: npt.NDArray[np.int64] | None = None
    lines: npt.NDArray[np.int64] | None = None


def make_rules(model: Model, frequencies: FrequencySet) -> tuple[Rules, npt.NDArray[np.int32]]:
    """The models as rules, and the tally's columns of every combination, int32 (n, s).

    Only sensitive columns on which a model has a rule take part. Raises where a model has no rules.
    """
    domains = frequencies.domains
    least = 1
    drafts: list[_Rule] = []
    totals = [
        np.bincount(code[code >= 0], weights=frequencies.count[code >= 0], minlength=domain.size).astype(np.int64)
        for code, domain in zip(frequencies.secrets.T, domains, strict=True)
    ]
    for part in model.parts:
        if isinstance(part, KAnonymity):
            least = max(least, part.k)
            continue
        if isinstance(part, AlphaK):
            least = max(least, part.k)
        if not isinstance(part, SensitiveModel):
            raise _unknown(part)
        for domain in part.columns(domains):
            place = domains.index(domain)
            drafts += _rules_of(part, domain, place, totals[place])
    used = sorted({draft.attribute for draft in drafts})
    sizes = [domains[place].size for place in used]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    label = np.zeros((len(drafts), int(offsets[-1])), np.int64)
    at, lines = [], [np.zeros(0, np.int64)]
    for number, draft in enumerate(drafts):
        if draft.labels is not None:
            start = offsets[used.index(draft.attribute)]
            label[number, start : start + len(draft.labels)] = draft.labels
        at.append(sum(map(len, lines)))
        if draft.lines is not None:
            lines.append(draft.lines)
    chosen = [totals[place] for place in used]
    rules = Rules(
        np.asarray([least], np.int64),
        np.repeat(np.arange(len(used)), sizes).astype(np.int64),
        np.concatenate([np.zeros(0, np.int64), *chosen]),
        np.asarray([counts.sum() for counts in chosen], np.int64),
        np.asarray([np.count_nonzero(counts) for counts in chosen], np.int64),
        np.asarray([draft.kind for draft in drafts], np.int64),
        np.asarray([used.index(draft.attribute) for draft in drafts], np.int64),
        np.asarray([draft.whole for draft in drafts], np.int64),
        np.asarray([draft.real for draft in drafts], np.float64),
        label,
        np.asarray(at, np.int64),
        np.concatenate(lines),
    )
    codes = frequencies.secrets[:, used]
    return rules, np.where(codes < 0, -1, codes + offsets[:-1]).astype(np.int32)


def _unknown(model: Model) -> PlanError:
    return PlanError(f"Local recoding does not know the model {model.name}; full-domain recoding serves any model.")


def _rules_of(model: SensitiveModel, domain: Domain, place: int, totals: npt.NDArray[np.int64]) -> list[_Rule]:
    match model:
        case PSensitive():
            return [_Rule(DISTINCT, place, model.p)]
        case PAlphaSensitive() | PPlusAlphaSensitive():
            assert domain.category is not None
            labels = domain.category.astype(np.int64)
            kind = DISTINCT if isinstance(model, PAlphaSensitive) else CATEGORIES
            rules = [_Rule(kind, place, model.p, labels=labels)]
            units = model.least_units(domain)
            return [*rules, _Rule(WEIGHT, place, units, labels=labels)] if units else rules
        case LDiversity(kind="distinct"):
            return [_Rule(DISTINCT, place, int(model.l))]
        case LDiversity(kind="entropy"):
            return [_Rule(ENTROPY, place, real=float(exact(model.l, "l")))]
        case LDiversity():
            return [_Rule(RECURSIVE, place, int(model.l), float(exact(model.c if model.c is not None else 1, "c")))]
        case AlphaK():
            return [_Rule(SHARE, place, real=float(exact(model.alpha, "alpha")))]
        case TCloseness():
            return [_closeness(model, domain, place, totals)]
        case DeltaDisclosure():
            return [_Rule(DISCLOSURE, place, int(model.absent == "fails"), float(exact(model.delta, "delta")))]
        case BetaLikeness():
            return [_Rule(LIKENESS, place, int(model.kind == "enhanced"), float(exact(model.beta, "beta")))]
        case _:
            raise _unknown(model)


def _closeness(model: TCloseness, domain: Domain, place: int, totals: npt.NDArray[np.int64]) -> _Rule:
    t = float(exact(model.t, "t"))
    if model.distance == "equal":
        return _Rule(EQUAL, place, real=t)
    if model.distance == "ordered":
        assert domain.rank is not None
        reached = np.cumsum(np.bincount(domain.rank, weights=totals, minlength=domain.places).astype(np.int64))
        lines = np.concatenate([reached, [0], np.cumsum(reached)]).astype(np.int64)
        return _Rule(ORDERED, place, domain.places, t, domain.rank.astype(np.int64), lines)
    tree = domain.tree
    assert tree is not None
    starts = np.concatenate([[0], np.cumsum([tree.size(height) for height in range(tree.height + 1)])])
    nodes = int(starts[-1])
    parent = np.full(nodes, -1, np.int64)
    level = np.zeros(nodes, np.int64)
    held = np.zeros(nodes, np.int64)
    for height in range(tree.height + 1):
        own = starts[height] + tree.codes[height]
        level[starts[height] : starts[height + 1]] = height
        np.add.at(held, own, totals)
        if height < tree.height:
            parent[own] = starts[height + 1] + tree.codes[height + 1]
    return _Rule(HIERARCHICAL, place, nodes, t, tree.codes[0].astype(np.int64), np.concatenate([parent, level, held]))
