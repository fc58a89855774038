"""Values as integer codes: the frequency set, groups with their histograms, and what a method decided."""

from shoal.encoding.frequency import Dictionary, FrequencySet, read_frequency_set
from shoal.encoding.groups import Groups, Histogram
from shoal.encoding.method_facts import MethodFacts
from shoal.encoding.recoding import (
    ByCell,
    ByGroup,
    ByLevel,
    ByPattern,
    Recoding,
    apply,
    kept_combinations,
    recode_codes,
    released_ladders,
)
from shoal.encoding.representative import publish_groups

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
    "kept_combinations",
    "publish_groups",
    "read_frequency_set",
    "recode_codes",
    "released_ladders",
]
