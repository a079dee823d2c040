"""Aggregates over windows that slide, beside engines that have such windows, and recomputation.

    SELECT src, COUNT(*), SUM(bytes) FROM flows [RANGE T SLIDE s] GROUP BY src

for T/s of 10, 100 and 1,000 and for 1,000 and 200,000 groups, over a stream that is two windows
long. Flink's hopping windows and Spark's sliding ones give every group of every window; DuckDB
recomputes each window from its rows; Windrow gives what changes in the answer at each slide, from
which the answer at every slide follows. They are compared slide by slide on a shorter stream first.

Every engine runs the whole stream from empty windows on; Spark and Windrow have run the same query
before, Flink's time is its own net run time. Flink is in an environment that ``make bench-setup``
makes; without it, it is left out. State is what is kept when the stream is over: summaries and
groups, entries of a state store, or rows.

The last line is Windrow's rows per second over those of the best rival, as the geometric mean of
the cases.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from benchmarks.engines import ENVIRONMENTS, PATIENCE, Sizes, run_rival
from benchmarks.report import finish, median, quick_asked, save, say, table
from benchmarks.spark_rival import rival_session, run_to_the_end, stream_of_files
from windrow.columns.delta import Delta
from windrow.engine.pipeline import Pipeline
from windrow.plan.program import compile_script
from windrow.plan.strategy import Strategy

BEGINNING = 1_000_000_000
"""Seconds; a multiple of every slide."""
WINDOW = 1_000
"""Seconds; a slide is this over T/s, a whole number of seconds."""
ROWS = {10: 100_000, 100: 10_000, 1_000: 2_000}
"""By T/s: Spark makes T/s rows of each, and holds a state for each of them."""
FILES = 10
ROUNDS = 3
LONG = 20.0
"""Seconds of a lap after which an engine is not measured again: it is not the best rival."""
COLUMNS = "ts TIMESTAMP, protocol STRING, bytes BIGINT"
Rates = dict[str, float]
Windows = dict[int, dict[str, tuple[int, int]]]
"""Per second at which a window ends: per group how many rows there are, and their sum."""


@dataclass(frozen=True)
class Case:
    """T/s, and how many groups there can be."""

    slides: int
    groups: int
    rows: int

    @property
    def slide(self) -> int:
        return WINDOW // self.slides

    @property
    def sizes(self) -> Sizes:
        """As ``benchmarks.engines`` names lengths."""
        return Sizes(seconds=WINDOW, slide=self.slide)


CASES = [Case(n, groups, rows) for n, rows in ROWS.items() for groups in (1_000, 200_000)]
QUICK = [Case(100, 1_000, 3_000), Case(100, 200_000, 3_000)]


def rows_of(case: Case, seed: int = 0) -> pa.RecordBatch:
    """Evenly spaced, none on the edge of a window; groups as text."""
    rng = np.random.default_rng(seed)
    apart = 2 * WINDOW * 1_000_000 // case.rows
    ts = BEGINNING * 1_000_000 + apart // 2 + 500 + np.arange(case.rows) * apart
    keys = as_texts(rng.integers(0, case.groups, case.rows))
    size = pa.array(rng.integers(0, 1_500, case.rows))
    return pa.RecordBatch.from_arrays(
        [pa.array(ts, pa.timestamp("us")), keys, size], ["ts", "protocol", "bytes"]
    )


def as_texts(numbers: np.ndarray) -> pa.Array:
    return pa.array(numbers).cast(pa.string())


def write_files(place: Path, rows: pa.RecordBatch) -> None:
    """Parquet files for Spark, and CSV for Flink, which has two columns more: a file for each of
    its two readers, and a few rows that show what it takes to start."""
    for folder in ("rows", "csv1", "tiny1"):
        (place / folder).mkdir(parents=True)
    for number, part in enumerate(parts(rows)):
        path = place / "rows" / f"{number:03}.parquet"
        pq.write_table(pa.Table.from_batches([part]), path)
        os.utime(path, (BEGINNING + number,) * 2)  # Spark reads files in the order of their age
    millis = pa.array(rows.column(0).cast(pa.int64()).to_numpy() // 1000)
    nothing = pa.array([""] * len(rows))
    plain = pa.table([millis, rows.column(1), rows.column(2), nothing, nothing], list("abcde"))
    as_text = pa_csv.WriteOptions(include_header=False, quoting_style="none")
    for turn in (0, 1):
        dealt = plain.take(pa.array(np.arange(turn, len(plain), 2)))
        pa_csv.write_csv(dealt, place / "csv1" / f"{turn}.csv", as_text)
        pa_csv.write_csv(dealt.slice(0, 5), place / "tiny1" / f"{turn}.csv", as_text)


def parts(rows: pa.RecordBatch) -> list[pa.RecordBatch]:
    step = -(-len(rows) // FILES)
    return [rows.slice(start, step) for start in range(0, len(rows), step)]


def windrow_pipeline(case: Case, strategy: Strategy = Strategy.UPA) -> Pipeline:
    window = f"[RANGE {WINDOW} SECONDS SLIDE {case.slide} SECONDS]"
    script = f"""CREATE STREAM flows ({COLUMNS}) TIMESTAMP BY ts;
        SELECT protocol, COUNT(*) AS n, SUM(bytes) AS t FROM flows {window} GROUP BY protocol;"""
    return Pipeline(compile_script(script).queries[0].plan, strategy=strategy)


def windrow_changes(
    case: Case, rows: pa.RecordBatch, strategy: Strategy = Strategy.UPA
) -> tuple[list[Delta], float, int]:
    """What comes out, how long it took, and how much is kept in the end."""
    pipeline, found = windrow_pipeline(case, strategy), []
    intervals = []
    for part in parts(rows):
        ts = part.column(0).cast(pa.int64()).to_numpy()
        intervals.append((Delta.insertions(ts, part), int(ts[-1])))
    start = time.perf_counter()
    for delta, now in intervals:
        found.append(pipeline.process({"flows": delta}, now))
    return found, time.perf_counter() - start, pipeline.size()


def windrow_windows(case: Case, rows: pa.RecordBatch) -> Windows:
    """The answer at each slide, from its changes."""
    changes, _, _ = windrow_changes(case, rows)
    at: dict[int, list[tuple[int, str, int, int]]] = {}
    for delta in changes:
        columns = [c.to_pylist() for c in delta.rows.columns]
        for ts, sign, *row in zip(delta.ts.tolist(), delta.sign.tolist(), *columns, strict=True):
            at.setdefault(ts // 1_000_000, []).append((sign, *row))
    answer: dict[str, tuple[int, int]] = {}
    found: Windows = {}
    for end in range(min(at), max(at) + 1, case.slide):
        for sign, group, count, total in sorted(at.get(end, ())):
            if sign > 0:
                answer[group] = (count, total)
            else:
                assert answer.pop(group) == (count, total)
        found[end] = dict(answer)
    return found


def duckdb_windows(
    case: Case, rows: pa.RecordBatch, keep: Callable[[int, pa.Table], None] | None = None
) -> float:
    """Each window recomputed from its rows; the seconds that it took."""
    ts = rows.column(0).cast(pa.int64()).to_numpy()
    ends = BEGINNING + case.slide * np.arange(
        1, (ts[-1] // 1_000_000 - BEGINNING) // case.slide + 1
    )
    edges = np.searchsorted(ts, np.stack([ends - WINDOW, ends]) * 1_000_000)
    start = time.perf_counter()
    with duckdb.connect() as database:
        for end, first, stop in zip(ends.tolist(), *edges.tolist(), strict=True):
            database.register("w", pa.Table.from_batches([rows.slice(first, stop - first)]))
            asked = "SELECT protocol, COUNT(*), SUM(bytes)::BIGINT FROM w GROUP BY protocol"
            answer = database.sql(asked).to_arrow_table()
            if keep is not None:
                keep(end, answer)
    return time.perf_counter() - start


def spark_frame(session: Any, case: Case, place: Path) -> Any:
    frame = stream_of_files(session, place / "rows", COLUMNS).withWatermark("ts", "0 seconds")
    frame.createOrReplaceTempView("flows")
    hops = f"window(ts, '{WINDOW} seconds', '{case.slide} seconds')"
    return session.sql(f"""SELECT unix_seconds(w.end), protocol, n, s FROM (SELECT {hops} AS w,
        protocol, COUNT(*) AS n, SUM(bytes) AS s FROM flows GROUP BY {hops}, protocol)""")


def spark_run(session: Any, case: Case, place: Path, keep: Any = None) -> float:
    with tempfile.TemporaryDirectory() as checkpoint:
        found = run_to_the_end(spark_frame(session, case, place), Path(checkpoint), keep)
    return sum(batch.seconds for batch in found)


def flink_seconds(case: Case, place: Path) -> float:
    try:
        return float(run_rival("flink", "group", place, case.sizes)["seconds"])
    except subprocess.TimeoutExpired:
        say(f"Flink was still running after {PATIENCE} s")
        return float(PATIENCE)


def flink_rows(case: Case, place: Path) -> list[tuple[int, str, int, int]]:
    with tempfile.NamedTemporaryFile() as results:
        run_rival("flink", "group", place, case.sizes, results.name)
        lines = Path(results.name).read_text().splitlines()
    return [tuple(json.loads(line)) for line in lines]


def compare_answers(session: Any, flink: bool) -> None:
    """All engines on a short stream, slide by slide, as far as all of them have answered."""
    case = Case(20, 50, 600)
    rows = rows_of(case, seed=1)
    ours = windrow_windows(case, rows)
    others: dict[str, list[tuple[int, str, int, int]]] = {"DuckDB": [], "Spark": []}

    def keep(end: int, answer: pa.Table) -> None:
        others["DuckDB"] += [(end, *row) for row in zip(*answer.to_pydict().values(), strict=True)]

    with tempfile.TemporaryDirectory() as root:
        place = Path(root)
        write_files(place, rows)
        duckdb_windows(case, rows, keep)
        spark_run(
            session, case, place, lambda f, _: others["Spark"].extend(map(tuple, f.collect()))
        )
        if flink:
            others["Flink"] = flink_rows(case, place)
    for name, found in others.items():
        last = min(max(ours), max(end for end, *_ in found))
        mine = Counter((e, g, *v) for e, w in ours.items() if e <= last for g, v in w.items())
        theirs = Counter(row for row in found if row[0] <= last)
        if mine != theirs or not mine:
            raise AssertionError(f"{name} has {theirs - mine}, Windrow has {mine - theirs}")
        say(f"{name}: {mine.total():,} groups of windows, the same")


def measure(
    session: Any, case: Case, rounds: int, flink: bool, warm: bool = False
) -> dict[str, Any]:
    """Rows per second of all engines; Spark runs the query first unless it is ``warm``."""
    rows = rows_of(case)
    with tempfile.TemporaryDirectory() as root:
        place = Path(root)
        write_files(place, rows)
        windrow_changes(case, rows)
        if not warm:
            spark_run(session, case, place)
        laps: dict[str, Callable[[], float]] = {
            "Windrow": lambda: median(windrow_changes(case, rows)[1] for _ in range(3)),
            "DuckDB": lambda: duckdb_windows(case, rows),
            "Spark": lambda: spark_run(session, case, place),
        }
        if flink:
            laps["Flink"] = lambda: flink_seconds(case, place)
        found: dict[str, list[float]] = {name: [] for name in laps}
        for _ in range(rounds):
            for name, lap in laps.items():
                if max(found[name], default=0.0) < LONG:
                    found[name].append(lap())
    rates: Rates = {name: case.rows / median(seconds) for name, seconds in found.items()}
    best = max(rate for name, rate in rates.items() if name != "Windrow")
    state = {s.name: windrow_changes(case, rows, s)[2] for s in (Strategy.UPA, Strategy.DIRECT)}
    say(f"T/s = {case.slides:,}, {case.groups:,} groups, {case.rows:,} rows")
    table(["rows/s", "", "times"], [(n, r, rates["Windrow"] / r) for n, r in rates.items()])
    say(f"  kept: {state['UPA']:,} summaries and groups; as tuples, {state['DIRECT']:,}")
    return {
        "slides": case.slides, "groups": case.groups, "rows": case.rows, "rows_per_second": rates,
        "seconds": found, "kept": state["UPA"], "kept_as_tuples": state["DIRECT"],
        "ratio": rates["Windrow"] / best,
    }  # fmt: skip


def main(argv: Sequence[str] | None = None) -> None:
    quick = quick_asked("slides", __doc__ or "", argv)
    flink = (ENVIRONMENTS / "flink" / "bin" / "python").exists()
    if not flink:
        say("Flink is left out: it is not installed; `make bench-setup` does that")
    with rival_session() as session:
        compare_answers(session, flink)
        cases = QUICK if quick else CASES
        lines: list[dict[str, Any]] = []
        for number, case in enumerate(cases):
            rounds, warm = (1, number > 0) if quick else (ROUNDS, False)
            lines.append(measure(session, case, rounds, flink, warm))
            ratio = geometric_mean(line["ratio"] for line in lines)
            if not quick:  # a run that is cut short leaves the cases that it has measured
                save("slides", {"window_seconds": WINDOW, "cases": lines, "ratio": ratio})
    finish(ratio)


if __name__ == "__main__":
    main()
