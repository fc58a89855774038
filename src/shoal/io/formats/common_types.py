"""Common types of columns that are stored in several files.

Parts of one column have equal types, or are widened to a type that represents every value of each part exactly. All
other parts are refused: a conversion could merge values that the files tell apart, or tell apart equal ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

import pyarrow as pa

_SIGNED = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_FLOATS = (pa.float16(), pa.float32(), pa.float64())
_SIGNIFICANT_BITS = {pa.float16(): 11, pa.float32(): 24, pa.float64(): 53}
_UNITS = ("s", "ms", "us", "ns")
_MAX_DIGITS = 38
"""Digits of the longest decimal numbers that every engine has."""


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return a type without properties that change no value.

    These are dictionaries, the width of offsets, and the name of a time zone: an instant is the same in every zone.
    """
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return pa.timestamp(kind.unit, "UTC")
    return kind


def common_type(kinds: Iterable[pa.DataType]) -> pa.DataType | None:
    """Return the narrowest type that represents all values of some types.

    None if there is no such type.

    >>> common_type([pa.int32(), pa.int64()]), common_type([pa.int64(), pa.float64()])
    (DataType(int64), None)
    """
    return reduce(_wider, map(plain_type, kinds), pa.null())


def _wider(one: pa.DataType | None, other: pa.DataType | None) -> pa.DataType | None:
    if one is None or other is None:
        return None
    if one == other:
        return one
    if pa.types.is_null(one) or pa.types.is_null(other):
        return other if pa.types.is_null(one) else one
    if pa.types.is_integer(one) and pa.types.is_integer(other):
        return _wider_integer(one, other)
    if pa.types.is_floating(one) and pa.types.is_floating(other):
        return max(one, other, key=_FLOATS.index)
    for whole, real in ((one, other), (other, one)):
        if pa.types.is_integer(whole) and pa.types.is_floating(real):
            return real if _magnitude_bits(whole) <= _SIGNIFICANT_BITS[real] else None
    if pa.types.is_decimal(one) and pa.types.is_decimal(other):
        scale = max(one.scale, other.scale)
        digits = max(one.precision - one.scale, other.precision - other.scale) + scale
        return pa.decimal128(digits, scale) if digits <= _MAX_DIGITS else None
    if pa.types.is_timestamp(one) and pa.types.is_timestamp(other) and one.tz == other.tz:
        return pa.timestamp(max(one.unit, other.unit, key=_UNITS.index), one.tz)
    if pa.types.is_time(one) and pa.types.is_time(other):
        return max(one, other, key=lambda kind: _UNITS.index(kind.unit))
    return None


def _wider_integer(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    signed = [kind for kind in (one, other) if pa.types.is_signed_integer(kind)]
    if len(signed) != 1:
        return max(one, other, key=lambda kind: kind.bit_width)
    bits = max(_magnitude_bits(one), _magnitude_bits(other))
    return next((kind for kind in _SIGNED if _magnitude_bits(kind) >= bits), None)


def _magnitude_bits(kind: pa.DataType) -> int:
    """Return how many bits the absolute value of an integer may have."""
    return int(kind.bit_width) - (1 if pa.types.is_signed_integer(kind) else 0)
