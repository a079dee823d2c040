"""Results of several queries as one table: a column says which query a change is of.

Queries that are INTO the same directory have the same columns, and share the files and commits
there. A micro-batch is one file and one commit for all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import Int64s
from windrow.core.errors import InputError
from windrow.core.file_formats import FORMATS
from windrow.object_store.object_path import path_of
from windrow.plan.catalog import Destination, QueryDeclaration
from windrow.result_files.identity import QUERY

Changes = TypeVar("Changes", pa.Table, pa.RecordBatch)
AFTER = 2
"""The name stands behind ``instant`` and ``change``."""


def tables_among(queries: Iterable[QueryDeclaration]) -> dict[str, list[QueryDeclaration]]:
    """Queries that share a directory, by it."""
    places: dict[str, list[QueryDeclaration]] = {}
    for query in queries:
        if (place := place_of(query.into)) is not None:
            places.setdefault(place, []).append(query)
    return {place: sharing for place, sharing in places.items() if len(sharing) > 1}


def place_of(into: Destination | None) -> str | None:
    """The directory of results, if they go to files; the same however it is written."""
    if into is None or into.format not in FORMATS:
        return None
    return str(path_of(into.path).absolute())


def refuse_late(starting: Collection[str], queries: Iterable[QueryDeclaration]) -> None:
    """Refuse to start queries whose table is written by others already: a micro-batch of a table
    is one for all its queries."""
    for place, sharing in tables_among(queries).items():
        late = [query.name for query in sharing if query.name in starting]
        early = [query.name for query in sharing if query.name not in starting]
        if late and early:
            raise InputError(
                where=f"query {late[0]}",
                expected=f"a directory of its own, or the same script as {early[0]}",
                found=f"INTO '{place}', which {early[0]} writes into since it was started",
                remedy="queries of one table start together; name another directory",
            )


def with_query(changes: Changes, name: str) -> Changes:
    """Changes of a query as rows of a table."""
    return changes.add_column(AFTER, QUERY, pa.repeat(name, changes.num_rows))


def with_members(
    changes: pa.RecordBatch,
    member: Int64s,
    names: Mapping[int, str],
    schema: pa.Schema,
    places: Mapping[int, tuple[int, ...]] | None = None,
) -> pa.Table:
    """Changes of many queries, told apart by their numbers, as rows of a table; those of numbers
    without a name are left out. ``places`` says which columns are a query's, if not all are
    everybody's. Cost: a pass for each choice of columns, however many queries there are."""
    every = tuple(range(changes.num_columns))
    choices: dict[tuple[int, ...], list[int]] = {}
    for number in sorted(names):
        choices.setdefault(every if places is None else places[number], []).append(number)
    parts = [schema.empty_table()]
    for chosen, numbers in choices.items():
        known = np.array(numbers, np.int64)
        at = np.minimum(np.searchsorted(known, member), len(known) - 1)
        mine = np.flatnonzero(known[at] == member)
        if len(mine):
            texts = pa.array([names[number] for number in numbers]).take(pa.array(at[mine]))
            columns = [changes.column(place).take(pa.array(mine)) for place in chosen]
            arrays = [*columns[:AFTER], texts, *columns[AFTER:]]
            parts.append(pa.Table.from_arrays(arrays, schema=schema))
    return pa.concat_tables(parts)


def rows_of_query(table: pa.Table, name: str) -> pa.Table:
    """The rows of one query, as it would have them alone."""
    return table.filter(pc.equal(table[QUERY], name)).drop_columns([QUERY])


def codes_of_queries(table: pa.Table) -> Int64s:
    """A number for each row, the same for rows of the same query."""
    encoded = table[QUERY].combine_chunks()
    whole = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    codes: Int64s = whole.dictionary_encode().indices.to_numpy(zero_copy_only=False)
    return codes.astype(np.int64)
