"""What is filled into a plan from outside: ``${NAME}`` from the environment, and single values from the command line.

``${NAME}`` stands in the texts of [source], [output], [engine] and [method], and in the path of a hierarchy's file;
``$${`` is a plain ``${`` there. What it stood for is used and not told: certificate and report show what was written,
and so do errors, and logs of the command line. In what else a plan says of columns and models it is no variable: there
names and values of the table stand, which are data, and what is promised, which a certificate has to tell.
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

__all__ = ["NO_VARIABLE", "changed_by", "escaped", "fill_in", "hiding", "is_tried_elsewhere", "shown"]

SECTIONS = ("source", "output", "engine", "method")
SHORTEST = 3
"""Characters below which a value is found in any text, and tells nothing; it is looked for in quotes alone."""

NO_VARIABLE = (
    "In what a plan says of columns, models and keys, ${NAME} is no variable: set such a value by --set, for example "
    "--set columns.age.role=other."
)

_VARIABLE = re.compile(r"\$\$\{|\$\{([^{}]*)\}")
_filled: dict[str, str] = {}
"""What stood for what in this process, so that whoever shows a text can undo it."""


def fill_in(document: Mapping[str, Any]) -> tuple[Mapping[str, Any], dict[tuple[str, ...], str]]:
    """A plan's contents with the variables' values; and, by its place, each text as it was written."""
    written: dict[tuple[str, ...], str] = {}

    def filled(text: str, place: tuple[str, ...]) -> str:
        if "${" not in text:
            return text
        written[place] = text
        return _VARIABLE.sub(_value_of, text)

    made = _mapped(document, filled)
    return (made if written else document), written


def escaped(document: Mapping[str, Any]) -> dict[str, Any]:
    """A plan's contents in which no text is a variable: as they are written to be read again."""
    return _mapped(document, lambda text, _: text.replace("${", "$${"))


def _mapped(document: Mapping[str, Any], change: Callable[[str, tuple[str, ...]], str]) -> dict[str, Any]:
    """A plan's contents with each text changed that may have variables; it is given with its place."""

    def mapped(value: Any, place: tuple[str, ...]) -> Any:
        if isinstance(value, Mapping):
            return {key: mapped(item, (*place, str(key))) for key, item in value.items()}
        if len(place) > 1 and place[0] == "columns" and place[2:] != ("hierarchy", "csv"):
            return value
        return change(value, place) if isinstance(value, str) else value

    return {key: mapped(value, (key,)) if key in (*SECTIONS, "columns") else value for key, value in document.items()}


def _value_of(found: re.Match[str]) -> str:
    name = found[1]
    if name is None:
        return "${"
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise PlanError(f"A variable must be written as ${{NAME}}, of letters, digits and _; found ${{{name}}}.")
    value = os.environ.get(name)
    if not value:
        raise PlanError(f"The plan uses the environment variable {name}, which must be set; it is not.")
    if len(value) >= SHORTEST:
        _filled[value] = f"${{{name}}}"
    return value


def shown(text: str) -> str:
    """A text for people, with the variables' names in place of what they stood for in this process."""
    return _named(text, _filled)


def _named(text: str, names: Mapping[str, str]) -> str:
    for value in sorted(names, key=len, reverse=True):
        text = text.replace(value, names[value])
    return text


@contextmanager
def hiding(written: Mapping[tuple[str, ...], str]) -> Iterator[None]:
    """Let no error tell what the variables of a plan stood for; ``written`` are its texts that have some."""
    try:
        yield
    except ShoalError as error:
        variables = {found[1] for text in written.values() for found in _VARIABLE.finditer(text) if found[1]}
        values = {os.environ.get(name, ""): f"${{{name}}}" for name in variables}
        long = {value: name for value, name in values.items() if len(value) >= SHORTEST}
        names = long | {f"'{value}'": f"'{name}'" for value, name in values.items() if value not in long}
        error.args = tuple(_named(part, names) if isinstance(part, str) else part for part in error.args)
        raise


def is_tried_elsewhere(document: Mapping[str, Any]) -> bool:
    """Whether a plan's contents have what looks like a variable where there are none."""

    waiting = [value for key, value in document.items() if key not in SECTIONS]
    seen: set[int] = set()  # what is nested too deeply, or in itself, is somebody else's to refuse
    while waiting:
        value = waiting.pop()
        if isinstance(value, str) and any(found[1] for found in _VARIABLE.finditer(value)):
            return True
        if isinstance(value, Mapping | list | tuple) and id(value) not in seen:
            seen.add(id(value))
            waiting += value.values() if isinstance(value, Mapping) else value
    return False


def changed_by(document: Mapping[str, Any], changes: Sequence[str]) -> dict[str, Any]:
    """A plan's contents with single values changed, each written as in ``columns.age.role=other``.

    >>> changed_by({"columns": {"age": {"role": "other"}}}, ["columns.age.role=drop", "seed=3"])
    {'columns': {'age': {'role': 'drop'}}, 'seed': 3}
    """
    made = dict(document)
    for change in changes:
        key, sign, value = change.partition("=")
        made = _merged(made, _parsed(key.strip(), value.strip()) if sign and key.strip() else {"": change})
        if "" in made:
            raise PlanError("A change must be written as KEY=VALUE, for example --set columns.age.role=other.")
    return made


def _parsed(key: str, value: str) -> dict[str, Any]:
    for text in (value, json.dumps(value)):  # a word without quotes is text
        try:
            made, alone = tomllib.loads(f"{key} = {text}"), tomllib.loads(f"{key} = 0")
        except (tomllib.TOMLDecodeError, RecursionError, ValueError):
            continue
        if _is_at(made, alone):  # a value of several lines may go on with other keys
            return made
    return {"": key}


def _is_at(made: Any, alone: Any) -> bool:
    """Whether nothing is said but at the one key that ``alone`` has."""
    if not isinstance(alone, Mapping):
        return True
    return (
        isinstance(made, Mapping) and list(made) == list(alone) and all(_is_at(made[key], alone[key]) for key in alone)
    )


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    made = dict(one)
    for key, value in other.items():
        both = isinstance(value, Mapping) and isinstance(made.get(key), Mapping)
        made[key] = _merged(made[key], value) if both else value
    return made
