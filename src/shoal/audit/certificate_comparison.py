"""Comparison of a certificate with the one that its table gives.

A certificate is a function of the released table and the public plan (:mod:`shoal.results.external`), and it contains
that plan. So a reader can make it again, and compare every statement; the same holds for the external
report.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from shoal.io.engines import open_engine
from shoal.io.engines.base import EngineSettings, Relation, Source
from shoal.methods.patterns.anti_unification import SUPPORT
from shoal.plan.plan import plain
from shoal.report import render
from shoal.results.certificate import Certificate
from shoal.results.external import External, Verification, describe_released, read_released
from shoal.results.public_plan import PublicPlan
from shoal.results.saved_table import RELATIVE_TOLERANCE
from shoal.schema import UNPUBLISHED
from shoal.table.spreadsheet_safety import neutralize_text
from shoal.verification.check import CheckResult
from shoal.verification.independent import ENGINE, JUDGES, READER_NAMES

COMPARED = {
    "released": "rows",
    "groups": "groups",
    "smallest_group": "rows in the smallest group",
    "models": "models",
    "risk": "risk",
    "left_out": "rows that may be left out",
    "people": "people",
    "hidden_columns": "hidden columns",
    "nothing_learned": "columns of which nothing is learned",
    "folded": "spellings that are counted as one",
    "read_as_missing": "texts that are read as missing",
    "moved_dates": "dates that were moved",
    "pseudonyms": "pseudonyms",
    "published_as_categories": "columns published as categories",
    "category_columns": "columns of categories",
    "intruder": "the intruder",
}
"""Keys of a certificate that follow from table and plan, with their names in a finding."""
FROM_ALL_ROWS = ("hidden_columns", "nothing_learned", "folded", "read_as_missing")
"""Keys that a certificate may lack where the rows were distributed over machines; the release is in parts then."""
NAMES_OF_READERS = {ENGINE, *READER_NAMES}
NAMES_OF_JUDGES = {*JUDGES, "the model and the gate"}
"""Words of certificates about their verification; the last one is of an earlier version."""
STATED_OF_MODELS = ("name", "parameters", "holds", "effective", "counts", "checked_with")


@dataclass(frozen=True)
class CertificateComparison:
    """Comparison of a certificate with its table.

    Attributes
    ----------
    differing
        The statements that the table does not give.
    unknown
        Whether a certificate of another version has statements that this version does not know.
    report
        The report that follows from table and certificate; None where the files alone do not give it.
    """

    differing: tuple[str, ...]
    unknown: bool
    report: str | None


def compare_certificate(
    content: Mapping[str, Any],
    public: PublicPlan,
    table: Source,
    checked: CheckResult | None,
    engine: EngineSettings | None,
) -> CertificateComparison:
    """Make the certificate of a table again, and compare.

    ``public`` is the plan in the certificate, ``checked`` the check of the table by it, if there was one.
    """
    with open_engine(engine) as reader:
        relation = reader.read(replace(table, with_nan=public.schema.quasi_identifiers))
        seen = read_released(reader, relation, public, checked)
    without_judges = Verification(None, (None,) * len(public.model.parts))
    made = describe_released(seen, public, without_judges)
    recomputed = plain(made.certificate.content)
    method = content["plan"].get("method")
    if "guarantee" in content:  # its method is not in the plan, and promises no sizes of groups
        recomputed = {key: value for key, value in recomputed.items() if key not in ("risk", "left_out")}
    columns = _released_columns(public)
    found = []
    if set(relation.columns) not in (columns, set(map(neutralize_text, columns))):
        found.append("columns")
    if "guarantee" in content and method is not None:
        found.append("the guarantee")
    if method is not None and content["method"]["name"] != method["name"]:
        found.append("the method")
    in_parts = table.path is not None and table.path.is_dir()
    for key, name in COMPARED.items():
        if in_parts and key in FROM_ALL_ROWS and key not in content:
            continue
        stated, expected = content.get(key), recomputed.get(key)
        if key == "models":
            stated, expected = _stated_models(stated), _stated_models(expected)
        if not is_equal(stated, expected):
            found.append(name)
    is_known = is_equal(content, plain(Certificate.from_dict(content).content))
    is_same_version = content["software"] == recomputed["software"]
    if is_same_version and not is_known:
        found.append("statements that no certificate has")
    if is_same_version and not _has_apostrophes(made) and not _is_plan(content, recomputed["plan"]):
        found.append("the plan")
    judges = {entry.get("judged_by") for entry in content["models"]} - {None}
    if content.get("reading", ENGINE) not in NAMES_OF_READERS or not judges <= NAMES_OF_JUDGES:
        found.append("how it was verified")
    report = None if found or in_parts else _recomputed_report(content, made, relation)
    return CertificateComparison(tuple(found), not is_known and not is_same_version, report)


def _is_plan(content: Mapping[str, Any], recomputed: Mapping[str, Any]) -> bool:
    """Return whether a certificate states the plan that it would state again.

    A method that needs files of its maker is not stated.
    """
    without = ("method",) if "guarantee" in content else ()
    return is_equal(content["plan"], {key: value for key, value in recomputed.items() if key not in without})


def _has_apostrophes(made: External) -> bool:
    """Return whether apostrophes seem to have been put before formulas."""
    return any(
        text is not None and text.startswith("'") and neutralize_text(text) != text
        for labels in made.facts.labels.values()
        for text, _ in labels
    )


def _recomputed_report(content: Mapping[str, Any], made: External, relation: Relation) -> str | None:
    """Return the report that this version of shoal makes, if it can.

    It needs the declared figures of a guarantee, the time zone of instants, and cells without added apostrophes; they
    are not in the files.
    """
    zoned = any("TIME ZONE" in kind for kind in relation.types)
    has_apostrophes = _has_apostrophes(made)
    if (
        has_apostrophes
        or content["software"] != made.certificate.content["software"]
        or "guarantee" in content
        or zoned
    ):
        return None
    return render(replace(made, certificate=Certificate.from_dict(content)))


def _released_columns(plan: PublicPlan) -> set[str]:
    """Return the columns that a release by a plan has."""
    schema = plan.schema
    cells = {name for name, column in schema.columns.items() if column.role not in UNPUBLISHED}
    linked = schema.person[:1] if schema.linked else ()
    return {*cells, *schema.pseudonyms, *linked, *((SUPPORT,) if plan.support else ())}


def _stated_models(entries: Any) -> list[dict[str, Any]]:
    """Return what is stated of models, in one order."""
    stated = [{key: entry[key] for key in STATED_OF_MODELS if key in entry} for entry in entries]
    return sorted(stated, key=lambda entry: (entry["name"], str(sorted(entry["parameters"].items()))))


def is_equal(stated: Any, recomputed: Any) -> bool:
    """Compare plain values; floats may differ by the order of a sum."""
    if isinstance(stated, Mapping) and isinstance(recomputed, Mapping):
        return set(stated) == set(recomputed) and all(is_equal(stated[key], recomputed[key]) for key in stated)
    if isinstance(stated, list) and isinstance(recomputed, list):
        return len(stated) == len(recomputed) and all(map(is_equal, stated, recomputed))
    if isinstance(stated, bool) or isinstance(recomputed, bool):
        return stated is recomputed
    if isinstance(stated, int | float) and isinstance(recomputed, int | float):
        return math.isclose(stated, recomputed, rel_tol=RELATIVE_TOLERANCE, abs_tol=RELATIVE_TOLERANCE)
    return bool(stated == recomputed)
