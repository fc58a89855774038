"""Does a table meet a model? Asked of any table, and of every release before it is written.

The answer starts from the rows: they are grouped again by what they show, and every group is assessed. How
the table was made plays no part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.encoding import Groups, read_frequency_set
from shoal.engines.base import Engine, Relation
from shoal.errors import PlanError, TableError, VerificationError
from shoal.models import AllOf, Model, combine
from shoal.schema import Schema

__all__ = ["CheckResult", "ModelVerdict", "assess_groups", "check_relation", "require_columns", "verify"]


@dataclass(frozen=True)
class ModelVerdict:
    """One model's answer: whether it holds, where it fails, and what the table really reaches."""

    name: str
    parameters: dict[str, Any]
    holds: bool
    effective: dict[str, float | int]
    failing_groups: int
    failing_rows: int

    def to_dict(self) -> dict[str, Any]:
        """For JSON; infinite figures become text, fractions too."""
        return {
            "name": self.name,
            "parameters": {key: _plain(value) for key, value in self.parameters.items()},
            "holds": self.holds,
            "effective": {key: _plain(value) for key, value in self.effective.items()},
            "failing_groups": self.failing_groups,
            "failing_rows": self.failing_rows,
        }


@dataclass(frozen=True)
class CheckResult:
    """The answer for a table.

    Failing groups and rows are those that fail at least one model; ``failing_sizes`` are the failing groups'
    sizes, from small to large.
    """

    rows: int
    groups: int
    smallest_group: int
    models: tuple[ModelVerdict, ...]
    failing_groups: int
    failing_rows: int
    failing_sizes: tuple[int, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every group meets every model."""
        return all(model.holds for model in self.models)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "holds": self.holds,
            "rows": self.rows,
            "groups": self.groups,
            "smallest_group": self.smallest_group,
            "models": [model.to_dict() for model in self.models],
            "failing_groups": self.failing_groups,
            "failing_rows": self.failing_rows,
        }


def _plain(value: Any) -> Any:
    if isinstance(value, bool | int | str) or value is None:
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else str(value)
    return str(value)


def require_columns(table: Relation, names: Sequence[str]) -> None:
    """Raise where a column that is asked for is not in the table."""
    import difflib

    for name in names:
        if name not in table.columns:
            close = difflib.get_close_matches(name, table.columns, 1)
            hint = f" Did you mean {close[0]!r}?" if close else f" It has: {', '.join(map(repr, table.columns[:20]))}."
            raise TableError(f"The table has no column {name!r}.{hint}")


def check_relation(engine: Engine, table: Relation, schema: Schema, models: Sequence[Model]) -> CheckResult:
    """Check a table against models. Costs one aggregation over its rows."""
    if not schema.quasi_identifiers:
        raise PlanError("At least one quasi-identifier is needed: without one, all rows are one group.")
    looked_at = (*schema.quasi_identifiers, *schema.sensitive)
    require_columns(table, looked_at)
    model = combine(models)
    frequencies = read_frequency_set(engine, table, schema, ordered=False)
    model.check(frequencies.domains)
    _, groups = frequencies.group(frequencies.codes, [dictionary.size for dictionary in frequencies.quasi])
    return assess_groups(groups, model)


def assess_groups(groups: Groups, model: AllOf) -> CheckResult:
    """The answer for groups that are already counted."""
    verdicts = []
    fails = np.zeros(groups.count, np.bool_)
    for part in model.parts:
        verdict = part.assess(groups)
        bad = ~verdict.holds
        fails |= bad
        verdicts.append(
            ModelVerdict(
                part.name,
                dict(part.parameters),
                not bad.any(),
                verdict.effective,
                int(bad.sum()),
                int(groups.size[bad].sum()),
            )
        )
    return CheckResult(
        groups.rows,
        groups.count,
        int(groups.size.min()),
        tuple(verdicts),
        int(fails.sum()),
        int(groups.size[fails].sum()),
        tuple(int(size) for size in np.sort(groups.size[fails])),
    )


def verify(engine: Engine, released: Relation, schema: Schema, models: Sequence[Model], rows: int) -> CheckResult:
    """Check a release before it leaves; ``rows`` is how many the method meant to release."""
    result = check_relation(engine, released, schema, models)
    if result.rows != rows:
        raise VerificationError(
            f"The release has {result.rows} rows where the method accounted for {rows}. This is a fault in shoal; "
            f"nothing was written."
        )
    if not result.holds:
        failing = ", ".join(model.name for model in result.models if not model.holds)
        raise VerificationError(
            f"The release does not meet {failing} in {result.failing_groups} of {result.groups} groups. This is a fault "
            f"in shoal; nothing was written."
        )
    return result
