"""Addresses in place of paths.

Addresses of object stores are supported, others are refused. No address is repeated in a message.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from shoal.errors import PlanError

SCHEMES = ("s3", "gs", "abfs", "abfss")


def address_of(path: Path) -> str | None:
    """Return the address that a path stands for; None for a local path.

    >>> address_of(Path("s3://open/visits.csv")), address_of(Path("visits.csv"))
    ('s3://open/visits.csv', None)
    """
    scheme, sign, rest = str(path).partition(":/")
    if not sign or scheme not in SCHEMES:
        return None
    rest = rest.lstrip("/")
    holder = rest.partition("/")[0]
    if ":" in holder or (scheme in ("s3", "gs") and "@" in holder) or "?" in rest or "#" in rest:
        raise PlanError("files.address-with-settings", scheme=scheme)
    if not rest.partition("/")[2]:
        raise PlanError("files.address-incomplete", scheme=scheme)
    return f"{scheme}://{rest}"


def path_or_address(path: Path) -> str:
    """Return a path, or the address that it stands for, as text."""
    return address_of(path) or str(path)


def address_in(database: str, *, services: bool = False) -> str:
    """Return the address of a database from the environment.

    ``env:NAME`` is an environment variable, ``service:NAME`` an entry of a service file.
    """
    kind, sign, name = database.partition(":")
    if services and sign and kind == "service" and re.fullmatch(r"[\w.-]+", name):
        return f"service={name}"
    if not sign or kind != "env" or not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise PlanError("databases.address-in-plan")
    found = os.environ.get(name)
    if not found:
        raise PlanError("databases.variable-not-set", variable=name)
    return found


def refuse_address(path: Path) -> None:
    """Raise if a path is an address other than one of an object store.

    Such an address may contain a password.
    """
    scheme, sign, _ = str(path).partition(":/")
    if not sign or not scheme.replace("+", "").isalnum() or len(scheme) < 2 or address_of(path) is not None:
        return
    if scheme.lower() in ("postgresql", "postgres"):
        raise PlanError("files.path-is-database")
    raise PlanError("files.address-not-readable", scheme=scheme)


def resolve_path(path: Path, folder: Path) -> Path:
    """Resolve a path of a plan against the plan's folder.

    ``-`` is standard input or output; ``s3://...`` is the address of an object store and stays as it is.
    """
    refuse_address(path)
    return path if str(path) == "-" or address_of(path) is not None else folder / path
