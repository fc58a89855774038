"""Readers of other formats in a process with limited memory and time.

Native libraries decode such files. A small file can make one request hundreds of gigabytes (two cells at the ends of a
sheet), never end (a view that counts for ever) or crash. In a separate process that ends the reader, not the run. The
table comes back as a file of Arrow batches in the engine's private folder, which is mapped into memory and unlinked at
once. The error message of a library is not passed on: it may quote data.
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

MIN_ADDRESS_SPACE_BYTES = 2 << 30
"""Address space that a reader gets at least: libraries reserve more than they use."""

MIN_CPU_SECONDS = 300
BYTES_PER_EXTRA_SECOND = 1 << 16
"""Bytes of a file for one more second than MIN_CPU_SECONDS of CPU; readers process a hundred times as many."""


def load_in_sandbox(
    form: Format, path: Path, options: Options, folder: Path, memory: int | None = None
) -> tuple[Any, Mapping[str, ColumnLabels]]:
    """Load the table of a file as an Arrow table, and its column labels.

    Parameters
    ----------
    folder
        Folder for the batches, which only the user can access.
    memory
        Bytes that the reader may use; three quarters of the machine's memory by default.
    """
    require_packages(form)
    passed = folder / f"apart-{len(list(folder.iterdir()))}.arrow"
    request = {
        "module": form.module,
        "title": form.title,
        "path": str(path.absolute()),
        "out": str(passed),
        "seconds": MIN_CPU_SECONDS + path.stat().st_size // BYTES_PER_EXTRA_SECOND,
        "memory": max(MIN_ADDRESS_SPACE_BYTES, _default_memory() if memory is None else memory + (1 << 30)),
        "options": {**asdict(replace(options, schema=None)), "schema": _serialize_schema(options.schema)},
    }
    # the request goes through a pipe: names stay out of the process list
    done = subprocess.run(
        [sys.executable, "-P", "-m", "shoal.io.formats.sandbox"],
        input=json.dumps(request).encode(),
        stdout=subprocess.PIPE,
        stderr=None if os.environ.get("SHOAL_DEBUG") else subprocess.DEVNULL,
        check=False,
    )
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        passed.unlink(missing_ok=True)
        raise TableError("files.reader-broke-down", file=path.name, format=form.title) from None
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


def _default_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 3 // 4


def _serialize_schema(schema: Any) -> str | None:
    return None if schema is None else base64.b64encode(schema.serialize().to_pybytes()).decode()


def main() -> None:
    """Serve one request: JSON in, an Arrow file and JSON out."""
    import resource

    request = json.load(sys.stdin)
    for kind, limit in ((resource.RLIMIT_AS, request["memory"]), (resource.RLIMIT_CPU, request["seconds"])):
        given = resource.getrlimit(kind)[1]  # an existing limit cannot be raised
        limit = limit if given == resource.RLIM_INFINITY else min(limit, given)
        resource.setrlimit(kind, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core file would contain data
    import pyarrow as pa

    path, given_options = Path(request["path"]), request["options"]
    schema = given_options["schema"] and pa.ipc.read_schema(pa.py_buffer(base64.b64decode(given_options["schema"])))
    try:
        names = {key: tuple(given_options[key]) for key in ("decoded", "with_missing_kinds")}
        options = Options(**{**given_options, "schema": schema, **names})
        table, labels = importlib.import_module(request["module"]).load(path, options)
        batches = table.to_reader(1 << 17) if isinstance(table, pa.Table) else table
        with pa.OSFile(request["out"], "wb") as file, pa.ipc.new_file(file, batches.schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
    except ShoalError as error:
        answer: dict[str, Any] = {"error": str(error)}
    except Exception:
        if os.environ.get("SHOAL_DEBUG"):
            raise
        answer = {
            "error": f"File {path.name!r} cannot be read as {request['title']}; it is damaged, cut off or of another "
            f"kind. Fetch it anew, or set its format."
        }
    else:
        answer = {"labels": {name: [found.label, found.values] for name, found in labels.items()}}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
