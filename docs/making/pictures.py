"""SVG pictures of docs/concepts.md: the attack that each model prevents.

    python -m docs.making.pictures    # writes docs/pictures/concept-*.svg

A disc is a person, its colour and letter a sensitive value (colour alone carries no information), a box a group.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "pictures"
INK, FAINT, PAPER, GOOD, BAD = "#22303c", "#5c6b78", "#ffffff", "#2f7d4f", "#b5432a"
COLOURS = {
    "H": "#b5432a",
    "C": "#8a5a9e",
    "L": "#a86c10",
    "A": "#2c6fa8",
    "G": "#3f7f86",
    "F": "#4f8a3c",
    "": "#8fa3b3",
}
"""Colours of HIV, cancer, liver (hepatitis), asthma, gout, flu, and no given value."""

Parts = list[str]


def _text(x: float, y: float, text: str, *, colour: str = INK, size: int = 13, weight: str = "normal") -> str:
    return f'<text x="{x}" y="{y}" fill="{colour}" font-size="{size}" font-weight="{weight}">{escape(text)}</text>'


def _disc(x: float, y: float, letter: str = "") -> str:
    disc = f'<circle cx="{x}" cy="{y}" r="13" fill="{COLOURS[letter]}"/>'
    style = 'fill="#ffffff" font-size="13" font-weight="bold" text-anchor="middle"'
    return disc + (f'<text x="{x}" y="{y + 4.5}" {style}>{letter}</text>' if letter else "")


def _box(x: float, y: float, width: float, height: float, colour: str) -> str:
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="14" fill="{colour}" fill-opacity="0.07" '
        f'stroke="{colour}" stroke-width="1.5"/>'
    )


def _group(x: float, y: float, label: str, letters: str, colour: str, lines: Sequence[str]) -> Parts:
    """Draw a box of people, its label above and its explanation below."""
    width = 34 * len(letters) + 18
    parts = [_text(x + 4, y - 9, label, colour=FAINT), _box(x, y, width, 46, colour)]
    parts += [_disc(x + 26 + 34 * position, y + 23, letter) for position, letter in enumerate(letters)]
    return parts + [_text(x + 4, y + 66 + 18 * number, line, colour=colour) for number, line in enumerate(lines)]


def svg(title: str, height: int, parts: Parts) -> str:
    """Build a picture 680 wide with a background for dark pages."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 680 {height}" width="680" height="{height}" '
        f'font-family="system-ui, sans-serif" role="img"><title>{escape(title)}</title>'
        f'<rect width="680" height="{height}" rx="10" fill="{PAPER}"/>'
    )
    return "\n".join([head, *parts, "</svg>", ""])


def _linking() -> str:
    parts = [
        _text(20, 30, "A register of voters", weight="bold"),
        _text(20, 56, "Ann, 34, 14241"),
        _text(20, 78, "Bob, 37, 14247"),
    ]
    parts += [
        _text(220, 30, "The raw table, without names", weight="bold"),
        _text(470, 30, "The release, k = 5", weight="bold"),
    ]
    for position, row in enumerate(("31, 14240", "34, 14241", "37, 14247", "38, 14240", "39, 14245")):
        y = 56 + 30 * position
        parts += [_disc(234, y - 4), _text(256, y, row, colour=BAD if position == 1 else INK)]
        parts += [_disc(494, y - 4), _text(516, y, "30-39, 1424*", colour=GOOD)]
    parts.append(_box(470, 34, 150, 154, GOOD))
    parts.append(f'<path d="M128 52 L214 80" stroke="{BAD}" stroke-width="2" fill="none"/>')
    parts += [
        _text(20, 214, "One row fits: it is Ann's.", colour=BAD),
        _text(470, 214, "Five rows fit Ann.", colour=GOOD),
    ]
    return svg("Finding the row, and k rows that fit", 232, parts)


def _homogeneity() -> str:
    parts = _group(20, 40, "30-39, 1424*", "HHHHH", BAD, ["k = 5 holds, and everybody", "here has HIV (H)."])
    parts += _group(
        350, 40, "30-39, 1424*", "HFHAF", GOOD, ["p = 3: HIV, flu (F) or asthma (A);", "no one can tell whose."]
    )
    return svg("A group of one illness, and one of three", 142, parts)


def _similarity() -> str:
    lines = ["Three different values, all severe:", "HIV, cancer (C), hepatitis (L)."]
    parts = _group(20, 40, "30-39, 1424*", "HCLCH", BAD, lines)
    lines = ["Severe and harmless ones (flu, gout):", "several categories, and enough weight."]
    parts += _group(350, 40, "30-39, 1424*", "HCFGF", GOOD, lines)
    return svg("Different values that mean the same, and categories", 142, parts)


def _bars(x: float, title: str, shares: Sequence[tuple[str, str, float]], colour: str, lines: Sequence[str]) -> Parts:
    parts = [_text(x, 30, title, weight="bold")]
    for position, (letter, name, share) in enumerate(shares):
        y = 44 + 32 * position
        parts += [
            _text(x, y + 16, name),
            f'<rect x="{x + 66}" y="{y}" width="{max(2, 150 * share):g}" height="22" rx="3" fill="{COLOURS[letter]}"/>',
        ]
        parts.append(_text(x + 74 + 150 * share, y + 16, f"{share:.0%}", colour=FAINT))
    return parts + [_text(x, 164 + 18 * number, line, colour=colour) for number, line in enumerate(lines)]


def _skewness() -> str:
    whole = (("H", "HIV", 0.01), ("A", "asthma", 0.29), ("F", "flu", 0.70))
    group = (("H", "HIV", 0.50), ("A", "asthma", 0.20), ("F", "flu", 0.30))
    parts = _bars(20, "The whole release", whole, FAINT, ["What anybody may know."])
    lines = ["Diverse, and yet: whoever is in it", "is fifty times as likely to have HIV."]
    return svg("Shares in the release and in one group", 196, parts + _bars(350, "One group", group, BAD, lines))


def _people() -> str:
    parts = _group(
        20, 40, "30-39, 1424*: five rows", "HHHHH", BAD, ["Five visits of one patient:", "k = 5 by rows, 1 by people."]
    )
    parts += _group(
        350, 40, "30-39, 1424*: five people", "HFAGF", GOOD, ["Visits of five patients:", "k = 5 by people."]
    )
    return svg("Rows of one person, and rows of five", 142, parts)


def _linked() -> str:
    before, after = ("AH", "AH", "AF", "AF", "AF"), ("A", "A", "AF", "AF", "AF")
    parts: Parts = []
    for x, title, people, colour, lines in (
        (20, "One root label: five people, their facts", before, BAD, ("Who knows A and H", "finds two people.")),
        (350, "The same, H left out", after, GOOD, ("Any facts that are shown", "have at least three people.")),
    ):  # fmt: skip
        parts += [_text(x + 4, 31, title, colour=FAINT), _box(x, 40, 190, 196, colour)]
        for row, facts in enumerate(people):
            y = 62 + 38 * row
            parts += [_disc(x + 26, y), _text(x + 48, y + 5, "has", colour=FAINT)]
            parts += [_disc(x + 96 + 34 * column, y, letter) for column, letter in enumerate(facts)]
        parts += [_text(x + 4, 260 + 18 * number, line, colour=colour) for number, line in enumerate(lines)]
    return svg("Facts of people with one root label, before and after", 292, parts)


PICTURES = {
    "linking": _linking,
    "homogeneity": _homogeneity,
    "similarity": _similarity,
    "skewness": _skewness,
    "people": _people,
    "linked": _linked,
}


if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (FOLDER / f"concept-{name}.svg").write_text(draw(), encoding="utf-8")
