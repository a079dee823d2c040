"""The Python door to Spark: the same calls and the same answers as embedded."""

from __future__ import annotations

import json
import warnings

import pyarrow as pa
import pytest

import windrow
from windrow import WindrowWarning
from windrow.core.errors import DataError, InputError, StateError
from windrow.result_files.commits import Totals, commits

pytestmark = pytest.mark.spark

STREAMS = """
CREATE STREAM a (ts BIGINT, k INT, v BIGINT) TIMESTAMP BY ts;
CREATE STREAM b (ts BIGINT, k INT, v BIGINT) TIMESTAMP BY ts SLACK 3;
"""
PAIRS = "CREATE QUERY pairs AS SELECT a.v, b.v FROM a [RANGE 5], b [RANGE 5] WHERE a.k = b.k;"


def rows(*values: tuple[int, int, int]) -> pa.Table:
    ts, k, v = zip(*values, strict=True)
    return pa.table({"ts": ts, "k": pa.array(k, pa.int32()), "v": v})


def changes(query) -> list[tuple]:
    return sorted(tuple(row.values()) for row in query.changes().to_pylist())


def test_time_goes_as_far_as_the_slower_stream_and_late_rows_are_set_aside(spark, tmp_path):
    embedded = windrow.connect()
    with windrow.connect(spark=spark, quarantine=tmp_path) as db:
        found = []
        for connection in (embedded, db):
            (pairs,) = connection.execute(STREAMS + PAIRS)
            connection.push("a", rows((1, 1, 10), (9, 1, 20)))
            connection.push("b", rows((2, 1, 30), (8, 1, 40)))
            first = changes(pairs)
            connection.push("b", rows((4, 1, 50), (6, 1, 60), (12, 2, 70)))
            second = changes(pairs)
            connection.advance(to=30)
            (later,) = connection.execute("CREATE QUERY later AS SELECT v FROM a [RANGE 5];")
            connection.push("a", rows((30, 1, 80), (31, 1, 90)))
            connection.advance(to=40)
            answers = pairs.answer().to_pylist(), later.answer().to_pylist()
            found.append((first, second, changes(pairs), changes(later), answers))
            assert connection.count_late("b") == connection.count_late("a") == 1
        assert found[0] == found[1]
        assert found[0][0], "something must have been said before the end"
        assert found[0][3] == [(31, "+", 90), (36, "-", 90)]
        kept = [
            json.loads(x) for p in tmp_path.rglob("*.jsonl") for x in p.read_text().splitlines()
        ]
        assert len(kept) == 2


def test_a_streaming_dataframe_is_a_stream_and_what_comes_too_late_is_kept(spark, tmp_path):
    incoming = tmp_path / "incoming"
    incoming.mkdir()
    (incoming / "0.json").write_text('{"ts":1,"k":1,"v":10}\n{"ts":6,"k":2,"v":20}\n')
    frame = spark.readStream.schema("v long, ts long, k int").json(str(incoming))
    places = {"quarantine": tmp_path / "q", "checkpoint": tmp_path / "state"}
    with windrow.connect(spark=spark, **places) as db:
        (totals,) = db.execute(
            STREAMS + "CREATE QUERY totals AS SELECT k, SUM(v) AS n FROM a [RANGE 9] GROUP BY k;"
        )
        db.stream("a", frame)
        assert changes(totals) == [(1, "+", 1, 10)]
        (incoming / "1.json").write_text(
            '{"ts":3,"k":1,"v":5}\n{"ts":7,"k":1,"v":7}\n{"k":1,"v":9}\n'
        )
        with pytest.warns(
            WindrowWarning, match="stream a: rows that a query read were quarantined"
        ):
            assert changes(totals) == [(1, "+", 1, 10), (6, "+", 2, 20)]
        db.advance(to=8)
        assert changes(totals)[2:] == [(7, "+", 1, 17), (7, "-", 1, 10)]
        reasons = [json.loads(x)["reason"] for p in (tmp_path / "q").rglob("*.jsonl")
                   for x in p.read_text().splitlines()]  # fmt: skip
        assert sum(r.startswith("late") for r in reasons) == 1
        assert len(reasons) == 2
        assert sorted(db.quarantined_rows("a")["reason"].to_pylist()) == sorted(reasons)
    counted = Totals().plus(commits(tmp_path / "state" / "totals" / "results"))
    assert (counted.rows_in, counted.late, counted.rejected) == (3, 1, 1)


def test_what_is_not_a_streaming_dataframe_with_the_columns_is_refused(spark):
    with windrow.connect(spark=spark) as db:
        db.execute(STREAMS)
        with pytest.raises(InputError, match="expected a streaming DataFrame"):
            db.stream("a", spark.range(3))
        with pytest.raises(InputError, match="no ts, k, v among timestamp, value"):
            db.stream("a", spark.readStream.format("rate").load())


def test_a_later_connection_goes_on_from_the_checkpoint(spark, tmp_path):
    script = STREAMS + PAIRS
    with windrow.connect(spark=spark, checkpoint=tmp_path) as db:
        (pairs,) = db.execute(script)
        db.push("a", rows((1, 1, 10), (4, 1, 20)))
        db.push("b", rows((2, 1, 30)))
        db.advance(to=3)
        assert changes(pairs) == [(2, "+", 10, 30)]
    with windrow.connect(spark=spark, checkpoint=tmp_path) as db:
        (pairs,) = db.execute(script)
        db.push("b", rows((3, 1, 40), (5, 1, 50)))
        assert db.count_late("b") == 1, "instant 3 was closed by the earlier connection"
        db.advance(to=5)
        assert changes(pairs) == sorted(
            [(2, "+", 10, 30), (4, "+", 20, 30), (5, "+", 10, 50), (5, "+", 20, 50)]
        )


def test_an_error_in_a_worker_is_the_error_that_was_raised_there(spark):
    with windrow.connect(spark=spark) as db:
        (big,) = db.execute(
            STREAMS + "CREATE QUERY big AS SELECT CAST(v AS INT) AS w FROM a [RANGE 5];"
        )
        db.push("a", rows((1, 1, 2**62)))
        db.advance(to=3)
        with pytest.raises(DataError, match=r"^query big: CAST\(v AS INT\): .*TRY_CAST"):
            big.changes()


RELATIONS = """
CREATE STREAM a (ts BIGINT, k INT, v BIGINT) TIMESTAMP BY ts;
CREATE RELATION names (k INT, name STRING);
CREATE NRR once (k INT, name STRING, PRIMARY KEY (k));
"""
NAMED = """
CREATE QUERY named AS SELECT v, name FROM a [RANGE 9], names WHERE a.k = names.k;
CREATE QUERY met AS SELECT v, name FROM a [RANGE 9], once WHERE a.k = once.k;
"""


def updates(*values: tuple[int, str, int, str]) -> pa.Table:
    instant, change, k, name = zip(*values, strict=True)
    return pa.table(
        {"instant": instant, "change": change, "k": pa.array(k, pa.int32()), "name": name}
    )


def test_relations_are_updated_judged_and_remembered_as_embedded(spark, tmp_path):
    found = []
    embedded = windrow.connect()
    with windrow.connect(spark=spark, checkpoint=tmp_path) as db:
        for connection in (embedded, db):
            named, met = connection.execute(RELATIONS + NAMED)
            for relation in ("names", "once"):
                connection.push(relation, updates((1, "+", 1, "ann"), (1, "+", 2, "bob")))
                connection.push(relation, updates((4, "-", 1, "ann"), (5, "+", 3, "eve")))
                connection.push(relation, updates((5, "-", 3, "eve"), (6, "+", 1, "amy")))
                connection.push(relation, updates((6, "-", 7, "nobody")))
            connection.push("a", rows((2, 1, 10), (3, 2, 20), (5, 3, 30), (6, 1, 40)))
            (later,) = connection.execute("CREATE QUERY later AS SELECT name FROM names;")
            connection.advance(to=7)
            refused = connection.count_rejected("names"), connection.count_rejected("once")
            found.append([changes(named), changes(met), changes(later), refused])
    assert found[0] == found[1]
    assert found[0][3] == (1, 2), "an NRR does not take a deleted key again"
    assert all(found[0][:3])
    with windrow.connect(spark=spark, checkpoint=tmp_path) as db:
        db.execute(RELATIONS)
        db.push("names", updates((8, "-", 1, "amy"), (8, "-", 1, "ann")))
        db.push("once", updates((8, "+", 3, "eva")))
        assert (db.count_rejected("names"), db.count_rejected("once")) == (1, 1)


def test_files_that_a_script_names_are_read_as_embedded_and_once(spark, tmp_path):
    (tmp_path / "a.csv").write_text("ts,k,v\n1,1,10\n2,2,20\n7,1,30\n")
    (tmp_path / "names.csv").write_text("k,name\n1,ann\n2,bob\n")
    script = f"""
        CREATE STREAM a (ts BIGINT, k INT, v BIGINT) FROM '{tmp_path}/a.csv';
        CREATE RELATION names (k INT, name STRING) FROM '{tmp_path}/names.csv';
        CREATE QUERY who AS SELECT a.v, names.name FROM a [RANGE 4], names WHERE a.k = names.k;
    """
    found = []
    for session, options in ((None, {}), (spark, {"checkpoint": tmp_path / "state"})):
        with windrow.connect(spark=session, **options) as db:
            (who,) = db.execute(script)
            db.advance(to=7)
            found.append(changes(who))
    assert found[0] == found[1]
    assert [c[:2] for c in found[0]] == [(1, "+"), (2, "+"), (5, "-"), (6, "-"), (7, "+")]
    with windrow.connect(spark=spark, checkpoint=tmp_path / "state") as db:
        (who,) = db.execute(script)
        db.advance(to=20)
        assert changes(who) == [*found[1], (11, "-", 30, "ann")]


def test_relations_of_a_refused_script_are_delivered_by_the_next(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("k,n\n1,ann\n")
    script = (
        "CREATE STREAM s (ts BIGINT, k INT); CREATE RELATION a (k INT, n STRING) FROM 'a.csv';"
        "CREATE RELATION b (k INT) FROM 'b.csv';"
        "CREATE QUERY who AS SELECT a.n FROM s [RANGE 9], a WHERE s.k = a.k;"
    )
    with windrow.connect(spark=spark) as db:
        with pytest.raises(InputError, match=r"b.csv: .*nothing there"):
            db.execute(script)
        (tmp_path / "a.csv").write_text("k,n\n1,bob\n")
        (tmp_path / "b.csv").write_text("k\n1\n")
        (who,) = db.execute(script)
        db.push("s", {"ts": [1, 2], "k": [1, 2]})
        db.advance(to=2)
        assert who.answer().to_pylist() == [{"n": "bob"}]


@pytest.mark.parametrize("value", ["SUM(v) AS t", "MAX(v + v) AS t", "SUM(v) * 2 AS t"])
def test_what_is_beyond_bigint_is_null_where_it_arises_and_warned_of(spark, value):
    most, found = 2**63 - 1, []
    script = STREAMS + f"CREATE QUERY q AS SELECT k, {value} FROM a [RANGE 3] GROUP BY k;"
    for options in ({}, {"spark": spark}):
        with windrow.connect(**options) as db, warnings.catch_warnings(record=True) as told:
            (query,) = db.execute(script)
            db.push("a", rows((1, 1, most), (2, 1, 7), (2, 2, 5), (4, 1, -3)))
            db.advance(to=9)
            found.append(sorted(map(str, query.changes().to_pylist())))
            query.answer()
        assert [str(w.message)[:27] for w in told if w.category is WindrowWarning] == [
            "query q: numbers overflowed"
        ]
    assert found[0] == found[1]
    assert any("'t': None" in row for row in found[0])


def test_a_push_of_refused_late_or_finer_rows_is_warned_of_once_per_stream(spark):
    with windrow.connect(spark=spark) as db:
        db.execute("CREATE STREAM s (ts BIGINT, k INT); CREATE STREAM t (at TIMESTAMP);")
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", WindrowWarning)
            db.push("s", {"ts": [9, 1, 10], "k": ["1", "2", "x"]})
            db.push("t", {"at": ["2026-03-01 09:00:05.123456789", "x"]})
        assert [w.filename for w in told] == [__file__] * 3
        said = sorted(str(w.message) for w in told)
        assert said[0].startswith("stream s: 2 rows quarantined, 1 late")
        assert said[1].startswith("stream t: 1 row quarantined, 0 late")
        assert said[2].startswith("stream t: times were truncated to microseconds")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            db.push("s", {"ts": [1], "k": [1]})
            db.push("t", {"at": ["2026-03-01 09:00:06.000000001", "y"]})
        assert db.quarantined_rows("s")["row"].to_pylist() == [3, 2, 1]


def test_rows_of_files_that_cannot_be_used_are_kept_and_warned_of_without_a_quarantine(
    spark, tmp_path
):
    (tmp_path / "in").mkdir()
    day = "2026-03-01 09:00"
    (tmp_path / "in/a.csv").write_text(f"at,k\n{day}:05,1\n{day}:06.0000001,x\n{day}:01,3\n")
    (tmp_path / "in/b.csv").write_text(f"at,k\n{day}:08.000000009,4\n")
    script = (
        f"CREATE STREAM f (at TIMESTAMP, k INT) FROM '{tmp_path}/in' FORMAT csv;"
        "CREATE QUERY q AS SELECT k FROM f;"
    )
    found = []
    for options in ({}, {"spark": spark}):
        with windrow.connect(**options) as db, warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            (query,) = db.execute(script)
            db.advance(to=f"{day}:09")
            for _ in range(2):
                assert sorted(query.answer()["k"].to_pylist()) == [1, 4]
            found.append(sorted(map(str, db.quarantined_rows("f").to_pylist())))
        said = sorted(str(w.message) for w in told if w.category is WindrowWarning)
        assert len(said) == 2, said
        assert any("times were truncated to microseconds" in words for words in said)
        assert any("quarantined_rows('f') has the newest of them" in words for words in said)
    assert found[0] == found[1]
    assert len(found[0]) == 2


def test_one_time_sql_is_answered_as_embedded(spark):
    script = """
        CREATE STREAM s (ts BIGINT, k STRING, v BIGINT);
        CREATE RELATION hosts (k STRING, owner STRING);
        CREATE QUERY live AS SELECT k, v FROM s [RANGE 10 SECONDS];
        CREATE QUERY totals AS SELECT k, SUM(v) AS total FROM s [RANGE 10 SECONDS] GROUP BY k;
        CREATE QUERY owned AS SELECT owner, v FROM s [RANGE 3 SECONDS], hosts WHERE s.k = hosts.k;
        CREATE QUERY slid AS SELECT k, MAX(v) AS top FROM s [RANGE 8 SLIDE 4] GROUP BY k;
        CREATE VIEW newest AS SELECT k, COUNT(*) AS n FROM s [RANGE 9 SECONDS] GROUP BY k;
    """
    sql = "SELECT k, total, SUM(v) AS again FROM totals JOIN live USING (k) GROUP BY ALL ORDER BY k"
    of_windows = """
        SELECT s.k, s.v, s.ts, owner FROM s [RANGE 10 SECONDS] LEFT JOIN hosts USING (k) ORDER BY ts
    """
    found = []
    with windrow.connect() as embedded, windrow.connect(spark=spark) as db:
        for connection in (embedded, db):
            connection.execute(script)
            connection.push("hosts", {"k": ["a"], "owner": ["Ann"]})
            connection.push("s", {"ts": [1, 2, 9], "k": ["a", "b", "a"], "v": [1, 2, 4]})
            connection.advance(to=11)
            texts = (sql, of_windows, "SELECT * FROM slid_summaries ORDER BY ALL",
                     "SELECT * FROM newest ORDER BY k")  # fmt: skip
            answers = [connection.query(text) for text in texts]
            found.append([(answer.to_pylist(), answer.schema.metadata) for answer in answers])
        with pytest.raises(InputError, match=r"s \[RANGE 10 SECONDS\] with k, v \(totals\)"):
            db.query("SELECT v FROM s [RANGE 11 SECONDS]")
    assert found[0] == found[1]
    assert found[0][1][0] == [
        {"k": "b", "v": 2, "ts": 2, "owner": None},
        {"k": "a", "v": 4, "ts": 9, "owner": "Ann"},
    ]
    assert found[0][3][0] == [{"k": "a", "n": 1}]
    assert found[0][0][0] == [
        {"k": "a", "total": 4, "again": 4},
        {"k": "b", "total": 2, "again": 2},
    ]


def test_one_time_sql_is_answered_from_shared_synopses_as_embedded(spark):
    query = "SELECT k, {} AS t FROM s [RANGE {} SLIDE {}] GROUP BY k"
    script = f"""
        CREATE STREAM s (ts BIGINT, k STRING, v BIGINT);
        CREATE QUERY sums AS {query.format("SUM(v)", 12, 4)};
        CREATE QUERY tops AS {query.format("MAX(v)", 8, 4)};
    """
    asked = [query.format("SUM(v)", 8, 4), query.format("MAX(v)", 8, 4)]
    unknown = query.format("MIN(v)", 8, 4)
    found = []
    with windrow.connect() as embedded, windrow.connect(spark=spark) as db:
        for connection in (embedded, db):
            connection.execute(script)
            for start in (1, 7):
                ts = list(range(start, start + 6))
                rows = {"k": ["ab"[t % 2] for t in ts], "v": [t * t % 7 for t in ts]}
                connection.push("s", {"ts": ts, **rows})
            connection.advance(to=12)
            answers = [connection.query(text).sort_by("k").to_pylist() for text in asked]
            with pytest.raises(InputError) as refused:
                connection.query(unknown)
            found.append((answers, refused.value.found))
    assert found[0] == found[1]
    expected = [(t, "ab"[t % 2], t * t % 7) for t in range(5, 13)]
    assert found[0][0] == [
        [{"k": k, "t": of(v for _, key, v in expected if key == k)} for k in "ab"]
        for of in (sum, max)
    ]


def test_a_dropped_query_leaves_its_pipeline_and_its_name_is_kept_by_its_state(spark):
    with windrow.connect(spark=spark) as db:
        db.execute("CREATE STREAM s (ts BIGINT, x INT);")
        made = [f"CREATE QUERY q{n} AS SELECT x FROM s [RANGE {n} SECONDS];" for n in (8, 9)]
        gone, stays = db.execute("".join(made))
        db.push("s", {"ts": [1], "x": [1]})
        db.advance(to=1)
        assert gone.answer().to_pydict() == {"x": [1]}
        with pytest.raises(StateError, match="DROP QUERY q8, and CREATE QUERY with another name"):
            db.execute("CREATE OR REPLACE QUERY q8 AS SELECT x FROM s [NOW]")
        with pytest.raises(StateError, match="close the connection"):
            db.execute("DROP QUERY q8; DROP QUERY q9; DROP STREAM s")
        db.execute("DROP QUERY q8")
        db.push("s", {"ts": [2], "x": [2]})
        db.advance(to=2)
        assert stays.answer().sort_by("x").to_pydict() == {"x": [1, 2]}
        assert repr(gone) == "<query q8: dropped>"
        assert list(db.queries) == ["q9"]
        [other] = db.execute("CREATE QUERY other AS SELECT x FROM s [RANGE 3 SECONDS]")
        db.push("s", {"ts": [3], "x": [3]})
        db.advance(to=3)
        assert other.answer().sort_by("x").to_pydict() == {"x": [1, 2, 3]}, "it started full"
        assert other.complete_from == 2
        with pytest.raises(StateError, match="changed since: the query"):
            db.execute("CREATE QUERY q8 AS SELECT x FROM s [RANGE 1 SECOND]")


def test_a_query_that_has_left_a_group_that_runs_is_refused_in_words(spark, tmp_path):
    stream = "CREATE STREAM s (ts BIGINT, v BIGINT);"
    queries = [
        f"CREATE QUERY q{n} AS SELECT SUM(v) AS t FROM s [RANGE 9] WHERE v > {n};" for n in range(3)
    ]
    with windrow.connect(spark=spark, checkpoint=tmp_path) as db:
        db.execute(stream + "".join(queries))
        db.execute("DROP QUERY q2")
        with pytest.raises(StateError, match="query q2 was not in the script while others"):
            db.execute(queries[2])
    with windrow.connect(spark=spark, checkpoint=tmp_path) as db:
        db.execute(stream + "".join(queries[:2]))
        with pytest.raises(StateError, match="give the query another name"):
            db.execute(queries[2])
        db.push("s", {"ts": [1, 2], "v": [1, 5]})
        db.advance(to=2)
        assert [q.answer()["t"].to_pylist() for q in db.queries.values()] == [[6], [5]]
