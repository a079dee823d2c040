"""Pushed data as rows of a stream: Arrow, pandas, polars, or plain Python lists and dicts.

Nothing but Arrow is imported here. pandas and polars frames are recognised by what they can do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.core.errors import InputError
from windrow.core.time import Clock
from windrow.plan.catalog import StreamDeclaration
from windrow.tables.enforce import as_json, enforce, resolve
from windrow.tables.fit import Values, value_at
from windrow.tables.parsed_rows import Parsed

KINDS = "an Arrow table or batch, a pandas or polars frame, a dict of lists or a list of dicts"


def parse_pushed(data: Any, declaration: StreamDeclaration) -> Parsed:
    """The data as rows of the stream, columns found by name; extra ones are ignored.

    Values that do not fit their declared types send their rows to the refused ones; a missing
    column is an InputError, since it would refuse every row.
    """
    where = f"data pushed to {declaration.name}"
    columns = _columns(data, declaration, where)
    lengths = {len(values) for values in columns.values()}
    if len(lengths) > 1:
        found = ", ".join(f"{name}: {len(values)}" for name, values in columns.items())
        raise InputError(where=where, expected="columns of one length", found=found)
    numbers = np.arange(1, max(lengths, default=0) + 1, dtype=np.int64)

    def texts(positions: Int64s) -> list[str]:
        return [
            as_json({name: value_at(values, int(p)) for name, values in columns.items()})
            for p in positions
        ]

    chosen = [columns[name] for name in resolve(list(columns), declaration, where)]
    return enforce(chosen, numbers, declaration, texts)


def columns_of(data: Any, declaration: StreamDeclaration) -> dict[str, Values]:
    """The data's columns, which are data too: an iterator can be looked through only once."""
    return _columns(data, declaration, f"data pushed to {declaration.name}")


def column_names(data: Any, declaration: StreamDeclaration) -> set[str]:
    """The names of the data's columns, in lower case."""
    return {name.lower() for name in columns_of(data, declaration)}


def clock_of_column(data: Any, name: str, declaration: StreamDeclaration) -> Clock | None:
    """The clock that the values of a pushed column are on; None if there is none to judge by."""
    columns = columns_of(data, declaration)
    values = next((v for n, v in columns.items() if n.lower() == name), None)
    if values is None or not len(values):
        return None
    first = next((v for i in range(len(values)) if (v := value_at(values, i)) is not None), None)
    return clock_of_value(first)


def clock_of_value(value: Any) -> Clock | None:
    """Times and texts that are no number are on the TIMESTAMP clock."""
    if value is None:
        return None
    number = isinstance(value, int | float | np.integer)
    if isinstance(value, str):
        number = value.strip().lstrip("+-").isdigit()
    return Clock.INTEGER if number else Clock.TIMESTAMP


def _columns(data: Any, declaration: StreamDeclaration, where: str) -> dict[str, Values]:
    try:
        if isinstance(data, pa.Table | pa.RecordBatch):
            return _of_table(data)
        if isinstance(data, Mapping):
            return {str(name): _as_values(values, name) for name, values in data.items()}
        if isinstance(data, list | tuple) and all(isinstance(row, Mapping) for row in data):
            names = {str(name): name for row in data for name in row}
            if not data:
                names = {f.name: f.name for f in declaration.schema}
            return {text: [row.get(name) for row in data] for text, name in names.items()}
        if _is_of_pandas(data) and hasattr(data, "columns"):
            _refuse_repeated([str(name) for name in data.columns])
            return {str(name): _of_series(data[name]) for name in data.columns}
        if hasattr(data, "__arrow_c_stream__"):
            return _of_table(pa.table(data))
    except (pa.ArrowException, TypeError, ValueError) as error:
        found = str(error).splitlines()[0]
        raise InputError(where=where, expected=KINDS, found=found) from error
    raise InputError(where=where, expected=KINDS, found=type(data).__name__)


def _of_table(table: pa.Table | pa.RecordBatch) -> dict[str, Values]:
    names = table.schema.names
    _refuse_repeated(names)
    return {name: _whole(table.column(i)) for i, name in enumerate(names)}


def _refuse_repeated(names: list[str]) -> None:
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise ValueError(f"several columns named {', '.join(sorted(repeated))}")


def _whole(column: pa.Array | pa.ChunkedArray) -> Values:
    """A column in one piece, of types that the functions of Arrow take."""
    if not isinstance(column, pa.ChunkedArray):
        return _without_views(column)
    if column.num_chunks == 1:
        return _without_views(column.chunk(0))
    combined = column.combine_chunks()
    whole = combined if isinstance(combined, pa.Array) else pa.concat_arrays(combined.chunks)
    return _without_views(whole)


def _without_views(values: pa.Array) -> Values:
    """Values without the views that polars writes, for which Arrow lacks functions.

    Lists of views are made Python's: cast to lists, Arrow 26 loses items behind a NULL.
    """
    kind, types = values.type, pa.types
    if not _has_views(kind):
        return values
    if types.is_string_view(kind):
        return values.cast(pa.string())
    if types.is_binary_view(kind):
        return values.cast(pa.binary())
    if types.is_dictionary(kind) and types.is_string_view(kind.value_type):
        texts = values.dictionary.cast(pa.string())
        return pa.DictionaryArray.from_arrays(values.indices, texts)
    found: list[Any] = values.to_pylist()
    return found


def _has_views(kind: pa.DataType) -> bool:
    types = pa.types
    if types.is_dictionary(kind):
        return _has_views(kind.value_type)
    views = (
        types.is_string_view(kind) or types.is_binary_view(kind)
        or types.is_list_view(kind) or types.is_large_list_view(kind)
    )  # fmt: skip
    return views or any(_has_views(kind.field(i).type) for i in range(kind.num_fields))


def _as_values(values: Any, name: Any) -> Values:
    """Values of a dict's column: Arrow as it is, pandas and numpy as Arrow, others as Python has
    them.
    """
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise TypeError(f"one value of {name}, {values!r}; put a single row into a list: [row]")
    if isinstance(values, pa.ChunkedArray | pa.Array):
        return _whole(values)
    if len(getattr(values, "shape", ())) > 1:
        raise TypeError(f"a whole table as {name}; put one of its columns there")
    if _is_of_pandas(values):
        return _of_series(values)
    if isinstance(values, np.ndarray) and values.dtype.kind in "biufM":
        with suppress(pa.ArrowNotImplementedError):  # it has no hours, and no foreign byte order
            return pa.array(values.copy())  # whose owner may go on to write to it
    if isinstance(values, np.ndarray) and values.dtype.kind in "SU":
        return [value.item() for value in values]
    # What a list of polars has in it are lists only in what its own method makes; what an array of
    # numpy has are its own moments only without that.
    own = isinstance(values, np.ndarray) or not hasattr(values, "to_list")
    return list(values) if own else values.to_list()


def _is_of_pandas(data: Any) -> bool:
    return type(data).__module__.partition(".")[0] == "pandas"


def _of_series(series: Any) -> Values:
    """A pandas column; NaN is what pandas writes for a missing value."""
    try:
        # Arrow does not copy numbers, and whoever pushes may go on to write to the frame.
        return _whole(pa.array(series.copy(), from_pandas=True))
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return [None if missing else v for v, missing in zip(series, series.isna(), strict=True)]
