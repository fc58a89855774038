"""Local suppression: single cells become `*`, as few as possible, and no value is generalized.

What `*` means to a reader decides what is safe, and there are two readings:

* **strict** (the default): `*` is a value of its own and matches only `*`. A group is what shows the same, stars
  included, and every model can be kept. Groups are found from the top down on hierarchies of two levels (the value,
  and `*`) and then refined; the loss is the number of stars, each by the importance of its column.
* **loose**, only on request: `*` may stand for any value, as sdcMicro counts it. A row is safe where at least k rows
  could be taken for it. Only k-anonymity has such a reading. A reader who knows why a cell was suppressed may tell
  more rows apart than this reading admits, so the certificate names it.

For the loose reading, each row that fewer than k rows match gets the cheapest set of columns without which at least k
rows match it; sets are tried from cheap to dear, so that no set with fewer stars would do, as far as rows that have no
stars count. Rows with stars match more rows than before, which is looked at again from the dearest to the cheapest row:
stars that are no longer needed are taken back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from shoal.checked import Weight
from shoal.encoding import ByGroup
from shoal.errors import PlanError
from shoal.methods.base import Problem, require_feasible
from shoal.methods.local_options import LocalMethod, check_weights_of
from shoal.models import AllOf, KAnonymity
from shoal.schema import TOP, Schema

__all__ = ["LocalSuppression"]


@dataclass(frozen=True)
class LocalSuppression(LocalMethod):
    """Suppress single cells.

    Parameters
    ----------
    importance
        How much a suppressed cell of a column counts; 1 where nothing is said. The dearer a column, the fewer stars.
    missing
        ``strict``: `*` matches only `*`. ``loose``: `*` matches everything (k-anonymity only).
    """

    importance: Mapping[str, Weight] = field(default_factory=dict)
    missing: Literal["strict", "loose"] = "strict"
    name: ClassVar[str] = "local-suppression"

    @property
    def wildcard(self) -> str | None:
        """See :class:`shoal.methods.base.Method`."""
        return TOP if self.missing == "loose" else None

    def check(self, schema: Schema, model: AllOf) -> None:
        """See :class:`shoal.methods.base.Method`."""
        check_weights_of(schema, self.importance)
        if self.missing == "loose" and not all(isinstance(part, KAnonymity) for part in model.parts):
            raise PlanError(
                "Only k-anonymity has a loose reading of suppressed cells; found other models. Use missing = 'strict', "
                "which keeps every model."
            )

    def decide(self, problem: Problem) -> ByGroup:
        """See :class:`shoal.methods.base.Method`.

        Strict: time close to n log n for n distinct combinations. Loose: one count of the table for every set of
        columns that is tried, of which there are at most 2^q for q columns.
        """
        from shoal.methods.star_patterns import suppress_loosely, suppress_strictly

        require_feasible(problem)
        decide = suppress_loosely if self.missing == "loose" else suppress_strictly
        return decide(problem, self.importance)
