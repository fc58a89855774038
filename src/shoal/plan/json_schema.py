"""JSON schema of plan files, built from the declarations of sections.

It is shipped as ``plan.schema.json`` in this package, and that of linked tables as ``linked.schema.json``, so that
editors complete and validate plans:

    #:schema PATH/plan.schema.json

``python -m shoal.plan.json_schema`` regenerates it; a test checks that it is current. Reading a plan validates what
depends on the data or on several fields.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from shoal.methods import METHODS, Method
from shoal.models import MODELS, Model
from shoal.plan.linked import LinkedPlan
from shoal.plan.plan import Plan
from shoal.runtime.registry import Registry
from shoal.runtime.validation import DeclaredKey, keys_of, plan_value
from shoal.schema import HIERARCHIES, Column, Hierarchy, Role

FILE = Path(__file__).with_name("plan.schema.json")
LINKED_FILE = Path(__file__).with_name("linked.schema.json")
DIALECT = "https://json-schema.org/draft/2020-12/schema"
KNOWN = {
    "known": {"type": "integer", "minimum": 1, "description": "The most columns that the intruder knows."},
    "reading": {
        "enum": ["strict", "loose"],
        "default": "strict",
        "description": "With known: what a suppressed cell matches, itself alone or everything.",
    },
}
"""The keys that may stand beside the parameters of any model."""


def plan_schema(plan: type = Plan) -> dict[str, Any]:
    """Build the schema of all sections of a plan.

    It covers every built-in model, method and hierarchy. ``plan`` is the class of the plan: of one table, or of linked
    tables.
    """
    schema = _section(keys_of(plan))
    definitions = {kind.__name__: _definition(kind) for kind in section_classes(plan)}
    schema = {"$schema": DIALECT, **schema, "$defs": definitions}
    about = {"title": "A plan of shoal", "description": "What is to be released, and how."}
    return _without_unknown_references(schema | about, definitions)  # type: ignore[no-any-return]


def section_classes(plan: type = Plan) -> list[type]:
    """Return the classes that a plan is made of, in its order."""
    found: list[type] = []
    pending: list[type] = [plan]
    while pending:
        kinds = [kind for part in keys_of(pending.pop(0)) for kind in part.constraint.kinds if kind not in found]
        found += kinds
        pending += [kind for kind in kinds if kind not in (Model, Method, Hierarchy)]
    return found


def builtin(known: Mapping[str, type]) -> dict[str, type]:
    """Return the built-in entries of a registry.

    Other packages describe the entries that they add.
    """
    return {name: known[name] for name in known.first_party()} if isinstance(known, Registry) else dict(known)


def _definition(kind: type) -> dict[str, Any]:
    """Return the schema of a class of objects, in all forms of a plan."""
    if kind is Model:
        return {"anyOf": [{"type": "string", "description": "Such as k-anonymity k=5."}, *_named(MODELS, KNOWN)]}
    if kind is Method:
        return {"anyOf": [{"enum": list(builtin(METHODS))}, *_named(METHODS, {})]}
    if kind is Hierarchy:
        return {"oneOf": [_hierarchy(key, made) for key, made in builtin(HIERARCHIES).items()]}
    section = _section(keys_of(kind))
    return {"anyOf": [section, {"enum": [str(role) for role in Role]}]} if kind is Column else section


def _section(parts: Iterable[DeclaredKey]) -> dict[str, Any]:
    required = [part.key for part in parts if part.required]
    return {
        "type": "object",
        "properties": {part.key: _property(part) for part in parts},
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def _property(part: DeclaredKey) -> dict[str, Any]:
    default = plan_value(part.default)
    simple = isinstance(default, bool | int | float | str)
    about = {"description": part.description} if part.description else {}
    return {**part.constraint.schema, **({"default": default} if simple else {}), **about}


def _named(known: Mapping[str, type], more: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = []
    for name, kind in builtin(known).items():
        section = _section(keys_of(kind))
        section["properties"] = {"name": {"const": name}, **section["properties"], **more}
        section["required"] = ["name", *section.get("required", ())]
        found.append({"description": first_line(kind), **section})
    return found


def _hierarchy(key: str, kind: Any) -> dict[str, Any]:
    options = {part.key: part.constraint.schema for part in keys_of(kind) if part.key in kind.options}
    described = {"description": f"{first_line(kind)} For example {kind.example}."}
    return {
        "type": "object",
        "properties": {key: described, **options},
        "required": [key],
        "additionalProperties": False,
    }


def first_line(kind: type) -> str:
    """Return the first line of the docstring of a class."""
    return (inspect.getdoc(kind) or "").partition("\n")[0]


def _without_unknown_references(part: Any, known: Mapping[str, Any]) -> Any:
    """Leave out references to classes that a plan cannot express."""
    if isinstance(part, Mapping):
        items = part.items()
        return {
            key: _without_unknown_references(value, known)
            for key, value in items
            if key != "$ref" or value.rpartition("/")[2] in known
        }
    return [_without_unknown_references(item, known) for item in part] if isinstance(part, list) else part


def to_json(plan: type = Plan) -> str:
    """Serialize the schema as it is shipped."""
    return json.dumps(plan_schema(plan), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(to_json(), encoding="utf-8")
    LINKED_FILE.write_text(to_json(LinkedPlan), encoding="utf-8")
