"""Internal report: all that is known of a release, as one HTML file.

It is for the owner of the release: it also tells of the original, and of rows that were left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from shoal.budget.guarantee import Guarantee
from shoal.budget.methods.grids import Booked
from shoal.formatting import counted, number, percent
from shoal.methods.base import mask_small_count
from shoal.render.html import bar, figure, grid_html, prose, table, text
from shoal.render.style import STYLE
from shoal.report.wording import ATTACKS, MEASURES, join_names, method_sentence, model_sentence
from shoal.results.certificate import partial_knowledge_sentence
from shoal.results.release import (
    bound_sentences,
    intruder_warnings,
    people_warnings,
    utility_warnings,
)
from shoal.results.report_facts import Band, ColumnFacts, Description, TableFacts
from shoal.risk.attacks import AttackResult
from shoal.risk.exposure import SMALL_CROWD
from shoal.schema import Role
from shoal.table.method_facts import MethodFacts, WarningFacts
from shoal.verification.check import verdict_grid

PARAGRAPH_BREAK = "<!-- next paragraph -->"
LEGEND = (
    '<p class="legend"><span><svg class="key" aria-hidden="true"><rect class="before" width="100%" height="100%"/>'
    '</svg> original</span> <span><svg class="key" aria-hidden="true"><rect class="after" width="100%" '
    'height="100%"/></svg> release</span></p>'
)


INTERNAL_NOTE = (
    "<p><strong>Internal: for those who are responsible for the release. Do not publish this page.</strong> It tells "
    "of the original table, of rows that were left out and of values that are hidden in the release. The report beside "
    "it (.report.html) tells nothing but what the released table shows.</p>"
)


def render_internal(
    figures: Mapping[str, Any], method_facts: MethodFacts, description: Description, costs: str = ""
) -> str:
    """Render the report for the owner of a release as HTML.

    Parameters
    ----------
    figures, method_facts, description
        The attributes ``figures``, ``facts`` and ``description`` of the release.
    costs
        What the loss comes from, as finished HTML (:func:`shoal.advice.explain_chart.cost_bars`); without it the report
        says how to get it.
    """
    content = figures
    name = content.get("output", {}).get("name", "released table")
    parts = [
        ("internal", "Not for publication", INTERNAL_NOTE),
        ("warnings", "Before you use it", render_warnings(content)),
        ("done", "What was done", _summary(content, method_facts, description)),
        ("models", "What was promised and found", render_models(content)),
        ("groups", "Sizes of groups", _groups(description)),
        ("risks", "How likely a person is found", _risks(content, description)),
        ("attacks", "What an intruder would learn", _attacks(content, description)),
        ("previous", "Together with the earlier release", _previous(content)),
        ("columns", "What each column lost", _columns(content, description, bool(costs))),
        ("costs", "What the loss comes from", costs),
        ("distributions", "Distributions before and after", _distributions(description)),
        ("particulars", "Particulars", _particulars(content)),
    ]
    return document(f"Internal report: {prose(name)}", [part for part in parts if part[2]])


def document(title: str, sections: Sequence[tuple[str, str, str]]) -> str:
    """Render a whole page from sections (anchor, heading, finished HTML).

    ``title`` must be escaped already.
    """
    links = "".join(f'<li><a href="#{anchor}">{heading}</a></li>' for anchor, heading, _ in sections)
    body = "".join(
        f'<section aria-labelledby="{anchor}"><h2 id="{anchor}">{heading}</h2>{content}</section>'
        for anchor, heading, content in sections
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{STYLE}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header><h1>{title}</h1></header>
<nav aria-label="Sections"><ul>{links}</ul></nav>
<main id="content" tabindex="-1">{body}</main>
<footer><p>Made by shoal. This page loads nothing and sends nothing.</p></footer>
</body>
</html>
"""


# -- sections ----------------------------------------------------------------------------------------


def render_warnings(content: Mapping[str, Any]) -> str:
    """Render the warnings about utility and about owners of rows.

    Empty where there is none.
    """
    warnings = [*utility_warnings(content), *intruder_warnings(content)]
    if "rows" in content:  # the certificate has no figures of the source's people
        warnings += people_warnings(content)
    items = "".join(f"<li>{prose(warning['text'], 800)}</li>" for warning in warnings)
    return f"<ul>{items}</ul>" if items else ""


def _summary(content: Mapping[str, Any], method_facts: MethodFacts, facts: Description) -> str:
    by_role = {role: [column.name for column in facts.columns if column.role is role] for role in Role}
    quasi, sensitive = by_role[Role.QUASI_IDENTIFIER], by_role[Role.SENSITIVE]
    sentences = []
    if "rows" in content:
        out = content["suppressed"]
        left = "all of them are released."
        if out:
            verb = "was" if out == 1 else "were"
            left = f"{number(content['released'])} of them are released, {number(out)} {verb} left out."
        if by_patterns(content):
            left = left.replace("are released", "are described by patterns")
        sentences.append(f"The original table has {number(content['rows'])} rows; {left}")
    else:
        sentences.append(f"The release has {number(content['released'])} rows.")
    dropped = [name for name in by_role[Role.IDENTIFIER] if name not in content.get("pseudonyms", ())]
    if dropped:
        sentences.append(f"What names a person directly was removed: {join_names(dropped)}.")
    unseen = (name for role in (Role.PERSON, Role.HOUSEHOLD, Role.DROP) for name in by_role[role])
    hidden = [name for name in unseen if name not in content.get("pseudonyms", ())]
    if hidden:
        sentences.append(f"Not published: {join_names(hidden)}.")
    people = content.get("people")
    if people:
        sentences.append(
            f"It is known whose rows they are: the conditions below count {people['unit']}, of which the original has "
            f"{number(people['total'])} and the release {number(people['released'])}. {prose(people['verification'])}"
        )
    columns = content["plan"]["columns"]
    for name in content.get("moved_dates", ()):
        shift = columns[name].get("shift")
        sentences.append(
            f"In {join_names([name])} all dates of a person were moved by one number of days, at most {shift['days']}, "
            "that only the holder of a secret key can tell; what follows is about the moved dates."
            if shift
            else f"In {join_names([name])} dates were replaced by the days since the person's first."
        )
    if content.get("pseudonyms"):
        sentences.append(
            f"In {join_names(content['pseudonyms'])} every value was replaced by a pseudonym that only the holder of a "
            f"secret key can make; the key is no part of the release."
        )
    sentences.append(PARAGRAPH_BREAK)
    sentences.append(
        f"By {join_names(quasi)} a person could be recognised by someone who knows these facts about him or her. "
        f"{method_sentence(content['method'], method_facts)}"
    )
    sentences += [prose(sentence, 300) for sentence in bound_sentences(content)]
    if content.get("folded"):
        folded = content["folded"]
        sentences.append(
            f"Spellings of one value (letter case, blanks, forms of a number) were counted as one in "
            f"{join_names(list(folded))}: {counted(sum(folded.values()), 'spelling')} beside the first of each."
        )
    categories = [name for name in sensitive if name in content.get("published_as_categories", ())]
    unchanged = [name for name in sensitive if name not in categories]
    if unchanged:
        sentences.append(f"What the table tells about these people ({join_names(unchanged)}) was not changed.")
    if categories:
        sentences.append(f"Of {join_names(categories)} the release tells the category only, not the value itself.")
    if added := content.get("category_columns"):
        homes = join_names(list(added.values()))
        sentences.append(f"The categories of {join_names(list(added))} are published in {homes}.")
    if by_role[Role.OTHER]:
        sentences.append(f"Published as they are: {join_names(by_role[Role.OTHER])}.")
    sentences.append(PARAGRAPH_BREAK)
    least = number(content["smallest_group"])
    if partial_knowledge := partial_knowledge_sentence(content):
        sentences.append(
            f"{prose(partial_knowledge, 600)} This was verified on the finished table itself, for every set of "
            f"columns, before it was written."
        )
    elif by_patterns(content):
        sentences.append(
            f"Every row of the released table is a pattern, which describes at least {least} rows of the original. "
            f"This was verified on the finished table and the original before it was written."
        )
    elif people and "smallest_crowd" in people:
        known = "all rows" if people["known_rows"] == "all" else f"{people['known_rows']} rows"
        sentences.append(
            f"As a result whoever knows {known} of somebody, and can link them, finds at least "
            f"{number(people['smallest_crowd'])} {people['unit']} with the same in these columns. This was verified on "
            f"the finished table before it was written."
        )
    elif people:
        sentences.append(
            f"As a result at least {number(people['smallest_group'])} people have rows that look like any released row "
            f"in these columns. This was verified on the finished table before it was written, with numbers for its "
            f"people that are no part of the release."
        )
    else:
        sentences.append(
            f"As a result every released row is one of at least {least} that look alike in these columns. This was "
            f"verified on the finished table itself, row by row, before it was written."
        )
    warned = method_facts.get(WarningFacts)
    if warned:
        sentences.append(f"<strong>Note:</strong> {prose(warned.warning, 600)}")
    names = ("rows released", "groups", "rows in the smallest group")
    if by_patterns(content):
        names = ("rows described", "patterns", "rows of the smallest pattern")
    counts = (content["released"], content["groups"], content["smallest_group"])
    tiles = [(number(count), name) for count, name in zip(counts, names, strict=True)]
    if people:
        tiles += [
            (number(people["released"]), f"{people['unit']} released"),
            (number(people["smallest_group"]), f"{people['unit']} in the smallest group"),
        ]
    if "rows" in content:
        tiles.insert(1, (number(content["suppressed"]), "rows left out"))
    definitions = "".join(f"<div><dt>{label}</dt><dd>{value}</dd></div>" for value, label in tiles)
    paragraphs = f"<p>{' '.join(sentences)}</p>".replace(f" {PARAGRAPH_BREAK} ", "</p><p>")
    return f'{paragraphs}<dl class="tiles">{definitions}</dl>{_booked_guarantee(method_facts.get(Booked))}'


def by_patterns(content: Mapping[str, Any]) -> bool:
    """Return whether released rows are patterns of original rows.

    Patterns may overlap.
    """
    return any(model["name"] == "pattern-support" for model in content["models"])


def _booked_guarantee(booked: Booked | None) -> str:
    return "" if booked is None else render_guarantee(booked.promise)


def render_guarantee(promise: Guarantee) -> str:
    """Render the guarantee of a method under a budget."""
    figures = [f"{name} = {_value(value)}" for name, value in promise.figures().items() if name != "E"]
    parts = [f"<p>The method promises by itself: {', '.join(figures)}.</p>"]
    for heading, sentences in (("It holds if", promise.assumptions), ("It does not say", promise.not_promised)):
        if sentences:
            items = "".join(f"<li>{prose(sentence, 600)}</li>" for sentence in sentences)
            parts.append(f"<h3>{heading}</h3><ul>{items}</ul>")
    return "".join(parts)


def render_models(content: Mapping[str, Any]) -> str:
    """Render the models, in words and as the release meets them."""
    models = content["models"]
    if not models:
        return ""
    sensitive = [name for name, column in content["plan"]["columns"].items() if column["role"] == Role.SENSITIVE]
    harmless = [name for name in sensitive if {"harmless", "missing"} & content["plan"]["columns"][name].keys()]
    grid = verdict_grid(models, without=("column",))
    grid = grid.insert(1, "in words", [model_sentence(model, sensitive, harmless) for model in models])
    grid = replace(grid, caption="The conditions, and what the finished table really reaches")
    return grid_html(grid, "models stacked", finished=("in words",))


def _groups(facts: Description) -> str:
    return render_groups(facts.after, facts.before, facts.least)


def render_groups(after: TableFacts | None, before: TableFacts | None, least: int) -> str:
    """Render the sizes of groups in the release, and in the original if given."""
    if after is None:
        return ""
    lines = []
    for index, band in enumerate(after.bands):
        old = before.bands[index] if before else None
        if not band.rows and not (old and old.rows):
            continue
        cells = [_band(band, after.unit)]
        if before and old:
            cells.append(_count_bar(old.rows, before.rows, "before", least, after.unit))
        cells.append(_share_bar(band.rows / after.rows, "after", f"{number(band.rows)} {after.unit}"))
        lines.append(cells)
    columns = ["Group size", *(["Original"] if before else []), "Release"]
    words = (
        f"In the release {number(after.groups)} groups have {_quantity(after.smallest_group, after.unit)} or more each."
    )
    if before:
        words += (
            f" In the original {_at_risk(before, least)} of the {after.unit} were in groups of fewer than "
            f"{number(least)}."
        )
    if after.unit == "people":
        words += " Whoever is in several groups is counted in the smallest."
    bands = table(f"{after.unit.capitalize()} by the size of the group that they are in", columns, lines, "bars")
    return figure(LEGEND * bool(before) + bands, words)


def _at_risk(table: TableFacts, least: int) -> str:
    """Format the share of rows in small groups, or that there are a few."""
    count = _count_at_risk(table, least)
    return count if isinstance(count, str) else percent(table.risk.prosecutor.at_risk)


def _count_at_risk(table: TableFacts, least: int) -> int | str:
    return mask_small_count(round(table.risk.prosecutor.at_risk * table.rows), least)


def _count_bar(count: int, get: int, kind: str, least: int, what: str) -> str:
    """Render a bar with its count; small counts are not disclosed."""
    formatted = mask_small_count(count, least)
    if isinstance(formatted, str):
        return f'{bar(0.0, kind)}<span class="figure">{formatted} {what}</span>'
    return _share_bar(count / max(get, 1), kind, f"{number(count)} {what}")


def _quantity(count: int, unit: str) -> str:
    if count == 1:
        return "1 row" if unit == "rows" else "1 person"
    return f"{number(count)} {unit}"


def _band(band: Band, unit: str) -> str:
    if band.low == band.high:
        return f"{_quantity(band.low, unit)}{' (unique)' if band.low == 1 else ''}"
    return f"{number(band.low)} or more" if band.high is None else f"{number(band.low)} to {number(band.high)}"


def _share_bar(share: float, kind: str, words: str) -> str:
    return f'{bar(share, kind)}<span class="figure">{percent(share)}</span> <span class="of">{words}</span>'


def _risks(content: Mapping[str, Any], facts: Description) -> str:
    if by_patterns(content):
        return _pattern_risks(content, facts.least)
    return render_risks(content, facts.after, facts.before, facts.least) + _exposure(content)


def _exposure(content: Mapping[str, Any]) -> str:
    """Render how many have few like them, by all columns and by few facts."""
    figures = content.get("exposure")
    if figures is None:
        return ""
    unit = "people" if "people" in figures else "rows"
    rows = [
        (join_names(one["columns"]), number(one[f"below_{SMALL_CROWD}"]), number(one["alone"]))
        for one in (figures, *figures["facts"])
    ]
    note = (
        f"<p>Of {number(figures[unit])} {unit} in the release, those who have few like them for somebody who knows "
        "their true values in these columns: all that could give them away, and the two and three that single out "
        "most.</p>"
    )
    columns = ("Known", f"Fewer than {SMALL_CROWD} like them", "Alone")
    return note + table(f"Exposed {unit}", columns, rows, "stacked")


def render_risks(content: Mapping[str, Any], after: TableFacts | None, before: TableFacts | None, least: int) -> str:
    """Render the risks of the release, and of the original if given."""
    if after is None:
        return ""

    def line(name: str, get: Any) -> tuple[str, ...]:
        return (name, *((_risk(get(before.risk), "before"),) if before else ()), _risk(get(after.risk), "after"))

    rows = [
        line("The person easiest to find", lambda risk: risk.prosecutor.highest),
        line("A person on average", lambda risk: risk.prosecutor.average),
        line(f"Share of {after.unit} in groups of fewer than {number(least)}", lambda risk: risk.prosecutor.at_risk),
    ]
    if before and isinstance(_count_at_risk(before, least), str):
        rows[-1] = (
            rows[-1][0],
            f'<span class="figure">{_count_at_risk(before, least)} {after.unit}</span>',
            rows[-1][2],
        )
    columns = ["Risk", *(["Original"] if before else []), "Release"]
    note = (
        "<p>The intruder is taken to know that the person is in the table, and to know all of the person's facts in "
        "the columns that could give him or her away. He then has to pick one of the rows that fit.</p>"
    ) + _unprotected_note(content)
    return note + table("How likely such an intruder picks the right row", columns, rows, "bars")


def _unprotected_note(content: Mapping[str, Any]) -> str:
    """Render a note where knowing all columns exceeds the model's assumption."""
    partial_knowledge = partial_knowledge_sentence(content)
    return (
        f"<p>This is more than the release is made for. {prose(partial_knowledge, 600)}</p>"
        if partial_knowledge
        else ""
    )


def _pattern_risks(content: Mapping[str, Any], least: int) -> str:
    """Render the risks of overlapping patterns.

    They are the sets of records that subtracted supports single out, and disclosed classes.
    """
    risk = content["risk"]

    def records(count: int) -> str:
        formatted = mask_small_count(count, least)
        return formatted if isinstance(formatted, str) else number(formatted)

    below = f"fewer than {number(least)}"
    rows = [
        ("The person easiest to find", percent(risk["highest"])),
        ("A person on average", percent(risk["average"])),
        (f"Records that the patterns' counts tell apart in sets of {below}", records(risk["records_in_cells_below_k"])),
        ("Records all of whose patterns show one sensitive value", records(risk["disclosed_records"])),
    ]
    return table("What the patterns give away", ("Risk", "Release"), rows, "record")


def _risk(share: float, kind: str) -> str:
    return f'{bar(share, kind)}<span class="figure">{percent(share)}</span>'


def _attacks(content: Mapping[str, Any], facts: Description) -> str:
    return render_attacks(content, facts.after, facts.before, facts.least)


def render_attacks(content: Mapping[str, Any], after: TableFacts | None, before: TableFacts | None, least: int) -> str:
    """Render attacks on the release, and on the original if given."""
    if after is None or not after.attacks:
        return ""
    earlier = {(attack.name, attack.column): attack for attack in before.attacks} if before else {}
    rows = []
    for attack in after.attacks:
        words = ATTACKS.get(attack.name, prose(attack.name))
        cells = [f"{words} <small>({text(attack.column, 60)})</small>"]
        if before:
            cells.append(_exposed(earlier.get((attack.name, attack.column)), "before", least))
        cells += [_exposed(attack, "after", least), percent(attack.baseline / max(attack.people, 1))]
        rows.append(cells)
    columns = ["Attack", *(["Original"] if before else []), "Release", "Without any table"]
    unit = "people, each counted once" if after.unit == "people" else "rows, where every row is a person"
    note = (
        f"<p>Of how many {unit}, such an intruder would be right. Without any table, anybody "
        "is right about so many who names for everyone the answer that is most frequent among all.</p>"
    )
    if partial_knowledge_sentence(content):
        note += "<p>He is taken to know all columns at once, which is more than the release is made for.</p>"
    return note + table(f"{after.unit.capitalize()} exposed by each attack", columns, rows, "bars attacks stacked")


def _exposed(attack: AttackResult | None, kind: str, least: int) -> str:
    if attack is None:
        return "not applicable"
    return _count_bar(attack.exposed, attack.people, kind, least, attack.counts)


def _previous(content: Mapping[str, Any]) -> str:
    """Render the intersection with the previous release."""
    both = content.get("intersection")
    if not both:
        return ""
    least, exposed = both["crowd_below"], both["exposed"]
    formatted = mask_small_count(exposed, least)
    count = formatted if isinstance(formatted, str) else number(formatted)
    words = (
        f"Whoever has the earlier release too can lay both together. Of {number(both['people'])} rows of the original "
        f"that are found in both, {count} would be left among fewer than {number(least)} rows."
    )
    if both["left_out"]:
        words += f" {number(both['left_out'])} could not be placed in both, and are not counted."
    return f"<p>{words}</p>"


def _columns(content: Mapping[str, Any], facts: Description, explained: bool) -> str:
    rows = []
    for column in facts.columns:
        if column.lost is None:
            fate = _fate(column)
            if column.name in content.get("pseudonyms", ()):
                fate = "as a pseudonym"
            elif column.name in content.get("published_as_categories", ()):
                fate = "its category only"
            rows.append((_column_heading(column, content), fate, "", ""))
            continue
        level = "" if column.level is None else f"level {column.level} of {column.height}"
        if column.level in (0, column.height):
            level += " (exact)" if column.level == 0 else " (hidden)"
        distinct = f"{number(column.values or 0)} → {number(column.labels or 0)}"
        rows.append((_column_heading(column, content), level or _fate(column), distinct, _risk(column.lost, "after")))
    note = (
        "<p>Detail lost: 0% is the exact value, 100% is nothing at all. A row that was left out counts as lost.</p>"
        if any(column.lost is not None for column in facts.columns)
        else ""
    )
    if note and not explained:
        note += (
            "<p>What the loss would be without a column, or with a smaller parameter: <code>shoal explain</code> draws "
            "it, and <code>shoal release --internal-report --explain</code> puts the picture here. It takes "
            "a minute or two.</p>"
        )
    columns = ("Column", "Published", "Different values", "Detail lost")
    return note + table("Columns, and what became of them", columns, rows, "bars stacked")


def _column_heading(column: ColumnFacts, content: Mapping[str, Any]) -> str:
    """Render a column's name, and its label in the source where published."""
    label = content.get("labels", {}).get(column.name)
    return text(column.name, 60) + (f"<br><small>{text(label, 120)}</small>" if label else "")


def _fate(column: ColumnFacts) -> str:
    return {
        Role.IDENTIFIER: "removed",
        Role.PERSON: "removed",
        Role.HOUSEHOLD: "removed",
        Role.DROP: "removed",
        Role.QUASI_IDENTIFIER: "group by group",
        Role.SENSITIVE: "as it is",
        Role.OTHER: "as it is",
    }[column.role]


def _distributions(facts: Description) -> str:
    parts = []
    for column in facts.columns:
        distribution = column.distribution
        if distribution is None:
            continue
        shares = [
            (cell.label, cell.before / distribution.source_rows, cell.after / distribution.rows)
            for cell in distribution.cells
        ]
        top = max(max(before, after) for _, before, after in shares)
        rows = [
            (text(label, 60), relative_bar(before, top, "before"), relative_bar(after, top, "after"))
            for label, before, after in shares
        ]
        name = text(column.name, 60)
        words = f"{name}: {percent(distribution.moved)} of the rows would have to move for the two to be the same."
        listing = table(f"Share of rows by {name}", ("Value", "Original", "Release"), rows, "bars")
        parts.append(f"<h3>{name}</h3>{figure(listing, words)}")
    if not parts:
        return ""
    unit = "rows" if facts.before is None else facts.before.unit
    note = (
        f"<p>All rows of the original, also those that were left out, against the release as a reader has to take it: "
        f"a value that stands for several is spread evenly over them. No bar is about fewer than {number(facts.least)} "
        f"{unit}; smaller ones were joined. A column that is * in every row is not drawn. Bars are drawn to the "
        f"longest one of their column; the figure beside a bar is the share of the rows.</p>"
    )
    return note + LEGEND + "".join(parts)


def relative_bar(share: float, top: float, kind: str) -> str:
    """Draw a bar in relation to the longest one, with its share."""
    return f'{bar(share / top if top else 0.0, kind)}<span class="figure">{percent(share)}</span>'


def _particulars(content: Mapping[str, Any]) -> str:
    method = content["method"]
    rows = [("Software", f"{prose(content['software']['name'])} {prose(content['software']['version'])}")]
    rows.append(("Method", prose(method["name"])))
    rows += [(f"Set: {_words(key)}", _value(value)) for key, value in method["parameters"].items() if _plain(value)]
    rows += [
        (f"Found: {_words(key)}", _value(value))
        for key, value in method.items()
        if key not in ("name", "parameters", "warning") and _plain(value)
    ]
    for key, level in content.get("levels", {}).items():
        rows.append((f"Level of {text(key, 60)}", _value(level)))
    for key, value in content.get("loss", {}).items():
        about = f" <small>({MEASURES[key]})</small>" if key in MEASURES else ""
        rows.append((f"Loss: {_words(key)}{about}", _value(value)))
    if "output" in content:
        rows.append(("Released file", text(content["output"]["name"])))
        rows.append(("Its SHA-256", f"<code>{prose(content['output']['sha256'])}</code>"))
    how = (
        "<p><code>shoal release --json</code> gives the same to machines. The certificate beside the table has what "
        "the release tells by itself; <code>shoal check</code> verifies it.</p>"
    )
    return table("For the record", ("What", "Value"), rows, "record") + how


def _words(key: str) -> str:
    return prose(key.replace("_", " "))


def _plain(value: Any) -> bool:
    return isinstance(value, bool | int | float | str)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if isinstance(value, int | float) else prose(value)
