"""What a method tells about its work, for the certificate: a dataclass of its own for each method.

Whoever reads it asks for what it is (``facts.of(Search)``), not for a key. What several methods tell is a part of
theirs, and stands among their own when it is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

__all__ = ["AtLevels", "MethodFacts", "Search", "Warned"]

Kind = TypeVar("Kind", bound="MethodFacts")


@runtime_checkable
class Telling(Protocol):
    """What can be told as plain values."""

    def to_dict(self) -> dict[str, Any]:
        """The same for JSON."""


@dataclass(frozen=True, kw_only=True)
class MethodFacts:
    """Base of what methods tell. A field that is None is not told; one that is such facts itself is a part of these."""

    apart: ClassVar[bool] = False
    """Whether this is an entry of the certificate's own, rather than one of its method."""

    def of(self, kind: type[Kind]) -> Kind | None:
        """What is told of a kind, by these facts or a part of them; None where nothing is."""
        if isinstance(self, kind):
            return self
        return next((found for part in self._parts() if (found := part.of(kind)) is not None), None)

    def to_dict(self) -> dict[str, Any]:
        """What stands under the method's name in the certificate, ready for JSON."""
        return {} if self.apart else self.written()

    def entries(self) -> dict[str, Any]:
        """What stands in the certificate by itself."""
        if self.apart:
            return self.written()
        told: dict[str, Any] = {}
        for part in self._parts():
            told |= part.entries()
        return told

    def written(self) -> dict[str, Any]:
        """The fields for JSON, in their order."""
        told: dict[str, Any] = {}
        for name, value in self._fields():
            told |= value.to_dict() if isinstance(value, MethodFacts) else {name: _plain(value)}
        return told

    def _fields(self) -> Iterator[tuple[str, Any]]:
        values = ((part.name, getattr(self, part.name)) for part in fields(self))
        return ((name, value) for name, value in values if value is not None)

    def _parts(self) -> Iterator[MethodFacts]:
        return (value for _, value in self._fields() if isinstance(value, MethodFacts))


def _plain(value: Any) -> Any:
    if isinstance(value, Telling):
        return value.to_dict()
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True, kw_only=True)
class AtLevels(MethodFacts):
    """The level at which each quasi-identifier is shown."""

    apart: ClassVar[bool] = True
    levels: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class Search(MethodFacts):
    """How good the recoding is of all that the plan allows: what it loses, and the least that any can lose.

    Both in the measure that the method minimizes.
    """

    optimal: bool
    loss: float
    lower_bound: float


@dataclass(frozen=True, kw_only=True)
class Warned(MethodFacts):
    """What a reader of the release must know, in a sentence."""

    warning: str
