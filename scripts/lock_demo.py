#!/usr/bin/env python3
"""Write requirements/demo.txt: the locked dependencies of shoal itself.

Extras and the dependencies of tests are left out.

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


def normalize_name(name: str) -> str:
    """Normalize the name of a package for comparison."""
    return re.sub(r"[-_.]+", "-", name).lower()


def list_dependencies() -> set[str]:
    """List the project's dependencies without extras, transitively."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    waiting = [Requirement(one) for one in project["dependencies"]]
    found: set[str] = set()
    while waiting:
        one = waiting.pop()
        name = normalize_name(one.name)
        if name in found or (one.marker is not None and not one.marker.evaluate({"extra": ""})):
            continue
        found.add(name)
        try:
            waiting += [Requirement(more) for more in requires(one.name) or ()]
        except PackageNotFoundError:
            raise SystemExit(f"{one.name} is not installed here; run this where make setup was run") from None
    return found


def entries(text: str) -> list[str]:
    """Split a lock file into entries, each with its hashes."""
    return [entry.rstrip("\n") for entry in re.split(r"\n(?=\S)", text.strip("\n"))]


if __name__ == "__main__":
    wanted = list_dependencies()
    locked = [one for one in entries(LOCK.read_text(encoding="utf-8")) if normalize_name(one.split("==")[0]) in wanted]
    DEMO.write_text("\n".join(locked) + "\n", encoding="utf-8")
