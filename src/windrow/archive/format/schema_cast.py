"""Tables in the columns and types of a schema: what an archive does to records that are Arrow's."""

from __future__ import annotations

import pyarrow as pa

from windrow.archive.errors import ArchiveError
from windrow.tables.fit_column import is_list_view, lists_of_views


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
