"""Figures of a release for its owner, and the file of its original."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal import __version__
from shoal.io.engines import runs_on_spark
from shoal.io.engines.base import Engine, Source
from shoal.io.formats.csv_dialect import CsvFormat, detect
from shoal.pipeline.decide import Decided, StepTimer
from shoal.plan.plan import Plan, plain
from shoal.results.external import intruder_of
from shoal.results.release import fingerprint
from shoal.verification.check import CheckResult
from shoal.verification.independent import WrittenTable, has_plain_types, is_plain_file

EXPOSURE_TIME_SHARE = 0.1
ABOUT_THE_SOURCE = ("source", "rows", "suppressed", "loss", "bound", "risk")
"""Figures that reveal more than the release; see :attr:`shoal.methods.Method.reveals_source`."""


def collect_figures(plan: Plan, decided: Decided, checked: CheckResult, extra: Mapping[str, Any]) -> dict[str, Any]:
    """Collect all figures of a release, for its owner."""
    facts = plain(decided.facts.to_dict())
    content: dict[str, Any] = {
        "software": {"name": "shoal", "version": __version__},
        "plan": plain(plan.to_certificate_dict()),
        "source": {
            "rows": decided.rows,
            "columns": len(decided.source.columns),
            "schema_sha256": fingerprint(decided.source.columns, decided.source.types),
        },
        "rows": decided.rows,
        "released": checked.rows,
        "suppressed": decided.rows - checked.rows,
        "groups": checked.groups,
        "smallest_group": checked.smallest_group,
        "method": {"name": plan.method.name, "parameters": plain(plan.method.parameters), **facts},
        **plain(decided.facts.entries()),
        "models": [model.to_dict() for model in checked.models],
        "loss": dict(decided.loss),
        "risk": checked.risk,
        **extra,
    }
    if plan.review_status is not None:
        content["review"] = {"status": plan.review_status}
    if decided.bound is not None:
        content["bound"] = decided.bound.to_dict()
    if decided.linking_columns:
        content["linking_columns"] = dict(decided.linking_columns)
    if decided.repeating_identifiers:
        content["repeating_identifiers"] = decided.repeating_identifiers
    content |= decided.further_figures(checked)
    if checked.reading is not None:
        content["reading"] = checked.reading
    if checked.original_reading is not None:
        content["original_reading"] = checked.original_reading
    if checked.folded:
        content["folded"] = dict(checked.folded)
    if checked.read_as_missing:
        content["read_as_missing"] = dict(checked.read_as_missing)
    if plan.schema.moved:
        content["moved_dates"] = list(plan.schema.moved)
    if names := (*plan.schema.pseudonyms, *(plan.schema.person[:1] if plan.schema.linked else ())):
        content["pseudonyms"] = list(names)
    categories = [name for name, column in plan.schema.columns.items() if column.publish == "categories"]
    if categories:
        content["published_as_categories"] = categories
    if plan.schema.category_columns:
        content["category_columns"] = plan.schema.category_columns
    column_labels = {name: found.label for name, found in decided.origin.labels.items() if found.label}
    if labels := {name: text for name, text in column_labels.items() if name in decided.released.columns}:
        content["labels"] = labels
    if (intruder := intruder_of(plan.model, plan.method.wildcard)) is not None:
        content["intruder"] = intruder
    if not plan.method.reveals_source:
        content = {key: value for key, value in content.items() if key not in ABOUT_THE_SOURCE}
    return content


def exposure_figures(engine: Engine, decided: Decided, timer: StepTimer) -> dict[str, Any]:
    """Measure the exposure, in a tenth of the time of the release so far."""
    so_far = sum(timer.seconds.values())
    with timer("measuring exposure"):
        found = decided.exposure(engine, EXPOSURE_TIME_SHARE * so_far)
    return {} if found is None else {"exposure": found.to_dict()}


def original_table(source: Source, decided: Decided) -> WrittenTable | None:
    """Return the source for the independent verification to read.

    None unless it is one plain file: a CSV in UTF-8 with a header and no further options, or Parquet with texts and
    whole numbers; unless columns are published as they are read; and unless the release is compared with it.
    """
    plan, origin, names = decided.plan, decided.origin, decided.compared_with_original
    columns = plan.schema.columns.values()
    if not names or source.path is None or runs_on_spark(plan.engine):
        return None
    path = Path(source.path)
    moved = any(column.shift or column.relative_to or column.unmatched != "error" for column in columns)
    chosen = [plan.schema.columns[name] for name in names]
    moved = moved or any(column.publish != "values" or column.levels is not None for column in chosen)
    if moved or source.format is not None or not is_plain_file(path) or not has_plain_types(path, names):
        return None
    if path.suffix.lower() == ".parquet":
        return None if source.csv.missing else WrittenTable(path, origin.columns)
    form = detect(path, source.csv)
    given = CsvFormat(delimiter=form.delimiter, quote=form.quote, header=True, encoding="utf-8", names=form.names)
    if form != given or source.csv.names or form.names != origin.columns or len(form.names) == 1:
        return None
    return WrittenTable(path, origin.columns, form.delimiter or ",", form.quote or '"', skips_blank_lines=True)
