"""What commands share: which tables they take, and the options that say which engine does the work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from shoal.io.engines.base import EngineSettings
    from shoal.plan.plan import Plan
    from shoal.schema import Schema

__all__ = ["TABLES", "EngineName", "Master", "settings_of"]

TABLES = "CSV, Parquet (a file or a directory), Excel, SPSS, Stata, SAS, SQLite or DuckDB"
"""The tables that a command takes, for its help."""

EngineName = Annotated[
    str | None, typer.Option("--engine", help="duckdb (this machine) or spark, in place of the plan's.")
]
Master = Annotated[
    str | None, typer.Option("--master", help="Where Spark runs: local[4], spark://host:7077, yarn, k8s://...")
]


def settings_of(
    engine: str | None, master: str | None, plan: Plan | Schema | None = None, memory: str | None = None
) -> EngineSettings:
    """The plan's settings, if there is a plan, with what options say in their place."""
    from dataclasses import replace

    from shoal.plan.plan import EngineSettings, Plan

    settings = plan.engine if isinstance(plan, Plan) else EngineSettings()
    settings = settings.instead(engine, master)
    return settings if memory is None else replace(settings, memory=memory)
