"""Dataclasses with methods that are generated at the first use.

Generating the methods of all classes took a tenth of the time of a small release, and a release uses a part of the
classes. A class is completed when it is instantiated, also by a copy or by pickle, and when its fields are asked for;
so no instance of an incomplete class exists. Type checkers see the decorator of the standard library.
"""

from __future__ import annotations

import dataclasses
import inspect
import threading
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

_lock = threading.RLock()


def _decorate(cls: type | None = None, /, **options: bool) -> Any:
    """Decorate a class as :func:`dataclasses.dataclass` does, but later."""
    if cls is None:
        return lambda found: _decorate(found, **options)
    if not _can_wait(cls, options):
        return dataclasses.dataclass(**options)(cls)

    def complete() -> None:
        with _lock:
            if isinstance(vars(cls)["__dataclass_fields__"], _LazyAttribute):
                dataclasses.dataclass(**options)(cls)
                cls.__new__ = staticmethod(_new)  # type: ignore[method-assign]

    def new(owner: type, /, *_: object, **__: object) -> Any:
        complete()
        return object.__new__(owner)

    cls.__new__ = staticmethod(new)  # type: ignore[method-assign]
    for name in ("__dataclass_fields__", "__dataclass_params__"):
        setattr(cls, name, _LazyAttribute(cls, name, complete))
    cls.__signature__ = _Signature()  # type: ignore[attr-defined]
    return cls


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _decorate


def _can_wait(cls: type, options: dict[str, bool]) -> bool:
    """Return whether an incomplete class looks like a complete one.

    A default in ``field`` is an attribute of the class, a class without a docstring gets one, and a class with slots is
    another class.
    """
    own = vars(cls)
    new: object = cls.__new__
    plain = new is object.__new__ or getattr(new, "__module__", "") == __name__
    listed = (value for value in own.values() if isinstance(value, dataclasses.Field))
    defaults = any(value.default is not dataclasses.MISSING for value in listed)
    return plain and "__doc__" in own and own["__doc__"] is not None and not defaults and not options.get("slots")


def _new(owner: type, /, *_: object, **__: object) -> Any:
    """Make an instance of a complete class; ``__init__`` takes the arguments."""
    return object.__new__(owner)


class _LazyAttribute:
    """Attribute of a class that completes the class when it is read."""

    def __init__(self, cls: type, name: str, complete: Any) -> None:
        self.cls, self.name, self.complete = cls, name, complete

    def __get__(self, instance: object, owner: type) -> Any:
        self.complete()
        return vars(self.cls)[self.name]


class _Signature:
    """Signature of a class: that of its ``__init__``, not of ``__new__``."""

    def __get__(self, instance: object, owner: type) -> inspect.Signature:
        if instance is not None:
            raise AttributeError("__signature__")
        assert dataclasses.is_dataclass(owner)  # completes it
        signature = inspect.signature(owner.__init__)
        return signature.replace(parameters=[*signature.parameters.values()][1:])  # without self
