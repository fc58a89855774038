"""What a hierarchy is, and what it says of itself: its key and example in a plan, whether it is public, where it cuts.

A hierarchy is a frozen dataclass with one method, ``bind``, which takes the distinct values of a column as text and
gives a :class:`shoal.schema.bound_hierarchy.Ladder`. Everything else has a default that suits a new one: it is written in a plan
by its fields, is not known to be public, and is no rule that a kept recoding could rely on.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

from shoal.errors import HierarchyError, InputError
from shoal.runtime.validation import Checked
from shoal.schema.bound_hierarchy import Ladder

__all__ = ["BaseHierarchy", "Hierarchy", "as_text", "changed", "plan_value"]


@runtime_checkable
class Hierarchy(Protocol):
    """How the values of a column become less exact, level by level."""

    def bind(self, values: Sequence[str], missing: bool, *, column: str = "") -> Ladder:
        """Codes and labels of ``values`` (distinct, in the column's order) at every level."""
        ...


class BaseHierarchy(Checked):
    """Base of all hierarchies that a plan can name."""

    fault: ClassVar[type[InputError]] = HierarchyError
    keys: ClassVar[tuple[str, ...]] = ()
    """The keys by which a plan names it, the usual one first: ``hierarchy = { KEY = ... }``."""
    example: ClassVar[str] = ""
    options: ClassVar[tuple[str, ...]] = ()
    """Further keys that may stand beside it."""
    unknown: ClassVar[str] = "it is of a kind that is not known to be public. Use one of the hierarchies of shoal"
    cuts: ClassVar[bool] = False
    """Whether its levels cut an order into ranges, so that level 1 already shows what neighbours share."""
    is_rule: ClassVar[bool] = False
    """Whether the labels of any value follow from its fields, so that a kept recoding can be held to them."""

    def bind(self, values: Sequence[str], missing: bool, *, column: str = "") -> Ladder:
        """See :class:`Hierarchy`."""
        raise NotImplementedError

    @classmethod
    def from_plan(cls, key: str, given: Any, options: Mapping[str, Any], folder: Path) -> Self:
        """The hierarchy that a plan writes as ``{ key = given, **options }``; any exception says that it is none."""
        parameters = {} if given is True else given if isinstance(given, Mapping) else {fields(cls)[0].name: given}  # type: ignore[arg-type]
        return cls(**parameters, **options)

    def to_plan(self) -> dict[str, Any]:
        """The same as a plan writes it."""
        return {self.keys[0]: changed(self) or True}

    @property
    def looks_at_data(self) -> str | None:
        """Why a label may depend on which values the data has, and what to do about it; None where it does not."""
        return self.unknown

    def ends(self, level: int) -> Sequence[float | None]:
        """The numbers at which the ranges of a level end; none where it has no such ranges."""
        return ()

    def digest(self) -> str | None:
        """A hash of the rule, in which 5 and 5.0 are the same; None where it is not one."""
        return hashlib.sha256(re.sub(r"(\d)\.0\b", r"\1", repr(self)).encode()).hexdigest() if self.is_rule else None


def as_text(value: object) -> str:
    """A value that a plan lists, as a cell would have it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def changed(made: Any, *silent: str) -> dict[str, Any]:
    """The fields of an object that are not as they are by default, as TOML can say them."""
    section = {}
    for part in fields(made):
        value = getattr(made, part.name)
        default = part.default_factory() if part.default_factory is not MISSING else part.default
        if part.name not in silent and (value != default or type(value) is not type(default)):
            section[part.name] = plan_value(value)
    return section


def plan_value(value: Any) -> Any:
    """A field as TOML can say it; what has a place in a plan of its own says it by ``to_plan``."""
    if hasattr(value, "to_plan"):
        return value.to_plan()
    if isinstance(value, Fraction | Path):
        return str(value)
    if isinstance(value, Mapping):
        return {key: plan_value(item) for key, item in value.items()}
    return [plan_value(item) for item in value] if isinstance(value, tuple) else value
