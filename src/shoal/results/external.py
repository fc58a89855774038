"""External documents: functions of the released table and public plan.

:func:`describe_released` receives the released table as its readers have it, and the public plan, and nothing else. It
returns the certificate and the facts of the external report. So nothing in either depends on rows that were left out,
on hidden cells, or on what a search found. Everything else is for the owner of the release
(:attr:`shoal.results.release.ReleaseResult.figures`).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal import __version__
from shoal.io.engines.base import Engine, Relation
from shoal.models import AllOf, PartialKnowledge, without_scenarios
from shoal.models.partial_knowledge import CANDIDATES_KEY
from shoal.results.certificate import (
    INTRUDER_OF_SCENARIO,
    INTRUDER_OF_SETS,
    INTRUDER_WITHOUT_LIST,
    Certificate,
    CertifiedGuarantee,
    CertifiedModel,
    CertifiedPeople,
    CertifiedRisk,
    LeftOut,
    MethodName,
    PublishedFile,
    PublishedTable,
    ReviewStatus,
    Software,
)
from shoal.results.public_plan import PublicPlan
from shoal.results.report_facts import TableFacts, min_cell_rows, size_edges, table_facts
from shoal.results.usefulness import columns_with_no_signal
from shoal.runtime.lazy_dataclass import dataclass
from shoal.schema import TOP, Column, Role, Schema
from shoal.table import FrequencySet
from shoal.table.people import number_people
from shoal.verification.check import CheckResult, ModelVerdict, check_relation
from shoal.verification.verify import looks_up_people, needs_original

VERIFIED_WITH_ORIGINAL = "the release and its original, before it was published"
VERIFIED_WITH_POPULATION = "the release and its population, before it was published"
LINKED = "The models count people, by numbers of which pseudonyms are published."
NOT_LINKED = (
    "The models count people, by numbers that are not published. Who has the release alone can verify rows only."
)
"""Notes on verification if models count people."""

Labels = tuple[tuple[str | None, int], ...]
"""Published texts of a column in its order, with the rows that have each; None is missing."""


@dataclass(frozen=True)
class ReleasedTable:
    """A released table as its readers have it.

    Attributes
    ----------
    checked
        The result of checking it without its original. It has a verdict on every model of the plan, or on none where
        models count people whom the table does not tell apart.
    labels
        By column, the published texts; empty where the rows are distributed over machines.
    sensitive
        By sensitive column, the released values.
    """

    checked: CheckResult
    labels: Mapping[str, Labels]
    sensitive: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Verification:
    """Kind of verification: constants of format and models.

    ``reading`` is the program that reads such files for the independent verification; ``judged_by`` says for each model
    which definitions judged it.
    """

    reading: str | None
    judged_by: tuple[str | None, ...]

    @classmethod
    def from_result(cls, checked: CheckResult) -> Verification:
        """Return how a result came about, without any of its figures."""
        return cls(checked.reading, tuple(model.judged_by for model in checked.models))


@dataclass(frozen=True)
class ExternalFacts:
    """Facts of the external report.

    ``groups`` is None where sizes of groups are not what is promised, or rows are distributed over machines.
    """

    schema: Schema
    labels: Mapping[str, Labels]
    least: int
    groups: TableFacts | None = None
    guarantee: Any = None


@dataclass(frozen=True)
class External:
    """External documents of a release: certificate, and facts of the report."""

    certificate: Certificate
    facts: ExternalFacts = field(compare=False)


def read_released(
    engine: Engine, table: Relation, plan: PublicPlan, checked: CheckResult | None = None
) -> ReleasedTable:
    """Read a released table as its readers do.

    ``checked`` is the verification of this table. It is used again where it has seen no original.
    """
    if plan.support is not None:
        return _read_patterns(engine, table, plan)
    if checked is None or needs_original(plan.schema, plan.model, plan.wildcard):
        schema, model = plan.schema.of_rows.published, AllOf()
        if plan.schema.linked:
            schema, model = plan.schema.published, plan.model
            table = number_people(engine, table, schema.person).table
        elif not plan.schema.person:
            model = plan.model
        checked = check_relation(engine, table, schema, model, plan.wildcard if model.parts else None)
    found = checked.combinations
    if found is None:
        return ReleasedTable(checked, {}, {name: tuple(texts) for name, texts in checked.sensitive_texts.items()})
    labels = {
        dictionary.name: _labels((*dictionary.text, None), codes, found.count)
        for dictionary, codes in zip(found.quasi, found.codes.T, strict=True)
    }
    for part in found.spellings:
        if part.written.name not in plan.schema.person:
            labels[part.written.name] = _labels((*part.written.text, None), part.codes, found.count)
    sensitive = {name: _texts(labels[name]) for name in plan.schema.sensitive}
    return ReleasedTable(checked, labels, sensitive)


def _labels(texts: tuple[str | None, ...], codes: npt.NDArray[np.integer[Any]], count: npt.NDArray[np.int64]) -> Labels:
    rows = np.bincount(codes, weights=count, minlength=len(texts)).astype(np.int64)
    found = zip(texts, rows.tolist(), strict=True)
    return tuple(found if rows.all() else itertools.compress(found, rows))


def _texts(labels: Labels) -> tuple[str, ...]:
    return tuple(text for text, _ in labels if text is not None)


def _read_patterns(engine: Engine, table: Relation, plan: PublicPlan) -> ReleasedTable:
    """Read overlapping patterns: each row is one, with its support."""
    schema = Schema({**plan.schema.of_rows.published.columns, plan.support or "": Column(Role.SENSITIVE, exact=True)})
    found = check_relation(engine, table, schema, AllOf()).combinations
    assert found is not None
    supports = found.spellings[-1]
    labels = {
        dictionary.name: _labels((*dictionary.text, None), codes, found.count)
        for dictionary, codes in zip(found.quasi, found.codes.T, strict=True)
    }
    for part in found.spellings[:-1]:
        labels[part.written.name] = _labels((*part.written.text, None), part.codes, found.count)
    smallest = min(int(text) for text in supports.written.text)
    least = max((getattr(part, "k", 1) for part in plan.model.parts), default=1)
    verdict = ModelVerdict("pattern-support", {"k": least}, True, {"k": smallest}, 0, 0)
    checked = CheckResult(found.rows, found.rows, smallest, (verdict,), 0, 0)
    return ReleasedTable(checked, labels, {name: _texts(labels[name]) for name in plan.schema.sensitive})


def describe_released(
    table: ReleasedTable,
    plan: PublicPlan,
    verification: Verification,
    output: Mapping[str, Any] | None = None,
) -> External:
    """Describe a released table to its readers.

    ``output`` names and identifies the published file.
    """
    checked, schema = table.checked, plan.schema
    has_sizes = plan.wildcard is None and plan.support is None and (not schema.person or schema.linked)
    certificate = Certificate(
        software=Software(name="shoal", version=__version__),
        plan=plan.state(table.sensitive),
        released=checked.rows,
        groups=checked.groups,
        smallest_group=checked.smallest_group,
        method=MethodName(name=plan.method),
        models=tuple(_models(checked, plan, verification.judged_by)),
        risk=CertifiedRisk(**checked.risk) if has_sizes and plan.guarantee is None else None,
        left_out=None if plan.max_left_out is None else LeftOut(at_most=plan.max_left_out),
        review=None if plan.review is None else ReviewStatus(status=plan.review),
        guarantee=None if plan.guarantee is None else CertifiedGuarantee(**plan.guarantee.to_dict()),
        people=_people(checked, plan) if schema.person else None,
        hidden_columns=tuple(
            name for name in schema.quasi_identifiers if [text for text, _ in table.labels.get(name, ())] == [TOP]
        ),
        nothing_learned=tuple(_uninformative(checked, plan)) if has_sizes else (),
        folded=checked.folded,
        read_as_missing=checked.read_as_missing,
        moved_dates=tuple(schema.moved),
        pseudonyms=(*schema.pseudonyms, *(schema.person[:1] if schema.linked else ())),
        published_as_categories=tuple(
            name for name, column in schema.columns.items() if column.publish == "categories"
        ),
        category_columns=schema.category_columns,
        reading=verification.reading,
        output=None if output is None else _published(output),
        intruder=intruder_of(plan.model, plan.wildcard),
    )
    least = min_cell_rows(plan.model, checked.smallest_group)
    groups = None
    if has_sizes and checked.found is not None:
        groups = table_facts(checked.found, size_edges(least), least)
    return External(certificate, ExternalFacts(plan.schema, table.labels, least, groups, plan.guarantee))


def _published(output: Mapping[str, Any]) -> PublishedFile | PublishedTable:
    return PublishedTable(**output) if "table" in output else PublishedFile(**output)


def intruder_of(model: AllOf, wildcard: str | None) -> str | None:
    """Describe the intruder that models cover; None for full knowledge."""
    if looks_up_people(model, wildcard):
        return INTRUDER_WITHOUT_LIST
    if not model.parts or without_scenarios(model).parts:
        return None
    named = any("scenario" in part.parameters for part in model.parts)
    return INTRUDER_OF_SCENARIO if named else INTRUDER_OF_SETS


def _models(checked: CheckResult, plan: PublicPlan, judged_by: tuple[str | None, ...]) -> list[CertifiedModel]:
    """List the promises, with the parameters that the release itself shows.

    Every promise was verified before publication. Where the released table alone does not show that one holds, no
    parameter is given.
    """
    if plan.support is not None:
        return [_public_verdict(verdict) for verdict in checked.models]
    verdicts = checked.models or (None,) * len(plan.model.parts)
    found = []
    for part, verdict, judge in zip(plan.model.parts, verdicts, judged_by, strict=True):
        known = verdict if verdict is not None and verdict.holds and not part.needs_population else None
        promised = ModelVerdict(part.name, dict(part.parameters), True, {}, 0, 0, part.counts)
        entry = _public_verdict(promised if known is None else replace(known, counts=part.counts))
        needs_original = known is None or isinstance(part, PartialKnowledge)
        checked_with = VERIFIED_WITH_ORIGINAL if needs_original else None
        if part.needs_population:
            checked_with = VERIFIED_WITH_POPULATION
        found.append(replace(entry, judged_by=judge, checked_with=checked_with))
    return found


def _public_verdict(verdict: ModelVerdict) -> CertifiedModel:
    plain = verdict.to_dict()
    of_people = CANDIDATES_KEY.values()  # the candidates of a person are those of the original
    return CertifiedModel(
        name=verdict.name,
        parameters=plain["parameters"],
        holds=verdict.holds,
        effective={key: value for key, value in plain["effective"].items() if key not in of_people},
        counts=verdict.counts,
    )


def _people(checked: CheckResult, plan: PublicPlan) -> CertifiedPeople:
    """Describe the unit that is counted, with numbers if they are public."""
    schema = plan.schema
    known_rows = [part.linked_rows for part in plan.model.parts if part.requires_people]
    counts = checked.people if schema.linked else None
    return CertifiedPeople(
        unit="people" if schema.person == schema.named(Role.PERSON) else "households",
        released=None if counts is None else counts.total,
        smallest_group=None if counts is None else counts.smallest_group,
        smallest_crowd=None if counts is None else counts.smallest_crowd,
        known_rows=None if not known_rows else "all" if known_rows[0] is None else known_rows[0],
        verification=LINKED if schema.linked else NOT_LINKED,
    )


def _uninformative(checked: CheckResult, plan: PublicPlan) -> list[str]:
    found: FrequencySet | None = checked.combinations
    if found is None or plan.schema.person:
        return []
    inverse, _ = found.group(found.codes, [dictionary.size for dictionary in found.quasi])
    return columns_with_no_signal(found, np.arange(len(found.count)), inverse, found.count, plan.schema.sensitive)
