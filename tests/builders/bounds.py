"""Small problems and their least losses."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import shoal
from shoal.methods import Problem
from shoal.models import (
    AlphaK,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    LDiversity,
    PAlphaSensitive,
    PPlusAlphaSensitive,
    PSensitive,
    TCloseness,
    combine,
)
from shoal.schema import Categories, Column, Role, Schema, Tree
from shoal.table.frequency_set import Dictionary, FrequencySet
from shoal.table.groups import Groups, histogram
from tests.reference import bounds as slow

VALUES = ("a", "b", "c", "d")
CLASSES = (("a",), ("b", "c"), ("d",))
MODELS = {
    "k": (KAnonymity(2),),
    "k3": (KAnonymity(3),),
    "p": (KAnonymity(2), PSensitive(2)),
    "p-alpha": (KAnonymity(2), PAlphaSensitive(2, 1)),
    "p-plus-alpha": (KAnonymity(2), PPlusAlphaSensitive(2, "0.5")),
    "distinct": (LDiversity(2),),
    "entropy": (LDiversity("1.7", "entropy"),),
    "recursive": (LDiversity(2, "recursive", c=2),),
    "alpha-k": (AlphaK("0.6", 2),),
    "t-equal": (TCloseness("0.4"),),
    "t-ordered": (TCloseness("0.3", distance="ordered"),),
    "delta": (KAnonymity(2), DeltaDisclosure("1.2")),
    "delta-ignored": (KAnonymity(2), DeltaDisclosure("1.2", absent="ignored")),
    "beta": (BetaLikeness("0.8"),),
    "beta-enhanced": (BetaLikeness("1.5", kind="enhanced"),),
}
REGIONS = {"north": ["n1", "n2", "n3"], "south": ["s1", "s2"], "west": ["w1"]}
SCHEMA = Schema(
    {
        "place": Column(Role.QUASI_IDENTIFIER, Tree(REGIONS)),
        "kind": Column(Role.QUASI_IDENTIFIER),
        "size": Column(Role.QUASI_IDENTIFIER, shoal.schema.Widths((2, 4))),
        "s": Column(Role.SENSITIVE, categories=Categories(CLASSES), order=VALUES),
    }
)
LEAVES = {
    "place": ("n1", "n2", "n3", "s1", "s2", "w1"),
    "kind": ("u", "v", "w"),
    "size": ("1", "2", "3", "4", "5", "6", "7", "8"),
}


def encode(values, name, position):
    """Return the dictionary and the codes of a column."""
    there = sorted({value for value in values if value is not None})
    code = [there.index(value) if value is not None else len(there) for value in values]
    return Dictionary(name, position, pa.array(there), tuple(there), None in values), np.asarray(code, np.int32)


def small_problem(rng, models, rows=6):
    """A random small table as a problem.

    The frequency set has one entry per distinct row.
    """
    missing = rng.random() < 0.3
    columns = {}
    for name, leaves in LEAVES.items():
        some = rng.choice(leaves, size=rng.integers(2, len(leaves) + 1), replace=False)
        columns[name] = [
            None if missing and name != "place" and rng.random() < 0.15 else str(rng.choice(some)) for _ in range(rows)
        ]
    columns["s"] = [None if missing and rng.random() < 0.1 else str(rng.choice(VALUES)) for _ in range(rows)]
    coded = {name: encode(values, name, position) for position, (name, values) in enumerate(columns.items())}
    table = np.stack([code for _, code in coded.values()], axis=1)
    table, count = np.unique(table, axis=0, return_counts=True)
    *quasi, sensitive = (dictionary for dictionary, _ in coded.values())
    secrets = np.where(table[:, 3:] == len(sensitive.text), -1, table[:, 3:]).astype(np.int32)
    domain = SCHEMA.domain("s", sensitive.text)
    found = FrequencySet(
        tuple(quasi), (sensitive,), (domain,), table[:, :3].copy(), secrets, count.astype(np.int64)
    )  # fmt: skip
    return Problem(found, found.ladders(SCHEMA), combine(models), schema=SCHEMA)


def optimum(problem, measure, label_kinds, whole):
    """Return the least loss of all partitions.

    Partitions of all rows, or of those that are not suppressed.
    """
    frequencies, rows = problem.frequencies, problem.frequencies.rows
    row = np.repeat(np.arange(len(frequencies.count)), frequencies.count)
    codes, secret = frequencies.codes[row], frequencies.secrets[row, 0]
    subsets = [slow.members(chosen) for chosen in range(1 << rows)]
    costs = [
        lambda share, height, a=a, how=how: (
            measure.weight[a] * height
            if measure.heights and how == "ancestor"
            else 0.0
            if measure.leaf[a] >= 1
            else measure.weight[a] * max(share - measure.leaf[a], 0) / (1 - measure.leaf[a])
        )
        for a, how in enumerate(label_kinds)
    ]
    loss = [
        len(some) * slow.label_loss(codes[some], problem.ladders, costs, label_kinds) if some else 0 for some in subsets
    ]
    least = np.inf
    every = (1 << rows) - 1
    for included in [every] if whole else range(1 << rows):
        inside = [chosen for chosen in range(1, 1 << rows) if chosen & ~included == 0]
        group = np.concatenate([np.full(len(subsets[chosen]), g) for g, chosen in enumerate(inside)] or [[]])
        value = np.concatenate([secret[subsets[chosen]] for chosen in inside] or [[]]).astype(np.int32)
        values = histogram(
            group.astype(np.int64), value, np.ones(len(group), np.int64), len(inside), frequencies.domains[0]
        )
        known = secret[subsets[included]]
        totals = np.bincount(known[known >= 0], minlength=frequencies.domains[0].size).astype(np.int64)
        groups = Groups(np.asarray([len(subsets[chosen]) for chosen in inside], np.int64), (values,)).within([totals])
        fine = dict(zip(inside, problem.model.assess(groups).holds.tolist(), strict=True)) if inside else {}
        out = (rows - len(subsets[included])) * float(measure.weight.sum())
        least = min(least, out + slow.least_partition(included, loss.__getitem__, fine.__getitem__))
    return least / rows
