"""Runs: work that goes on in processes of its own while the page stays quick; watched by numbered events, and ended.

One process is kept ready, loaded and waiting. A run that is cancelled, or over its time, is asked to end (it leaves
nothing half written then) and, where it does not, is made to. Events are numbered, so that a page that comes back is
told what it has missed and nothing twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from shoal.errors import InputError

__all__ = ["Run", "Runs"]

LONGEST_EVENT = 64 * 1024 * 1024
GRACE = 5.0
MOST_EVENTS = 2_000
MOST_KEPT = 100
MOST_WAITING = 20


@dataclass
class Run:
    """One piece of work: its state (running, done, failed, cancelled), its events, and what came of it."""

    id: str
    project: str
    action: str
    state: str = "running"
    events: list[dict[str, Any]] = field(default_factory=list)
    result: dict[str, Any] | None = None
    partial: dict[str, Any] | None = None
    """What is known while it runs."""
    error: dict[str, str] | None = None
    process: Any = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    first: int = 1
    """The number of the first event that is still kept."""

    def tell(self, event: str, **what: Any) -> None:
        """Number an event and wake those who wait for one."""
        self.events.append({"id": self.first + len(self.events), "event": event, **what})
        if len(self.events) > MOST_EVENTS:
            del self.events[0]
            self.first += 1
        self.changed.set()
        self.changed = asyncio.Event()

    def to_dict(self) -> dict[str, Any]:
        """For JSON: where it stands, and what came of it."""
        last = next((event for event in reversed(self.events) if event["event"] == "progress"), None)
        progress = None if last is None else {"step": last["step"], "done": last["done"]}
        told = {"id": self.id, "action": self.action, "state": self.state, "progress": progress}
        return told | {"partial": self.partial, "result": self.result, "error": self.error}

    @property
    def known(self) -> dict[str, Any] | None:
        """What came of it, or what is known already."""
        return self.partial if self.result is None else self.result

    async def follow(self, after: int) -> AsyncIterator[dict[str, Any]]:
        """The events after a number, those to come included, until the run has ended."""
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
    """All runs of a server; at most ``most`` of them work at a time."""

    most: int = 2
    seconds: float = 3600.0
    memory: int | None = None
    runs: dict[str, Run] = field(default_factory=dict)
    _spare: Any = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _room: asyncio.Semaphore | None = None

    async def warm(self) -> None:
        """Have a process ready."""
        if self._spare is None or self._spare.returncode is not None:
            self._spare = await _process()

    def start(
        self,
        project: str,
        job: dict[str, Any],
        done: Callable[[Run], None],
        partly: Callable[[Run], None] = lambda _: None,
    ) -> Run:
        """Begin a piece of work; ``done`` is called when it has ended, however it did, ``partly`` when more is told."""
        waiting = [run for run in self.runs.values() if run.state == "running"]
        if len(waiting) >= MOST_WAITING:
            raise InputError("Too many runs are waiting; cancel some, or wait for them.")
        for old in [run for run in self.runs.values() if run.state != "running"][:-MOST_KEPT]:
            del self.runs[old.id]
        run = Run(secrets.token_urlsafe(12), project, str(job["action"]))
        self.runs[run.id] = run
        task = asyncio.get_running_loop().create_task(self._carry_out(run, job, done, partly))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return run

    async def _carry_out(
        self, run: Run, job: dict[str, Any], done: Callable[[Run], None], partly: Callable[[Run], None]
    ) -> None:
        if self._room is None:
            self._room = asyncio.Semaphore(self.most)
        run.tell("progress", step="waiting", done=None)
        async with self._room:
            if run.state == "running":
                try:
                    await asyncio.wait_for(self._work(run, job, partly), self.seconds)
                except TimeoutError:
                    run.error = {"kind": "Slow", "text": f"It took more than {self.seconds:g} seconds and was ended."}
                finally:
                    await _end(run.process)
        if run.state == "running":
            run.state = "done" if run.result is not None else "failed"
            if run.result is None and run.error is None:
                run.error = {"kind": "Ended", "text": "Its process ended without an answer: for want of memory, say."}
        done(run)
        run.tell("end", state=run.state, error=run.error)

    async def _work(self, run: Run, job: dict[str, Any], partly: Callable[[Run], None]) -> None:
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
                run.tell("progress", step=event["step"], done=event["done"])
            elif event["event"] == "result":
                run.result = event["data"]
            elif event["event"] == "partial":
                run.partial = event["data"]
                partly(run)
                lanes = event["data"].get("lanes")
                run.tell("partial", **({} if lanes is None else {"lanes": lanes}), ended=_ended(event["data"]))
            else:
                run.error = {"kind": event["kind"], "text": event["text"]}

    async def cancel(self, run: Run) -> None:
        """End a run; what it had begun to write is gone when this returns, and trials that had ended are kept."""
        if run.state == "running" and run.action == "explore" and _ended(run.partial or {}):
            run.state = "done"
            run.result = {**(run.partial or {}), "stopped": True}
            await _end(run.process)
        elif run.state == "running":
            run.state = "cancelled"
            run.error = {"kind": "Cancelled", "text": "Cancelled; nothing was written."}
            await _end(run.process)

    async def close(self) -> None:
        """End everything."""
        for run in list(self.runs.values()):
            await self.cancel(run)
        spare, self._spare = self._spare, None
        await _end(spare)
        for task in list(self._tasks):
            task.cancel()


def _ended(partial: dict[str, Any]) -> int:
    """How many trials have ended."""
    return len(partial.get("trials", ()))


async def _process() -> Any:
    hidden = {key: value for key, value in os.environ.items() if key != "SHOAL_TOKEN"}
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "shoal.web.worker", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL, limit=LONGEST_EVENT, start_new_session=True, env=hidden,
    )  # fmt: skip


async def _end(process: Any) -> None:
    """Ask a process to end, and make it where it does not; its own children go with it."""
    if process is None or process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), GRACE)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
