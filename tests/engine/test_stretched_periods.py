"""Queries that are answered late, because processing takes longer than the time that it covers.

Every answer is recomputed for the instant that it claims; time is a number that tests set.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from statistics import median

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import windrow
from windrow.columns.delta import Delta
from windrow.columns.types import arrow_schema
from windrow.engine.connection import Connection
from windrow.engine.embedded import Embedded
from windrow.engine.pipeline import Pipeline
from windrow.plan.sharing.group_schedule import ScheduleOptions
from windrow.sharing.schedule import POLICIES, Pace

STREAM = "CREATE STREAM s (ts BIGINT, k BIGINT, v BIGINT);"
Row = tuple[int, int, int]


@dataclass(frozen=True)
class Query:
    aggregate: str
    window: int
    slide: int
    least: int | None = None
    """A predicate: v is not less."""

    @property
    def cql(self) -> str:
        where = "" if self.least is None else f" WHERE v >= {self.least}"
        return (
            f"SELECT k, {self.aggregate} AS a FROM s [RANGE {self.window} SLIDE {self.slide}]"
            f"{where} GROUP BY k"
        )

    def recompute(self, rows: list[Row], at: int) -> Counter[tuple[int, float]]:
        groups = defaultdict(list)
        for ts, k, v in rows:
            if at - self.window < ts <= at and (self.least is None or v >= self.least):
                groups[k].append(v)
        functions = {
            "SUM(v)": sum, "COUNT(*)": len, "MIN(v)": min, "MAX(v)": max,
            "AVG(v)": lambda values: sum(values) / len(values),
            "MEDIAN(v)": median,
            "COUNT(DISTINCT v)": lambda values: len(set(values)),
        }  # fmt: skip
        return Counter((k, functions[self.aggregate](values)) for k, values in groups.items())


@dataclass
class Stopwatch:
    """Every step takes ``load`` seconds."""

    load: float = 0
    now: float = field(default=0, init=False)
    calls: int = field(default=0, init=False)

    def __call__(self) -> float:
        self.now += self.load if self.calls % 2 else 0
        self.calls += 1
        return self.now


def connect(
    watch: Stopwatch, policy: str | None = "late-pending", max_delay: float | None = 0
) -> Connection:
    options = ScheduleOptions.of(policy, max_delay)
    return Connection(Embedded(schedule=options, stopwatch=watch))


def script(queries: list[Query]) -> str:
    return STREAM + "".join(f"CREATE QUERY q{n} AS {q.cql};" for n, q in enumerate(queries))


def push(db: Connection, rows: list[Row]) -> None:
    if rows:
        ts, k, v = zip(*rows, strict=True)
        db.push("s", {"ts": ts, "k": k, "v": v})


def replay(handle, query: Query, rows: list[Row]) -> list[int]:
    """The instants of its changes, each checked against recomputation."""
    answer: Counter[tuple[int, float]] = Counter()
    changes = handle.changes().to_pylist()
    instants = sorted({change["instant"] for change in changes})
    assert [c["instant"] for c in changes] == sorted(c["instant"] for c in changes)
    for instant in instants:
        for change in (c for c in changes if c["instant"] == instant):
            answer[change["k"], change["a"]] += 1 if change["change"] == "+" else -1
        answer = +answer
        assert answer == query.recompute(rows, instant), (query, instant)
    lateness = handle.lateness
    if lateness is not None:
        assert answer == query.recompute(rows, lateness.answered)
    return instants


def shown(handle) -> Counter[tuple[int, float]]:
    return Counter((row["k"], row["a"]) for row in handle.answer().to_pylist())


QUERIES = st.lists(
    st.builds(
        Query,
        st.sampled_from(
            ["SUM(v)", "COUNT(*)", "MIN(v)", "MAX(v)", "AVG(v)", "MEDIAN(v)", "COUNT(DISTINCT v)"]
        ),
        st.integers(1, 12),
        st.integers(1, 6),
        st.sampled_from([None, None, 3]),
    ),
    min_size=1,
    max_size=5,
)
STEPS = st.lists(
    st.tuples(
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 5)), max_size=4),
        st.sampled_from([0, 0.5, 2, 9]),
    ),
    max_size=25,
)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    queries=QUERIES,
    steps=STEPS,
    policy=st.sampled_from(sorted(POLICIES)),
    max_delay=st.sampled_from([None, 0, 3]),
)
@pytest.mark.usefixtures("sizes")
def test_every_answer_is_right_for_its_instant(queries, steps, policy, max_delay) -> None:
    watch, rows, now = Stopwatch(), [], 0
    with connect(watch, policy, max_delay) as db:
        handles = db.execute(script(queries))
        for step, (moves, load) in enumerate(steps):
            watch.load = load
            batch = []
            for move, k, v in moves:
                now += move
                batch.append((now, k, v))
            rows += batch
            push(db, batch)
            for handle, query in zip(handles, queries, strict=True):
                if step % 3 == 0 and handle.lateness is not None:
                    assert shown(handle) == query.recompute(rows, handle.lateness.answered)
        for handle, query in zip(handles, queries, strict=True):
            replay(handle, query, rows)


ROWS = [(ts, ts % 3, ts * 7 % 11) for ts in range(1, 121)]
FOUR = [
    Query("SUM(v)", 10, 2),
    Query("MAX(v)", 14, 4),
    Query("COUNT(*)", 8, 2),
    Query("SUM(v)", 6, 2, 3),
]
"""More than one execution for each update."""


def run(
    queries: list[Query], loads, policy="conservative", max_delay=0.0, cut=1
) -> tuple[list, list[list[int]]]:
    """What was late of each query, and the instants of its changes."""
    watch = Stopwatch()
    db = connect(watch, policy, max_delay)
    handles = db.execute(script(queries))
    for first in range(0, len(ROWS), cut):
        watch.load = loads(ROWS[first][0])
        push(db, ROWS[first : first + cut])
    db.advance(to=120)
    instants = [replay(h, q, ROWS) for h, q in zip(handles, queries, strict=True)]
    return [handle.lateness for handle in handles], instants


@pytest.mark.parametrize("policy", ["none", "conservative"])
@pytest.mark.parametrize("cut", [1, 7, 120])
def test_without_load_nothing_is_late_however_the_input_is_cut(policy: str, cut: int) -> None:
    late, scheduled = run(FOUR, lambda _: 0, policy, 0, cut)
    assert [lateness.late for lateness in late] == [0] * 4
    db = windrow.connect()
    handles = db.execute(script(FOUR))
    push(db, ROWS)
    db.advance(to=120)
    assert scheduled == [replay(h, q, ROWS) for h, q in zip(handles, FOUR, strict=True)]


@pytest.mark.parametrize("cut", [7, 120])
def test_aggressive_and_hybrid_answer_early_with_others_and_never_later_than_asked(cut) -> None:
    queries = [Query("MAX(v)", w, s) for w, s in [(10, 2), (5, 2), (6, 2), (15, 3), (12, 3)]]
    for policy in ("aggressive", "hybrid", "late-pending"):
        _, instants = run(queries, lambda _: 1e9, policy, None, cut)
        assert set(instants[3]) <= set(range(2, 121, 2))  # G1,2 with G1,1, as in 8.4.4
        assert any(t % 3 for t in instants[3])


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_overload_stretches_all_periods_and_is_over_when_the_load_is(policy: str) -> None:
    late, instants = run(FOUR, lambda ts: 4 if ts < 60 else 0, policy)
    for lateness, own in zip(late, instants, strict=True):
        assert lateness.late > 0
        assert lateness.greatest > 0
        assert len(own) > 5
    late, _ = run(FOUR, lambda ts: 4 if ts < 20 else 0, policy)
    assert [lateness.seconds for lateness in late] == [0] * 4


def test_on_time_again_queries_are_back_at_the_multiples_of_their_periods() -> None:
    queries = [Query("SUM(v)", 10, 4, least) for least in range(6)]
    _, instants = run(queries, lambda ts: 4 if ts < 20 else 0)
    assert any(t % 4 for own in instants for t in own)
    for query, own in zip(queries, instants, strict=True):
        end = [t for t in own if t > 100]
        assert end == [t for t in range(101, 121) if t % query.slide == 0]


def test_a_longer_delay_is_allowed_before_anything_is_late() -> None:
    def loads(ts: int) -> float:
        return 4 if 10 <= ts < 20 else 0

    strict, _ = run(FOUR, loads, max_delay=0)
    lenient, _ = run(FOUR, loads, max_delay=1000)
    assert sum(lateness.late for lateness in strict) > 0
    assert sum(lateness.late for lateness in lenient) == 0


def test_equal_queries_are_stretched_equally() -> None:
    queries = [Query("SUM(v)", 10, 2, least) for least in range(6)]
    late, _ = run(queries, lambda _: 5, "none")
    counts = [lateness.executions for lateness in late]
    assert max(counts) - min(counts) <= 1
    assert max(lateness.greatest for lateness in late) == min(each.greatest for each in late)


def test_a_query_may_join_while_others_are_late() -> None:
    watch = Stopwatch()
    db = connect(watch, "conservative")
    handles = db.execute(script(FOUR))
    watch.load = 5
    push(db, ROWS[:1])
    for row in ROWS[1:40]:
        push(db, [row])
    new = Query("SUM(v)", 10, 2)
    joined = db.execute(f"CREATE QUERY q4 AS {new.cql}")
    assert len(db._runtime.runs) == 1
    for at, row in enumerate(ROWS[40:], 40):
        watch.load = 5 if at < 60 else 0
        push(db, [row])
    assert any(handle.lateness.late for handle in handles)
    for handle, query in zip([*handles, *joined], [*FOUR, new], strict=True):
        replay(handle, query, ROWS)


@given(when=st.integers(1, 59), behind=st.sampled_from([0.0, 30.0]))
@settings(max_examples=4)
def test_a_schedule_goes_on_from_where_it_was_saved(when: int, behind: float) -> None:
    """The same executions, and the same answers, as without the break."""
    db = connect(Stopwatch(), "late-pending")
    db.execute(script(FOUR))
    (whole,) = db._runtime.runs
    source = whole.job.plan

    def process(pipeline: Pipeline, ts: int) -> list:
        pipeline.set_pace(Pace(behind if ts % 50 > 25 else 0, 0.4))
        rows = [row for row in ROWS if row[0] == ts]
        delta = deltas(source, rows)
        return pipeline.process({"s": delta}, ts).rows.to_pylist()

    first = Pipeline(source, changes=True)
    segments: dict = {}
    broken = Pipeline(source, changes=True)
    for ts in range(1, 61):
        if ts == when:
            saved = broken.save()
            segments |= saved.put
            broken = Pipeline(source, changes=True)
            broken.load(segments, saved.meta)
        assert process(first, ts) == process(broken, ts)
    assert first.schedule is not None
    assert broken.schedule is not None
    assert first.schedule.save() == broken.schedule.save()


def deltas(plan, rows: list[Row]):
    schema = arrow_schema(plan.input.schema)
    values = [pa.array([row[i] for row in rows], schema.types[i]) for i in range(3)]
    batch = pa.RecordBatch.from_arrays(values, schema=schema)
    return Delta.insertions(np.array([row[0] for row in rows], np.int64), batch)


def test_what_is_no_schedule_is_refused() -> None:
    with pytest.raises(windrow.InputError, match="aggressive"):
        windrow.connect(schedule="fastest")
    with pytest.raises(windrow.InputError, match="seconds"):
        windrow.connect(max_delay=-1)
    with pytest.raises(windrow.ScriptError, match="a whole number: a priority"):
        windrow.connect().execute(f"{STREAM} CREATE QUERY q PRIORITY high AS {FOUR[0].cql}")


def test_the_one_with_the_highest_priority_is_late_least() -> None:
    queries = [Query("SUM(v)", 10, 2, least) for least in range(6)]
    text = script(queries).replace("QUERY q4 AS", "QUERY q4 PRIORITY 3 AS")
    watch = Stopwatch(5)
    db = connect(watch, "none")
    handles = db.execute(text)
    for row in ROWS:
        push(db, [row])
    counts = [handle.lateness.executions for handle in handles]
    others = [*counts[:4], counts[5]]
    assert counts[4] > 1.5 * max(others)
    assert max(others) - min(others) <= 1
    assert min(others) > 5
    for handle, query in zip(handles, queries, strict=True):
        replay(handle, query, ROWS)


def test_sql_says_for_which_instant_a_late_answer_is() -> None:
    watch = Stopwatch(5)
    db = connect(watch, "none")
    handles = db.execute(script(FOUR))
    for row in ROWS[:41]:
        push(db, [row])
    late = max(handles, key=lambda handle: handle.lateness.seconds)
    assert late.lateness.seconds > 0
    metadata = db.query(f"SELECT COUNT(*) AS n FROM {late.name}").schema.metadata
    assert metadata[b"windrow.instants"] == f'{{"{late.name}": {late.lateness.answered}}}'.encode()


def test_tops_and_queries_that_are_dropped_while_others_are_late() -> None:
    watch = Stopwatch(5)
    db = connect(watch, "late-pending")
    top = "SELECT TOP 2 k, SUM(v) AS a FROM s [RANGE 10 SLIDE 2] GROUP BY k ORDER BY a DESC, k"
    [best, *handles] = db.execute(script(FOUR).replace(STREAM, f"{STREAM}CREATE QUERY t AS {top};"))
    assert len(db._runtime.runs) == 1
    for at, row in enumerate(ROWS):
        if at == 50:
            db.execute("DROP QUERY q1;")
            del handles[1]
        push(db, [row])
        if at % 10 == 9:
            sums = FOUR[0].recompute(ROWS[: at + 1], best.lateness.answered)
            expected = sorted(sums, key=lambda group: (-group[1], group[0]))[:2]
            assert [(r["k"], r["a"]) for r in best.answer().to_pylist()] == expected
    assert best.lateness.late > 0
    for handle, query in zip(handles, [FOUR[0], *FOUR[2:]], strict=True):
        replay(handle, query, ROWS)
