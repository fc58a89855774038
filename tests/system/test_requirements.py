"""Locked requirements of the project, the demo and the documentation."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
LOCK = (PROJECT / "requirements" / "lock.txt").read_text()
LOCKS = {name: (PROJECT / "requirements" / name).read_text() for name in ("lock.txt", "demo.txt", "site-lock.txt")}


def name(requirement):
    return re.match(r"[A-Za-z0-9._-]+", requirement)[0].lower().replace("_", "-").replace(".", "-")


@pytest.mark.parametrize("lock", LOCKS)
def test_every_locked_package_has_one_version_and_hashes(lock):
    packages = LOCKS[lock].replace("\\\n", " ").splitlines()
    assert len(packages) > 15
    for line in packages:
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[0-9A-Za-z.+!]+( ; [^#]*?)?( +--hash=sha256:[0-9a-f]{64})+ *", line), (
            line
        )


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_names_no_package_index(lock):
    assert "://" not in LOCKS[lock]
    assert "index" not in LOCKS[lock]


def test_all_requirements_are_locked():
    locked = {name(line) for line in LOCK.splitlines() if not line.startswith(" ")}
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    extras = [one for group in project["optional-dependencies"].values() for one in group]
    wanted = (PROJECT / "requirements" / "dev.txt").read_text().splitlines()
    needed = [*project["dependencies"], *extras, *(line for line in wanted if line and not line.startswith("#"))]
    assert {name(one) for one in needed} <= locked


def test_setup_requires_hashes():
    assert '--require-hashes --requirement "$lock"' in (PROJECT / "scripts" / "setup").read_text()


def entries(file):
    text = (PROJECT / "requirements" / file).read_text()
    return {name(entry): entry.strip() for entry in re.split(r"\n(?=\S)", text)}


def test_demo_lock_is_a_subset_of_the_lock():
    """The demo needs only shoal's dependencies, locked to the same files."""
    whole, demo = entries("lock.txt"), entries("demo.txt")
    assert all(whole[one] == entry for one, entry in demo.items())
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    assert {name(one) for one in project["dependencies"]} <= set(demo)
    extras = {name(one) for group in project["optional-dependencies"].values() for one in group}
    assert not (extras | {"pytest", "mypy", "ruff", "hypothesis"}) & set(demo)


def test_site_lock_contains_the_demo_lock():
    """The site needs the locked shoal and the requirements of ``site.txt``."""
    whole, demo, site = entries("lock.txt"), entries("demo.txt"), entries("site-lock.txt")
    assert demo.items() <= site.items()
    assert all(site[one] == whole[one] for one in whole.keys() & site.keys())
    wanted = (PROJECT / "requirements" / "site.txt").read_text().splitlines()
    assert {name(line) for line in wanted if not line.startswith("#")} <= site.keys()
