"""The on-disk cache of compiled code.

Compiled code is cached on disk, so that only the first run after an installation compiles. Numba invalidates the cached
code of a file when that file changes, but not when a file changes that it calls; stale code can then read memory in a
wrong layout. So the name of the cache directory ("store") includes a hash of all kernels: any change starts a new
store.

Several processes may compile into one store at once, and files may change while a process runs. Numba numbers the files
of its code, and two processes that update one index at once can give one number to two files: then code for other
arguments is loaded. So files here have unique names (:func:`_save_once`), and nothing is saved once the kernels differ
from those that the store is named after.

A wheel includes a packed store (:func:`pack`), for one version of Python and Numba and one kind of processor; it is
unpacked when kernels are first imported. If none fits, code is compiled when needed. All code is compiled for one
common kind of processor, if this machine supports it, so that a packed store serves many machines, and the same plan
rounds identically on all of them. That is Numba's setting for the whole process: if another package has already
compiled a function with Numba, the setting is fixed, and code is compiled for this machine.
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
from shoal.runtime.search_clock import begin_compilation, end_compilation

_FOLDER = Path(__file__).parent
_DAY = 24 * 60 * 60
_COMMON = {
    "x86_64": ("x86-64-v3", ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")),
}
"""By machine: a kind of processor that has been common for ten years, and the features it requires."""


def _kernels() -> list[Path]:
    homes = ("kernels/*.py", "bounds/kernels/*.py", "methods/*/kernels/*.py")
    found = [file for home in homes for file in _FOLDER.parent.glob(home)]
    return sorted(file for file in found if file.name != "__init__.py")


def _store() -> Path:
    """Return the directory for compiled code of exactly these kernels."""
    digest = hashlib.sha256(b"numbered apart")  # changes the name: stores of earlier versions are incompatible
    for file in _kernels():
        digest.update(file.relative_to(_FOLDER.parent).as_posix().encode() + file.read_bytes())
    home = _FOLDER / "__pycache__"
    with contextlib.suppress(OSError):
        home.mkdir(exist_ok=True)
    if not os.access(home, os.W_OK):
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shoal"
    return home / f"numba-{digest.hexdigest()[:16]}"


def _use_store(store: Path) -> None:
    """Use a store as Numba's cache, and remove stores unused for a day."""
    load_numba()
    import numba

    _make_function_ids_unique()
    if not _is_settled():
        _target_common_cpu(numba.config)
    with contextlib.suppress(OSError):
        if not store.is_dir():
            for other in store.parent.glob("numba-*"):
                if time.time() - other.stat().st_mtime > _DAY:
                    shutil.rmtree(other, ignore_errors=True)
            if packed_path(store).is_file():
                _unpack(packed_path(store), store)
            store.mkdir(parents=True, exist_ok=True)
        numba.config.CACHE_DIR = str(store)
        _install_save(store)
        _install_load(store)


def _is_settled() -> bool:
    """Return whether Numba has already determined its target processor.

    It does so once, for its first function.
    """
    from numba.core.registry import cpu_target

    return "_toplevel_target_context" in vars(cpu_target)


def _make_function_ids_unique() -> None:
    """Give functions compiled in this process globally unique numbers.

    Numba numbers functions from 1 on in each process, and a function that is made inside another, such as the parts of
    a sort, is identified by that number alone. Cached code of two processes could then contain two different functions
    under one name, and if both are loaded the first would serve for both: a wrong result, and no error.
    """
    from numba.core.bytecode import FunctionIdentity

    FunctionIdentity._unique_ids = itertools.count(int.from_bytes(os.urandom(7)))


def _install_save(store: Path) -> None:
    """Make Numba save code of this store with :func:`_save_once`.

    Code that Numba saves elsewhere is not affected.
    """
    from numba.core.caching import IndexDataCacheFile

    original_save = IndexDataCacheFile.save

    def save(self: Any, key: object, data: object) -> None:
        if store not in Path(self._cache_path).parents:
            original_save(self, key, data)
        elif _store() == store:
            _save_once(self, key, data)

    IndexDataCacheFile.save = save


def _install_load(store: Path) -> None:
    """Make Numba load code of this store without its compilation registries.

    Filling them takes longer than all else. Numba fills them itself if something must be compiled after all.
    """
    from numba.core.caching import Cache
    from numba.core.runtime import rtsys

    original_load = Cache.load_overload

    def load(self: Any, signature: object, target: Any) -> Any:
        if store not in Path(self.cache_path).parents:
            return original_load(self, signature, target)
        rtsys.initialize(target)
        with self._guard_against_spurious_io_errors():
            found = self._load_overload(signature, target)
        if found is None:
            load_compiler()
        return found

    Cache.load_overload = load


def _save_once(cache_file: Any, key: object, data: object) -> None:
    """Save compiled code in a new file, and only then add it to the index.

    An index never refers to other code, even if several processes save at once. Of two indexes that are written at once
    one may be lost, which only costs time.
    """
    name = cache_file._index_name.removesuffix("nbi") + uuid.uuid4().hex[:16] + ".nbc"
    cache_file._save_data(name, data)
    cache_file._save_index({**cache_file._load_index(), key: name})


def _target_common_cpu(config: object) -> None:
    """Compile for the common kind of processor if this machine supports it.

    The environment variable NUMBA_CPU_NAME has precedence.
    """
    import llvmlite.binding as llvm

    name, needed = _COMMON.get(platform.machine(), ("", ()))
    if name and not os.environ.get("NUMBA_CPU_NAME"):
        supported = llvm.get_host_cpu_features()
        if all(supported.get(feature) for feature in needed):
            config.CPU_NAME, config.CPU_FEATURES = name, ""  # type: ignore[attr-defined]


def packed_path(store: Path) -> Path:
    """Return the path of a packed store for this installation.

    It fits these kernels, this Python, this Numba and this machine.
    """
    import numba

    tag = f"{sys.implementation.cache_tag}-{numba.__version__}-{sys.platform}-{platform.machine()}"
    return _FOLDER / f"{store.name}-{tag}.tar.xz"


def _folders() -> dict[str, str]:
    """Return Numba's names of the folders of compiled code, by archive name.

    Numba's name is a hash of the folder's path.
    """
    from numba.core.caching import UserProvidedCacheLocator

    return {
        file.parent.relative_to(_FOLDER.parent).as_posix().replace("/", "."): (
            UserProvidedCacheLocator.get_suitable_cache_subpath(str(file))
        )
        for file in _kernels()
    }


def pack(store: Path, target: Path, preset: Literal[0, 6] = 6) -> None:
    """Write a store as one file that can be unpacked at any other path."""
    with tarfile.open(target, "w:xz", preset=preset) as archive:
        for name, folder in sorted(_folders().items()):
            for file in sorted((store / folder).glob("*.nb[ic]")):
                archive.add(file, f"{name}/{file.name}", recursive=False)
        for file in sorted(store.glob("*.ran")):
            archive.add(file, file.name, recursive=False)


def _unpack(archive: Path, store: Path) -> None:
    """Unpack a store atomically, even if two processes do it at once."""
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


def _exclude_compilation_from_time_limits() -> None:
    """Exclude compilation time from time limits."""
    from numba.core.event import Event, Listener, register

    class Compiling(Listener):  # type: ignore[misc]
        def on_start(self, event: Event) -> None:
            begin_compilation()

        def on_end(self, event: Event) -> None:
            end_compilation()

    register("numba:compile", Compiling())


if "NUMBA_CACHE_DIR" not in os.environ:
    _use_store(_store())
_exclude_compilation_from_time_limits()
