"""A window join on Spark: Windrow's stages beside Spark's own stream-stream join.

    SELECT a.k, a.v, b.v FROM a [RANGE w], b [RANGE w] WHERE a.k = b.k

Keys meet about once in a window. How it is measured: ``benchmarks.spark_beside``. The whole
benchmark also measures windows of 5,000,000 rows, ours only: what a row costs must not grow with
the window. That has a process of its own, without the memory that Java keeps for its rival.

The last line is Spark's time over ours at 100,000 rows per stream and trigger.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, functions

from benchmarks.report import finish, quick_asked, save, say, table
from benchmarks.spark_beside import Contest, Size, compare
from benchmarks.spark_rival import rival_session

FULL = (Size(10_000), Size(100_000), Size(500_000, measured=4))
LARGE = (Size(20_000, 20_000), Size(20_000, 5_000_000, measured=8, rounds=1))
CHILD = "--child"
QUICK = (Size(10_000, rounds=1, measured=8), Size(100_000, rounds=1, measured=8))


def query(size: Size) -> str:
    window = f"[RANGE {size.window} MILLISECONDS]"
    return (
        f"ISTREAM (SELECT a.k AS k, a.v AS x, b.v AS y FROM a {window}, b {window} WHERE a.k = b.k)"
    )


def native(sides: Mapping[str, DataFrame], size: Size) -> DataFrame:
    a, b = (
        side.select(*(functions.col(c).alias(f"{name}_{c}") for c in ("ts", "k", "v")))
        for name, side in sides.items()
    )
    reach = functions.expr(f"INTERVAL {size.window} MILLISECONDS")
    at, other = functions.col("a_ts"), functions.col("b_ts")
    near = (at > other - reach) & (at < other + reach)
    pairs = a.join(b, (functions.col("a_k") == functions.col("b_k")) & near)
    names = {"a_k": "k", "a_v": "x", "b_v": "y"}
    return pairs.select(*(functions.col(old).alias(new) for old, new in names.items()))


JOIN = Contest(query, native, ("k", "x", "y"), streams=("a", "b"))


def measure_large() -> list[dict[str, Any]]:
    """Windows of two sizes, in a process of their own."""
    command = [sys.executable, "-m", "benchmarks.spark_join", CHILD]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def child() -> None:
    alone = replace(JOIN, native=None)
    with rival_session() as session:
        print(json.dumps([compare(session, alone, size) for size in LARGE]))


def main(argv: Sequence[str] | None = None) -> None:
    arguments = sys.argv[1:] if argv is None else list(argv)
    if arguments == [CHILD]:
        child()
        return
    quick = quick_asked("spark_join", __doc__ or "", argv)
    lines, large = [], [] if quick else measure_large()
    with rival_session() as session:
        for size in QUICK if quick else FULL:
            line = compare(session, JOIN, size)
            line["ratio"] = line["spark"] / line["ours"]
            lines.append(line)
            say(f"{size.rows:,} rows: {line['ratio']:.2f} times as fast as Spark's own")
    say("seconds of a micro-batch")
    table(
        ["rows per stream and trigger", "window", "ours", "Spark", "ratio"],
        [(f"{r['rows']:,}", r["window"], r["ours"], r["spark"], r["ratio"]) for r in lines],
    )
    if large:
        growth = large[1]["ours"] / large[0]["ours"]
        say(f"20,000 rows over windows of 5,000,000 take {growth:.2f} times those of 20,000")
    if not quick:
        save("spark_join", {"lines": lines, "large": large})
    finish(next(line["ratio"] for line in lines if line["rows"] == 100_000))


if __name__ == "__main__":
    main()
