"""Registry of built-in and installed extensions.

Installed packages add models, methods, hierarchies, formats and engines by name, as entry points. A registry is a
dictionary of shoal's own names and, after them, what other packages declare under its group:

    [project.entry-points."shoal.models"]
    "at-most" = "shoal_example:AtMost"

Shoal's own names take precedence. A package is imported only when a plan names its extension.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from shoal.errors import PlanError

Kind = TypeVar("Kind")


class Registry(Mapping[str, Kind], Generic[Kind]):
    """Mapping of names: shoal's own, then those installed under ``group``.

    The values are subclasses of ``base``; with ``instances`` they are instances of it.
    """

    def __init__(self, own: Mapping[str, Kind], group: str, base: type, *, instances: bool = False) -> None:
        self.own, self.group, self.base, self.instances = dict(own), group, base, instances

    @cached_property
    def installed(self) -> dict[str, EntryPoint]:
        """Entry points of other packages, not loaded yet.

        Names of shoal are left out. If two packages declare one name, the distribution of shoal takes precedence.
        """
        points = sorted(entry_points(group=self.group), key=lambda p: p.dist is not None and p.dist.name == "shoal")
        return {point.name: point for point in points if point.name not in self.own}

    def first_party(self) -> Iterator[str]:
        """Yield the names that shoal itself defines or declares."""
        yield from self.own
        for name, point in self.installed.items():
            if point.dist is not None and point.dist.name == "shoal":
                yield name

    def __getitem__(self, name: str) -> Kind:
        if name in self.own:
            return self.own[name]
        return self._load(self.installed[name])

    def _load(self, point: EntryPoint) -> Kind:
        of = f" of the package {point.dist.name!r}" if point.dist is not None else ""
        try:
            found: Any = point.load()
        except Exception as error:  # importing another package may raise anything
            raise PlanError(
                "extensions.not-loadable", name=point.name, package=of, reason=type(error).__name__
            ) from None
        fits = (
            isinstance(found, self.base) if self.instances else isinstance(found, type) and issubclass(found, self.base)
        )
        if not fits:
            kind = "an object of" if self.instances else "a class made from"
            raise PlanError("extensions.wrong-kind", name=point.name, package=of, kind=kind, base=self.base.__name__)
        return found  # type: ignore[no-any-return]

    def __contains__(self, name: object) -> bool:
        return name in self.own or name in self.installed

    def __iter__(self) -> Iterator[str]:
        yield from self.own
        yield from self.installed

    def __len__(self) -> int:
        return len(self.own) + len(self.installed)
