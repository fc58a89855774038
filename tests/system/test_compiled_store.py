"""The store of compiled code.

Processes that add to it at the same time never load each other's code.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shoal.kernels import cache

pytest.importorskip("numba")


def cache_at(folder: Path):
    from numba.core.caching import IndexDataCacheFile

    folder.mkdir(parents=True, exist_ok=True)
    return IndexDataCacheFile(str(folder), "module.function-1.py311", (1.0, 100))


def save_at_once(first, second, save) -> None:
    """Save from two processes at the same time.

    The second process reads the index before the first has written it, and writes while the first one does.
    """
    write = first._save_data
    second._load_index = dict

    def interrupted(name, data):
        save(second, "two", "code for two")
        write(name, data)

    first._save_data = interrupted
    save(first, "one", "code for one")


def test_index_never_leads_to_code_of_another_process(tmp_path: Path) -> None:
    save_at_once(cache_at(tmp_path), cache_at(tmp_path), cache._save_once)
    found = cache_at(tmp_path)
    assert found.load("one") in (None, "code for one")
    assert found.load("two") in (None, "code for two")
    assert [found.load(key) for key in ("one", "two")] != [None, None]


def test_code_saved_again_is_the_code_loaded(tmp_path: Path) -> None:
    stored = cache_at(tmp_path)
    for key, code in (("one", "old"), ("two", "other"), ("one", "new")):
        cache._save_once(stored, key, code)
    assert (stored.load("one"), stored.load("two"), stored.load("three")) == ("new", "other", None)


def test_nothing_is_saved_after_the_kernels_changed(tmp_path: Path, monkeypatch) -> None:
    from numba.core.caching import IndexDataCacheFile

    monkeypatch.setattr(IndexDataCacheFile, "save", IndexDataCacheFile.save)  # restored afterwards
    store = tmp_path / "numba-1"
    cache._install_save(store)
    monkeypatch.setattr(cache, "_store", lambda: store)
    cache_at(store / "folder").save("one", "code")
    assert cache_at(store / "folder").load("one") == "code"
    monkeypatch.setattr(cache, "_store", lambda: tmp_path / "numba-2")
    cache_at(store / "folder").save("two", "mixed")
    assert cache_at(store / "folder").load("two") is None
    cache_at(tmp_path / "elsewhere").save("three", "of others")
    assert cache_at(tmp_path / "elsewhere").load("three") == "of others"


def test_processes_number_compiled_functions_differently() -> None:
    """Two processes use different numbers for compiled functions.

    Parts of sorts that two processes had stored under one name were used for each other, and groups were wrong.
    """
    code = (
        "from numba.core.bytecode import FunctionIdentity\nimport shoal.kernels.cache\n"
        "print(next(FunctionIdentity._unique_ids))"
    )
    first, second = (int(subprocess.run([sys.executable, "-c", code], capture_output=True).stdout) for _ in range(2))
    assert abs(first - second) > 10**6


@pytest.mark.parametrize(
    ("before", "common"),
    [("import numba\n", True), ("import numba\n@numba.njit\ndef own(x): return x\n", False)],
    ids=["loaded", "used"],
)
def test_stored_code_is_used_until_numba_compiled_other_code(before: str, common: bool) -> None:
    """Use stored code if Numba was loaded but has not compiled yet.

    Otherwise a user who loads Numba before shoal would wait for minutes, though the wheel contains the code.
    """
    code = "import numba, shoal.kernels.cache; print(numba.config.CPU_NAME, shoal.kernels.cache._COMMON)"
    printed = subprocess.run([sys.executable, "-c", before + code], capture_output=True, text=True, check=True).stdout
    name, _, known = printed.partition(" ")
    usual = subprocess.run([sys.executable, "-c", code.replace("numba, ", "", 1).replace("; ", "; import numba; ", 1)],
                           capture_output=True, text=True, check=True).stdout.partition(" ")[0]  # fmt: skip
    assert name == (usual if common else "None")
    assert name in (*known.split("'"), "None")
