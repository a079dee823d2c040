"""Tables with an index on the key, in DuckDB and in SQLite.

Rows come sorted by key within a day, the index is built after loading, statements are prepared, the
cache holds everything, and the oldest day is deleted by what is ordered anyway.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import duckdb
import pyarrow as pa

from benchmarks.archive_days import KEY, SCHEMA
from benchmarks.archive_stores import BY_KEY, TOTALS, PythonRows, Rows, Totals, totals_of


class DuckTable(Rows):
    """A table in a DuckDB file with an index on the key."""

    name = "DuckDB table, index"

    def __init__(self, path: Path, window: int) -> None:
        path.mkdir()
        self.path, self.share, self._window = path, 0.5, window
        self._file = path / "flows.duckdb"
        self._open: duckdb.DuckDBPyConnection | None = None
        self.connection.register("records", SCHEMA.empty_table())
        self.connection.execute("CREATE TABLE flows AS SELECT *, 0 AS day FROM records")

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        if self._open is None:
            self._open = duckdb.connect(str(self._file))
        return self._open

    def load(self, day: int, records: pa.Table) -> None:
        self.connection.register("records", records)
        self.connection.execute(f"INSERT INTO flows SELECT *, {day} FROM records")
        self.connection.unregister("records")

    def loaded(self, last: int) -> None:
        self.connection.execute(f"CREATE INDEX by_key ON flows({KEY})")
        self.connection.execute("CHECKPOINT")

    def advance(self, day: int, records: pa.Table) -> None:
        self.connection.execute("BEGIN")
        self.load(day, records)
        self.connection.execute(f"DELETE FROM flows WHERE day = {day - self._window}")
        self.connection.execute("COMMIT")

    def reclaim(self) -> None:
        self.connection.execute("CHECKPOINT")

    def open(self) -> None:
        self.connection.execute(f"PREPARE probe AS {BY_KEY.format('flows')} $1")

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
        self._open = None

    def rows(self, key: str) -> PythonRows:
        return self.connection.execute(f"EXECUTE probe('{key}')").fetchall()

    def arrow(self, key: str) -> pa.Table:
        return self.connection.sql(f"EXECUTE probe('{key}')").to_arrow_table()

    def use_threads(self, count: int) -> None:
        self.connection.execute(f"SET threads = {count}")

    def totals(self) -> Totals:
        return totals_of(self.connection.execute(TOTALS.format("flows")).fetchall())


class DuckSorted(DuckTable):
    """The same with the whole window in the order of the key; days that come are put after it."""

    name = "DuckDB table sorted by key, index"

    def loaded(self, last: int) -> None:
        self.connection.execute(f"CREATE TABLE sorted AS SELECT * FROM flows ORDER BY {KEY}, day")
        self.connection.execute("DROP TABLE flows")
        self.connection.execute("ALTER TABLE sorted RENAME TO flows")
        super().loaded(last)


class SqliteTable(Rows):
    """A table in a SQLite file with an index on the key; row numbers go up with days."""

    name = "SQLite table, index"

    def __init__(self, path: Path, window: int) -> None:
        path.mkdir()
        self.path, self.share, self._window = path, 1.0, window
        self._file, self._ends = path / "flows.sqlite", {0: 0}
        self._open: sqlite3.Connection | None = None
        self.create()

    def create(self) -> None:
        kinds = ("TEXT" if pa.types.is_string(f.type) else "INTEGER" for f in SCHEMA)
        columns = ", ".join(f"{n} {k}" for n, k in zip(SCHEMA.names, kinds, strict=True))
        self.connection.execute(f"CREATE TABLE flows (row INTEGER PRIMARY KEY, {columns})")

    @property
    def connection(self) -> sqlite3.Connection:
        if self._open is None:
            self._open = sqlite3.connect(self._file, isolation_level=None)
            self._open.execute("PRAGMA journal_mode = WAL")
            self._open.execute("PRAGMA synchronous = FULL")
            self._open.execute("PRAGMA cache_size = -1000000")
            self._open.execute("PRAGMA mmap_size = 16000000000")
        return self._open

    def load(self, day: int, records: pa.Table) -> None:
        self.connection.execute("BEGIN")
        self._insert(day, records)
        self.connection.execute("COMMIT")

    def _insert(self, day: int, records: pa.Table) -> None:
        start = self._ends[day - 1]
        self._ends[day] = start + len(records)
        insert = f"INSERT INTO flows VALUES ({', '.join('?' * (len(SCHEMA) + 1))})"
        for batch in records.to_batches(100_000):
            columns = [c.to_pylist() for c in batch.columns]
            rows = zip(range(start, start + len(batch)), *columns, strict=True)
            self.connection.executemany(insert, rows)
            start += len(batch)

    def loaded(self, last: int) -> None:
        self.connection.execute(f"CREATE INDEX by_key ON flows({KEY})")
        self.connection.execute("ANALYZE")

    def advance(self, day: int, records: pa.Table) -> None:
        self.connection.execute("BEGIN")
        self._insert(day, records)
        gone = self._ends[day - self._window]
        self.connection.execute("DELETE FROM flows WHERE row < ?", (gone,))
        self.connection.execute("COMMIT")

    def reclaim(self) -> None:
        self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def open(self) -> None:
        self._probe = f"{BY_KEY.format('flows')} ?"
        self.connection.execute("SELECT 1 FROM flows LIMIT 1").fetchall()

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
        self._open = None

    def rows(self, key: str) -> PythonRows:
        return self.connection.execute(self._probe, (key,)).fetchall()

    def totals(self) -> Totals:
        return totals_of(self.connection.execute(TOTALS.format("flows")).fetchall())


class SqliteClustered(SqliteTable):
    """Without row numbers: the table is the index, in the order of key, day and place."""

    name = "SQLite table, clustered by key"

    def create(self) -> None:
        kinds = ("TEXT" if pa.types.is_string(f.type) else "INTEGER" for f in SCHEMA)
        columns = ", ".join(f"{n} {k}" for n, k in zip(SCHEMA.names, kinds, strict=True))
        self.connection.execute(
            f"CREATE TABLE flows (row INTEGER, {columns}, PRIMARY KEY ({KEY}, row)) WITHOUT ROWID"
        )

    def loaded(self, last: int) -> None:
        self.connection.execute("ANALYZE")
