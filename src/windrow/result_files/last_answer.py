"""The last answer of published results, from a snapshot of it and what has changed since.

A snapshot is itself a file of changes: those that make the answer out of nothing, or, of a stream,
its last ones. Queries that share a selection have their rows in one directory, told apart by the
number in front; a row with its number is one row of the answer to all of them.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from windrow.core.errors import StateError
from windrow.object_store.object_path import ObjectPath
from windrow.plan.nodes.routed import MEMBER
from windrow.result_files import atomic_files as files
from windrow.result_files.change_table import Bag
from windrow.result_files.commits import Published, Snapshot
from windrow.result_files.identity import CHANGE, INSTANT, Identity
from windrow.result_files.query_table import codes_of_queries
from windrow.result_files.reader import Reading, missing_file, published_results, read_file

LAST_ROWS = 10
"""Changes of a stream that are shown when a run ends."""


@dataclass(frozen=True)
class Answer:
    """``rows`` make the answer of micro-batch ``batch``, and ``read`` changes were gone through."""

    rows: pa.Table
    batch: int
    read: int


def last_answer(
    directory: Path, identity: Identity, state: Published | None = None, upto: int | None = None
) -> Answer:
    """The rows of the relation; of a stream, its last ones, those of each member. ``upto`` is the
    micro-batch after which they were so, if that is not the last."""
    state = published_results(directory) if state is None else state
    reading = Reading(directory, identity.format, identity.schema)
    while True:
        known = _snapshot_for(state, upto)
        kept = _Tail(identity) if identity.stream else Bag(identity.schema)
        read = 0
        try:
            if known is not None:
                kept.add(read_file(directory / known.file, "parquet", identity.schema))
            after = state.forgotten_through if known is None else known.batch
            for table in reading.tables(after, upto, state=state):
                kept.add(table)
                read += table.num_rows
        except FileNotFoundError as error:  # a snapshot that has been replaced
            before, state = state, published_results(directory)
            if state == before:
                raise missing_file(directory, error) from error
        else:
            return Answer(kept.table(), state.last if upto is None else upto, read)


def _snapshot_for(state: Published, upto: int | None) -> Snapshot | None:
    """The snapshot to begin with; None: with the first change. One that is of a later micro-batch
    than is asked for does not help."""
    known = None if state.compacted is None else state.compacted.snapshot
    if known is None or upto is None or known.batch <= upto:
        return known
    if state.forgotten_through >= 0:
        raise StateError(
            "the answer was asked for as of a micro-batch whose changes are gone",
            where=str(state.directory),
            expected=f"the answer after micro-batch {known.batch} or a later one",
            found=f"micro-batch {upto}",
            remedy="ask again when the run has gone on",
        )
    return None


def write_snapshot(directory: Path, identity: Identity, answer: Answer) -> Snapshot:
    """Write an answer down as changes; it counts when a record names it."""
    rows = answer.rows
    if not identity.stream:
        instant = pa.nulls(rows.num_rows, identity.schema.field(INSTANT).type)
        change = pa.array(["+"] * rows.num_rows, pa.string())
        rows = pa.table([instant, change, *rows.columns], schema=identity.schema)
    own = f"-{uuid.uuid4().hex}" if isinstance(directory, ObjectPath) else ""
    name = f"_answer-{answer.batch:08d}{own}.parquet"
    hidden = directory / f".{name}"
    files.write(hidden, lambda path: pyarrow.parquet.write_table(rows, path, compression="zstd"))
    files.rename(hidden, directory / name)
    return Snapshot(answer.batch, name, rows.num_rows)


class _Tail:
    """The last changes of a stream, of each member or query if there are several."""

    def __init__(self, identity: Identity) -> None:
        self._table, self._kept = identity.table, identity.schema.empty_table()

    def add(self, changes: pa.Table) -> None:
        whole = pa.concat_tables([self._kept, changes])
        if MEMBER in whole.schema.names:
            whole = whole.take(pa.array(_last_of_each(whole[MEMBER].to_numpy())))
        elif self._table:
            whole = whole.take(pa.array(_last_of_each(codes_of_queries(whole))))
        else:
            whole = whole.slice(max(whole.num_rows - LAST_ROWS, 0))
        self._kept = whole.combine_chunks()

    def table(self) -> pa.Table:
        return self._kept


def _last_of_each(member: np.ndarray) -> np.ndarray:
    """Where the last rows of each member stand, in order."""
    order = np.argsort(member, kind="stable")
    ordered = member[order]
    _, starts, counts = np.unique(ordered, return_index=True, return_counts=True)
    behind = np.repeat(starts + counts, counts) - np.arange(len(ordered))
    return np.sort(order[behind <= LAST_ROWS])


__all__ = ["CHANGE", "LAST_ROWS", "Answer", "last_answer", "write_snapshot"]
