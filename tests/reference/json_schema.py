"""Validation by the subset of JSON schema that plans use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

KINDS = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}


def holds(schema: Mapping[str, Any], value: object, root: Mapping[str, Any]) -> bool:
    if "$ref" in schema:
        target: Any = root
        for step in schema["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        return holds(target, value, root)
    if "anyOf" in schema and not any(holds(one, value, root) for one in schema["anyOf"]):
        return False
    if "oneOf" in schema and sum(holds(one, value, root) for one in schema["oneOf"]) != 1:
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "const" in schema and value != schema["const"]:
        return False
    kind = schema.get("type")
    if kind == "null":
        return value is None
    if kind is not None and (
        not isinstance(value, KINDS[kind]) or (isinstance(value, bool) and kind in ("integer", "number"))
    ):
        return False
    return _inside(schema, value, root)


def _inside(schema: Mapping[str, Any], value: Any, root: Mapping[str, Any]) -> bool:
    if isinstance(value, dict):
        known, more = schema.get("properties", {}), schema.get("additionalProperties", True)
        for key, item in value.items():
            rule = known.get(key, more)
            if rule is False or (isinstance(rule, Mapping) and not holds(rule, item, root)):
                return False
        return all(key in value for key in schema.get("required", ()))
    if isinstance(value, list) and "items" in schema:
        return len(value) >= schema.get("minItems", 0) and all(holds(schema["items"], one, root) for one in value)
    if isinstance(value, str):
        return schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return (
            schema.get("minimum", value) <= value <= schema.get("maximum", value)
            and not value <= schema.get("exclusiveMinimum", value - 1)
            and not value >= schema.get("exclusiveMaximum", value + 1)
        )
    return True
