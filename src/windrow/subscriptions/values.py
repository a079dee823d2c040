"""Columns as keys: every value in its place on the scale of an attribute, or an error.

A column of another type than the attribute's is taken if each of its values is one of the
attribute's, and only then: an integer among decimals, a moment in seconds among ones in
nanoseconds, a text that says a number. A value that would have to be rounded has no place between
the keys, and one without a place would be matched wrongly or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import Bools, Int64s, order_keys, validity
from windrow.columns.decimal_casts import cast_to_decimals
from windrow.columns.types import readable
from windrow.core.errors import InputError
from windrow.core.schema import Type
from windrow.subscriptions.bounds import FAR, NEAR
from windrow.subscriptions.predicates import Kind, arrow_of, kind_text, plain_type, words_of
from windrow.subscriptions.wide_decimals import keys_for, words_in
from windrow.tables.fit import fit
from windrow.tables.fit import is_text as is_textual


@dataclass(frozen=True)
class Keys:
    """The keys of some values, and which of them can match (None if all can).

    ``words`` are the values behind the keys where those may be rough.
    """

    keys: Int64s
    valid: Bools | None = None
    words: Int64s | None = None

    def __len__(self) -> int:
        return len(self.keys)

    def part(self, start: int, stop: int) -> Keys:
        return Keys(
            self.keys[start:stop],
            None if self.valid is None else self.valid[start:stop],
            None if self.words is None else self.words[start:stop],
        )


def keys_of(column: pa.Array, kind: Kind, name: str = "") -> Keys:
    """The keys of a column's values; ``name`` is what messages call the attribute."""
    typed = exactly(column, kind, name)
    valid = validity(typed)
    if pa.types.is_decimal(typed.type):
        words = words_in(typed)
        return Keys(keys_for(words), valid, words if words_of(kind) else None)
    if pa.types.is_uint64(typed.type):
        unsigned = pc.fill_null(typed, 0).to_numpy(zero_copy_only=False)
        return Keys(unsigned.view(np.int64) ^ np.int64(NEAR), valid)
    if pa.types.is_time(typed.type):
        typed = typed.cast(pa.int32() if pa.types.is_time32(typed.type) else pa.int64())
    keys = order_keys(typed)
    if pa.types.is_floating(typed.type):
        number = keys != FAR  # NaN is the one value whose key is that
        if not number.all():
            valid = number if valid is None else valid & number
    return Keys(keys, valid)


def exactly(column: pa.Array, kind: Kind, name: str = "") -> pa.Array:
    """The column in the attribute's type, or in one on the same scale of keys."""
    target = arrow_of(kind)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if column.type == target:
        return column
    if pa.types.is_null(column.type):
        return pa.nulls(len(column), target)
    source = plain_type(column.type)
    if not _comparable(source, target):
        raise InputError(
            where=f"column {name}",
            expected=kind_text(kind),
            found=str(column.type),
            remedy=f"declare the attribute as {source}, or cast the column",
        )
    try:
        found = _convert(column, source, target, kind)
    except pa.ArrowInvalid:
        first = _first_misfit(column, source, target, kind)
    else:
        if found.null_count == column.null_count:
            return found
        lost = pc.and_(pc.is_null(found), pc.is_valid(column))
        if is_textual(source) and not pa.types.is_string(target):  # blank text is no value there
            lost = pc.and_(lost, pc.greater(pc.binary_length(column), 0))
        places = np.flatnonzero(lost.to_numpy(zero_copy_only=False))
        if not len(places):
            return found
        first = int(places[0])
    raise InputError(
        where=f"column {name}, row {first}",
        expected=f"a value of {kind_text(kind)}",
        found=str(column[first].as_py()),
        remedy="" if is_textual(source) else f"declare the attribute as {source}",
    )


def _first_misfit(column: pa.Array, source: pa.DataType, target: pa.DataType, kind: Kind) -> int:
    """The first value that is none of the attribute's, found by halving."""
    sound, broken = 0, len(column)
    while broken - sound > 1:
        middle = (sound + broken) // 2
        try:
            _convert(column[sound:middle], source, target, kind)
        except pa.ArrowInvalid:
            broken = middle
        else:
            sound = middle
    return sound


def _comparable(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether values of one type can be values of the other."""
    kinds = pa.types
    if is_textual(source):
        return not kinds.is_time(target)
    if kinds.is_decimal(target):
        return bool(kinds.is_integer(source) or kinds.is_decimal(source))
    if kinds.is_integer(target):
        return bool(
            kinds.is_integer(source) or kinds.is_floating(source) or kinds.is_decimal(source)
        )
    if kinds.is_floating(target):
        return bool(kinds.is_integer(source) or kinds.is_floating(source))
    if kinds.is_timestamp(target) or kinds.is_date(target):
        return bool(kinds.is_timestamp(source) or kinds.is_date(source))
    return bool(kinds.is_time(target) and kinds.is_time(source))


def _convert(column: pa.Array, source: pa.DataType, target: pa.DataType, kind: Kind) -> pa.Array:
    """The values of a comparable type, or ArrowInvalid."""
    kinds = pa.types
    if is_textual(source):
        return _read_texts(column, target, kind)
    if kinds.is_floating(target):
        return column.cast(pa.float64())  # the scale of all of them
    if kinds.is_integer(target) and not kinds.is_uint64(target):
        target = pa.int64()
    if kinds.is_timestamp(source):
        column = column.cast(pa.timestamp(source.unit))  # the instant in UTC
    if kinds.is_timestamp(target):
        target = pa.timestamp(target.unit)
    if kinds.is_decimal(target) and kinds.is_integer(source):
        column = column.cast(pa.decimal128(20, 0))
    if kinds.is_date(target) and kinds.is_timestamp(source):
        return fit(column, Type.DATE)
    if kinds.is_decimal(target) and kinds.is_decimal(column.type):
        return cast_to_decimals(column, target)
    return column.cast(target)


def _read_texts(column: pa.Array, target: pa.DataType, kind: Kind) -> pa.Array:
    """Texts of any layout as texts, or as the values that they say; NULL for other texts."""
    if isinstance(kind, Type):
        return fit(column, kind)
    texts = fit(column, Type.STRING)
    if pa.types.is_string(target):
        return texts
    trimmed = pc.utf8_trim_whitespace(texts)
    trimmed = pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)
    return readable(trimmed, lambda part: pc.cast(part, target), target)
