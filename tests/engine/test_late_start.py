"""A query that comes late and is filled answers as one that ran from the beginning."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow
from windrow.core.errors import DataError, NotHeldError
from windrow.core.thresholds import lowered_thresholds
from windrow.core.time import FOREVER
from windrow.engine.handles import Handle
from windrow.plan.strategy import Strategy

STREAMS = """
    CREATE STREAM s (ts BIGINT, k STRING, v BIGINT);
    CREATE STREAM r (ts BIGINT, k STRING, v BIGINT);
    CREATE RELATION h (k STRING, owner STRING);
    CREATE VIEW few AS SELECT k, v FROM s WHERE v < 3;
"""
HOLD = """
    CREATE QUERY of_s AS SELECT k, v FROM s [RANGE 12];
    CREATE QUERY of_both AS SELECT s.k, r.v FROM s [RANGE 5], r [RANGE 9] WHERE s.v = r.v;
    CREATE QUERY last AS SELECT v, k FROM s [ROWS 4];
    CREATE QUERY each AS SELECT v, k FROM s [PARTITION BY k ROWS 2];
"""
HOLD_SLIDES = """
    CREATE QUERY of_s AS SELECT k, v FROM s [RANGE 13 SLIDE 3] WHERE v < 3;
    CREATE QUERY of_r AS SELECT k, v FROM r [RANGE 12 SLIDE 4];
    CREATE QUERY of_both AS SELECT s.k, r.v FROM s [RANGE 12 SLIDE 3], r [RANGE 9 SLIDE 3]
        WHERE s.v = r.v;
    CREATE QUERY some AS SELECT k FROM s [RANGE 5 SLIDE 6] WHERE v > 2;
"""
LATE_SLIDES = [
    "SELECT s.k, r.v FROM s [RANGE 9 SLIDE 3], r [RANGE 6 SLIDE 3] WHERE s.v = r.v",
    """SELECT s.k, COUNT(*) AS n FROM s [RANGE 6 SLIDE 6], r [RANGE 6 SLIDE 3] WHERE s.v = r.v
       GROUP BY s.k""",
    "SELECT DISTINCT v FROM s [RANGE 12 SLIDE 3]",
    """SELECT v FROM r [RANGE 8 SLIDE 4]
       WHERE NOT EXISTS (SELECT * FROM s [RANGE 9 SLIDE 3] WHERE s.v = r.v)""",
    "SELECT k, v FROM s [RANGE 10 SLIDE 3] WHERE v < 3 AND k = 'a'",
    "SELECT v FROM s [RANGE 13 SLIDE 6] WHERE v < 3 EXCEPT ALL SELECT v FROM r [RANGE 4 SLIDE 4]",
    "SELECT k, SUM(v) AS t FROM r [RANGE 12 SLIDE 12] GROUP BY k",
    "SELECT s.k, r.v FROM s [RANGE 15 SLIDE 3], r [RANGE 6 SLIDE 3] WHERE s.v = r.v",
]
HOLD_ROWS = """
    CREATE QUERY of_s AS SELECT k, v FROM s [ROWS 7 SLIDE 3];
    CREATE QUERY of_both AS SELECT s.k, r.v FROM s [ROWS 5], r [ROWS 6 SLIDE 4] WHERE s.v = r.v;
    CREATE QUERY of_few AS SELECT k, SUM(v) AS t FROM few [ROWS 9] GROUP BY k;
"""
LATE_ROWS = [
    "SELECT DISTINCT v FROM s [ROWS 6 SLIDE 2]",
    "SELECT s.k, r.v FROM s [ROWS 5 SLIDE 2], r [ROWS 6 SLIDE 4] WHERE s.v = r.v",
    """SELECT v FROM r [ROWS 4 SLIDE 3]
       WHERE NOT EXISTS (SELECT * FROM s [ROWS 6 SLIDE 2] WHERE s.v = r.v)""",
    "SELECT k, SUM(v) AS t, COUNT(*) AS n FROM s [ROWS 5 SLIDE 2] WHERE v > 0 GROUP BY k",
    "SELECT k, MEDIAN(v) AS m FROM s [ROWS 7 SLIDE 3] GROUP BY k",
    "SELECT TOP 2 k, v FROM s [ROWS 2 SLIDE 5] ORDER BY v, k",
    "SELECT FREQUENT 2 v, COUNT(*) AS n FROM s [ROWS 4 SLIDE 2] GROUP BY v",
    "SELECT k, v FROM s [ROWS 7]",
    "SELECT v, k FROM few [ROWS 7 SLIDE 3]",
    "SELECT a.v FROM s [ROWS 4 SLIDE 3] AS a, s [ROWS 2 SLIDE 2] AS b WHERE a.k = b.k",
    "SELECT COUNT(*) AS n FROM s [ROWS 3 SLIDE 2] EVERY 4",
    "SELECT ISTREAM(v) FROM s [ROWS 3 SLIDE 2]",
]
HOLD_SESSIONS = """
    CREATE QUERY of_s AS SELECT k, v FROM s [SESSION 4];
    CREATE QUERY of_r AS SELECT v, k FROM r [PARTITION BY k SESSION 5];
    CREATE QUERY each AS SELECT k, v FROM s [PARTITION BY v ROWS 3];
    CREATE QUERY some AS SELECT v FROM s [RANGE 8] WHERE k = 'a';
"""
LATE_SESSIONS = [
    "SELECT k, v FROM s [SESSION 4]",
    "SELECT k, COUNT(*) AS n, MAX(v) AS m FROM s [SESSION 2] GROUP BY k",
    "SELECT k, SUM(v) AS t FROM s [PARTITION BY k SESSION 3] GROUP BY k",
    "SELECT DISTINCT v FROM r [PARTITION BY k SESSION 5]",
    "SELECT k FROM r [PARTITION BY k, v SESSION 4]",
    "SELECT s.k, r.v FROM s [SESSION 3], r [PARTITION BY k SESSION 2] WHERE s.v = r.v",
    """SELECT k FROM s [PARTITION BY v ROWS 2]
       WHERE NOT EXISTS (SELECT * FROM r [PARTITION BY k SESSION 3] WHERE s.v = r.v)""",
    "SELECT v, COUNT(*) AS n FROM s [PARTITION BY v ROWS 1] WHERE k = 'a' GROUP BY v",
    "SELECT a.v FROM s [SESSION 4] AS a, s [RANGE 5] AS b WHERE a.v = b.v AND b.k = 'a'",
]
LATE = [
    "SELECT k, SUM(v) AS t, COUNT(*) AS n FROM s [RANGE 12] GROUP BY k",
    "SELECT k, v FROM s [RANGE 7] WHERE v > 1",
    "SELECT s.k, r.v FROM s [RANGE 6], r [RANGE 3] WHERE s.v = r.v",
    """SELECT a.k FROM s [RANGE 6] AS a, s [RANGE 8] AS b, s [RANGE 3] AS c
       WHERE a.k = b.k AND b.k = c.k""",
    "SELECT DISTINCT k FROM s [RANGE 9]",
    "SELECT k, MAX(v) AS m, MEDIAN(v) AS d FROM s [RANGE 9] GROUP BY k",
    "SELECT v FROM s [RANGE 9] EXCEPT ALL SELECT v FROM s [RANGE 2]",
    "SELECT k, v FROM s [RANGE 9] WHERE NOT EXISTS (SELECT * FROM r [RANGE 4] WHERE r.v = s.v)",
    "SELECT v, EXISTS (SELECT * FROM r [RANGE 4] WHERE r.v = s.v) AS there FROM s [RANGE 9]",
    "SELECT v FROM s [RANGE 9] UNION ALL SELECT v FROM r [RANGE 4]",
    "SELECT TOP 2 k, v FROM s [RANGE 9] ORDER BY v, k",
    "SELECT k, COUNT(*) AS n FROM s [RANGE 8 SLIDE 3] GROUP BY k",
    "SELECT COUNT(*) AS n FROM s [RANGE 6] EVERY 4",
    "SELECT k, v FROM s [RANGE 20]",
    "SELECT v, k FROM s [ROWS 3]",
    "SELECT k, COUNT(*) AS n FROM s [PARTITION BY k ROWS 2] GROUP BY k",
    "SELECT s.v, owner FROM s [RANGE 9], h WHERE s.k = h.k",
    "SELECT ISTREAM(k) FROM s [RANGE 5]",
    "SELECT k FROM s [NOW]",
]
Row = tuple[int, str, int]
streams = st.lists(
    st.tuples(st.integers(1, 40), st.sampled_from("ab"), st.integers(0, 3)), max_size=50
).map(sorted)


def push(db: windrow.Connection, name: str, rows: list[Row]) -> None:
    db.push(name, {n: [row[i] for row in rows] for i, n in enumerate(("ts", "k", "v"))})


def bag(handle: Handle) -> Counter[tuple]:
    return Counter(tuple(row.values()) for row in handle.answer().to_pylist())


def changes_after(handle: Handle, instant: int) -> Counter[tuple]:
    rows = (tuple(row.values()) for row in handle.changes().to_pylist())
    return Counter(row for row in rows if row[0] > instant)


EITHER = [
    *((HOLD, query) for query in LATE),
    *((HOLD_SLIDES, query) for query in LATE_SLIDES),
    *((HOLD_ROWS, query) for query in LATE_ROWS),
    *((HOLD_SESSIONS, query) for query in LATE_SESSIONS),
]


@pytest.mark.parametrize(("hold", "query"), EITHER)
@settings(max_examples=6)
@given(
    s=streams,
    r=streams,
    starts=st.integers(1, 40),
    lag=st.integers(0, 3),
    steps=st.lists(st.integers(1, 9), max_size=3),
    strategy=st.sampled_from(Strategy),
    least=st.booleans(),
)
def test_late_is_as_from_the_beginning(
    hold: str,
    query: str,
    s: list[Row],
    r: list[Row],
    starts: int,
    lag: int,
    steps: list[int],
    strategy: Strategy,
    least: bool,
) -> None:
    sized = lowered_thresholds() if least else nullcontext()
    with sized, windrow.connect(strategy=strategy.value) as db, windrow.connect() as other:
        db.execute(STREAMS + hold)
        [*_, early] = other.execute(f"{STREAMS} CREATE QUERY early AS {query};")
        late, now = None, 0
        for connection in (db, other):
            connection.push("h", {"k": ["a"], "owner": ["Ann"]})
        for instant in (starts, *(starts + sum(steps[: i + 1]) for i in range(len(steps)))):
            for connection in (db, other):
                push(connection, "s", [row for row in s if now < row[0] <= instant])
                push(connection, "r", [row for row in r if now - lag < row[0] <= instant - lag])
                if late is not None and instant == starts + sum(steps):
                    connection.advance(to=instant)
            if late is None:
                [late] = db.execute(f"CREATE QUERY late AS {query};")
            now = instant
            check(early, late)


NO_VIEW = ("TOP", "EVERY", "ISTREAM", "[RANGE 20]")
VIEWS = [query for query in LATE if not any(word in query for word in NO_VIEW)]


@pytest.mark.parametrize("query", VIEWS)
@settings(max_examples=3)
@given(s=streams, r=streams, now=st.integers(1, 40), least=st.booleans())
def test_a_view_is_answered_as_a_query_that_ran_from_the_beginning(
    query: str, s: list[Row], r: list[Row], now: int, least: bool
) -> None:
    sized = lowered_thresholds() if least else nullcontext()
    with sized, windrow.connect() as db, windrow.connect() as other:
        db.execute(f"{STREAMS} {HOLD} CREATE VIEW asked AS {query};")
        [*_, early] = other.execute(f"{STREAMS} CREATE QUERY early AS {query};")
        for connection in (db, other):
            connection.push("h", {"k": ["a"], "owner": ["Ann"]})
            push(connection, "s", [row for row in s if row[0] <= now])
            push(connection, "r", [row for row in r if row[0] <= now])
            connection.advance(to=now)
        found = db.query("SELECT * FROM asked").to_pylist()
        assert Counter(tuple(row.values()) for row in found) == bag(early)


@pytest.mark.parametrize(
    ("query", "whole"), [*zip(LATE_SLIDES, (42, 42, 42, 44, 42, 44, 48, 45), strict=True)]
)
@pytest.mark.parametrize("strategy", Strategy)
def test_windows_that_slide_are_whole_by_when_they_slide_next(query, whole, strategy) -> None:
    """At once, if what is held is long enough; later, if it is not."""
    with windrow.connect(strategy=strategy.value) as db:
        db.execute(STREAMS + HOLD_SLIDES)
        for name in "sr":
            push(db, name, [(ts, "a", ts % 4) for ts in range(1, 41)])
        db.advance(to=40)
        [late] = db.execute(f"CREATE QUERY late AS {query};")
        assert late.complete_from <= whole


@pytest.mark.parametrize("query", LATE_SESSIONS)
@pytest.mark.parametrize("strategy", Strategy)
def test_sessions_that_others_hold_are_complete_at_once(query: str, strategy: Strategy) -> None:
    with windrow.connect(strategy=strategy.value) as db:
        db.execute(STREAMS + HOLD_SESSIONS)
        for name in "sr":
            push(db, name, [(ts, "ab"[ts % 2], ts % 4) for ts in range(1, 21)])
        db.advance(to=20)
        [late] = db.execute(f"CREATE QUERY late AS {query};")
        assert late.complete_from == late.now == 20


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k, v FROM s [SESSION 5]",
        "SELECT k, v FROM r [SESSION 4]",
        "SELECT k, v FROM r [PARTITION BY v SESSION 4]",
        "SELECT k FROM s [PARTITION BY v ROWS 4]",
        "SELECT k FROM s [PARTITION BY k ROWS 2]",
    ],
)
def test_sessions_and_rows_by_key_of_which_some_may_be_gone_are_never_complete(query: str) -> None:
    with windrow.connect() as db:
        db.execute(STREAMS + HOLD_SESSIONS)
        for name in "sr":
            push(db, name, [(ts, "ab"[ts % 2], ts % 4) for ts in range(1, 21)])
        db.advance(to=20)
        [late] = db.execute(f"CREATE QUERY late AS {query};")
        assert late.complete_from == FOREVER


def test_a_query_that_begins_at_the_next_slide_has_no_answer_before() -> None:
    """What it has by then of the oldest slide is not all of it."""
    with windrow.connect() as db:
        db.execute(STREAMS + HOLD_SLIDES)
        for name in "sr":
            push(db, name, [(ts, "a", ts % 4) for ts in range(1, 41)])
        db.advance(to=40)
        [late] = db.execute(f"CREATE QUERY late AS {LATE_SLIDES[2]};")
        assert (late.now, late.complete_from) == (40, 42)
        assert (late.answer().num_rows, late.changes().num_rows) == (0, 0)
        assert db.query("SELECT * FROM late").num_rows == 0
        db.advance(to=42)
        assert (late.answer().num_rows, late.changes().num_rows) == (4, 4)


def test_a_window_that_reaches_back_to_zero_is_not_taken_for_one_that_reaches_further() -> None:
    with windrow.connect() as db:
        db.execute(f"{STREAMS} {HOLD} CREATE VIEW asked AS {LATE[7]};")
        db.advance(to=5)
        assert db.query("SELECT * FROM asked").num_rows == 0


def test_a_view_of_windows_that_nobody_holds_is_not_answered() -> None:
    with windrow.connect() as db:
        db.execute(f"{STREAMS} CREATE VIEW asked AS {LATE[0]};")
        push(db, "s", [(1, "a", 1), (5, "b", 2)])
        db.advance(to=5)
        with pytest.raises(NotHeldError, match="there is none; found asked with k, t, n"):
            db.query("SELECT * FROM asked")


def test_of_a_join_that_slides_sql_may_ask_for_all_but_the_oldest_slide() -> None:
    with windrow.connect() as db:
        db.execute(STREAMS + HOLD_SLIDES)
        for name in "sr":
            push(db, name, [(ts, "a", ts % 4) for ts in range(1, 41)])
        db.advance(to=40)
        found = db.query("SELECT COUNT(*) AS n FROM s [RANGE 9 SLIDE 3]").to_pylist()
        assert found == [{"n": 9}]  # those of 31 to 39
        with pytest.raises(NotHeldError, match="without what leaves at its next slide"):
            db.query("SELECT COUNT(*) FROM s [RANGE 12 SLIDE 3]")


def check(early: Handle, late: Handle) -> None:
    complete = late.complete_from
    if late.now is None or (complete is not None and late.now < complete):
        return
    assert late.now == early.now
    assert complete != FOREVER
    first = complete if complete is not None else 0
    assert changes_after(late, first) == changes_after(early, first)
    if "ISTREAM" not in early.declaration.text:
        assert bag(late) == bag(early)


def test_explain_says_as_a_time_from_when_a_late_query_is_complete() -> None:
    with windrow.connect() as db:
        db.execute("CREATE STREAM s (at TIMESTAMP, v INT); SELECT v FROM s [RANGE 1 MINUTE];")
        db.push("s", {"at": ["2026-03-01 09:00:00"], "v": [1]})
        db.advance(to="2026-03-01 09:00:30")
        said = db.explain("SELECT v FROM s [NOW]")
    assert "complete from instant 2026-03-01 09:00:30" in said


def test_a_filled_query_begins_with_its_answer_and_says_from_when_it_is_complete() -> None:
    with windrow.connect() as db:
        db.execute(STREAMS + HOLD)
        push(db, "s", [(1, "a", 1), (5, "b", 2), (9, "a", 3)])
        push(db, "r", [(9, "a", 3)])
        db.advance(to=10)
        whole = "SELECT k, SUM(v) AS t FROM s [RANGE 8] GROUP BY k"
        assert "late: filled with s [RANGE 12 SECONDS] from of_s; complete from instant 10" in (
            db.explain(whole)
        )
        [handle] = db.execute(whole)
        assert handle.complete_from == handle.now == 10
        assert sorted(handle.changes().to_pylist(), key=lambda row: row["k"]) == [
            {"instant": 10, "change": "+", "k": "a", "t": 3},
            {"instant": 10, "change": "+", "k": "b", "t": 2},
        ]
        [part] = db.execute("SELECT v FROM s [RANGE 30]")
        assert (part.complete_from, part.answer().num_rows) == (28, 3)
        [never] = db.execute("SELECT COUNT(*) AS n FROM s")
        assert (never.complete_from, never.answer().num_rows) == (FOREVER, 0)
        assert "late: begins empty; its answers do not have what came before" in (
            db.explain("SELECT COUNT(*) AS n FROM s")
        )
        [nobody] = db.execute("SELECT v FROM r [RANGE 4] WHERE k = 'b'")
        assert nobody.complete_from == 14
        [again] = db.execute("SELECT k, v FROM s [RANGE 8]")
        assert again.complete_from == 10


def test_a_value_that_fails_on_the_way_into_a_window_is_named_with_its_column_and_query() -> None:
    with windrow.connect() as db:
        db.execute("""
            CREATE STREAM s (ts BIGINT, k STRING, v STRING);
            CREATE QUERY q AS SELECT k, v FROM s [RANGE 9];
            CREATE VIEW whole AS SELECT k FROM s WHERE CAST(v AS INT) > 0;
        """)
        db.push("s", {"ts": [1, 2], "k": ["a", "a"], "v": ["1", "x"]})
        db.advance(to=2)
        with pytest.raises(DataError, match=r"^query late, CAST\(v AS INT\): "):
            db.execute("CREATE QUERY late AS SELECT k FROM s [RANGE 9] WHERE CAST(v AS INT) > 0")
        with pytest.raises(DataError, match=r"^CAST\(v AS INT\): "):
            db.query("SELECT k FROM whole [RANGE 9]")
        assert db.queries["q"].answer().num_rows == 2


def test_what_is_late_by_other_queries_and_by_itself_is_taken_from_who_is_slowest() -> None:
    """A query that waits for another stream holds less, and lets rows wait: both are taken."""
    with windrow.connect() as db:
        db.execute(STREAMS + HOLD.replace("[RANGE 12]", "[RANGE 3]"))
        push(db, "s", [(1, "a", 1), (5, "b", 2), (9, "a", 3)])
        push(db, "r", [(5, "a", 1)])
        db.execute("CREATE QUERY late AS SELECT v FROM s [RANGE 5]")
        late = db.queries["late"]
        assert late.now == 8
        assert [row["v"] for row in late.answer().to_pylist()] == [2]
        db.advance(to=9)
        assert sorted(row["v"] for row in late.answer().to_pylist()) == [2, 3]


def test_who_holds_a_window_is_known_though_two_groups_have_one_name() -> None:
    """A group keeps the name of the query that it began with, and another may begin with it too."""
    joined = """CREATE QUERY {0} AS SELECT s.k, COUNT(*) AS n
        FROM s [RANGE {1} SLIDE 10], r [RANGE {1} SLIDE 10] WHERE s.k = r.k GROUP BY s.k;"""
    with windrow.connect() as db:
        db.execute(STREAMS + joined.format("one", 20) + joined.format("two", 40))
        db.execute("DROP QUERY one;")
        db.execute(joined.format("one", 20) + joined.format("three", 40))
        for name in "sr":
            push(db, name, [(ts, "a", 1) for ts in range(1, 13)])
        db.advance(to=12)
        [late] = db.execute("SELECT k FROM s [RANGE 30 SLIDE 10] WHERE k IS NOT NULL")
        assert (late.complete_from, late.answer().num_rows) == (12, 10)


def test_a_query_over_streams_without_rows_has_missed_nothing() -> None:
    with windrow.connect() as db:
        db.execute(STREAMS + HOLD)
        db.advance(to=10)
        [handle] = db.execute("SELECT v FROM s [RANGE 30]")
        assert handle.complete_from is None
        assert "late:" not in db.explain("SELECT v FROM s [RANGE 30]")


def test_what_a_filled_query_begins_with_is_written_and_heard(tmp_path) -> None:
    with windrow.connect() as db:
        db.execute(STREAMS + HOLD)
        push(db, "s", [(1, "a", 1), (5, "b", 2)])
        db.advance(to=6)
        [late] = db.execute(f"SELECT v FROM s [RANGE 3] INTO '{tmp_path}/late' FORMAT csv;")
        began = [{"instant": 6, "change": "+", "v": 2}]
        assert windrow.results(tmp_path / "late").changes().to_pylist() == began
        heard: list[dict] = []
        late.on_change(lambda changes: heard.extend(changes.to_pylist()))
        db.advance(to=8)
        assert heard == [*began, {"instant": 8, "change": "-", "v": 2}]


def test_explain_of_a_running_query_that_shares_says_from_when_it_is_complete():
    shape = "CREATE QUERY {} AS SELECT k, {} AS n FROM s [RANGE 40 SLIDE 20] GROUP BY k;"
    with windrow.connect() as db:
        db.execute("CREATE STREAM s (ts BIGINT, k INT, v BIGINT);")
        db.execute(shape.format("sums", "SUM(v)") + shape.format("counts", "COUNT(*)"))
        db.push("s", {"ts": [1, 2, 30], "k": [1, 1, 2], "v": [1, 2, 3]})
        assert "late" not in db.explain("sums")
        would_be = db.explain(shape.format("most", "MAX(v)")).splitlines()[-1]
        (late,) = db.execute(shape.format("most", "MAX(v)"))
        assert late.complete_from == 80
        assert would_be.endswith("complete from instant 80")
        assert db.explain("most").splitlines()[-1] == "late: complete from instant 80"


def test_queries_that_share_a_selection_and_come_late_say_from_when_they_are_complete():
    script = "".join(
        f"CREATE QUERY q{low} AS SELECT k, COUNT(*) AS n FROM s [RANGE 10] "
        f"WHERE v BETWEEN {low} AND {low + 5} GROUP BY k;"
        for low in range(4)
    )
    declared, rows = "CREATE STREAM s (ts BIGINT, k INT, v BIGINT);", {"k": [1, 2], "v": [4, 4]}
    with windrow.connect() as late, windrow.connect() as early:
        early.execute(declared + script)
        late.execute(declared)
        for db in (early, late):
            db.push("s", {"ts": [1, 9], **rows})
            db.advance(to=9)
        would_be = late.explain("SELECT k FROM s [RANGE 10]").splitlines()[-1]
        queries = late.execute(script)
        assert {query.complete_from for query in queries} == {19}
        assert would_be.endswith(words := "complete from instant 19")
        assert late.explain("q2").splitlines()[-1] == f"late: {words}"
        for db in (early, late):
            db.push("s", {"ts": [12, 13], **rows})
        for instant, same in ((18, False), (19, True)):
            for db in (early, late):
                db.advance(to=instant)
            found, known = (Counter(map(str, db.queries["q2"].answer().to_pylist()))
                            for db in (late, early))  # fmt: skip
            assert (found == known) is same


def test_explain_says_that_queries_which_share_a_selection_begin_empty_whoever_holds_tuples():
    text = "CREATE QUERY q{0} AS SELECT k FROM s [RANGE 10] WHERE v > {0};"
    script = [text.format(low) for low in range(4)]
    with windrow.connect() as db:
        db.execute(f"{STREAMS} {HOLD}")
        push(db, "s", [(ts, "a", ts) for ts in range(1, 10)])
        db.advance(to=9)
        assert db.explain(script[0]).endswith("from of_s; complete from instant 9")
        would_be = db.explain("".join(script)).split("\n\n")
        assert {text.splitlines()[-1] for text in would_be} == {
            "late: begins empty; complete from instant 19"
        }
        assert {query.complete_from for query in db.execute("".join(script))} == {19}


def test_explain_of_a_running_query_says_times_and_that_it_is_never_complete():
    with windrow.connect() as db:
        db.execute("CREATE STREAM s (at TIMESTAMP, v INT);")
        db.push("s", {"at": ["2026-03-01 09:00:00"], "v": [1]})
        db.advance(to="2026-03-01 09:00:30")
        db.execute("CREATE QUERY recent AS SELECT v FROM s [RANGE 1 MINUTE];")
        db.execute("CREATE QUERY ever AS SELECT v FROM s;")
        assert "late: complete from instant 2026-03-01 09:01:" in db.explain("recent")
        assert db.explain("ever").splitlines()[-1].endswith("do not have what came before")


@pytest.mark.parametrize("missed", [True, False])
def test_a_query_over_a_relation_that_is_ahead_is_complete_from_the_instant_of_the_relation(missed):
    with windrow.connect() as db:
        db.execute(STREAMS)
        if missed:
            db.push("s", {"ts": [2, 4], "k": ["a", "a"], "v": [1, 3]})
        for instant, k in ((1, "a"), (16, "b")):
            db.push("h", [{"instant": instant, "change": "+", "k": k, "owner": "A"}])
        [late] = db.execute("CREATE QUERY q AS SELECT a.v, owner FROM s [RANGE 7] AS a, h "
                            "WHERE a.k = h.k")  # fmt: skip
        assert late.complete_from == 15
        db.push("s", {"ts": [12, 13, 14], "k": ["a", "a", "b"], "v": [5, 6, 7]})
        db.advance(to=15)
        assert sorted(row["v"] for row in late.answer().to_pylist()) == [5, 6]


def test_one_that_is_filled_before_anybody_has_answered_is_complete_at_once():
    """All rows wait for the relation, and are there: nothing is missing, and EXPLAIN knew it."""
    question = "SELECT v, owner FROM s [RANGE 3], h WHERE s.k = h.k"
    with windrow.connect() as db:
        db.execute(f"{STREAMS} CREATE QUERY holder AS SELECT v, s.k FROM s, h WHERE s.k = h.k;")
        db.push("h", {"k": ["a"], "owner": ["Ann"]})
        push(db, "s", [(2, "a", 1), (15, "a", 2)])
        assert db.explain(question).endswith(
            "late: filled with s [UNBOUNDED] from holder; complete at once"
        )
        [late] = db.execute(f"CREATE QUERY q AS {question}")
        assert late.complete_from is None
        assert "late:" not in db.explain("q")
        db.advance(to=15)
        assert [row["instant"] for row in late.changes().to_pylist()] == [2, 5, 15]


@pytest.mark.parametrize(
    "question",
    [
        "SELECT v FROM s [RANGE 6 INTERNAL] AS a UNION SELECT v FROM s [RANGE 12 INTERNAL] AS b",
        """SELECT q.k, q.n FROM s [ROWS 3 INTERNAL] AS b, (SELECT k, COUNT(*) AS n
           FROM s [RANGE 2 SLIDE 1 INTERNAL] AS a GROUP BY k) AS q WHERE b.k = q.k""",
    ],
)
def test_what_is_kept_of_results_that_stay_is_never_complete(question):
    with windrow.connect() as db:
        db.execute(f"{STREAMS} CREATE QUERY holder AS SELECT ts, k, v FROM s [RANGE 15];")
        db.push("s", {"ts": [1, 2, 20], "k": ["a"] * 3, "v": [0, 1, 1]})
        [late] = db.execute(f"CREATE QUERY q AS {question}")
        assert late.complete_from == FOREVER


@pytest.mark.parametrize("shares", [False, True])
def test_windows_that_reach_beyond_the_end_of_time_are_never_complete(shares: bool) -> None:
    slide, group_by = ("SLIDE 20 SECONDS", "GROUP BY k") if shares else ("", "")
    held = f"SELECT k, COUNT(*) AS n FROM s [RANGE 40 SECONDS {slide}] GROUP BY k"
    wanted = "SELECT k, {} FROM s [RANGE {} {}] {}"
    with windrow.connect() as db:
        db.execute("CREATE STREAM s (ts TIMESTAMP, k INT, v BIGINT);")
        db.execute(f"CREATE QUERY one AS {held}; CREATE QUERY two AS {held.replace('40', '60')};")
        db.push("s", {"ts": ["2026-03-01 09:00:01"], "k": [1], "v": [2]})
        db.advance(to="2026-03-01 09:00:45")
        column = "SUM(v) AS t" if shares else "v"
        said = db.explain(wanted.format(column, "3000000 DAYS", slide, group_by)).splitlines()[-1]
        assert "complete from instant 10239-11-20 09:0" in said
        longest = wanted.format(column, "9223372036854 SECONDS", slide, group_by)
        assert db.explain(longest).splitlines()[-1].endswith("do not have what came before")
        [late] = db.execute(f"CREATE QUERY late AS {longest};")
        assert late.complete_from == FOREVER
        assert db.explain("late").splitlines()[-1] == (
            "late: its answers do not have what came before"
        )


@pytest.mark.parametrize(
    ("question", "complete"),
    [
        ("SELECT v, owner FROM s [RANGE 6], h WHERE s.k = h.k EVERY 4", 12),
        ("SELECT v, owner FROM s [RANGE 6], h WHERE s.k = h.k EVERY 5", 10),
        ("SELECT v FROM s [RANGE 6], (SELECT k FROM h EVERY 7) AS i WHERE s.k = i.k", 14),
        ("SELECT owner FROM h EVERY 4", 12),
    ],
)
def test_what_every_shows_of_a_relation_is_complete_from_when_it_looks_next(question, complete):
    with windrow.connect() as db, windrow.connect() as other:
        db.execute(STREAMS + HOLD)
        [*_, early] = other.execute(f"{STREAMS} CREATE QUERY early AS {question};")
        for connection in (db, other):
            connection.push("h", [{"instant": 1, "change": "+", "k": "a", "owner": "Ann"}])
            push(connection, "s", [(ts, "a", ts % 4) for ts in range(1, 11)])
            connection.advance(to=10)
        [late] = db.execute(f"CREATE QUERY late AS {question};")
        assert late.complete_from == complete
        for instant in range(11, 19):
            for connection in (db, other):
                connection.advance(to=instant)
            check(early, late)


def test_a_query_over_two_relations_is_complete_from_the_instant_of_the_later_one() -> None:
    question = "SELECT a.k FROM h AS a, i AS b WHERE a.k = b.k"
    with windrow.connect() as db, windrow.connect() as other:
        [*_, early] = other.execute(f"{STREAMS} CREATE RELATION i (k STRING); {question};")
        db.execute(f"{STREAMS} CREATE RELATION i (k STRING);")
        for connection in (db, other):
            for instant, k in ((1, "a"), (11, "b")):
                connection.push("h", [{"instant": instant, "change": "+", "k": k, "owner": "A"}])
            connection.push("i", [{"instant": 1, "change": "+", "k": "a"}])
            connection.push("i", [{"instant": 6, "change": "+", "k": "b"}])
        [late] = db.execute(question)
        assert late.complete_from == 10
        for instant in (7, 10, 12):
            for connection in (db, other):
                connection.push("i", [{"instant": instant, "change": "+", "k": "c"}])
                connection.advance(to=instant)
            check(early, late)
        assert bag(late) == {("a",): 1, ("b",): 1}


@pytest.mark.parametrize("hold", ["SELECT k, v FROM s [RANGE 12]", "SELECT v FROM s [ROWS 2]"])
def test_a_query_over_a_file_that_was_read_and_a_stream_that_was_pushed_has_both(tmp_path, hold):
    file = tmp_path / "f.csv"
    file.write_text("ts,v\n" + "".join(f"{ts},{ts % 4}\n" for ts in range(1, 21)))
    declared = f"CREATE STREAM f (ts BIGINT, v INT) FROM '{file}';"
    window = hold.split("FROM s ")[1]
    question = f"SELECT f.ts AS x, s.v FROM f [RANGE 8], s {window} WHERE f.v = s.v"
    with windrow.connect() as db, windrow.connect() as other:
        db.execute(f"{STREAMS} {declared} CREATE QUERY holder AS {hold}; SELECT v FROM f [NOW];")
        [*_, early] = other.execute(f"{STREAMS} {declared} CREATE QUERY early AS {question};")
        for connection in (db, other):
            push(connection, "s", [(ts, "a", ts % 4) for ts in range(1, 12)])
        [late] = db.execute(f"CREATE QUERY late AS {question};")
        assert late.complete_from == late.now == early.now == 10
        assert bag(late)
        for ts in (10, 15, 19, 25):
            check(early, late)
            for connection in (db, other):
                push(connection, "s", [(ts + 2, "a", ts % 4)])


OF_THE_PAST = [
    "SELECT owner FROM (ISTREAM(SELECT k, owner FROM h)) [RANGE 3] AS q",
    "WSTREAM(SELECT k, owner FROM h)[RANGE 3]",
    "SELECT f.v, owner FROM f [RANGE 5], n WHERE f.k = n.k",
    "SELECT v, owner FROM (ISTREAM(SELECT v, owner FROM f, h WHERE f.k = h.k)) [RANGE 3] AS q",
]


@pytest.mark.parametrize("question", OF_THE_PAST)
def test_what_goes_by_when_rows_of_a_relation_came_is_never_complete(tmp_path, question) -> None:
    file = tmp_path / "f.csv"
    file.write_text("ts,k,v\n" + "".join(f"{ts},a,1\n" for ts in range(1, 21)))
    declared = f"""{STREAMS} CREATE NRR n (k STRING, owner STRING);
        CREATE STREAM f (ts BIGINT, k STRING, v INT) FROM '{file}'; SELECT v FROM f [NOW];"""
    with windrow.connect() as db, windrow.connect() as other:
        db.execute(declared)
        [*_, early] = other.execute(f"{declared} CREATE QUERY early AS {question};")
        for connection in (db, other):
            for name in "hn":
                for instant, k in ((1, "a"), (10, "b")):
                    row = {"instant": instant, "change": "+", "k": k, "owner": "A"}
                    connection.push(name, [row])
        [late] = db.execute(f"CREATE QUERY late AS {question};")
        assert late.complete_from == FOREVER
        for connection in (db, other):
            connection.advance(to=10)
        assert bag(late) != bag(early)


@pytest.mark.parametrize("question", [OF_THE_PAST[2], OF_THE_PAST[3]])
def test_of_streams_without_rows_nothing_has_met_a_relation(question: str) -> None:
    with windrow.connect() as db:
        db.execute(f"{STREAMS} CREATE NRR n (k STRING, owner STRING); CREATE STREAM f (ts BIGINT, "
                   "k STRING, v INT);")  # fmt: skip
        for name in "hn":
            db.push(name, [{"instant": 1, "change": "+", "k": "a", "owner": "A"}])
        [late] = db.execute(f"CREATE QUERY late AS {question};")
        assert late.complete_from == 0


def test_a_view_of_what_was_new_in_a_relation_is_not_answered_as_if_all_of_it_were() -> None:
    with windrow.connect() as db:
        db.execute(f"{STREAMS} CREATE VIEW asked AS {OF_THE_PAST[0]};")
        for instant in (1, 9, 11):
            row = {"instant": instant, "change": "+", "k": "a", "owner": str(instant)}
            db.push("h", [row])
        with pytest.raises(NotHeldError, match="goes by when rows of relation h came"):
            db.query("SELECT * FROM asked")
