"""Four windowed queries on Windrow and on what people use, over the same trace.

    join      Query 1 of Golab 2006, 3.6: telnet connections of two links with the same source
    distinct  Query 2: the distinct sources of a link, a new answer every slide
    negation  connections of one link whose source was not seen on the other within the window
    group     connections and bytes per protocol, a new answer every slide

Each engine is asked for the form that all of them can express: pairs are added and never
withdrawn, sliding windows are reported whole at each slide. Each reads files, which is counted,
and drops its results: Parquet, or CSV where its package reads no Parquet (Flink, Pathway); Windrow
reads both. Each runs alone and warm: Spark and Bytewax have run the query over the same files
before, Flink twice, and what it takes to start a job is subtracted; Windrow is charged for its
start. All answers are compared on a shorter trace first.

The last line is Windrow over the best of those that read the same format, for the join, the lower
of the two formats. Rivals other than Spark live in environments of their own, made by ``make
bench-setup``; one that is not there is left out, and named.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from benchmarks.feeding import Feed
from benchmarks.report import finish, median, quick_asked, save, say, table
from benchmarks.spark_rival import rival_session, run_to_the_end, stream_of_files
from benchmarks.trace import links
from windrow.engine.embedded import Embedded
from windrow.engine.pipeline import Pipeline
from windrow.engine.runner import run as run_script
from windrow.plan.program import compile_script

COLUMNS = "ts TIMESTAMP, protocol STRING, bytes BIGINT, src STRING, dst STRING"
BEGINNING = 1_000_000_000
"""Seconds; a multiple of every slide, so that engines agree where windows begin."""
APART = 2_000
"""Microseconds between two tuples of a link. The first is half of that after the beginning, so
that no tuple falls on the edge of a window."""
ENVIRONMENTS = Path(__file__).parent / ".envs"
RIVALS = {"Flink": "flink", "Bytewax": "bytewax", "Pathway": "pathway"}
READERS = {"parquet": ("Spark", "Bytewax"), "csv": ("Flink", "Pathway")}
PATIENCE = 120
"""Seconds that a rival may take for one run."""
RUNS = 5
"""Runs of our engine in a round; a rival's one takes a hundred times as long."""
Answer = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Sizes:
    """Rows are per link; a file is a micro-batch of the engines that have them."""

    rows: int = 300_000
    seconds: int = 200
    slide: int = 50
    file: int = 50_000
    rounds: int = 3
    queries: tuple[str, ...] = ("join", "distinct", "negation", "group")


QUICK = Sizes(rows=200_000, rounds=1, queries=("join",))


def checked(sizes: Sizes) -> Sizes:
    """A twentieth of it, for the comparison of answers."""
    return Sizes(sizes.rows // 20, sizes.seconds // 20, max(sizes.slide // 20, 1), sizes.file // 20)


def windrow_script(query: str, sizes: Sizes) -> str:
    window = f"RANGE {sizes.seconds} SECONDS"
    sliding = f"{window} SLIDE {sizes.slide} SECONDS"
    return {
        "join": f"""
            SELECT l.src, l.dst, l.bytes, r.dst, r.bytes
            FROM link1 [{window} INTERNAL] AS l, link2 [{window} INTERNAL] AS r
            WHERE l.src = r.src AND l.protocol = 'telnet' AND r.protocol = 'telnet'""",
        "distinct": f"RSTREAM(SELECT DISTINCT src FROM link1 [{sliding}])",
        "negation": f"""
            ISTREAM(SELECT l.ts, l.src, l.dst, l.bytes FROM link1 [NOW] AS l
            WHERE NOT EXISTS (SELECT * FROM link2 [{window}] AS r WHERE r.src = l.src))""",
        "group": f"""
            RSTREAM(SELECT protocol, COUNT(*), SUM(bytes) FROM link1 [{sliding}]
            GROUP BY protocol)""",
    }[query]


def streams_of(query: str) -> tuple[str, ...]:
    return ("link1", "link2") if query in ("join", "negation") else ("link1",)


def pipeline(query: str, sizes: Sizes) -> Pipeline:
    declared = "".join(f"CREATE STREAM link{n} ({COLUMNS}) TIMESTAMP BY ts;" for n in (1, 2))
    script = f"{declared} {windrow_script(query, sizes)};"
    return Pipeline(compile_script(script).queries[0].plan)


def windrow_rate(query: str, place: Path, sizes: Sizes, form: str) -> float:
    """Rows per second of whole runs, from compiled script to the end; several, because one is so
    short.
    """
    folder = {"parquet": "link", "csv": "iso"}[form]
    declared = "".join(
        f"CREATE STREAM link{n} ({COLUMNS}) FROM '{place / folder}{n}/' FORMAT {form} "
        "TIMESTAMP BY ts;"
        for n in (1, 2)
    )
    made = compile_script(f"{declared} CREATE QUERY q AS {windrow_script(query, sizes)};").catalog
    laps = []
    for _ in range(RUNS + 1):
        began = time.perf_counter()
        run_script(made, Embedded(keep=False), once=True, on_progress=lambda _: None)
        laps.append(time.perf_counter() - began)
    return sizes.rows * len(streams_of(query)) / median(laps[1:])


def windrow_answer(query: str, data: dict[str, pa.RecordBatch], sizes: Sizes) -> Answer:
    feed = Feed({name: data[name] for name in streams_of(query)})
    running, found = pipeline(query, sizes), []
    while (interval := feed.take(sizes.file)) is not None:
        delta = running.process(*interval)
        columns = [c.to_pylist() for c in delta.rows.columns]
        if query in ("distinct", "group"):
            columns.insert(0, (delta.ts // 1_000_000).tolist())
        if query == "negation":
            columns[0] = delta.rows.column(0).cast(pa.int64()).to_pylist()
        found += zip(*columns, strict=True)
    return found


def spark_frame(session: Any, query: str, place: Path, sizes: Sizes) -> Any:
    for name in streams_of(query):
        frame = stream_of_files(session, place / name, COLUMNS)
        frame.withWatermark("ts", "0 seconds").createOrReplaceTempView(name)
    far = f"INTERVAL {sizes.seconds} SECONDS"
    hops = f"window(ts, '{sizes.seconds} seconds', '{sizes.slide} seconds')"
    return session.sql(
        {
            "join": f"""
                SELECT l.src, l.dst, l.bytes, r.dst, r.bytes FROM link1 l JOIN link2 r
                ON l.src = r.src AND l.protocol = 'telnet' AND r.protocol = 'telnet'
                AND r.ts > l.ts - {far} AND r.ts < l.ts + {far}""",
            "distinct": f"""
                SELECT unix_seconds(w.end), src FROM
                (SELECT {hops} AS w, src FROM link1 GROUP BY {hops}, src)""",
            "negation": f"""
                SELECT unix_micros(l.ts), l.src, l.dst, l.bytes FROM link1 l LEFT JOIN link2 r
                ON l.src = r.src AND r.ts > l.ts - {far} AND r.ts <= l.ts
                WHERE r.src IS NULL""",
            "group": f"""
                SELECT unix_seconds(w.end), protocol, n, s FROM (SELECT {hops} AS w, protocol,
                COUNT(*) AS n, SUM(bytes) AS s FROM link1 GROUP BY {hops}, protocol)""",
        }[query]
    )


def spark_rate(session: Any, query: str, place: Path, sizes: Sizes) -> float:
    """Of the second of two runs."""
    for _ in range(2):
        with tempfile.TemporaryDirectory() as checkpoint:
            batches = run_to_the_end(spark_frame(session, query, place, sizes), Path(checkpoint))
    return sum(b.rows for b in batches) / sum(b.seconds for b in batches)


def spark_answer(session: Any, query: str, place: Path, sizes: Sizes) -> Answer:
    found: Answer = []

    def keep(frame: Any, _number: int) -> None:
        found.extend(tuple(row) for row in frame.collect())

    with tempfile.TemporaryDirectory() as checkpoint:
        run_to_the_end(spark_frame(session, query, place, sizes), Path(checkpoint), keep)
    return found


def run_rival(name: str, query: str, place: Path, sizes: Sizes, *more: str) -> dict[str, Any]:
    """What the script of a rival says of a query."""
    asked = [query, str(place), str(sizes.seconds), str(sizes.slide), *more]
    return run_apart(name, f"{name}_rival.py", asked)


def run_apart(
    name: str, script: str, arguments: list[str], patience: int = PATIENCE
) -> dict[str, Any]:
    """What a script says in its last line; its own complaints are shown if it fails."""
    python = ENVIRONMENTS / name / "bin" / "python"
    # In a group of its own, because Flink's Java would outlive the script that started it.
    process = subprocess.Popen(
        [python, Path(__file__).parent / "rivals" / script, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, complaints = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    if process.returncode:
        raise RuntimeError(f"{name} failed on {arguments[0]}:\n{out[-2000:]}{complaints[-4000:]}")
    answer: dict[str, Any] = json.loads(out.splitlines()[-1])
    return answer


def rival_rate(name: str, query: str, place: Path, sizes: Sizes) -> float:
    """Rows per second; one that is still running after a while gets the rate of having ended."""
    rows = sizes.rows * len(streams_of(query))
    try:
        return rows / float(run_rival(name, query, place, sizes)["seconds"])
    except subprocess.TimeoutExpired:
        say(f"{query}: {name} was still running after {PATIENCE} s; less than the rate given")
        return rows / PATIENCE


def rival_answer(name: str, query: str, place: Path, sizes: Sizes) -> Answer:
    with tempfile.NamedTemporaryFile() as results:
        run_rival(name, query, place, sizes, results.name)
        lines = Path(results.name).read_text().splitlines()
    found = [tuple(json.loads(line)) for line in lines]
    if name == "flink" and query == "negation":  # its times are milliseconds
        return [(at * 1000, *rest) for at, *rest in found]
    return found


def settled(answer: Answer, query: str, sizes: Sizes) -> Answer:
    """Sorted, without what some engines keep back until time goes on: the last of the trace."""
    if query != "join":
        end = BEGINNING + sizes.rows * APART // 1_000_000 // 2
        if query == "negation":
            end *= 1_000_000
        answer = [row for row in answer if row[0] <= end]
    return sorted(answer, key=repr)


def prepare(place: Path, sizes: Sizes) -> dict[str, pa.RecordBatch]:
    """The trace in memory, as Parquet, and as CSV in the forms that its readers like best."""
    data = {}
    for name, link in links(sizes.rows).items():
        times = BEGINNING * 1_000_000 + APART // 2 + np.arange(sizes.rows) * APART
        data[name] = link.set_column(0, "ts", pa.array(times, pa.timestamp("us")))
        number = name.removeprefix("link")
        for kind in ("link", "iso", "text", "csv", "tiny"):
            (place / f"{kind}{number}").mkdir(parents=True)
        whole = pa.Table.from_batches([data[name]])
        numbers = whole.set_column(0, "ts", pa.array(times))
        for index, start in enumerate(range(0, sizes.rows, sizes.file)):
            part = whole.slice(start, sizes.file)
            pq.write_table(part, place / name / f"{index:03}.parquet")
            pa_csv.write_csv(part, place / f"iso{number}" / f"{index:03}.csv")
            pa_csv.write_csv(
                numbers.slice(start, sizes.file), place / f"text{number}" / f"{index:03}.csv"
            )
        plain = whole.set_column(0, "at", pa.array(times // 1000))
        as_text = pa_csv.WriteOptions(include_header=False, quoting_style="none")
        for turn in (0, 1):  # Flink has two readers, with a file each
            dealt = plain.take(pa.array(np.arange(turn, sizes.rows, 2)))
            pa_csv.write_csv(dealt, place / f"csv{number}" / f"{turn}.csv", as_text)
            pa_csv.write_csv(dealt.slice(0, 5), place / f"tiny{number}" / f"{turn}.csv", as_text)
    return data


def available() -> list[str]:
    present = [n for n, folder in RIVALS.items() if (ENVIRONMENTS / folder / "bin/python").exists()]
    for name in RIVALS.keys() - set(present):
        say(f"{name} is left out: it is not installed; `make bench-setup` does that")
    return present


def run(sizes: Sizes, short: Sizes | None = None) -> dict[str, Any]:
    short = short or checked(sizes)
    present = available()
    with tempfile.TemporaryDirectory() as root, rival_session() as session:
        small, large = Path(root) / "small", Path(root) / "large"
        few = prepare(small, short)
        prepare(large, sizes)
        measured: dict[str, dict[str, Any]] = {}
        for query in sizes.queries:
            answers: dict[str, Callable[[], Answer]] = {
                "Spark": lambda q=query: spark_answer(session, q, small, short)
            }
            rates: dict[str, Callable[[], float]] = {
                "Windrow, parquet": lambda q=query: windrow_rate(q, large, sizes, "parquet"),
                "Windrow, csv": lambda q=query: windrow_rate(q, large, sizes, "csv"),
                "Spark": lambda q=query: spark_rate(session, q, large, sizes),
            }
            for name in present:
                folder = RIVALS[name]
                answers[name] = lambda f=folder, q=query: rival_answer(f, q, small, short)
                rates[name] = lambda f=folder, q=query: rival_rate(f, q, large, sizes)
            measured[query] = measure(
                query, windrow_answer(query, few, short), answers, rates, sizes, short
            )
    return {
        "sizes": asdict(sizes),
        "queries": measured,
        "ratio": min(measured["join"]["ratios"].values()),
    }


def measure(
    query: str,
    ours: Answer,
    answers: dict[str, Callable[[], Answer]],
    rates: dict[str, Callable[[], float]],
    sizes: Sizes,
    short: Sizes,
) -> dict[str, Any]:
    expected = settled(ours, query, short)
    for name, ask in answers.items():
        found = settled(ask(), query, short)
        if found != expected:
            odd = list(set(found) ^ set(expected))[:3]
            raise AssertionError(
                f"{query}: {name} has {len(found)} results, Windrow {len(expected)}; e.g. {odd}"
            )
    say(f"{query}: {len(expected):,} results on the short trace, the same from all")
    rounds = [{name: rate() for name, rate in rates.items()} for _ in range(sizes.rounds)]
    medians = {name: median(r[name] for r in rounds) for name in rates}
    table([query, "rows/s"], medians.items())
    ratios = {
        form: medians[f"Windrow, {form}"] / max(medians[n] for n in readers if n in medians)
        for form, readers in READERS.items()
        if medians.keys() & set(readers)
    }
    say(f"{query}: " + ", ".join(f"{ratio:.1f} times from {f}" for f, ratio in ratios.items()))
    return {"rows_per_second": medians, "rounds": rounds, "ratios": ratios}


def main(argv: Sequence[str] | None = None) -> None:
    quick = quick_asked("engines", __doc__ or "", argv)
    results = run(QUICK if quick else Sizes())
    if not quick:
        save("engines", results)
    finish(results["ratio"])


if __name__ == "__main__":
    main()
