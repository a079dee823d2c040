"""Values as they are written for people and programs, and read again.

Python has times of the years 1 to 9999 only, and JSON and CSV have no bytes and no durations. Here
each value of such a column is a text, whatever its size: dates and times in the proleptic Gregorian
calendar (``20000-01-01``; with a time zone in UTC), durations as Python writes them (``-1 day,
23:59:55``), times of day to the last digit. Bytes are written as DuckDB does: printable ASCII as it
is, but for quotes and the backslash, and ``\xff`` for any other. ``read_texts`` takes these forms.

`instant` reads what users give as one, in ticks.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.core.errors import InputError
from windrow.core.time import BEGINNING, FOREVER

PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
DAY = 86_400
YEARS = "0001-01-01", "10000-01-01"
"""From the one until before the other Python has a datetime."""
ZONED = "0001-01-02", "9999-12-31"
"""The same whatever the time zone."""

_BYTES = {
    code: chr(code) if 32 <= code < 127 and chr(code) not in "\\'\"" else f"\\x{code:02X}"
    for code in range(256)
}
_ESCAPED = re.compile(rb"\\x([0-9A-Fa-f]{2})")
_DURATION = re.compile(r"(?:(-?\d+) days?,? )?(\d+):(\d\d):(\d\d)(?:\.(\d{1,9}))?", re.ASCII)
_FAR = re.compile(
    r"((?:\+?\d{4,}|-\d{3,})-\d\d-\d\d)"  # numpy writes the year -1 with three digits
    r"(?:[ T](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(?:Z|\+00:?00)?)?",
    re.ASCII,
)


def plain_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """A column as Python values; what Python or JSON has no value for is a text."""
    kind = column.type
    if not _special(kind):
        values: list[Any] = column.to_pylist()
        return values
    if pa.types.is_nested(kind) or pa.types.is_dictionary(kind):
        return [_nested_value(value) for value in column]
    if _is_calendar(kind) and not _is_far(column):
        return list(column.to_pylist())
    return _texts(column)


def texts_for_csv(table: pa.Table) -> pa.Table:
    """A table for CSV: columns that Arrow would not write as ``plain_values`` does are texts."""
    for place, field in enumerate(table.schema):
        kind, column = field.type, table.column(place)
        if pa.types.is_nested(kind) or not _special(kind) or pa.types.is_time(kind):
            continue
        if not _is_calendar(kind) or _is_far(column):
            texts = [None if v is None else str(v) for v in _texts(column)]
            table = table.set_column(place, field.name, pa.array(texts, pa.string()))
    return table


def read_texts(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Texts as values of a type; ``ArrowInvalid`` if one of them says none.

    >>> found = read_texts(pa.array(["0:00:00.000003", "-1 day, 23:59:55"]), pa.duration("us"))
    >>> found.cast("int64").to_pylist()
    [3, -5000000]
    """
    if pa.types.is_time(kind):  # Arrow reads no times without a date
        moments = pc.binary_join_element_wise("1970-01-01", texts, " ")
        return pc.cast(pc.cast(moments, pa.timestamp(kind.unit)), kind)
    if pa.types.is_duration(kind):
        counts = [None if t is None else _duration(t, kind) for t in texts.to_pylist()]
        return _from_counts(counts, kind)
    if _is_bytes(kind):
        values = [None if t is None else _unescape(t) for t in texts.to_pylist()]
        return pa.array(values, kind)
    try:
        return pc.cast(texts, kind)
    except pa.ArrowInvalid:
        if not _is_calendar(kind):
            raise
    counts = [None if t is None else _far_moment(t, kind) for t in texts.to_pylist()]
    return _from_counts(counts, kind)


def is_written(kind: pa.DataType) -> bool:
    """Whether JSON has texts for the values of a type, in a form of ours."""
    return _special(kind) and not (pa.types.is_nested(kind) or pa.types.is_timestamp(kind))


def _special(kind: pa.DataType) -> bool:
    """Whether there are values of the type that Python or JSON cannot have."""
    if pa.types.is_dictionary(kind):
        return _special(kind.value_type)
    if pa.types.is_nested(kind):
        return any(_special(kind.field(n).type) for n in range(kind.num_fields))
    timed = pa.types.is_duration(kind) or pa.types.is_time(kind)
    return bool(timed) or _is_calendar(kind) or _is_bytes(kind)


def _is_calendar(kind: pa.DataType) -> bool:
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
        or pa.types.is_binary_view(kind)
    )


def _unit(kind: pa.DataType) -> str:
    """The unit of a type of times, as numpy calls it."""
    if pa.types.is_date(kind):
        return "D" if pa.types.is_date32(kind) else "ms"
    return str(kind.unit)


def _counts(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Units since the beginning."""
    width = pa.int32() if column.type.bit_width == 32 else pa.int64()
    return column.cast(width)


def _from_counts(counts: list[int | None], kind: pa.DataType) -> pa.Array:
    try:
        return pa.array(counts, pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind)
    except OverflowError as error:
        raise pa.ArrowInvalid(str(error)) from error


def _is_far(column: pa.Array | pa.ChunkedArray) -> bool:
    """Whether a value is outside what Python has."""
    found = pc.min_max(_counts(column))
    ends = [found[end].as_py() for end in ("min", "max")]
    near = _near(column.type)
    return any(end is not None and end not in near for end in ends)


def _near(kind: pa.DataType) -> range:
    """The numbers of the dates or times that Python has."""
    unit = _unit(kind)
    if unit == "ns":  # all of them, as pandas has them
        return range(-(2**63), 2**63)
    years = ZONED if getattr(kind, "tz", None) else YEARS
    return range(*(int(np.datetime64(day).astype(f"M8[{unit}]").astype(np.int64)) for day in years))


def _nested_value(value: pa.Scalar) -> Any:
    """A value of lists and the like."""
    kind = value.type
    if not value.is_valid:
        return None
    if not _special(kind):
        return value.as_py()
    if pa.types.is_dictionary(kind):
        return _nested_value(value.value)
    if pa.types.is_struct(kind):
        return {name: _nested_value(one) for name, one in value.items()}
    if pa.types.is_map(kind):
        pairs = value.values
        return list(zip(*(plain_values(pairs.field(n)) for n in (0, 1)), strict=True))
    if pa.types.is_nested(kind) and hasattr(value, "values"):
        return plain_values(value.values)
    return plain_values(pa.array([value], kind))[0]


def _texts(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Values as texts; dates and times that Python has as they are."""
    kind = column.type
    if _is_bytes(kind):
        return [
            None if v is None else v.decode("latin-1").translate(_BYTES) for v in column.to_pylist()
        ]
    counts = _counts(column).to_pylist()
    unit = _unit(kind)
    if _is_calendar(kind):
        near = _near(kind)
        return [
            value.as_py() if count is None or count in near else _moment(count, kind)
            for value, count in zip(column, counts, strict=True)
        ]
    form = _duration_text if pa.types.is_duration(kind) else _clock
    return [None if n is None else form(n, PER_SECOND[unit]) for n in counts]


def _moment(count: int, kind: pa.DataType) -> str:
    unit, zone = _unit(kind), "+00:00" if getattr(kind, "tz", None) else ""
    moment = np.int64(count).astype(f"M8[{unit}]")
    if np.isnat(moment):  # numpy takes the least number for none
        return f"{count} {unit}"
    text = str(moment.astype("M8[D]") if pa.types.is_date(kind) else moment).replace("T", " ")
    whole, _, fraction = text.partition(".")
    return (text if fraction.strip("0") else whole) + zone


def _clock(count: int, per_second: int) -> str:
    """A time of day.

    >>> _clock(5 * 3600, 1), _clock(1, 10**9)
    ('05:00:00', '00:00:00.000000001')
    """
    text = _duration_text(count, per_second, days=False)
    return text if text[1:2] != ":" else f"0{text}"


def _duration_text(count: int, per_second: int, *, days: bool = True) -> str:
    """A duration as Python's, with as many digits as it has and without bounds.

    >>> _duration_text(-5, 1), _duration_text(3, 10**6), _duration_text(2**63 - 1, 1)
    ('-1 day, 23:59:55', '0:00:00.000003', '106751991167300 days, 15:30:07')
    """
    seconds, rest = divmod(count, per_second)
    whole, seconds = divmod(seconds, DAY) if days else (0, seconds)
    text = f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if rest:
        nanos = f"{rest * (10**9 // per_second):09}"
        text += f".{nanos[:6] if nanos.endswith('000') else nanos}"
    return f"{whole} day{'' if abs(whole) == 1 else 's'}, {text}" if whole else text


def _duration(text: str, kind: pa.DataType) -> int:
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise pa.ArrowInvalid(f"no duration: {text}")
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups()[:4])
    nanos = int((found[5] or "").ljust(9, "0"))
    per_second = PER_SECOND[kind.unit]
    fraction, finer = divmod(nanos * per_second, 10**9)
    if finer or minutes > 59 or seconds > 59:
        raise pa.ArrowInvalid(f"no {kind}: {text}")
    return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * per_second + fraction


def _far_moment(text: str, kind: pa.DataType) -> int:
    """A date or time of any year; Arrow reads those with four digits."""
    found, unit = _FAR.fullmatch(text.strip()), _unit(kind)
    try:
        moment = np.datetime64("T".join(filter(None, found.groups())) if found else "NaT")
    except ValueError:
        moment = np.datetime64("NaT")
    fit = moment.astype(f"M8[{unit}]")
    if fit.astype(moment.dtype) != moment:  # numpy wraps what does not fit; nothing equals NaT
        raise pa.ArrowInvalid(f"no {kind}: {text}")
    return int(fit.astype(np.int64))


def _unescape(text: str) -> bytes:
    r"""Bytes as they are written; a text that has none of our escapes is its UTF-8.

    >>> _unescape("a\\x00\\xFF"), _unescape("C:\\temp")
    (b'a\x00\xff', b'C:\\temp')
    """
    return _ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), text.encode())


Instant = int | date | datetime | np.datetime64 | str


def instant(to: Instant, where: str = "advance") -> int:
    """An instant in ticks: integers as they are, times as microseconds since 1970 (UTC).

    >>> instant("1970-01-01 00:00:01"), instant(date(1970, 1, 2)), instant(7)
    (1000000, 86400000000, 7)
    """
    if isinstance(to, int | np.integer) and BEGINNING < to < FOREVER:
        return int(to)
    moment: object = to
    if isinstance(to, str):
        try:
            moment = datetime.fromisoformat(to)
        except ValueError:
            raise _not_an_instant(to, where) from None
    if isinstance(moment, date) and not isinstance(moment, datetime):
        moment = datetime.combine(moment, time())
    # pandas' NaT is a datetime too, and is not equal to itself.
    if isinstance(moment, datetime) and moment == moment:  # noqa: PLR0124
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        moment = np.datetime64(moment, "us")
    if not isinstance(moment, np.datetime64) or np.isnat(moment):
        raise _not_an_instant(to, where)
    return int(moment.astype("datetime64[us]").astype(np.int64))


def _not_an_instant(found: object, where: str) -> InputError:
    return InputError(
        where=where,
        expected="an integer of less than 64 bits, a datetime, a date, or ISO 8601 text",
        found=repr(found),
    )
