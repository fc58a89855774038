"""The engine that a plan asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from shoal.io.engines import open_engine
from shoal.io.engines.base import UTC, Engine
from shoal.plan.plan import Plan
from shoal.runtime.threads import limit_threads


@contextmanager
def open_plan_engine(plan: Plan, *tables: Any, progress: Callable[[float], None] | None = None) -> Iterator[Engine]:
    """Open the plan's engine and limit threads as the plan says."""
    with (
        limit_threads(plan.engine.threads),
        open_engine(plan.engine, *tables, progress=progress, time_zone=plan_time_zone(plan)) as engine,
    ):
        yield engine


def plan_time_zone(plan: Plan | None) -> str:
    """Return the time zone in which instants are read."""
    return UTC if plan is None or plan.source is None else plan.source.time_zone
