"""Small faults of the kinds that a line of code is likely to have.

A mutant replaces the text of one expression or statement; every other character of the file is unchanged. Names,
messages, annotations and decorators are left alone: no promised behaviour depends on them. So is ``strict`` of ``zip``,
which is an assertion.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMPARISON_MUTATIONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip
OPERATOR_MUTATIONS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift, ast.Pow: ast.Mult,
}  # fmt: skip
FUNCTION_MUTATIONS = {
    "min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "all": "any", "any": "all",
    "argmin": "argmax", "argmax": "argmin", "floor": "ceil", "ceil": "floor", "zeros": "ones", "ones": "zeros",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One fault: its location, and the file's text with it."""

    module: str
    function: str
    """Qualified name of the function that contains it; empty outside all functions."""
    line: int
    before: str
    """The line in which it begins, as in the file."""
    after: str
    """The same line with the fault."""
    text: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Identification that does not depend on the line number."""
        return self.module, self.function, self.before, self.after


def mutants_of(root: Path, module: str) -> list[Mutant]:
    """List all mutants of one module in the order of the file."""
    source = (root / module).read_bytes()
    return list(_ModuleMutator(module, source).mutants())


def replace_line(root: Path, module: str, function: str, before: str, after: str) -> Mutant:
    """Return the mutant that replaces a line occurring once in a function."""
    source = (root / module).read_text()
    lines = source.splitlines(keepends=True)
    inside = {node.lineno - 1 for node, name in _nodes(ast.parse(source), "", "") if name == function}
    (number,) = (number for number in inside if lines[number].strip() == before)
    lines[number] = lines[number].replace(before, after)
    return Mutant(module, function, number + 1, before, after, "".join(lines))


class _ModuleMutator:
    """One file, its nodes and their functions."""

    def __init__(self, module: str, source: bytes) -> None:
        self.module = module
        self.source = source
        self.lines = source.decode().splitlines()
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def mutants(self) -> Iterator[Mutant]:
        for node, function in _nodes(ast.parse(self.source), "", ""):
            for new in _statements(node) if isinstance(node, ast.stmt) else _expressions(node):
                code = ast.unparse(new)
                yield self._replaced(node, function, f"({code})" if isinstance(new, ast.expr) else code)

    def _replaced(self, node: ast.expr | ast.stmt, function: str, new: str) -> Mutant:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self.starts[node.lineno - 1] + node.col_offset
        end = self.starts[node.end_lineno - 1] + node.end_col_offset
        text = (self.source[:start] + new.encode() + self.source[end:]).decode()
        before, after = self.lines[node.lineno - 1].strip(), text.splitlines()[node.lineno - 1].strip()
        return Mutant(self.module, function, node.lineno, before, after, text)


def _nodes(node: ast.AST, scope: str, function: str) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Yield the nodes that can be mutated, each with its function.

    Messages and types are skipped.
    """
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        name = f"{scope}{node.name}"
        if isinstance(node, ast.FunctionDef):
            for default in (*node.args.defaults, *(found for found in node.args.kw_defaults if found)):
                yield from _nodes(default, scope, function)
            scope, function = f"{name}.<locals>.", name
        else:
            scope = f"{name}."
        for child in node.body:
            yield from _nodes(child, scope, function)
        return
    if isinstance(node, ast.expr | ast.stmt):
        yield node, function
    for field, value in ast.iter_fields(node):
        if isinstance(node, ast.keyword) and node.arg == "strict":
            continue
        if field in ("annotation", "exc", "cause", "returns") or isinstance(value, ast.JoinedStr):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                yield from _nodes(child, scope, function)


def _statements(node: ast.stmt) -> Iterator[ast.stmt]:
    match node:
        case ast.If(body=[ast.Raise()], orelse=[]) | ast.AugAssign() | ast.Expr(value=ast.Call()):
            yield ast.Pass()
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield ast.Return(ast.Constant(None))
        case ast.Break() | ast.Continue():
            yield ast.Pass()


def _expressions(node: ast.AST) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(ops=ops):
            for position, operator in enumerate(ops):
                for other in COMPARISON_MUTATIONS[type(operator)]:
                    yield _copy_with(node, ops=[*ops[:position], other(), *ops[position + 1 :]])
        case ast.BoolOp(op=operator):
            yield _copy_with(node, op=ast.Or() if isinstance(operator, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.BinOp(op=operator) if type(operator) in OPERATOR_MUTATIONS and not _is_text(node):
            yield _copy_with(node, op=OPERATOR_MUTATIONS[type(operator)]())
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value + 1)
            if value:
                yield ast.Constant(value - 1)
        case ast.Call():
            yield from _calls(node)


def _calls(node: ast.Call) -> Iterator[ast.expr]:
    match node.func:
        case ast.Name(id=name) if name in FUNCTION_MUTATIONS:
            yield _copy_with(node, func=ast.Name(FUNCTION_MUTATIONS[name]))
        case ast.Attribute(attr=name) if name in FUNCTION_MUTATIONS:
            yield _copy_with(node, func=_copy_with(node.func, attr=FUNCTION_MUTATIONS[name]))
    for position, keyword in enumerate(node.keywords):
        if keyword.arg and keyword.arg != "strict":
            yield _copy_with(node, keywords=[*node.keywords[:position], *node.keywords[position + 1 :]])


def _copy_with(node: Any, **changed: object) -> Any:
    other = copy.copy(node)
    for name, value in changed.items():
        setattr(other, name, value)
    return other


def _is_text(node: ast.BinOp) -> bool:
    """Return whether an operation concatenates texts or unites types.

    The other operator would only raise an error there.
    """
    return any(
        isinstance(side, ast.JoinedStr) or (isinstance(side, ast.Constant) and isinstance(side.value, str | None))
        for side in (node.left, node.right)
    )
