"""The interface of hierarchies, and their form in a plan.

A hierarchy is a frozen dataclass with one method, ``bind``, which takes the distinct values of a column as text and
returns a :class:`shoal.schema.bound_hierarchy.Ladder`. Everything else has a default that suits a new hierarchy: a plan
writes it by its fields, it is not known to be public, and it is not a rule that a saved recoding could rely on.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

from typing_extensions import override

from shoal.errors import HierarchyError, InputError
from shoal.runtime.validation import Validated, changed_fields
from shoal.schema.bound_hierarchy import Ladder


@runtime_checkable
class Hierarchy(Protocol):
    """A hierarchy: it generalizes the values of a column level by level."""

    def bind(self, values: Sequence[str], missing: bool, *, column: str = "") -> Ladder:
        """Return codes and labels of distinct ``values`` at every level.

        The values are in the column's order.
        """
        ...


class BaseHierarchy(Validated):
    """Base class of all hierarchies that a plan can name."""

    fault: ClassVar[type[InputError]] = HierarchyError
    keys: ClassVar[tuple[str, ...]] = ()
    """Its keys in a plan, the usual one first: ``hierarchy = { KEY = ... }``."""
    example: ClassVar[str] = ""
    options: ClassVar[tuple[str, ...]] = ()
    """Further keys that are allowed next to it."""
    unknown: ClassVar[str] = "it is of a kind that is not known to be public. Use one of the hierarchies of shoal"
    cuts: ClassVar[bool] = False
    """Whether its levels cut an order into ranges, so that level 1 already groups neighbours."""
    is_rule: ClassVar[bool] = False
    """Whether the labels of any value follow from its fields, so that a saved recoding can be verified."""

    def bind(self, values: Sequence[str], missing: bool, *, column: str = "") -> Ladder:
        """Bind the hierarchy to values, as :meth:`Hierarchy.bind` says."""
        raise NotImplementedError

    @classmethod
    def from_plan(cls, key: str, given: Any, options: Mapping[str, Any], folder: Path) -> Self:
        """Build the hierarchy of ``{ key = given, **options }`` in a plan.

        Any exception means that the plan does not describe such a hierarchy.
        """
        parameters = {} if given is True else given if isinstance(given, Mapping) else {fields(cls)[0].name: given}  # type: ignore[arg-type]
        return cls(**parameters, **options)

    @override
    def to_plan(self) -> dict[str, Any]:
        return {self.keys[0]: changed_fields(self) or True}

    @property
    def looks_at_data(self) -> str | None:
        """The reason why a label may depend on the values of the data, or None.

        It includes advice on what to do about it.
        """
        return self.unknown

    def ends(self, level: int) -> Sequence[float | None]:
        """Return the ends of the ranges of a level; none without ranges."""
        return ()

    def digest(self) -> str | None:
        """Return a hash of the rule, or None if the hierarchy is not a rule.

        5 and 5.0 give the same hash.
        """
        return hashlib.sha256(re.sub(r"(\d)\.0\b", r"\1", repr(self)).encode()).hexdigest() if self.is_rule else None
