"""The page of all keys of a plan file, generated from their declarations.

python -m docs.making.plan_file
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from shoal.methods import METHODS, Method
from shoal.models import MODELS, Model
from shoal.plan.json_schema import KNOWN, builtin, first_line, section_classes
from shoal.plan.linked import LinkedOutput, LinkedPlan, LinkedScenario, LinkedTable
from shoal.plan.plan import Plan
from shoal.runtime.validation import DeclaredKey, keys_of, plan_value
from shoal.schema import HIERARCHIES, Column, Hierarchy

PAGE = Path(__file__).parent.parent / "plan-file.md"
INTRODUCTION = """\
# Keys of a plan

A plan is a TOML file. This page lists every key that it may have, from the declarations in the source by which plans
are read (`python -m docs.making.plan_file` writes it). Paths are relative to the plan file. Editors complete and check
plans by the JSON schema that is shipped as `shoal/plan/plan.schema.json`.
"""
NAMES_OF_CLASSES = {
    "a Column": "a role, or a section",
    "a Model": "a model",
    "a Method": "a method",
    "a Hierarchy": "a hierarchy",
    "a KeySet": "a section",
    "a Scenario": "a section",
    "a Shift": "a table",
    "a Source": "a section",
    "an Output": "a section",
    "an EngineSettings": "a section",
    "a Recipient": "a section",
    "a Review": "a section",
    "a LinkedTable": "a section",
    "a LinkedScenario": "a section",
    "a LinkedOutput": "a section",
}
"""Names of classes for readers of the page."""


def page() -> str:
    """Build the page as Markdown."""
    lines = [INTRODUCTION, "## Sections", "", *_table(keys_of(Plan))]
    titles = {kind: title for part in keys_of(Plan) for kind in part.constraint.kinds for title in [_title(part)]}
    for kind in section_classes():
        if kind not in (Model, Method, Hierarchy):
            title = titles.get(kind) or f"`{kind.__name__.lower()}` of a column"
            lines += [f"## {title}", "", *_table(keys_of(kind))]
    lines += ["## Hierarchies", "", "The value of `hierarchy` of a column.", "", "| key | what it makes | beside it |"]
    lines += ["|---|---|---|"]
    for key, kind in builtin(HIERARCHIES).items():
        further = [part for part in keys_of(kind) if part.key in kind.options]
        listed = ", ".join(f"`{part.key}` ({_words(part)})" for part in further)
        lines.append(f"| `{key}` | {_cell(first_line(kind))} For example `{_cell(kind.example)}` | {_cell(listed)} |")
    about = f"`known` may stand beside any of them: {KNOWN['known']['description'].lower()}"
    lines += ["", "## Models", "", f"Each is one `[[models]]`. {about}", "", *_named(builtin(MODELS).items())]
    lines += ["## Methods", "", "One `[method]`.", "", *_named(builtin(METHODS).items())]
    lines += [
        "## Linked tables",
        "",
        "Sections of a plan of [linked tables](linked.md).",
        "",
        *_table(keys_of(LinkedPlan)),
    ]
    for title, kind in (("[[tables]]", LinkedTable), ("[[scenarios]]", LinkedScenario), ("[output]", LinkedOutput)):
        lines += [f"### `{title}` of linked tables", "", *_table(keys_of(kind))]
    return "\n".join(lines).rstrip() + "\n"


def _title(part: DeclaredKey) -> str:
    if Column in part.constraint.kinds:
        return "`[columns.NAME]`"
    return f"`[[{part.key}]]`" if "list" in part.constraint.words else f"`[{part.key}]`"


def _named(known: Iterable[tuple[str, type]]) -> Iterator[str]:
    for name, kind in known:
        yield from (f"### `{name}`", "", first_line(kind).replace("``", "`"), "")
        if keys_of(kind):
            yield from _table(keys_of(kind))


def _table(parts: Iterable[DeclaredKey]) -> list[str]:
    lines = ["| key | value | default | meaning |", "|---|---|---|---|"]
    for part in parts:
        lines.append(f"| `{part.key}` | {_cell(_words(part))} | {_default(part)} | {_cell(part.description)} |")
    return [*lines, ""]


def _words(part: DeclaredKey) -> str:
    words = part.constraint.words
    for name, meant in NAMES_OF_CLASSES.items():
        words = words.replace(name, meant)
    return words


def _default(part: DeclaredKey) -> str:
    if part.required:
        return "must be given"
    value = plan_value(part.default)
    if not isinstance(value, bool | int | float | str):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
