"""Runs: work in separate processes, observed by numbered events.

One worker process is started in advance and waits. A run that is cancelled, or exceeds its time limit, is asked to
terminate, so that it leaves no partial files, and is killed if it does not. Events are numbered, so that a page that
reconnects gets the events that it missed and none twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from shoal.errors import InputError, ShoalError

MAX_EVENT_BYTES = 64 * 1024 * 1024
TERMINATION_GRACE_SECONDS = 5.0
MAX_EVENTS_PER_RUN = 2_000
MAX_FINISHED_RUNS = 100
MAX_ACTIVE_RUNS = 20


@dataclass
class Run:
    """One unit of work: its state, its events and its result.

    The state is running, done, failed or cancelled.
    """

    id: str
    project: str
    action: str
    state: str = "running"
    events: list[dict[str, Any]] = field(default_factory=list)
    result: dict[str, Any] | None = None
    partial: dict[str, Any] | None = None
    """Partial result while it runs."""
    error: dict[str, str] | None = None
    process: Any = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    started: float = field(default_factory=time.monotonic)
    first: int = 1
    """Number of the oldest event in the buffer."""

    def emit(self, event: str, **data: Any) -> None:
        """Append a numbered event and wake the waiting followers."""
        self.events.append({"id": self.first + len(self.events), "event": event, **data})
        if len(self.events) > MAX_EVENTS_PER_RUN:
            del self.events[0]
            self.first += 1
        self.changed.set()
        self.changed = asyncio.Event()

    def to_dict(self) -> dict[str, Any]:
        """Return state, progress and result for JSON."""
        last = next((event for event in reversed(self.events) if event["event"] == "progress"), None)
        progress = None if last is None else {"step": last["step"], "done": last["done"]}
        elapsed = int(time.monotonic() - self.started)
        record = {"id": self.id, "action": self.action, "state": self.state, "progress": progress, "elapsed": elapsed}
        return record | {"partial": self.partial, "result": self.result, "error": self.error}

    @property
    def known(self) -> dict[str, Any] | None:
        """The result, or the partial result while it runs."""
        return self.partial if self.result is None else self.result

    async def follow(self, after: int) -> AsyncIterator[dict[str, Any]]:
        """Yield the events after a number until the run has ended."""
        while True:
            changed = self.changed
            for event in self.events[max(0, after + 1 - self.first) :]:
                after = event["id"]
                yield event
            if self.state != "running":
                return
            try:
                await asyncio.wait_for(changed.wait(), 15.0)
            except TimeoutError:
                yield {"id": after, "event": "alive"}


@dataclass
class Runs:
    """All runs of a server; at most ``max_concurrent`` of them work at a time."""

    max_concurrent: int = 2
    seconds: float = 3600.0
    memory: int | None = None
    runs: dict[str, Run] = field(default_factory=dict)
    _spare: Any = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _slots: asyncio.Semaphore | None = None

    async def warm(self) -> None:
        """Start a spare worker process if there is none."""
        if self._spare is None or self._spare.returncode is not None:
            self._spare = await _start_process()

    def start(
        self,
        project: str,
        job: dict[str, Any],
        on_done: Callable[[Run], None],
        on_partial: Callable[[Run], None] = lambda _: None,
    ) -> Run:
        """Start a run.

        ``on_done`` is called when it has ended, whatever its outcome, ``on_partial`` after each partial result.
        """
        waiting = [run for run in self.runs.values() if run.state == "running"]
        if len(waiting) >= MAX_ACTIVE_RUNS:
            raise InputError("page.too-many-runs")
        for old in [run for run in self.runs.values() if run.state != "running"][:-MAX_FINISHED_RUNS]:
            del self.runs[old.id]
        run = Run(secrets.token_urlsafe(12), project, str(job["action"]))
        self.runs[run.id] = run
        task = asyncio.get_running_loop().create_task(self._carry_out(run, job, on_done, on_partial))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return run

    async def _carry_out(
        self, run: Run, job: dict[str, Any], on_done: Callable[[Run], None], on_partial: Callable[[Run], None]
    ) -> None:
        if self._slots is None:
            self._slots = asyncio.Semaphore(self.max_concurrent)
        run.emit("progress", step="waiting", done=None)
        async with self._slots:
            if run.state == "running":
                try:
                    await asyncio.wait_for(self._work(run, job, on_partial), self.seconds)
                except TimeoutError:
                    run.error = {**ShoalError("page.run-too-slow", seconds=self.seconds).to_dict(), "kind": "Slow"}
                finally:
                    await _terminate(run.process)
        if run.state == "running":
            run.state = "done" if run.result is not None else "failed"
            if run.result is None and run.error is None:
                run.error = {**ShoalError("page.run-ended").to_dict(), "kind": "Ended"}
        on_done(run)
        run.emit("end", state=run.state, error=run.error)

    async def _work(self, run: Run, job: dict[str, Any], on_partial: Callable[[Run], None]) -> None:
        await self.warm()
        process, self._spare = self._spare, None
        run.process = process
        process.stdin.write(json.dumps({**job, "memory": self.memory}).encode() + b"\n")
        with contextlib.suppress(ConnectionError):
            await process.stdin.drain()
        renewal = asyncio.get_running_loop().create_task(self.warm())
        self._tasks.add(renewal)
        renewal.add_done_callback(self._tasks.discard)
        while line := await process.stdout.readline():
            event = json.loads(line)
            if event["event"] == "progress":
                run.emit("progress", step=event["step"], done=event["done"])
            elif event["event"] == "result":
                run.result = event["data"]
            elif event["event"] == "partial":
                run.partial = event["data"]
                on_partial(run)
                lanes = event["data"].get("lanes")
                run.emit("partial", **({} if lanes is None else {"lanes": lanes}), ended=_count_trials(event["data"]))
            else:
                run.error = {key: event[key] for key in ("kind", "text", "texts") if key in event}

    async def cancel(self, run: Run) -> None:
        """Cancel a run.

        Partial files are gone when this returns. Trials of an exploration that have ended are kept.
        """
        if run.state == "running" and run.action == "explore" and _count_trials(run.partial or {}):
            run.state = "done"
            run.result = {**(run.partial or {}), "stopped": True}
            await _terminate(run.process)
        elif run.state == "running":
            run.state = "cancelled"
            error = ShoalError("page.query-cancelled") if run.action == "query" else ShoalError("page.run-cancelled")
            run.error = {**error.to_dict(), "kind": "Cancelled"}
            await _terminate(run.process)

    async def close(self) -> None:
        """Cancel all runs and terminate all processes."""
        for run in list(self.runs.values()):
            await self.cancel(run)
        spare, self._spare = self._spare, None
        await _terminate(spare)
        for task in list(self._tasks):
            task.cancel()


def _count_trials(partial: dict[str, Any]) -> int:
    """Count the trials that have ended."""
    return len(partial.get("trials", ()))


async def _start_process() -> Any:
    environment = {key: value for key, value in os.environ.items() if key != "SHOAL_TOKEN"}
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "shoal.web.worker", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL, limit=MAX_EVENT_BYTES, start_new_session=True, env=environment,
    )  # fmt: skip


async def _terminate(process: Any) -> None:
    """Terminate a process; kill its process group if it does not exit."""
    if process is None or process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), TERMINATION_GRACE_SECONDS)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
