"""From a file that is dropped to results that are published: one, ten and a hundred queries.

Each query is a sliding GROUP BY over one stream of Parquet files,

    SELECT k, COUNT(*) AS n, SUM(v) AS s FROM s [RANGE r MILLISECONDS] GROUP BY k

and a drop is a small file, renamed into the watched directory. It is answered when every query has
committed a result of it. Beside the times: processor seconds per drop and memory (proportional set
size) of the driver, the Java virtual machine and the Python workers together, and what they take
while nothing comes; processes that these have started and that have ended are included, making the
files and looking for results is not. Each count of queries has a process of its own, so that none
has what another left. Java compiles what it runs often, and ten streaming queries run ten times as
many micro-batches; so that all are equally warm, each virtual machine has first run another
pipeline for as many. Warm-up drops are not counted, and results are not compacted yet in those that
are.

The rival is what ten queries cost when each is a streaming query of Spark's, in one session. The
last line is the processor time per drop of those ten over that of ten in one pipeline.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.report import finish, quick_asked, save, say, table

ROWS = 1_000
"""Rows of a drop."""
CHILD = "--child"
METRICS = ("spark.sql.streaming.metricsEnabled",)
POLL, LONGEST = 0.005, 120.0
"""Seconds between looks for a commit, which should cost nothing, and until there must be one."""


@dataclass(frozen=True)
class Plan:
    """``before`` drops for another pipeline and ``warm`` ones, then ``drops`` that count, ``pause``
    seconds apart or up to 0.1 more, then ``idle`` seconds."""

    before: int = 200
    warm: int = 20
    drops: int = 40
    pause: float = 0.3
    idle: float = 10.0


FULL = {"plan": Plan(), "counts": (1, 10, 100)}
QUICK = {"plan": Plan(before=100, warm=12, drops=12, idle=3.0), "counts": (1, 10)}


def drop(directory: Path, number: int) -> None:
    """A file that is there at once and whole."""
    rng = np.random.default_rng(number)
    ts = (1_000 + number * ROWS + np.arange(ROWS)) * 1_000 + 500
    columns = {
        "ts": pa.array(ts, pa.timestamp("us")),
        "k": rng.integers(0, 50, ROWS),
        "v": rng.integers(0, 1_000, ROWS),
    }
    hidden = directory / f".{number}"
    pq.write_table(pa.table(columns), hidden)
    hidden.rename(directory / f"{number:05d}.parquet")


def script(directory: Path, count: int) -> str:
    text = f"CREATE STREAM s (ts TIMESTAMP, k BIGINT, v BIGINT) FROM '{directory / 'in'}' "
    text += "FORMAT parquet;\n"
    for number in range(count):
        window = f"[RANGE {2_000 + 100 * number} MILLISECONDS]"
        query = f"SELECT k, COUNT(*) AS n, SUM(v) AS s FROM s {window} GROUP BY k"
        text += f"CREATE QUERY q{number} AS {query} INTO '{directory / 'out' / f'q{number}'}' "
        text += "FORMAT parquet;\n"
    return text


def commit_names(place: Path) -> set[str]:
    """Which commits a query has, for whoever looks often."""
    there = os.listdir(place) if place.is_dir() else ()  # noqa: PTH208 - no paths are needed
    return {name for name in there if name.startswith("_commit")}


class Usage:
    """Processor seconds and memory of this process and all that it has started. What the thread
    that asks has used is left out: it drops files and looks for results."""

    def __init__(self) -> None:
        self._own = psutil.Process()

    def seconds(self) -> float:
        total = 0.0
        for process in (self._own, *self._own.children(recursive=True)):
            try:
                used = process.cpu_times()
            except psutil.NoSuchProcess:
                continue
            total += used.user + used.system + used.children_user + used.children_system
        return total - time.thread_time()

    def megabytes(self) -> float:
        total = 0
        for process in (self._own, *self._own.children(recursive=True)):
            try:
                total += process.memory_full_info().pss
            except psutil.NoSuchProcess:
                continue
        return total / 2**20


class Running:
    """Queries over one directory, in one pipeline or each in its own."""

    def __init__(self, session: Any, count: int, *, apart: bool) -> None:
        from benchmarks.spark_beside import pipelines  # noqa: PLC0415 - starts Java
        from windrow.plan.program import compile_script  # noqa: PLC0415
        from windrow.spark.run.spark_job import Feed  # noqa: PLC0415

        self._directory = Path(tempfile.mkdtemp(prefix="windrow-benchmark-"))
        (self._directory / "in").mkdir()
        catalog = compile_script(script(self._directory, count)).catalog
        checkpoint = self._directory / "checkpoint"
        self._pipelines = pipelines(session, catalog, checkpoint, Feed(), apart=apart)
        for pipeline in self._pipelines:  # one by one: Spark gives the Python of each ten seconds
            pipeline.start()
            while pipeline.starting:
                time.sleep(0.1)
        self._places = [self._directory / "out" / f"q{number}" for number in range(count)]

    def answer(self, number: int) -> float:
        """The seconds until every query has committed one result more than before a drop."""
        waiting = [(place, commit_names(place)) for place in self._places]
        began = time.perf_counter()
        drop(self._directory / "in", number)
        while waiting:
            if time.perf_counter() - began > LONGEST:
                ended = [str(p.failure)[:500] for p in self._pipelines if p.failure is not None]
                raise TimeoutError(f"no answer within two minutes; {ended or 'all run'}")
            time.sleep(POLL)
            # One directory after the other: looking at all of them would be part of the figures.
            while waiting and commit_names(waiting[-1][0]) != waiting[-1][1]:
                waiting.pop()
        return time.perf_counter() - began

    def finish(self) -> None:
        for pipeline in self._pipelines:
            pipeline.finish()
        shutil.rmtree(self._directory, ignore_errors=True)


def measure(count: int, plan: Plan, *, apart: bool) -> dict[str, float]:
    """What a number of queries take, in this process."""
    from windrow.spark.run.session import spark_session  # noqa: PLC0415 - starts Java

    # Those apart are streaming queries of Spark's, since somebody hears of these.
    session = spark_session("local[2]", conf={name: "true" for name in METRICS if apart})
    with ExitStack() as ended:
        ended.callback(session.stop)
        another = Running(session, 1, apart=False)
        try:
            for number in range(plan.before):
                another.answer(number)
        finally:
            another.finish()
        running, usage = Running(session, count, apart=apart), Usage()
        ended.callback(running.finish)
        for number in range(plan.warm):
            running.answer(number)
        used = usage.seconds()
        laps = []
        for number in range(plan.warm, plan.warm + plan.drops):
            laps.append(running.answer(number))
            # Drops at the rhythm of Spark's triggers would all wait for the same time.
            time.sleep(plan.pause + number % 10 / 100)
        per_drop = (usage.seconds() - used) / plan.drops
        memory = usage.megabytes()
        time.sleep(1.0)
        used, began = usage.seconds(), time.perf_counter()
        time.sleep(plan.idle)
        idle = (usage.seconds() - used) / (time.perf_counter() - began)
    p50, p99 = np.percentile(laps, [50, 99])
    return {
        "p50": float(p50),
        "p99": float(p99),
        "cpu_per_drop": per_drop,
        "megabytes": memory,
        "idle_cpu": idle,
    }


def in_a_process(count: int, plan: Plan, *, apart: bool = False) -> dict[str, float]:
    asked = {"count": count, "apart": apart, **vars(plan)}
    command = [sys.executable, "-m", "benchmarks.spark_latency", CHILD, json.dumps(asked)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=dict(os.environ))
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def child(asked: dict[str, Any]) -> None:
    count, apart = asked.pop("count"), asked.pop("apart")
    print(json.dumps(measure(count, Plan(**asked), apart=apart)))


def main(argv: Sequence[str] | None = None) -> None:
    arguments = sys.argv[1:] if argv is None else list(argv)
    if arguments[:1] == [CHILD]:
        child(json.loads(arguments[1]))
        return
    quick = quick_asked("spark_latency", __doc__ or "", argv)
    asked: dict[str, Any] = QUICK if quick else FULL
    lines = {f"{n}": in_a_process(n, asked["plan"]) for n in asked["counts"]}
    lines["10, each its own"] = in_a_process(10, asked["plan"], apart=True)
    say("seconds from a drop of 1,000 rows to the last query's published result")
    table(
        ["queries", "p50", "p99", "CPU s per drop", "MB", "idle cores"],
        [(name, *line.values()) for name, line in lines.items()],
    )
    ratio = lines["10, each its own"]["cpu_per_drop"] / lines["10"]["cpu_per_drop"]
    if not quick:
        save("spark_latency", {"plan": vars(asked["plan"]), "lines": lines, "ratio": ratio})
    finish(ratio)


if __name__ == "__main__":
    main()
