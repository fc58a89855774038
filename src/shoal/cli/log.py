"""Event log for schedulers: one JSON object per line, with times.

It has no value of a row, and no value of a variable.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shoal.errors import OutputError, ShoalError
from shoal.plan.variables import mask_values
from shoal.runtime.progress import Progress


@contextmanager
def log_progress(path: Path | None, show: Progress) -> Iterator[Progress]:
    """Yield a progress callback that also logs to a file, if one is given."""
    if path is None:
        yield show
        return
    last = [""]

    def write(event: str, **more: Any) -> None:
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        try:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"time": now, "event": event, **more}) + "\n")
        except OSError as error:
            raise OutputError("command.log-not-writable", file=str(path), reason=error.strerror) from None

    def step(name: str, done: float | None = None) -> None:
        show(name, done)
        if name != last[0]:
            last[0] = name
            write("step", step=name)

    write("started")
    try:
        yield step
    except ShoalError as error:
        write("failed", kind=type(error).__name__, exit_status=error.exit_status, error=mask_values(str(error)))
        raise
    except BaseException as error:
        write("failed", kind=type(error).__name__)
        raise
    write("done")
