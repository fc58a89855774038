"""Commands of the command line, and the public functions that they call.

Each command is a thin layer over functions: it reads options, calls them and prints the result. This table is all that
both sides share, and imports neither.
"""

from __future__ import annotations

from typing import NamedTuple


class Command(NamedTuple):
    """A command of the command line.

    Attributes
    ----------
    entry
        Module below ``shoal.cli`` and attribute that implement it.
    functions
        Public functions and classes that do its work.
    """

    entry: str
    functions: tuple[str, ...] = ()


COMMANDS = {
    "demo": Command("demo.demo", ("shoal.release", "shoal.check")),
    "plan": Command("plan.plan", ("shoal.profile", "shoal.draft")),
    "review": Command("review.review", ("shoal.Plan",)),
    "explore": Command("explore.explore", ("shoal.explore",)),
    "explain": Command("explain.explain", ("shoal.explain",)),
    "release": Command("release.release", ("shoal.release",)),
    "check": Command("check.check", ("shoal.check",)),
    "verify": Command("verify.verify_files", ("shoal.verify",)),
    "approve": Command("verify.approve_files", ("shoal.approve",)),
    "signing-key": Command("verify.signing_key", ("shoal.create_signing_key",)),
    "attack": Command("attack.attack", ("shoal.attack", "shoal.assess")),
    "compare": Command("compare.compare", ("shoal.compare",)),
    "minimal": Command("minimal.minimal", ("shoal.methods.full_domain.minimal_recodings",)),
    "serve": Command("serve.serve"),
    "reproduce": Command("reproduce.reproduce", ("shoal.papers.run.reproduce_papers",)),
    "compile": Command("compile.compile_all", ("shoal.api.compile.compile_methods",)),
    "ledger": Command("ledger.app", ("shoal.budget.Ledger",)),
    "query": Command("query.app", ("shoal.budget.Questions",)),
    "version": Command("app.version"),
}
"""Commands by name, in the order of ``shoal --help``."""
