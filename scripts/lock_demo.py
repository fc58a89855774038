#!/usr/bin/env python3
"""Writes requirements/demo.txt: of the lock, what shoal itself needs to run, and nothing of extras or tests.

.venv/bin/python scripts/lock_demo.py
"""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "requirements" / "lock.txt"
DEMO = ROOT / "requirements" / "demo.txt"


def plain(name: str) -> str:
    """A package's name as it is compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


def needed() -> set[str]:
    """The project's own dependencies, theirs, and so on, without extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    waiting = [Requirement(one) for one in project["dependencies"]]
    found: set[str] = set()
    while waiting:
        one = waiting.pop()
        name = plain(one.name)
        if name in found or (one.marker is not None and not one.marker.evaluate({"extra": ""})):
            continue
        found.add(name)
        try:
            waiting += [Requirement(more) for more in requires(one.name) or ()]
        except PackageNotFoundError:
            raise SystemExit(f"{one.name} is not installed here; run this where make setup was run") from None
    return found


def entries(text: str) -> list[str]:
    """The entries of a lock, each with its hashes."""
    return [entry.rstrip("\n") for entry in re.split(r"\n(?=\S)", text.strip("\n"))]


if __name__ == "__main__":
    wanted = needed()
    kept = [one for one in entries(LOCK.read_text(encoding="utf-8")) if plain(one.split("==")[0]) in wanted]
    DEMO.write_text("\n".join(kept) + "\n", encoding="utf-8")
