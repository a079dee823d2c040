"""The rows of several files as one table or stream of batches, in the types of an archive.

``windrow.tables.typed_files`` reads each; a value that does not fit is an error that says where it
stands, since a day comes in whole or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from windrow.archive.progress_callback import Progress, Reached, nobody
from windrow.tables.column_names import resolve_names
from windrow.tables.typed_files import read_typed, schema_of


def rows_of(
    files: Sequence[Path], schema: pa.Schema, *others: str, progress: Progress = nobody
) -> pa.Table:
    """All rows of the files: the columns of the schema, and some others in types of their own."""
    if others:
        found = schema_of(files[0])
        extra = resolve_names(found.names, others, str(files[0]))
        schema = pa.schema(
            [
                *schema,
                *(pa.field(o, found.field(e).type) for o, e in zip(others, extra, strict=True)),
            ]
        )
    return pa.Table.from_batches(batches_of(files, schema, progress), schema)


def batches_of(
    files: Sequence[Path], schema: pa.Schema, progress: Progress = nobody
) -> Iterator[pa.RecordBatch]:
    """The rows of files, one after the other, in the types of the schema.

    ``progress`` is told how many files have been read, and how many bytes they have.
    """
    size = 0
    for done, path in enumerate(files, start=1):
        yield from read_typed(path, schema)
        size += path.stat().st_size
        progress(Reached("files", done, len(files), size))
