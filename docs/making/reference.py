"""Reference pages generated from the code.

Each is a page of MyST Markdown. Public names are documented by their docstrings (Sphinx's autodoc). Commands come from
the parser of the command line, error messages from the ``raise`` statements of the source. So nothing has to be written
twice.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import shoal

SOURCE = Path(shoal.__file__).parent
NAMES: dict[str, tuple[str, str, str]] = {
    "functions": (
        "Functions",
        "What the command line does, and what it does in Python.",
        "anonymize release check verify approve create_signing_key attack assess compare profile draft explore explain "
        "spark_session methods.full_domain.minimal_recodings methods.patterns.pattern_set.pattern_set",
    ),
    "plans": (
        "Plans and columns",
        "What is asked for, as typed objects.",
        "Plan Source CsvOptions Engine Output Population Recipient Review Column Role models.KeySet",
    ),
    "hierarchies": (
        "Hierarchies",
        "How a value becomes less exact; and the categories of sensitive values.",
        "hierarchies.intervals hierarchies.cuts hierarchies.prefix hierarchies.dates hierarchies.tree "
        "hierarchies.ordered hierarchies.flat hierarchies.levels_from hierarchies.Categories",
    ),
    "models": (
        "Models",
        "What every group must meet. [Models](../models.md) compares them.",
        "models.KAnonymity models.PSensitive models.PAlphaSensitive models.PPlusAlphaSensitive models.LDiversity "
        "models.TCloseness models.AlphaK models.DeltaDisclosure models.BetaLikeness models.TrajectoryAnonymity "
        "models.Known",
    ),
    "methods": (
        "Methods",
        "How groups are formed. [Choosing a method](../choosing-a-method.md) compares them.",
        "methods.FullDomain methods.Levels methods.TopDown methods.Mondrian methods.Refine methods.Switching "
        "methods.LocalSuppression methods.HiddenCells methods.FactsSuppression methods.Mdav methods.Cbfs methods.VMdav "
        "methods.KFirst methods.PFirst methods.Univariate methods.AntiUnification methods.Auto "
        "budget.methods.PopulationGrid budget.methods.SampledGrid",
    ),
    "results": (
        "Results",
        "What functions give back; each shows itself as text and, in a notebook, as a small page.",
        "Release Certificate CheckResult ReleaseVerification AttackReport RiskReport Comparison Profile Draft "
        "Exploration Explanation budget.Ledger budget.Questions",
    ),
    "errors": (
        "Errors",
        "",
        "errors.ShoalError errors.InputError errors.TableError errors.PlanError errors.HierarchyError "
        "errors.OutputError errors.InfeasibleError errors.VerificationError errors.ShoalWarning",
    ),
}
"""The public names by page: title, a sentence, and the names in their order on the page, without ``shoal.``."""


def pages() -> dict[str, str]:
    """Build all reference pages by name, as Markdown."""
    made = {key: _names(title, text, names.split()) for key, (title, text, names) in NAMES.items() if key != "errors"}
    made["learn"] = _learn()
    made["commands"] = _commands()
    made["errors"] = _errors()
    return made


# -- public names ----------------------------------------------------------------------------------------------------


def _names(title: str, text: str, names: list[str]) -> str:
    return "\n".join(
        [f"# {title}", "", text, "", "```{eval-rst}", ".. currentmodule:: shoal", "", *_directives(names), "```", ""]
    )


def _directives(names: list[str]) -> Iterator[str]:
    for name in names:
        module, _, own = f"shoal.{name}".rpartition(".")
        value = getattr(importlib.import_module(module), own)
        yield f".. auto{'class' if inspect.isclass(value) else 'function'}:: {module}.{own}"
        if inspect.isclass(value) and not issubclass(value, BaseException | Warning):
            yield "   :members:"
            hidden = [
                member
                for member in ("summary", "check", "decide", "warm", "min_memory_bytes")
                if hasattr(value, member)
            ]
            if hidden:
                yield f"   :exclude-members: {', '.join(hidden)}"
        yield ""


def _learn() -> str:
    text = (
        "Anonymization as a step of scikit-learn; `pip install 'shoal[learn]'`. The estimator keeps to scikit-learn's"
    )
    block = [
        "```{eval-rst}",
        ".. currentmodule:: shoal.sklearn",
        "",
        ".. autoclass:: Anonymizer",
        "   :members: fit, transform",
    ]
    return "\n".join(["# scikit-learn", "", f"{text} own checks where they can hold.", "", *block, "```", ""])


# -- commands --------------------------------------------------------------------------------------------------------


def _commands() -> str:
    import typer

    from shoal.cli.app import app

    lines = [
        "# Commands",
        "",
        "`shoal COMMAND --help` prints the same. Exit status: 0 success, 1 the answer is no, 2 invalid",
    ]
    lines += ["input, 3 no release is possible, 70 internal error.", ""]
    for name, command in sorted(typer.main.get_command(app).commands.items()):
        lines += _command(f"shoal {name}", command, "##")
    return "\n".join(lines)


def _command(called: str, command: Any, mark: str) -> list[str]:
    lines = [f"{mark} {called}", "", _paragraphs(command.help), ""]
    parameters = [one for one in command.params if not getattr(one, "hidden", False) and one.name != "help"]
    if parameters:
        lines += ["| option | what it means |", "|---|---|"]
        for one in parameters:
            opts = (
                [*one.opts, *one.secondary_opts]
                if one.param_type_name == "option"
                else [(one.metavar or one.name).upper()]
            )
            text = " ".join((getattr(one, "help", None) or "").split())
            lines.append(f"| {', '.join(f'`{opt}`' for opt in opts)} | {_cell(text)} |")
        lines.append("")
    for name, inner in sorted(getattr(command, "commands", {}).items()):
        lines += _command(f"{called} {name}", inner, mark + "#")
    return lines


def _paragraphs(text: str | None) -> str:
    """Convert the help of a command to paragraphs without indentation."""
    parts = re.split(r"\n\s*\n", inspect.cleandoc((text or "").replace("\b", "")))
    return "\n\n".join(" ".join(part.split()) for part in parts)


# -- errors ----------------------------------------------------------------------------------------------------------


def _errors() -> str:
    title, _, names = NAMES["errors"]
    drawn = inspect.cleandoc(inspect.getmodule(shoal.errors.ShoalError).__doc__ or "")
    first, tree, *rest = re.split(r"\n\n", drawn)
    lines = [f"# {title}", "", first, "", "```text", inspect.cleandoc(tree), "```", "", *rest, ""]
    lines += ["```{eval-rst}", ".. currentmodule:: shoal", "", *_directives(names.split()), "```", ""]
    intro = "By code; `error.code`, `error.where` and `error.arguments` are for programs."
    lines += ["## Every message", "", intro, "", "| code | error | message |", "|---|---|---|"]
    kinds = raised_codes()
    for code, message in catalogue("en").items():
        errors = ", ".join(f"`{kind}`" for kind in sorted(kinds.get(code, ())))
        lines.append(f"| `{code}` | {errors} | {_literal(message['text'])} |")
    return "\n".join([*lines, ""])


def catalogue(language: str) -> dict[str, Any]:
    """Read the messages of a language by code."""
    return tomllib.loads((SOURCE / "locale" / f"{language}.toml").read_text(encoding="utf-8"))


def raised_codes() -> dict[str, set[str]]:
    """Collect the errors that the source raises, by code."""
    found: dict[str, set[str]] = {}
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args):
                continue
            first = node.exc.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                kind = ast.unparse(node.exc.func).rpartition(".")[2]
                found.setdefault(first.value, set()).add(kind if kind.endswith("Error") else "InputError")
    return found


def _cell(text: str) -> str:
    return text.replace("``", "`").replace("|", "\\|")


def _literal(text: str) -> str:
    """Escape all Markdown characters in a text."""
    return re.sub(r"([\\`*_{}\[\]<>#|$~])", r"\\\1", " ".join(text.split()))
