"""Options that several commands share: tables and the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from shoal.io.engines.base import EngineSettings
    from shoal.plan.plan import Plan
    from shoal.schema import Schema

TABLES = "CSV, Parquet (a file or a directory), Excel, SPSS, Stata, SAS, SQLite or DuckDB"
"""Supported table formats, for the help of a command."""

EngineName = Annotated[
    str | None, typer.Option("--engine", help="Engine instead of the plan's: duckdb (this machine) or spark.")
]
Master = Annotated[
    str | None, typer.Option("--master", help="Spark master: local[4], spark://host:7077, yarn, k8s://...")
]


def settings_of(
    engine: str | None, master: str | None, plan: Plan | Schema | None = None, memory: str | None = None
) -> EngineSettings:
    """Return the engine settings of a plan, with options taking precedence."""
    from dataclasses import replace

    from shoal.io.engines.base import EngineSettings
    from shoal.plan.plan import Plan

    settings = plan.engine if isinstance(plan, Plan) else EngineSettings()
    settings = settings.instead(engine, master)
    return settings if memory is None else replace(settings, memory=memory)
