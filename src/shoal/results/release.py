"""Release: the published table, its certificate, and the owner's figures.

The certificate is published: it is a function of the released table and the public plan
(:mod:`shoal.results.external`). The figures are for the owner of the release: they also tell of the source, of rows
that were left out, and of the search. They have no time and no path of the machine.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from shoal.formatting import fixed, number, rounded_down
from shoal.io.formats.urls import path_or_address
from shoal.render import Displayable, Summary
from shoal.results.certificate import INTRUDER_WITHOUT_LIST, Certificate, summarize
from shoal.risk.exposure import exposure_warnings
from shoal.table.method_facts import MethodFacts, SearchFacts, WarningFacts
from shoal.verification.check import read_as_missing_warnings

if TYPE_CHECKING:
    from shoal.plan.plan import Plan
    from shoal.results.external import ExternalFacts
    from shoal.results.report_facts import Description

Table = TypeVar("Table")
"""Type of the given table: a release in memory has the same type; None where it was written."""

LOSS_WARNING_THRESHOLD = 0.5
"""Share of lost detail above which a release has a warning."""


@dataclass(frozen=True, repr=False)
class ReleaseResult(Displayable, Generic[Table]):
    """Result of a plan.

    Attributes
    ----------
    table
        The published table, of the same type as the given table; None where it was written to a file.
    certified
        The certificate; None for a dry run, which hands nothing out.
    path
        The path to which it was written, or None.
    seconds
        The duration of each step.
    description
        The facts of the internal report, about original and release; None where no report was requested.
    figures
        All figures of the release, for its owner: also those about the source, rows that were left out, people, losses
        and bounds. They are not published.
    facts
        The facts that the method reported; ``figures`` has their plain values.
    external
        The facts of the external report, which follow from the released table.
    plan
        The plan, where the table is in memory.
    notes
        The decisions that completed the plan, where it was made from keywords; part of ``warnings``.
    verified
        What identifies the verified table, where it is in memory: a digest of its cells, or a frame that cannot change.
    """

    table: Table
    certified: Certificate | None
    path: Path | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    description: Description | None = field(default=None, repr=False)
    notes: tuple[Mapping[str, str], ...] = ()
    plan: Plan | None = field(default=None, compare=False)
    verified: Any = field(default=None, compare=False, repr=False)
    figures: Mapping[str, Any] = field(default_factory=dict, repr=False)
    facts: MethodFacts = field(default=MethodFacts(), compare=False, repr=False)
    external: ExternalFacts | None = field(default=None, compare=False, repr=False)

    @property
    def certificate(self) -> Certificate:
        """The promises of the release, as published.

        Raises ValueError for a dry run, which promises nothing.
        """
        if self.certified is None:
            raise ValueError("A dry run has no certificate: nothing was handed out.")
        return self.certified

    @property
    def utility(self) -> Mapping[str, float]:
        """All loss measures that apply; empty where the method may not report."""
        loss: Mapping[str, float] = self.figures.get("loss", {})
        return loss

    @property
    def risk(self) -> Mapping[str, float]:
        """Highest and average prosecutor risk, given all quasi-identifiers."""
        risk: Mapping[str, float] = self.figures.get("risk", {})
        return risk

    @property
    def search(self) -> dict[str, Any]:
        """Proof of optimality, and the lower bound of the loss.

        Both are in the measure that the method minimizes. Without a proof ``optimal`` is False, and without a bound
        ``lower_bound`` is None.
        """
        if bound := self.figures.get("bound"):
            return {"optimal": bound["optimal"], "lower_bound": bound["lower_bound"]}
        search = self.facts.get(SearchFacts)
        if search is None:
            return {"optimal": False, "lower_bound": None}
        return {"optimal": search.optimal, "lower_bound": search.lower_bound}

    @property
    def warnings(self) -> list[dict[str, str]]:
        """Warnings for users, each with a code for programs and a text."""
        facts = self.facts
        found = [*(dict(note) for note in self.notes), *utility_warnings(self.figures)]
        warned, search = facts.get(WarningFacts), facts.get(SearchFacts)
        if warned is not None:
            found.append({"code": "method", "text": warned.warning})
        if search is not None and not search.optimal:
            found.append({"code": "not-optimal", "text": cut_short_sentence(search)})
        found += read_as_missing_warnings(self.figures.get("read_as_missing", {}))
        found += review_warnings(self.figures) + exposure_warnings(self.figures)
        return found + intruder_warnings(self.figures) + people_warnings(self.figures)

    def summary(self) -> Summary:
        """Return figures, loss, bounds and warnings for display."""
        summary = summarize("Release", self.figures)
        sentences = [
            *summary.sentences,
            *bound_sentences(self.figures),
            *(f"Warning: {warning['text']}" for warning in self.warnings),
        ]
        where = "The table is in .table." if self.path is None else f"The table is in {path_or_address(self.path)!r}."
        return replace(summary, sentences=[*sentences, where])

    def to_dict(self) -> dict[str, Any]:
        """Return the machine-readable answer of ``shoal release --json``."""
        keys = (
            "rows", "released", "suppressed", "groups", "smallest_group", "method", "levels", "guarantee", "loss",
            "bound", "risk", "models", "people", "intersection", "pseudonyms", "folded",
            "read_as_missing", "exposure",
        )  # fmt: skip
        content = {key: self.figures[key] for key in keys if key in self.figures}
        content |= self.search
        content["warnings"] = self.warnings
        content["seconds"] = dict(self.seconds)
        if self.path is not None:
            content["output"] = path_or_address(self.path)
        return content


def cut_short_sentence(search: SearchFacts) -> str:
    """Describe what is proven where a search ended before its optimum."""
    return (
        f"The search was cut short: this recoding loses {number(search.loss, 6)}, and it is proven only that none "
        f"loses less than {number(search.lower_bound, 6)}."
    )


def review_warnings(content: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the warning about a plan without a valid review."""
    status = content.get("review", {}).get("status")
    if status not in ("draft", "changed"):
        return []
    since = "nobody has reviewed it" if status == "draft" else "its roles or models were changed after the review"
    text = f"The plan is a draft: {since}. Go through it with `shoal review PLAN`; the certificate says that it is so."
    return [{"code": "unreviewed", "text": text}]


def utility_warnings(content: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the warnings about little utility.

    ``content`` is a certificate or the owner's figures. Each warning has a code and a text.
    """
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
    if lost is not None and lost > LOSS_WARNING_THRESHOLD:
        text = (
            f"More than half of the detail is lost (ncp {fixed(lost, 2)}). A smaller k, fewer quasi-identifiers, or a "
            "method "
            f"that recodes group by group (mondrian, refine) would keep more: `shoal explain` tells what each costs."
        )
        found.append({"code": "half-lost", "text": text})
    for name in content.get("nothing_learned", []):
        text = f"Nothing can be learned about {name!r}: each of its values has the same share in every group."
        found.append({"code": "nothing-learned", "text": text})
    return found


def minimized_measure(method: Mapping[str, Any]) -> str:
    """Describe the measure that a method minimizes; empty if it is plain ncp.

    Nothing is proven about ncp where the plan has weights, or another measure.
    """
    parameters = method.get("parameters", {})
    weights = parameters.get("weights") or {}
    words = [str(parameters.get("loss", "ncp"))]
    words += [f"aggregated by {parameters['aggregate']}"] if parameters.get("aggregate") else []
    words += ["with the plan's weights"] if any(weight != 1 for weight in weights.values()) else []
    return "" if words == ["ncp"] else " ".join(words)


def bound_sentences(content: Mapping[str, Any]) -> list[str]:
    """Describe how far the release can be from the best one of its kind.

    The result has one sentence, or none where nothing is proven.
    """
    if "bound" not in content:
        return []
    bound = content["bound"]
    lost, measure = number(bound["loss"]), bound["measure"]
    ncp = content.get("loss", {}).get("ncp")
    weights = content.get("method", {}).get("parameters", {}).get("weights") or {}
    if any(weight != 1 for weight in weights.values()):
        measure = f"{measure}, with the plan's weights; of the losses without weights nothing is proven"
    elif ncp is not None and measure.startswith("ncp,") and number(ncp) != lost:  # two figures of the same name
        measure = f"{measure}; the ncp of {number(ncp)} is their geometric mean"
    if bound["optimal"]:
        return [f"The release loses {lost} ({measure}); no release of this kind can lose less: this is proven."]
    least = float(bound["lower_bound"])
    bound_text = rounded_down(least)
    return [f"The release loses {lost} ({measure}); no release of this kind can lose less than {bound_text}."]


def intruder_warnings(content: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the warning about intruders that the promise does not cover."""
    if "intruder" not in content:
        return []
    if content["intruder"] != INTRUDER_WITHOUT_LIST:
        return [{"code": "scenarios-only", "text": f"The promise holds against {content['intruder']}."}]
    text = (
        f"The promise holds against {content['intruder']}. Somebody with a list of everybody in the table can exclude "
        f"some of the rows that match a person."
    )
    return [{"code": "no-list", "text": text}]


def people_warnings(content: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the warnings about columns that do or may identify people."""
    found = []
    if repeating := content.get("repeating_identifiers"):
        columns = [
            f"{name!r} ({number(counts['values'])} values in {number(counts['rows'])} rows)"
            for name, counts in repeating.items()
        ]
        text = (
            f"People may have several rows: values repeat in {', '.join(columns)}. The models counted rows, so that a "
            "group can be one person's. If such an identifier says whose rows they are, set its role to person; if "
            "several people share its values, as they share names, to drop."
        )
        found.append({"code": "identifier-repeats", "text": text})
    if linking := content.get("linking_columns"):
        text = (
            f"Rows can be linked without a pseudonym: {', '.join(map(repr, linking['columns']))} "
            f"{'is' if len(linking['columns']) == 1 else 'are'} the same in all rows of a person, and tell "
            f"{number(linking['told_apart'])} of the {number(linking['people'])} people with several rows apart from "
            "all others. "
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
    """Hash column names and types: equal for two deliveries of one table."""
    listed = json.dumps(list(zip(columns, types, strict=True)), ensure_ascii=False)
    return hashlib.sha256(listed.encode()).hexdigest()
