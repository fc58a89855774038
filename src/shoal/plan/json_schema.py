"""JSON schema of plan files, built from the fields of models and methods.

It is shipped as ``plan.schema.json`` in this package, so that editors complete and validate plans:

    #:schema PATH/plan.schema.json

``python -m shoal.plan.json_schema`` regenerates it; a test checks that it is current. Reading a plan validates what
depends on the data or on several fields.
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
from shoal.models import MODELS, KeySet, Scenario
from shoal.plan.plan import Output, _Document
from shoal.plan.review import Recipient, Review
from shoal.runtime.registry import Registry
from shoal.runtime.validation import EXACT
from shoal.schema import HIERARCHIES, Column, Role
from shoal.schema.hierarchy import plan_value

FILE = Path(__file__).with_name("plan.schema.json")
DIALECT = "https://json-schema.org/draft/2020-12/schema"
SECTION_CLASSES: dict[str, tuple[type, ...]] = {
    "Source": (Source, CsvFormat),
    "Column": (Column,),
    "Output": (Output,),
    "Engine": (EngineSettings,),
    "Key": (KeySet,),
    "Scenario": (Scenario,),
    "Recipient": (Recipient,),
    "Review": (Review,),
}
"""Classes whose docstrings describe the keys of each section."""
SECTION_DESCRIPTIONS = {
    "source": "Where the table is, and how it is written.",
    "columns": "Every column of the table by name: its role, or its role with what is known of its values.",
    "models": "What every group must meet: one model or several.",
    "keys": "Sets of columns that are known together; where there are any, models bind them in place of all columns.",
    "scenarios": "What kinds of intruders know together, and what must hold against each of them.",
    "together": "Whether models bind all quasi-identifiers together; if not, the crowds of every scenario instead.",
    "method": "How groups are formed; full-domain where nothing is said.",
    "output": "Where the release goes.",
    "engine": "Which engine does the work, and how much of the machine it may use.",
    "seed": "Of what is drawn by lot.",
    "recipient": "Who receives the release; a draft takes the size of groups from it.",
    "review": "Whether somebody has read the plan, who, when, and what it then said.",
}
"""Purpose of each section of a plan."""


def plan_schema() -> dict[str, Any]:
    """Build the schema of all sections of a plan.

    It covers every built-in model, method and hierarchy.
    """
    schema = _Document.model_json_schema()
    parts = schema.pop("$defs")
    parts = {name.lstrip("_"): part for name, part in parts.items() if name != "Role"}
    schema = _clean_names({**schema, "$defs": parts})
    roles = {"enum": [str(role) for role in Role], "description": "What the column may tell an intruder."}
    for name, kinds in SECTION_CLASSES.items():
        _describe(schema["$defs"][name]["properties"], *kinds)
    for name, description in SECTION_DESCRIPTIONS.items():
        schema["properties"][name]["description"] = description
    column = schema["$defs"]["Column"]
    column["properties"]["category_names"]["description"] = "What the categories are called, one name for each."
    column["properties"]["role"] = roles
    column["properties"]["hierarchy"] |= {"$ref": "#/$defs/Hierarchy"}
    column["properties"]["hierarchy"].pop("anyOf")
    column["properties"]["hierarchy"].pop("default")
    schema["$defs"] |= {
        "Hierarchy": {"oneOf": [_hierarchy(key, kind) for key, kind in _builtin(HIERARCHIES).items()]},
        "Model": {"anyOf": [{"type": "string", "description": "Such as k-anonymity k=5."}, *_models()]},
        "Method": {"anyOf": [{"enum": list(_builtin(METHODS))}, *_named(METHODS)]},
    }
    schema["properties"]["columns"]["additionalProperties"] = {"anyOf": [{"$ref": "#/$defs/Column"}, roles]}
    model: dict[str, Any] = {"$ref": "#/$defs/Model"}
    several = {"anyOf": [{"type": "array", "items": model}, model]}
    schema["properties"]["models"] = {**several, "description": SECTION_DESCRIPTIONS["models"]}
    for section in ("Key", "Scenario"):
        schema["$defs"][section]["properties"]["models"] |= {"type": "array", "items": model}
    schema["properties"]["method"] = {"$ref": "#/$defs/Method", "description": SECTION_DESCRIPTIONS["method"]}
    return {"$schema": DIALECT, **schema, "title": "A plan of shoal", "description": "What is to be released, and how."}


def _builtin(known: Mapping[str, type]) -> dict[str, type]:
    """Return the built-in entries of a registry.

    Other packages describe the entries that they add.
    """
    return {name: known[name] for name in known.first_party()} if isinstance(known, Registry) else dict(known)


def field_descriptions(*kinds: type) -> dict[str, str]:
    """Extract the description of each field from the docstrings of classes.

    Docstrings of base classes count, too.

    >>> field_descriptions(KeySet)["columns"]
    'The quasi-identifiers that are known together, twelve at most.'
    """
    found: dict[str, str] = {}
    for kind in (base for given in kinds for base in reversed(given.__mro__) if "__doc__" in vars(base)):
        doc = inspect.cleandoc(kind.__doc__ or "")
        for listed in re.findall(r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=\n\n\w+\n-+\n|\Z)", doc, re.M | re.S):
            for names, description in re.findall(r"^(\w.*)\n((?: +.*(?:\n|\Z)|\n)+)", listed, re.M):
                found |= dict.fromkeys(names.split(", "), _strip_markup(description))
    return found


def _strip_markup(text: str) -> str:
    """Join a docstring's sentences in one line, without reference markup."""
    text = re.sub(r":\w+:`~?(?:\w+\.)*(\w+)`", r"`\1`", text)
    return " ".join(text.replace("``", "`").split())


def _describe(properties: dict[str, Any], *kinds: type) -> None:
    for name, description in field_descriptions(*kinds).items():
        if name in properties:
            properties[name]["description"] = description


def _clean_names(part: Any) -> Any:
    """Remove leading underscores of section names, and redundant titles."""
    if isinstance(part, dict):
        cleaned = {
            key: _clean_names(value) for key, value in part.items() if not (key == "title" and isinstance(value, str))
        }
        if isinstance(cleaned.get("$ref"), str):
            cleaned["$ref"] = cleaned["$ref"].replace("/_", "/")
        return cleaned
    return [_clean_names(item) for item in part] if isinstance(part, list) else part


def _named(known: Mapping[str, type]) -> list[dict[str, Any]]:
    return [
        {
            "type": "object",
            "description": _first_line(kind),
            "properties": {"name": {"const": name}, **_properties(kind)},
            "required": ["name", *_required(kind)],
            "additionalProperties": False,
        }
        for name, kind in _builtin(known).items()
    ]


def _models() -> list[dict[str, Any]]:
    """Describe every model, with the optional key ``known``."""
    known = {"known": {"type": "integer", "minimum": 1, "description": "The most columns that the intruder knows."}}
    return [{**model, "properties": {**model["properties"], **known}} for model in _named(MODELS)]


def _hierarchy(key: str, kind: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(kind, include_extras=True)
    options = {name: annotation_schema(hints[name]) for name in kind.options if name in hints}
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
        described = annotation_schema(hints[part.name])
        if part.default is not MISSING and part.default is not None:
            described = {**described, "default": plan_value(part.default)}
        found[part.name] = described
    _describe(found, kind)
    return found


def _required(kind: type) -> list[str]:
    parts = fields(kind)
    return [part.name for part in parts if part.default is MISSING and part.default_factory is MISSING]


def annotation_schema(hint: Any, bounds: tuple[Any, ...] = ()) -> dict[str, Any]:
    """Return the JSON schema of an annotation.

    >>> annotation_schema(Annotated[int, Ge(2)])
    {'type': 'integer', 'minimum': 2}
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return annotation_schema(inner[0], (*bounds, *inner[1:]))
    if EXACT in bounds:
        return {"anyOf": [{"type": "number", **_limits(bounds)}, {"type": "string"}]}
    if origin in (Union, types.UnionType):
        kinds = [annotation_schema(part, bounds) for part in inner if part is not type(None)]
        return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    if origin is Literal:
        return {"enum": list(inner)}
    if origin is tuple:
        kinds = [annotation_schema(part) for part in inner if part is not Ellipsis]
        if Ellipsis in inner:
            return {"type": "array", "items": kinds[0], **_limits(bounds, "minItems", "maxItems")}
        return {"type": "array", "prefixItems": kinds, "minItems": len(kinds), "maxItems": len(kinds)}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": annotation_schema(inner[1])}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [str(member.value) for member in hint]}
    plain = {bool: "boolean", int: "integer", float: "number", str: "string", Path: "string"}
    return {"type": plain[hint], **_limits(bounds)} if hint in plain else {}


def _limits(bounds: tuple[Any, ...], min_key: str = "minLength", max_key: str = "maxLength") -> dict[str, Any]:
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
                found[min_key] = bound.min_length
            case MaxLen():
                found[max_key] = bound.max_length
    return found


def to_json() -> str:
    """Serialize the schema as it is shipped."""
    return json.dumps(plan_schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(to_json(), encoding="utf-8")
