"""Rewrite sources for the current names of modules, classes and functions.

    python tools/migrate.py FILE_OR_FOLDER ...     # rewrites imports and names in .py, .md, .toml and .ipynb files
    python tools/migrate.py --move                 # moves the modules of this project first
    python tools/migrate.py --names FILE PATH ...  # only the names that another file lists

``renames.toml`` in the same folder lists old and new names. Names that are ambiguous on their own list the files in
which they change. Running it twice changes nothing more.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
RENAMES = tomllib.loads(Path(__file__).with_name("renames.toml").read_text(encoding="utf-8"))
MODULES: dict[str, str] = RENAMES["modules"]
CURRENT = set(MODULES.values())
ENTRY_POINT_GROUPS = ("shoal.formats", "shoal.engines", "shoal.models", "shoal.methods", "shoal.hierarchies")
SUFFIXES = (".py", ".md", ".toml", ".ipynb", ".yml", ".yaml", "")


def new_module(old: str) -> str:
    """Return the current name of a module below ``shoal``."""
    head, tail = old, ""
    while head:
        if head in CURRENT:
            return old
        if head in MODULES:
            return MODULES[head] + tail
        head, _, last = head.rpartition(".")
        tail = f".{last}{tail}"
    return old


def old_modules() -> list[str]:
    """List the modules of the source tree before the move."""
    package = ROOT / "src" / "shoal"
    return [
        ".".join(path.relative_to(package).with_suffix("").parts)
        for path in sorted(package.rglob("*.py"))
        if path.parent != package or path.stem not in ("__init__", "__main__")
    ]


def move() -> None:
    """Move every module to its new path with ``git mv``.

    New packages get an empty ``__init__.py``.
    """
    package = ROOT / "src" / "shoal"
    staged = []
    for old in old_modules():
        name = old.removesuffix(".__init__")
        is_package = old.endswith(".__init__")
        target = new_module(name)
        if name == "kernels":
            staged.append((old, "kernels.cache"))
        elif target != name:
            staged.append((old, target + (".__init__" if is_package else "")))

    def path(name: str) -> Path:
        return package.joinpath(*name.split(".")).with_suffix(".py")

    for old, _ in staged:  # to temporary names first: a module may get the name of another one's folder
        subprocess.run(["git", "mv", path(old), str(path(old)) + ".moving"], check=True, cwd=ROOT)
    for old, new in staged:
        path(new).parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "mv", str(path(old)) + ".moving", path(new)], check=True, cwd=ROOT)


_DOTTED = re.compile(r"\bshoal((?:\.[a-z_][a-z0-9_]*)+)")


def rewrite_dotted(text: str) -> str:
    """Rewrite ``shoal.old.module`` everywhere in a text.

    The groups of entry points are left alone.
    """

    def new(match: re.Match[str]) -> str:
        whole = match.group(0)
        before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
        if whole in ENTRY_POINT_GROUPS and before in "\"'`" and after in "\"'`":
            return whole
        if before == "/" or (text[match.end() : match.end() + 1] == "(" and whole.count(".") == 1):
            return whole  # a file's name, or a public function
        return "shoal." + new_module(match.group(1)[1:])

    return _DOTTED.sub(new, text)


def rewrite_module_imports(text: str) -> str:
    """Rewrite ``from shoal.package import module`` for modules that moved.

    The name of the module is replaced in the whole file.
    """
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return text
    lines = text.splitlines(keepends=True)
    renamed: dict[str, str] = {}
    for node in sorted(
        (n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module), key=lambda n: -n.lineno
    ):
        if node.module.split(".")[0] != "shoal":
            continue
        package = node.module.removeprefix("shoal").removeprefix(".")
        moved = {}
        for alias in node.names:
            full = f"{package}.{alias.name}".removeprefix(".")
            if full in _KNOWN and new_module(full) != full:
                moved[alias.name] = new_module(full)
        if not moved:
            continue
        stay = [a for a in node.names if a.name not in moved]
        indent = " " * node.col_offset
        comment = ""
        last = lines[node.end_lineno - 1]
        if "#" in last:
            comment = "  " + last[last.index("#") :].rstrip()
        made = []
        if stay:
            made.append(f"{indent}from {node.module} import " + ", ".join(_alias(a.name, a.asname) for a in stay))
        for alias in node.names:
            if alias.name in moved:
                parent, _, leaf = moved[alias.name].rpartition(".")
                made.append(f"{indent}from shoal{'.' + parent if parent else ''} import {_alias(leaf, alias.asname)}")
                if alias.asname is None and leaf != alias.name:
                    renamed[alias.name] = leaf
        made[0] += comment
        lines[node.lineno - 1 : node.end_lineno] = [line + "\n" for line in made]
    return rename_tokens("".join(lines), renamed, attributes=False) if renamed else "".join(lines)


def _alias(name: str, asname: str | None) -> str:
    return name if asname is None else f"{name} as {asname}"


def rename_tokens(text: str, renamed: dict[str, str], *, attributes: bool = True) -> str:
    """Replace names in code, docstrings, comments and some strings.

    In docstrings and comments only names in backticks are replaced; strings are replaced where they are arguments that
    name parameters or attributes.
    """
    out, last = [], (1, 0)
    lines = text.splitlines(keepends=True)
    named = _strings_that_are_names(text)
    previous = before = ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        new = token.string
        if token.type == tokenize.NAME and (attributes or previous != "."):
            new = renamed.get(token.string, token.string)
        elif token.type == tokenize.STRING and token.start in named:
            new = _WORD.sub(lambda m: renamed.get(m.group(0), m.group(0)), token.string)
        elif token.type == tokenize.COMMENT or (token.type == tokenize.STRING and before in _STATEMENT_START):
            new = _QUOTED.sub(lambda m: _WORD.sub(lambda w: renamed.get(w.group(0), w.group(0)), m.group(0)), new)
        if new != token.string:
            out.append(_between(lines, last, token.start))
            out.append(new)
            last = token.end
        if token.type not in (tokenize.NL, tokenize.COMMENT):
            before = tokenize.tok_name[token.type]
        if token.type not in (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT):
            previous = token.string
    out.append(_between(lines, last, (len(lines) + 1, 0)))
    return "".join(out)


_WORD = re.compile(r"\b[A-Za-z_]\w*\b")
_QUOTED = re.compile(r"`[^`\n]+`")
_STATEMENT_START = ("", "ENCODING", "NEWLINE", "INDENT", "DEDENT")


def _strings_that_are_names(text: str) -> set[tuple[int, int]]:
    """Find strings that name parameters of tests or attributes.

    These are arguments of parametrize, setattr, getattr and the like.
    """
    found: set[tuple[int, int]] = set()
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called == "parametrize":
            parts = node.args[:1]
        elif called in ("setattr", "getattr", "hasattr", "delattr", "attrgetter", "methodcaller"):
            parts = node.args[:2]
        else:
            continue
        for part in parts:
            for constant in ast.walk(part):
                if isinstance(constant, ast.Constant) and isinstance(constant.value, str):
                    found.add((constant.lineno, constant.col_offset))
    return found


def rename_names(path: Path, text: str, names: list[dict[str, object]]) -> str:
    """Apply the renames that are in force for a file."""
    try:
        inside = path.resolve().relative_to(ROOT.resolve())
    except ValueError:
        inside = path
    renamed = {
        str(entry["old"]): str(entry["new"])
        for entry in names
        if "files" not in entry or any(inside.full_match(pattern) for pattern in entry["files"])
    }
    return rename_tokens(text, renamed) if renamed and set(_WORD.findall(text)) & set(renamed) else text


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    if start[0] > len(lines):
        return ""
    if start[0] == end[0]:
        return lines[start[0] - 1][start[1] : end[1]]
    parts = [lines[start[0] - 1][start[1] :], *lines[start[0] : end[0] - 1]]
    if end[0] <= len(lines):
        parts.append(lines[end[0] - 1][: end[1]])
    return "".join(parts)


_PATHS = re.compile(r"\bsrc/shoal/([\w/]+)\.py\b")


def rewrite_paths(text: str) -> str:
    """Rewrite ``src/shoal/old/module.py`` in documents."""
    return _PATHS.sub(lambda m: "src/shoal/" + new_module(m.group(1).replace("/", ".")).replace(".", "/") + ".py", text)


_PUBLIC = re.compile(r"\bshoal\.([A-Za-z_]\w*)\b(?!\.[a-z_]+ import)")
_IMPORT = re.compile(r"^([ \t>.]*)from shoal import (\([^)]*\)|[^\n#]+)", re.M)


def rewrite_public(text: str) -> str:
    """Rewrite public names that moved from ``shoal`` to one of its modules."""
    public: dict[str, str] = RENAMES.get("public", {})

    def split(match: re.Match[str]) -> str:
        prefix, listed = match.group(1), match.group(2)
        names = [name.strip() for name in listed.strip("() \n").replace("\n", " ").split(",") if name.strip()]
        homes: dict[str, list[str]] = {}
        for name in names:
            homes.setdefault(public.get(name.split(" ")[0], "shoal"), []).append(name)
        if set(homes) == {"shoal"}:
            return match.group(0)
        return "\n".join(f"{prefix}from {home} import {', '.join(homes[home])}" for home in sorted(homes))

    text = _IMPORT.sub(split, text)
    return _PUBLIC.sub(lambda m: f"{public[m.group(1)]}.{m.group(1)}" if m.group(1) in public else m.group(0), text)


def files_below(paths: list[str]) -> list[Path]:
    """List the text files below some paths, as git lists them if it can."""
    found = []
    for path in map(Path, paths):
        if path.is_file():
            found.append(path)
            continue
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"], cwd=path, capture_output=True, text=True
        )
        names = (
            listed.stdout.splitlines()
            if listed.returncode == 0
            else [str(p.relative_to(path)) for p in path.rglob("*")]
        )
        found += [path / name for name in names if (path / name).is_file() and Path(name).suffix in SUFFIXES]
    here = Path(__file__).parent
    return [path for path in found if path.resolve().parent != here and path.name not in ("CHANGELOG.md",)]


_KNOWN: set[str] = set()


def main() -> None:
    """Rewrite the files named on the command line."""
    if sys.version_info < (3, 13):
        sys.exit("Run this with Python 3.13 or later: it must see the names inside f-strings.")
    arguments = [argument for argument in sys.argv[1:] if argument != "--move"]
    names: list[dict[str, object]] = list(RENAMES.get("names", []))
    if "--names" in arguments:
        at = arguments.index("--names")
        names = tomllib.loads(Path(arguments[at + 1]).read_text(encoding="utf-8"))["names"]
        del arguments[at : at + 2]
    paths = arguments or [str(ROOT)]
    _KNOWN.update(old.removesuffix(".__init__") for old in RENAMES.get("known_modules", old_modules()))
    if "--move" in sys.argv:
        move()
    for path in files_below(paths):
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        new = text
        is_python = path.suffix == ".py" or text.startswith("#!/usr/bin/env python")
        if "--names" not in sys.argv:
            if is_python:
                new = rewrite_module_imports(new)
            new = rewrite_public(rewrite_paths(rewrite_dotted(new)))
        if is_python:
            new = rename_names(path, new, names)
        if new != text:
            path.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
