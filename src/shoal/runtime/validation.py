"""Declarations: validated dataclasses, read from and written to plans.

A dataclass that derives from :class:`Validated` has all its fields checked and converted before its own
``__post_init__`` runs. That method then only states conditions on several fields. No field can be left out: the
annotation is the rule (:mod:`shoal.runtime.annotations`), the docstring describes it, the default is the default of the
plan. From them come reading a section of a plan (:func:`read_section`), writing it (:meth:`Validated.to_plan`), its
JSON schema and its documentation (:func:`keys_of`).
"""

from __future__ import annotations

import difflib
import functools
import inspect
import math
import re
import typing
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from shoal.errors import InputError, PlanError, ShoalError
from shoal.runtime.annotations import (
    Constraint,
    Fault,
    KeyPath,
    Mismatch,
    Reader,
    constraint_of,
    convert_parts,
    describe_value,
)
from shoal.runtime.marks import (
    ALLOW_INFINITE,
    EXACT,
    INLINE,
    MAX_EXPONENT,
    MAX_INTEGER,
    NOT_IN_PLAN,
    Key,
    Name,
    Number,
    Seconds,
    Share,
    Weight,
    exact_number,
)

__all__ = [
    "ALLOW_INFINITE",
    "EXACT",
    "MAX_EXPONENT",
    "MAX_INTEGER",
    "Name",
    "Number",
    "Seconds",
    "Share",
    "Validated",
    "Weight",
    "build_from_section",
    "changed_fields",
    "exact_number",
    "inline_value",
    "keys_of",
    "plain",
    "plan_value",
    "read_section",
]

Made = TypeVar("Made")


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

    def to_plan(self) -> Any:
        """Return the object as a section of a plan, without defaults."""
        return changed_fields(self)


def _convert(made: Validated) -> None:
    for part in _declared(type(made)):  # type: ignore[arg-type]
        value = getattr(made, part.field)
        try:
            converted = part.constraint.convert(value)
        except Mismatch as error:
            inside = error.faults[0].where
            entry = f" whose entry {describe_value(inside[0])} is not" if inside and isinstance(value, Mapping) else ""
            found = f"{describe_value(value)}{entry}"
            raise made.fault(
                "plan.parameter-not-valid", parameter=part.field, expected=part.constraint.words, found=found
            ) from None
        object.__setattr__(made, part.field, converted)


# -- declarations ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DeclaredKey:
    """A declared field: its key in a plan, its rule, default and description.

    ``field`` is the field of its class; ``default`` is MISSING if the key must be given.
    """

    key: str
    field: str
    constraint: Constraint
    default: Any
    description: str

    @property
    def required(self) -> bool:
        """Return whether the key must be given."""
        return self.default is MISSING

    @property
    def inline(self) -> type | None:
        """The class of an object with its keys in the section of the owner."""
        return self.constraint.kinds[0] if INLINE in self.constraint.marks else None


@functools.cache
def _declared(kind: type) -> tuple[DeclaredKey, ...]:
    """Return the declared fields of a class."""
    hints = typing.get_type_hints(kind, include_extras=True)
    described = field_descriptions(kind)
    found = []
    for part in fields(kind):
        rule = constraint_of(hints[part.name])
        key = next((mark.word for mark in rule.marks if isinstance(mark, Key)), part.name)
        default = part.default if part.default_factory is MISSING else part.default_factory()
        found.append(DeclaredKey(key, part.name, rule, default, described.get(part.name, "")))
    return tuple(found)


def keys_of(kind: type) -> tuple[DeclaredKey, ...]:
    """Return all keys of the section of a class, with those of inline objects."""
    found: list[DeclaredKey] = []
    for part in _declared(kind):
        if part.inline is not None:
            default = MISSING if part.required else None  # an object that is optional has no key that is not
            found += [replace(key, default=default) if key.required else key for key in keys_of(part.inline)]
        elif NOT_IN_PLAN not in part.constraint.marks:
            found.append(part)
    return tuple(found)


def field_descriptions(kind: type) -> dict[str, str]:
    """Return the description of each field from the docstrings of a class.

    Docstrings of base classes count, too.
    """
    found: dict[str, str] = {}
    for base in (base for base in reversed(kind.__mro__) if "__doc__" in vars(base)):
        doc = inspect.cleandoc(base.__doc__ or "")
        for listed in re.findall(r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=\n\n\w+\n-+\n|\Z)", doc, re.M | re.S):
            for names, text in re.findall(r"^(\w.*)\n((?: +.*(?:\n|\Z)|\n)+)", listed, re.M):
                text = re.sub(r":\w+:`~?(?:\w+\.)*(\w+)`", r"`\1`", text)
                found |= dict.fromkeys(names.split(", "), " ".join(text.replace("``", "`").split()))
    return found


# -- from a plan ----------------------------------------------------------------------------------------------------


def read_section(kind: type[Made], section: object, where: KeyPath, reader: Reader) -> Made:
    """Build an object from a section of a plan.

    Raises :class:`Mismatch` with all faults of the section.
    """
    values = read_values(kind, section, where, reader)
    try:
        return kind(**values)
    except ShoalError as error:
        raise Mismatch(Fault(where, "refused", error=locate_error(error, where))) from None


def read_values(kind: type, section: object, where: KeyPath, reader: Reader) -> dict[str, Any]:
    """Read the fields of a class from a section of a plan; None is not given."""
    if not isinstance(section, Mapping):
        raise Mismatch(Fault(where, "wrong", "a table", describe_value(section)))
    given = {str(key): value for key, value in section.items() if value is not None}
    known = {part.key for part in keys_of(kind)}
    values: dict[str, Any] = {}
    faults: list[Fault] = []
    for part in _declared(kind):
        try:
            if NOT_IN_PLAN in part.constraint.marks:
                continue
            if part.inline is not None:
                keys = [key for key in keys_of(part.inline) if key.key in given]
                if part.required or (keys and all(key in keys for key in keys_of(part.inline) if key.required)):
                    inner = {key.key: given[key.key] for key in keys}
                    values[part.field] = read_section(part.inline, inner, where, reader)
                else:
                    convert_parts([(key.key, key.constraint, given[key.key]) for key in keys], where, reader)
            elif part.key in given:
                values[part.field] = part.constraint.convert(given[part.key], (*where, part.key), reader)
            elif part.required:
                faults.append(Fault((*where, part.key), "lacking"))
        except Mismatch as error:
            faults += error.faults
    faults += [Fault((*where, key), "unknown", ", ".join(known) or "none") for key in given if key not in known]
    if faults:
        raise Mismatch(*faults)
    return values


def build_from_section(
    known: Mapping[str, type[Made]], section: Mapping[str, Any], what: str, where: KeyPath = ()
) -> Made:
    """Build an object from a section of a plan.

    The section must have a known name and only parameters of its class.
    """
    given = {str(key): value for key, value in section.items()}
    name = given.pop("name", None)
    if not isinstance(name, str) or name not in known:
        close = difflib.get_close_matches(name, known, 1) if isinstance(name, str) else []
        hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}."
        raise PlanError("plan.unknown-name", where=(*where, "name"), kind=what, found=describe_value(name), hint=hint)
    for key in getattr(known[name], "removed_parameters", ()):
        if key in given:
            del given[key]
            warnings.warn(
                f"The {what} {name!r} has no parameter {key!r} any more: it had no effect. Remove it from the plan.",
                DeprecationWarning,
                stacklevel=2,
            )
    parts = {part.key: part for part in keys_of(known[name])}
    for key in given:
        if key not in parts:
            raise PlanError(
                "plan.unknown-parameter",
                where=(*where, key),
                kind=what,
                name=name,
                parameter=key,
                allowed=", ".join(parts) or "none",
            )
    for key, part in parts.items():
        if key not in given and part.required:
            raise PlanError("plan.parameter-missing", where=(*where, key), kind=what, name=name, parameter=key)
    try:
        return known[name](**given)
    except PlanError as error:
        raise type(error)("plan.part-not-usable", kind=what, name=name, reason=locate_error(error, where)) from None


def locate_error(error: ShoalError, where: KeyPath) -> ShoalError:
    """Return the error of an object with the keys of the object in a plan."""
    parameter = (str(error.arguments["parameter"]),) if error.code == "plan.parameter-not-valid" else ()
    return error.at((*where, *parameter)) if where else error


# -- to a plan ------------------------------------------------------------------------------------------------------


def changed_fields(made: Any, *silent: str) -> dict[str, Any]:
    """Return the keys of an object that differ from their defaults.

    The values are in the form of TOML.
    """
    section: dict[str, Any] = {}
    for part in _declared(type(made)):  # type: ignore[arg-type]
        value = getattr(made, part.field)
        if part.field in silent or NOT_IN_PLAN in part.constraint.marks:
            continue
        if part.inline is not None:
            section |= {} if value is None else changed_fields(value)
        elif value != part.default or type(value) is not type(part.default):
            section[part.key] = plan_value(value)
    return section


def plan_value(value: Any) -> Any:
    """Return a field in the form of TOML.

    An object with ``to_plan`` converts itself.
    """
    if hasattr(value, "to_plan"):
        return value.to_plan()
    if isinstance(value, Fraction | Path | Enum):
        return str(value)
    if isinstance(value, Mapping):
        return {key: plan_value(item) for key, item in value.items()}
    return [plan_value(item) for item in value] if isinstance(value, tuple) else value


def inline_value(value: Any) -> str:
    """Format a value on one line, as in a plan file."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {inline_value(item)}' for key, item in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(inline_value, value))}]"
    return str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else str(value)


def plain(value: Any) -> Any:
    """Convert a value to JSON types.

    Numbers and text stay as they are; dates, infinities and fractions become text.
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    if isinstance(value, bool | int | str) or value is None or (isinstance(value, float) and math.isfinite(value)):
        return value
    return str(value)
