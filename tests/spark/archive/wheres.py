"""What the tests of conditions on archives share."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from datetime import UTC, datetime

import pyarrow as pa

from windrow.archive.archive import Archive

DAYS = range(1, 4)


def made(path, schema, key, rows, *, form="arrow"):
    """An archive that has the same rows on each of its days."""
    archive = Archive.create(path, schema, key, window=3, scheme="DEL", n=1, format=form)
    table = pa.Table.from_pylist(rows, schema)
    for day in DAYS:
        archive.append(day, table, now=day)
    return archive


def loaded(spark, archive, **options):
    return spark.read.format("windrow").options(**options).load(str(archive.disk.root))


def bag(rows) -> Counter:
    """Rows by their looks: a NaN is a NaN."""
    return Counter(str(tuple(row)) for row in rows)


def plan_of(frame) -> str:
    return frame._jdf.queryExecution().explainString(
        frame.sparkSession._jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted")
    )


def pushed(frame) -> list[str]:
    return [line for line in plan_of(frame).splitlines() if line.startswith("PushedFilters")]


@contextmanager
def setting(spark, name, value):
    before = spark.conf.get(name)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.set(name, before)


def at(hour: int, micros: int = 0, zone=None) -> datetime:
    return datetime(2026, 3, 8, hour, 30, 0, micros, zone)  # a night without a half past two


TWICE = [datetime(2025, 10, 26, h, m, tzinfo=UTC) for h, m in ((0, 10), (0, 40), (1, 10), (1, 40))]


ROWS = [{"src": f"host{n % 50}", "port": n % 7, "inner": {"x": n, "y": str(n)}} for n in range(400)]
SCHEMA = pa.schema(
    [
        ("src", pa.string()),
        ("port", pa.int32()),
        ("inner", pa.struct([("x", pa.int64()), ("y", pa.string())])),
    ]
)


def hosts(path):
    """An archive of fifty hosts, eight rows of each a day."""
    return made(path, SCHEMA, "src", ROWS)
