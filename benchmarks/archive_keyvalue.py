"""Days in stores of keys and values: LMDB and RocksDB.

A key is a source and a day, a value all records of that source on that day, packed with
``marshal``: of what Python has (struct, pickle, marshal by rows and by columns) it is the fastest
to unpack into rows. As stored an answer is the values as they lie there, found but not unpacked.
The keys of a day are kept under its number, so that forgetting a day deletes them without a search.
"""

from __future__ import annotations

import importlib
import marshal
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.archive_days import KEY, SCHEMA
from benchmarks.archive_stores import Rows, Totals

_DAY = struct.Struct(">H")
_END = b"\0"
"""After the source: no address has it, so none is the beginning of another."""
_PLACE = SCHEMA.names.index(KEY)


def pack_day(day: int, records: pa.Table) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values of a day's records, which come sorted by key."""
    rows = list(zip(*(c.to_pylist() for c in records.columns), strict=True))
    stamp, start = _DAY.pack(day), 0
    for stop in range(1, len(rows) + 1):
        if stop == len(rows) or rows[stop][_PLACE] != rows[start][_PLACE]:
            yield rows[start][_PLACE].encode() + _END + stamp, marshal.dumps(rows[start:stop])
            start = stop


def unpack_values(values: list[Any]) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for value in values:
        rows += marshal.loads(value)
    return rows


def add_totals(values: Iterator[Any]) -> Totals:
    """A store of packed values has to unpack all of them to add three up."""
    proto, size, packets = (SCHEMA.names.index(n) for n in ("proto", "bytes", "packets"))
    found: dict[str, list[int]] = {}
    for value in values:
        for row in marshal.loads(value):
            total = found.setdefault(row[proto], [0, 0, 0])
            total[0] += 1
            total[1] += row[size]
            total[2] += row[packets]
    return {name: tuple(numbers) for name, numbers in found.items()}


class Lmdb(Rows):
    """One read transaction and one cursor for all look-ups; values are views of the map."""

    name = "LMDB, a value per key and day"

    def __init__(self, path: Path, window: int) -> None:
        self._package = importlib.import_module("lmdb")
        self.path, self.share, self._window = path, 1.0, window
        self._env: Any = None
        self._cursor: Any = None

    @property
    def env(self) -> Any:
        if self._env is None:
            self._env = self._package.open(
                str(self.path), map_size=1 << 36, max_dbs=2, readahead=False
            )
            self._values = self._env.open_db(b"values")
            self._days = self._env.open_db(b"days")
        return self._env

    def load(self, day: int, records: pa.Table) -> None:
        with self.env.begin(write=True) as transaction:
            self._put(transaction, day, records)

    def _put(self, transaction: Any, day: int, records: pa.Table) -> None:
        packed = list(pack_day(day, records))
        with transaction.cursor(self._values) as cursor:
            cursor.putmulti(packed)
        keys = marshal.dumps([key for key, _ in packed])
        transaction.put(_DAY.pack(day), keys, db=self._days)

    def loaded(self, last: int) -> None: ...

    def advance(self, day: int, records: pa.Table) -> None:
        with self.env.begin(write=True) as transaction:
            self._put(transaction, day, records)
            gone = _DAY.pack(day - self._window)
            for key in marshal.loads(transaction.get(gone, db=self._days)):
                transaction.delete(key, db=self._values)
            transaction.delete(gone, db=self._days)

    def open(self) -> None:
        transaction = self.env.begin(buffers=True)
        self._cursor = transaction.cursor(self._values)

    def close(self) -> None:
        self._cursor = None
        if self._env is not None:
            self._env.close()
        self._env = None

    def probe(self, key: str) -> list[Any]:
        """Views of the values of a key: one descent, then a step for each day."""
        cursor, prefix = self._cursor, key.encode() + _END
        length, found = len(prefix), []
        if not cursor.set_range(prefix):
            return found
        for place, value in cursor:
            if place[:length] != prefix:
                break
            found.append(value)
        return found

    def rows(self, key: str) -> list[tuple[Any, ...]]:
        return unpack_values(self.probe(key))

    def unpack(self, answer: Any) -> list[tuple[Any, ...]]:
        return unpack_values(answer)

    def totals(self) -> Totals:
        self._cursor.first()
        return add_totals(self._cursor.iternext(keys=False, values=True))


class RocksDb(Rows):
    """All blocks in the cache, a Bloom filter, everything compacted after loading."""

    name = "RocksDB, a value per key and day"

    def __init__(self, path: Path, window: int) -> None:
        self._package = importlib.import_module("rocksdict")
        self.path, self.share, self._window = path, 0.5, window
        self._db: Any = None
        self._iterator: Any = None

    @property
    def db(self) -> Any:
        if self._db is None:
            package = self._package
            options = package.Options(raw_mode=True)
            options.create_if_missing(True)
            options.increase_parallelism(2)
            options.set_allow_mmap_reads(True)
            options.set_compression_type(package.DBCompressionType.none())
            blocks = package.BlockBasedOptions()
            blocks.set_block_cache(package.Cache(4 << 30))
            blocks.set_bloom_filter(10, False)
            options.set_block_based_table_factory(blocks)
            self._db = package.Rdict(str(self.path), options)
        return self._db

    def load(self, day: int, records: pa.Table) -> None:
        self._write(day, records, gone=None)

    def _write(self, day: int, records: pa.Table, gone: int | None) -> None:
        batch, keys = self._package.WriteBatch(raw_mode=True), []
        for key, value in pack_day(day, records):
            batch.put(b"v" + key, value)
            keys.append(key)
        batch.put(b"d" + _DAY.pack(day), marshal.dumps(keys))
        if gone is not None:
            place = b"d" + _DAY.pack(gone)
            for key in marshal.loads(self.db[place]):
                batch.delete(b"v" + key)
            batch.delete(place)
        sync = self._package.WriteOptions()
        sync.sync = True
        self.db.write(batch, sync)

    def loaded(self, last: int) -> None:
        self.reclaim()

    def advance(self, day: int, records: pa.Table) -> None:
        self._write(day, records, gone=day - self._window)

    def reclaim(self) -> None:
        self.db.flush()
        self.db.compact_range(None, None)

    def open(self) -> None:
        self._iterator = self.db.iter()

    def close(self) -> None:
        self._iterator = None
        if self._db is not None:
            self._db.close()
        self._db = None

    def probe(self, key: str) -> list[bytes]:
        iterator, prefix = self._iterator, b"v" + key.encode() + _END
        found = []
        iterator.seek(prefix)
        while iterator.valid() and iterator.key().startswith(prefix):
            found.append(iterator.value())
            iterator.next()
        return found

    def rows(self, key: str) -> list[tuple[Any, ...]]:
        return unpack_values(self.probe(key))

    def unpack(self, answer: Any) -> list[tuple[Any, ...]]:
        return unpack_values(answer)

    def totals(self) -> Totals:
        return add_totals(self._each())

    def _each(self) -> Iterator[bytes]:
        iterator = self._iterator
        iterator.seek(b"v")
        while iterator.valid():
            yield iterator.value()
            iterator.next()
