"""Values of requests: JSON bodies of declared types, and numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from shoal.errors import InputError

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
}
_MAX_DIGITS = 9


def parse_body(body: bytes, fields: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """Parse a JSON object with fields of declared types.

    ``fields`` are the properties of a JSON schema. A field that is null is left out, and so are fields that the
    schema does not know.

    >>> parse_body(b'{"release": 2, "column": null}', {"release": {"type": "integer"}, "column": {"type": "string"}})
    {'release': 2}
    """
    try:
        given = json.loads(body or b"{}", parse_constant=_refuse_constant, parse_float=_finite)
        json.dumps(given, ensure_ascii=False).encode()  # no half of a surrogate pair
    except (ValueError, RecursionError):
        raise InputError("page.body-not-json") from None
    if not isinstance(given, dict):
        raise InputError("page.body-not-an-object")
    values = {}
    for name, schema in fields.items():
        value = given.get(name)
        if value is None:
            continue
        expected = _TYPES[schema["type"]]
        if not isinstance(value, expected) or (isinstance(value, bool) and bool not in expected):
            raise InputError("page.field-of-wrong-type", field=name, type=schema["type"])
        values[name] = value
    return values


def parse_count(text: str) -> int | None:
    """Return a whole number of at most nine digits; None for other text.

    >>> parse_count("12"), parse_count("\N{SUPERSCRIPT TWO}"), parse_count("-1")
    (12, None, None)
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else None


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError
    return number


def _refuse_constant(_: str) -> float:
    raise ValueError
