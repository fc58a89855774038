"""Numeric values of columns, and group means in the column's type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.errors import PlanError
from shoal.runtime.validation import MAX_INTEGER
from shoal.table.frequency_set import Dictionary, plain_numbers

if TYPE_CHECKING:
    import pyarrow as pa

LARGEST_SQUARED = 1e150  # beyond it the sum of squares is infinite
MIN_POSITIONAL, MAX_POSITIONAL = 1e-4, 1e16
"""Sizes of the numbers that Python writes without an exponent."""
YEAR_1, YEAR_9999 = -62_135_596_800, 253_402_300_799  # the first and the last second of the calendar


def dictionary_numbers(dictionary: Dictionary) -> npt.NDArray[np.float64] | None:
    """Return a column's values as numbers by code; None if not numeric.

    Dates are days; NaN is missing.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    values = dictionary.values
    kind = values.type
    if pa.types.is_boolean(kind):
        return None
    if pa.types.is_date(kind):
        days = pc.cast(pc.cast(values, pa.date32()), pa.int32())
        numbers = np.asarray(days.to_numpy(zero_copy_only=False), np.float64)
    elif pa.types.is_timestamp(kind):
        numbers = np.asarray(pc.cast(values, pa.int64()).to_numpy(zero_copy_only=False), np.float64)
        second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
        if len(numbers) and not (YEAR_1 * second <= numbers.min() and numbers.max() <= YEAR_9999 * second):
            raise PlanError("columns.times-out-of-range", column=dictionary.name)
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        try:
            numbers = np.asarray(pc.cast(values, pa.float64()).to_numpy(zero_copy_only=False), np.float64)
        except pa.ArrowInvalid:  # Arrow quotes the value
            raise PlanError("columns.whole-numbers-too-large", column=dictionary.name) from None
    else:
        try:
            plain = plain_numbers(values)
            numbers = np.asarray([float(text) for text in dictionary.text], np.float64) if plain is None else plain
        except ValueError:
            return None
    if not len(numbers):
        return None
    if pa.types.is_decimal(kind) and np.abs(numbers).max() > MAX_INTEGER:
        raise PlanError("columns.numbers-too-large", column=dictionary.name)
    if np.isfinite(numbers).all() and np.abs(numbers).max() > LARGEST_SQUARED:
        raise PlanError("columns.squares-too-large", column=dictionary.name)
    if not np.isfinite(numbers).all():
        raise PlanError("columns.infinite-values", column=dictionary.name)
    return np.r_[numbers, np.nan] if dictionary.missing else numbers


def group_means(
    values: npt.NDArray[np.float64],
    count: npt.NDArray[np.int64],
    group: npt.NDArray[np.int64],
    groups: int,
    offset: float,
) -> npt.NDArray[np.float64]:
    """Return the mean of each group's numbers.

    It is missing (NaN) if one of them is missing, so that a mean never reveals who has a value. The group ``group[i]``
    has ``count[i]`` times the number ``values[i]``. Sums of large numbers lose digits, so distances from ``offset`` are
    summed.
    """
    size = np.bincount(group, weights=count, minlength=groups)
    return np.asarray(offset + np.bincount(group, weights=(values - offset) * count, minlength=groups) / size)


def as_column_type(dictionary: Dictionary, centre: npt.NDArray[np.float64]) -> tuple[pa.Array, npt.NDArray[np.float64]]:
    """Convert means to the column's type: integers, dates and text remain so."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = dictionary.values.type
    missing = np.isnan(centre)
    whole = np.where(missing, 0, np.rint(centre)).astype(np.int64)
    if pa.types.is_integer(kind):
        return pc.cast(pa.array(whole, mask=missing), kind), np.where(missing, np.nan, whole)
    if pa.types.is_date(kind):
        days = pc.cast(pa.array(whole.astype(np.int32), mask=missing), pa.date32())
        return pc.cast(days, kind), np.where(missing, np.nan, whole)
    if pa.types.is_timestamp(kind):
        return pc.cast(pa.array(whole, mask=missing), kind), np.where(missing, np.nan, whole)
    if pa.types.is_floating(kind):
        return pc.cast(pa.array(centre, mask=missing), kind), centre
    if pa.types.is_decimal(kind):
        return pa.array(centre, mask=missing), centre
    integral = all(_is_whole(text) for text in dictionary.text)
    published = whole if integral else centre
    texts = number_texts(published, missing)
    return texts, np.where(missing, np.nan, published.astype(np.float64))


def number_texts(numbers: npt.NDArray[np.float64] | npt.NDArray[np.int64], missing: npt.NDArray[np.bool_]) -> pa.Array:
    """Write numbers as Python does, the shortest text that reads as the same.

    Both write the shortest digits. Arrow writes no point in whole numbers, and has exponents for other sizes.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pc.cast(pa.array(numbers, mask=missing), pa.string())
    if numbers.dtype.kind != "f":
        return texts
    size, point = np.abs(numbers), pc.and_not(pc.match_substring(texts, "."), pc.match_substring(texts, "e"))
    plain = pc.fill_null(point, True).to_numpy(zero_copy_only=False)
    other = ~missing & ~(plain & (size >= MIN_POSITIONAL) & (size < MAX_POSITIONAL))
    if not other.any():
        return texts
    return pc.replace_with_mask(texts, pa.array(other), pa.array([*map(repr, numbers[other].tolist())], pa.string()))


def _is_whole(text: str) -> bool:
    stripped = text.strip()
    return stripped.lstrip("+-").isdigit()
