"""JSON schema of certificates, built from their classes.

It is shipped as ``certificate.schema.json`` in this package, so that readers can validate certificates without shoal.
``python -m shoal.results.certificate_schema`` writes it; a test checks that it is current.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from shoal.plan.json_schema import DIALECT
from shoal.results import certificate
from shoal.results.certificate import Certificate
from shoal.runtime.validation import field_descriptions

FILE = Path(__file__).with_name("certificate.schema.json")


def certificate_schema() -> dict[str, Any]:
    """Build the schema of the certificates of this version."""
    from pydantic import TypeAdapter

    schema = TypeAdapter(Certificate).json_schema()
    parts = schema.pop("$defs")
    schema["properties"].pop("former")
    for name, part in {"Certificate": schema, **parts}.items():
        kind = getattr(certificate, name)
        part["description"] = (kind.__doc__ or "").split("\n")[0]
        descriptions = field_descriptions(kind)
        for key, entry in part["properties"].items():
            part["properties"][key] = {**_without_null(entry), "description": descriptions[key]}
        part["additionalProperties"] = False
    return {"$schema": DIALECT, **schema, "$defs": parts}


def _without_null(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a value that is left out where it would be null."""
    rest = {key: value for key, value in entry.items() if key not in ("title", "default")}
    if "default" not in entry or "anyOf" not in rest:
        return rest
    kinds = [kind for kind in rest.pop("anyOf") if kind != {"type": "null"}]
    return {**rest, **(kinds[0] if len(kinds) == 1 else {"anyOf": kinds})}


def write_schema() -> None:
    """Write the schema to its file."""
    FILE.write_text(json.dumps(certificate_schema(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_schema()
