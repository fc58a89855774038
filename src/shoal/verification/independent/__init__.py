"""Independent verification of releases, without the models' arithmetic.

The search, the models and the verification would otherwise run the same code, and one fault would deceive all three.
Here the groups are counted again from the published values, and each model is evaluated anew from its definition: in
Python's unbounded integers, with logarithms enclosed between fractions that are refined until they decide. Nothing of
``shoal.models`` or ``shoal.table`` is used; the order of imports forbids it.

A release is written only where both verifications agree in every figure: groups, failing groups and rows, and the
parameters that the table reaches.
"""

from shoal.verification.independent.column_subsets import evaluate_column_sets, read_released_rows
from shoal.verification.independent.counting import (
    Counts,
    SensitiveColumn,
    count_groups,
    count_groups_with_wildcards,
    list_sensitive_columns,
    read_texts,
)
from shoal.verification.independent.definitions import DEFINITIONS
from shoal.verification.independent.judge import (
    JUDGES,
    ModelEvaluation,
    TableEvaluation,
    columns_needed,
    differences,
    judge,
    merge_evaluations,
    name_judges,
)
from shoal.verification.independent.patterns import CountedPattern, class_keys, count_matching_records, count_patterns
from shoal.verification.independent.people import evaluate_column_sets_by_people, evaluate_people
from shoal.verification.independent.population import (
    IndependentPopulation,
    count_people_by_group,
    count_people_of_values,
)
from shoal.verification.independent.reading import (
    ENGINE,
    POSTGRES,
    READER_NAMES,
    IndependentTable,
    ReturnedFrame,
    ServerTable,
    WrittenTable,
    count_rows_up_to,
    count_written_rows,
    has_plain_types,
    have_same_rows,
    is_plain_file,
    is_readable,
    read_frame,
)
from shoal.verification.independent.scenarios import evaluate_scenario, evaluate_scenario_by_people
from shoal.verification.independent.some_columns import CountedRelease

__all__ = [
    "DEFINITIONS",
    "ENGINE",
    "JUDGES",
    "POSTGRES",
    "READER_NAMES",
    "CountedPattern",
    "CountedRelease",
    "Counts",
    "IndependentPopulation",
    "IndependentTable",
    "ModelEvaluation",
    "ReturnedFrame",
    "SensitiveColumn",
    "ServerTable",
    "TableEvaluation",
    "WrittenTable",
    "class_keys",
    "columns_needed",
    "count_groups",
    "count_groups_with_wildcards",
    "count_matching_records",
    "count_patterns",
    "count_people_by_group",
    "count_people_of_values",
    "count_rows_up_to",
    "count_written_rows",
    "differences",
    "evaluate_column_sets",
    "evaluate_column_sets_by_people",
    "evaluate_people",
    "evaluate_scenario",
    "evaluate_scenario_by_people",
    "has_plain_types",
    "have_same_rows",
    "is_plain_file",
    "is_readable",
    "judge",
    "list_sensitive_columns",
    "merge_evaluations",
    "name_judges",
    "read_frame",
    "read_released_rows",
    "read_texts",
]
