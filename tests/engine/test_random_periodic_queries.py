"""The workload of Golab 2006, 8.5.1: random windows and periods, by six kinds of groups.

WINDOW is 20 to 100 instants, SLIDE one instant to half of the window; some are top-k lists and
quantiles. Every answer is recomputed from the tuples of its window, and one-time queries are asked
in between, or by a second thread while the stream goes on.
"""

from __future__ import annotations

import json
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import windrow

STREAM = (
    "CREATE STREAM flows (ts BIGINT, src INT, dst INT, protocol INT, port INT, length BIGINT, "
    "host STRING) TIMESTAMP BY ts;"
)
GROUPS = ["src", "dst", "src, dst", "protocol", "port", "protocol, port"]
AGGREGATES = [
    "SUM(length)", "COUNT(*)", "AVG(length)", "MIN(length)", "MAX(length)", "MEDIAN(length)",
    "QUANTILE(length, 0.75)", "COUNT(DISTINCT length)", "COUNT(DISTINCT port)", "MIN(host)",
    "MAX(host)", "FIRST(host)", "LAST(length)", "MIN_BY(host, length)", "MAX_BY(port, host)",
]  # fmt: skip
PAIRS = {
    "FIRST(host)": "MIN({'by': ts, 'value': host}).value",
    "LAST(length)": "MAX({'by': ts, 'value': length}).value",
    "MIN_BY(host, length)": "MIN({'by': length, 'value': host}).value",
    "MAX_BY(port, host)": "MAX({'by': host, 'value': port}).value",
}
"""In DuckDB's words, which say what is the first of several at one instant."""
PREDICATES = ["", "length > 700", "length <= 700", "protocol < 3", "protocol < 3 AND length > 700"]


@dataclass(frozen=True)
class Query:
    keys: str
    aggregate: str
    predicate: str
    window: int
    slide: int
    top: int | None = None

    def text(self, source: str) -> str:
        where = f" WHERE {self.predicate}" if self.predicate else ""
        shown = f"{self.keys}, {self.aggregate} AS value"
        text = f"SELECT {shown} FROM {source}{where} GROUP BY {self.keys}"
        # ties are told apart by all columns
        return text + (f" ORDER BY value DESC, {self.keys} LIMIT {self.top}" if self.top else "")

    @property
    def cql(self) -> str:
        return self.text(f"flows [RANGE {self.window} SLIDE {self.slide}]")

    def recompute(self, rows: pa.Table, now: int) -> list[tuple[Any, ...]]:
        """Its answer at the last multiple of its slide, from the tuples of that window."""
        assert rows.num_columns == 7
        at = now // self.slide * self.slide
        since = at - self.window
        window = f"(SELECT * FROM rows WHERE ts > {since} AND ts <= {at})"
        sql = self.text(window).replace("QUANTILE(", "QUANTILE_CONT(")
        sql = sql.replace(self.aggregate, PAIRS.get(self.aggregate, self.aggregate))
        return sorted(duckdb.sql(sql).fetchall())


def workload(per_group: int, seed: int = 1) -> list[Query]:
    draw = random.Random(seed)
    found = []
    for keys in GROUPS:
        for _ in range(per_group):
            window = draw.randint(20, 100)
            found.append(
                Query(
                    keys, draw.choice(AGGREGATES), draw.choice(PREDICATES), window,
                    draw.randint(1, window // 2), draw.choice([None, None, draw.randint(1, 10)]),
                )
            )  # fmt: skip
    return found


def tuples(instants: int, each: int, seed: int = 2) -> pa.Table:
    rng = np.random.default_rng(seed)
    count = instants * each
    return pa.table({
        "ts": np.repeat(np.arange(1, instants + 1), each),
        "src": rng.integers(0, 12, count).astype(np.int32),
        "dst": rng.integers(0, 12, count).astype(np.int32),
        "protocol": rng.integers(0, 6, count).astype(np.int32),
        "port": rng.integers(0, 5, count).astype(np.int32),
        "length": rng.integers(40, 1_500, count),
        "host": [f"{'long name of ' * (i % 2)}host {i}" for i in rng.integers(0, 40, count)],
    })  # fmt: skip


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in table.to_pylist())


def start(db: Any, queries: list[Query]) -> list[Any]:
    """The queries, one job for each kind of groups."""
    handles = db.execute(
        STREAM + "".join(f"CREATE QUERY q{i} AS {q.cql};" for i, q in enumerate(queries))
    )
    assert sum(handle._run.job.synopses is not None for handle in handles) == len(queries)
    assert len({handle._run.job.name for handle in handles}) == len(GROUPS)
    return list(handles)


def check(db: Any, queries: list[Query], rows: pa.Table, instants: int, step: int) -> int:
    """Push ``step`` instants at a time, and compare the answers of all that were due since."""
    handles = start(db, queries)
    draw, compared = random.Random(3), 0
    each = rows.num_rows // instants
    for now in range(step, instants + 1, step):
        db.push("flows", rows.slice((now - step) * each, step * each))
        db.advance(to=now)
        seen = rows.slice(max(0, now - 200) * each, min(now, 200) * each)
        for query, handle in zip(queries, handles, strict=True):
            if now // query.slide > (now - step) // query.slide:
                assert rows_of(handle.answer()) == query.recompute(seen, now), (query, now)
                compared += 1
        number = draw.randrange(len(queries))  # somebody asks
        asked = db.query(f"SELECT COUNT(*) AS groups, MAX(value) AS most FROM q{number}")
        answer = queries[number].recompute(seen, now)
        most = max((row[-1] for row in answer), default=None)
        assert asked.to_pylist() == [{"groups": len(answer), "most": most}]
    return compared


def check_in_two_threads(
    db: Any, queries: list[Query], rows: pa.Table, instants: int, step: int
) -> int:
    """One-time queries of a second thread while rows come: each answer is the one of the instant
    that it claims to reflect.
    """
    start(db, queries)
    each = rows.num_rows // instants
    found: list[tuple[int, int | None, list[tuple[Any, ...]]]] = []
    over, answered = threading.Event(), threading.Semaphore(0)

    def ask() -> None:
        draw = random.Random(4)
        while not over.is_set():
            number = draw.randrange(len(queries))
            answer = db.query(f"SELECT * FROM q{number}")
            (claimed,) = json.loads(answer.schema.metadata[b"windrow.instants"]).values()
            found.append((number, claimed, rows_of(answer)))
            answered.release()

    with ThreadPoolExecutor(1) as second:
        asking = second.submit(ask)
        try:
            for now in range(step, instants + 1, step):
                db.push("flows", rows.slice((now - step) * each, step * each))
                db.advance(to=now)
                while not answered.acquire(timeout=0.5) and not asking.done():
                    pass  # it may take its time, but it takes part
        finally:
            over.set()
        asking.result()
    for number, claimed, answer in found:
        query = queries[number]
        expected = [] if claimed is None else query.recompute(rows, claimed)
        assert answer == expected, (query, claimed)
    return len({claimed for _, claimed, _ in found})


def test_random_periodic_queries_answer_as_recomputed():
    queries = workload(per_group=4)
    with windrow.connect() as db:
        assert check(db, queries, tuples(120, each=6), 120, step=15) > 100


def test_one_time_queries_of_a_second_thread_are_those_of_the_instant_that_they_claim():
    with windrow.connect() as db:
        claims = check_in_two_threads(db, workload(per_group=3), tuples(120, each=6), 120, step=6)
        assert claims > 5


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_two_hundred_and_forty_periodic_queries_answer_as_recomputed_at_every_instant():
    queries = workload(per_group=40)
    with windrow.connect() as db:
        assert check(db, queries, tuples(600, each=10), 600, step=1) > 5_000


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_two_hundred_and_forty_periodic_queries_in_two_threads():
    queries = workload(per_group=40)
    with windrow.connect() as db:
        assert check_in_two_threads(db, queries, tuples(600, each=10), 600, step=2) > 100


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(900)
def test_two_hundred_and_forty_periodic_queries_answer_as_recomputed_on_spark(spark):
    queries = workload(per_group=40)
    with windrow.connect(spark=spark) as db:
        assert check(db, queries, tuples(600, each=10), 600, step=100) > 240


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(900)
def test_two_hundred_and_forty_periodic_queries_in_two_threads_on_spark(spark):
    queries = workload(per_group=40)
    with windrow.connect(spark=spark) as db:
        assert check_in_two_threads(db, queries, tuples(600, each=10), 600, step=100) > 2
