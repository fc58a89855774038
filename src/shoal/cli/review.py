"""``shoal review``: list what a person must decide, and record the review."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Annotated

import typer


def review(
    plan: Annotated[Path, typer.Argument(help="The plan file (TOML).")],
    by: Annotated[str | None, typer.Option(help="Name of the reviewer; records the review in the plan.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Output JSON.")] = False,
) -> None:
    """Go through what only a person can decide in a plan, and record it.

    Without --by, the decisions are listed, the shortest list first. With it, the plan gets a section [review] with the
    name, the day and a digest of roles and models. A release warns if these have changed since.

    \b
    Example:  shoal review plan.toml
              shoal review plan.toml --by "A. Reader"
    """
    from shoal.cli.console import output, print_rows, safe
    from shoal.io.publish import write_text_atomic
    from shoal.plan.plan import Plan
    from shoal.plan.review import QUESTIONS, decisions_about_columns, record_review

    loaded = Plan.read(plan)
    decisions = decisions_about_columns(loaded)
    status = loaded.review_status or "draft"
    if by is not None:
        text = record_review(plan.read_text(encoding="utf-8-sig"), loaded, by, date.today())
        status = Plan.from_toml(text, plan.parent).review_status or ""
        write_text_atomic(plan, text)
    if as_json:
        models = [str(model) for model in loaded.models]
        print(json.dumps({"status": status, "models": models, "roles": dict(decisions)}))
        return
    rows = [(role, len(names), f"{QUESTIONS[role]} {', '.join(names)}") for role, names in decisions]
    receiver = loaded.recipient.kind if loaded.recipient else "not said ([recipient] kind)"
    output.print(f"Who receives it: {safe(receiver)}.")
    output.print(f"What is promised: {'; '.join(map(str, loaded.models)) or 'nothing'}.")
    print_rows("What only a person can decide", ("role", "columns", "each of these"), rows)
    if by is None:
        output.print(f"Status: {status}. When it is right: shoal review {safe(plan)} --by NAME")
    else:
        output.print(f"Recorded in {safe(plan)}: reviewed by {safe(by.strip())}.")
