"""Types of an archive as Spark has them.

What Spark lacks becomes the next wider type, as its own Parquet reader would have it; nanoseconds
are cut to microseconds, which is all that Spark keeps.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema
from pyspark.sql.types import StructField, StructType

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


def spark_schema(fields: Iterable[pa.Field]) -> StructType:
    """The columns of a DataFrame of entries."""
    return StructType(
        [StructField(f.name, from_arrow_type(_WIDER.get(f.type, f.type))) for f in fields]
    )


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
