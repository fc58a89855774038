"""Certificate of a release: a typed tree with a fixed form as JSON.

``certificate.schema.json`` in this package describes it; :mod:`shoal.results.certificate_schema` writes that file from
the classes here. A field that has its default value is left out of the JSON.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import MISSING, field, fields, is_dataclass, replace
from functools import cache, cached_property
from typing import Any

from shoal.formatting import counted, number
from shoal.render import Displayable, Grid, Summary
from shoal.runtime.lazy_dataclass import dataclass
from shoal.verification.check import verdict_grid

Number = int | float
"""A number that keeps its form in JSON: 0 stays 0, and 0.0 stays 0.0."""
INTRUDER_OF_SETS = (
    "somebody who knows as many quasi-identifiers as the models say, or one key set, of everybody in the table; all "
    "quasi-identifiers together are not promised"
)
"""Intruder that strict `known` and key sets cover."""
INTRUDER_WITHOUT_LIST = "somebody who looks for one person and has no list of the others"
"""Intruder that the loose reading of hidden cells covers: k rows that match need not be k rows that are possible.

See Gionis, Mazza and Tassa, 2008: (k, k)-anonymity is weaker than global (1, k)-anonymity.
"""
INTRUDER_OF_SCENARIO = (
    "somebody who knows the columns of one scenario, of everybody in the table; all quasi-identifiers together are not "
    "promised"
)
"""Intruder that is covered if models bind the crowds of scenarios and not all quasi-identifiers together."""


@dataclass(frozen=True, kw_only=True)
class Software:
    """Program that made a release.

    Attributes
    ----------
    name, version
        Of the program.
    """

    name: str
    version: str


@dataclass(frozen=True, kw_only=True)
class PublicShift:
    """Shift of the dates of a column.

    Attributes
    ----------
    days
        The largest number of days.
    per
        The unit that has a number of days of its own.
    """

    days: int
    per: str


@dataclass(frozen=True, kw_only=True)
class PublicColumn:
    """Column of the public plan; of sensitive values, only released ones.

    Attributes
    ----------
    role
        What the column may tell an intruder.
    publish
        Whether a sensitive column's values are published, their categories, or both.
    pseudonym
        Whether every value was replaced by a pseudonym.
    exact
        Whether every spelling of a sensitive value is a separate value.
    relative_to
        With ``first``, the days since the person's first date are published.
    known_to_others
        Whether an intruder may know a sensitive column, as a further column of a scenario.
    shift
        How far dates were moved.
    harmless
        Sensitive values that harm nobody.
    missing
        What a missing sensitive value means: unknown, or not applicable, which is harmless.
    categories, category_names
        Classes of sensitive values, the most sensitive first, and what they are called.
    order
        Sensitive values from low to high.
    hierarchy
        Released values with their labels at each level.
    """

    role: str
    publish: str = "values"
    pseudonym: bool = False
    exact: bool = False
    relative_to: str | None = None
    known_to_others: bool = True
    shift: PublicShift | None = None
    harmless: tuple[str, ...] = ()
    missing: str = "unknown"
    categories: tuple[tuple[str, ...], ...] | None = None
    category_names: tuple[str, ...] | None = None
    order: tuple[str, ...] | None = None
    hierarchy: Mapping[str, tuple[tuple[str, ...], ...]] | None = None


@dataclass(frozen=True, kw_only=True)
class StatedPlan:
    """Part of a plan that readers need to ask its question again.

    Attributes
    ----------
    columns
        By name, the role of every column, and what else is public.
    models, keys, scenarios, together, method, recipient
        As a plan writes them.
    population
        Whether the people of the release are of the population that models count; its file is not named.
    """

    columns: Mapping[str, PublicColumn]
    models: tuple[Mapping[str, Any], ...]
    keys: tuple[Mapping[str, Any], ...] = ()
    scenarios: tuple[Mapping[str, Any], ...] = ()
    together: bool = True
    recipient: Mapping[str, Any] | None = None
    method: Mapping[str, Any] | None = None
    population: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class MethodName:
    """Method that formed the groups.

    Attributes
    ----------
    name
        As in a plan.
    """

    name: str


@dataclass(frozen=True, kw_only=True)
class CertifiedModel:
    """Promise of a release.

    Attributes
    ----------
    name, parameters
        Of the model, as promised.
    holds
        Whether it was verified; nothing is published otherwise.
    effective
        The parameters that the released table shows by itself; infinite figures and fractions are text.
    counts
        The unit that the model counts: rows or people.
    judged_by
        The definitions that judged the model.
    checked_with
        What the verification needed besides the release.
    """

    name: str
    parameters: Mapping[str, Any]
    holds: bool
    effective: Mapping[str, Number | str]
    counts: str = "rows"
    judged_by: str | None = None
    checked_with: str | None = None


@dataclass(frozen=True, kw_only=True)
class CertifiedRisk:
    """Risk of re-identification, given all quasi-identifiers.

    Attributes
    ----------
    highest, average
        Probability that an intruder picks the right row, over all rows.
    """

    highest: Number
    average: Number


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """Limit of rows that were left out.

    Attributes
    ----------
    at_most
        The largest share of the rows of the original.
    """

    at_most: Number


@dataclass(frozen=True, kw_only=True)
class ReviewStatus:
    """State of the plan's review.

    Attributes
    ----------
    status
        Whether somebody has read the plan as it is: draft, reviewed or changed.
    """

    status: str


@dataclass(frozen=True, kw_only=True)
class CertifiedGuarantee:
    """Guarantee of a method under a budget.

    Attributes
    ----------
    kind
        Of the guarantee.
    rho, delta, E, epsilon, m, k
        Its figures.
    rho_exact, delta_exact, E_exact
        The same as fractions.
    assumptions
        When it holds.
    not_promised
        What it does not say.
    parameters
        Declared numbers that give the figures together with m and k, as fractions.
    """

    kind: str
    rho: Number
    rho_exact: str
    delta: Number
    delta_exact: str
    E: Number
    E_exact: str
    epsilon: Number
    m: int
    k: int | None
    assumptions: tuple[str, ...]
    not_promised: tuple[str, ...]
    parameters: Mapping[str, str] | None = None


@dataclass(frozen=True, kw_only=True)
class CertifiedPeople:
    """People of a release, as far as it shows them.

    Attributes
    ----------
    unit
        What models count: people or households.
    released, smallest_group, smallest_crowd
        People in the release, in its smallest group and in its smallest crowd, where pseudonyms are published.
    known_rows
        How many rows of a person the intruder is taken to know, or ``all``.
    verification
        What a reader can verify.
    """

    unit: str
    released: int | None = None
    smallest_group: int | None = None
    smallest_crowd: int | None = None
    known_rows: int | str | None = None
    verification: str


@dataclass(frozen=True, kw_only=True)
class PublishedFile:
    """Published file or object.

    Attributes
    ----------
    name
        Of the file; ``-`` is standard output.
    bytes, sha256
        Its size and digest.
    """

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class PublishedTable:
    """Published table of a database.

    Attributes
    ----------
    table
        Its name.
    columns, rows
        Their numbers.
    content_sha256
        A digest of its rows in one order.
    """

    table: str
    columns: int
    rows: int
    content_sha256: str


@dataclass(frozen=True, kw_only=True, repr=False)
class Certificate(Displayable):
    """Certificate of a release: its promises, as published.

    It can be read as a mapping, too: ``certificate["groups"]`` is a value of its JSON.

    Attributes
    ----------
    software
        The program that made the release.
    plan
        The public part of the plan.
    released, groups, smallest_group
        Rows (or patterns), groups, and the size of the smallest.
    method
        How groups were formed.
    models
        The promises, each verified before publication.
    risk
        The probability of being found, where sizes of groups are what is promised.
    left_out
        How many rows may have been left out, where the method has such a limit.
    review
        Whether the plan was reviewed, where it says so.
    guarantee
        The guarantee of a method under a budget.
    people
        The people whom models count, where there are any.
    hidden_columns
        Quasi-identifiers that are `*` in every row.
    nothing_learned
        Sensitive columns with equal shares of each value in every group.
    folded, read_as_missing
        By sensitive column, spellings counted as another one, and texts that other programs read as missing.
    moved_dates, pseudonyms, published_as_categories
        Columns that were treated so.
    category_columns
        By sensitive column, the column of its categories.
    reading
        The program that read the released file for the independent verification.
    output
        The published file, or table of a database.
    intruder
        The intruder whom the promise holds against, where it is not everybody.
    objects
        The objects of a release in an object store.
    former
        Entries that certificates of earlier versions had. They are for the owner of a release, are never written, and
        raise a warning when they are read.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import shoal
    >>> table = pa.table({"age": [23, 24, 37, 38]})
    >>> plan = {"columns": {"age": "quasi-identifier"}, "models": "k-anonymity k=4", "method": "full-domain"}
    >>> certificate = shoal.anonymize(table, plan).certificate
    >>> certificate["released"], certificate["models"][0]["name"]
    (4, 'k-anonymity')
    """

    software: Software
    plan: StatedPlan
    released: int
    groups: int
    smallest_group: int
    method: MethodName
    models: tuple[CertifiedModel, ...]
    risk: CertifiedRisk | None = None
    left_out: LeftOut | None = None
    review: ReviewStatus | None = None
    guarantee: CertifiedGuarantee | None = None
    people: CertifiedPeople | None = None
    hidden_columns: tuple[str, ...] = ()
    nothing_learned: tuple[str, ...] = ()
    folded: Mapping[str, int] = field(default_factory=dict)
    read_as_missing: Mapping[str, int] = field(default_factory=dict)
    moved_dates: tuple[str, ...] = ()
    pseudonyms: tuple[str, ...] = ()
    published_as_categories: tuple[str, ...] = ()
    category_columns: Mapping[str, str] = field(default_factory=dict)
    reading: str | None = None
    output: PublishedFile | PublishedTable | None = None
    intruder: str | None = None
    objects: tuple[PublishedFile, ...] = ()
    former: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Certificate:
        """Read a certificate from plain values.

        Keys that this version does not know are ignored. Raises ValueError if a value is missing or of another type.
        """
        known = {key: value for key, value in content.items() if key != "former"}
        return _reader().validate_json(json.dumps(known), strict=True)  # type: ignore[no-any-return]

    @cached_property
    def content(self) -> dict[str, Any]:
        """The certificate as plain values, in the order of its JSON."""
        plain: dict[str, Any] = to_plain(replace(self, former={}))
        return plain

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain values for JSON."""
        return dict(self.content)

    def to_json(self) -> str:
        """Return the certificate as it is written next to the release."""
        return json.dumps(self.content, indent=2, ensure_ascii=False) + "\n"

    def __getitem__(self, key: str) -> Any:
        if key in self.content or key not in self.former:
            return self.content[key]
        warnings.warn(
            f"{key!r} is no part of a certificate, as a release does not tell it. Read it from the figures of the "
            f"release (release.figures[{key!r}]), or from `shoal release --json`.",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.former[key]

    def summary(self) -> Summary:
        """Return models, figures and risk for display."""
        return summarize("Certificate", self.content)


def to_plain(value: Any) -> Any:
    """Convert a tree of dataclasses to plain values.

    A field that has its default value is left out.
    """
    if is_dataclass(value):
        parts = ((part, getattr(value, part.name)) for part in fields(value))
        return {part.name: to_plain(found) for part, found in parts if found != _default(part)}
    if isinstance(value, Mapping):
        return {key: to_plain(item) for key, item in value.items()}
    return [to_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _default(part: Any) -> Any:
    return part.default_factory() if part.default_factory is not MISSING else part.default


@cache
def _reader() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(Certificate)


def summarize(title: str, content: Mapping[str, Any]) -> Summary:
    """Return models, figures, loss and risk for display, as far as known.

    ``content`` is a certificate or the owner's figures.
    """
    labels = (("released", "rows released"), ("suppressed", "left out"), ("groups", "groups"))
    figures = [(label, content[key]) for key, label in (*labels, ("smallest_group", "rows in the smallest"))
               if key in content]  # fmt: skip
    models = content.get("models", ())
    grids = [verdict_grid(models)] if models else []
    costs = [("loss", name, value) for name, value in content.get("loss", {}).items()]
    costs += [("risk", name, value) for name, value in content.get("risk", {}).items()]
    if costs:
        grids.append(Grid("What it costs, and what risk remains", ("", "measure", "value"), costs))
    method = content.get("method", {}).get("name", "")
    partial_knowledge = partial_knowledge_sentence(content)
    sentences = [*([f"Method: {method}."] if method else []), *([partial_knowledge] if partial_knowledge else [])]
    return Summary(title, figures, sentences, grids)


def partial_knowledge_sentence(content: Mapping[str, Any]) -> str:
    """Describe k-anonymity under partial knowledge, in a sentence.

    It is empty where k-anonymity binds all quasi-identifiers at once.
    """
    models = [model for model in content.get("models", ()) if model["name"] == "k-anonymity"]
    limited = [model for model in models if {"known", "keys", "scenario"} & set(model["parameters"])]
    if not limited or len(limited) < len(models):
        return ""
    unit = "people" if content.get("people") else "rows"
    least = min(model["effective"].get("k", model["parameters"]["k"]) for model in limited)
    known = [model["parameters"]["known"] for model in limited if "known" in model["parameters"]]
    attacker = f"at most {min(known)} of the quasi-identifiers" if known else "no more than one of the key sets"
    if all("scenario" in model["parameters"] for model in limited):
        attacker = "the columns of one scenario"
    return (
        f"Whoever knows {attacker} of somebody finds at least {number(least)} {unit}. All quasi-identifiers at once "
        f"are not covered: they tell {counted(content['groups'], 'group')} apart, the smallest of "
        f"{number(content['smallest_group'])}."
    )
