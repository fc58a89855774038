"""Edits of a plan's text that the page makes.

Text that is not edited stays as it was written, comments included. A change is one of

    {"set": ["models", 0, "k"], "value": 7}      a value; null removes it
    {"set": ["models", "+"], "value": {...}}     one more entry in a list of tables
    {"column": "age", "role": "sensitive"}       a role, and the keys that depend on it
    {"column": "age", "kind": "tree", "text": "..."}   a hierarchy, as written in its editor
    {"column": "ill", "classes": "..."}          classes of sensitive values, likewise
    {"column": "ill", "order": "..."}            their order, one value per line
    {"column": "name", "pseudonym": true}        a pseudonym in place of a direct identifier
    {"column": "visit", "dates": "shift"}        dates shifted per person; "first": days since
                                                 the first; "": unchanged
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tomlkit
from tomlkit.exceptions import ParseError, TOMLKitError
from tomlkit.items import AoT, Item

from shoal.errors import HierarchyError, InputError, PlanError, ShoalError

MAX_PLAN_CHARACTERS = 1_000_000
STEP_BY_SECTION = {"columns": "columns", "models": "promise", "keys": "promise", "method": "run", "output": "publish"}
"""Step of the page in which each section of a plan is edited."""
LISTED_SECTIONS = ("models", "keys", "scenarios")
"""Sections that are lists: [[models]]."""


DATE_OPTIONS: dict[str, dict[str, Any]] = {
    "": {"shift": None, "relative_to": None},
    "shift": {"shift": {"days": 180, "per": "person"}, "relative_to": None},
    "first": {"shift": None, "relative_to": "first"},
}
"""Keys of a plan for each treatment of a person's dates."""


@dataclass(frozen=True)
class PlanLocation:
    """Location of a plan error: its line, step of the page and column."""

    line: int
    step: str
    column: str | None = None


def locate(text: str, error: ShoalError) -> PlanLocation | None:
    """Locate an error in a plan's text by the key that it is about.

    Return None if the error is about no key, or the plan lacks that section.
    """
    where = error.where
    if not where:
        return None
    section, named = where[0], where[1:2]
    lines = [(line, path) for line, path in _keyed_lines(text) if path[:1] == (section,)]
    if section in LISTED_SECTIONS:
        lines = _lines_of_entry(lines, text, named[0] if named else "")
        where = (section, *where[2:])
    elif section == "columns":
        lines = [(line, path) for line, path in lines if path[1:2] == named] or lines
    if not lines:
        return None
    shared = [sum(key == other for key, other in zip(path, where, strict=False)) for _, path in lines]
    line = lines[shared.index(max(shared))][0]
    is_hierarchy = where[2:3] == ("hierarchy",) or isinstance(error, HierarchyError)
    step = "hierarchies" if section == "columns" and is_hierarchy else STEP_BY_SECTION.get(section, "table")
    return PlanLocation(line, step, named[0] if section == "columns" and named else None)


KeyedLine = tuple[int, tuple[str, ...]]


def _lines_of_entry(lines: list[KeyedLine], text: str, entry: str) -> list[KeyedLine]:
    """Return the lines of an entry of a list, by its number or name."""
    heads = [number for number, (_, path) in enumerate(lines) if len(path) == 1]
    for index, (head, end) in enumerate(zip(heads, [*heads[1:], len(lines)], strict=True)):
        written = (text.splitlines()[line - 1] for line, path in lines[head:end] if path[-1] == "name")
        if entry == str(index) or any(f'"{entry}"' in one or f"'{entry}'" in one for one in written):
            return lines[head:end]
    return lines


def _keyed_lines(text: str) -> Iterator[KeyedLine]:
    """Yield the number and key path of each line with a section or key."""
    section: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        head = re.match(r"\s*\[\[?([^\[\]]+)\]\]?\s*(?:#.*)?$", line)
        key = re.match(r"\s*([\w-]+|\"[^\"]*\")\s*=", line)
        if head:
            section = tuple(part.strip("\"'") for part in re.findall(r"\"[^\"]*\"|'[^']*'|[\w-]+", head[1]))
            yield number, section
        elif key:
            yield number, (*section, key[1].strip('"'))


def find_syntax_error(text: str) -> dict[str, Any] | None:
    """Return the error and line of a TOML syntax error, or None."""
    if len(text) > MAX_PLAN_CHARACTERS:
        return {"error": InputError("page.plan-too-long"), "line": 1}
    try:
        tomlkit.parse(text).unwrap()
        tomllib.loads(text)  # stricter, and what reads the plan
    except ParseError as error:
        return {"error": InputError("page.plan-not-toml", reason=str(error)), "line": error.line}
    except (TOMLKitError, RecursionError, ValueError) as error:
        return {"error": InputError("page.plan-not-toml", reason=type(error).__name__), "line": 1}
    return None


def apply_changes(text: str, changes: Sequence[Mapping[str, Any]], suggested: Mapping[str, Any] | None = None) -> str:
    """Return the text of a plan after some changes.

    ``suggested`` maps columns to hierarchies, for a column that becomes a quasi-identifier.
    """
    document: Any = tomlkit.parse(text)
    try:
        for change in changes:
            if "classes" in change:
                for key, value in classes_from_text(str(change["classes"])).items():
                    _set(document, ["columns", str(change["column"]), key], value)
                if "categories" not in document["columns"][str(change["column"])]:
                    document["columns"][str(change["column"])].pop("publish", None)
            elif "kind" in change:
                entry = hierarchy_from_text(str(change["kind"]), str(change.get("text", "")))
                _set(document, ["columns", str(change["column"]), "hierarchy"], entry)
            elif "order" in change:
                lines = [line.strip() for line in str(change["order"]).splitlines() if line.strip()]
                _set(document, ["columns", str(change["column"]), "order"], lines or None)
            elif "pseudonym" in change:
                _set(document, ["columns", str(change["column"]), "pseudonym"], True if change["pseudonym"] else None)
            elif "dates" in change:
                for key, value in DATE_OPTIONS[str(change["dates"])].items():
                    _set(document, ["columns", str(change["column"]), key], value)
            elif "column" in change:
                _set_role(document, str(change["column"]), str(change["role"]), suggested or {})
            else:
                _set(document, list(change["set"]), change.get("value"))
        return tomlkit.dumps(document)
    except PlanError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, TOMLKitError):
        raise PlanError("page.change-does-not-fit") from None


def _set_role(document: Any, column: str, role: str, suggested: Mapping[str, Any]) -> None:
    section = document["columns"][column]
    _set(document, ["columns", column, "role"], role)
    if role not in ("quasi-identifier", "sensitive"):
        section.pop("hierarchy", None)
    if role != "sensitive":
        for key in ("categories", "category_names", "order", "publish", "exact"):
            section.pop(key, None)
    if role not in ("identifier", "person", "household"):
        section.pop("pseudonym", None)
    if role not in ("quasi-identifier", "other"):
        for key in DATE_OPTIONS[""]:
            section.pop(key, None)
    if role == "quasi-identifier" and "hierarchy" not in section and suggested.get(column):
        section["hierarchy"] = _item(suggested[column])


def _set(document: Any, path: list[Any], value: Any) -> None:
    *parent_keys, last = path
    parent = document
    for step in parent_keys:
        if step in ("models", "keys") and step not in parent:
            _set(parent, [step], [])
        elif isinstance(step, str) and step not in parent:
            parent[step] = tomlkit.table()
        parent = parent[step]
    if last == "+":
        parent.append(_section(value) if isinstance(parent, AoT) else _item(value))
    elif value is None:
        if isinstance(last, int) or last in parent:
            del parent[last]
    elif not parent_keys and isinstance(value, Mapping):
        parent[last] = _section(value)
    elif not parent_keys and last in ("models", "keys"):
        if last not in parent:
            parent.add(tomlkit.nl())
        parent[last] = tomlkit.aot()
        for entry in value:
            parent[last].append(_section(entry))
    else:
        parent[last] = _item(value)
        made = parent[last]
        if isinstance(made, Item):  # a comment on the old value does not apply to the new one
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


def relocate(text: str, new_paths: Mapping[str, str]) -> str:
    """Rewrite the relative paths of a plan for another folder.

    ``new_paths`` maps each path in the plan to the path as seen from the new folder.
    """
    document: Any = tomlkit.parse(text)
    for section, key in path_entries(document):
        if section[key] in new_paths:
            section[key] = new_paths[section[key]]
    return tomlkit.dumps(document)


def path_entries(document: Mapping[str, Any]) -> Iterator[tuple[Any, str]]:
    """Yield the sections and keys of a plan that name files to read.

    A plan need not be valid: what is not a section, or not text, is passed over.
    """
    hierarchies = [section_of(column, "hierarchy") for column in section_of(document, "columns").values()]
    entries = [(section_of(document, "source"), "path"), (section_of(document, "output"), "pseudonym_key")]
    entries += [(section_of(document, "method"), name) for name in ("ledger", "universe")]
    for section, key in [*entries, *((hierarchy, "csv") for hierarchy in hierarchies)]:
        if isinstance(section.get(key), str):
            yield section, key


def section_of(document: Any, name: str) -> Any:
    """Return a section of a plan; an empty one if it is none.

    >>> section_of({"source": 5}, "source")
    {}
    """
    found = document.get(name) if isinstance(document, Mapping) else None
    return found if isinstance(found, Mapping) else {}


# -- hierarchies as text in an editor ----------------------------------------------------------------


def hierarchy_from_text(kind: str, text: str) -> dict[str, Any]:
    """Return the plan entry of a hierarchy written in its editor.

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
                raise PlanError("page.unknown-hierarchy-kind")
    except (ValueError, IndexError):
        raise PlanError("page.hierarchy-badly-written", kind=kind) from None


def hierarchy_to_text(entry: Mapping[str, Any]) -> tuple[str, str]:
    """Return kind and editor text of a hierarchy's plan entry."""
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


def classes_from_text(text: str) -> dict[str, Any]:
    """Parse classes of sensitive values, the most sensitive class first.

    Each class is a line, and its values are indented below it.

    >>> classes_from_text("1\\n  HIV\\n  Cancer\\n2\\n  Flu")
    {'categories': [['HIV', 'Cancer'], ['Flu']], 'category_names': None}
    """
    try:
        tree = _tree([line for line in text.splitlines() if line.strip()])
        classes = [[str(value) for value in below] for below in tree.values()]
        if any(isinstance(below, Mapping) for below in tree.values()) or not all(classes):
            raise ValueError
    except ValueError:
        raise PlanError("page.classes-badly-written") from None
    counted = list(tree) == [str(number + 1) for number in range(len(tree))]
    return {"categories": classes or None, "category_names": None if counted or not classes else list(tree)}


def classes_to_text(section: Mapping[str, Any]) -> str:
    """Format the classes of a column for :func:`classes_from_text`."""
    classes = section.get("categories") or []
    names = section.get("category_names") or [str(number + 1) for number in range(len(classes))]
    lines = [[name, *(f"  {value}" for value in values)] for name, values in zip(names, classes, strict=False)]
    return "\n".join(line for part in lines for line in part)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.replace("\n", ",").split(",") if word.strip()]


def _numbers(text: str) -> list[int | float]:
    return [float(word) if any(sign in word for sign in ".e") else int(word) for word in _words(text)]


def _tree(lines: Sequence[str]) -> dict[str, Any]:
    """Build a tree from indented lines.

    A line with more indented lines below it is a class, every other line a value.
    """
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
