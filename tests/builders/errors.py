"""Errors compared by code and arguments, not by their text."""

from __future__ import annotations

from collections.abc import Callable


def has_code(code: str, **arguments: object) -> Callable[[BaseException], bool]:
    """Return a check for ``pytest.raises`` by code and arguments."""

    def check(error: BaseException) -> bool:
        given = getattr(error, "arguments", {})
        return getattr(error, "code", None) == code and all(given[name] == value for name, value in arguments.items())

    return check
