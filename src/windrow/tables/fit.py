"""Values of any Arrow type as values of a declared one, if they fit without a change of meaning.

Text is read by the same rules as in CAST and in CSV files. A number is no text and no time; a
fraction is no integer; an integer out of range does not fit. A moment with an offset is taken
in UTC, and one finer than microseconds is cut to them.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.types import ARROW, parse, readable
from windrow.core.schema import Type

Values: TypeAlias = pa.Array | list[Any]
"""A column, or Python values of any types."""
PLAIN = len("2026-03-01 09:00:05.123456")
"""A text of a moment with nanoseconds is longer than this."""


def fit(values: Values, kind: Type) -> pa.Array:
    """The values as ``ARROW[kind]``, NULL for each that does not fit."""
    if isinstance(values, list):
        return _fit_one_by_one(values, kind)
    return _fit_array(values, kind)


def count_cut(values: Values, kind: Type) -> int:
    """How many of the values are moments finer than microseconds, which are cut to them."""
    if kind is not Type.TIMESTAMP:
        return 0
    if isinstance(values, list):
        texts = pa.array([v for v in values if isinstance(v, str)], pa.string())
        moments = [v for v in values if isinstance(v, np.datetime64)]
        pandas = sum(bool(getattr(v, "nanosecond", 0)) for v in values)
        fine = sum(v != v.astype("datetime64[us]") for v in moments)
        return int(pandas + fine) + count_cut(texts, kind)
    if pa.types.is_dictionary(values.type):
        return count_cut(values.cast(values.type.value_type), kind)
    if pa.types.is_timestamp(values.type) and values.type.unit == "ns":
        moments = values.cast(pa.timestamp("ns"))
        cut = pc.not_equal(moments, pc.floor_temporal(moments, unit="microsecond"))
    elif is_text(values.type) and (pc.max(pc.binary_length(values)).as_py() or 0) > PLAIN:
        cut = pc.match_substring_regex(as_text(values), r":\d\d\.\d{6}\d*[1-9]")
    else:
        return 0
    return int(pc.sum(cut).as_py() or 0)


def value_at(values: Values, position: int) -> Any:
    """One of the values, as Python has it."""
    value = values[position]
    return value if isinstance(values, list) else value.as_py()


def _fit_array(values: pa.Array, kind: Type) -> pa.Array:
    target, source = ARROW[kind], values.type
    if source == target:
        return values
    if pa.types.is_dictionary(source):
        return _fit_array(values.cast(source.value_type), kind)
    if is_text(source):
        return parse(_nothing_for_blank(as_text(values), kind), kind)
    if pa.types.is_null(source):
        return pa.nulls(len(values), target)
    if kind.integral and is_number(source):
        return readable(values, lambda part: pc.cast(part, target), target)
    if kind in (Type.FLOAT, Type.DOUBLE) and is_number(source):
        return _fit_floats(values, target)
    if kind is Type.TIMESTAMP and (pa.types.is_timestamp(source) or pa.types.is_date(source)):
        return _moments(values, target)
    if kind is Type.DATE and (pa.types.is_timestamp(source) or pa.types.is_date(source)):
        return _days(values, target)
    return pa.nulls(len(values), target)


def _fit_one_by_one(values: list[Any], kind: Type) -> pa.Array:
    """Python values, those of each Python type together, so that none is judged by another's."""
    places: defaultdict[type, list[int]] = defaultdict(list)
    for place, value in enumerate(values):
        places[type(value)].append(place)
    parts = [pa.nulls(1, ARROW[kind])]
    origin = [0] * len(values)
    filled = 1
    for cls, alike in places.items():
        those = [values[p] for p in alike]
        if cls is int and kind in (Type.FLOAT, Type.DOUBLE):
            those = [_as_float(v) for v in those]  # Arrow takes no integer beyond 64 bits
        parts.append(_fit_array(_array(those), kind))
        for offset, place in enumerate(alike):
            origin[place] = filled + offset
        filled += len(alike)
    return pa.concat_arrays(parts).take(pa.array(origin, pa.int64()))


def _as_float(value: int) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None


def _array(values: list[Any]) -> pa.Array:
    """Values of one Python type as a column, NULL for those that Arrow cannot hold."""
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError, ValueError, TypeError):
        if len(values) == 1:
            return pa.nulls(1)
    half = len(values) // 2
    first, second = _array(values[:half]), _array(values[half:])
    if pa.types.is_null(first.type):
        first = pa.nulls(half, second.type)
    if pa.types.is_null(second.type):
        second = pa.nulls(len(values) - half, first.type)
    return pa.concat_arrays([first, second])


def is_text(source: pa.DataType) -> bool:
    kinds = pa.types
    return bool(
        kinds.is_string(source)
        or kinds.is_large_string(source)
        or kinds.is_string_view(source)
        or kinds.is_binary(source)
        or kinds.is_large_binary(source)
        or kinds.is_binary_view(source)
    )


def is_number(source: pa.DataType) -> bool:
    kinds = pa.types
    return bool(kinds.is_integer(source) or kinds.is_floating(source) or kinds.is_decimal(source))


def as_text(values: pa.Array) -> pa.Array:
    """Bytes as text; NULL for what is not UTF-8."""
    return readable(values, lambda part: pc.cast(part, pa.string()), pa.string())


def _nothing_for_blank(texts: pa.Array, kind: Type) -> pa.Array:
    """An empty text is a value only where text is declared."""
    if kind is Type.STRING:
        return texts
    blank = pc.equal(texts, "")
    if not pc.any(blank).as_py():
        return texts
    return pc.if_else(blank, pa.scalar(None, pa.string()), texts)


def _fit_floats(values: pa.Array, target: pa.DataType) -> pa.Array:
    wide = pc.cast(values, pa.float64(), safe=False)
    narrow = pc.cast(wide, target, safe=False)
    lost = pc.and_(pc.is_inf(narrow), pc.invert(pc.is_inf(wide)))
    if pc.any(lost).as_py():
        return pc.if_else(lost, pa.scalar(None, target), narrow)
    return narrow


def _moments(values: pa.Array, target: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(values.type):
        values = values.cast(pa.timestamp(values.type.unit))  # the instant in UTC
        if values.type.unit == "ns":
            values = pc.floor_temporal(values, unit="microsecond")
    return readable(values, lambda part: pc.cast(part, target), target)


def _days(values: pa.Array, target: pa.DataType) -> pa.Array:
    """Dates as they are, and moments only if they are midnight."""
    if not pa.types.is_timestamp(values.type):
        return readable(values, lambda part: pc.cast(part, target), target)
    moments = values.cast(pa.timestamp(values.type.unit))
    whole = pc.equal(moments, pc.floor_temporal(moments, unit="day"))
    return pc.cast(pc.if_else(whole, moments, pa.scalar(None, moments.type)), target)
