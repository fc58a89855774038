"""Facts that a method reports in the certificate: a dataclass per method.

A reader requests facts by type (``facts.get(SearchFacts)``), not by key. Facts that several methods share are a field
of theirs, and are written among their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

from shoal.runtime.lazy_dataclass import dataclass

Kind = TypeVar("Kind", bound="MethodFacts")


@runtime_checkable
class SupportsToDict(Protocol):
    """Objects that convert to plain values."""

    def to_dict(self) -> dict[str, Any]:
        """Return the object as plain values for JSON."""


@dataclass(frozen=True, kw_only=True)
class MethodFacts:
    """Base class of the facts that methods report.

    A field that is None is not reported; a field that is facts itself is a part of these.
    """

    top_level: ClassVar[bool] = False
    """Whether these facts are an entry of the certificate itself, rather than of its method."""

    def get(self, kind: type[Kind]) -> Kind | None:
        """Return the facts of a type among these and their parts, or None."""
        if isinstance(self, kind):
            return self
        return next((found for part in self._parts() if (found := part.get(kind)) is not None), None)

    def to_dict(self) -> dict[str, Any]:
        """Return the entries under the method's name in the certificate.

        They are ready for JSON.
        """
        return {} if self.top_level else self.written()

    def entries(self) -> dict[str, Any]:
        """Return the top-level entries of the certificate."""
        if self.top_level:
            return self.written()
        found: dict[str, Any] = {}
        for part in self._parts():
            found |= part.entries()
        return found

    def written(self) -> dict[str, Any]:
        """Return the fields for JSON, in their order."""
        found: dict[str, Any] = {}
        for name, value in self._fields():
            found |= value.to_dict() if isinstance(value, MethodFacts) else {name: _plain(value)}
        return found

    def _fields(self) -> Iterator[tuple[str, Any]]:
        values = ((part.name, getattr(self, part.name)) for part in fields(self))
        return ((name, value) for name, value in values if value is not None)

    def _parts(self) -> Iterator[MethodFacts]:
        return (value for _, value in self._fields() if isinstance(value, MethodFacts))


def _plain(value: Any) -> Any:
    if isinstance(value, SupportsToDict):
        return value.to_dict()
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True, kw_only=True)
class LevelFacts(MethodFacts):
    """The level at which each quasi-identifier is published."""

    top_level: ClassVar[bool] = True
    levels: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class SearchFacts(MethodFacts):
    """The loss of the recoding, and a lower bound for all recodings.

    The recodings are those that the plan allows. Both are in the measure that the method minimizes.
    """

    optimal: bool
    loss: float
    lower_bound: float


@dataclass(frozen=True, kw_only=True)
class WarningFacts(MethodFacts):
    """A sentence that a reader of the release must know."""

    warning: str
