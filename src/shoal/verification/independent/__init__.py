"""The gate that every release must pass: a second opinion that shares no arithmetic with the first.

The search, the models and the gate before a release would otherwise ask one and the same code, and one fault would
fool all three. Here the groups are counted again from the published values, and each model is judged anew from its
definition: in Python's whole numbers, which have no end, with logarithms enclosed between fractions that are refined
until they decide. Nothing of ``shoal.models`` or ``shoal.table`` is used, which the order of imports forbids.

A release is let out only where both opinions agree in every figure: groups, failing groups and rows, and what the
table really reaches.
"""

from shoal.verification.independent.column_subsets import judge_sets, show_rows
from shoal.verification.independent.counting import (
    Counts,
    Sensitive,
    count_groups,
    count_loosely,
    list_sensitive,
    read_texts,
)
from shoal.verification.independent.definitions import DEFINITIONS
from shoal.verification.independent.judge import Judgement, Opinion, columns_needed, differences, judge, together
from shoal.verification.independent.patterns import count_fitting
from shoal.verification.independent.people import judge_people, judge_sets_of_people

__all__ = [
    "DEFINITIONS",
    "Counts",
    "Judgement",
    "Opinion",
    "Sensitive",
    "columns_needed",
    "count_fitting",
    "count_groups",
    "count_loosely",
    "differences",
    "judge",
    "judge_people",
    "judge_sets",
    "judge_sets_of_people",
    "list_sensitive",
    "read_texts",
    "show_rows",
    "together",
]
