"""Compiled code that all methods share, the rule set, and where compiled code is kept; kernels are with their methods.

Compiled code is kept on disk, so that only the first run after an installation pays for it. Numba renews what it kept
of a file when that file changes, but not when a file changes that it calls; stale code can then read memory in a wrong
layout. So the store's name holds a hash of all kernels: a change of any of them starts a new store.

Several processes may compile into one store at once, and files may be changed under a process that runs. Numba numbers
the files of its code, and two processes that add to one index at once can give one number to two: then code for other
arguments is loaded. So what is kept here has names of its own (:func:`_keep`), and nothing is kept once the kernels are
not those any more that the store is named after.

A wheel brings its store along, packed (:func:`pack`), for one version of Python and Numba and one kind of processor; it
is laid out where the store belongs when kernels are first asked for. Where none fits, code is compiled when needed.
All code is made for one common kind of processor, where this machine is one of its kind, so that a packed store serves
many machines, and the same plan rounds alike on all of them. That is Numba's setting for the whole process: where
somebody else has a function compiled by Numba already, it is settled, and code is compiled for this machine.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import platform
import shutil
import sys
import tarfile
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any, Literal

from shoal.runtime.lean_imports import load_compiler, load_numba
from shoal.runtime.search_clock import compiling_begins, compiling_ends

_FOLDER = Path(__file__).parent
_DAY = 24 * 60 * 60
_COMMON = {
    "x86_64": ("x86-64-v3", ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")),
}
"""By machine: a kind of processor that most have been of for ten years, and what it must be able to do."""


def _kernels() -> list[Path]:
    homes = ("kernels/*.py", "bounds/kernels/*.py", "methods/*/kernels/*.py")
    found = [file for home in homes for file in _FOLDER.parent.glob(home)]
    return sorted(file for file in found if file.name != "__init__.py")


def _store() -> Path:
    """The directory for compiled code of exactly these kernels."""
    digest = hashlib.sha256(b"numbered apart")  # a store of before is no good beside this one
    for file in _kernels():
        digest.update(file.relative_to(_FOLDER.parent).as_posix().encode() + file.read_bytes())
    home = _FOLDER / "__pycache__"
    with contextlib.suppress(OSError):
        home.mkdir(exist_ok=True)
    if not os.access(home, os.W_OK):
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shoal"
    return home / f"numba-{digest.hexdigest()[:16]}"


def _use(store: Path) -> None:
    """Let Numba keep its code there, and remove stores that no one has used for a day."""
    load_numba()
    import numba

    _number_apart()
    if not _is_settled():
        _suit_many(numba.config)
    with contextlib.suppress(OSError):
        if not store.is_dir():
            for other in store.parent.glob("numba-*"):
                if time.time() - other.stat().st_mtime > _DAY:
                    shutil.rmtree(other, ignore_errors=True)
            if packed(store).is_file():
                _unpack(packed(store), store)
            store.mkdir(parents=True, exist_ok=True)
        numba.config.CACHE_DIR = str(store)
        _keep_in(store)
        _load_from(store)


def _is_settled() -> bool:
    """Whether Numba has looked up the processor that it makes code for, as it does once, for its first function."""
    from numba.core.registry import cpu_target

    return "_toplevel_target_context" in vars(cpu_target)


def _number_apart() -> None:
    """Have what this process compiles bear numbers that no other process gives.

    Numba numbers functions from 1 on in each process, and a function that is made inside another, such as the parts of
    a sort, is told from its like by that number alone. Kept code of two processes could then have two different
    functions under one name, and where both are loaded the first would serve for both: a wrong result, and no error.
    """
    from numba.core.bytecode import FunctionIdentity

    FunctionIdentity._unique_ids = itertools.count(int.from_bytes(os.urandom(7)))


def _keep_in(store: Path) -> None:
    """Have code for this store kept by :func:`_keep`; what Numba keeps elsewhere is its own affair."""
    from numba.core.caching import IndexDataCacheFile

    usual = IndexDataCacheFile.save

    def save(self: Any, key: object, data: object) -> None:
        if store not in Path(self._cache_path).parents:
            usual(self, key, data)
        elif _store() == store:
            _keep(self, key, data)

    IndexDataCacheFile.save = save


def _load_from(store: Path) -> None:
    """Have code of this store loaded without the tables by which Numba compiles: they take longer than all else.

    It fills them itself where something must be compiled after all.
    """
    from numba.core.caching import Cache
    from numba.core.runtime import rtsys

    usual = Cache.load_overload

    def load(self: Any, signature: object, target: Any) -> Any:
        if store not in Path(self.cache_path).parents:
            return usual(self, signature, target)
        rtsys.initialize(target)
        with self._guard_against_spurious_io_errors():
            found = self._load_overload(signature, target)
        if found is None:
            load_compiler()
        return found

    Cache.load_overload = load


def _keep(kept: Any, key: object, data: object) -> None:
    """Keep compiled code in a file that is written once and only then listed: whatever else is kept at the same time,
    an index never leads to other code. Of two lists that are written at once one may be lost, which costs time alone.
    """
    name = kept._index_name.removesuffix("nbi") + uuid.uuid4().hex[:16] + ".nbc"
    kept._save_data(name, data)
    kept._save_index({**kept._load_index(), key: name})


def _suit_many(config: object) -> None:
    """Have code made for the common kind of processor where this one is of it, and nobody asked for another."""
    import llvmlite.binding as llvm

    name, needed = _COMMON.get(platform.machine(), ("", ()))
    if name and not os.environ.get("NUMBA_CPU_NAME"):
        able = llvm.get_host_cpu_features()
        if all(able.get(feature) for feature in needed):
            config.CPU_NAME, config.CPU_FEATURES = name, ""  # type: ignore[attr-defined]


def packed(store: Path) -> Path:
    """Where a packed store would be that fits these kernels, this Python, this Numba and this machine."""
    import numba

    tag = f"{sys.implementation.cache_tag}-{numba.__version__}-{sys.platform}-{platform.machine()}"
    return _FOLDER / f"{store.name}-{tag}.tar.xz"


def _folders() -> dict[str, str]:
    """Folders of compiled code: by what they are called in a pack, what Numba calls them, a hash of their place."""
    from numba.core.caching import UserProvidedCacheLocator

    return {
        file.parent.relative_to(_FOLDER.parent).as_posix().replace("/", "."): (
            UserProvidedCacheLocator.get_suitable_cache_subpath(str(file))
        )
        for file in _kernels()
    }


def pack(store: Path, place: Path, preset: Literal[0, 6] = 6) -> None:
    """Write a store as one file that can be laid out for kernels at any other place."""
    with tarfile.open(place, "w:xz", preset=preset) as archive:
        for name, folder in sorted(_folders().items()):
            for file in sorted((store / folder).glob("*.nb[ic]")):
                archive.add(file, f"{name}/{file.name}", recursive=False)
        for file in sorted(store.glob("*.ran")):
            archive.add(file, file.name, recursive=False)


def _unpack(archive: Path, store: Path) -> None:
    """Lay out a packed store; whole or not at all, also where two processes do it at once."""
    store.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=store.parent) as made:
        with tarfile.open(archive) as opened:
            opened.extractall(made, filter="data")
        for name, folder in _folders().items():
            if (Path(made) / name).is_dir():
                (Path(made) / name).rename(Path(made) / folder)
        with contextlib.suppress(OSError):  # another process was faster
            Path(made).rename(store)
            Path(made).mkdir()  # what the context removes


def _stop_the_clock() -> None:
    """Have limits of time not count what is spent on compiling."""
    from numba.core.event import Event, Listener, register

    class Compiling(Listener):  # type: ignore[misc]
        def on_start(self, event: Event) -> None:
            compiling_begins()

        def on_end(self, event: Event) -> None:
            compiling_ends()

    register("numba:compile", Compiling())


if "NUMBA_CACHE_DIR" not in os.environ:
    _use(_store())
_stop_the_clock()
