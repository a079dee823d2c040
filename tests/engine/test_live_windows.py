"""One-time SQL over windows that running queries hold: what they had is what their rows say."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import nullcontext

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow
from windrow.core.errors import InputError, NotHeldError
from windrow.core.thresholds import lowered_thresholds

STREAMS = """
    CREATE STREAM s (ts BIGINT, k STRING, v BIGINT, w DOUBLE);
    CREATE STREAM r (ts BIGINT, k STRING);
    CREATE VIEW big AS SELECT k, v + 1 AS x FROM s WHERE v > 2;
"""
HOLDERS = [
    "SELECT k, v FROM s [RANGE 12]",
    "SELECT k, SUM(v) AS t FROM s [RANGE 12] GROUP BY k",
    "SELECT s.v, s.k FROM s [RANGE 12], r [RANGE 4] WHERE s.k = r.k",
    """SELECT a.v, b.v FROM s [RANGE 12] AS a, s [RANGE 12] AS b, r [RANGE 3]
       WHERE a.k = b.k AND b.k = r.k""",
    "SELECT k, v FROM s [RANGE 12] EXCEPT ALL SELECT k, v FROM s [RANGE 3]",
    "SELECT k, v FROM s [RANGE 12] WHERE NOT EXISTS (SELECT * FROM r [RANGE 4] WHERE r.k = s.k)",
]
"""Queries whose operators hold k and v of all tuples of s [RANGE 12]."""
Row = tuple[int, str, int]
streams = st.lists(
    st.tuples(st.integers(1, 40), st.sampled_from("abc"), st.integers(0, 5)), max_size=40
).map(sorted)


def push(db: windrow.Connection, part: list[Row]) -> None:
    ts, k, v = ([row[i] for row in part] for i in range(3))
    db.push("s", {"ts": ts, "k": k, "v": v, "w": [1.5] * len(part)})
    db.push("r", {"ts": ts, "k": k})


def bag(table: pa.Table) -> Counter[tuple]:
    return Counter(tuple(row.values()) for row in table.to_pylist())


@pytest.mark.parametrize("holder", HOLDERS)
@settings(max_examples=5)
@given(
    stream=streams,
    cuts=st.sets(st.integers(1, 40), max_size=2),
    length=st.integers(1, 12),
    least=st.booleans(),
)
def test_a_window_is_what_the_rows_up_to_its_instant_give(
    holder: str, stream: list[Row], cuts: set[int], length: int, least: bool
) -> None:
    with lowered_thresholds() if least else nullcontext(), windrow.connect() as db:
        db.execute(f"{STREAMS} CREATE QUERY holder AS {holder};")
        taken = []
        for now in sorted(cuts | {41}):
            before = max((cut for cut in cuts if cut < now), default=0)
            push(db, [row for row in stream if before < row[0] <= now])
            db.advance(to=now)
            live = [row for row in stream if now - length < row[0] <= now]
            answer = db.query(f"SELECT ts, k, v FROM s [RANGE {length}]")
            taken.append((answer, Counter(live)))
            (instant,) = json.loads(answer.schema.metadata[b"windrow.instants"]).values()
            assert instant == now
            last, all_held = now // 5 * 5, [row for row in stream if now - 12 < row[0] <= now]
            together = f"""
                SELECT 'view' AS of, k, x FROM big [RANGE {length}] UNION ALL
                SELECT 'held', NULL, COUNT(*) FROM s UNION ALL
                SELECT 'slid', NULL, v FROM s [RANGE 8 SLIDE 5]
            """
            assert bag(db.query(together)) == Counter([
                *(("view", k, v + 1) for _, k, v in live if v > 2),
                ("held", None, len(all_held)),
                *(("slid", None, v) for ts, _, v in stream if last - 8 < ts <= last),
            ])  # fmt: skip
        for answer, wanted in taken:  # what was taken stays as it was
            assert bag(answer) == wanted


@settings(max_examples=6)
@given(stream=streams, count=st.integers(1, 5))
def test_a_window_of_rows_is_the_last_of_them(stream: list[Row], count: int) -> None:
    with windrow.connect() as db:
        db.execute(
            f"{STREAMS} CREATE QUERY last AS SELECT k, COUNT(v) AS n FROM s [ROWS 5] GROUP BY k"
        )
        push(db, stream)
        db.advance(to=41)
        answer = db.query(f"SELECT ts, k, v FROM s [ROWS {count}]")
        assert bag(answer) == Counter(stream[-count:])


@pytest.mark.parametrize(
    ("holder", "asked", "held"),
    [
        ("SELECT k FROM s [RANGE 5]", "k FROM s [RANGE 6]", "s [RANGE 5 SECONDS] with k (q)"),
        ("SELECT k FROM s [RANGE 5]", "w FROM s", "s [RANGE 5 SECONDS] with k (q)"),
        ("SELECT k FROM s [RANGE 5]", "* FROM s", "s [RANGE 5 SECONDS] with k (q)"),
        ("SELECT k FROM s [RANGE 5]", "k FROM s [ROWS 1]", "s [RANGE 5 SECONDS] with k (q)"),
        ("SELECT k FROM s [RANGE 5]", "k FROM r [NOW]", "there is none"),
        (
            "SELECT k FROM s [RANGE 5] WHERE v > 1",
            "k FROM s",
            "s [RANGE 5 SECONDS] of selected rows",
        ),
        ("SELECT MAX(v) AS m FROM s [RANGE 5]", "v FROM s", "there is none"),
        ("SELECT k, SUM(v) AS t FROM s [RANGE 10 SLIDE 5] GROUP BY k", "k FROM s", "there is none"),
        ("SELECT k FROM s [RANGE 5]", "k FROM s [RANGE 5 APPLES]", "a window clause"),
        ("SELECT s.k FROM s [RANGE 5], r [NOW] WHERE s.k = r.k", "k FROM s", "there is none"),
    ],
)
def test_what_nobody_holds_is_an_error_that_says_what_is_held(
    holder: str, asked: str, held: str
) -> None:
    with windrow.connect() as db:
        db.execute(f"{STREAMS} CREATE QUERY q AS {holder};")
        rows = {"ts": [1, 2], "k": [None, "a"], "v": [0, 1], "w": [0.0, 0.0]}
        db.push("s", rows)  # a join leaves out NULL, MAX what a younger one outdoes
        db.advance(to=3)
        with pytest.raises(InputError) as error:
            db.query(f"SELECT {asked}")
        assert held in str(error.value)


def test_a_timestamp_that_no_query_keeps_is_known_from_the_tuples() -> None:
    with windrow.connect() as db:
        db.execute("""
            CREATE STREAM s (came TIMESTAMP, v BIGINT);
            CREATE QUERY q AS SELECT COUNT(*) AS n FROM s [RANGE 5 SECONDS];
        """)
        db.push("s", {"came": ["2026-01-01 00:00:00", "2026-01-01 00:00:01"], "v": [1, 2]})
        answer = db.query("SELECT MAX(came) AS last FROM s")
        assert str(answer.to_pylist()[0]["last"]) == "2026-01-01 00:00:00"


def test_windows_of_one_stream_stand_beside_each_other_and_lists_keep_their_brackets() -> None:
    with windrow.connect() as db:
        db.execute(f"{STREAMS} CREATE QUERY q AS SELECT k, v FROM s [RANGE 9];")
        push(db, [(1, "a", 1), (5, "b", 2), (9, "c", 3)])
        db.advance(to=9)
        sql = """
            SELECT 's [RANGE 1]' AS text, [1, 2][1] AS one, COUNT(*) AS n, SUM(s.v) AS v
            FROM s [RANGE 5 SECONDS], S [RANGE 9] AS longer
        """
        assert db.query(sql).to_pylist() == [{"text": "s [RANGE 1]", "one": 1, "n": 6, "v": 15}]
        defined = "WITH r AS (SELECT k FROM s [RANGE 5]) SELECT COUNT(*) AS n FROM r"
        assert db.query(defined).to_pylist() == [{"n": 2}]  # not the stream, which nobody holds


def test_columns_that_are_named_in_turn_are_those_of_the_stream() -> None:
    with windrow.connect() as db:
        db.execute(f"{STREAMS} CREATE QUERY q AS SELECT k FROM r [RANGE 9];")
        db.push("r", {"ts": [1, 2], "k": ["a", "b"]})
        db.advance(to=2)
        for asked in ("k FROM r [RANGE 9] AS x (k)", "x.i FROM r [RANGE 9] AS x (i, j)"):
            assert db.query(f"SELECT {asked} ORDER BY 1").columns[0].to_pylist() == [1, 2]
        assert db.query("SELECT #2 AS k FROM r ORDER BY 1")["k"].to_pylist() == ["a", "b"]


def test_explain_says_how_sql_over_a_window_is_computed_and_no_library_says_more(capfd) -> None:
    with windrow.connect() as db:
        db.execute(f"{STREAMS} CREATE QUERY q AS SELECT k, v FROM s [RANGE 9];")
        push(db, [(1, "a", 1)])
        for explain in ("EXPLAIN", "explain analyze", "EXPLAIN (FORMAT json)"):
            [row] = db.query(f"{explain} SELECT k, v FROM s [RANGE 5]").to_pylist()
            assert row["explain_value"]
    assert capfd.readouterr() == ("", "")


def test_a_field_of_a_struct_is_no_column_of_its_own() -> None:
    with windrow.connect() as db:
        db.execute("""
            CREATE STREAM s (ts BIGINT, k STRING, place STRUCT<x INT>);
            CREATE QUERY q AS SELECT place FROM s [RANGE 9];
        """)
        db.push("s", {"ts": [1, 2], "k": ["a", "b"], "place": [{"x": 3}, {"x": 4}]})
        db.advance(to=2)
        for asked in ("place.x FROM s", "s.place.x FROM s", "u.place.x FROM s [RANGE 9] AS u"):
            assert db.query(f"SELECT {asked} ORDER BY 1").to_pylist() == [{"x": 3}, {"x": 4}]


@settings(max_examples=8)
@given(
    stream=streams,
    length=st.integers(2, 12),
    slide=st.integers(1, 5),
    now=st.integers(1, 45),
    least=st.booleans(),
)
def test_summaries_are_of_the_tuples_of_their_sub_windows(
    stream: list[Row], length: int, slide: int, now: int, least: bool
) -> None:
    query = f"""SELECT k, COUNT(*) AS n, SUM(v) AS t, MIN(v) AS low, AVG(w) AS mean, MEDIAN(v) AS m
                FROM s [RANGE {length} SLIDE {slide}] GROUP BY k"""
    with lowered_thresholds() if least else nullcontext(), windrow.connect() as db:
        db.execute(f"{STREAMS} CREATE QUERY busy AS {query};")
        push(db, [row for row in stream if row[0] <= now])
        db.advance(to=now)
        found = db.query("SELECT * FROM busy_summaries").to_pylist()
        seen: Counter[Row] = Counter()
        for row in found:
            after, upto = row["sub_window_after"], row["sub_window_upto"]
            mine = [r for r in stream if after < r[0] <= min(upto, now) and r[1] == row["k"]]
            seen.update(mine)
            assert "m" not in row
            assert row["sub_window_rows"] == row["n"] == len(mine)
            assert row["t"] == sum(v for _, _, v in mine)
            assert row["low"] == min(v for _, _, v in mine)
            assert row["mean"] == 1.5
        last = now // slide * slide
        window = Counter(row for row in stream if last - length < row[0] <= last)
        assert window <= seen  # and the sub-window that is filling
        assert max(seen.values(), default=0) <= max(Counter(stream).values(), default=0)


def test_summaries_of_a_window_of_rows_are_of_the_rows_that_they_say() -> None:
    stream = [(t // 3, "abc"[t * t % 3], t * 7 % 11) for t in range(1, 60)]
    asked = "COUNT(*) AS n, SUM(v) AS t, LAST(k) AS l, MIN(k) AS low, MEDIAN(v) AS m"
    with windrow.connect() as db:
        db.execute(f"{STREAMS} CREATE QUERY busy AS SELECT k, {asked} FROM s [ROWS 20 SLIDE 6] "
            "WHERE v > 2 GROUP BY k;"
            "CREATE VIEW other AS ISTREAM(SELECT k, v FROM s [RANGE 5]);"
            "CREATE QUERY derived AS SELECT k, COUNT(*) AS n FROM other [ROWS 20 SLIDE 6] "
            "GROUP BY k;"
            "CREATE QUERY often AS SELECT FREQUENT 2 k, COUNT(*) AS n FROM s [ROWS 20 SLIDE 5] "
            "GROUP BY k;")  # fmt: skip
        push(db, stream)
        db.advance(to=19)
        found = db.query("SELECT * FROM busy_summaries").to_pylist()
        assert found
        for row in found:
            first, last = row["sub_window_after"], min(row["sub_window_upto"], len(stream))
            mine = [(k, v) for _, k, v in stream[first:last] if k == row["k"] and v > 2]
            assert row["sub_window_rows"] == row["n"] == len(mine) > 0
            assert row["t"] == sum(v for _, v in mine)
            assert row["last_k"] == row["low"] == row["k"]
            assert "m" not in row
        assert {row["sub_window_upto"] for row in found} >= {42, 48, 54, 60}
        assert db.query("SELECT SUM(n) AS n FROM derived_summaries").to_pylist()[0]["n"] >= 20
        with pytest.raises(InputError, match="tables busy_summaries, derived_summaries have"):
            db.query("SELECT * FROM s [ROWS 5]")


def test_only_queries_that_keep_summaries_have_a_table_of_them() -> None:
    with windrow.connect() as db:
        db.execute(f"{STREAMS} CREATE QUERY q AS SELECT k, v FROM s [RANGE 9];")
        with pytest.raises(InputError, match="GROUP BY over a window with SLIDE"):
            db.query("SELECT * FROM q_summaries")


SHARED = {
    "whole": ("SUM(v) AS t, MEDIAN(v) AS m", "", 60, 20),
    "small": ("COUNT(*) AS n, MAX(v) AS most", "v < 20", 40, 20),
    "large": ("SUM(v) AS t, COUNT(DISTINCT v) AS d", "v >= 20", 60, 30),
    "both": ("SUM(v) AS t", "v < 20 OR v >= 40", 40, 40),
}


def test_sub_windows_of_queries_that_share_synopses_are_what_their_rows_give():
    rng = np.random.default_rng(4)
    ts = np.sort(rng.integers(1, 200, 300))
    tuples = pa.table({"ts": ts, "k": rng.integers(0, 3, 300), "v": rng.integers(0, 50, 300)})
    with windrow.connect() as db:
        db.execute("CREATE STREAM s (ts BIGINT, k BIGINT, v BIGINT);" + "".join(
            f"CREATE QUERY {name} AS SELECT {aggregates}, k FROM s [RANGE {window} SLIDE {slide}] "
            f"{f'WHERE {where}' if where else ''} GROUP BY k;"
            for name, (aggregates, where, window, slide) in SHARED.items()
        ))  # fmt: skip
        db.push("s", tuples)
        db.advance(to=214)
        assert len({id(query._run) for query in db.queries.values()}) == 1
        for name, (aggregates, where, window, slide) in SHARED.items():
            found = db.query(f"SELECT * FROM {name}_summaries ORDER BY ALL").to_pylist()
            assert found
            begin = 214 // slide * slide - window
            assert {row["sub_window_after"] for row in found} <= set(range(begin, 214, 10))
            expected = duckdb.sql(
                "SELECT (ts - 1) // 10 * 10 AS sub_window_after, "
                "(ts + 9) // 10 * 10 AS sub_window_upto, COUNT(*) AS sub_window_rows, k, "
                f"{aggregates} FROM tuples WHERE ts > {begin} AND ({where or 'true'}) "
                "GROUP BY ALL ORDER BY ALL"
            ).to_arrow_table().to_pylist()  # fmt: skip
            assert found == expected, name


ASKED = [
    ("SUM(v) AS t", "", 40, 20),
    ("SUM(v) AS t", "", 60, 30),
    ("COUNT(DISTINCT v) AS d", "v >= 20", 30, 10),
    ("SUM(v) AS t", "v < 20 OR v >= 40", 20, 20),
    ("MEDIAN(v) AS m", "", 30, 30),
]


def test_an_aggregate_that_synopses_hold_is_answered_from_them_and_leaves_them_as_they_are():
    rng = np.random.default_rng(5)
    ts = np.sort(rng.integers(1, 300, 500))
    tuples = pa.table({"ts": ts, "k": rng.integers(0, 3, 500), "v": rng.integers(0, 50, 500)})
    script = "CREATE STREAM s (ts BIGINT, k BIGINT, v BIGINT);" + "".join(
        f"CREATE QUERY {name} AS SELECT {aggregates}, k FROM s [RANGE {window} SLIDE {slide}] "
        f"{f'WHERE {where}' if where else ''} GROUP BY k;"
        for name, (aggregates, where, window, slide) in SHARED.items()
    )
    with windrow.connect() as db, windrow.connect() as other:
        for connection in (db, other):
            connection.execute(script)
        for start in range(0, 300, 60):
            now = start + 67
            some = tuples.filter((ts > now - 60 if start else ts > 0) & (ts <= now))
            for connection in (db, other):
                connection.push("s", some)
                connection.advance(to=now)
            for aggregates, where, window, slide in ASKED:
                asked = f"SELECT k, {aggregates} FROM s [RANGE {window} SLIDE {slide}] " + (
                    f"WHERE {where} GROUP BY k" if where else "GROUP BY k"
                )
                found = db.query(asked)
                at = now // slide * slide
                expected = duckdb.sql(
                    f"SELECT k, {aggregates} FROM tuples WHERE ts > {at - window} AND ts <= {at} "
                    f"AND ({where or 'true'}) GROUP BY k ORDER BY k"
                ).to_arrow_table()  # fmt: skip
                assert found.sort_by("k").to_pydict() == expected.to_pydict(), asked
                (instant,) = json.loads(found.schema.metadata[b"windrow.instants"]).values()
                assert instant == at
        for name in SHARED:
            mine, theirs = (
                sorted(map(str, connection.queries[name].changes().to_pylist()))
                for connection in (db, other)
            )
            assert mine == theirs


@pytest.mark.parametrize(
    "asked",
    [
        "SELECT k, SUM(v) FROM s [RANGE 100 SLIDE 20] GROUP BY k",
        "SELECT k, SUM(v) FROM s [RANGE 40] GROUP BY k",
        "SELECT v, COUNT(*) FROM s [RANGE 40 SLIDE 20] GROUP BY v",
        "SELECT k, SUM(v) FROM s [RANGE 25 SLIDE 5] GROUP BY k",
        "SELECT k, SUM(v) FROM s [RANGE 60 SLIDE 60] GROUP BY k",
    ],
)
def test_what_synopses_do_not_hold_is_an_error_that_names_the_tables_of_their_sub_windows(asked):
    with windrow.connect() as db:
        db.execute("""CREATE STREAM s (ts BIGINT, k BIGINT, v BIGINT);
            CREATE QUERY one AS SELECT k, SUM(v) AS t FROM s [RANGE 60 SLIDE 20] GROUP BY k;
            CREATE QUERY two AS SELECT k, MAX(v) AS t FROM s [RANGE 60 SLIDE 20] GROUP BY k;""")
        db.push("s", {"ts": [5], "k": [1], "v": [2]})
        db.advance(to=110)
        with pytest.raises(InputError, match="tables one_summaries, two_summaries have the sub-w"):
            db.query(asked)


OWNERS = """
    CREATE STREAM s (ts BIGINT, k STRING, v BIGINT);
    CREATE RELATION h (k STRING, owner STRING);
    CREATE VIEW owned AS SELECT a.v, owner FROM s [RANGE 8] AS a, h WHERE a.k = h.k;
"""


def test_a_query_that_has_not_answered_yet_holds_no_window_that_sql_may_ask_for():
    with windrow.connect() as db:
        db.execute(OWNERS)
        db.push("h", [{"k": "a", "owner": "A"}])
        db.push("s", {"ts": [19, 22], "k": ["a", "a"], "v": [1, 2]})
        db.advance(to=24)
        db.execute("CREATE QUERY late AS SELECT k, v, ts FROM s [RANGE 14]")
        for asked in ("owned", "s"):
            with pytest.raises(NotHeldError, match="there is none"):
                db.query(f"SELECT * FROM {asked}")


def test_a_view_is_not_made_of_windows_and_a_relation_that_has_changed_since():
    with windrow.connect() as db:
        db.execute(f"{OWNERS} CREATE QUERY holder AS SELECT k, v, ts FROM s [RANGE 14];")
        db.push("h", [{"k": "a", "owner": "A"}])
        db.push("s", {"ts": [19, 22], "k": ["a", "a"], "v": [1, 2]})
        db.advance(to=21)
        assert db.query("SELECT * FROM owned").to_pylist() == [{"v": 1, "owner": "A"}]
        for change, owner in (("-", "A"), ("+", "B")):
            db.push("h", [{"instant": 25, "change": change, "k": "a", "owner": owner}])
        db.push("h", [{"instant": 30, "change": "+", "k": "b", "owner": "B"}])
        with pytest.raises(NotHeldError, match="as of 21, and relation h as of 29, with updates"):
            db.query("SELECT * FROM owned")
        db.advance(to=29)
        found = db.query("SELECT * FROM owned").to_pylist()
        assert found == [{"v": 2, "owner": "B"}]


def test_a_view_of_windows_that_are_ahead_of_a_relation_has_its_updates_by_then():
    with windrow.connect() as db:
        db.execute(f"{OWNERS} CREATE QUERY holder AS SELECT k, v, ts FROM s [RANGE 14];")
        db.push("h", [{"instant": 1, "change": "+", "k": "a", "owner": "A"}])
        db.push("s", {"ts": [19, 26], "k": ["a", "a"], "v": [1, 2]})
        for instant, change, owner in ((22, "-", "A"), (22, "+", "B")):
            db.push("h", [{"instant": instant, "change": change, "k": "a", "owner": owner}])
        found = db.query("SELECT * FROM owned")
        assert json.loads(found.schema.metadata[b"windrow.instants"])["owned"] == 25
        assert found.to_pylist() == [{"v": 1, "owner": "B"}]
        db.advance(to=25)
        assert db.query("SELECT * FROM owned").to_pylist() == found.to_pylist()


def test_a_view_with_every_has_a_relation_as_it_was_when_it_looked_last():
    every = "CREATE VIEW at_times AS SELECT v, owner FROM s [RANGE 8], h WHERE s.k = h.k EVERY 4;"
    with windrow.connect() as db:
        db.execute(f"{OWNERS} {every} CREATE QUERY holder AS SELECT k, v, ts FROM s [RANGE 14];")
        db.push("h", [{"instant": 22, "change": "+", "k": "a", "owner": "A"}])
        db.push("s", {"ts": [19, 25], "k": ["a", "a"], "v": [1, 2]})
        db.advance(to=26)
        assert db.query("SELECT * FROM at_times").to_pylist() == [{"v": 1, "owner": "A"}]
        db.push("h", [{"instant": 27, "change": "-", "k": "a", "owner": "A"}])
        db.advance(to=27)
        with pytest.raises(NotHeldError, match="relation h as it was before its last update"):
            db.query("SELECT * FROM at_times")
        db.advance(to=28)
        assert db.query("SELECT * FROM at_times").num_rows == 0


def test_sessions_and_rows_by_key_are_asked_for_as_they_are_held():
    with windrow.connect() as db:
        db.execute(f"""{STREAMS}
            CREATE QUERY all_of_them AS SELECT k, v FROM s [SESSION 3];
            CREATE QUERY grouped AS SELECT k, COUNT(*) AS n FROM s [PARTITION BY k SESSION 2]
                GROUP BY k;
            CREATE QUERY few AS SELECT k, v FROM s [PARTITION BY k ROWS 1];""")
        db.push("s", {"ts": [1, 5, 6, 8], "k": list("aabb"), "v": [1, 2, 3, 4], "w": [1.5] * 4})
        db.advance(to=8)
        for window, expected in {
            "SESSION 3": [2, 3, 4],
            "PARTITION BY k ROWS 1": [2, 4],
        }.items():
            assert db.query(f"SELECT v FROM s [{window}] ORDER BY v")["v"].to_pylist() == expected
        [row] = db.query("SELECT COUNT(*) AS n FROM s [partition by k session 2]").to_pylist()
        assert row == {"n": 1}
        with pytest.raises(NotHeldError) as refused:
            db.query("SELECT v FROM s [SESSION 2]")
        for held in (
            "s [SESSION 3 SECONDS] with k, v (all_of_them)",
            "s [PARTITION BY k SESSION 2 SECONDS] with k (grouped)",
            "s [PARTITION BY k ROWS 1] with k, v (few)",
        ):
            assert held in str(refused.value)
        said = db.explain("SELECT v FROM s [PARTITION BY k ROWS 1]").splitlines()[-1]
        assert "filled with s [PARTITION BY k ROWS 1] from few" in said


def test_a_view_of_a_window_that_nobody_holds_is_not_answered_as_of_its_relation():
    with windrow.connect() as db:
        db.execute(f"{OWNERS} CREATE QUERY holder AS SELECT k, v FROM s [PARTITION BY k ROWS 1];")
        db.push("h", [{"instant": 1, "change": "+", "k": "a", "owner": "A"}])
        db.push("s", {"ts": [2, 3], "k": ["a", "a"], "v": [1, 2]})
        db.push("h", [{"instant": 40, "change": "+", "k": "b", "owner": "B"}])
        with pytest.raises(NotHeldError, match="found owned with v, owner"):
            db.query("SELECT * FROM owned")


def test_of_several_windows_one_with_all_of_its_tuples_is_taken():
    sliding = """CREATE QUERY {} AS SELECT a.k, a.v, a.ts
        FROM s [RANGE 9 SLIDE 3] AS a, s [RANGE 9 SLIDE 3] AS b WHERE a.v = b.v"""
    with windrow.connect() as db:
        db.execute(f"{STREAMS} {sliding.format('joined')}; CREATE QUERY plain AS SELECT k, v, ts "
                   "FROM s [RANGE 6];")  # fmt: skip
        db.push("s", {"ts": range(1, 14), "k": ["a"] * 13, "v": [1] * 13, "w": [1.5] * 13})
        db.advance(to=13)
        found = db.query("SELECT ts FROM s ORDER BY ts")["ts"].to_pylist()
        assert found == list(range(8, 14))
