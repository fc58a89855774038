"""Clicks as changes of a plan's text: what is not touched stays as it was written, comments included.

A change is one of

    {"set": ["models", 0, "k"], "value": 7}      a value; null removes it
    {"set": ["models", "+"], "value": {...}}     one more in a list of tables
    {"column": "age", "role": "sensitive"}       a role, and what goes with it
    {"column": "age", "kind": "tree", "text": "..."}   a hierarchy, as its editor has it
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tomlkit
from tomlkit.exceptions import ParseError, TOMLKitError
from tomlkit.items import AoT, Item

from shoal.errors import PlanError

__all__ = ["apply", "fault_of", "hierarchy_from_text", "hierarchy_to_text", "relocate"]

LARGEST = 1_000_000


def fault_of(text: str) -> dict[str, Any] | None:
    """Why a text is not TOML at all, and in which line; None where it is."""
    if len(text) > LARGEST:
        return {"text": "The plan is too long.", "line": 1}
    try:
        tomlkit.parse(text).unwrap()
    except ParseError as error:
        return {"text": f"The plan is not valid TOML here: {error}.", "line": error.line}
    except (TOMLKitError, RecursionError, ValueError) as error:
        return {"text": f"The plan is not valid TOML ({type(error).__name__}).", "line": 1}
    return None


def apply(text: str, changes: Sequence[Mapping[str, Any]], suggested: Mapping[str, Any] | None = None) -> str:
    """The text after some changes; ``suggested`` are hierarchies by column, for one that becomes a quasi-identifier."""
    document: Any = tomlkit.parse(text)
    try:
        for change in changes:
            if "kind" in change:
                entry = hierarchy_from_text(str(change["kind"]), str(change.get("text", "")))
                _set(document, ["columns", str(change["column"]), "hierarchy"], entry)
            elif "column" in change:
                _set_role(document, str(change["column"]), str(change["role"]), suggested or {})
            else:
                _set(document, list(change["set"]), change.get("value"))
        return tomlkit.dumps(document)
    except PlanError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, TOMLKitError):
        raise PlanError("The change does not fit the plan as it is; load the page again.") from None


def _set_role(document: Any, column: str, role: str, suggested: Mapping[str, Any]) -> None:
    section = document["columns"][column]
    _set(document, ["columns", column, "role"], role)
    if role not in ("quasi-identifier", "sensitive"):
        section.pop("hierarchy", None)
    if role != "sensitive":
        for key in ("categories", "category_names", "order", "publish", "exact"):
            section.pop(key, None)
    if role != "identifier":
        section.pop("pseudonym", None)
    if role == "quasi-identifier" and "hierarchy" not in section and suggested.get(column):
        section["hierarchy"] = _item(suggested[column])


def _set(document: Any, path: list[Any], value: Any) -> None:
    *way, last = path
    place = document
    for step in way:
        if step == "models" and "models" not in place:
            place["models"] = tomlkit.aot()
        elif isinstance(step, str) and step not in place:
            place[step] = tomlkit.table()
        place = place[step]
    if last == "+":
        place.append(_section(value) if isinstance(place, AoT) else _item(value))
    elif value is None:
        if isinstance(last, int) or last in place:
            del place[last]
    elif not way and isinstance(value, Mapping):
        place[last] = _section(value)
    else:
        place[last] = _item(value)
        made = place[last]
        if isinstance(made, Item):  # a remark on the old value says nothing about the new one
            made.trivia.comment_ws, made.trivia.comment = "", ""


def _section(value: Mapping[str, Any]) -> Any:
    table = tomlkit.table()
    for key, item in value.items():
        table.add(key, _item(item))
    return table


def _item(value: Any) -> Any:
    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        for key, item in value.items():
            table.append(key, _item(item))
        return table
    if isinstance(value, list):
        array = tomlkit.array()
        for item in value:
            array.append(_item(item))
        return array
    return tomlkit.item(value)


def relocate(text: str, moved: Mapping[str, str]) -> str:
    """The same plan for another folder: ``moved`` tells of each path in it what it is called from there."""
    document: Any = tomlkit.parse(text)
    source = document.get("source", {})
    if source.get("path") in moved:
        source["path"] = moved[source["path"]]
    for column in document.get("columns", {}).values():
        hierarchy = column.get("hierarchy", {})
        if hierarchy.get("csv") in moved:
            hierarchy["csv"] = moved[hierarchy["csv"]]
    return tomlkit.dumps(document)


# -- hierarchies as people write them ----------------------------------------------------------------


def hierarchy_from_text(kind: str, text: str) -> dict[str, Any]:
    """A hierarchy's entry in a plan from what was written into its editor.

    >>> hierarchy_from_text("intervals", "5, 10, 20")
    {'intervals': [5, 10, 20]}
    >>> hierarchy_from_text("tree", "Asia\\n  India\\n  Japan\\nAmerica\\n  USA")
    {'tree': {'Asia': ['India', 'Japan'], 'America': ['USA']}}
    """
    lines = [line for line in text.splitlines() if line.strip()]
    try:
        match kind:
            case "flat":
                return {"flat": True}
            case "prefix":
                return {"prefix": _numbers(text) or True}
            case "intervals":
                return {"intervals": _numbers(text)}
            case "cuts":
                return {"cuts": [_numbers(line) for line in lines]}
            case "dates":
                units, _, form = text.partition(";")
                return {"dates": _words(units), **({"format": form.strip()} if form.strip() else {})}
            case "order":
                last = lines[-1].partition(":")
                return {"order": {"values": [line.strip() for line in lines[:-1]], "fanout": _numbers(last[2])}}
            case "tree":
                return {"tree": _tree(lines)}
            case "csv":
                return {"csv": text.strip()}
            case "table":
                return {"table": [[cell.strip() for cell in line.split(";")] for line in lines]}
            case _:
                raise PlanError("There is no such kind of hierarchy.")
    except (ValueError, IndexError):
        raise PlanError(f"The {kind} are not written as expected; see the example beside the field.") from None


def hierarchy_to_text(entry: Mapping[str, Any]) -> tuple[str, str]:
    """Kind and text of a hierarchy's entry, as its editor shows them."""
    kinds = ("intervals", "cuts", "prefix", "csv", "table", "tree", "dates", "order", "flat")
    kind = next((kind for kind in kinds if kind in entry), "flat")
    given = entry.get(kind)
    match kind:
        case "intervals" | "prefix":
            flat = isinstance(given, list) and all(isinstance(item, int | float) for item in given)
            return kind, ", ".join(map(str, given)) if flat and given else ""
        case "cuts":
            return kind, "\n".join(", ".join(map(str, level)) for level in given or ())
        case "dates":
            return kind, ", ".join(given or ()) + (f"; {entry['format']}" if "format" in entry else "")
        case "order" if given is not None:
            values = "\n".join(map(str, given.get("values", ())))
            return kind, f"{values}\nfanout: {', '.join(map(str, given.get('fanout', ())))}".strip()
        case "tree":
            return kind, "\n".join(_indented(given or {}, 0))
        case "table":
            return kind, "\n".join(";".join(map(str, row)) for row in given or ())
        case "csv":
            return kind, str(given)
    return kind, ""


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.replace("\n", ",").split(",") if word.strip()]


def _numbers(text: str) -> list[int | float]:
    return [float(word) if any(sign in word for sign in ".e") else int(word) for word in _words(text)]


def _tree(lines: Sequence[str]) -> dict[str, Any]:
    """Lines by their indentation: a line with more indented ones under it is a class, others are values."""
    root: dict[str, Any] = {}
    above: list[tuple[int, dict[str, Any]]] = [(-1, root)]
    for line in lines:
        depth = len(line) - len(line.lstrip())
        while above[-1][0] >= depth:
            above.pop()
        made: dict[str, Any] = {}
        if line.strip() in above[-1][1]:
            raise ValueError
        above[-1][1][line.strip()] = made
        above.append((depth, made))
    return {name: _branch(below) for name, below in root.items()}


def _branch(below: dict[str, Any]) -> Any:
    if any(below.values()):
        return {name: _branch(more) if more else [name] for name, more in below.items()}
    return list(below)


def _indented(node: Any, depth: int) -> list[str]:
    if isinstance(node, Mapping):
        return [
            line for name, below in node.items() for line in (f"{'  ' * depth}{name}", *_indented(below, depth + 1))
        ]
    return [f"{'  ' * depth}{item}" for item in node] if isinstance(node, list) else [f"{'  ' * depth}{node}"]
