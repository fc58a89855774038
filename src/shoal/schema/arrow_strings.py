"""The texts of a column that has very many different values: held once, as Arrow has them.

A Python text takes some sixty bytes, of which eight are its digits. Methods that work on numbers never look at the
texts of their columns, so these are made only as far as somebody looks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar, overload

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Texts", "texts_of", "with_missing"]

MANY = 100_000
"""So many values are held by Arrow alone."""
FEW_LOOKS = 1000
"""So many single texts are made as they are asked for; then all of them at once, and kept."""
CHUNK = 4096

Text = TypeVar("Text", bound=str | None, covariant=True)


class Texts(Sequence[Text]):
    """A sequence of texts like a tuple of them, made from an Arrow array when looked at.

    >>> import pyarrow as pa
    >>> texts = Texts(pa.array(["1", "2", None]))
    >>> len(texts), texts[0], texts[-1], texts[1:], texts == ("1", "2", None)
    (3, '1', None, ('2', None), True)
    """

    def __init__(self, values: pa.Array) -> None:
        self.values = values
        self._looks = 0
        self._made: tuple[Text, ...] | None = None

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, place: int) -> Text: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Text, ...]: ...
    def __getitem__(self, place: int | slice) -> Text | tuple[Text, ...]:
        self._looks += 1
        if self._made is None and (isinstance(place, slice) or self._looks > FEW_LOOKS):
            self._made = tuple(self.values.to_pylist())
        if self._made is not None:
            return self._made[place]
        place = int(place)  # type: ignore[arg-type] # no slice any more
        return self.values[place].as_py()  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[Text]:
        if self._made is not None:
            yield from self._made
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


def texts_of(values: pa.Array) -> Sequence[str]:
    """The texts of an Arrow array without gaps."""
    return Texts(values) if len(values) >= MANY else tuple(values.to_pylist())


def with_missing(texts: Sequence[str], missing: bool) -> Sequence[str | None]:
    """The same, with None for missing as the last where there is one."""
    import pyarrow as pa

    if isinstance(texts, Texts):
        return Texts(pa.concat_arrays([texts.values, pa.nulls(1, texts.values.type)])) if missing else texts
    return (*texts, None) if missing else tuple(texts)
