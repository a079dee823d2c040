"""Where days of records can be kept, ours and rivals', each behind the same few calls.

``load`` takes a day of the first window, in the way that is fastest, and ``loaded`` ends that.
``advance`` takes a day and forgets the oldest, durably; ``reclaim`` frees space where that is work
of its own. A look-up has three forms: ``probe`` answers as the store has it, as cheaply as it can;
``arrow`` with an Arrow table, ``rows`` with a list of tuples of Python values. ``unpack`` makes
rows of what ``probe`` gives, outside of what is timed, to compare answers.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from benchmarks.archive_days import KEY, SCHEMA
from windrow.archive.archive import Archive
from windrow.archive.format.run_ref import Format
from windrow.archive.wave.reader import Reader
from windrow.archive.wave.wave import TechniqueName

BY_KEY = f"SELECT {', '.join(SCHEMA.names)} FROM {{}} WHERE {KEY} ="
TOTALS = "SELECT proto, count(*), sum(bytes), sum(packets) FROM {} GROUP BY proto"
Totals = dict[str, tuple[int, ...]]
PythonRows = list[tuple[Any, ...]]


class Store(Protocol):
    """``share`` of the probes is what it is given: a slow one must not take all day.

    One that wants days sorted by key gets them so; the sorting, done once for all of them, is
    added to the time of each.
    """

    name: str
    path: Path
    share: float
    wants_sorted: bool

    def load(self, day: int, records: pa.Table) -> None: ...
    def loaded(self, last: int) -> None: ...
    def advance(self, day: int, records: pa.Table) -> None: ...
    def reclaim(self) -> None: ...
    def open(self) -> None: ...
    def close(self) -> None: ...
    def probe(self, key: str) -> Any: ...
    def arrow(self, key: str) -> pa.Table: ...
    def rows(self, key: str) -> PythonRows: ...
    def unpack(self, answer: Any) -> PythonRows: ...
    def use_threads(self, count: int) -> None: ...
    def totals(self) -> Totals: ...


class Windrow:
    """A wave index under WATA with four constituents.

    Packed at rest it is loaded day by day, so that it has the runs that it has after years; with
    packed shadows the first window is built at once.
    """

    def __init__(self, path: Path, window: int, form: Format, technique: TechniqueName) -> None:
        self.name = f"Windrow {form.title()}, {technique.removesuffix(' shadow')}"
        self.path, self.share = path, 1.0 if form == "arrow" else 0.2
        self.wants_sorted = False
        self._views = form == "arrow"  # what is found in Parquet has to be read
        self._day_by_day = technique == "packed at rest"
        self._archive = Archive.create(
            path, SCHEMA, KEY, window=window, scheme="WATA", n=4, technique=technique, format=form
        )
        self._reader: Reader | None = None

    def load(self, day: int, records: pa.Table) -> None:
        self._archive.append(day, records, now=day if self._day_by_day else None)

    def loaded(self, last: int) -> None:
        self._archive.advance(last)

    def advance(self, day: int, records: pa.Table) -> None:
        self._archive.append(day, records, now=day)

    def reclaim(self) -> None:
        self._archive.vacuum()

    def open(self) -> None:
        self._archive = Archive.open(self.path)
        self._reader = self._archive.reader()

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
        self._reader, self._archive = None, Archive.open(self.path)  # no run stays mapped

    @property
    def reader(self) -> Reader:
        assert self._reader is not None
        return self._reader

    def probe(self, key: str) -> Any:
        return self.reader.find(key) if self._views else self.reader.probe(key)

    def arrow(self, key: str) -> pa.Table:
        return self.reader.probe(key)

    def rows(self, key: str) -> PythonRows:
        return self.reader.rows(key)

    def unpack(self, answer: Any) -> PythonRows:
        table = answer.plain() if self._views else answer
        return list(zip(*(c.to_pylist() for c in table.columns), strict=True))

    def use_threads(self, count: int) -> None:
        pa.set_cpu_count(count)

    def totals(self) -> Totals:
        return self.reader.totals("proto", ["bytes", "packets"])

    def runs(self) -> int:
        return len(self.reader.sources())

    def bytes_per_record(self) -> float:
        """Of entries and directories together, over all that is held."""
        runs = [run for run, _ in self.reader.sources()]
        return sum(run.bytes for run in runs) / sum(run.rows for run in runs)


class Rows:
    """A store whose answers are Python rows, if it has nothing that is cheaper."""

    wants_sorted = True
    rows: Callable[[str], PythonRows]

    def probe(self, key: str) -> Any:
        return self.rows(key)

    def arrow(self, key: str) -> pa.Table:
        found = self.rows(key)
        columns = list(zip(*found, strict=True)) if found else [()] * len(SCHEMA)
        arrays = [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)]
        return pa.table(arrays, schema=SCHEMA)

    def unpack(self, answer: Any) -> PythonRows:
        return list(answer)

    def use_threads(self, count: int) -> None: ...

    def reclaim(self) -> None: ...


def totals_of(rows: list[tuple[Any, ...]]) -> Totals:
    return {str(proto): tuple(int(n) for n in numbers) for proto, *numbers in rows}


USUAL, PACKED, OURS_PARQUET = (
    "Windrow Arrow, packed at rest",
    "Windrow Arrow, packed",
    "Windrow Parquet, packed",
)
"""The first is what an archive is if nothing is said."""
OURS: dict[str, Callable[[Path, int], Windrow]] = {
    USUAL: lambda path, window: Windrow(path, window, "arrow", "packed at rest"),
    PACKED: lambda path, window: Windrow(path, window, "arrow", "packed shadow"),
    OURS_PARQUET: lambda path, window: Windrow(path, window, "parquet", "packed shadow"),
}
