"""The page's small pictures as SVG: shapes of columns, heat maps of association, and the lattice of recodings.

Nothing here is told by colour alone, and every picture has its figures beside it or in a table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from markupsafe import Markup

from shoal.render.html import number, percent, prose

__all__ = ["heat_map", "lattice_picture", "minimal_of", "spark"]

WIDE = 960
MOST_EDGES = 90


def spark(shape: Sequence[int]) -> Markup:
    """A small histogram; the figures stand beside it."""
    most = max(shape, default=0) or 1
    width = 120 / max(len(shape), 1)
    bars = "".join(
        f'<rect class="before" x="{n * width:.1f}" y="{27 - 27 * count / most:.1f}" width="{max(width - 1, 0.5):.1f}" '
        f'height="{27 * count / most + 1:.1f}"/>'
        for n, count in enumerate(shape)
    )
    return Markup(f'<svg class="spark" viewBox="0 0 120 28" aria-hidden="true" focusable="false">{bars}</svg>')


def heat_map(names: Sequence[str], values: Mapping[tuple[str, str], float], title: str, signed: bool = False) -> Markup:
    """Pairs of columns as a grid of squares, darker where they go together more; a difference has a sign."""
    side = max(8.0, min(28.0, 300 / max(len(names), 1)))
    edge = 26
    parts = []
    for row, one in enumerate(names):
        place = edge + row * side
        parts.append(f'<text x="{edge - 6}" y="{place + side / 2 + 4:.1f}" text-anchor="end">{row + 1}</text>')
        parts.append(f'<text x="{place + side / 2:.1f}" y="{edge - 6}" text-anchor="middle">{row + 1}</text>')
        for column, other in enumerate(names):
            square = f'x="{edge + column * side:.1f}" y="{place:.1f}" width="{side - 1:.1f}" height="{side - 1:.1f}"'
            value = values.get((one, other), values.get((other, one)))
            if value is None:
                parts.append(f'<rect class="empty" {square}/>')
                continue
            kind = "after" if not signed or value > 0 else "before"
            shown = f"{prose(one, 40)}, {prose(other, 40)}: {value:{'+' if signed else ''}.2f}"
            parts.append(f'<rect class="empty" {square}/>')
            shade = f'fill-opacity="{min(1, abs(value)):.2f}"'
            parts.append(f'<rect class="{kind}" {shade} {square}><title>{shown}</title></rect>')
    size = edge + side * len(names) + 2
    box = f"0 0 {size:.0f} {size:.0f}"
    return Markup(f'<svg class="heat" viewBox="{box}" role="img" aria-label="{prose(title)}">{"".join(parts)}</svg>')


def minimal_of(lattice: Mapping[str, Any]) -> list[int]:
    """The places of the recodings that hold, where no finer one does."""
    good = [place for place, holds in enumerate(lattice["holds"]) if holds]
    levels = lattice["levels"]
    return [
        place
        for place in good
        if not any(
            other != place and all(a <= b for a, b in zip(levels[other], levels[place], strict=True)) for other in good
        )
    ]


def lattice_picture(lattice: Mapping[str, Any], chosen: Sequence[int] | None, title: str, take: Any) -> Markup:
    """All recodings, the exact table at the foot and nothing at the top; those that keep the promise are filled.

    ``take(levels)`` are the changes that make a recoding the plan; ``chosen`` are the levels of the plan as it is.
    """
    levels = [tuple(node) for node in lattice["levels"]]
    edge = set(minimal_of(lattice))
    losses = [loss for loss in lattice["loss"] if loss is not None]
    least = min(losses, default=None)
    best = None if least is None else lattice["loss"].index(least)
    layers = [list(part) for _, part in groupby(range(len(levels)), key=lambda place: sum(levels[place]))]
    high = 44 if len(levels) <= MOST_EDGES else 24
    tall = high * len(layers) + 8
    middle: dict[tuple[int, ...], tuple[float, float]] = {}
    nodes = []
    for depth, layer in enumerate(layers):
        step = min(96.0, (WIDE - 8) / len(layer))
        width = max(2.0, step - (10 if step > 40 else 1))
        top = tall - high * (depth + 1) + 2
        for place, node in enumerate(layer):
            x = WIDE / 2 + (place - (len(layer) - 1) / 2) * step
            middle[levels[node]] = (x, top + (high - 18) / 2)
            nodes.append(
                _node(lattice, node, (x, top, width, min(26, high - 6)), (node in edge, node == best), chosen, take)
            )
    lines = []
    if len(levels) <= MOST_EDGES:
        for own, (x, y) in middle.items():
            for column in range(len(own)):
                above = (*own[:column], own[column] + 1, *own[column + 1 :])
                if above in middle:
                    to = middle[above]
                    lines.append(f'<line class="grid" x1="{x:.1f}" y1="{y:.1f}" x2="{to[0]:.1f}" y2="{to[1]:.1f}"/>')
    return Markup(
        f'<svg class="lattice" viewBox="0 0 {WIDE} {tall}" role="img" aria-label="{prose(title)}">'
        f"{''.join(lines)}{''.join(nodes)}</svg>"
    )


def _node(
    lattice: Mapping[str, Any],
    place: int,
    box: tuple[float, float, float, float],
    marks: tuple[bool, bool],
    chosen: Sequence[int] | None,
    take: Any,
) -> str:
    x, top, width, height = box
    levels, loss, holds = lattice["levels"][place], lattice["loss"][place], lattice["holds"][place]
    pairs = ", ".join(f"{prose(name, 30)} {level}" for name, level in zip(lattice["columns"], levels, strict=True))
    kinds = ["node", "holds" if holds else "fails"]
    now = list(levels) == list(chosen or ())
    kinds += [name for name, held in zip(("minimal", "best", "now"), (*marks, now), strict=True) if held]
    pick = f' data-changes="{prose(json.dumps(take(levels)), 10_000)}"' if holds else ""
    shown = (
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
    return f'<g class="{" ".join(kinds)}"{pick}><title>{shown}</title>{rect}{text}</g>'
