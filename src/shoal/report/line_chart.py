"""Line charts as self-contained SVG.

They work in light and dark mode, and every line has a different mark.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence

from shoal.formatting import tick as format_tick

WIDTH, HEIGHT = 640, 380
LEFT, RIGHT, TOP, BOTTOM = 74, 24, 44, 58
LINE_HEIGHT = 20
STYLE = """
.lines text{font:13px system-ui,sans-serif;fill:#1c2127}.lines .title{font-weight:600}
.lines .paper{fill:#fff}.lines .rule{stroke:#d3d9e0}
.lines .s0{--c:#1668b5}.lines .s1{--c:#b4661a}.lines .s2{--c:#14692d}.lines .s3{--c:#8a2c8a}.lines .s4{--c:#a81c1c}
.lines .s5{--c:#4d5763}.lines polyline{fill:none;stroke:var(--c);stroke-width:2}.lines .mark{fill:var(--c)}
@media (prefers-color-scheme:dark){.lines text{fill:#e4e9ee}.lines .paper{fill:#12161b}.lines .rule{stroke:#39424d}
.lines .s0{--c:#5aa9f2}.lines .s1{--c:#e39a52}.lines .s2{--c:#6fd28a}.lines .s3{--c:#d69ad6}.lines .s4{--c:#ff9a93}
.lines .s5{--c:#a4afba}}
"""
DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 4", "12 4")


def line_chart(
    title: str,
    x_title: str,
    y_title: str,
    series: Mapping[str, Sequence[tuple[float, float]]],
    *,
    log_x: bool = False,
    log_y: bool = False,
    from_zero: bool = True,
) -> str:
    """Render a chart of one or more lines as SVG.

    The vertical axis starts at 0 unless ``from_zero`` is false, or at a power of ten where it is logarithmic. Points
    without a value (NaN) are left out. Lines differ by colour, dashes and the shape of their marks.
    """
    known = {
        name: [(float(x), float(y)) for x, y in points if math.isfinite(x) and math.isfinite(y)]
        for name, points in series.items()
    }
    xs = [x for points in known.values() for x, _ in points]
    ys = [y for points in known.values() for _, y in points]
    if not xs:
        raise ValueError("a chart needs at least one point")
    legend = _legend(list(known))
    top = TOP + LINE_HEIGHT * len(legend)
    x_ticks, y_ticks = _ticks(xs, log_x, False), _ticks(ys, log_y, from_zero)
    across = _scale(x_ticks, log_x, LEFT, WIDTH - RIGHT)
    height = HEIGHT + LINE_HEIGHT * len(legend)
    upwards = _scale(y_ticks, log_y, height - BOTTOM, top)
    parts = [f'<rect class="paper" width="{WIDTH}" height="{height}"/>']
    for tick in y_ticks:
        y = upwards(tick)
        parts.append(f'<line class="rule" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text text-anchor="end" x="{LEFT - 8}" y="{y + 4:.1f}">{format_tick(tick)}</text>')
    for tick in x_ticks:
        x = across(tick)
        parts.append(f'<line class="rule" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{height - BOTTOM}"/>')
        parts.append(f'<text text-anchor="middle" x="{x:.1f}" y="{height - BOTTOM + 20}">{format_tick(tick)}</text>')
    for number, (name, points) in enumerate(known.items()):
        placed = [(across(x), upwards(y)) for x, y in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
        dash = DASHES[number % len(DASHES)]
        parts.append(f'<g class="s{number % 6}"><polyline stroke-dasharray="{dash or "none"}" points="{path}"/>')
        for (x, y), (at, value) in zip(placed, points, strict=True):
            words = f"<title>{html.escape(name)}: {format_tick(value)} at {format_tick(at)}</title>"
            parts.append(_mark(number, x, y, words))
        parts.append("</g>")
    for row, entries in enumerate(legend):
        for number, name, x in entries:
            y = TOP + LINE_HEIGHT * row
            parts.append(f'<g class="s{number % 6}">{_mark(number, x, y - 4, "")}</g>')
            parts.append(f'<text x="{x + 10}" y="{y}">{html.escape(name)}</text>')
    middle = (top + height - BOTTOM) / 2
    parts += [
        f'<text x="{LEFT}" y="20" class="title">{html.escape(title)}</text>',
        f'<text text-anchor="middle" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{height - 14}">{html.escape(x_title)}</text>',
        f'<text text-anchor="middle" transform="translate(16 {middle}) rotate(-90)">{html.escape(y_title)}</text>',
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="lines" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{html.escape(title)}"><style>{STYLE}</style>{"".join(parts)}</svg>\n'
    )


def _legend(names: Sequence[str]) -> list[list[tuple[int, str, int]]]:
    """Lay out legend rows of (number, name, x) by the estimated name widths."""
    rows: list[list[tuple[int, str, int]]] = [[]]
    x = LEFT + 6
    for number, name in enumerate(names):
        width = 30 + 7 * len(name)
        if rows[-1] and x + width > WIDTH:
            rows.append([])
            x = LEFT + 6
        rows[-1].append((number, name, x))
        x += width
    return rows


def _scale(ticks: Sequence[float], logarithmic: bool, start: float, end: float) -> Callable[[float], float]:
    low, high = ticks[0], ticks[-1]
    if logarithmic:
        return lambda value: start + (end - start) * math.log(value / low) / math.log(high / low)
    return lambda value: start + (end - start) * (value - low) / (high - low)


def _ticks(values: Sequence[float], logarithmic: bool, from_zero: bool) -> list[float]:
    if logarithmic:
        lowest = math.floor(math.log10(min(value for value in values if value > 0)))
        highest = max(math.ceil(math.log10(max(values))), lowest + 1)
        return [10.0**power for power in range(lowest, highest + 1)]
    low, high = min(values), max(values)
    low = min(0.0, low) if from_zero else low
    if high <= low:
        high = low + 1
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * (1 - 1e-9))
    first, last = math.floor(low / step), math.ceil(high / step - 1e-9)
    return [step * count for count in range(first, last + 1)]


def _mark(number: int, x: float, y: float, title: str) -> str:
    """Render a circle, square, triangle or diamond."""
    match number % 4:
        case 0:
            return f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="4">{title}</circle>'
        case 1:
            return f'<rect class="mark" x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8">{title}</rect>'
        case 2:
            corners = f"{x:.1f},{y - 5:.1f} {x + 5:.1f},{y + 4:.1f} {x - 5:.1f},{y + 4:.1f}"
        case _:
            corners = f"{x:.1f},{y - 6:.1f} {x + 6:.1f},{y:.1f} {x:.1f},{y + 6:.1f} {x - 6:.1f},{y:.1f}"
    return f'<polygon class="mark" points="{corners}">{title}</polygon>'
