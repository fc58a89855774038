"""Golden releases: a digest of every method with every model.

They verify that a refactoring changes no byte. Run ``python -m tools.golden > before`` on the old sources and
``python -m tools.golden > after`` on the new ones; ``diff before after`` lists the changes. A line has digests of the
released table, of the answer and the certificate with numbers rounded to nine digits, and of both and the report
unrounded; if a plan is refused or infeasible, that of the error's text. With ``--engine spark`` a line ends after the
first three, which both engines have in common: they leave out the reader of the release and the exposure, which differ
by engine.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.builders import grids
from tests.builders.certificates import statements
from tests.builders.conformance import METHODS, MODELS, SCHEMA, round_numbers, table_of
from tests.builders.people import people_of, people_schema
from tests.reference.json_schema import holds

import shoal
from shoal.datasets.census import QUASI_IDENTIFIERS, SENSITIVE, census_table
from shoal.io.engines.base import EngineSettings
from shoal.report import render
from shoal.results import certificate_schema

CERTIFICATE_SCHEMA = json.loads(certificate_schema.FILE.read_text(encoding="utf-8"))
FURTHER_METHODS = {
    "univariate": shoal.methods.Univariate(k=3),
    "cbfs": shoal.methods.Cbfs(k=3),
    "v-mdav": shoal.methods.VMdav(k=3),
    "k-first in blocks": shoal.methods.KFirst(k=3, block=12),
    "cbfs in blocks": shoal.methods.Cbfs(k=3, block=12),
    "v-mdav in blocks, refined": shoal.methods.VMdav(k=3, block=12, refine=True, effort=100),
    "mdav of ranges": shoal.methods.Mdav(k=3, publish={"age": "range"}, ranges="exact"),
    "mdav of ranges in blocks": shoal.methods.Mdav(k=3, publish={"age": "range"}, scale="rank", block=12),
    "mdav of medians in blocks": shoal.methods.Mdav(
        k=3, publish={"age": "median", "place": "mode"}, scale="winsorised", block=40
    ),
    "mdav in strata": shoal.methods.Mdav(k=3, strata=("place",)),
    "mdav in strata and blocks": shoal.methods.Mdav(k=3, strata=("place",), block=12),
    "mondrian, exact": shoal.methods.Mondrian(publish={"age": "range"}, ranges="exact"),
    "hidden-cells": shoal.methods.HiddenCells(),
    "disjoint patterns": shoal.methods.AntiUnification(),
    "overlapping patterns": shoal.methods.AntiUnification(patterns="overlapping"),
    "loose stars": shoal.methods.LocalSuppression(missing="loose"),
    "auto": shoal.methods.Auto(suppression=0.1),
}


def cases() -> Iterator[tuple[str, str, object, object]]:
    """Yield name of method, name of model, table and plan factory."""
    for method, made in (METHODS | FURTHER_METHODS).items():
        for model, (models, _) in MODELS.items():
            yield (
                method,
                model,
                table_of(200, 3),
                lambda made=made, models=models: shoal.Plan(SCHEMA, models, made, seed=3),
            )
    for method in ("full-domain", "mondrian", "mdav", "top-down", "switching", "local-suppression", "refine"):
        models = (shoal.models.KAnonymity(4), shoal.models.PSensitive(2))
        yield (
            method,
            "people",
            people_of(150),
            lambda method=method, models=models: shoal.Plan(people_schema(), models, METHODS[method]),
        )
    linked = (shoal.models.TrajectoryAnonymity(3, 2),)
    yield (
        "facts-suppression",
        "linked",
        people_of(150),
        lambda: shoal.Plan(people_schema(), linked, shoal.methods.FactsSuppression(suppression=0.7)),
    )
    folder = Path(tempfile.mkdtemp())
    shoal.budget.Ledger.create(folder / "ledger", m=100_000, k=20, name="people")
    grid = shoal.budget.methods.PopulationGrid(20, folder / "ledger", {"age": 2, "town": 1}, universe=1000)
    yield grid.name, "none", grids.people(800), lambda: shoal.Plan(grids.SCHEMA, (), grid)
    census = census_table(300).select([*QUASI_IDENTIFIERS, SENSITIVE])
    schema = shoal.schema.Schema(
        {name: shoal.Column(shoal.Role.QUASI_IDENTIFIER) for name in QUASI_IDENTIFIERS}
        | {SENSITIVE: shoal.Column(shoal.Role.SENSITIVE)}
    )
    for patterns in ("disjoint", "overlapping"):
        yield (
            f"{patterns} patterns",
            "census",
            census,
            lambda patterns=patterns: shoal.Plan(
                schema, (shoal.models.KAnonymity(3),), shoal.methods.AntiUnification(patterns=patterns)
            ),
        )
    partial = (shoal.models.LooselyKnown(shoal.models.KAnonymity(3), 2), shoal.models.PSensitive(2))
    keys = (shoal.models.KeySet(SCHEMA.quasi_identifiers[:2], k=6, reading="loose"),)
    for method in (shoal.methods.HiddenCells(), shoal.methods.FullDomain(), shoal.methods.Auto()):
        yield (
            method.name,
            "known",
            table_of(200, 3),
            lambda method=method: shoal.Plan(SCHEMA, partial, method, keys=keys),
        )


def digest(table: object, plan: object, spark: object) -> str:
    """Return the digests of one release, or of its refusal."""
    try:
        made = plan()
        given = table if spark is None else spark.createDataFrame(table).repartition(3)
        release = shoal.anonymize(given, made)
    except (shoal.errors.PlanError, shoal.errors.InfeasibleError) as error:
        return "refused " + hashlib.sha256(str(error).encode()).hexdigest()[:16]
    rows = release.table if spark is None else release.table.toArrow()
    answer = release.to_dict()
    answer.pop("seconds")
    for content in (answer, release.figures):
        content.get("guarantee", {}).pop("ledger_head", None)  # the only random part
    parts = [json.dumps([rows.column_names, [str(t) for t in rows.schema.types], rows.to_pylist()], default=str)]
    certificate = json.loads(release.certificate.to_json())
    assert holds(CERTIFICATE_SCHEMA, certificate, CERTIFICATE_SCHEMA), "a certificate follows the shipped schema"
    shared = {name: content for name, content in answer.items() if name != "exposure"}
    parts += [json.dumps(round_numbers(content), default=str) for content in (shared, statements(release))]
    if spark is None:
        parts += [json.dumps(answer), release.certificate.to_json(), render(release)]
    return " ".join(hashlib.sha256(part.encode()).hexdigest()[:12] for part in parts)


def main() -> None:
    """Print one line per case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=("duckdb", "spark"), default="duckdb")
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    given = parser.parse_args()
    settings = EngineSettings(name="duckdb")
    if given.engine == "spark":
        options = {"spark.sql.shuffle.partitions": "3"}
        settings = EngineSettings("1GB", name="spark", master="local[2]", options=options)
    with shoal.spark_session(settings) as spark:
        for method, model, table, plan in cases():
            name = f"{method} | {model}"
            if given.only in name:
                print(f"{name} | {digest(table, plan, spark)}", flush=True)


if __name__ == "__main__":
    main()
