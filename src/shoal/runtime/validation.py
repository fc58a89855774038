"""Validation of dataclass fields by their annotations.

A dataclass that derives from :class:`Validated` has all its fields checked and converted before its own
``__post_init__`` runs. That method then only states conditions on several fields. No field can be left out: the
annotation is the rule, and its bounds are data that can be read back:

    k: Annotated[int, Ge(2)]
    alpha: Annotated[Number, Gt(0), Le(1)]
    missing: Literal["strict", "loose"]
    weights: Mapping[str, Weight]

Conversions: text to an enum or a path, a list to a tuple, a mapping to a new dictionary. Not converted: text to a
number, a truth value to a number, anything to text. A number must be finite and of a size that can be computed with,
unless the annotation says otherwise. Pydantic does the work; it is loaded when the first object is made.
"""

from __future__ import annotations

import difflib
import functools
import math
import types
import typing
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen

from shoal.errors import InputError, PlanError, ShoalError

MAX_INTEGER = 2**53 - 1
"""The largest integer by default: beyond it floats no longer distinguish neighbours."""

MAX_EXPONENT = 300
"""Numbers beyond 10**300 or below 10**-300 are rejected: exact arithmetic on 1e999999999 would not end."""

MAX_VALUE_CHARACTERS_IN_MESSAGE = 60


@dataclass(frozen=True)
class _Marker:
    """Marker in an annotation that no library defines."""

    word: str


EXACT = _Marker("exact")
"""A number that is compared exactly: it may be text such as "4/3", and stays as the user wrote it."""

ALLOW_INFINITE = _Marker("open")
"""A number that may be infinite."""

Number = Annotated[int | float | str | Fraction | Decimal, EXACT]
Share = Annotated[float, Ge(0), Le(1)]
Weight = Annotated[float, Ge(1e-9), Le(1e9)]
Seconds = Annotated[float, Gt(0), Le(1e9)]
Name = Annotated[str, MinLen(1)]


def exact_number(number: object) -> Fraction:
    """Return the number as the user wrote it, as an exact fraction.

    0.1 is one tenth, not the nearest float. Raises ValueError if the value is not a number.
    """
    if isinstance(number, bool) or not isinstance(number, int | float | str | Fraction | Decimal):
        raise ValueError("not a number")
    if isinstance(number, float | Decimal) and not math.isfinite(number):
        raise ValueError("not finite")
    if isinstance(number, str | float | Decimal):
        text = str(number).strip()
        if len(text) > 2 * MAX_EXPONENT:
            raise ValueError("too long")
        power = text.lower().rpartition("e")[2] if "e" in text.lower() else "0"
        if abs(int(power)) > MAX_EXPONENT:
            raise ValueError("too large or too small")
        try:
            number = Fraction(text)
        except ZeroDivisionError:
            raise ValueError("a division by zero") from None
    found = Fraction(number)
    limit = 10**MAX_EXPONENT
    if abs(found) > limit or found.denominator > limit:
        raise ValueError("too large or too small")
    return found


class Validated:
    """Base class of dataclasses with validated fields.

    ``fault`` is the exception class for a field that does not match its annotation.
    """

    fault: ClassVar[type[InputError]] = PlanError

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = cls.__dict__.get("__post_init__")
        if own is None:
            return

        @functools.wraps(own)
        def check_all(self: Validated) -> None:
            _convert(self)
            own(self)

        cls.__post_init__ = check_all  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        _convert(self)


def _convert(made: Validated) -> None:
    for name, (adapter, expected) in _rules(type(made)).items():  # type: ignore[arg-type]
        value = getattr(made, name)
        try:
            converted = adapter.validate_python(value)
        except ShoalError:
            raise
        except Exception as error:  # whatever a strange object raises, it does not match
            found = f"{_describe_value(value)}{_entry(value, error)}"
            raise made.fault("plan.parameter-not-valid", parameter=name, expected=expected, found=found) from None
        object.__setattr__(made, name, converted)


def _entry(value: object, error: Exception) -> str:
    """Return which entry of a mapping is wrong, by its key."""
    if not isinstance(value, Mapping) or not hasattr(error, "errors"):
        return ""
    locations = {location for fault in error.errors(include_input=False) for location in fault["loc"]}
    wrong = [key for key in value if key in locations]
    return f" whose entry {_describe_value(wrong[0])} is not" if wrong else ""


def _describe_value(value: object) -> str:
    """Return a value for a message: short text, a number, or only its type."""
    if value is None or isinstance(value, bool | int | float | str):
        try:
            text = repr(value)
        except ValueError:  # more digits than Python converts
            return "a number of too many digits"
        return (
            text if len(text) <= MAX_VALUE_CHARACTERS_IN_MESSAGE else f"{text[: MAX_VALUE_CHARACTERS_IN_MESSAGE - 1]}…"
        )
    if isinstance(value, list | tuple | set | frozenset):
        return f"a list of {len(value)}"
    return "a table" if isinstance(value, Mapping) else f"an object of kind {type(value).__name__}"


@functools.cache
def _rules(kind: type) -> dict[str, tuple[Any, str]]:
    """Return for each field its Pydantic adapter and its rule in words."""
    from pydantic import TypeAdapter

    hints = typing.get_type_hints(kind, include_extras=True)
    return {
        part.name: (TypeAdapter(_strict(hints[part.name])), describe_annotation(hints[part.name]))
        for part in fields(kind)
    }


# -- annotations for Pydantic ---------------------------------------------------------------------------------------


def _strict(hint: Any, bounds: tuple[Any, ...] = ()) -> Any:
    """Return an annotation for Pydantic without implicit conversions.

    Numbers must be finite and within bounds.
    """
    from pydantic import AfterValidator, BeforeValidator, Strict

    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _strict(inner[0], (*bounds, *inner[1:]))
    if hint is Any or hint is None or hint is type(None) or origin is Literal:
        return hint
    if EXACT in bounds:
        return Annotated[Any, AfterValidator(functools.partial(_as_written, bounds=bounds))]
    if origin in (Union, types.UnionType):
        return Union[tuple(_strict(part, bounds) for part in inner)]  # noqa: UP007 - the parts are not known here
    if origin is tuple:
        parts = tuple(part if part is Ellipsis else _strict(part) for part in inner)
        return Annotated[tuple[parts], BeforeValidator(_as_list), *bounds]  # type: ignore[valid-type]
    if origin is not None and issubclass(origin, Mapping):
        return Annotated[dict[_strict(inner[0]), _strict(inner[1])], BeforeValidator(_as_table), *bounds]  # type: ignore[misc]
    if hint in (int, float):
        return Annotated[Any, AfterValidator(functools.partial(_as_number, kind=hint, bounds=bounds))]
    if hint is Path:
        return Annotated[Any, AfterValidator(_as_path)]
    if hint in (bool, str):
        return Annotated[hint, Strict(), *bounds]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint
    return Annotated[Any, AfterValidator(functools.partial(_as_object, kind=hint))]


def _as_number(value: object, kind: type, bounds: tuple[Any, ...]) -> int | float:
    """Return a number of this kind; NumPy numbers become plain ones."""
    if isinstance(value, bool | str | bytes | Fraction | Decimal):
        raise ValueError("not a number")
    if hasattr(value, "__index__"):
        value = value.__index__()
    elif kind is float and isinstance(value, float):
        value = float(value)
    if not isinstance(value, kind | int):  # type: ignore[arg-type, unused-ignore]
        raise ValueError("another kind of number")
    assert isinstance(value, int | float)
    if ALLOW_INFINITE not in bounds:
        largest = MAX_INTEGER if isinstance(value, int) and kind is int else 10**MAX_EXPONENT
        stated: list[Any] = [bound.le for bound in bounds if isinstance(bound, Le)]
        limit = max([largest, *stated])
        if not -limit <= value <= limit:  # also false for NaN
            raise ValueError("not a number that can be computed with")
    elif math.isnan(value):
        raise ValueError("not a number")
    _check_bounds(value, bounds)
    return value


def _as_written(value: object, bounds: tuple[Any, ...]) -> int | float | Fraction:
    """Return an exact number: integers and floats as is, else a fraction."""
    number = exact_number(value)
    _check_bounds(number, bounds)
    if isinstance(value, int | float):
        return value
    return number


def _check_bounds(number: Any, bounds: tuple[Any, ...]) -> None:
    for bound in bounds:
        if (
            (isinstance(bound, Ge) and not number >= bound.ge)
            or (isinstance(bound, Gt) and not number > bound.gt)
            or (isinstance(bound, Le) and not number <= bound.le)
            or (isinstance(bound, Lt) and not number < bound.lt)
        ):
            raise ValueError("out of bounds")


def _as_list(value: object) -> object:
    if not isinstance(value, list | tuple):  # a set has no order, and text is no list of characters
        raise ValueError("not a list")
    return tuple(value)


def _as_table(value: object) -> object:
    if not isinstance(value, Mapping):
        raise ValueError("not a table")
    return dict(value)


def _as_object(value: object, kind: type) -> object:
    if not isinstance(value, kind):
        raise ValueError("another kind of object")
    return value


def _as_path(value: object) -> Path:
    if not isinstance(value, str | Path) or not str(value) or "\0" in str(value):
        raise ValueError("not a path")
    return Path(value)


# -- annotations in words -------------------------------------------------------------------------------------------


def describe_annotation(hint: Any, bounds: tuple[Any, ...] = ()) -> str:
    """Return in words which values an annotation allows.

    >>> describe_annotation(Annotated[int, Ge(2)]), describe_annotation(Share)
    ('a whole number of at least 2', 'a number from 0 to 1')
    >>> describe_annotation(Literal["strict", "loose"])
    'strict or loose'
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return describe_annotation(inner[0], (*bounds, *inner[1:]))
    if EXACT in bounds:
        return f"a number{_limits(bounds)}"
    if origin in (Union, types.UnionType):
        parts = dict.fromkeys(describe_annotation(part, bounds) for part in inner if part is not type(None))
        return ", or ".join(parts)
    if origin is Literal:
        return _one_of(tuple(map(str, inner)))
    if origin is tuple:
        kinds = [describe_annotation(part) for part in inner if part is not Ellipsis]
        return f"a list of {len(kinds)}" if Ellipsis not in inner else f"a list, each item {kinds[0]}"
    if origin is not None and issubclass(origin, Mapping):
        return f"a table by name, each entry {describe_annotation(inner[1])}"
    if hint in (int, float):
        return f"{'a whole number' if hint is int else 'a number'}{_limits(bounds)}"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _one_of(tuple(str(member.value) for member in hint))
    if hint is str and MaxLen(1) in bounds:
        return "text of one character"
    plain = {bool: "true or false", str: "text", Path: "a path"}
    return plain.get(hint, f"an object of kind {getattr(hint, '__name__', hint)}")


def _limits(bounds: Sequence[Any]) -> str:
    low = [bound.ge for bound in bounds if isinstance(bound, Ge)]
    above = [bound.gt for bound in bounds if isinstance(bound, Gt)]
    high = [bound.le for bound in bounds if isinstance(bound, Le)]
    if low and high:
        return f" from {low[0]} to {high[0]}"
    words = [f"of at least {low[0]}"] if low else [f"above {above[0]}"] if above else []
    words += [f"at most {high[0]}"] if high else []
    return f" {' and '.join(words)}" if words else ""


def _one_of(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


# -- from a plan's section ------------------------------------------------------------------------------------------

Made = TypeVar("Made")


def build_from_section(known: Mapping[str, type[Made]], section: Mapping[str, Any], what: str) -> Made:
    """Build an object from a section of a plan.

    The section must have a known name and only parameters of its class.
    """
    given = {str(key): value for key, value in section.items()}
    name = given.pop("name", None)
    if not isinstance(name, str) or name not in known:
        close = difflib.get_close_matches(name, known, 1) if isinstance(name, str) else []
        hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}."
        raise PlanError("plan.unknown-name", kind=what, found=_describe_value(name), hint=hint)
    for key in getattr(known[name], "removed_parameters", ()):
        if key in given:
            del given[key]
            warnings.warn(
                f"The {what} {name!r} has no parameter {key!r} any more: it had no effect. Remove it from the plan.",
                DeprecationWarning,
                stacklevel=2,
            )
    parts = {part.name: part for part in fields(known[name])}  # type: ignore[arg-type]
    for key in given:
        if key not in parts:
            raise PlanError(
                "plan.unknown-parameter", kind=what, name=name, parameter=key, allowed=", ".join(parts) or "none"
            )
    for key, part in parts.items():
        if key not in given and part.default is MISSING and part.default_factory is MISSING:
            raise PlanError("plan.parameter-missing", kind=what, name=name, parameter=key)
    try:
        return known[name](**given)
    except PlanError as error:
        raise type(error)(f"The {what} {name!r}: {error}") from None
