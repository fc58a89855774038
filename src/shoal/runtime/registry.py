"""What installed packages add: models, methods, hierarchies, formats and engines by name, as entry points.

A registry of shoal is a plain dictionary and, behind it, what other packages have declared under its group:

    [project.entry-points."shoal.models"]
    "at-most" = "shoal_example:AtMost"

The names of shoal's own always win. A package is imported only when a plan names what it adds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from shoal.errors import PlanError

__all__ = ["Extended"]

Kind = TypeVar("Kind")


class Extended(Mapping[str, Kind], Generic[Kind]):
    """Names and what they stand for: shoal's own, then what is installed under ``group``.

    All are classes made from ``base``; with ``made`` they are objects of it.
    """

    def __init__(self, own: Mapping[str, Kind], group: str, base: type, *, made: bool = False) -> None:
        self.own, self.group, self.base, self.made = dict(own), group, base, made

    @cached_property
    def installed(self) -> dict[str, EntryPoint]:
        """What packages add, not loaded yet; where two use one name, shoal's own is taken."""
        points = sorted(entry_points(group=self.group), key=lambda p: p.dist is not None and p.dist.name == "shoal")
        return {point.name: point for point in points if point.name not in self.own}

    def __getitem__(self, name: str) -> Kind:
        if name in self.own:
            return self.own[name]
        return self._load(self.installed[name])

    def _load(self, point: EntryPoint) -> Kind:
        of = f" of the package {point.dist.name!r}" if point.dist is not None else ""
        try:
            found: Any = point.load()
        except Exception as error:  # what a stranger's package raises when it is imported
            raise PlanError(f"{point.name!r}{of} cannot be loaded: {type(error).__name__}.") from None
        fits = isinstance(found, self.base) if self.made else isinstance(found, type) and issubclass(found, self.base)
        if not fits:
            kind = "an object of" if self.made else "a class made from"
            raise PlanError(f"{point.name!r}{of} must be {kind} shoal's {self.base.__name__}; it is not one.")
        return found  # type: ignore[no-any-return]

    def __contains__(self, name: object) -> bool:
        return name in self.own or name in self.installed

    def __iter__(self) -> Iterator[str]:
        yield from self.own
        yield from self.installed

    def __len__(self) -> int:
        return len(self.own) + len(self.installed)
