"""SVG charts of the page: histograms, heat maps, the lattice of recodings.

No chart conveys information by colour alone, and the figures of every chart are also given as text or in a table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from markupsafe import Markup

from shoal.formatting import fixed, number, percent
from shoal.render.html import prose

CHART_WIDTH = 960
MAX_NODES_WITH_EDGES = 90


def sparkline(shape: Sequence[int]) -> Markup:
    """Draw a small histogram; the page gives the figures next to it."""
    peak = max(shape, default=0) or 1
    width = 120 / max(len(shape), 1)
    bars = "".join(
        f'<rect class="before" x="{n * width:.1f}" y="{27 - 27 * count / peak:.1f}" width="{max(width - 1, 0.5):.1f}" '
        f'height="{27 * count / peak + 1:.1f}"/>'
        for n, count in enumerate(shape)
    )
    return Markup(f'<svg class="spark" viewBox="0 0 120 28" aria-hidden="true" focusable="false">{bars}</svg>')


def draw_cliff(sets: Sequence[Mapping[str, Any]], title: str, facts: Sequence[str]) -> Markup:
    """Draw the shares of rows that are found, by number of facts, as lines.

    ``facts`` are the words below the points.
    """
    wide, tall, left, top = 560.0, 180.0, 52.0, 14.0
    step = wide / max(1, len(sets) - 1)

    def spot(at: int, share: float) -> str:
        return f"{left + at * step:.1f},{top + tall * (1 - share):.1f}"

    parts = [
        f'<line class="grid" x1="{left}" x2="{left + wide}" y1="{top + tall * (1 - part):.1f}" '
        f'y2="{top + tall * (1 - part):.1f}"/><text class="tick" x="{left - 8}" text-anchor="end" '
        f'y="{top + tall * (1 - part) + 4:.1f}">{percent(part)}</text>'
        for part in (0, 0.25, 0.5, 0.75, 1)
    ]
    for at, words in enumerate(facts):
        parts.append(
            f'<text x="{left + at * step:.1f}" y="{top + tall + 22}" text-anchor="middle">{prose(words)}</text>'
        )
    for when in ("before", "after"):
        shares = [one[when]["below"] for one in sets if when in one]
        if shares:
            line = " ".join(spot(at, share) for at, share in enumerate(shares))
            parts.append(f'<polyline class="cliff-line {when}" points="{line}"/>')
        for at, share in enumerate(shares):
            x, _, y = spot(at, share).partition(",")
            mark = (
                f'<circle class="{when}" cx="{x}" cy="{y}" r="5">'
                if when == "after"
                else f'<rect class="{when}" x="{float(x) - 5:.1f}" y="{float(y) - 5:.1f}" width="10" height="10">'
            )
            end = "</circle>" if when == "after" else "</rect>"
            parts.append(f"{mark}<title>{percent(share)}</title>{end}")
    box = f"0 0 {left + wide + 40:.0f} {top + tall + 34:.0f}"
    return Markup(
        f'<svg class="scatter cliff" viewBox="{box}" role="img" aria-label="{prose(title)}">{"".join(parts)}</svg>'
    )


def draw_heat_map(
    names: Sequence[str], values: Mapping[tuple[str, str], float], title: str, signed: bool = False
) -> Markup:
    """Draw a value for each pair of columns as a grid of squares.

    Squares of strongly associated columns are darker. ``signed`` values are differences.
    """
    side = max(8.0, min(28.0, 300 / max(len(names), 1)))
    edge = 26
    parts = []
    for row, one in enumerate(names):
        top = edge + row * side
        parts.append(f'<text x="{edge - 6}" y="{top + side / 2 + 4:.1f}" text-anchor="end">{row + 1}</text>')
        parts.append(f'<text x="{top + side / 2:.1f}" y="{edge - 6}" text-anchor="middle">{row + 1}</text>')
        for column, other in enumerate(names):
            square = f'x="{edge + column * side:.1f}" y="{top:.1f}" width="{side - 1:.1f}" height="{side - 1:.1f}"'
            value = values.get((one, other), values.get((other, one)))
            if value is None:
                parts.append(f'<rect class="empty" {square}/>')
                continue
            kind = "after" if not signed or value > 0 else "before"
            tooltip = f"{prose(one, 40)}, {prose(other, 40)}: {fixed(value, 2, signed=signed)}"
            parts.append(f'<rect class="empty" {square}/>')
            shade = f'fill-opacity="{min(1, abs(value)):.2f}"'
            parts.append(f'<rect class="{kind}" {shade} {square}><title>{tooltip}</title></rect>')
    size = edge + side * len(names) + 2
    box = f"0 0 {size:.0f} {size:.0f}"
    return Markup(f'<svg class="heat" viewBox="{box}" role="img" aria-label="{prose(title)}">{"".join(parts)}</svg>')


def minimal_nodes(lattice: Mapping[str, Any]) -> list[int]:
    """List the indexes of the minimal recodings that meet the models."""
    good = [index for index, holds in enumerate(lattice["holds"]) if holds]
    levels = lattice["levels"]
    return [
        index
        for index in good
        if not any(
            other != index and all(a <= b for a, b in zip(levels[other], levels[index], strict=True)) for other in good
        )
    ]


def draw_lattice(lattice: Mapping[str, Any], chosen: Sequence[int] | None, title: str, changes_for: Any) -> Markup:
    """Draw the lattice of recodings, the exact table at the bottom.

    Recodings that meet the models are filled. ``changes_for(levels)`` returns the changes that set the plan to a
    recoding; ``chosen`` are the levels of the current plan.
    """
    levels = [tuple(node) for node in lattice["levels"]]
    edge = set(minimal_nodes(lattice))
    losses = [loss for loss in lattice["loss"] if loss is not None]
    least = min(losses, default=None)
    best = None if least is None else lattice["loss"].index(least)
    layers = [list(part) for _, part in groupby(range(len(levels)), key=lambda index: sum(levels[index]))]
    high = 44 if len(levels) <= MAX_NODES_WITH_EDGES else 24
    tall = high * len(layers) + 8
    middle: dict[tuple[int, ...], tuple[float, float]] = {}
    nodes = []
    for depth, layer in enumerate(layers):
        step = min(96.0, (CHART_WIDTH - 8) / len(layer))
        width = max(2.0, step - (10 if step > 40 else 1))
        top = tall - high * (depth + 1) + 2
        for index, node in enumerate(layer):
            x = CHART_WIDTH / 2 + (index - (len(layer) - 1) / 2) * step
            middle[levels[node]] = (x, top + (high - 18) / 2)
            nodes.append(
                _node(
                    lattice, node, (x, top, width, min(26, high - 6)), (node in edge, node == best), chosen, changes_for
                )
            )
    lines = []
    if len(levels) <= MAX_NODES_WITH_EDGES:
        for own, (x, y) in middle.items():
            for column in range(len(own)):
                above = (*own[:column], own[column] + 1, *own[column + 1 :])
                if above in middle:
                    to = middle[above]
                    lines.append(f'<line class="grid" x1="{x:.1f}" y1="{y:.1f}" x2="{to[0]:.1f}" y2="{to[1]:.1f}"/>')
    return Markup(
        f'<svg class="lattice" viewBox="0 0 {CHART_WIDTH} {tall}" role="img" aria-label="{prose(title)}">'
        f"{''.join(lines)}{''.join(nodes)}</svg>"
    )


def _node(
    lattice: Mapping[str, Any],
    index: int,
    box: tuple[float, float, float, float],
    marks: tuple[bool, bool],
    chosen: Sequence[int] | None,
    changes_for: Any,
) -> str:
    x, top, width, height = box
    levels, loss, holds = lattice["levels"][index], lattice["loss"][index], lattice["holds"][index]
    pairs = ", ".join(f"{prose(name, 30)} {level}" for name, level in zip(lattice["columns"], levels, strict=True))
    kinds = ["node", "holds" if holds else "fails"]
    now = list(levels) == list(chosen or ())
    kinds += [name for name, applies in zip(("minimal", "best", "now"), (*marks, now), strict=True) if applies]
    pick = f' data-changes="{prose(json.dumps(changes_for(levels)), 10_000)}"' if holds else ""
    tooltip = (
        f"{pairs}: {percent(loss)}"
        if loss is not None and loss <= 1
        else f"{pairs}: {'' if loss is None else number(loss)}"
    )
    rect = f'<rect x="{x - width / 2:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" rx="3"/>'
    text = ""
    if width > 8 * (2 * len(levels) - 1):
        text = (
            f'<text text-anchor="middle" x="{x:.1f}" y="{top + height / 2 + 4:.1f}">{" ".join(map(str, levels))}</text>'
        )
    return f'<g class="{" ".join(kinds)}"{pick}><title>{tooltip}</title>{rect}{text}</g>'
