"""External values of a plan: environment variables, command-line changes.

``${NAME}`` is a variable in the texts of [source], [output], [engine] and [method], and in the path of a hierarchy
file; ``$${`` is a literal ``${`` there. Values of variables are used but not disclosed: certificate, report, errors and
the logs of the command line show the text as written. Elsewhere in a plan ``${NAME}`` is not a variable: sections of
columns and models contain names and values of the table, which are data, and guarantees, which a certificate must
state.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from shoal.errors import PlanError, ShoalError

SECTIONS = ("source", "output", "engine", "method")
MIN_MASKED_LENGTH = 3
"""Shorter values occur in any text by chance; they are masked only where they are quoted."""

MISPLACED_VARIABLE_HINT = (
    "In what a plan says of columns, models and keys, ${NAME} is no variable: set such a value by --set, for example "
    "--set columns.age.role=other."
)

_VARIABLE = re.compile(r"\$\$\{|\$\{([^{}]*)\}")
_variable_of_value: dict[str, str] = {}
"""Variable of each value filled in by this process, to mask values in displayed texts."""


def fill_in(document: Mapping[str, Any]) -> tuple[Mapping[str, Any], dict[tuple[str, ...], str]]:
    """Fill in the variables of a plan's contents.

    Returns the contents, and the texts that contain variables as they were written, by location.
    """
    written: dict[tuple[str, ...], str] = {}

    def filled(text: str, location: tuple[str, ...]) -> str:
        if "${" not in text:
            return text
        written[location] = text
        return _VARIABLE.sub(_value_of, text)

    made = _map_texts(document, filled)
    return (made if written else document), written


def escaped(document: Mapping[str, Any]) -> dict[str, Any]:
    """Escape a plan's contents so that no text is read as a variable."""
    return _map_texts(document, lambda text, _: text.replace("${", "$${"))


def _map_texts(document: Mapping[str, Any], change: Callable[[str, tuple[str, ...]], str]) -> dict[str, Any]:
    """Apply ``change`` to each text that may contain variables.

    ``change`` gets the text and its location.
    """

    def mapped(value: Any, location: tuple[str, ...]) -> Any:
        if isinstance(value, Mapping):
            return {key: mapped(item, (*location, str(key))) for key, item in value.items()}
        if len(location) > 1 and location[0] == "columns" and location[2:] != ("hierarchy", "csv"):
            return value
        return change(value, location) if isinstance(value, str) else value

    return {key: mapped(value, (key,)) if key in (*SECTIONS, "columns") else value for key, value in document.items()}


def _value_of(found: re.Match[str]) -> str:
    name = found[1]
    if name is None:
        return "${"
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise PlanError("plan.variable-badly-written", found=name)
    value = os.environ.get(name)
    if not value:
        raise PlanError("plan.variable-not-set", variable=name)
    if len(value) >= MIN_MASKED_LENGTH:
        _variable_of_value[value] = f"${{{name}}}"
    return value


def mask_values(text: str) -> str:
    """Replace values of variables by the variables' names, for display."""
    return _replace_values(text, _variable_of_value)


def _replace_values(text: str, names: Mapping[str, str]) -> str:
    for value in sorted(names, key=len, reverse=True):
        text = text.replace(value, names[value])
    return text


@contextmanager
def masked_errors(written: Mapping[tuple[str, ...], str]) -> Iterator[None]:
    """Mask the values of variables in the messages of errors.

    ``written`` are the texts of the plan that contain variables.
    """
    try:
        yield
    except ShoalError as error:
        variables = {found[1] for text in written.values() for found in _VARIABLE.finditer(text) if found[1]}
        values = {os.environ.get(name, ""): f"${{{name}}}" for name in variables}
        long = {value: name for value, name in values.items() if len(value) >= MIN_MASKED_LENGTH}
        names = long | {f"'{value}'": f"'{name}'" for value, name in values.items() if value not in long}
        error.replace_texts(lambda text: _replace_values(text, names))
        raise


def has_misplaced_variable(document: Mapping[str, Any]) -> bool:
    """Return whether a variable occurs in a section that has none."""

    pending = [value for key, value in document.items() if key not in SECTIONS]
    seen: set[int] = set()  # validation rejects deep and recursive nesting
    while pending:
        value = pending.pop()
        if isinstance(value, str) and any(found[1] for found in _VARIABLE.finditer(value)):
            return True
        if isinstance(value, Mapping | list | tuple) and id(value) not in seen:
            seen.add(id(value))
            pending += value.values() if isinstance(value, Mapping) else value
    return False


def apply_changes(document: Mapping[str, Any], changes: Sequence[str]) -> dict[str, Any]:
    """Apply changes such as ``columns.age.role=other`` to a plan's contents.

    >>> apply_changes({"columns": {"age": {"role": "other"}}}, ["columns.age.role=drop", "seed=3"])
    {'columns': {'age': {'role': 'drop'}}, 'seed': 3}
    """
    made = dict(document)
    for change in changes:
        key, sign, value = change.partition("=")
        made = _merged(made, _parsed(key.strip(), value.strip()) if sign and key.strip() else {"": change})
        if "" in made:
            raise PlanError("command.set-badly-written")
    return made


def _parsed(key: str, value: str) -> dict[str, Any]:
    for text in (value, json.dumps(value)):  # an unquoted word is text
        try:
            made, alone = tomllib.loads(f"{key} = {text}"), tomllib.loads(f"{key} = 0")
        except (tomllib.TOMLDecodeError, RecursionError, ValueError):
            continue
        if _has_only_key_of(made, alone):  # a value of several lines may contain further keys
            return made
    return {"": key}


def _has_only_key_of(made: Any, alone: Any) -> bool:
    """Return whether ``made`` sets no key other than that of ``alone``."""
    if not isinstance(alone, Mapping):
        return True
    return (
        isinstance(made, Mapping)
        and list(made) == list(alone)
        and all(_has_only_key_of(made[key], alone[key]) for key in alone)
    )


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    made = dict(one)
    for key, value in other.items():
        both = isinstance(value, Mapping) and isinstance(made.get(key), Mapping)
        made[key] = _merged(made[key], value) if both else value
    return made
