"""Stores of records with lifetimes: ours, the paper's baseline without an index, and others'.

    LMDB               a value for each key and update: its records, one after the other; an update
                       adds values, and deletes those of the update whose last record has expired
    DuckDB table       one table; each update inserts, deletes what has expired, and checkpoints
    Parquet by update  a file for each update, sorted by key, read by DuckDB; a file is deleted
                       when its last record has expired
    no index           the partitions of a grid as plain files, a touched one written anew without
                       its dead (4.3): probes and scans both read everything

All are durable when ``insert`` returns. Answers are the records that live at ``now``.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from benchmarks import doubly_partitioned_laps as laps
from benchmarks.doubly_partitioned_laps import KEYS, PAYLOAD, SCHEMA, TICKS
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.lifetimes.partition_grid import Axis, Grid, Periods

_RECORD = np.dtype([("expiry", "<i8"), ("id", "<i8"), ("text", f"S{PAYLOAD}")])


class LifetimeStore(Protocol):
    """``probe`` and ``scan`` answer in the store's own form; ``ids`` says which records it has."""

    def insert(self, now: int, records: pa.Table, expiries: pa.Array) -> None: ...
    def probe(self, key: int) -> Any: ...
    def scan(self) -> Any: ...
    def consume(self, answer: Any) -> object: ...
    def ids(self, answer: Any) -> np.ndarray: ...
    def close(self) -> None: ...


class ArrowAnswers:
    """A store that answers with Arrow tables."""

    def consume(self, answer: pa.Table) -> object:
        return laps.consume(answer)

    def ids(self, answer: pa.Table) -> np.ndarray:
        return laps.ids(answer)

    def close(self) -> None: ...


class Ours(ArrowAnswers):
    """A ``LifetimeIndex``; its reader is opened by the first query after an update."""

    def __init__(self, place: Path, grid: Grid) -> None:
        self._index = LifetimeIndex.create(
            place, SCHEMA, "key", longest=laps.PERIODS * TICKS, interval=TICKS, grid=grid
        )
        self._reader: Any = None

    def insert(self, now: int, records: pa.Table, expiries: pa.Array) -> None:
        self.close()
        self._index.insert(now, records, expiries)
        self._index.vacuum()

    @property
    def reader(self) -> Any:
        self._reader = self._reader or self._index.reader()
        return self._reader

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
        self._reader = None

    def probe(self, key: int) -> pa.Table:
        return self.reader.probe(key)

    def scan(self) -> pa.Table:
        return self.reader.scan()


class Unindexed(ArrowAnswers):
    """Partitions of a grid as files without order; those that an update touches are rewritten."""

    def __init__(self, place: Path, grid: Grid) -> None:
        place.mkdir()
        self._place, self._grid = place, grid
        self._periods = Periods(laps.PERIODS * TICKS, TICKS)
        self._now = 0

    def _path(self, number: int) -> Path:
        return self._place / f"{number}.arrow"

    def insert(self, now: int, records: pa.Table, expiries: pa.Array) -> None:
        self._now, grid, periods = now, self._grid, self._periods
        inserted, count = periods.of(now), periods.count
        columns = periods.of_each(expiries.to_numpy())
        place = np.array(
            [
                grid.assignment.partition(period, grid.expiries, count, Axis.EXPIRY)
                for period in range(columns.min(), columns.max() + 1)
            ]
        )[columns - columns.min()]
        rows = records.append_column("expiry", expiries)
        row = grid.row(inserted, periods)
        for number in {*row, *grid.column(periods.over(now), periods)}:
            parts = [self._live(number)] if self._path(number).exists() else []
            if number in row:
                parts.append(rows.filter(pa.array(place == row.index(number))))
            self._write(number, pa.concat_tables(parts) if parts else rows.slice(0, 0))
        handle = os.open(self._place, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)

    def _write(self, number: int, rows: pa.Table) -> None:
        new = self._place / "new"
        with new.open("wb") as file:
            with pa.ipc.new_file(file, rows.schema) as writer:
                writer.write_table(rows)
            file.flush()
            os.fsync(file.fileno())
        new.rename(self._path(number))

    def _live(self, number: int) -> pa.Table:
        rows = pa.ipc.open_file(pa.memory_map(str(self._path(number)))).read_all()
        return rows.filter(pc.greater(rows.column("expiry"), self._now))

    def scan(self) -> pa.Table:
        files = (n for n in range(self._grid.size) if self._path(n).exists())
        return pa.concat_tables([self._live(number) for number in files])

    def probe(self, key: int) -> pa.Table:
        found = self.scan()
        return found.filter(pc.equal(found.column("key"), key))


class Lmdb:
    """A value for each key and update, of records of one length."""

    def __init__(self, place: Path) -> None:
        package = importlib.import_module("lmdb")
        self._environment = package.open(str(place), map_size=1 << 33, readahead=False)
        self._now, self._transaction = 0, None

    def insert(self, now: int, records: pa.Table, expiries: pa.Array) -> None:
        self.close_reading()
        self._now, number = now, now // TICKS
        packed = np.empty(len(records), _RECORD)
        packed["expiry"], packed["id"] = expiries.to_numpy(), records.column("id").to_numpy()
        text = records.column("text").combine_chunks().buffers()[2]
        packed["text"] = np.frombuffer(text, f"S{PAYLOAD}")[: len(records)]
        keys = records.column("key").to_numpy()
        order = np.argsort(keys, kind="stable")
        packed, keys = packed[order], keys[order]
        bounds = np.searchsorted(keys, np.arange(KEYS + 1))
        with self._environment.begin(write=True) as transaction:
            for key in range(KEYS):
                low, high = bounds[key], bounds[key + 1]
                if low < high:
                    transaction.put(_name(key, number), packed[low:high].tobytes())
                transaction.delete(_name(key, number - laps.PERIODS))
        self._environment.sync(True)

    def close_reading(self) -> None:
        if self._transaction is not None:
            self._transaction.abort()
        self._transaction = None

    def close(self) -> None:
        self.close_reading()
        self._environment.close()

    def _cursor(self) -> Any:
        self._transaction = self._transaction or self._environment.begin(buffers=True)
        return self._transaction.cursor()

    def _live(self, value: Any) -> np.ndarray:
        records = np.frombuffer(value, _RECORD)
        return records[records["expiry"] > self._now]

    def probe(self, key: int) -> list[np.ndarray]:
        cursor, prefix, found = self._cursor(), _name(key, 0)[:4], []
        if cursor.set_range(prefix):
            for name, value in cursor:
                if name[:4] != prefix:
                    break
                found.append(self._live(value))
        return found

    def scan(self) -> list[np.ndarray]:
        return [self._live(value) for value in self._cursor().iternext(keys=False, values=True)]

    def consume(self, answer: list[np.ndarray]) -> object:
        return max(int(np.frombuffer(part, np.uint8).max(initial=0)) for part in answer)

    def ids(self, answer: list[np.ndarray]) -> np.ndarray:
        return np.sort(np.concatenate([part["id"] for part in answer]))


def _name(key: int, number: int) -> bytes:
    return key.to_bytes(4, "big") + (number % (1 << 32)).to_bytes(4, "big")


class DuckTable(ArrowAnswers):
    """One table in a DuckDB file."""

    def __init__(self, place: Path) -> None:
        self._connection = duckdb.connect(str(place))
        self._connection.execute(
            "CREATE TABLE t (key INTEGER, id BIGINT, text VARCHAR, expiry BIGINT)"
        )
        self._now = 0

    def insert(self, now: int, records: pa.Table, expiries: pa.Array) -> None:
        self._now = now
        self._connection.register("new", records.append_column("expiry", expiries))
        self._connection.execute("BEGIN")
        self._connection.execute("INSERT INTO t SELECT * FROM new ORDER BY key")
        self._connection.execute(f"DELETE FROM t WHERE expiry <= {now}")
        self._connection.execute("COMMIT")
        self._connection.execute("CHECKPOINT")
        self._connection.unregister("new")

    def _ask(self, where: str) -> pa.Table:
        return self._connection.sql(f"SELECT * FROM t WHERE {where}").to_arrow_table()

    def probe(self, key: int) -> pa.Table:
        return self._ask(f"key = {key}")

    def scan(self) -> pa.Table:
        return self._ask("true")

    def close(self) -> None:
        self._connection.close()


class ParquetByUpdate(ArrowAnswers):
    """A file for each update, sorted by key."""

    def __init__(self, place: Path) -> None:
        place.mkdir()
        self._place, self._connection, self._now = place, duckdb.connect(), 0
        self._connection.execute("SET parquet_metadata_cache = true")

    def insert(self, now: int, records: pa.Table, expiries: pa.Array) -> None:
        self._now = now
        rows = records.append_column("expiry", expiries).sort_by("key")
        with (self._place / f"{now}.parquet").open("wb") as file:
            parquet.write_table(rows, file, compression="zstd", row_group_size=1_024)
            os.fsync(file.fileno())
        (self._place / f"{now - laps.PERIODS * TICKS}.parquet").unlink(missing_ok=True)

    def _ask(self, where: str) -> pa.Table:
        source = f"read_parquet('{self._place}/*.parquet')"
        query = f"SELECT * FROM {source} WHERE expiry > {self._now} AND {where}"
        return self._connection.sql(query).to_arrow_table()

    def probe(self, key: int) -> pa.Table:
        return self._ask(f"key = {key}")

    def scan(self) -> pa.Table:
        return self._ask("true")

    def close(self) -> None:
        self._connection.close()


def rivals() -> dict[str, Callable[[Path], LifetimeStore]]:
    """Those that are installed."""
    found: dict[str, Callable[[Path], LifetimeStore]] = {
        "DuckDB table": DuckTable,
        "Parquet by update, DuckDB": ParquetByUpdate,
    }
    if importlib.util.find_spec("lmdb"):
        found["LMDB, a value per key and update"] = Lmdb
    return found


PROBES, SCANS = 10, 1
"""Queries between two updates, for the work that stores are compared by."""


def race_stores(
    makers: dict[str, Callable[[Path], LifetimeStore]], rate: int, measured: int, seed: int
) -> dict[str, dict[str, float]]:
    """All stores in turns, update by update, by the clock; the last ``measured`` updates count."""
    laps_of = {name: laps.Lap() for name in makers}
    rates = laps.steady(rate, measured)
    keys = np.random.default_rng(seed + 1).integers(0, KEYS, len(rates)).tolist()
    plain = laps.Plain()
    with tempfile.TemporaryDirectory(prefix="windrow-stores-") as home:
        stores = {
            name: make(Path(home) / f"{number}")
            for number, (name, make) in enumerate(makers.items())
        }
        for number, (now, records, expiries) in enumerate(laps.batches(rates, seed)):
            plain.add(records, expiries)
            counts = number >= len(rates) - measured
            for name in laps.turn(list(stores), number):
                began = time.perf_counter()
                stores[name].insert(now, records, expiries)
                if counts:
                    laps_of[name].update.append(time.perf_counter() - began)
                    _ask(name, stores[name], laps_of[name], keys[number], plain, now)
        for store in stores.values():
            store.close()
    return {name: _summary(lap) for name, lap in laps_of.items()}


def _ask(
    name: str, store: LifetimeStore, lap: laps.Lap, key: int, plain: laps.Plain, now: int
) -> None:
    store.probe((key + 1) % KEYS)  # files are open, and the code is warm
    began = time.perf_counter()
    probed = store.probe(key)
    store.consume(probed)
    lap.probe.append(time.perf_counter() - began)
    began = time.perf_counter()
    scanned = store.scan()
    store.consume(scanned)
    lap.scan.append(time.perf_counter() - began)
    same = np.array_equal(store.ids(scanned), plain.live(now))
    if not same or not np.array_equal(store.ids(probed), plain.live(now, key)):
        raise AssertionError(f"{name} answers differently from the plain list")


def _summary(lap: laps.Lap) -> dict[str, float]:
    found = {
        **laps.of_laps("update_ms", lap.update, np.mean),
        **laps.of_laps("probe_ms", lap.probe, np.median),
        **laps.of_laps("scan_ms", lap.scan, np.median),
    }
    work = found["update_ms"] + PROBES * found["probe_ms"] + SCANS * found["scan_ms"]
    return {**found, "work_ms": work}
