"""Comparison of a saved table with the certificate of its release.

A release in memory belongs to the user, who may change it before it is saved. So the figures of the certificate are
computed again from the written file. Figures about people, or about an intruder with partial knowledge, need the
original; for these the table must have the content that was verified.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.schema import Role, Schema
from shoal.verification.check import CheckResult

if TYPE_CHECKING:
    import pyarrow as pa

RELATIVE_TOLERANCE = 1e-9  # relative difference that a sum in another order may cause


def identify(table: Any, schema: Schema) -> Any:
    """Return what identifies the promised columns of a table in memory.

    ``table`` is an Arrow table, or a Spark frame: that does not change, and stands for itself.
    """
    import pyarrow as pa

    if not isinstance(table, pa.Table):
        return table
    promised = [name for name, column in schema.columns.items() if column.role is not Role.OTHER]
    return content_digest(table, [name for name in promised if name in table.column_names])


def content_digest(table: pa.Table, names: Sequence[str]) -> str:
    """Hash the cells of some columns of an Arrow table, in order."""
    import pyarrow as pa
    import pyarrow.compute as pc

    digest = hashlib.sha256()
    for name in names:
        texts = table.column(name).cast(pa.large_string())
        digest.update(f"{name}\0{len(texts)}\0".encode())
        for part in texts.chunks:
            lengths = pc.fill_null(pc.binary_length(part), -1)
            digest.update(np.ascontiguousarray(lengths.to_numpy(zero_copy_only=False), np.int64).data)
        for part in texts.chunks:
            filled = pc.fill_null(part, "")
            _, offsets, cells = filled.buffers()
            if len(filled) and cells is not None:
                ends = np.frombuffer(offsets, np.int64)
                digest.update(cells[int(ends[filled.offset]) : int(ends[filled.offset + len(filled)])])
    return digest.hexdigest()


def sorted_rows_digest(table: pa.Table) -> str:
    """Hash the rows of a table, whatever their order.

    It is the SHA-256 of lines: the column names, then the rows in ascending order, each a JSON array of texts in UTF-8
    without blanks and escapes; null is missing, and times with a zone are in UTC.
    """
    import pyarrow as pa

    columns = []
    for part, column in zip(table.schema, table.columns, strict=True):
        if pa.types.is_timestamp(part.type) and part.type.tz is not None:
            column = column.cast(pa.timestamp("us", "UTC"))
        columns.append(column.cast(pa.large_string()).to_pylist())
    digest = hashlib.sha256()
    for row in (table.column_names, *sorted(zip(*columns, strict=True), key=_line)):
        digest.update(_line(row))
    return digest.hexdigest()


def _line(row: Sequence[str | None]) -> bytes:
    return json.dumps(list(row), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def differing_figures(
    certificate: Mapping[str, Any], checked: CheckResult, *, with_sizes: bool, with_models: bool
) -> list[str]:
    """List the figures of a certificate that a table does not have.

    ``with_sizes`` is False where sizes of groups need the original, ``with_models`` where parameters of models do.
    """
    figures = {"rows": (certificate["released"], checked.rows), "groups": (certificate["groups"], checked.groups)}
    if with_sizes:
        figures["rows in the smallest group"] = (certificate["smallest_group"], checked.smallest_group)
    stated_people = certificate.get("people")
    if stated_people is not None and checked.people is not None:
        figures["people"] = (stated_people["released"], checked.people.total)
        figures["people in the smallest group"] = (stated_people["smallest_group"], checked.people.smallest_group)
        if checked.people.smallest_crowd is not None and "smallest_crowd" in stated_people:
            figures["people in the smallest crowd"] = (stated_people["smallest_crowd"], checked.people.smallest_crowd)
    if with_models:
        found = {_model_key(model): model["effective"] for model in (one.to_dict() for one in checked.models)}
        for stated in certificate["models"]:
            effective = found.get(_model_key(stated), {})
            for parameter, value in stated["effective"].items():
                figures[f"{parameter} of {stated['name']}"] = (value, effective.get(parameter))
    return [what for what, (stated, recomputed) in figures.items() if not _is_close(stated, recomputed)]


def _model_key(model: Mapping[str, Any]) -> tuple[str, str]:
    return model["name"], str(sorted(model["parameters"].items()))


def _is_close(stated: Any, recomputed: Any) -> bool:
    if isinstance(stated, float) and isinstance(recomputed, float | int):
        return math.isclose(stated, recomputed, rel_tol=RELATIVE_TOLERANCE, abs_tol=RELATIVE_TOLERANCE)
    return bool(stated == recomputed)
