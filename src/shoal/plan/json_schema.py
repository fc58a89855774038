"""The JSON schema of plan files, made from what models, methods and hierarchies say of their fields.

It is shipped as ``plan.schema.json`` beside this file, so that editors complete and check plans:

    #:schema PATH/plan.schema.json

``python -m shoal.plan.json_schema`` writes it anew; a test holds it to be current. What depends on the data, or on several
fields at once, is checked when the plan is read.
"""

from __future__ import annotations

import inspect
import json
import re
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, fields
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen

from shoal.io.engines.base import EngineSettings, Source
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.methods import METHODS
from shoal.models import MODELS, KeySet
from shoal.plan.plan import Output, _Document
from shoal.runtime.validation import EXACT
from shoal.schema import HIERARCHIES, Column, Role
from shoal.schema.hierarchy import plan_value

__all__ = ["FILE", "meanings", "plan_schema"]

FILE = Path(__file__).with_name("plan.schema.json")
DIALECT = "https://json-schema.org/draft/2020-12/schema"
SECTIONS: dict[str, tuple[type, ...]] = {
    "Source": (Source, CsvFormat),
    "Column": (Column,),
    "Output": (Output,),
    "Engine": (EngineSettings,),
    "Key": (KeySet,),
}
"""Of every section of a plan, the classes whose docstrings say what its keys mean."""
WHOLE = {
    "source": "Where the table is, and how it is written.",
    "columns": "Every column of the table by name: its role, or its role with what is known of its values.",
    "models": "What every group must meet: one model or several.",
    "keys": "Sets of columns that are known together; where there are any, models bind them in place of all columns.",
    "method": "How groups are formed; full-domain where nothing is said.",
    "output": "Where the release goes.",
    "engine": "Which engine does the work, and how much of the machine it may use.",
    "seed": "Of what is drawn by lot.",
}
"""What each section of a plan is for."""


def plan_schema() -> dict[str, Any]:
    """The schema: sections as the plan's reader has them, with every model, method and hierarchy of shoal's own."""
    schema = _Document.model_json_schema()
    parts = schema.pop("$defs")
    parts = {name.lstrip("_"): part for name, part in parts.items() if name != "Role"}
    schema = _renamed({**schema, "$defs": parts})
    roles = {"enum": [str(role) for role in Role], "description": "What the column may tell an intruder."}
    for name, kinds in SECTIONS.items():
        _describe(schema["$defs"][name]["properties"], *kinds)
    for name, said in WHOLE.items():
        schema["properties"][name]["description"] = said
    column = schema["$defs"]["Column"]
    column["properties"]["category_names"]["description"] = "What the categories are called, one name for each."
    column["properties"]["role"] = roles
    column["properties"]["hierarchy"] |= {"$ref": "#/$defs/Hierarchy"}
    column["properties"]["hierarchy"].pop("anyOf")
    column["properties"]["hierarchy"].pop("default")
    schema["$defs"] |= {
        "Hierarchy": {"oneOf": [_hierarchy(key, kind) for key, kind in _own(HIERARCHIES).items()]},
        "Model": {"anyOf": [{"type": "string", "description": "Such as k-anonymity k=5."}, *_models()]},
        "Method": {"anyOf": [{"enum": list(_own(METHODS))}, *_named(METHODS)]},
    }
    schema["properties"]["columns"]["additionalProperties"] = {"anyOf": [{"$ref": "#/$defs/Column"}, roles]}
    model: dict[str, Any] = {"$ref": "#/$defs/Model"}
    several = {"anyOf": [{"type": "array", "items": model}, model]}
    schema["properties"]["models"] = {**several, "description": WHOLE["models"]}
    schema["$defs"]["Key"]["properties"]["models"] |= {"type": "array", "items": model}
    schema["properties"]["method"] = {"$ref": "#/$defs/Method", "description": WHOLE["method"]}
    return {"$schema": DIALECT, **schema, "title": "A plan of shoal", "description": "What is to be released, and how."}


def _own(known: Mapping[str, type]) -> dict[str, type]:
    """What shoal itself has of a registry; what other packages add is theirs to describe."""
    return dict(getattr(known, "own", known))


def meanings(*kinds: type) -> dict[str, str]:
    """What the docstrings of classes, and of those that they are made from, say of each field.

    >>> meanings(KeySet)["columns"]
    'The quasi-identifiers that are known together, twelve at most.'
    """
    found: dict[str, str] = {}
    for kind in (base for given in kinds for base in reversed(given.__mro__) if "__doc__" in vars(base)):
        doc = inspect.cleandoc(kind.__doc__ or "")
        for listed in re.findall(r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=\n\n\w+\n-+\n|\Z)", doc, re.M | re.S):
            for names, said in re.findall(r"^(\w.*)\n((?: +.*(?:\n|\Z)|\n)+)", listed, re.M):
                found |= dict.fromkeys(names.split(", "), _plain(said))
    return found


def _plain(said: str) -> str:
    """A docstring's sentences in a line, without the marks of references."""
    said = re.sub(r":\w+:`~?(?:\w+\.)*(\w+)`", r"`\1`", said)
    return " ".join(said.replace("``", "`").split())


def _describe(properties: dict[str, Any], *kinds: type) -> None:
    for name, said in meanings(*kinds).items():
        if name in properties:
            properties[name]["description"] = said


def _renamed(part: Any) -> Any:
    """The same with the names of sections as people would say them, and without titles that repeat a key."""
    if isinstance(part, dict):
        kept = {key: _renamed(value) for key, value in part.items() if not (key == "title" and isinstance(value, str))}
        if isinstance(kept.get("$ref"), str):
            kept["$ref"] = kept["$ref"].replace("/_", "/")
        return kept
    return [_renamed(item) for item in part] if isinstance(part, list) else part


def _named(known: Mapping[str, type]) -> list[dict[str, Any]]:
    return [
        {
            "type": "object",
            "description": _first_line(kind),
            "properties": {"name": {"const": name}, **_properties(kind)},
            "required": ["name", *_required(kind)],
            "additionalProperties": False,
        }
        for name, kind in _own(known).items()
    ]


def _models() -> list[dict[str, Any]]:
    """Every model, which may say how much the intruder knows."""
    known = {"known": {"type": "integer", "minimum": 1, "description": "The most columns that the intruder knows."}}
    return [{**model, "properties": {**model["properties"], **known}} for model in _named(MODELS)]


def _hierarchy(key: str, kind: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(kind, include_extras=True)
    options = {name: in_json(hints[name]) for name in kind.options if name in hints}
    described = {"description": f"{_first_line(kind)} For example {kind.example}."}
    return {
        "type": "object",
        "properties": {key: described, **options},
        "required": [key],
        "additionalProperties": False,
    }


def _first_line(kind: type) -> str:
    return (inspect.getdoc(kind) or "").partition("\n")[0]


def _properties(kind: type) -> dict[str, Any]:
    hints = typing.get_type_hints(kind, include_extras=True)
    found = {}
    for part in fields(kind):
        described = in_json(hints[part.name])
        if part.default is not MISSING and part.default is not None:
            described = {**described, "default": plan_value(part.default)}
        found[part.name] = described
    _describe(found, kind)
    return found


def _required(kind: type) -> list[str]:
    parts = fields(kind)
    return [part.name for part in parts if part.default is MISSING and part.default_factory is MISSING]


def in_json(hint: Any, bounds: tuple[Any, ...] = ()) -> dict[str, Any]:
    """What an annotation allows, as JSON schema says it.

    >>> in_json(Annotated[int, Ge(2)])
    {'type': 'integer', 'minimum': 2}
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return in_json(inner[0], (*bounds, *inner[1:]))
    if EXACT in bounds:
        return {"anyOf": [{"type": "number", **_limits(bounds)}, {"type": "string"}]}
    if origin in (Union, types.UnionType):
        kinds = [in_json(part, bounds) for part in inner if part is not type(None)]
        return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    if origin is Literal:
        return {"enum": list(inner)}
    if origin is tuple:
        kinds = [in_json(part) for part in inner if part is not Ellipsis]
        if Ellipsis in inner:
            return {"type": "array", "items": kinds[0], **_limits(bounds, "minItems", "maxItems")}
        return {"type": "array", "prefixItems": kinds, "minItems": len(kinds), "maxItems": len(kinds)}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": in_json(inner[1])}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [str(member.value) for member in hint]}
    plain = {bool: "boolean", int: "integer", float: "number", str: "string", Path: "string"}
    return {"type": plain[hint], **_limits(bounds)} if hint in plain else {}


def _limits(bounds: tuple[Any, ...], least: str = "minLength", most: str = "maxLength") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for bound in bounds:
        match bound:
            case Ge():
                found["minimum"] = bound.ge
            case Gt():
                found["exclusiveMinimum"] = bound.gt
            case Le():
                found["maximum"] = bound.le
            case Lt():
                found["exclusiveMaximum"] = bound.lt
            case MinLen():
                found[least] = bound.min_length
            case MaxLen():
                found[most] = bound.max_length
    return found


def to_json() -> str:
    """The schema as it is shipped."""
    return json.dumps(plan_schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(to_json(), encoding="utf-8")
