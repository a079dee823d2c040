"""Up to a thousand windowed aggregates over one stream on Spark, beside what Spark has for that.

    SELECT k, AGG(v) AS value FROM s [RANGE T SECONDS SLIDE s SECONDS]
    WHERE x BETWEEN a AND b GROUP BY k

with five aggregates and windows, slides and predicates of all kinds (``queries``). A drop is a file
with ten seconds of the stream, renamed into the watched directory; it is done when all queries have
answered. Results go into one table, or two, since averages have another type. Times are processor
seconds of driver, virtual machine and workers together per drop, after warm-up drops, so that what
else the machine does counts little; the seconds that passed stand beside them.

Rivals, on the same files: every query as a Structured Streaming query of its own, in one session;
and all of them in one streaming query, either over rows that are multiplied by query and window,
or over sums of ten seconds per key and value of x that are multiplied then, by two stateful steps.
They have the settings of ``benchmarks.spark_rival``, and more that make them faster. Everybody has
one partition, which takes least. What is written counts for all: our changes are published durably
in one table or two, and rivals write the answers of windows that are over into Parquet files by
Spark's file sink, those that run apart each into a table of its own. Before, what they have written
is compared with ours for a sample of queries. A virtual machine compiles what Spark runs for about
fifteen drops, which makes them take half as long in the end, so that many are for warming up. Who
needs long for a drop gets fewer of them, and two that count at least.

The last line is the time of the best rival over ours at 100 queries. Before it: our time for 1,000
queries over that for one.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.report import finish, quick_asked, save, say, table
from benchmarks.spark_latency import CHILD, LONGEST, POLL, Usage, commit_names

AGGREGATES = ("COUNT(*)", "SUM(v)", "MIN(v)", "MAX(v)", "AVG(v)")
PANE = 10
"""Seconds of a drop; slides are multiples."""
SLIDES, LENGTHS = (10, 20, 30, 60), (1, 2, 3, 5, 6)
"""Seconds, and slides of a window."""
KINDS = 20
"""Values of x; a predicate takes some that lie beside each other."""
KEYS = 50
BEGINNING = 1_200
"""The second at which the stream begins: a multiple of all slides."""


@dataclass(frozen=True)
class Query:
    name: str
    aggregate: str
    length: int
    slide: int
    low: int
    high: int


def queries(count: int) -> list[Query]:
    """The first of a list that never changes, all of them different."""
    rng = np.random.default_rng(5)
    found = []
    for number in range(count):
        slide = SLIDES[number % len(SLIDES)]
        low, high = sorted(rng.integers(0, KINDS, 2).tolist())
        if number % 5 == 4:
            low, high = 0, KINDS - 1
        length = slide * LENGTHS[number // 7 % len(LENGTHS)]
        found.append(Query(f"q{number}", AGGREGATES[number % 5], length, slide, low, high))
    return found


@dataclass(frozen=True)
class Plan:
    """``rows`` of a drop; ``warm`` drops, then ``drops`` that count, both fewer if they take more
    than ``seconds``."""

    rows: int = 20_000
    warm: int = 40
    drops: int = 12
    seconds: float = 60.0


@dataclass(frozen=True)
class Sample:
    """The first ``queries``, over so many ``files``, are compared with those of some ``ways``; of
    queries that run apart, which take a micro-batch per query and file, the first ``apart``."""

    ways: tuple[str, ...] = ("panes", "exploded", "apart")
    queries: int = 12
    files: int = 14
    apart: int = 5  # one of each aggregate


FULL: dict[str, Any] = {
    "plan": Plan(),
    "sample": Sample(),
    "ours": (1, 10, 100, 1_000),
    "apart": (10, 100),
    "exploded": (10, 100),
    "panes": (10, 100),
}
QUICK: dict[str, Any] = {
    "plan": Plan(warm=24, drops=8),
    "sample": Sample(ways=("panes",), queries=10, files=10),
    "ours": (1, 100, 1_000),
    "apart": (),
    "exploded": (),
    "panes": (100,),
}
PARTITIONS = {"spark.sql.shuffle.partitions": "1"}
"""For all: a second one takes more processor time than it saves, for a drop of this size."""
SCHEMA = "ts timestamp, k bigint, v bigint, x bigint"


def drop(directory: Path, number: int, rows: int) -> None:
    """Ten seconds of the stream: a file that is there at once and whole."""
    rng = np.random.default_rng(number)
    start = (BEGINNING + number * PANE) * 1_000_000
    # Between milliseconds, so that who counts an end of a window in does not matter.
    ts = start + (np.arange(rows) * PANE * 1_000 // rows) * 1_000 + 500
    columns = {
        "ts": pa.array(ts, pa.timestamp("us")),
        "k": rng.integers(0, KEYS, rows),
        "v": rng.integers(0, 1_000, rows),
        "x": rng.integers(0, KINDS, rows),
    }
    hidden = directory / f".{number}"
    pq.write_table(pa.table(columns), hidden)
    hidden.rename(directory / f"{number:05d}.parquet")


def script(directory: Path, asked: Sequence[Query]) -> str:
    text = "CREATE STREAM s (ts TIMESTAMP, k BIGINT, v BIGINT, x BIGINT) "
    text += f"FROM '{directory / 'in'}' FORMAT parquet;\n"
    for q in asked:
        window = f"[RANGE {q.length} SECONDS SLIDE {q.slide} SECONDS]"
        where = f"x >= {q.low} AND x <= {q.high}"
        place = directory / "out" / ("averages" if q.aggregate.startswith("AVG") else "integers")
        text += f"CREATE QUERY {q.name} AS SELECT k, {q.aggregate} AS value FROM s {window} "
        text += f"WHERE {where} GROUP BY k INTO '{place}';\n"
    return text


Step = Callable[[int], None]
"""Drops a file and waits until it is worked off."""


@contextmanager
def ours(directory: Path, count: int, plan: Plan) -> Iterator[Step]:
    from benchmarks.spark_beside import pipelines  # noqa: PLC0415 - starts Java
    from windrow.plan.program import compile_script  # noqa: PLC0415
    from windrow.spark.run.session import spark_session  # noqa: PLC0415
    from windrow.spark.run.spark_job import Feed  # noqa: PLC0415

    began = time.process_time()
    catalog = compile_script(script(directory, queries(count))).catalog
    compiled = time.process_time() - began
    session = spark_session("local[2]", conf=PARTITIONS)
    began = time.process_time()
    running = pipelines(session, catalog, directory / "checkpoint", Feed())
    for pipeline in running:
        pipeline.start()
        while pipeline.starting:
            time.sleep(0.1)
    jobs = sum(len(pipeline.jobs) for pipeline in running)
    took = time.process_time() - began
    sys.stderr.write(
        f"{count} queries: {jobs} jobs, {compiled:.2f} s to compile, {took:.2f} s to start\n"
    )
    places = [
        path for path in (directory / "out" / n for n in ("integers", "averages")) if path.exists()
    ]

    def step(number: int) -> None:
        waiting = [(place, commit_names(place)) for place in places]
        drop(directory / "in", number, plan.rows)
        until = time.perf_counter() + LONGEST
        while waiting:
            # Whether it has failed is not asked before: the virtual machine would have to answer.
            if time.perf_counter() > until:
                raise TimeoutError(str([str(p.failure)[:500] for p in running]))
            time.sleep(POLL)
            while waiting and commit_names(waiting[-1][0]) != waiting[-1][1]:
                waiting.pop()

    try:
        yield step
    finally:
        for pipeline in running:
            pipeline.finish()
        session.stop()


@contextmanager
def rival(directory: Path, way: str, count: int, plan: Plan) -> Iterator[Step]:
    from benchmarks.many_queries_rivals import SETTINGS, start  # noqa: PLC0415 - starts Java
    from benchmarks.spark_rival import rival_session  # noqa: PLC0415

    with rival_session(**SETTINGS) as session:
        running = start(session, directory, way, queries(count), to_the_end=False)

        def step(number: int) -> None:
            drop(directory / "in", number, plan.rows)
            for query in running:
                query.processAllAvailable()

        yield step
        for query in running:
            query.stop()


def measure(way: str, count: int, plan: Plan) -> dict[str, float]:
    """What a drop takes, in this process."""
    directory = Path(tempfile.mkdtemp(prefix="windrow-benchmark-"))
    (directory / "in").mkdir()
    usage = Usage()
    opened = ours(directory, count, plan) if way == "ours" else rival(directory, way, count, plan)
    try:
        with opened as step:
            warm = drop_for(plan.seconds, step, 0, plan.warm)
            used, began = usage.seconds(), time.perf_counter()
            drops = drop_for(plan.seconds, step, warm, plan.drops, least=2)
            seconds, cpu = time.perf_counter() - began, usage.seconds() - used
            return {"cpu": cpu / drops, "seconds": seconds / drops, "drops": drops}
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def drop_for(seconds: float, step: Step, first: int, most: int, least: int = 1) -> int:
    """Drops from number ``first`` on, ``most`` of them or as many as fit; how many they were."""
    until = time.perf_counter() + seconds
    for done in range(most):
        if done >= least and time.perf_counter() > until:
            return done
        step(first + done)
    return most


def check(sample: Sample) -> dict[str, float]:
    """Our answers at every end of a window are those of the rivals."""
    from benchmarks.many_queries_rivals import SETTINGS, answers  # noqa: PLC0415 - starts Java
    from benchmarks.spark_rival import rival_session  # noqa: PLC0415

    directory = Path(tempfile.mkdtemp(prefix="windrow-benchmark-"))
    (directory / "in").mkdir()
    asked = queries(sample.queries)
    with ours(directory, sample.queries, Plan(rows=500)) as step:
        for number in range(sample.files):
            step(number)
    windows = our_windows(directory, asked)
    compared = 0
    for way in sample.ways:
        some = asked[: sample.apart] if way == "apart" else asked
        place = directory / way
        place.mkdir()
        (place / "in").symlink_to(directory / "in")
        with rival_session(**SETTINGS) as session:
            theirs = answers(session, place, way, some)
        if {key[0] for key in theirs} != {query.name for query in some}:
            raise AssertionError(f"{way}: not every query has answered")
        for key, value in theirs.items():
            mine = windows[key[0]].at(key[1]).get(key[2])
            if mine is None or not math.isclose(mine, value):
                raise AssertionError(f"{way}: {key} is {value}, and ours {mine}")
        compared += len(theirs)
    shutil.rmtree(directory, ignore_errors=True)
    return {"compared": compared}


class Folded:
    """The changes of a query, by instant; what they add up to at one."""

    def __init__(self, changes: list[tuple[int, str, int, float]]) -> None:
        self._changes = sorted(changes, key=lambda c: (c[0], c[1] == "+"))

    def at(self, instant: int) -> dict[int, float]:
        found: dict[int, float] = {}
        for when, change, key, value in self._changes:
            if when > instant:
                break
            if change == "+":
                found[key] = value
            elif found.get(key) == value:
                del found[key]
        return found


def our_windows(directory: Path, asked: Sequence[Query]) -> dict[str, Folded]:
    import windrow  # noqa: PLC0415 - what a child measures does not need it

    rows: dict[str, list[tuple[int, str, int, float]]] = {query.name: [] for query in asked}
    for place in (directory / "out").iterdir():
        changes = windrow.results(place).changes()
        instants = changes["instant"].cast(pa.int64()).to_pylist()
        for instant, row in zip(instants, changes.to_pylist(), strict=True):
            rows[row["query"]].append((instant, row["change"], row["k"], row["value"]))
    return {name: Folded(found) for name, found in rows.items()}


def in_a_process(asked: dict[str, Any]) -> dict[str, float]:
    """Each in one of its own, so that none has what another left."""
    command = [sys.executable, "-m", "benchmarks.many_queries", CHILD, json.dumps(asked)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=dict(os.environ))
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def child(asked: dict[str, Any]) -> None:
    if "sample" in asked:
        print(json.dumps(check(Sample(**asked["sample"]))))
    else:
        print(json.dumps(measure(asked["way"], asked["count"], Plan(**asked["plan"]))))


def main(argv: Sequence[str] | None = None) -> None:
    arguments = sys.argv[1:] if argv is None else list(argv)
    if arguments[:1] == [CHILD]:
        child(json.loads(arguments[1]))
        return
    quick = quick_asked("many_queries", __doc__ or "", argv)
    asked: dict[str, Any] = QUICK if quick else FULL
    plan = asdict(asked["plan"])
    if quick:
        say("quick: few rows and drops; of the rivals only the strongest")
    compared = in_a_process({"sample": asdict(asked["sample"])})["compared"]
    say(f"{compared:,.0f} answers of rivals at ends of windows are ours")
    found: dict[str, dict[int, dict[str, float]]] = {}
    for way in ("ours", "panes", "exploded", "apart"):
        for count in asked[way]:
            line = in_a_process({"way": way, "count": count, "plan": plan})
            found.setdefault(way, {})[count] = line
            say(f"{way}, {count} queries: {line['cpu']:.3f} processor seconds per drop")
    table(
        ["way and queries", "CPU s per drop", "seconds per drop"],
        [
            (f"{way}, {count}", line["cpu"], line["seconds"])
            for way, lines in found.items()
            for count, line in lines.items()
        ],
    )
    mine = found["ours"]
    most = mine[1_000]["cpu"] / mine[1]["cpu"]
    say(f"1,000 queries take {most:.2f} times as long as one")
    best = min(lines[100]["cpu"] for way, lines in found.items() if way != "ours" and 100 in lines)
    ratio = best / mine[100]["cpu"]
    if not quick:
        save("many_queries", {"plan": plan, "lines": found, "most": most, "ratio": ratio})
    finish(ratio)


if __name__ == "__main__":
    main()
