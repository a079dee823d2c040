"""SQL types as Arrow types, and text as their values: one reading of text for CAST and for files.

``parse`` reads a column, and leaves NULL where a text is not of the type. Clean columns cost
one Arrow cast; a column with bad values is halved until the bad ones stand alone, so its cost
grows with their number. Whether a text is readable depends on that text only, never on its
neighbours: the fast way accepts a subset of what the slow way accepts, with the same value.

Accepted beyond Arrow's own forms: white space around the value, a plus sign before an integer,
timestamps with and without an offset in one column, fractions of a second finer than
microseconds (cut off).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.decimal_casts import cast_to_decimals
from windrow.core.schema import Schema, Type


class ArrowTypes(dict[Type, pa.DataType]):
    """The Arrow type of each SQL type; those with parameters are made when they are asked for."""

    def __missing__(self, kind: Type) -> pa.DataType:
        if kind.element is not None:
            return pa.list_(self[kind.element])
        if kind.fields:
            return pa.struct([pa.field(name, self[inner]) for name, inner in kind.fields])
        return pa.decimal128(kind.precision, kind.scale)


ARROW: ArrowTypes = ArrowTypes(
    {
        Type.BOOLEAN: pa.bool_(),
        Type.INT: pa.int32(),
        Type.BIGINT: pa.int64(),
        Type.FLOAT: pa.float32(),
        Type.DOUBLE: pa.float64(),
        Type.STRING: pa.string(),
        Type.TIMESTAMP: pa.timestamp("us"),
        Type.DATE: pa.date32(),
        Type.INTERVAL: pa.int64(),
    }
)
UTC = pa.timestamp("us", "UTC")
OFFSET = r"\d\d:?\d\d.*(Z|[+-]\d\d(:?\d\d)?)$"
WHOLE_NUMBER = r"^[-+]?(\d+|0[xX][0-9a-fA-F]+)$"
DECIMAL = r"(?i)^[-+]?\.?\d[\d.]*(e[-+]?\d+)?$"
NUMBER = r"(?i)^[-+]?([\d.]|inf|nan)"
POSSIBLE = {
    Type.BOOLEAN: r"(?i)^(true|false|0|1)$",
    Type.INT: WHOLE_NUMBER,
    Type.BIGINT: WHOLE_NUMBER,
    Type.FLOAT: NUMBER,
    Type.DOUBLE: NUMBER,
    Type.DATE: r"^[-+\d]+$",
    Type.TIMESTAMP: r"^[-+\dTZ:. ]+$",
}
"""What a text of each type looks like, without white space around it; much else does too."""
Read = Callable[[pa.Array], pa.Array]


@lru_cache(maxsize=1024)
def arrow_schema(schema: Schema) -> pa.Schema:
    """The Arrow schema of a row; repeated names are told apart as result files do it."""
    names = schema.unique_names()
    return pa.schema([pa.field(n, ARROW[f.type]) for n, f in zip(names, schema, strict=True)])


def parse(texts: pa.Array, kind: Type) -> pa.Array:
    """The column as ``ARROW[kind]``; NULL where it was NULL and where a text cannot be read."""
    if kind is Type.STRING:
        return texts
    target = ARROW[kind]
    cast = cast_to_decimals if kind.is_decimal else pc.cast
    try:
        return cast(texts, target)
    except pa.ArrowInvalid:
        pass
    if kind is Type.TIMESTAMP:
        return timestamps(texts)
    trimmed = _possible(pc.utf8_trim_whitespace(texts), kind)
    if kind.integral:
        trimmed = pc.replace_substring_regex(trimmed, r"^\+(\d)", r"\1")
    return readable(trimmed, lambda part: cast(part, target), target)


def timestamps(texts: pa.Array) -> pa.Array:
    """Timestamps of any accepted form; an offset is converted to UTC."""
    try:
        return pc.cast(pc.cast(texts, UTC), ARROW[Type.TIMESTAMP])
    except pa.ArrowInvalid:
        pass
    trimmed = pc.replace_substring_regex(
        _possible(pc.utf8_trim_whitespace(texts), Type.TIMESTAMP), r"(:\d\d\.\d{6})\d+", r"\1"
    )
    zoned = pc.fill_null(pc.match_substring_regex(trimmed, r"[T ]" + OFFSET), False)
    absent = pa.scalar(None, pa.string())
    plain = pc.if_else(zoned, absent, trimmed)
    offset = pc.if_else(zoned, trimmed, absent)
    naive = ARROW[Type.TIMESTAMP]
    return pc.coalesce(
        readable(plain, lambda part: pc.cast(part, naive), naive),
        readable(offset, lambda part: pc.cast(pc.cast(part, UTC), naive), naive),
    )


def _possible(texts: pa.Array, kind: Type) -> pa.Array:
    """NULL for texts that are plainly not of the type.

    They are most of what cannot be read, and one pass is cheaper than finding each by halving.
    """
    fits = pc.match_substring_regex(texts, POSSIBLE.get(kind, DECIMAL))
    return pc.if_else(fits, texts, pa.scalar(None, pa.string()))


def readable(texts: pa.Array, read: Read, target: pa.DataType) -> pa.Array:
    """``read`` where it succeeds, NULL where it raises, found by halving."""
    try:
        return read(texts)
    except pa.ArrowInvalid:
        if len(texts) == 1:
            return pa.nulls(1, target)
    half = len(texts) // 2
    parts = (readable(texts[:half], read, target), readable(texts[half:], read, target))
    return pa.concat_arrays(parts)
