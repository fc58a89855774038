"""Coded tables: the frequency set, groups with histograms, and recodings."""

from shoal.table.frequency_set import Dictionary, FrequencySet, read_frequency_set
from shoal.table.group_labels import publish_groups
from shoal.table.groups import Groups, Histogram
from shoal.table.method_facts import MethodFacts
from shoal.table.recoding import (
    ByCell,
    ByGroup,
    ByLevel,
    ByPattern,
    Recoding,
    apply,
    recode_codes,
    released_combinations,
    released_ladders,
)

__all__ = [
    "ByCell",
    "ByGroup",
    "ByLevel",
    "ByPattern",
    "Dictionary",
    "FrequencySet",
    "Groups",
    "Histogram",
    "MethodFacts",
    "Recoding",
    "apply",
    "publish_groups",
    "read_frequency_set",
    "recode_codes",
    "released_combinations",
    "released_ladders",
]
