"""Keyed pseudonyms: HMAC-SHA256 of column and value, cut to 128 bits.

With the key, the pseudonym of a person can be computed again, so that deliveries can be linked; without it, a pseudonym
is indistinguishable from chance, and names cannot be tried out. A plain hash would not do: names can be tried. The name
of the column is part of the message, so that one value has different pseudonyms in two columns.

A pseudonym links the rows of one person, within a release and between releases with one key. So the pseudonym of an
identifier must not repeat; one that does repeat belongs to a person, and the plan states how many rows of a person
others may know.

Krawczyk, Bellare and Canetti, "HMAC", RFC 2104; Article 29 Working Party, Opinion 05/2014, section 4.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import PlanError
from shoal.io.engines.base import Engine, Relation

if TYPE_CHECKING:
    import pyarrow as pa

KEY_VARIABLE = "SHOAL_PSEUDONYM_KEY"
SHORTEST_KEY = 16
LENGTH = 32


def read_key(path: Path | None, release: Path | None = None) -> bytes:
    """Read the key of the pseudonyms.

    Parameters
    ----------
    path
        The file; if None, the one that the environment variable SHOAL_PSEUDONYM_KEY names.
    release
        The path of the release: the key must not be in that folder.
    """
    if path is None:
        named = os.environ.get(KEY_VARIABLE)
        if not named:
            raise PlanError("pseudonyms.no-key", variable=KEY_VARIABLE)
        path = Path(named)
    try:
        mode = path.stat().st_mode
        key = path.read_bytes() if stat.S_ISREG(mode) else b""
    except OSError as error:
        raise PlanError("pseudonyms.key-not-readable", reason=error.strerror) from None
    if os.name == "posix" and mode & 0o077:
        raise PlanError("pseudonyms.key-readable-by-others")
    if len(key) < SHORTEST_KEY:
        raise PlanError("pseudonyms.key-too-short", least=SHORTEST_KEY, found=len(key))
    # a release may be a folder of parts itself
    if release is not None and path.resolve().parent in (release.resolve(), release.resolve().parent):
        raise PlanError("pseudonyms.key-beside-release")
    return key


def pseudonym(key: bytes, column: str, value: str) -> str:
    """Return the pseudonym of a value.

    >>> pseudonym(b"k" * 16, "name", "Rick") == pseudonym(b"k" * 16, "name", "Rick")
    True
    >>> len(pseudonym(b"k" * 16, "name", "Rick"))
    32
    """
    # the length prefix keeps two different pairs from having the same text
    message = f"{len(column)}:{column}{value}".encode()
    return hmac.new(key, message, hashlib.sha256).hexdigest()[:LENGTH]


def name_people(names: Sequence[tuple[str, ...]], column: str, key: bytes) -> pa.Table:
    """Return the pseudonyms (label) of people by their numbers (v).

    A person is named by one or several texts.
    """
    import pyarrow as pa

    texts = [name[0] if len(name) == 1 else "".join(f"{len(part)}:{part}" for part in name) for name in names]
    labels = pa.array([pseudonym(key, column, text) for text in texts], pa.string())
    return pa.table({"v": pa.array(range(len(names)), pa.int64()), "label": labels})


def replace_identifiers(engine: Engine, table: Relation, columns: Sequence[str], key: bytes) -> Relation:
    """Replace the values of some columns by pseudonyms.

    Missing values remain missing. Costs one count of each such column, and memory for its distinct values.
    """
    if not columns:
        return table
    import pyarrow as pa
    import pyarrow.compute as pc

    maps = {}
    for name, position in zip(columns, table.positions(columns), strict=True):
        values = pc.drop_null(engine.frequencies(table, (position,)).column(f"c{position}").combine_chunks())
        texts = pc.cast(values, pa.string()).to_pylist()
        labels = pa.array([pseudonym(key, name, text) for text in texts], pa.string())
        maps[position] = pa.table({"v": values, "label": labels})
    return engine.recode_by_level(table, range(len(table.columns)), maps, {}, None)
