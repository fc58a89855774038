"""Chart of the sources of a plan's loss, as self-contained HTML."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.advice.explain import Cost, Explanation
from shoal.formatting import fixed, number
from shoal.render.html import bar, prose, table
from shoal.report.page import document


def render_costs(found: Explanation) -> str:
    """Render the page of an explanation.

    It has the loss of the plan, then without each column and model, then with smaller parameters.
    """
    parts = [
        ("now", "As it is", _introduction(found)),
        ("without", "Without a column or a model", _bars(found, found.without)),
        ("with", "With a smaller parameter", _bars(found, found.with_)),
    ]
    return document("What the loss comes from", [part for part in parts if part[2]])


def cost_bars(found: Explanation) -> str:
    """Render the chart as a part of a report."""
    return _introduction(found) + _bars(found, (*found.without, *found.with_))


def _introduction(found: Explanation) -> str:
    of = "a sample of " if found.sampled else ""
    lost = "there is no release" if found.loss is None else f"the loss is {fixed(found.loss, 2)}"
    html = (
        f"<p>As the plan stands, on {of}{number(found.rows)} rows, {lost}: 0 is none of the detail of the "
        f"quasi-identifiers, 1 all of it. Every figure below was computed by running the plan with one thing changed; "
        f"the loss is of the columns that remain.</p>"
    )
    if found.untried:
        html += f"<p>{number(found.untried)} changes were not tried: the time was over.</p>"
    return html


def _bars(found: Explanation, costs: Sequence[Cost]) -> str:
    if not costs:
        return ""
    rows = [("as it is", _bar(found.loss, "before")), *((prose(cost, 200), _bar(cost.loss, "after")) for cost in costs)]
    return table("Loss (ncp) with one thing changed", ("Change", "Loss"), rows, "bars stacked")


def _bar(loss: float | None, kind: str) -> str:
    return "no release" if loss is None else f"{bar(loss, kind)} {fixed(loss, 2)}"
