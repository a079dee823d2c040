"""Tables in the columns and types of a schema: what an archive does to records that are Arrow's."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.archive.errors import ArchiveError


def cast_to_schema(data: pa.Table | pa.RecordBatch, schema: pa.Schema, *others: str) -> pa.Table:
    """The columns of a schema in its types, and some others in their own."""
    table = pa.Table.from_batches([data]) if isinstance(data, pa.RecordBatch) else data
    wanted = [*schema.names, *others]
    missing = [name for name in wanted if table.column_names.count(name) != 1]
    if missing:
        raise ArchiveError(
            where="data",
            expected=f"the columns {', '.join(wanted)}, each once",
            found=f"no {', '.join(missing)}"
            if not set(missing) & set(table.column_names)
            else f"the columns {', '.join(table.column_names)}",
        )
    columns = [_cast(table.column(field.name), field) for field in schema]
    rest = table.select(list(others))
    return pa.table([*columns, *rest.columns], schema=pa.schema([*schema, *rest.schema]))


def _cast(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    if column.type.equals(field.type):
        return column
    if is_list_view(column.type):
        lists = [lists_of_views(chunk) for chunk in column.chunks]
        column = pa.chunked_array(lists, None if lists else field.type)
    try:
        return column.cast(field.type)
    except (pa.ArrowException, ValueError) as error:
        raise ArchiveError(
            where=f"data, column {field.name}",
            expected=f"values of the type {field.type}",
            found=f"{column.type}: {str(error).splitlines()[0]}",
            remedy="convert the column first",
        ) from error


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
