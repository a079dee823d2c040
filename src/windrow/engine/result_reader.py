"""Results read back, by what is committed: never part of a micro-batch, whoever writes meanwhile.

Compaction moves changes to other files but keeps their order. So a reader that finds a file gone
looks again at what is committed, and goes on behind the last change that it has read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from windrow.core.errors import StateError
from windrow.engine.compacted import Segment
from windrow.engine.identity import INSTANT
from windrow.engine.published import Published, published_results
from windrow.engine.result_files import in_order, read_file
from windrow.engine.results import cancel_pairs


@dataclass(frozen=True)
class Reading:
    """A directory of results, its format and the columns of its changes."""

    directory: Path
    format: str
    schema: pa.Schema

    def tables(
        self,
        after: int | None = None,
        upto: int | None = None,
        since: int | None = None,
        state: Published | None = None,
    ) -> Iterator[pa.Table]:
        """The changes of micro-batches after ``after`` and up to ``upto``, from instant ``since``.

        ``state`` is what is committed, if that is known.
        """
        return (table for _, table in self.parts(after, upto, since, state))

    def parts(
        self,
        after: int | None = None,
        upto: int | None = None,
        since: int | None = None,
        state: Published | None = None,
    ) -> Iterator[tuple[int, pa.Table]]:
        """The same, each with the last micro-batch that it is of."""
        state = published_results(self.directory) if state is None else state
        done = max(-1 if after is None else after, state.forgotten)
        last = state.last if upto is None else upto
        while True:
            try:
                for segment in state.segments:
                    if segment.last <= done or segment.first > last:
                        continue
                    if since is None or segment.now is None or segment.now >= since:
                        table = self._part(segment, done, last)
                        if table.num_rows:
                            until = min(segment.last, last)
                            yield until, table if since is None else _from(table, since)
                    done = min(segment.last, last)
            except FileNotFoundError as error:
                before, state = state, published_results(self.directory)
                if state == before:
                    raise _missing(self.directory, error) from error
                if state.run != before.run:
                    raise _replaced_error(self.directory) from error
            else:
                return

    def _part(self, segment: Segment, after: int, upto: int) -> pa.Table:
        table = self.whole(segment)
        if segment.first > after and segment.last <= upto:
            return table
        marks = segment.marks(self.directory)
        before = sum(rows for batch, rows in marks if batch <= after)
        return table.slice(before, sum(rows for batch, rows in marks if after < batch <= upto))

    def whole(self, segment: Segment) -> pa.Table:
        """All changes of a segment, in order, those that cancel inside an instant left out."""
        parts = [read_file(self.directory / n, self.format, self.schema) for n in segment.files]
        table = pa.concat_tables(parts or [self.schema.empty_table()])
        return cancel_pairs(in_order(table)) if segment.single else table


def _from(table: pa.Table, since: int) -> pa.Table:
    return table.filter(pc.greater_equal(table[INSTANT].cast(pa.int64()), since))


def _missing(directory: Path, error: FileNotFoundError) -> StateError:
    return StateError(
        where=str(directory),
        expected="the files that its commits name",
        found=f"no {Path(str(error.filename or error)).name}",
        remedy="restore the directory, or run the script from the beginning into another one",
    )


def _replaced_error(directory: Path) -> StateError:
    return StateError(
        where=str(directory),
        expected="the results that were there when reading began",
        found="those of another run, which has replaced them meanwhile",
        remedy="read them again",
    )
