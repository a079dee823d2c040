"""Values of any Arrow type as values of another, if they fit without a change of meaning.

``fit`` is for types that a script has. Text is read by the same rules as in CAST and in CSV files.
A number is no text and no time; a fraction is no integer; a number out of range, or with more
digits behind the point than a DECIMAL has, does not fit. A moment with an offset is taken in UTC,
and one finer than microseconds is cut to them.

``fit_column`` is for any type. Those that a script has are fitted as a stream's. The others are
cast if no value is changed by it, but for the digits that a narrower float has not; as there, a
number is no text and no time, and a text is read as whatever is wanted.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import Int64s
from windrow.columns.decimal_casts import cast_to_decimals
from windrow.columns.text_forms import read_texts
from windrow.columns.types import ARROW, parse, readable
from windrow.core.errors import InputError
from windrow.core.schema import Type
from windrow.tables.fit_nested import fit_nested

Values: TypeAlias = pa.Array | list[Any]
"""A column, or Python values of any types."""
PLAIN = len("2026-03-01 09:00:05.123456")
"""A text of a moment with nanoseconds is longer than this."""
FINER = ("ns", "ps", "fs", "as")
"""Units of numpy that are cut to microseconds."""


def fit(values: Values, kind: Type) -> pa.Array:
    """The values as ``ARROW[kind]``, NULL for each that does not fit."""
    if kind.is_nested and not (isinstance(values, pa.Array) and values.type == ARROW[kind]):
        return fit_nested(values, kind, fit)
    if isinstance(values, list):
        return _fit_one_by_one(values, kind)
    return _fit_array(values, kind)


def count_cut(values: Values, kind: Type) -> int:
    """How many of the values are moments finer than microseconds, which are cut to them."""
    if kind is not Type.TIMESTAMP:
        return 0
    if isinstance(values, list):
        texts = pa.array([v for v in values if isinstance(v, str) and v.isascii()], pa.string())
        moments = [v for v in values if isinstance(v, np.datetime64) and not is_no_time(v)]
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


def is_no_time(value: Any) -> bool:
    """Whether it is NaT, which numpy and pandas write for a missing time; it is not itself."""
    return isinstance(value, np.datetime64 | datetime) and bool(value != value)  # noqa: PLR0124


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
    if kind.is_decimal and is_number(source):
        return _fit_decimals(values, target)
    if kind.integral and is_number(source):
        return readable(values, lambda part: pc.cast(part, target), target)
    if kind.is_floating and is_number(source):
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
        if cls is int and kind.is_decimal:
            those = [str(v) for v in those]
        if cls is int and kind.is_floating:
            those = [_as_float(v) for v in those]  # Arrow takes no integer beyond 64 bits
        if cls is np.datetime64:
            those = [_in_microseconds(v) for v in those]
        parts.append(_fit_alike(those, kind))
        for offset, place in enumerate(alike):
            origin[place] = filled + offset
        filled += len(alike)
    return pa.concat_arrays(parts).take(pa.array(origin, pa.int64()))


def _as_float(value: int) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None


def _in_microseconds(moment: np.datetime64) -> np.datetime64 | None:
    """A moment of numpy, some of whose units Arrow does not know; None for one out of reach."""
    found = moment.astype("datetime64[us]")
    finer = np.datetime_data(moment.dtype)[0] in FINER
    return found if finer or found.astype(moment.dtype) == moment else None


def _fit_alike(values: list[Any], kind: Type) -> pa.Array:
    """Values of one Python type, NULL for those that Arrow cannot hold. Lists may hold anything,
    and moments are of one zone or another, so not all that it can hold may be in one array."""
    try:
        together = pa.array(values)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError, ValueError, TypeError):
        if len(values) == 1:
            return pa.nulls(1, ARROW[kind])
        half = len(values) // 2
        return pa.concat_arrays([_fit_alike(v, kind) for v in (values[:half], values[half:])])
    return _fit_array(together, kind)


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


def is_utf8(text: bytes) -> bool:
    """Whether bytes are a text."""
    ends = pa.array([0, len(text)], pa.int32()).buffers()[1]
    whole = pa.Array.from_buffers(pa.binary(), 1, [None, ends, pa.py_buffer(text)])
    try:
        whole.cast(pa.string())
    except pa.ArrowInvalid:
        return False
    return True


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


def _fit_decimals(values: pa.Array, target: pa.DataType) -> pa.Array:
    """Numbers whose digits the type has, of a float those that it is written with."""
    if not pa.types.is_decimal(values.type):
        values = pc.cast(values, pa.string())
    return readable(values, lambda part: cast_to_decimals(part, target), target)


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


def script_type(kind: pa.DataType) -> Type | None:
    """The type of a script that is stored so, if there is one."""
    return next((t for t, a in ARROW.items() if a == kind and t is not Type.INTERVAL), None)


def fit_column(values: pa.Array, field: pa.Field, where: str) -> pa.Array:
    """A column in the type of the field: NULL for each value that does not fit."""
    kind, found = field.type, values.type
    if found == kind:
        return values
    if pa.types.is_dictionary(found):
        return fit_column(values.cast(found.value_type), field, where)
    if pa.types.is_null(found):
        return pa.nulls(len(values), kind)
    if is_list_view(found):
        return fit_column(lists_of_views(values), field, where)
    if (plain := script_type(kind)) is not None:
        return fit(values, plain)
    if not _comparable(found, kind):
        raise _other_type(field, found, where)
    if is_text(found) and not is_text(kind):
        texts = pc.utf8_trim_whitespace(as_text(values))
        values = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    try:
        column = readable(values, lambda part: _cast(part, kind), kind)
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise _other_type(field, found, where) from error
    if _rounds(found, kind):
        return pc.if_else(_same(column, values), column, pa.scalar(None, kind))
    return column


def misfits(values: pa.Array, fit: pa.Array) -> Int64s:
    """Where a value went in and none came out; blank text is no value unless text is wanted."""
    if fit is values or fit.null_count == values.null_count:
        return np.empty(0, np.int64)
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    failed = pc.and_(pc.is_null(fit), pc.is_valid(values))
    if is_text(values.type) and not is_text(fit.type):
        written = pc.not_equal(pc.utf8_trim_whitespace(as_text(values)), "")
        failed = pc.and_(failed, pc.fill_null(written, True))  # what is no text is not blank
    return np.flatnonzero(failed.to_numpy(zero_copy_only=False))


def _cast(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if is_text(values.type):
        return read_texts(values, kind)
    if pa.types.is_nested(kind):  # Arrow also casts what the lists of other rows hold
        values = values.take(pa.array(np.arange(len(values))))
    return pc.cast(values, kind)


def _comparable(found: pa.DataType, kind: pa.DataType) -> bool:
    """Whether values of one type can be of another one without a change of meaning."""
    if pa.types.is_nested(kind) or pa.types.is_nested(found):
        here, there = _leaves(found), _leaves(kind)
        pairs = [(here[place], there[place]) for place in here.keys() & there.keys()]
        return bool(pairs) and not any(_rounds(*p) or not _comparable(*p) for p in pairs)
    if found == kind or is_text(found) or pa.types.is_null(found):
        return True
    if is_number(found):
        return is_number(kind)
    if pa.types.is_time(kind):  # a moment would lose its date
        return bool(pa.types.is_time(found))
    return bool(pa.types.is_temporal(found) and pa.types.is_temporal(kind))


def _rounds(found: pa.DataType, kind: pa.DataType) -> bool:
    """Whether Arrow's cast takes the nearest value, where it is to refuse."""
    return bool(
        (pa.types.is_floating(found) and pa.types.is_decimal(kind))
        or (pa.types.is_timestamp(found) and pa.types.is_date(kind))
    )


def _same(fit: pa.Array, values: pa.Array) -> pa.Array:
    """Where such a cast has changed nothing, for a float but the bits beyond its own digits."""
    if not pa.types.is_floating(values.type):
        return pc.equal(pc.cast(fit, values.type), values)
    before, after = pc.cast(values, pa.float64()), pc.cast(fit, pa.float64())
    precision = float(np.finfo(values.type.to_pandas_dtype()).eps)
    return pc.less_equal(pc.abs(pc.subtract(after, before)), pc.multiply(pc.abs(before), precision))


def _leaves(
    kind: pa.DataType, place: tuple[int | str, ...] = ()
) -> dict[tuple[int | str, ...], pa.DataType]:
    """The plain types in lists and the like, by where they are."""
    if not pa.types.is_nested(kind):
        return {place: kind}
    fields = [kind.field(n) for n in range(kind.num_fields)]
    named = pa.types.is_struct(kind)
    return {
        where: leaf
        for n, field in enumerate(fields)
        for where, leaf in _leaves(field.type, (*place, field.name if named else n)).items()
    }


def _other_type(field: pa.Field, found: pa.DataType, where: str) -> InputError:
    return InputError(
        where=where, expected=f"{field.type} in column {field.name}", found=str(found)
    )


def is_list_view(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind))


def lists_of_views(views: pa.Array) -> pa.Array:
    """Views of lists as lists. (Arrow's own cast makes offsets that point anywhere.)"""
    large = pa.types.is_large_list_view(views.type)
    lengths = pc.fill_null(pc.list_value_length(views), 0).to_numpy()
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    made = pa.LargeListArray if large else pa.ListArray
    width = pa.int64() if large else pa.int32()
    kind = (pa.large_list if large else pa.list_)(views.type.value_field)
    absent = pc.is_null(views)
    return made.from_arrays(
        pa.array(offsets, width), pc.list_flatten(views), type=kind, mask=absent
    )
