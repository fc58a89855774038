"""Readers of foreign formats run in a process of their own, whose memory and time are limited.

Such files are decoded by native libraries, and a small file can make one ask for hundreds of gigabytes (two cells at
the ends of a sheet), never end (a view that counts for ever) or crash. There that ends the reader, not the run. What
was read comes back as a file of Arrow batches in the engine's private folder, mapped into memory and unlinked at once.
What a library says of a failure is not passed on: it may quote data.
"""

from __future__ import annotations

import base64
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from shoal.errors import ShoalError, TableError
from shoal.io.formats import ColumnLabels, Format, Options, require_packages

__all__ = ["load_apart"]

LEAST = 2 << 30
"""Bytes of addresses that a reader gets at least: libraries reserve more than they use."""

SECONDS = 300
BYTES_A_SECOND = 1 << 16
"""Seconds of CPU that a reader gets at least, and bytes of a file for one more; readers do a hundred times as many."""


def load_apart(
    form: Format, path: Path, options: Options, folder: Path, memory: int | None = None
) -> tuple[Any, Mapping[str, ColumnLabels]]:
    """The table in a file, as an Arrow table, and what the file says of its columns.

    Parameters
    ----------
    folder
        Where the batches are passed on; only the user may look into it.
    memory
        Bytes that the reader may hold; three quarters of the machine's by default.
    """
    require_packages(form)
    passed = folder / f"apart-{len(list(folder.iterdir()))}.arrow"
    asked = {
        "module": form.module,
        "title": form.title,
        "path": str(path.absolute()),
        "out": str(passed),
        "seconds": SECONDS + path.stat().st_size // BYTES_A_SECOND,
        "memory": max(LEAST, _most() if memory is None else memory + (1 << 30)),
        "options": {**asdict(replace(options, schema=None)), "schema": _packed(options.schema)},
    }
    # the question goes through a pipe: names stay out of the list of processes
    done = subprocess.run(
        [sys.executable, "-P", "-m", "shoal.io.formats.sandbox"],
        input=json.dumps(asked).encode(),
        stdout=subprocess.PIPE,
        stderr=None if os.environ.get("SHOAL_DEBUG") else subprocess.DEVNULL,
        check=False,
    )
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        passed.unlink(missing_ok=True)
        raise TableError(
            f"File {path.name!r} cannot be read as {form.title}: its reader ran out of memory or time, or broke down. "
            f"It is damaged, or larger than the memory that the plan gives ([engine] memory)."
        ) from None
    if "error" in answer:
        passed.unlink(missing_ok=True)
        raise TableError(answer["error"])
    import pyarrow as pa

    with pa.memory_map(str(passed)) as mapped:
        table = pa.ipc.open_file(mapped).read_all()
    passed.unlink()
    labels = {
        name: ColumnLabels(label, tuple((code, meaning) for code, meaning in values))
        for name, (label, values) in answer["labels"].items()
    }
    return table, labels


def _most() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 3 // 4


def _packed(schema: Any) -> str | None:
    return None if schema is None else base64.b64encode(schema.serialize().to_pybytes()).decode()


def main() -> None:
    """Answer one question: JSON in, an Arrow file and JSON out."""
    import resource

    asked = json.load(sys.stdin)
    for kind, most in ((resource.RLIMIT_AS, asked["memory"]), (resource.RLIMIT_CPU, asked["seconds"])):
        given = resource.getrlimit(kind)[1]  # a limit that is there already cannot be raised
        most = most if given == resource.RLIM_INFINITY else min(most, given)
        resource.setrlimit(kind, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core file would hold the data
    import pyarrow as pa

    path, told = Path(asked["path"]), asked["options"]
    schema = told["schema"] and pa.ipc.read_schema(pa.py_buffer(base64.b64decode(told["schema"])))
    try:
        options = Options(**{**told, "schema": schema, "decoded": tuple(told["decoded"])})
        table, labels = importlib.import_module(asked["module"]).load(path, options)
        batches = table.to_reader(1 << 17) if isinstance(table, pa.Table) else table
        with pa.OSFile(asked["out"], "wb") as file, pa.ipc.new_file(file, batches.schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
    except ShoalError as error:
        answer: dict[str, Any] = {"error": str(error)}
    except Exception:
        if os.environ.get("SHOAL_DEBUG"):
            raise
        answer = {
            "error": f"File {path.name!r} cannot be read as {asked['title']}; it is damaged, cut off or of another "
            f"kind. Fetch it anew, or set its format."
        }
    else:
        answer = {"labels": {name: [found.label, found.values] for name, found in labels.items()}}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
