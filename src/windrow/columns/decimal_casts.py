"""Casts to decimals by Arrow that notice when 128 bits are too few.

Arrow multiplies a number by a power of ten in 128 bits and does not see each time that the product
has more: 31378432.8 with 33 digits behind the point becomes -72455.04... without an error. So where
that can happen the product is computed in 256 bits.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.decimal_words import is_narrow_decimal

MOST_DIGITS = 38
"""Decimals of no more digits are 128-bit integers."""


def cast_to_decimals(values: pa.Array, target: pa.DataType) -> pa.Array:
    """Decimals or texts in a type of decimals; ``ArrowInvalid`` if one has no place there.

    >>> cast_to_decimals(pa.array(["31378432.8"]), pa.decimal128(38, 33))
    Traceback (most recent call last):
        ...
    pyarrow.lib.ArrowInvalid: Decimal value does not fit in precision 38
    """
    if _may_overflow(values.type, target):
        values = pc.cast(values, long_form(target))
    return pc.cast(values, target)


def long_form(kind: pa.DataType) -> pa.DataType:
    """The type of 256 bits with the same digits behind the point."""
    return pa.decimal256(2 * MOST_DIGITS, kind.scale)


def _may_overflow(source: pa.DataType, target: pa.DataType) -> bool:
    if not pa.types.is_decimal128(target) or pa.types.is_decimal256(source):
        return False
    if pa.types.is_decimal(source):
        return bool(source.precision + target.scale - source.scale > MOST_DIGITS)
    return target.scale > 0 and not is_narrow_decimal(target)
