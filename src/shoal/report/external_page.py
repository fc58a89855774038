"""External report: what a released table shows, as one HTML file.

It may be published with the table. It reads the certificate and the facts of :mod:`shoal.results.external`, which
follow from the released table and the public plan alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from shoal.formatting import counted, number, percent
from shoal.render.html import prose, table, text
from shoal.report.page import (
    by_patterns,
    document,
    relative_bar,
    render_attacks,
    render_groups,
    render_guarantee,
    render_models,
    render_risks,
    render_warnings,
)
from shoal.report.wording import join_names, method_sentence
from shoal.results.certificate import partial_knowledge_sentence
from shoal.results.external import External, ExternalFacts, Labels
from shoal.results.release import ReleaseResult
from shoal.schema import TOP, UNPUBLISHED, Role
from shoal.table.method_facts import MethodFacts

MAX_LABELS = 24
"""Largest number of labels of a column that are drawn; the least frequent are joined."""
OTHER_LABELS = "other labels"
MISSING = "missing"


def render(release: External | ReleaseResult[Any]) -> str:
    """Render the report that may be published with a release, as HTML.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import shoal
    >>> plan = {"columns": {"age": {"role": "quasi-identifier"}}, "models": [{"name": "k-anonymity", "k": 2}]}
    >>> release = shoal.anonymize(pa.table({"age": ["20", "20", "30"]}), plan)
    >>> render(release).startswith("<!DOCTYPE html>")
    True
    """
    facts = release.facts if isinstance(release, External) else release.external
    if not isinstance(facts, ExternalFacts):
        raise ValueError("Nothing was released, so that there is nothing to report.")
    content = release.certificate.content
    name = content.get("output", {}).get("name", "released table")
    groups = None if by_patterns(content) else facts.groups
    parts = [
        ("warnings", "Before you use it", render_warnings(content)),
        ("done", "What was done", _summary(content, facts)),
        ("models", "What was promised", render_models(content)),
        ("guarantee", "What the method promises", "" if facts.guarantee is None else render_guarantee(facts.guarantee)),
        ("groups", "Sizes of groups", render_groups(groups, None, facts.least)),
        ("risks", "How likely a person is found", render_risks(content, groups, None, facts.least)),
        ("attacks", "What an intruder would learn", render_attacks(content, groups, None, facts.least)),
        ("columns", "What each column shows", _columns(content, facts)),
        ("distributions", "Distributions in the release", _distributions(facts)),
        ("limits", "What is not covered", _limits(content, facts)),
        ("particulars", "Particulars", _particulars(content)),
    ]
    return document(f"Release report: {prose(name)}", [part for part in parts if part[2]])


def _summary(content: Mapping[str, Any], facts: ExternalFacts) -> str:
    schema, pseudonyms = facts.schema, content.get("pseudonyms", ())
    unit = "patterns" if by_patterns(content) else "rows"
    sentences = [f"The release has {number(content['released'])} {unit}."]
    if "left_out" in content:
        limit = content["left_out"]["at_most"]
        sentences.append(
            f"Of the original at most {percent(limit)} of the rows were left out, which is the limit of the plan."
            if limit
            else "No row of the original was left out."
        )
    removed = [name for name in schema.named(Role.IDENTIFIER) if name not in pseudonyms]
    if removed:
        sentences.append(f"What names a person directly was removed: {join_names(removed)}.")
    dropped = [
        name
        for role in UNPUBLISHED
        if role is not Role.IDENTIFIER
        for name in schema.named(role)
        if name not in pseudonyms
    ]
    if dropped:
        sentences.append(f"Not published: {join_names(dropped)}.")
    if people := content.get("people"):
        sentences.append(f"The conditions below count {people['unit']}. {prose(people['verification'], 300)}")
    for name in content.get("moved_dates", ()):
        shift = schema.columns[name].shift
        sentences.append(
            f"In {join_names([name])} all dates of a person were moved by one number of days, at most {shift.days}, "
            "that only the holder of a secret key can tell; what follows is about the moved dates."
            if shift
            else f"In {join_names([name])} dates were replaced by the days since the person's first."
        )
    if pseudonyms:
        sentences.append(
            f"In {join_names(pseudonyms)} every value was replaced by a pseudonym that only the holder of a secret key "
            f"can make; the key is no part of the release."
        )
    done = [
        f"By {join_names(schema.quasi_identifiers)} a person could be recognised by someone who knows these facts "
        f"about him or her. {method_sentence(content['method'], MethodFacts())}"
    ]
    if folded := content.get("folded"):
        done.append(
            f"Spellings of one value (letter case, blanks, forms of a number) were counted as one in "
            f"{join_names(list(folded))}: {counted(sum(folded.values()), 'spelling')} beside the first of each."
        )
    categories = [name for name in schema.sensitive if name in content.get("published_as_categories", ())]
    unchanged = [name for name in schema.sensitive if name not in categories]
    if unchanged:
        done.append(f"What the table tells about these people ({join_names(unchanged)}) was not changed.")
    if categories:
        done.append(f"Of {join_names(categories)} the release tells the category only, not the value itself.")
    if added := content.get("category_columns"):
        done.append(f"The categories of {join_names(list(added))} are published in {join_names(list(added.values()))}.")
    if others := schema.named(Role.OTHER):
        done.append(f"Published as they are: {join_names(others)}.")
    paragraphs = (" ".join(sentences), " ".join(done), _result(content))
    return "".join(f"<p>{words}</p>" for words in paragraphs)


def _result(content: Mapping[str, Any]) -> str:
    """Describe what a reader can rely on."""
    least, people = number(content["smallest_group"]), content.get("people")
    if partial_knowledge := partial_knowledge_sentence(content):
        words = f"{prose(partial_knowledge, 600)} It was verified for every set of columns"
    elif by_patterns(content):
        words = (
            f"Every row of the released table is a pattern, which describes at least {least} rows of the original. It "
            f"was verified on the finished table and the original"
        )
    elif people:
        words = (
            "Rows that look alike in these columns are of as many people as the conditions below ask for. It was "
            "verified on the finished table, with numbers for its people"
        )
    elif "risk" not in content and "intruder" in content:
        words = "The conditions below were verified on the finished table and the original"
    else:
        words = (
            f"As a result every released row is one of at least {least} that look alike in these columns. It was "
            f"verified on the finished table itself, row by row"
        )
    return f"{words}, before it was published."


def _columns(content: Mapping[str, Any], facts: ExternalFacts) -> str:
    rows = []
    for name, column in facts.schema.columns.items():
        labels = facts.labels.get(name, ())
        total = sum(count for _, count in labels)
        hidden = sum(count for label, count in labels if label == TOP)
        is_recoded = column.role is Role.QUASI_IDENTIFIER
        rows.append(
            (
                text(name, 60),
                _fate(name, column.role, content),
                number(len(labels)) if labels else "",
                percent(hidden / total) if labels and is_recoded else "",
            )
        )
    return table("Columns, and what the release shows of them", ("Column", "Published", "Labels", "Hidden (*)"), rows)


def _fate(name: str, role: Role, content: Mapping[str, Any]) -> str:
    if name in content.get("pseudonyms", ()):
        return "as a pseudonym"
    if name in content.get("published_as_categories", ()):
        return "its category only"
    if name in content.get("moved_dates", ()):
        return "moved in time"
    if role in UNPUBLISHED:
        return "removed"
    return "less exact where needed" if role is Role.QUASI_IDENTIFIER else "as it is"


def _distributions(facts: ExternalFacts) -> str:
    parts = []
    for name, labels in facts.labels.items():
        listed = _frequent_labels(labels)
        total = sum(count for _, count in listed)
        top = max(count for _, count in listed) / total
        rows = [(label, relative_bar(count / total, top, "after")) for label, count in listed]
        heading = text(name, 60)
        listing = table(f"Share of rows by {heading}", ("Label", "Release"), rows, "bars")
        parts.append(f"<h3>{heading}</h3>{listing}")
    note = (
        "<p>Labels as they are in the released table; * is a hidden value. Bars are drawn to the longest one of their "
        "column; the figure beside a bar is the share of the rows.</p>"
    )
    return note + "".join(parts) if parts else ""


def _frequent_labels(labels: Labels) -> list[tuple[str, int]]:
    """Return the frequent labels in their order, and the sum of the others."""
    counts = np.fromiter((count for _, count in labels), np.int64, len(labels))
    ranked = np.argsort(-counts, kind="stable")
    positions = sorted((ranked if len(labels) <= MAX_LABELS else ranked[: MAX_LABELS - 1]).tolist())
    listed = [(MISSING if labels[n][0] is None else text(labels[n][0], 60), labels[n][1]) for n in positions]
    rest = int(counts.sum()) - sum(count for _, count in listed)
    return [*listed, (OTHER_LABELS, rest)] if rest else listed


def _limits(content: Mapping[str, Any], facts: ExternalFacts) -> str:
    """List what the promises do not cover."""
    limits = [
        "What somebody knows from elsewhere, beyond the columns that the conditions name.",
        "What the choice of just this release tells: of all recodings the one that was taken may have been taken "
        "because of the rows of somebody.",
    ]
    if facts.schema.sensitive:
        limits.append("What is true of a whole group, or of people in general, beyond the conditions above.")
    if others := facts.schema.named(Role.OTHER):
        limits.append(f"Columns that are published as they are ({join_names(others)}): nobody is taken to know them.")
    if content.get("people") and "pseudonyms" not in content:
        limits.append("That rows of one person could be linked by something else than the columns above.")
    return "<ul>" + "".join(f"<li>{limit}</li>" for limit in limits) + "</ul>"


def _particulars(content: Mapping[str, Any]) -> str:
    rows = [("Software", f"{prose(content['software']['name'])} {prose(content['software']['version'])}")]
    rows.append(("Method", prose(content["method"]["name"])))
    output = content.get("output", {})
    if "name" in output:
        rows.append(("Released file", text(output["name"])))
    if "sha256" in output:
        rows.append(("Its SHA-256", f"<code>{prose(output['sha256'])}</code>"))
    how = (
        "<p>All figures on this page follow from the released table and the conditions. The certificate beside the "
        "table says the same for machines; <code>shoal check</code> verifies it.</p>"
    )
    return table("For the record", ("What", "Value"), rows, "record") + how
