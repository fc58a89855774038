"""Texts of a column with a large number of distinct values, in Arrow.

A Python string takes about sixty bytes, of which eight may be its digits. Methods that work on numbers never read the
texts of their columns, so the strings are materialized on first use only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar, overload

if TYPE_CHECKING:
    import pyarrow as pa


MIN_ARROW_VALUES = 100_000
"""From this number of values on, texts stay in Arrow."""
MAX_SINGLE_READS = 1000
"""The number of single reads after which all texts are materialized and cached."""
CHUNK = 4096

Text = TypeVar("Text", bound=str | None, covariant=True)


class Texts(Sequence[Text]):
    """A sequence of texts over an Arrow array, materialized on demand.

    It behaves like a tuple of the texts.

    >>> import pyarrow as pa
    >>> texts = Texts(pa.array(["1", "2", None]))
    >>> len(texts), texts[0], texts[-1], texts[1:], texts == ("1", "2", None)
    (3, '1', None, ('2', None), True)
    """

    def __init__(self, values: pa.Array) -> None:
        self.values = values
        self._single_reads = 0
        self._materialized: tuple[Text, ...] | None = None

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, index: int) -> Text: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Text, ...]: ...
    def __getitem__(self, index: int | slice) -> Text | tuple[Text, ...]:
        self._single_reads += 1
        if self._materialized is None and (isinstance(index, slice) or self._single_reads > MAX_SINGLE_READS):
            self._materialized = tuple(self.values.to_pylist())
        if self._materialized is not None:
            return self._materialized[index]
        index = int(index)  # type: ignore[arg-type] # not a slice from here on
        return self.values[index].as_py()  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[Text]:
        if self._materialized is not None:
            yield from self._materialized
            return
        for low in range(0, len(self.values), CHUNK):
            yield from self.values.slice(low, CHUNK).to_pylist()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"<{len(self)} texts>"


def texts_from_arrow(values: pa.Array) -> Sequence[str]:
    """Return the texts of an Arrow array without missing values."""
    return Texts(values) if len(values) >= MIN_ARROW_VALUES else tuple(values.to_pylist())


def with_missing(texts: Sequence[str], missing: bool) -> Sequence[str | None]:
    """Append None for the missing value, if there is one."""
    import pyarrow as pa

    if isinstance(texts, Texts):
        return Texts(pa.concat_arrays([texts.values, pa.nulls(1, texts.values.type)])) if missing else texts
    return (*texts, None) if missing else tuple(texts)
