"""Reading of a plan: objects from its sections, errors from its faults.

The classes of the sections declare all keys (:func:`shoal.runtime.validation.keys_of`). Here is what a plan writes in a
form of its own: a column as its role, a model as its text, a hierarchy by its kind, paths relative to the plan file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.errors import HierarchyError, PlanError, ShoalError
from shoal.methods import FullDomain, Method
from shoal.models import Model
from shoal.plan.coerce import as_column, as_method, as_model
from shoal.plan.output import Output
from shoal.runtime.annotations import Fault, KeyPath, Mismatch, describe_value
from shoal.runtime.validation import locate_error, read_section
from shoal.schema import HIERARCHIES, Column, Hierarchy


class PlanReader:
    """Reader of a plan; paths are relative to ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def build(self, kind: type, value: object, where: KeyPath) -> object:
        """Build an object of a class from a value of a plan."""
        try:
            made = self._build(kind, value, where)
            return made.located(self.folder) if hasattr(made, "located") else made
        except ShoalError as error:
            raise Mismatch(Fault(where, "refused", error=locate_error(error, where))) from None

    def _build(self, kind: type, value: object, where: KeyPath) -> object:
        if kind is Column:
            return self._column(value, where)
        if kind is Method and isinstance(value, str | type | Mapping):
            return as_method(value, where=where) if value != {} else FullDomain()
        if kind is Model and isinstance(value, str | Mapping):
            return as_model(value, where)
        if kind is Hierarchy and isinstance(value, Mapping):
            return build_hierarchy(value, where[-2], self.folder)
        if kind in (Method, Model, Hierarchy):
            raise Mismatch(Fault(where, "wrong", "a table", describe_value(value)))
        made: object = read_section(kind, value, where, self)
        given = value if isinstance(value, Mapping) else {}
        if kind is Output and given.get("path") is None and given.get("database") is None:
            raise PlanError("plan.no-output-path")
        return made

    def _column(self, value: object, where: KeyPath) -> Column:
        if isinstance(value, Hierarchy | str):
            return as_column(value)
        try:
            return read_section(Column, value, where, self)
        except Mismatch as error:
            raise Mismatch(*(_in_column(fault, where) for fault in error.faults)) from None


def _in_column(fault: Fault, where: KeyPath) -> Fault:
    """Name the column in the error of a column as a whole."""
    if fault.where != where or not isinstance(fault.error, PlanError):
        return fault
    return replace(fault, error=PlanError("columns.not-usable", column=where[-1], reason=fault.error))


def first_error(faults: Sequence[Fault]) -> ShoalError:
    """Return the first of a plan's faults as an error, with the number of all.

    Keys that are wrong by themselves come before objects that are refused.
    """
    fault = min(faults, key=lambda fault: fault.error is not None)
    key = ".".join(fault.where)
    more = PlanError("plan.several-faults", faults=len(faults)) if len(faults) > 1 else ""
    if fault.error is not None:
        return fault.error
    if fault.kind == "unknown":
        return PlanError("plan.unknown-key", where=fault.where, key=key, more=more)
    if fault.kind == "lacking":
        return PlanError("plan.lacks-key", where=fault.where, key=key, more=more)
    return PlanError(
        "plan.unusable-key", where=fault.where, key=key, expected=fault.expected, found=fault.found, more=more
    )


def build_hierarchy(document: Mapping[str, Any], name: str, folder: Path) -> Hierarchy:
    """Build a hierarchy from its entry such as ``{ intervals = [5, 10] }``."""
    where = ("columns", name, "hierarchy")
    found = [key for key in HIERARCHIES if key in document]
    if len(found) != 1:
        raise PlanError(
            "hierarchies.not-exactly-one-kind",
            column=name,
            allowed=", ".join(HIERARCHIES),
            found=", ".join(found) or "none of them",
        )
    kind = HIERARCHIES[found[0]]
    options = {key: value for key, value in document.items() if key != found[0]}
    if unknown := set(options) - set(kind.options):
        key = sorted(unknown)[0]
        raise PlanError("hierarchies.unknown-key", where=(*where, key), column=name, found=key, kind=found[0])
    try:
        return kind.from_plan(found[0], document[found[0]], options, folder)
    except HierarchyError as error:
        key = next((key for key in options if key == error.arguments.get("parameter")), found[0])
        raise HierarchyError("hierarchies.not-usable", column=name, reason=error.at((*where, key))) from None
    except ShoalError:
        raise
    except Exception:  # whatever failed, the entry is not a valid hierarchy
        raise PlanError("hierarchies.badly-written", kind=found[0], column=name, example=kind.example) from None


def parse_toml(text: str, what: str) -> dict[str, Any]:
    """Parse the text of a plan; ``what`` names it in errors."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PlanError("plan.not-toml", subject=what, reason=error) from None
    except (RecursionError, ValueError):  # nested too deeply, or a number of too many digits
        raise PlanError("plan.toml-too-deep", subject=what) from None


def read_document(path: Path) -> dict[str, Any]:
    """Read the contents of a plan file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise PlanError("plan.not-readable", file=str(path), reason=error.strerror) from None
    except UnicodeDecodeError:
        raise PlanError("plan.not-utf-8", file=str(path)) from None
    return parse_toml(text, f"Plan {str(path)!r}")
