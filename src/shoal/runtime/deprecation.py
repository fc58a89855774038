"""Parameters under former names."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def renamed_parameter(old: str, new: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Accept a parameter under its former name too, with a warning.

    >>> @renamed_parameter("colour", "color")
    ... def paint(color: str = "blue") -> str:
    ...     return color
    >>> with warnings.catch_warnings(action="ignore"):
    ...     paint(colour="red")
    'red'
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
            given: dict[str, Any] = kwargs
            if old in given:
                text = f"The parameter {old!r} of {function.__name__} is deprecated; use {new!r}."
                warnings.warn(text, DeprecationWarning, stacklevel=2)
                given.setdefault(new, given.pop(old))
            return function(*args, **kwargs)

        return wrapper

    return decorate
