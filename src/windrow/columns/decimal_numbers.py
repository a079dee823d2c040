"""Decimals as integers without a limit: what Arrow does not compute, round or write as we want it.

Arrow adds, multiplies and compares decimals, and refuses a column where a digit would be lost. Here
each value is a Python integer, its number of last places. Halves go away from zero. What a
type has no digits for is NULL.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import Bools, validity
from windrow.columns.decimal_casts import cast_to_decimals
from windrow.columns.decimal_words import decimal_array, decimal_words

Integers: TypeAlias = npt.NDArray[Any]
"""An array of Python integers."""
WORD = 2**64
EXACT = 2**53
"""Up to here every integer is a double."""
EXACT_POWER = 22
"""Up to here every power of ten is a double."""
MANY = Context(prec=100)


def last_places(array: pa.Array) -> Integers:
    """Decimals in units of their last place, or integers as they are; what is NULL is anything."""
    if not pa.types.is_decimal(array.type):
        whole: npt.NDArray[Any] = pc.fill_null(array, 0).to_numpy(zero_copy_only=False)
        return whole.astype(object)
    words = decimal_words(array)
    low, high = (np.ascontiguousarray(words[:, place]) for place in (0, 1))
    integers: Integers = high.astype(object) * WORD + low.view(np.uint64).astype(object)
    return integers


def from_last_places(integers: Integers, valid: Bools | None, kind: pa.DataType) -> pa.Array:
    """Decimals of integers; NULL where they are not ``valid`` or have too many digits."""
    limit = 10**kind.precision
    fits = np.asarray(np.abs(integers) < limit, np.bool_)
    if valid is not None:
        fits &= valid
    kept = np.where(fits, integers, 0)
    words = np.empty((len(kept), 2), np.int64)
    words[:, 0] = np.bitwise_and(kept, WORD - 1).astype(np.uint64).view(np.int64)
    words[:, 1] = np.right_shift(kept, 64).astype(np.int64)
    return decimal_array(words, fits, kind)


def divide_rounded(dividends: Integers, divisors: Integers | int) -> Integers:
    """Quotients rounded to whole numbers, halves away from zero."""
    size: Any = abs(divisors)
    sizes = (2 * abs(dividends) + size) // (2 * size)
    negative = np.asarray((dividends < 0) != (divisors < 0), np.bool_)
    quotients: Integers = np.where(negative, -sizes, sizes)
    return quotients


def rescale(integers: Integers, by: int) -> Integers:
    """Integers times ten to the power of ``by``, rounded."""
    if by >= 0:
        raised: Integers = integers * 10**by
        return raised
    return divide_rounded(integers, 10**-by)


def to_scale(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Decimals or integers in a type of decimals: rounded, and NULL where they do not fit."""
    wide = pa.decimal128(19, 0)
    try:
        if pa.types.is_integer(array.type):
            array = pc.cast(array, wide)
        return cast_to_decimals(array, kind)
    except pa.ArrowInvalid:
        scale = array.type.scale if pa.types.is_decimal(array.type) else 0
        return from_last_places(
            rescale(last_places(array), kind.scale - scale), validity(array), kind
        )


def to_doubles(array: pa.Array) -> pa.Array:
    """The nearest doubles."""
    scale, valid = array.type.scale, validity(array)
    words = decimal_words(array)
    low = words[:, 0]
    plain = np.asarray(words[:, 1] == low >> 63) & (low <= EXACT) & (low >= -EXACT)
    if valid is not None:
        plain = plain | ~valid
    if scale <= EXACT_POWER and plain.all():
        doubles = low / 10.0**scale
    else:
        integers = last_places(array)
        if valid is not None:
            integers = np.where(valid, integers, 0)
        doubles = (integers / 10**scale).astype(np.float64)
    return pa.array(doubles, mask=None if valid is None else ~valid)


def to_integers(array: pa.Array) -> pa.Array:
    """Decimals rounded to whole numbers, of as many digits as there are."""
    return to_scale(array, pa.decimal128(38, 0))


def from_floats(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Decimals of the digits that floats are written with, rounded; NULL where they do not fit."""
    return pa.array([_nearest(text, kind) for text in array.cast(pa.string()).to_pylist()], kind)


def _nearest(text: str | None, kind: pa.DataType) -> Decimal | None:
    if text is None:
        return None
    value = Decimal(text)
    if not value.is_finite() or value.adjusted() > kind.precision:
        return None
    rounded = value.quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP, MANY)
    return rounded if rounded.copy_abs() < Decimal(10) ** (kind.precision - kind.scale) else None


def to_texts(array: pa.Array) -> pa.Array:
    """Decimals with all their digits, and never with an exponent."""
    texts = pc.cast(array, pa.string())
    if array.type.scale and pc.any(pc.match_substring(texts, "E")).as_py():
        plain = [None if v is None else f"{v:f}" for v in array.to_pylist()]
        return pa.array(plain, pa.string())
    return texts
