"""A release: the published table, the certificate that goes with it, and what it cost and risks.

The certificate holds no time and no path of the machine, so that the same input, plan and version give the
same certificate, byte by byte.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from shoal.errors import counted
from shoal.io.formats.urls import shown_path
from shoal.render import Grid, Sheet, Shown
from shoal.table.method_facts import MethodFacts, Search, Warned

if TYPE_CHECKING:
    from shoal.plan.plan import Plan
    from shoal.results.report_facts import Description

Table = TypeVar("Table")
"""The kind of table that was given: a release in memory is of the same kind; None where it was written."""

__all__ = [
    "Certificate", "ReleaseResult", "about_bound", "about_few_columns", "about_people", "about_worth", "fingerprint",
]  # fmt: skip

HALF = 0.5
"""Of the detail: a release that lost more says so."""


@dataclass(frozen=True, repr=False)
class Certificate(Shown):
    """What was asked for, what was done and what was verified; ready for JSON.

    ``facts`` are those that the method told, of which ``content`` has the plain values.
    """

    content: Mapping[str, Any]
    facts: MethodFacts = field(default=MethodFacts(), compare=False)

    def adding(self, **entries: Any) -> Certificate:
        """The certificate with further entries."""
        return replace(self, content={**self.content, **entries})

    def to_json(self) -> str:
        """The certificate as it is written beside the release."""
        return json.dumps(self.content, indent=2, ensure_ascii=False) + "\n"

    def __getitem__(self, key: str) -> Any:
        return self.content[key]

    def sheet(self) -> Sheet:
        """What was promised, found and lost."""
        content = self.content
        labels = (("released", "rows released"), ("suppressed", "left out"), ("groups", "groups"))
        figures = [(label, content[key]) for key, label in (*labels, ("smallest_group", "rows in the smallest"))
                   if key in content]  # fmt: skip
        models = [
            (
                model["name"],
                ", ".join(f"{key} = {value}" for key, value in model["parameters"].items()),
                model["holds"],
                ", ".join(f"{key} = {_short(value)}" for key, value in model["effective"].items()),
            )
            for model in content.get("models", ())
        ]
        grids = [Grid("Models", ("model", "asked for", "holds", "the table has"), models)] if models else []
        costs = [("loss", name, value) for name, value in content.get("loss", {}).items()]
        costs += [("risk", name, value) for name, value in content.get("risk", {}).items()]
        if costs:
            grids.append(Grid("What it costs, and what risk remains", ("", "measure", "value"), costs))
        method = content.get("method", {}).get("name", "")
        few = about_few_columns(content)
        sentences = [*([f"Method: {method}."] if method else []), *([few] if few else [])]
        return Sheet("Certificate", figures, sentences, grids)


@dataclass(frozen=True, repr=False)
class ReleaseResult(Shown, Generic[Table]):
    """The result of a plan.

    Attributes
    ----------
    table
        The published table, as the kind of object that was given; None where it was written to a file.
    path
        Where it was written, or None.
    seconds
        How long each step took.
    description
        The facts behind the report; None where no report was asked for.
    plan
        What was asked for, where the table is in memory.
    notes
        What was decided on the way to the plan, where it was made from a few words; part of ``warnings``.
    """

    table: Table
    certificate: Certificate
    path: Path | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    description: Description | None = field(default=None, repr=False)
    notes: tuple[Mapping[str, str], ...] = ()
    plan: Plan | None = field(default=None, compare=False)

    @property
    def utility(self) -> Mapping[str, float]:
        """What was lost: every measure that applies; none where the method's promise forbids to tell."""
        loss: Mapping[str, float] = self.certificate.content.get("loss", {})
        return loss

    @property
    def risk(self) -> Mapping[str, float]:
        """How likely a person is found, at most and on average, by one who knows all quasi-identifiers."""
        risk: Mapping[str, float] = self.certificate.content.get("risk", {})
        return risk

    @property
    def search(self) -> dict[str, Any]:
        """Whether the recoding is proven to lose least of all that the plan allows, and the least that any can lose.

        Both in the measure that the method minimizes; without a proof ``optimal`` is False, and without a bound
        ``lower_bound`` is None.
        """
        if bound := self.certificate.content.get("bound"):
            return {"optimal": bound["optimal"], "lower_bound": bound["lower_bound"]}
        search = self.certificate.facts.of(Search)
        if search is None:
            return {"optimal": False, "lower_bound": None}
        return {"optimal": search.optimal, "lower_bound": search.lower_bound}

    @property
    def warnings(self) -> list[dict[str, str]]:
        """What a reader of the release should know, each with a code for programs and a text for people."""
        facts = self.certificate.facts
        found = [*(dict(note) for note in self.notes), *about_worth(self.certificate.content)]
        warned, search = facts.of(Warned), facts.of(Search)
        if warned is not None:
            found.append({"code": "method", "text": warned.warning})
        if search is not None and not search.optimal:
            text = (
                f"The search was cut short: this recoding loses {search.loss:.6g}, and it is proven only that none "
                f"loses less than {search.lower_bound:.6g}."
            )
            found.append({"code": "not-optimal", "text": text})
        return found + about_people(self.certificate.content)

    def sheet(self) -> Sheet:
        """What was released, what it cost, and what a reader should know."""
        told = self.certificate.sheet()
        sentences = [
            *told.sentences,
            *about_bound(self.certificate.content),
            *(f"Warning: {warning['text']}" for warning in self.warnings),
        ]
        where = "The table is in .table." if self.path is None else f"The table is in {shown_path(self.path)!r}."
        return replace(told, title="Release", sentences=[*sentences, where])

    def to_dict(self) -> dict[str, Any]:
        """The machine-readable answer of ``shoal release --json``."""
        keys = (
            "rows", "released", "suppressed", "groups", "smallest_group", "method", "levels", "guarantee", "loss",
            "bound", "risk", "models", "people", "intersection", "pseudonyms", "folded",
        )  # fmt: skip
        answer = {key: self.certificate.content[key] for key in keys if key in self.certificate.content}
        answer |= self.search
        answer["warnings"] = self.warnings
        answer["seconds"] = dict(self.seconds)
        if self.path is not None:
            answer["output"] = shown_path(self.path)
        return answer


def about_worth(content: Mapping[str, Any]) -> list[dict[str, str]]:
    """What of a certificate says that the release may be worth little, each with a code and a text."""
    found = []
    hidden = content.get("hidden_columns", [])
    if hidden:
        columns = content.get("plan", {}).get("columns", {}).values()
        everything = len(hidden) == sum(column["role"] == "quasi-identifier" for column in columns)
        which = "every quasi-identifier" if everything else ", ".join(repr(name) for name in hidden)
        found.append({"code": "hidden-columns", "text": f"Nothing is shown of {which}: all rows have '*' there."})
    if content.get("groups") == 1 and content.get("released", 0) > 0:
        text = "All rows are in one group: the release tells how often each sensitive value occurs, and no more."
        found.append({"code": "one-group", "text": text})
    lost = content.get("loss", {}).get("ncp")
    if lost is not None and lost > HALF:
        text = (
            f"More than half of the detail is lost (ncp {lost:.2f}). A smaller k, fewer quasi-identifiers, or a method "
            f"that recodes group by group (mondrian, refine) would keep more: `shoal explain` tells what each costs."
        )
        found.append({"code": "half-lost", "text": text})
    for name in content.get("nothing_learned", []):
        text = f"Nothing can be learned about {name!r}: its values have the same shares in every group."
        found.append({"code": "nothing-learned", "text": text})
    return found


def about_few_columns(content: Mapping[str, Any]) -> str:
    """What k-anonymity promises where it binds few columns at a time, in words; empty where it binds all at once."""
    models = [model for model in content.get("models", ()) if model["name"] == "k-anonymity"]
    few = [model for model in models if "known" in model["parameters"] or "keys" in model["parameters"]]
    if not few or len(few) < len(models):
        return ""
    unit = "people" if content.get("people") else "rows"
    least = min(model["effective"]["k"] for model in few)
    known = [model["parameters"]["known"] for model in few if "known" in model["parameters"]]
    whom = f"at most {min(known)} of the quasi-identifiers" if known else "no more than one of the key sets"
    return (
        f"Whoever knows {whom} of somebody finds at least {least:,} {unit}. All quasi-identifiers at once are not "
        f"covered: they tell {counted(content['groups'], 'group')} apart, the smallest of "
        f"{content['smallest_group']:,}."
    )


def about_bound(content: Mapping[str, Any]) -> list[str]:
    """How far the release can be from the best one of its kind, in a sentence; none where nothing is proven."""
    if "bound" not in content:
        return []
    bound = content["bound"]
    lost, measure = f"{bound['loss']:.4g}", bound["measure"]
    told = content.get("loss", {}).get("ncp")
    if told is not None and measure.startswith("ncp,") and f"{told:.4g}" != lost:  # two figures of one name
        measure = f"{measure}; the ncp of {told:.4g} is their geometric mean"
    if bound["optimal"]:
        return [f"The release loses {lost} ({measure}); no release of this kind can lose less: this is proven."]
    least = float(bound["lower_bound"])
    digits = max(0, 3 - math.floor(math.log10(least))) if least > 0 else 0
    shown = f"{math.floor(least * 10**digits) / 10**digits:.4g}"  # never above what is proven
    return [f"The release loses {lost} ({measure}); no release of this kind can lose less than {shown}."]


def about_people(content: Mapping[str, Any]) -> list[dict[str, str]]:
    """What should be known of the columns that say whose rows they are, or might say it."""
    found = []
    if repeating := content.get("repeating_identifiers"):
        told = [f"{name!r} ({own['values']:,} values in {own['rows']:,} rows)" for name, own in repeating.items()]
        text = (
            f"People may have several rows: values repeat in {', '.join(told)}. The models counted rows, so that a "
            "group can be one person's. If such an identifier says whose rows they are, set its role to person; if "
            "several people share its values, as they share names, to drop."
        )
        found.append({"code": "identifier-repeats", "text": text})
    if linking := content.get("linking_columns"):
        text = (
            f"Rows can be linked without a pseudonym: {', '.join(map(repr, linking['columns']))} "
            f"{'is' if len(linking['columns']) == 1 else 'are'} the same in all rows of a person, and tell "
            f"{linking['told_apart']:,} of the {linking['people']:,} people with several rows apart from all others. "
            "The models look at one row of a person at a time. Leave such a column out, or add trajectory-anonymity."
        )
        found.append({"code": "rows-linkable", "text": text})
    people = content.get("people")
    if people is None:
        return found
    rows = content["rows"]
    if missing := people["rows_without_person"]:
        text = (
            f"{missing} of {rows} rows do not say whose they are. Each counts as a person of its own: if some of them "
            f"are one person's, groups have fewer people than it is said."
        )
        found.append({"code": "person-missing", "text": text})
    if people["total"] == rows:
        text = "Every person has one row: people are counted, and it is the same as rows."
        found.append({"code": "person-unique", "text": text})
    return found


def fingerprint(columns: tuple[str, ...], types: tuple[str, ...]) -> str:
    """A hash of column names and types: two deliveries of one table have the same."""
    listed = json.dumps(list(zip(columns, types, strict=True)), ensure_ascii=False)
    return hashlib.sha256(listed.encode()).hexdigest()


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
