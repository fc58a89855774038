"""The rules of annotations: which values they allow, and how to say so.

:func:`constraint_of` is the only place that takes annotations apart. It returns a :class:`Constraint`, which converts
values, and says in words and as JSON schema which values it allows:

    k: Annotated[int, Ge(2)]
    alpha: Annotated[Number, Gt(0), Le(1)]
    missing: Literal["strict", "loose"]
    weights: Mapping[str, Weight]

Conversions: text to an enum or a path, a list to a tuple, a mapping to a new dictionary. Not converted: text to a
number, a truth value to a number, anything to text. A number must be finite and of a size that can be computed with,
unless the annotation says otherwise. When a plan is read, a :class:`Reader` builds objects from tables of the plan.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen

from shoal.errors import ShoalError
from shoal.runtime.lazy_dataclass import dataclass
from shoal.runtime.marks import (
    ALLOW_INFINITE,
    CELL,
    EXACT,
    FROM_TEXT,
    MAX_EXPONENT,
    MAX_INTEGER,
    ONE_OR_MORE,
    exact_number,
)

MAX_VALUE_CHARACTERS_IN_MESSAGE = 60
KeyPath = tuple[str, ...]
"""The keys that lead to a value of a plan."""


@dataclass(frozen=True)
class Fault:
    """One fault of a section: a key that is wrong, unknown or lacking.

    Attributes
    ----------
    where
        The keys that lead to it.
    kind
        What is wrong; a ``refused`` value fits its annotation but has an ``error``.
    expected, found
        The rule in words, and the value without its content; of an unknown key, the known ones.
    """

    where: KeyPath
    kind: Literal["wrong", "unknown", "lacking", "refused"] = "wrong"
    expected: str = ""
    found: str = ""
    error: ShoalError | None = None


class Mismatch(ValueError):
    """A value that does not fit, with all its faults."""

    def __init__(self, *faults: Fault) -> None:
        super().__init__()
        self.faults = faults


class Reader(Protocol):
    """Build the objects of a plan from its tables and texts."""

    def build(self, kind: type, value: object, where: KeyPath) -> object:
        """Build an object of a class; raise :class:`Mismatch` otherwise."""
        ...


def describe_value(value: object) -> str:
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


@dataclass(frozen=True)
class Constraint:
    """The rule of an annotation.

    Attributes
    ----------
    words, schema
        Which values are allowed, in words and as JSON schema.
    change
        Returns a value in the form of the rule, given its keys and the reader of a plan; raises anything otherwise.
    marks
        Bounds and marks of the annotation.
    optional
        Whether the value may be None.
    kinds
        Classes of objects that the values are or contain.
    """

    words: str
    schema: Mapping[str, Any]
    change: Callable[[Any, KeyPath, Reader | None], Any]
    marks: tuple[Any, ...] = ()
    optional: bool = False
    kinds: tuple[type, ...] = ()

    def convert(self, value: object, where: KeyPath = (), reader: Reader | None = None) -> Any:
        """Return the value in the form of the rule, or raise Mismatch."""
        if value is None and self.optional:
            return None
        try:
            return self.change(value, where, reader)
        except (Mismatch, ShoalError):
            raise
        except Exception:  # whatever a strange object raises, it does not match
            raise Mismatch(Fault(where, "wrong", self.words, describe_value(value))) from None


def constraint_of(hint: Any, marks: tuple[Any, ...] = ()) -> Constraint:
    """Return the rule of an annotation.

    >>> constraint_of(Annotated[int, Ge(2)]).words, constraint_of(Annotated[int, Ge(2)]).schema
    ('a whole number of at least 2', {'type': 'integer', 'minimum': 2})
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return constraint_of(inner[0], (*marks, *inner[1:]))
    if hint is Any:
        return Constraint("any value", {}, lambda value, *_: value, marks)
    if EXACT in marks:
        kinds = {"anyOf": [{"type": "number", **_bounds_in_json(marks)}, {"type": "string"}]}
        return Constraint(f"a number{_bounds_in_words(marks)}", kinds, partial(_as_written, marks), marks)
    if origin in (Union, types.UnionType):
        rules = [constraint_of(part, marks) for part in inner if part is not type(None)]
        either = rules[0] if len(rules) == 1 else _either(rules)
        return replace(either, marks=marks or either.marks, optional=type(None) in inner)
    if origin is Literal:
        return _choice({value: value for value in inner}, marks)
    if origin is tuple:
        return _list([constraint_of(part) for part in inner if part is not Ellipsis], Ellipsis not in inner, marks)
    if origin is not None and issubclass(origin, Mapping):
        return _table(constraint_of(inner[0]), constraint_of(inner[1]), marks)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _choice({str(member.value): member for member in hint}, marks)
    if hint in SIMPLE:
        words, json_type, change = SIMPLE[hint]
        schema = {} if CELL in marks else {"type": json_type, **_bounds_in_json(marks)}
        words = "text of one character" if MaxLen(1) in marks else f"{words}{_bounds_in_words(marks)}"
        return Constraint(words, schema, partial(change, marks), marks)
    name = getattr(hint, "__name__", str(hint))
    words = f"{'an' if name[0] in 'AEIO' else 'a'} {name}"
    return Constraint(words, {"$ref": f"#/$defs/{name}"}, partial(_object, hint), marks, kinds=(hint,))


# -- bounds ---------------------------------------------------------------------------------------------------------

Marks = tuple[Any, ...]
BOUNDS: dict[type, tuple[str, Callable[[Any, Any], bool], str]] = {
    Ge: ("ge", operator.ge, "minimum"),
    Gt: ("gt", operator.gt, "exclusiveMinimum"),
    Le: ("le", operator.le, "maximum"),
    Lt: ("lt", operator.lt, "exclusiveMaximum"),
    MinLen: ("min_length", lambda value, smallest: len(value) >= smallest, "minLength"),
    MaxLen: ("max_length", lambda value, largest: len(value) <= largest, "maxLength"),
}
"""Attribute, comparison and JSON key of each bound."""


def _within(marks: Marks, value: Any) -> Any:
    """Return the value if it is within the bounds."""
    for bound in marks:
        if type(bound) in BOUNDS:
            attribute, holds, _ = BOUNDS[type(bound)]
            if not holds(value, getattr(bound, attribute)):
                raise ValueError("out of bounds")
    return value


def _bounds_in_json(marks: Marks, unit: str = "Length") -> dict[str, Any]:
    found = [(BOUNDS[type(bound)], bound) for bound in marks if type(bound) in BOUNDS]
    return {key.replace("Length", unit): getattr(bound, attribute) for (attribute, _, key), bound in found}


def _bounds_in_words(marks: Marks) -> str:
    found = _bounds_in_json(marks)
    low, above, high = (found.get(key) for key in ("minimum", "exclusiveMinimum", "maximum"))
    if low is not None and high is not None:
        return f" from {low} to {high}"
    words = [f"of at least {low}"] if low is not None else [f"above {above}"] if above is not None else []
    words += [f"at most {high}"] if high is not None else []
    return f" {' and '.join(words)}" if words else ""


# -- single values --------------------------------------------------------------------------------------------------


def _as_number(kind: type, marks: Marks, value: Any, where: KeyPath, reader: Reader | None) -> Any:
    """Return a number of this kind; NumPy numbers become plain ones."""
    if reader is not None and FROM_TEXT in marks and isinstance(value, str | float):
        value = int(value) if float(value).is_integer() else value
    if isinstance(value, bool | str | bytes | Fraction | Decimal):
        raise ValueError("not a number")
    if hasattr(value, "__index__"):
        value = value.__index__()
    elif kind is float and isinstance(value, float):
        value = float(value)
    if not isinstance(value, kind | int):  # type: ignore[arg-type, unused-ignore]
        raise ValueError("another kind of number")
    if ALLOW_INFINITE not in marks:
        stated: list[Any] = [bound.le for bound in marks if isinstance(bound, Le)]
        limit = max([MAX_INTEGER if kind is int else 10**MAX_EXPONENT, *stated])
        if not -limit <= value <= limit:  # also false for NaN
            raise ValueError("not a number that can be computed with")
    elif value != value:  # NaN
        raise ValueError("not a number")
    return _within(marks, value)


def _as_written(marks: Marks, value: Any, where: KeyPath, reader: Reader | None) -> int | float | Fraction:
    """Return an exact number: integers and floats as is, else a fraction."""
    number: Fraction = _within(marks, exact_number(value))
    return value if isinstance(value, int | float) else number


def _as_text(marks: Marks, value: Any, where: KeyPath, reader: Reader | None) -> Any:
    if reader is not None and CELL in marks:
        return cell_text(value)
    if not isinstance(value, str):
        raise ValueError("not text")
    value.encode()  # half of a surrogate pair is no text
    return _within(marks, value)


def cell_text(value: object) -> str:
    """Return a value that a plan lists as the text of a cell."""
    return str(value).lower() if isinstance(value, bool) else str(value)


TRUTHS = {True: ("true", "yes", "on", "t", "y", "1"), False: ("false", "no", "off", "f", "n", "0")}
"""Texts for truth values in a plan, since a variable is text."""


def _as_truth(marks: Marks, value: Any, where: KeyPath, reader: Reader | None) -> bool:
    if isinstance(value, bool):
        return value
    if reader is None or not isinstance(value, str | int):
        raise ValueError("not a truth value")
    return next(truth for truth, texts in TRUTHS.items() if str(value).lower() in texts)


def _as_path(marks: Marks, value: Any, where: KeyPath, reader: Reader | None) -> Path:
    if not isinstance(value, str | Path) or not str(value) or "\0" in str(value):
        raise ValueError("not a path")
    return Path(value)


def _object(kind: type, value: Any, where: KeyPath, reader: Reader | None) -> Any:
    if isinstance(value, kind):
        return value
    if reader is None:
        raise ValueError("another kind of object")
    return reader.build(kind, value, where)


SIMPLE: dict[Any, tuple[str, str, Callable[..., Any]]] = {
    int: ("a whole number", "integer", partial(_as_number, int)),
    float: ("a number", "number", partial(_as_number, float)),
    str: ("text", "string", _as_text),
    bool: ("true or false", "boolean", _as_truth),
    Path: ("a path", "string", _as_path),
}
"""Words, JSON type and conversion of simple types."""


def _choice(values: Mapping[Any, Any], marks: Marks) -> Constraint:
    *first, last = (str(value) if str(value)[0].isalpha() else repr(value) for value in values)
    words = f"{', '.join(first)} or {last}" if first else last
    return Constraint(words, {"enum": list(values)}, lambda value, *_: values[value], marks)


# -- values with parts ----------------------------------------------------------------------------------------------


def convert_parts(
    parts: Iterable[tuple[str, Constraint, Any]], where: KeyPath, reader: Reader | None
) -> dict[str, Any]:
    """Convert parts by their keys; the faults of all are raised together."""
    made: dict[str, Any] = {}
    faults: list[Fault] = []
    for key, rule, value in parts:
        try:
            made[key] = rule.convert(value, (*where, key), reader)
        except Mismatch as error:
            faults += error.faults
    if faults:
        raise Mismatch(*faults)
    return made


def _either(rules: list[Constraint]) -> Constraint:
    def change(value: Any, where: KeyPath, reader: Reader | None) -> Any:
        for rule in rules:
            with suppress(Mismatch):
                return rule.convert(value, where, reader)
        raise ValueError("none of the kinds")

    words = ", or ".join(dict.fromkeys(rule.words for rule in rules))
    kinds = tuple(kind for rule in rules for kind in rule.kinds)
    return Constraint(words, {"anyOf": [rule.schema for rule in rules]}, change, kinds=kinds)


def _list(items: list[Constraint], fixed: bool, marks: Marks) -> Constraint:
    def change(value: Any, where: KeyPath, reader: Reader | None) -> tuple[Any, ...]:
        if reader is not None and ONE_OR_MORE in marks and isinstance(value, (str, *items[0].kinds)):
            value = (value,)
        if not isinstance(value, list | tuple):  # a set has no order, and text is no list of characters
            raise ValueError("not a list")
        rules = items if fixed else items * len(value)
        parts = [(str(index), rule, item) for index, (rule, item) in enumerate(zip(rules, value, strict=True))]
        return tuple(_within(marks, convert_parts(parts, where, reader)).values())

    if fixed:
        length = len(items)
        schema = {"prefixItems": [item.schema for item in items], "minItems": length, "maxItems": length}
        return Constraint(f"a list of {length}", {"type": "array", **schema}, change, marks)
    schema = {"type": "array", "items": items[0].schema, **_bounds_in_json(marks, "Items")}
    schema = {"anyOf": [schema, {"type": "string"}]} if ONE_OR_MORE in marks else schema
    return Constraint(f"a list, each item {items[0].words}", schema, change, marks, kinds=items[0].kinds)


def _table(keys: Constraint, items: Constraint, marks: Marks) -> Constraint:
    def change(value: Any, where: KeyPath, reader: Reader | None) -> dict[Any, Any]:
        if not isinstance(value, Mapping):
            raise ValueError("not a table")
        names = [keys.convert(key, where, reader) for key in value]
        parts = [(str(key), items, item) for key, item in value.items()]
        return dict(zip(names, convert_parts(parts, where, reader).values(), strict=True))

    words = f"a table by name, each entry {items.words}"
    return Constraint(words, {"type": "object", "additionalProperties": items.schema}, change, marks, kinds=items.kinds)
