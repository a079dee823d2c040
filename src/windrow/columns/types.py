"""SQL types as Arrow types."""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa

from windrow.core.schema import Schema, Type

ARROW: dict[Type, pa.DataType] = {
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


@lru_cache(maxsize=1024)
def arrow_schema(schema: Schema) -> pa.Schema:
    """The Arrow schema of a row; repeated names are told apart as result files do it."""
    names = schema.unique_names()
    return pa.schema([pa.field(n, ARROW[f.type]) for n, f in zip(names, schema, strict=True)])
