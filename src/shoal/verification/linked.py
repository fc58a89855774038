"""Verify a release of linked tables from its files, twice.

Everything is read from the files: root labels, facts, keys and sensitive values. The models are asked about the crowds
(:mod:`shoal.risk.linked_models`), and the independent verification counts them again with code of its own
(:mod:`shoal.verification.independent.linked`). If the two differ in any figure, nothing is published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import VerificationError
from shoal.models import Model
from shoal.risk.linked_facts import summarize_crowds
from shoal.risk.linked_models import CrowdJudge, SensitiveRows
from shoal.schema import Column, Schema
from shoal.table.frequency_set import encode_column, fold_column
from shoal.table.linked_tables import Link, LinkedPeople, resolve_links
from shoal.verification.independent import differences, name_judges
from shoal.verification.independent.linked import ReleasedFile, evaluate_linked

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class LinkedVerdict:
    """The verdict of a model on the crowds of a release."""

    name: str
    parameters: Mapping[str, Any]
    holds: bool
    effective: Mapping[str, float | int]
    judged_by: str

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict for JSON."""
        return {
            "name": self.name,
            **{key: value if isinstance(value, int | float) else str(value) for key, value in self.parameters.items()},
            "holds": self.holds,
            "effective": dict(self.effective),
            "judged_by": self.judged_by,
        }


@dataclass(frozen=True)
class LinkedCheck:
    """The result of the verification of linked tables.

    Attributes
    ----------
    linked
        The people and facts, as the files show them.
    rows
        The number of rows by table.
    smallest
        The number of people in the smallest crowd, by the number of known facts.
    """

    linked: LinkedPeople
    rows: Mapping[str, int]
    smallest: tuple[int, ...]
    verdicts: tuple[LinkedVerdict, ...]

    @property
    def holds(self) -> bool:
        """Return whether all models hold."""
        return all(verdict.holds for verdict in self.verdicts)


def verify_linked(
    files: Sequence[ReleasedFile], tables: Mapping[str, pa.Table], models: Sequence[Model], facts: int
) -> LinkedCheck:
    """Verify linked tables by the models, and again.

    ``tables`` are the same files as the engine reads them. Raises if the two verifications differ.
    """
    linked, sensitive = read_linked(files, tables)
    judged = CrowdJudge(linked.people, sensitive, models).judge(linked, facts)
    again = evaluate_linked(files, models, facts)
    rows = {file.name: tables[file.name].num_rows for file in files}
    smallest, crowds = summarize_crowds(linked, facts)
    found = [] if (again.people, dict(again.rows)) == (linked.people, rows) else ["rows"]
    # a smallest crowd of m facts is one of at most m here, and of exactly m there
    if smallest != tuple(min(again.smallest[: known + 1]) for known in range(facts + 1)):
        found.append("smallest crowds")
    if crowds != again.crowds:
        found.append("number of crowds")
    verdicts = []
    for model, verdict, evaluation in zip(models, judged, again.evaluations, strict=True):
        if evaluation is not None:
            found += differences(evaluation, model, verdict.holds, verdict.effective)
        verdicts.append(
            LinkedVerdict(
                model.name, model.parameters, verdict.holds, verdict.effective, name_judges(model, evaluation)
            )
        )
    if found:
        raise VerificationError("linked.verifications-differ", figures=", ".join(dict.fromkeys(found)))
    return LinkedCheck(linked, rows, smallest, tuple(verdicts))


def read_linked(
    files: Sequence[ReleasedFile], tables: Mapping[str, pa.Table]
) -> tuple[LinkedPeople, tuple[SensitiveRows, ...]]:
    """Return the people, their facts and their sensitive values."""
    root = next(file for file in files if file.parent is None)
    key_of = {file.name: file.key for file in files}
    links = [
        Link(file.name, str(file.on), file.parent, str(key_of[file.parent]))
        for file in files
        if file.parent is not None
    ]
    linked = resolve_links(tables, root.name, links, {file.name: file.known for file in files})
    person = {root.name: np.arange(linked.people), **{table.name: table.person for table in linked.tables}}
    sensitive = [
        sensitive_rows(f"{file.name}.{name}", column, tables[file.name].column(name), person[file.name])
        for file in files
        for name, column in file.sensitive.items()
    ]
    return linked, tuple(sensitive)


def sensitive_rows(name: str, column: Column, cells: pa.ChunkedArray, person: Any) -> SensitiveRows:
    """Code the values of a sensitive column, equal spellings alike."""
    spellings = fold_column(*encode_column(cells, name, 0), column)
    domain = Schema({name: column}).domain(name, spellings.counted.text)
    return SensitiveRows(domain, person, spellings.value[spellings.codes])
