"""Conversion of short forms: a name for a list, a text for a model.

Each function converts its argument to the object it denotes, or raises an error that lists what can be given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from typing import Any, cast

from shoal.errors import PlanError
from shoal.io.engines.base import EngineSettings
from shoal.methods import METHODS, Method
from shoal.models import MODELS, Known, LooselyKnown, Model
from shoal.runtime.annotations import KeyPath
from shoal.runtime.validation import build_from_section
from shoal.schema import Column, Hierarchy, Role

ColumnsLike = str | Iterable[str]
"""One column name, or several."""
ModelsLike = Model | str | Mapping[str, Any] | Iterable[Model | str | Mapping[str, Any]]
"""A model, its text such as ``"k-anonymity k=5"`` or its section of a plan; or several of these."""
MethodLike = Method | type[Method] | str | Mapping[str, Any]
"""A method, its class, its name such as ``"mondrian"``, or its section of a plan."""
ColumnLike = Column | Role | str | Hierarchy
"""A column, its role, or the hierarchy of a quasi-identifier."""
READINGS: Mapping[Any, Callable[[Model, Any], Model]] = {"strict": Known, "loose": LooselyKnown}
"""Models of few known columns by what a suppressed cell matches: itself alone, or everything."""
EngineLike = EngineSettings | str
"""``"duckdb"``, ``"spark"`` or engine settings."""


def as_engine(given: EngineLike | None) -> EngineSettings | None:
    """Convert to engine settings; None stays None.

    >>> as_engine("spark").name
    'spark'
    """
    return EngineSettings(name=cast(Any, given)) if isinstance(given, str) else given


def as_names(given: ColumnsLike | None, what: str = "columns") -> tuple[str, ...]:
    """Convert to a tuple of names.

    >>> as_names("age"), as_names(["age", "zip"]), as_names(None)
    (('age',), ('age', 'zip'), ())
    """
    if given is None:
        return ()
    names = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else (given,)
    if not all(isinstance(name, str) for name in names):
        raise PlanError("columns.names-not-text", kind=what)
    if len(set(names)) < len(names):
        raise PlanError("columns.named-twice", kind=what, names=len(names))
    return names


def as_model(given: Model | str | Mapping[str, Any], where: KeyPath = ()) -> Model:
    """Convert to a model; ``where`` are its keys in a plan, for errors.

    >>> as_model("p-sensitive p=2"), as_model({"name": "k-anonymity", "k": 3})
    (PSensitive(p=2, column=None), KAnonymity(k=3))
    """
    if isinstance(given, Model):
        return given
    if isinstance(given, str):
        return parse_model(given, where)
    if isinstance(given, Mapping):
        return build_model(given, where)
    raise PlanError("models.not-a-model", found=type(given).__name__)


def build_model(section: Mapping[str, Any], where: KeyPath = ()) -> Model:
    """Build a model from its section of a plan.

    ``known`` limits the number of columns that the intruder knows; ``reading`` says what a suppressed cell matches.
    """
    if "known" not in section:
        return build_from_section(MODELS, section, "model", where)
    own = {key: value for key, value in section.items() if key not in ("known", "reading")}
    model = build_from_section(MODELS, own, "model", where)
    reading = section.get("reading", "strict")
    if reading not in READINGS:
        raise PlanError("models.unknown-reading", model=model.name)
    try:
        return READINGS[reading](model, section["known"])
    except PlanError as error:
        reason = error.at((*where, "known")) if where else error
        raise PlanError("models.not-usable", model=model.name, reason=reason) from None


def as_models(given: ModelsLike | None) -> tuple[Model, ...]:
    """Convert to a tuple of models."""
    if given is None:
        return ()
    if isinstance(given, Model | str | Mapping) or not isinstance(given, Iterable):
        return (as_model(given),)
    return tuple(map(as_model, given))


def as_method(given: MethodLike, suppression: float | None = None, where: KeyPath = ()) -> Method:
    """Convert to a method, with ``suppression`` if given.

    ``where`` are its keys in a plan, for errors.

    >>> as_method("full_domain", suppression=0.02).parameters["suppression"]
    0.02
    """
    more = {} if suppression is None else {"suppression": suppression}
    if isinstance(given, type) and issubclass(given, Method):
        given = given.name
    if isinstance(given, str):
        given = {"name": given.strip().lower().replace("_", "-")}
    if isinstance(given, Mapping):
        return build_from_section(METHODS, {**given, **more}, "method", where)
    if not isinstance(given, Method):
        raise PlanError("method.not-a-method", found=type(given).__name__, allowed=", ".join(METHODS))
    if more and not any(part.name == "suppression" for part in fields(given)):
        raise PlanError("method.has-no-suppression", method=given.name)
    return replace(given, **more) if more else given


def as_column(given: ColumnLike) -> Column:
    """Convert a role or the hierarchy of a quasi-identifier to a column.

    >>> as_column("quasi-identifier").role
    <Role.QUASI_IDENTIFIER: 'quasi-identifier'>
    """
    if isinstance(given, Column):
        return given
    if isinstance(given, str):  # a role is a string, too
        spelled = given.strip().lower().replace("_", "-").replace(" ", "-")
        if spelled not in set(Role):
            raise PlanError("columns.unknown-role", allowed=", ".join(Role))
        return Column(Role(spelled))
    if isinstance(given, Hierarchy) and not isinstance(given, type):
        return Column(Role.QUASI_IDENTIFIER, given)
    raise PlanError("columns.not-a-column", found=type(given).__name__)


def parse_model(text: str, where: KeyPath = ()) -> Model:
    """Parse a model from text such as ``k-anonymity k=5``.

    ``l-diversity(l=3, kind=entropy)`` is accepted, too. A column name comes last and may contain any character:
    ``p-sensitive p=2 column=blood type``.

    >>> parse_model("p-plus-alpha-sensitive p=2 alpha=2")
    PPlusAlphaSensitive(p=2, alpha=2, column=None)
    """
    # a column name may contain any character: it comes last and takes the rest of the text
    front, sign, column = text.partition("column=")
    if sign and "(" in front:
        column = column.strip().removesuffix(")")
    cleaned = front.replace("(", " ").replace(")", " ").replace(",", " ").replace(":", " ", 1)
    name, *rest = cleaned.split() or [""]
    section: dict[str, Any] = {"name": name, **({"column": column.strip()} if sign else {})}
    for item in rest:
        key, sign, value = item.partition("=")
        if not sign:
            raise PlanError("models.badly-written", found=text)
        if key in section:
            raise PlanError("models.parameter-twice", model=name, parameter=key)
        section[key] = _value(value)
    return build_model(section, where)


def _value(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
