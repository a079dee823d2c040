"""What a good engineer would take instead of a wave index: a partition for each day.

A new day is written sorted by key, in one go and durably; the oldest day is a file that is deleted.
That is a wave index with as many constituents as days, and nothing is ever rewritten. What it costs
is that a probe looks into every day.

    LMDB      an environment per day: word -> its records, packed in place; keys are appended in
              order, no read-ahead. Not for LINEITEM, where scans of a few columns are all there is
    DuckDB    a database file per day with a table in the order of the key; asked through one
              connection to which all days are attached
    Parquet   a file per day (zstd, row groups of 8,192 for probes), read by DuckDB
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from benchmarks.cold_cache import evict
from benchmarks.wave_days import CONTEXT, Data
from benchmarks.wave_measured import Spent, time_probes, time_scan

GROUP = 8_192
_POSTING = np.dtype([("article", "<i8"), ("place", "<i4"), ("context", f"S{CONTEXT}")])


class DayPartitions(ABC):
    """Days side by side below ``place``. Kinds differ in how they write and how they ask."""

    name = ""

    def __init__(self, data: Data, place: Path) -> None:
        self.data, self.place = data, place

    def path(self, day: int) -> Path:
        return self.place / f"day{day}"

    @abstractmethod
    def write(self, day: int, records: pa.Table) -> None: ...

    @abstractmethod
    def open(self, first: int, last: int) -> None:
        """Make ready to answer from these days."""

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def probe(self, key: object) -> Any:
        """The records with a key, as they lie or as cheaply as they come."""

    @abstractmethod
    def rows(self, key: object) -> list[tuple[Any, ...]]: ...

    @abstractmethod
    def scan(self, day: int) -> Any: ...

    def advance(self, day: int, records: pa.Table, gone: int | None) -> None:
        self.write(day, records)
        if gone is not None:
            if self.path(gone).is_dir():
                shutil.rmtree(self.path(gone))
            else:
                self.path(gone).unlink()
        sync_names(self.place)


def sync_names(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sorted_by_key(data: Data, records: pa.Table) -> pa.Table:
    return records.take(pc.sort_indices(records.column(data.key)))


class LmdbByDay(DayPartitions):
    """An environment per day; a value is the word's records, one after the other."""

    name = "LMDB by day"

    def __init__(self, data: Data, place: Path) -> None:
        super().__init__(data, place)
        self._package = importlib.import_module("lmdb")
        self._open: dict[int, Any] = {}

    def _environment(self, day: int, *, readonly: bool) -> Any:
        return self._package.open(
            str(self.path(day)), map_size=1 << 31, readahead=False, readonly=readonly, lock=False
        )

    def write(self, day: int, records: pa.Table) -> None:
        ordered = sorted_by_key(self.data, records).combine_chunks()
        word = ordered.column("word").combine_chunks().dictionary_encode()
        codes = word.indices.to_numpy()
        starts = np.concatenate([[0], np.flatnonzero(np.diff(codes)) + 1, [len(codes)]])
        packed = np.empty(len(ordered), _POSTING)
        packed["article"], packed["place"] = (
            ordered.column(n).to_numpy() for n in ("article", "place")
        )
        text = ordered.column("context").combine_chunks()
        packed["context"] = np.frombuffer(text.buffers()[2], f"S{CONTEXT}")[: len(ordered)]
        names = [name.encode() for name in word.dictionary.to_pylist()]
        spans = zip(names, starts[:-1], starts[1:], strict=True)
        environment = self._environment(day, readonly=False)
        with environment.begin(write=True) as transaction, transaction.cursor() as cursor:
            cursor.putmulti([(n, packed[a:b].tobytes()) for n, a, b in spans], append=True)
        environment.sync(True)
        environment.close()

    def open(self, first: int, last: int) -> None:
        environments = {d: self._environment(d, readonly=True) for d in range(first, last + 1)}
        self._open = {day: (e, e.begin(buffers=True)) for day, e in environments.items()}

    def close(self) -> None:
        for environment, transaction in self._open.values():
            transaction.abort()
            environment.close()
        self._open = {}

    def probe(self, key: object) -> list[Any]:
        name = str(key).encode()
        found = (transaction.get(name) for _, transaction in self._open.values())
        return [np.frombuffer(value, _POSTING) for value in found if value is not None]

    def rows(self, key: object) -> list[tuple[Any, ...]]:
        return [(key, a, p, c.decode()) for part in self.probe(key) for a, p, c in part.tolist()]

    def scan(self, day: int) -> tuple[int, ...]:
        _, transaction = self._open[day]
        seen = rows = article = place = 0
        for value in transaction.cursor().iternext(keys=False, values=True):
            part = np.frombuffer(value, _POSTING)
            seen = max(seen, int(np.frombuffer(value, np.uint8).max()))
            rows += len(part)
            article += int(part["article"].sum())
            place += int(part["place"].sum(dtype=np.int64))
        return seen, rows, article, place


class DuckByDay(DayPartitions):
    """A database per day, all attached to one connection."""

    name = "DuckDB file by day"

    def __init__(self, data: Data, place: Path) -> None:
        super().__init__(data, place)
        self._connection: Any = None

    def write(self, day: int, records: pa.Table) -> None:
        with duckdb.connect(str(self.path(day))) as connection:
            connection.register("records", records)
            connection.execute(f"CREATE TABLE t AS SELECT * FROM records ORDER BY {self.data.key}")
            connection.execute("CHECKPOINT")

    def open(self, first: int, last: int) -> None:
        connection = duckdb.connect()
        for day in range(first, last + 1):
            connection.execute(f"ATTACH '{self.path(day)}' AS day{day} (READ_ONLY)")
        self._prepare(connection, {day: f"day{day}.t" for day in range(first, last + 1)})

    def _prepare(self, connection: Any, sources: dict[int, str]) -> None:
        self._connection, self._sources = connection, sources
        self._whole = " UNION ALL ".join(f"SELECT * FROM {source}" for source in sources.values())
        key = self.data.key
        parts = (f"SELECT * FROM {source} WHERE {key} = $1" for source in sources.values())
        connection.execute(f"PREPARE probe AS {' UNION ALL '.join(parts)}")

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def probe(self, key: object) -> Any:
        return self._connection.sql(f"EXECUTE probe({key!r})").to_arrow_table()

    def rows(self, key: object) -> list[tuple[Any, ...]]:
        return self._connection.execute(f"EXECUTE probe({key!r})").fetchall()

    def scan(self, day: int) -> Any:
        sums = ", ".join(f"sum({name})" for name in self.data.summed)
        if self.data.by is not None:
            query = f"SELECT {self.data.by}, count(*), {sums} FROM ({self._whole}) GROUP BY ALL"
            found = self._connection.execute(query).fetchall()
            return {by: tuple(int(n) for n in numbers) for by, *numbers in found}
        texts = "max(context)"  # which has to look at all of them
        query = f"SELECT {texts}, count(*), {sums} FROM {self._sources[day]}"
        _, *numbers = self._connection.execute(query).fetchone()
        return (0, *(int(n) for n in numbers))


class ParquetByDay(DuckByDay):
    """A file per day."""

    name = "Parquet by day, DuckDB"

    def write(self, day: int, records: pa.Table) -> None:
        ordered = sorted_by_key(self.data, records)
        with self.path(day).open("wb") as file:
            parquet.write_table(ordered, file, compression="zstd", row_group_size=GROUP)
            os.fsync(file.fileno())

    def open(self, first: int, last: int) -> None:
        days = range(first, last + 1)
        self._prepare(duckdb.connect(), {day: f"read_parquet('{self.path(day)}')" for day in days})


def rivals_of(data: Data) -> dict[str, Callable[[Data, Path], DayPartitions]]:
    """Those that are installed; LMDB for look-ups only."""
    found: dict[str, Callable[[Data, Path], DayPartitions]] = {
        DuckByDay.name: DuckByDay,
        ParquetByDay.name: ParquetByDay,
    }
    if data.newest and importlib.util.find_spec("lmdb"):
        found[LmdbByDay.name] = LmdbByDay
    return found


def measure_rival(
    kind: Callable[[Data, Path], DayPartitions],
    data: Data,
    window: int,
    days: int,
    probes: float,
    scans: float,
) -> Spent:
    """The work of a day, as that of an archive is measured; answers are compared."""
    place = Path(tempfile.mkdtemp(prefix="windrow-rival-"))
    try:
        store = kind(data, place)
        for day in range(1, window + 1):
            store.advance(day, data.days[day], None)
        clock = processor = 0.0
        for day in range(window + 1, window + days + 1):
            evict(place)
            begun = Spent(time.perf_counter(), time.process_time())
            store.advance(day, data.days[day], day - window)
            clock += time.perf_counter() - begun.clock
            processor += time.process_time() - begun.processor
        last = window + days

        def cool() -> None:
            """Files are out of memory, and so is what a connection keeps."""
            store.close()
            store.open(last - window + 1, last)
            evict(place)

        store.open(last - window + 1, last)
        probe = time_probes(data.keys, store.probe, cool)
        scan = time_scan(lambda: store.scan(last), cool)
        _check(store, data, last - window + 1, last)
        store.close()
        return Spent(
            clock / days + probes * probe.clock + scans * scan.clock,
            processor / days + probes * probe.processor + scans * scan.processor,
        )
    finally:
        shutil.rmtree(place)


def _check(store: DayPartitions, data: Data, first: int, last: int) -> None:
    truth = data.records(first, last)
    for key in data.keys[:5]:
        expected = data.having(truth, key).to_pylist()
        found = store.rows(key)
        assert sorted(map(str, found)) == sorted(str(tuple(r.values())) for r in expected), key
    scanned = data.records(last, last) if data.by is None else truth
    wanted = [len(scanned), *(pc.sum(scanned.column(name)).as_py() for name in data.summed)]
    found = store.scan(last)
    lines = [found[1:]] if data.by is None else list(found.values())
    assert [sum(column) for column in zip(*lines, strict=True)] == wanted, (store.name, found)
