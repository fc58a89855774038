"""Scatter plot of utility against risk as SVG, and the exploration page.

Colours are always combined with shapes, and every point is a row of the table below the plot.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from shoal.formatting import number, percent
from shoal.render import Grid
from shoal.render.html import figure, grid_html, prose
from shoal.report.page import document
from shoal.report.wording import MEASURES

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 20, 60
DIGIT_WIDTH, DIGIT_HEIGHT = 12, 18
"""Width and height of a digit, in the size that it has on a phone."""


_ENVELOPE_NOTE = (
    " The dotted line is the lower envelope: under each mark on the line it shows the loss that is proven for no "
    "release of the same kind and models to undercut. Between the two a better method could still be."
)


@dataclass(frozen=True)
class Point:
    """Release in the plot: risk, loss, and whether it is efficient and chosen.

    An efficient release is on the frontier. ``on_click`` is the action of the page when the mark is clicked; the table
    has a button for it.
    """

    label: str
    risk: float
    loss: float
    efficient: bool
    chosen: bool
    on_click: str = ""
    least: float | None = None
    """Proven lower bound of the loss of releases of its kind, if any."""


def scatter(points: Sequence[Point], measure: str) -> str:
    """Render the plot as SVG.

    Risk increases to the right and loss upwards, so that the best points are at the lower left.
    """
    right, top = _ceiling(max(p.risk for p in points)), _ceiling(max(p.loss for p in points))

    def x(risk: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * risk / right

    def y(loss: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * loss / top

    parts = []
    for step in range(5):
        risk, loss = right * step / 4, top * step / 4
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(loss):.1f}" y2="{y(loss):.1f}"/>')
        parts.append(
            f'<text class="tick" text-anchor="end" x="{LEFT - 8}" y="{y(loss) + 4:.1f}">{number(loss, 3)}</text>'
        )
        attributes = f'text-anchor="middle" x="{x(risk):.1f}" y="{HEIGHT - BOTTOM + 20}"'
        parts.append(f'<text class="tick" {attributes}>{percent(risk)}</text>')
    frontier = sorted((p for p in points if p.efficient), key=lambda p: p.risk)
    if len(frontier) > 1:
        path = " ".join(f"{x(p.risk):.1f},{y(p.loss):.1f}" for p in frontier)
        parts.append(f'<polyline class="frontier" points="{path}"/>')
    parts += _envelope([(x(p.risk), y(p.loss), y(p.least)) for p in frontier if p.least is not None])
    for p in sorted(points, key=lambda p: (p.chosen, p.efficient)):
        parts.append(_mark(x(p.risk), y(p.loss), p))
    parts += _point_numbers([(x(p.risk), y(p.loss), p) for p in points])
    parts.append(
        f'<text class="axis" text-anchor="middle" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}">'
        f"risk: probability of being found, on average</text>"
    )
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(
        f'<text class="axis" text-anchor="middle" transform="translate(16 {middle}) rotate(-90)">'
        f"loss ({prose(measure)})</text>"
    )
    chosen = next((p for p in points if p.chosen), None)
    words = f"{len(points)} releases, {len(frontier)} of them efficient." + (
        f" Chosen: {prose(chosen.label)}." if chosen else ""
    )
    return (
        f'<svg class="scatter" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="scatter-title">'
        f'<title id="scatter-title">Loss against risk: {words}</title>{"".join(parts)}</svg>'
    )


def _envelope(placed: Sequence[tuple[float, float, float]]) -> list[str]:
    """Render the gap below each mark of the frontier, and the lower envelope.

    The gap is the loss that a better method could still save.
    """
    parts = [f'<line class="gap" x1="{x:.1f}" x2="{x:.1f}" y1="{y:.1f}" y2="{low:.1f}"/>' for x, y, low in placed]
    if len(placed) > 1:
        path = " ".join(f"{x:.1f},{low:.1f}" for x, _, low in placed)
        parts.append(f'<polyline class="envelope" points="{path}"/>')
    return parts


def _ceiling(value: float) -> float:
    """Return a round number not below a value."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(
        power * factor for factor in (1, 1.2, 1.6, 2, 2.4, 3, 4, 6, 8, 10) if power * factor >= value * (1 - 1e-12)
    )


def _mark(x: float, y: float, point: Point) -> str:
    title = f"<title>{prose(point.label)}: loss {number(point.loss)}, risk {percent(point.risk)}</title>"
    pick = f' data-changes="{prose(point.on_click, 100_000)}"' if point.on_click else ""
    if point.chosen:
        corners = " ".join(
            f"{x + r * math.sin(a * math.pi / 5):.1f},{y - r * math.cos(a * math.pi / 5):.1f}"
            for a, r in enumerate((11, 4.6) * 5)
        )
        return f'<polygon class="chosen" points="{corners}"{pick}>{title}</polygon>'
    if point.efficient:
        return f'<circle class="efficient" cx="{x:.1f}" cy="{y:.1f}" r="6"{pick}>{title}</circle>'
    return f'<circle class="beaten" cx="{x:.1f}" cy="{y:.1f}" r="5"{pick}>{title}</circle>'


def _point_numbers(placed: Sequence[tuple[float, float, Point]]) -> list[str]:
    """Render the table numbers of the marks, next to them where they fit.

    The chosen and the efficient points are placed first.
    """
    taken = [(x - 8, y - 8, x + 8, y + 8) for x, y, _ in placed]
    parts = []
    order = sorted(range(len(placed)), key=lambda i: (not placed[i][2].chosen, not placed[i][2].efficient, i))
    for i in order:
        x, y, _ = placed[i]
        wide = DIGIT_WIDTH * len(str(i + 1))
        for far, angle in itertools.product((18, 28), range(-2, 6)):  # first above, then around
            middle = x + (far + wide / 2 - 5) * math.cos(angle * math.pi / 4)
            centre = y + far * math.sin(angle * math.pi / 4)
            box = (middle - wide / 2, centre - DIGIT_HEIGHT / 2, middle + wide / 2, centre + DIGIT_HEIGHT / 2)
            inside = box[0] > LEFT and box[2] < WIDTH and box[1] > 0 and box[3] < HEIGHT - BOTTOM
            if inside and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                attributes = f'text-anchor="middle" x="{middle:.1f}" y="{centre + DIGIT_HEIGHT / 4:.1f}"'
                parts.append(f'<text class="number" {attributes}>{i + 1}</text>')
                break
    return parts


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def exploration_page(points: Sequence[Point], measure: str, grid: Grid, model: str) -> str:
    """Render the page: the plot, and all trials in a table.

    The trials of the points come first.
    """
    picture = ""
    if points:
        legend = (
            '<p class="legend"><span><svg class="key" viewBox="0 0 12 12" aria-hidden="true"><polygon class="chosen" '
            'points="6,0 7.5,4.2 12,4.4 8.4,7.2 9.7,11.6 6,9 2.3,11.6 3.6,7.2 0,4.4 4.5,4.2"/></svg> chosen</span> '
            '<span><svg class="key" viewBox="0 0 12 12" aria-hidden="true"><circle class="efficient" cx="6" cy="6" '
            'r="5"/></svg> efficient</span> <span><svg class="key" viewBox="0 0 12 12" aria-hidden="true"><circle '
            'class="beaten" cx="6" cy="6" r="5"/></svg> another is at least as good in both</span></p>'
        )
        about = f" The loss is {prose(measure)}: {MEASURES[measure]}." if measure in MEASURES else ""
        words = (
            "Each mark is a release that meets the models, with its number in the table below. Those on the line are "
            "efficient: whoever wants less loss must take more risk. The chosen one has the least loss of those that "
            f"meet the plan.{about}{_ENVELOPE_NOTE if any(p.least is not None for p in points) else ''}"
        )
        picture = legend + figure(scatter(points, measure), words)
    else:
        picture = "<p>No trial ended with a release; the table says why.</p>"
    listed = replace(grid, caption="All trials, least loss first").insert(0, "number", range(1, len(grid.rows) + 1))
    listing = grid_html(listed, "trials", scrolls="Trials")
    sections = [
        ("picture", "Loss against risk", f"<p>Models: {prose(model, 400)}.</p>{picture}"),
        ("trials", "The trials", listing),
    ]
    return document("Methods and parameters side by side", sections)
