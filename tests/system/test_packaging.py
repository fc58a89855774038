"""Build, install and use the wheel and the source distribution.

They are installed away from the source.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import shoal
from shoal.kernels import cache

PROJECT = Path(__file__).parents[2]
USE = """
import sys
import shoal
from shoal.datasets.patients import FOLDER
from shoal.plan.json_schema import FILE

assert shoal.__file__.startswith(sys.argv[1])
assert FILE.is_file()
drafted = shoal.draft(FOLDER / "patients.csv", k=4, rehearse=False)
plan = drafted.plan.with_(method="full-domain", output=sys.argv[2])
print(shoal.release(plan).figures["smallest_group"])
"""
COMPILED = """
from shoal.datasets.census import census_table
import shoal
shoal.anonymize(census_table(50), quasi_identifiers=["age", "sex"], k=2, method="full-domain", seed=1)
"""


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout


def pack_store(project):
    """Pack the compiled code of full-domain searches into another copy.

    It goes into the folder of the copy's kernels; returned are the names of its files.
    """
    run(sys.executable, "-W", "ignore", "-c", COMPILED)
    store = cache._store()
    archive_path = project / "src" / "shoal" / "kernels" / cache.packed_path(store).name
    cache.pack(store, archive_path, preset=0)
    with tarfile.open(archive_path) as archive:
        return {Path(name).name for name in archive.getnames() if not name.endswith(".ran")}


def test_build_install_and_use(tmp_path):
    """Build the wheel from the source distribution, so both are complete."""
    copy = tmp_path / "copy"
    left = shutil.ignore_patterns(".git", ".venv*", "node_modules", ".*_cache", "__pycache__", ".hypothesis")
    shutil.copytree(PROJECT, copy, ignore=left)
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path), cwd=copy)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as source:
        source.extractall(tmp_path / "source", filter="data")
    (unpacked,) = (tmp_path / "source").iterdir()
    packed_path = pack_store(unpacked)
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path), cwd=unpacked)
    (wheel,) = tmp_path.glob("*.whl")
    assert shoal.__version__ in wheel.name
    there = tmp_path / "installed"
    options = ["--quiet", "--no-deps", "--no-index", "--target", str(there), str(wheel)]
    run(sys.executable, "-m", "pip", "--disable-pip-version-check", "install", *options)
    alone = {"PYTHONPATH": str(there), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    run(sys.executable, "-W", "ignore", "-c", COMPILED, cwd=tmp_path, env=alone)
    (store,) = (there / "shoal" / "kernels" / "__pycache__").glob("numba-*")
    assert packed_path
    assert {file.name for file in store.rglob("*.nb[ic]")} == packed_path  # nothing was compiled
    used = run(sys.executable, "-c", USE, str(there), str(tmp_path / "released.csv"), cwd=tmp_path, env=alone)
    assert int(used) >= 4
    assert (there / "shoal" / "py.typed").is_file()


def test_citation_version():
    cited = (PROJECT / "CITATION.cff").read_text()
    assert re.search(r"^version: (.*)$", cited, re.M)[1] == shoal.__version__
