"""Operators on Spark: sliding GROUP BY and DISTINCT beside Spark's own, and negation without one.

    RSTREAM (SELECT k, COUNT(*), SUM(v) FROM s [RANGE w SLIDE w/10] GROUP BY k)
    RSTREAM (SELECT DISTINCT k FROM s [RANGE w SLIDE w/10])
    SELECT a.k, a.v FROM a [RANGE w] WHERE NOT EXISTS (SELECT * FROM b [RANGE w] WHERE b.k = a.k)

Spark's own are aggregations over ``window(ts, w, w/10)``, whose rows are those of every slide. It
has no anti-join of two streams that takes back what it said, so negation has no rival. How it is
measured: ``benchmarks.spark_beside``.

The last line is Spark's time over ours for GROUP BY at 100,000 rows per trigger.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, functions

from benchmarks.report import finish, quick_asked, save, say, table
from benchmarks.spark_beside import Contest, Size, compare
from benchmarks.spark_rival import rival_session

SLIDES = 10
KEYS = 1_000
FULL = (Size(100_000), Size(500_000, measured=4))
QUICK = (Size(100_000, rounds=1, measured=6),)


def sliding(size: Size) -> str:
    return f"[RANGE {size.window} MILLISECONDS SLIDE {size.window // SLIDES} MILLISECONDS]"


def windows(side: DataFrame, size: Size) -> DataFrame:
    length, slide = size.window, size.window // SLIDES
    return side.withColumn(
        "w", functions.window("ts", f"{length} milliseconds", f"{slide} milliseconds")
    )


def grouped(sides: Mapping[str, DataFrame], size: Size) -> DataFrame:
    found = windows(sides["s"], size).groupBy("w", "k")
    sums = found.agg(functions.count("*").alias("n"), functions.sum("v").alias("t"))
    return sums.select(functions.col("w.end").alias("instant"), "k", "n", "t")


def distinct(sides: Mapping[str, DataFrame], size: Size) -> DataFrame:
    found = windows(sides["s"], size).select("w", "k").dropDuplicates()
    return found.select(functions.col("w.end").alias("instant"), "k")


def negated(size: Size) -> str:
    window = f"[RANGE {size.window} MILLISECONDS]"
    missing = f"NOT EXISTS (SELECT * FROM b {window} WHERE b.k = a.k)"
    return f"SELECT a.k, a.v FROM a {window} WHERE {missing}"


def agree(ours: pa.Table, theirs: pa.Table) -> bool:
    """Whether they are the same up to the last slide that both have."""
    tables = [
        t.set_column(0, "instant", t["instant"].cast(pa.timestamp("us")).cast(pa.int64()))
        for t in (ours, theirs)
    ]
    last = min(pc.max(t["instant"]).as_py() for t in tables)
    first, second = (t.filter(pc.less_equal(t["instant"], last)) for t in tables)
    return first.num_rows > 0 and bool(first.equals(second.cast(first.schema)))


CONTESTS = {
    "GROUP BY": Contest(
        lambda size: (
            f"RSTREAM (SELECT k, COUNT(*) AS n, SUM(v) AS t FROM s {sliding(size)} GROUP BY k)"
        ),
        grouped,
        ("instant", "k", "n", "t"),
        keys=lambda _: KEYS,
    ),
    "DISTINCT": Contest(
        lambda size: f"RSTREAM (SELECT DISTINCT k FROM s {sliding(size)})",
        distinct,
        ("instant", "k"),
        keys=lambda _: KEYS,
    ),
    "negation": Contest(
        negated,
        None,
        ("instant", "k", "v"),
        streams=("a", "b"),
    ),
}


def main(argv: Sequence[str] | None = None) -> None:
    quick = quick_asked("spark_operators", __doc__ or "", argv)
    lines = []
    with rival_session() as session:
        for size in QUICK if quick else FULL:
            for name, contest in CONTESTS.items():
                line = {"operator": name, **compare(session, contest, size, agree)}
                if "spark" in line:
                    line["ratio"] = line["spark"] / line["ours"]
                lines.append(line)
                said = f"{line['ratio']:.2f} times as fast" if "ratio" in line else "no rival"
                say(f"{name}, {size.rows:,} rows: {said}")
    say("seconds of a micro-batch")
    table(
        ["operator", "rows per trigger", "ours", "Spark", "ratio"],
        [(r["operator"], r["rows"], r["ours"], r.get("spark"), r.get("ratio")) for r in lines],
    )
    if not quick:
        save("spark_operators", {"lines": lines})
    asked = {(line["operator"], line["rows"]): line.get("ratio") for line in lines}
    finish(asked["GROUP BY", 100_000])


if __name__ == "__main__":
    main()
