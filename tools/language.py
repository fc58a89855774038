"""Count violations of the rules of naming and prose in CONTRIBUTING.md.

    python tools/language.py                 # counts for the project
    python tools/language.py --list PATH ... # every finding below the paths, with file and line

Rules: no banned word in a name (modules, classes, functions, parameters, variables, attributes) or in the first line of
a docstring; a first line has at most 72 characters and begins with no question word; a test's name has at most 64.
Messages of the catalogues (``locale/*.toml``) state what was found in one form, have no private words, and put options
and keys into backticks. Messages and pages (README, ``docs``) are in British English with -ize.
"""

from __future__ import annotations

import argparse
import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "shoal"
FOLDERS = ("src/shoal", "tests", "tools", "benchmarks", "docs/making", "examples")
MAX_FIRST_LINE = 72
MAX_TEST_NAME = 64
BANNED_IN_NAMES = frozenset(
    [
        "absorbing",
        "absorbs",
        "ahead",
        "alike",
        "apart",
        "asked",
        "asking",
        "at_hand",
        "be_alone",
        "beside",
        "crew",
        "desk",
        "eased",
        "few",
        "gate",
        "held",
        "hold",
        "holding",
        "kept",
        "keeping",
        "lack",
        "laid",
        "lay",
        "many",
        "most",
        "nobody",
        "nobodys",
        "place",
        "places",
        "rehearsal",
        "rehearse",
        "rehearsed",
        "room",
        "rooms",
        "said",
        "says",
        "shown",
        "so_many",
        "sparing",
        "stands",
        "telling",
        "tell",
        "tells",
        "together",
        "told",
        "unites",
        "watching",
        "who",
        "whoever",
        "whom",
        "whose",
        "worth",
    ]
)
"""Words of a snake-case name; a phrase counts where its words are consecutive."""
CONTRACTS = {
    "examples/plugin/src/shoal_example/__init__.py": {"AtMost"},
    "src/shoal/api/functions.py": {"rehearse"},
    "src/shoal/methods/microaggregation/facts.py": {"most_groups_possible"},
    "src/shoal/methods/patterns/pattern_set.py": {"most", "shown"},
    "src/shoal/plan/plan.py": {"together"},
    "src/shoal/results/certificate.py": {"together"},
}
"""Names that are contracts with users, by file."""
ALLOWED_NAMES = frozenset({"at_most", "most_common"})
"""Names of other libraries."""
BANNED_IN_FIRST_LINES = re.compile(
    r"\b(told|tells?|telling|so many|whose|who|whoever|whom|of its own|laid|somebody|nobody|at hand|gate|rooms?|crew"
    r"|desk|beside)\b",
    re.I,
)
QUESTION_WORDS = re.compile(r"(what|who|whose|where|when|how|whether|which|why)\b", re.I)


BANNED_IN_MESSAGES = {
    "en": re.compile(
        r"\b(Got|told|tells?|mend(ed)?|laid|beside|gate|whose rows|somebody|fault in shoal|is at work|be had)\b"
        r"|; found|\bfound \{|\b(must|cannot) say\b|\bstands? (in|at|once|beside)\b",
    ),
    "de": re.compile(
        r"; gefunden|gefunden wurden?\b|Angegeben (ist|sind)|Empfindlichkeit|verallgemeiner|Fehler in shoal"
        r"|wessen Zeilen|\b(du|dein|deine|dir|dich)\b",
    ),
}
"""Private words of messages, and other forms of what was found, by language."""
OTHER_SPELLING = re.compile(
    r"\b(colors?|neighbors?|neighborhoods?|centers?|behaviors?|labeled|labeling|judgments?|favor\w*)\b"
    r"|\b(anonym|general|normal|recogn|organ|summar|minim|maxim|material|random|optim|pseudonym)is(e|es|ed|ing|ation)\b",
    re.I,
)
"""American words, and British ones with -ise: the project writes British English with -ize."""
QUOTED = re.compile(r"```.*?```|^ {4}.*?$|`[^`\n]*`|\]\([^)]*\)|https?://\S+", re.S | re.M)
UNQUOTED_KEY = re.compile(r"(?<![\w-])--[a-z][a-z-]+|\b[a-z_]+ = ('|\"|true\b|false\b)")
CATALOGUES = "src/shoal/locale/*.toml"
PAGES = ("README.md", "CONTRIBUTING.md", "docs/*.md")

RULES = (
    "banned word in a message",
    "option or key without backticks",
    "other spelling",
    "banned word in a name",
    "banned word in a first line",
    "first line too long",
    "first line asks a question",
    "test name too long",
)


class Finding(NamedTuple):
    """One violation of a rule."""

    rule: str
    path: str
    line: int
    text: str


def words_of(name: str) -> str:
    """Split a name into snake-case words, with an underscore on either side."""
    return "_" + re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_") + "_"


def is_banned(name: str) -> bool:
    """Return whether a name has a banned word."""
    if name in ALLOWED_NAMES:
        return False
    split = words_of(name)
    return any(f"_{word}_" in split for word in BANNED_IN_NAMES)


def _definitions(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield every name that a module defines.

    These are names of classes, functions, parameters and variables.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno
        elif isinstance(node, ast.alias) and node.asname:
            yield node.asname, node.lineno


def _docstrings(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the first line of every docstring."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            text = ast.get_docstring(node)
            if text:
                yield text.split("\n")[0], getattr(node, "lineno", 1)


def findings_in(path: Path) -> Iterator[Finding]:
    """Yield the violations of rules in one module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    displayed = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
    if is_banned(path.stem):
        yield Finding("banned word in a name", displayed, 1, path.stem)
    for name, line in _definitions(tree):
        if is_banned(name) and name not in CONTRACTS.get(displayed, ()):
            yield Finding("banned word in a name", displayed, line, name)
        if name.startswith("test_") and len(name) > MAX_TEST_NAME:
            yield Finding("test name too long", displayed, line, name)
    for first, line in _docstrings(tree):
        if BANNED_IN_FIRST_LINES.search(first):
            yield Finding("banned word in a first line", displayed, line, first)
        if len(first) > MAX_FIRST_LINE:
            yield Finding("first line too long", displayed, line, first)
        if QUESTION_WORDS.match(first):
            yield Finding("first line asks a question", displayed, line, first)


def message_findings(path: Path) -> Iterator[Finding]:
    """Yield the violations of rules in a catalogue of messages."""
    displayed = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
    for code, message in tomllib.loads(path.read_text(encoding="utf-8")).items():
        text = message["text"]
        plain = QUOTED.sub("", text)
        if BANNED_IN_MESSAGES[path.stem].search(plain):
            yield Finding("banned word in a message", displayed, 1, f"{code}: {text}")
        if UNQUOTED_KEY.search(plain):
            yield Finding("option or key without backticks", displayed, 1, f"{code}: {text}")
        if path.stem == "en" and OTHER_SPELLING.search(plain):
            yield Finding("other spelling", displayed, 1, f"{code}: {text}")


def page_findings(path: Path) -> Iterator[Finding]:
    """Yield the words of a page that are not in the project's spelling."""
    displayed = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
    text = QUOTED.sub(lambda quoted: "\n" * quoted.group().count("\n"), path.read_text(encoding="utf-8"))
    for number, line in enumerate(text.splitlines(), 1):
        for found in OTHER_SPELLING.finditer(line):
            yield Finding("other spelling", displayed, number, found.group())


def text_findings() -> Iterator[Finding]:
    """Yield the violations of rules in messages and pages."""
    for path in sorted(ROOT.glob(CATALOGUES)):
        yield from message_findings(path)
    for pattern in PAGES:
        for path in sorted(ROOT.glob(pattern)):
            yield from page_findings(path)


def modules_below(paths: list[Path]) -> list[Path]:
    """List the modules below some paths."""
    found = {file for path in paths for file in ([path] if path.is_file() else path.rglob("*.py"))}
    return sorted(file for file in found if "node_modules" not in file.parts)


def shared_names() -> Counter[str]:
    """Count classes and public functions of the package that share a name."""
    names: Counter[str] = Counter()
    for path in modules_below([PACKAGE]):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
                names[node.name] += 1
    return Counter({name: count for name, count in names.items() if count > 1})


def counts() -> dict[str, int]:
    """Count the figures that a test compares with its limits."""
    modules = modules_below([PACKAGE])
    rules = Counter(
        finding.rule for path in modules_below([ROOT / folder for folder in FOLDERS]) for finding in findings_in(path)
    )
    rules.update(finding.rule for finding in text_findings())
    shared = shared_names()
    return {
        "loose root modules": sum(1 for path in PACKAGE.glob("*.py") if path.stem not in ("__init__", "__main__")),
        **{rule: rules[rule] for rule in RULES},
        "definitions that share a name": sum(shared.values()),
        "modules": len(modules),
        "lines": sum(len(path.read_text(encoding="utf-8").splitlines()) for path in modules),
    }


def main() -> None:
    """Print counts, or every finding."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--list", action="store_true", help="list every finding below the paths")
    arguments = parser.parse_args()
    if arguments.list:
        for path in modules_below([path.resolve() for path in arguments.paths] or [ROOT / item for item in FOLDERS]):
            for finding in findings_in(path):
                print(f"{finding.path}:{finding.line}: {finding.rule}: {finding.text}")
        for finding in () if arguments.paths else text_findings():
            print(f"{finding.path}:{finding.line}: {finding.rule}: {finding.text}")
        return
    for name, count in counts().items():
        print(f"{count:>8,}  {name}")
    for name, count in sorted(shared_names().items()):
        print(f"          {count} x {name}")


if __name__ == "__main__":
    main()
