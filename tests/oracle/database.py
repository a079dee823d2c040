"""An empty DuckDB for each question: a transaction in one database that is never committed.

A database of its own takes longer to start than most questions take to answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import duckdb


@cache
def _database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


@contextmanager
def empty_database() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that sees no table but those that it makes."""
    with _database().cursor() as db:
        db.execute("SET error_on_division_by_zero = false; SET threads = 1")
        db.execute("BEGIN")
        try:
            yield db
        finally:
            db.execute("ROLLBACK")
