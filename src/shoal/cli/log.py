"""What happens, for schedulers: one JSON object per line, with times; no value of a row, and no variable's value."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shoal.errors import OutputError, ShoalError
from shoal.plan.variables import shown
from shoal.runtime.progress import Progress

__all__ = ["logged"]


@contextmanager
def logged(place: Path | None, show: Progress) -> Iterator[Progress]:
    """Progress that is shown, and written to a file where there is one."""
    if place is None:
        yield show
        return
    last = [""]

    def tell(event: str, **more: Any) -> None:
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        try:
            with place.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"time": now, "event": event, **more}) + "\n")
        except OSError as error:
            raise OutputError(f"The log {str(place)!r} cannot be written: {error.strerror}.") from None

    def step(name: str, done: float | None = None) -> None:
        show(name, done)
        if name != last[0]:
            last[0] = name
            tell("step", step=name)

    tell("started")
    try:
        yield step
    except ShoalError as error:
        tell("failed", kind=type(error).__name__, exit_status=error.exit_status, error=shown(str(error)))
        raise
    except BaseException as error:
        tell("failed", kind=type(error).__name__)
        raise
    tell("done")
