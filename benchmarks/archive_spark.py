"""The archive on Spark: built and advanced by tasks, and scanned, beside plain Parquet.

Days of eight columns, strings among them, are made by Spark and written as plain Parquet, Spark's
default. An archive of Arrow runs and one of Parquet runs take them in day by day (WATA, packed at
rest) until the window is full, and then some days more. They are read by ``archive.read``, and
those of Parquet, which are left to Spark's own reader, by ``spark.read`` as well. A scan of the
whole window reads every column and adds up, another reads one column, and a third has a condition
on the key; the plain files of the same days are read by Spark's own reader, in turns with the
archives, and the sums must be the same. Two cores, 2 GB for the driver.

The last line is the time of the plain scan of every column over that of Parquet runs by
``spark.read``: 0.77 is 1.3 times as long.
"""

from __future__ import annotations

import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.report import finish, median, quick_asked, save, say, table
from benchmarks.spark_rival import rival_session
from windrow.archive.archive import Archive
from windrow.spark.archive import append, read, register

from pyspark.sql import DataFrame, SparkSession  # isort: skip (Java is looked for above)
from pyspark.sql import functions as sf  # isort: skip

FORMATS = ("arrow", "parquet")
COLUMNS = {
    "src": "concat('10.', id_a % 200, '.', id_a div 200 % 250, '.7')",
    "dst": "concat('192.168.', id_b % 250, '.', id_b div 250 % 250)",
    "proto": "element_at(array('tcp', 'udp', 'icmp'), cast(id_b % 3 + 1 as int))",
    "port": "cast(id_b % 60000 as int)",
    "bytes": "id_b % 1500000",
    "packets": "cast(id_b % 1500 as int)",
    "ratio": "id_b % 1024 / 1024.0d",
    "at": "timestamp_micros(day * 86400000000 + id * 17)",
}
SCHEMA = pa.schema(
    [
        ("src", pa.string()),
        ("dst", pa.string()),
        ("proto", pa.string()),
        ("port", pa.int32()),
        ("bytes", pa.int64()),
        ("packets", pa.int32()),
        ("ratio", pa.float64()),
        ("at", pa.timestamp("us", "UTC")),
    ]
)
SUMS = (
    "count(1)", "sum(length(src))", "sum(length(dst))", "sum(length(proto))", "sum(port)",
    "sum(bytes)", "sum(packets)", "sum(ratio)", "sum(unix_micros(at) % 1000003)",
)  # fmt: skip
"""Every value of every column; ratios are multiples of a power of two, so their sum is exact."""
SCAN, LOADED = "every column", "parquet, load"
QUESTIONS: dict[str, Callable[[DataFrame], DataFrame]] = {
    SCAN: lambda frame: frame.agg(*map(sf.expr, SUMS)),
    "one column": lambda frame: frame.agg(sf.sum("bytes")),
    "one source": lambda frame: frame.where("src = '10.7.3.7'").agg(*map(sf.expr, SUMS)),
}


@dataclass(frozen=True)
class Sizes:
    """``more`` days come after the window is full."""

    rows: int = 5_000_000
    window: int = 10
    more: int = 2
    n: int = 4
    rounds: int = 5

    @property
    def days(self) -> range:
        return range(1, self.window + self.more + 1)


QUICK = Sizes(rows=1_400_000, window=2, more=1, n=2, rounds=3)


def day_of(spark: SparkSession, day: int, rows: int) -> DataFrame:
    """The records of a day: a few sources have most of them."""
    chance = f"pmod(xxhash64(id, {day}L), 1000003)"
    skewed = f"cast(power({chance} / 1000003.0d, 3) * 50000 as bigint)"
    ids = spark.range(rows).selectExpr(
        "id",
        f"{day}L as day",
        f"{skewed} as id_a",
        f"pmod(xxhash64(id, {day}L, 7), 1000000007) as id_b",
    )
    return ids.selectExpr(*(f"{text} as {name}" for name, text in COLUMNS.items()))


def main(argv: list[str] | None = None) -> None:
    quick = quick_asked("archive_spark", __doc__ or "", argv)
    sizes = QUICK if quick else Sizes()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # tasks need this package
    with rival_session(**{"spark.driver.memory": "2g"}) as spark:
        results = measured(spark, sizes)
    if not quick:
        save("archive_spark", {"sizes": asdict(sizes), **results})
    finish(results["scan_ratio"][LOADED])


def measured(spark: SparkSession, sizes: Sizes) -> dict[str, Any]:
    """Build both archives, then scan; says so as it goes."""
    home = Path(tempfile.mkdtemp(prefix="windrow-archive-spark-"))
    try:
        for day in sizes.days:
            day_of(spark, day, sizes.rows).write.parquet(str(home / f"plain/{day}"))
        built = {form: build(spark, home, form, sizes) for form in FORMATS}
        return {"built": built, **scanned(spark, home, sizes)}
    finally:
        shutil.rmtree(home, ignore_errors=True)


def build(spark: SparkSession, home: Path, form: Any, sizes: Sizes) -> dict[str, float]:
    """Append and advance day by day."""
    archive = Archive.create(
        home / form, SCHEMA, "src", window=sizes.window, scheme="WATA", n=sizes.n, format=form
    )
    taken = []
    for day in sizes.days:
        frame = spark.read.parquet(str(home / f"plain/{day}"))
        begin = time.perf_counter()
        append(frame, archive, day, now=day)
        taken.append(time.perf_counter() - begin)
        archive.vacuum()
    stat = archive.stat()
    found = {
        "rows": stat.entries,
        "bytes": stat.bytes,
        "first_day_s": taken[0],
        "median_day_s": median(taken),
        "rows_per_s": sizes.rows * len(taken) / sum(taken),
        "driver_python_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }
    say(
        f"{form} runs: {len(taken)} days of {sizes.rows:,} rows, {median(taken):.1f} s a day "
        f"({found['rows_per_s']:,.0f} rows/s), {stat.bytes / 2**20:,.0f} MiB"
    )
    return found


def scanned(spark: SparkSession, home: Path, sizes: Sizes) -> dict[str, Any]:
    """Questions to all of them in turns; the answers must be the same."""
    days = sizes.days[-sizes.window :]
    plain = [str(home / f"plain/{day}") for day in days]
    register(spark)
    ways: dict[str, Callable[[], DataFrame]] = {
        "plain": lambda: spark.read.parquet(*plain),
        "parquet": lambda: read(spark, home / "parquet"),
        LOADED: lambda: spark.read.format("windrow").load(str(home / "parquet")),
        "arrow": lambda: read(spark, home / "arrow"),
    }
    rows = sizes.rows * sizes.window
    found: dict[str, Any] = {"scan_s": {}, "scan_median_s": {}}
    for asked, question in QUESTIONS.items():
        answers = {name: question(frame()).first() for name, frame in ways.items()}  # a warm-up
        if len(set(answers.values())) != 1 or (asked == SCAN and answers["plain"][0] != rows):
            raise AssertionError(f"the answers differ: {answers}")
        times: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(sizes.rounds):
            for name, frame in ways.items():
                begin = time.perf_counter()
                question(frame()).first()
                times[name].append(time.perf_counter() - begin)
        took = {name: median(values) for name, values in times.items()}
        say(f"{asked} of {rows:,} rows")
        table(["", "seconds", "times plain"], [[n, s, s / took["plain"]] for n, s in took.items()])
        found["scan_s"][asked], found["scan_median_s"][asked] = times, took
    took = found["scan_median_s"][SCAN]
    return {**found, "scan_ratio": {name: took["plain"] / took[name] for name in ways}}


if __name__ == "__main__":
    main()
