"""An archive as a table that DuckDB asks for columns and rows.

DuckDB hands its choice of columns and the conditions on them to a dataset of Arrow; so a condition
on the key goes to the index, one on ``_day`` to the days, and of the rest only the columns are read
that a query names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from windrow.archive.format.layout import DAY, Layout
from windrow.archive.lifetimes.reader import LifetimeReader
from windrow.archive.versions.condition_pruning import satisfiable
from windrow.archive.wave.reader import Reader
from windrow.cli.archive.times import Times
from windrow.core.errors import WindrowError


class Entries(ds.Dataset):  # type: ignore[misc]
    """The entries of a version, from one period to another."""

    def __init__(
        self,
        reader: Reader | LifetimeReader,
        layout: Layout,
        times: Times,
        bounds: tuple[int | None, int | None],
    ) -> None:
        self._reader, self._times, self._bounds = reader, times, bounds
        self._plain = times.add_stamps(layout.reader_schema({}).empty_table()).schema
        self._names = self._plain.names
        self.failure: WindrowError | None = None
        """What went wrong while it was read, which engines tell in words of their own."""

    @property
    def schema(self) -> pa.Schema:
        return self._plain

    def scanner(
        self,
        columns: Sequence[str] | None = None,
        filter: pc.Expression | None = None,  # noqa: A002 - as Arrow calls it
        **_: Any,
    ) -> ds.Scanner:
        """What satisfies the filter."""
        wanted = list(self._names if columns is None else columns)
        words = str(filter)  # names all columns that it is about, and perhaps others
        names = [n for n in self._names if n in wanted or (filter is not None and n in words)]
        first, last = self._bounds
        if filter is None:
            batches = self._reader.batches(first, last, columns=names)
        else:
            first, last = self._days(filter, first, last)
            batches = self._reader.batches_matching(
                filter, first, last, columns=names, schema=self._plain
            )
        return ds.Scanner.from_batches(
            self._add_stamps(batches),
            schema=self._types(names),
            columns=wanted,
            filter=filter,
        )

    def _add_stamps(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            for batch in batches:
                yield from self._times.add_stamps(pa.Table.from_batches([batch])).to_batches()
        except WindrowError as error:
            self.failure = error
            raise

    def _days(
        self, condition: pc.Expression, first: int | None, last: int | None
    ) -> tuple[int | None, int | None]:
        """The days that a condition is about."""
        if isinstance(self._reader, LifetimeReader) or DAY not in str(condition):
            return first, last
        days = self._reader.days
        stamps = self._times.add_stamps(pa.table({DAY: pa.array(days, pa.int32())})).column(DAY)
        possible = satisfiable(condition, self._plain, [pc.field(DAY) == stamp for stamp in stamps])
        left = [day for day, may in zip(days, possible, strict=True) if may]
        if not left:
            return 1, 0
        return (
            left[0] if first is None else max(first, left[0]),
            left[-1] if last is None else min(last, left[-1]),
        )

    def _types(self, names: Sequence[str]) -> pa.Schema:
        """As the reader gives them: what repeats is dictionary-encoded."""
        empty = self._reader.probe([], columns=names)
        return self._times.add_stamps(empty).schema
