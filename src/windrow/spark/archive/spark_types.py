"""Types of an archive as Spark has them.

What Spark lacks becomes the next wider type, as its own Parquet reader would have it, in lists and
structs too; nanoseconds are cut to microseconds, which is all that Spark keeps.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema
from pyspark.sql.types import DataType, StructField, StructType

from windrow.archive.errors import ArchiveError

_WIDER = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
    pa.time32("s"): pa.time64("us"),
    pa.time32("ms"): pa.time64("us"),
}
MOST_DIGITS = 38


def spark_schema(fields: Iterable[pa.Field]) -> StructType:
    """The columns of a DataFrame of entries."""
    return StructType([StructField(f.name, _spark_type(f)) for f in fields])


def arrow_schema(schema: StructType) -> pa.Schema:
    """The columns in exactly the Arrow types that Spark takes for them."""
    return to_arrow_schema(schema, timezone="UTC")


def cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch in Spark's types; a column that has its type already is not copied."""
    columns = [
        column if column.type == field.type else column.cast(field.type, safe=False)
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.record_batch(columns, schema=schema)


def is_native(kind: pa.DataType) -> bool:
    """Whether Spark's own Parquet reader gives a column the type that ``spark_schema`` says."""
    types = pa.types
    if types.is_list(kind) or types.is_large_list(kind):
        return is_native(kind.value_type)
    if types.is_struct(kind):
        return all(is_native(field.type) for field in kind)
    return bool(
        types.is_signed_integer(kind)
        or types.is_float32(kind)
        or types.is_float64(kind)
        or types.is_boolean(kind)
        or types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_date32(kind)
        or types.is_decimal128(kind)
        or (types.is_timestamp(kind) and kind.unit in ("us", "ms"))
    )


def _spark_type(field: pa.Field) -> DataType:
    kind = _wider(field.type)
    try:
        if not pa.types.is_decimal(kind) or kind.precision <= MOST_DIGITS:
            return from_arrow_type(kind)
    except PySparkException:
        pass
    raise ArchiveError(
        where=f"column {field.name}",
        expected="a type that Spark supports",
        found=str(field.type),
        remedy="name the other columns in columns",
    )


def _wider(kind: pa.DataType) -> pa.DataType:
    types = pa.types
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return pa.list_(_wider_field(kind.value_field))
    if types.is_map(kind):
        return pa.map_(_wider(kind.key_type), _wider_field(kind.item_field))
    if types.is_struct(kind):
        return pa.struct([_wider_field(field) for field in kind])
    if types.is_fixed_size_binary(kind):
        return pa.binary()
    if types.is_decimal(kind) and kind.precision <= MOST_DIGITS:
        return pa.decimal128(kind.precision, kind.scale)
    return _WIDER.get(kind, kind)


def _wider_field(field: pa.Field) -> pa.Field:
    return field.with_type(_wider(field.type))
