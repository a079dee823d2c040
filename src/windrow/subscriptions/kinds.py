"""What an attribute may be: a type of CQL, or any Arrow type with an order, or texts.

A type of CQL stands for the Arrow type that its columns have. Arrow types beyond those are for
columns that no script declares: decimals, unsigned integers, times of day, moments in other units.
Of each there is one form here (``plain_type``): how texts are laid out, and in how many bits a
small decimal is stored, makes no difference to a comparison.
"""

from __future__ import annotations

from typing import TypeAlias

import pyarrow as pa

from windrow.columns.types import ARROW
from windrow.core.errors import InputError
from windrow.core.schema import Type

Kind: TypeAlias = Type | pa.DataType

NARROW_DIGITS = 18
"""Decimals of no more digits are 64-bit integers of their last place."""
DIGITS_OF_128_BITS = 38
SUPPORTED = "a truth value, a number, a decimal, a date, a time, a timestamp or a text"


def arrow_of(kind: Kind) -> pa.DataType:
    """The Arrow type whose values are compared."""
    return ARROW[kind] if isinstance(kind, Type) else plain_type(kind)


def plain_type(found: pa.DataType) -> pa.DataType:
    """The one form of types that differ in their layout only."""
    kinds = pa.types
    if kinds.is_dictionary(found):
        return plain_type(found.value_type)
    if kinds.is_large_string(found) or kinds.is_string_view(found):
        return pa.string()
    if kinds.is_date64(found):
        return pa.date32()
    if kinds.is_decimal(found):
        wide = found.precision > DIGITS_OF_128_BITS
        make = pa.decimal256 if wide else pa.decimal128
        return make(found.precision, found.scale)
    return found


def is_text(kind: Kind) -> bool:
    """Whether values are compared for equality only."""
    return bool(pa.types.is_string(arrow_of(kind)))


def words_of(kind: Kind) -> int:
    """In how many 64-bit words a value is kept beside its key; 0 if the key says it all."""
    found = arrow_of(kind)
    if not pa.types.is_decimal(found) or found.precision <= NARROW_DIGITS:
        return 0
    return 2 if found.precision <= DIGITS_OF_128_BITS else 4


def kind_text(kind: Kind) -> str:
    """The type as messages call it."""
    return kind.value if isinstance(kind, Type) else str(arrow_of(kind))


def check_kind(name: str, kind: Kind) -> Kind:
    """The kind, if attributes can be of it."""
    found, kinds = arrow_of(kind), pa.types
    known = (
        kinds.is_boolean, kinds.is_integer, kinds.is_floating, kinds.is_decimal, kinds.is_date,
        kinds.is_time, kinds.is_timestamp, kinds.is_string,
    )  # fmt: skip
    if not any(of_it(found) for of_it in known):
        raise InputError(
            where=f"attribute {name}",
            expected=SUPPORTED,
            found=str(found),
            remedy="match on a column that is cast to one of these",
        )
    return kind
