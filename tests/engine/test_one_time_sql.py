"""One-time SQL over the answers and relations of a connection."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from threading import Event, Thread

import pyarrow as pa
import pytest
from sqlglot import exp

import windrow
from windrow.core.errors import InputError
from windrow.engine import one_time_sql
from windrow.engine.one_time_sql import tables_in

SCRIPT = """
    CREATE STREAM s (ts BIGINT, k STRING, v BIGINT);
    CREATE RELATION hosts (k STRING, owner STRING);
    CREATE QUERY recent AS SELECT k, v FROM s [RANGE 10 SECONDS];
    CREATE QUERY totals AS SELECT k, SUM(v) AS total FROM s [RANGE 10 SECONDS] GROUP BY k;
    CREATE QUERY every_row AS SELECT k, v FROM s;
"""


@pytest.fixture
def db():
    with windrow.connect() as connection:
        connection.execute(SCRIPT)
        connection.push("hosts", {"k": ["a", "b"], "owner": ["Ann", "Bob"]})
        connection.push("s", {"ts": [1, 2, 9], "k": ["a", "b", "a"], "v": [1, 2, 4]})
        yield connection


def rows(table: pa.Table) -> list[dict]:
    return table.to_pylist()


def test_answers_and_relations_are_tables(db) -> None:
    db.advance(to=9)
    joined = """
        SELECT owner, total, (SELECT COUNT(*) FROM recent) AS live
        FROM totals JOIN hosts USING (k) ORDER BY owner
    """
    assert rows(db.query(joined)) == [
        {"owner": "Ann", "total": 5, "live": 3},
        {"owner": "Bob", "total": 2, "live": 3},
    ]
    assert rows(db.query("SELECT SUM(v) AS v FROM every_row")) == [{"v": 7}]


def test_the_answer_says_as_of_which_instant_its_tables_are(db) -> None:
    db.advance(to=9)
    answer = db.query("SELECT * FROM totals, hosts")
    assert json.loads(answer.schema.metadata[b"windrow.instants"]) == {"totals": 9, "hosts": 9}
    db.advance(to=11)
    later = db.query("SELECT total FROM Totals WHERE k = 'a'")
    assert rows(later) == [{"total": 4}]
    assert json.loads(later.schema.metadata[b"windrow.instants"]) == {"totals": 11}


@pytest.mark.parametrize("values", [1, "ab", {1, 2}, iter([1, 2])])
def test_values_that_are_neither_in_order_nor_named_are_refused(db, values: object) -> None:
    with pytest.raises(InputError, match="expected values by name in a dict, or in order in a li"):
        db.query("SELECT ? AS a, ? AS b", values)


@pytest.mark.parametrize(
    "sql",
    [
        "WITH recent AS (SELECT v FROM recent WHERE v > 1) SELECT SUM(v) AS v FROM recent",
        "WITH w AS (SELECT * FROM recent), recent AS (SELECT 0 AS v) SELECT SUM(v) - 1 AS v FROM w",
        "SELECT SUM(r.v) - 1 AS v FROM (WITH recent AS (SELECT 1) FROM recent) AS one, recent AS r",
        "WITH s AS (SELECT v FROM s [RANGE 10]) SELECT SUM(v) - 1 AS v FROM s",
    ],
)
def test_what_with_defines_may_have_the_name_of_a_table_that_it_hides(db, sql: str) -> None:
    db.advance(to=9)
    assert rows(db.query(sql)) == [{"v": 6}]


def test_an_answer_that_was_taken_does_not_change(db) -> None:
    db.advance(to=9)
    before = db.query("SELECT * FROM recent ORDER BY ALL")
    db.push("s", {"ts": [50, 60], "k": ["z", "z"], "v": [9, 9]})
    db.advance(to=60)
    assert rows(before) == [{"k": "a", "v": 1}, {"k": "a", "v": 4}, {"k": "b", "v": 2}]
    assert rows(db.query("SELECT v FROM recent")) == [{"v": 9}]
    assert before.num_rows == 3


def test_a_relation_is_as_of_its_last_closed_instant(db) -> None:
    assert db.query("SELECT * FROM hosts").num_rows == 0
    db.push("hosts", {"instant": [20], "change": ["-"], "k": ["a"], "owner": ["Ann"]})
    db.advance(to=19)
    assert db.query("SELECT * FROM hosts").num_rows == 2
    db.advance(to=20)
    assert rows(db.query("SELECT k FROM hosts")) == [{"k": "b"}]


def test_files_of_a_relation_that_no_query_reads_are_read(tmp_path) -> None:
    (tmp_path / "hosts.csv").write_text("k,owner\na,Ann\nb,Bob\n")
    with windrow.connect() as db:
        db.execute(
            f"CREATE RELATION hosts (k STRING, owner STRING) FROM '{tmp_path}/hosts.csv' FORMAT csv"
        )
        db.execute("CREATE STREAM s (ts BIGINT); SELECT COUNT(*) AS n FROM s")
        assert db.query("SELECT COUNT(*) AS n FROM hosts").to_pylist() == [{"n": 2}]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "COPY (SELECT 1) TO '/dev/null'",
        "ATTACH ':memory:' AS other",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        "CREATE TABLE t AS SELECT 1",
        "SELECT 1; SELECT 2",
        "SELECT * FROM SCRIPT",
        "SELECT * FROM nobody",
        "not SQL at all",
        "",
    ],
)
def test_sql_reaches_the_tables_of_the_connection_and_nothing_else(db, sql: str) -> None:
    with pytest.raises(InputError):
        db.query(sql)


def test_what_is_no_text_is_no_sql(db) -> None:
    for wrong in (None, Path("question.sql")):
        with pytest.raises(InputError, match=r"SQL: expected one SELECT; found .*read the text"):
            db.query(wrong)


def test_who_misspells_a_table_is_told_which_there_are(db) -> None:
    with pytest.raises(InputError, match="every_row, hosts, recent, s, totals"):
        db.query("SELECT * FROM total")


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT totls.n FROM totals", "found no table totls in FROM; did you mean totals?"),
        ("SELECT totals.nn FROM totals", "found no column nn in totals"),
        ("SELECT flor(1.5)", "found no function flor; did you mean floor?"),
        ("SELEC 1", 'found syntax error at or near "SELEC"'),
    ],
)
def test_an_error_says_what_is_missing_and_what_may_have_been_meant(db, sql: str, words) -> None:
    with pytest.raises(InputError, match=re.escape(f"SQL: {words}")) as error:
        db.query(sql)
    assert "the tables are" not in str(error.value)


def test_a_name_alone_is_answered_with_the_select_that_it_means(db) -> None:
    with pytest.raises(InputError, match=r"all of its rows are SELECT \* FROM totals$"):
        db.query("totals;")


def test_a_column_that_is_a_word_of_sql_is_said_to_need_quotes() -> None:
    with windrow.connect() as db:
        db.execute("CREATE STREAM calls (at BIGINT, k STRING) TIMESTAMP BY at;")
        db.execute("CREATE QUERY q AS SELECT at, k FROM calls [RANGE 9]")
        with pytest.raises(InputError, match=r'as a column write "at"$'):
            db.query("SELECT MIN(at) FROM q")
        with pytest.raises(InputError, match=r"found no column kk; did you mean k\?$"):
            db.query("SELECT kk, 'at' FROM q")
        assert db.query('SELECT MIN("at") AS first FROM q').to_pylist() == [{"first": None}]


def test_explain_reads_what_the_select_behind_it_reads_and_warns_of_nothing(db, caplog) -> None:
    for explain in ("EXPLAIN", "-- why?\n /* so */ explain analyze"):
        sql = f"{explain} SELECT v FROM s [RANGE 5 SECONDS]"
        answer = db.query(sql)
        assert answer.column_names == ["explain_key", "explain_value"]
        assert json.loads(answer.schema.metadata[b"windrow.instants"]).keys() == {
            "s [range 5 seconds]"
        }
    assert not caplog.records


def test_text_that_only_duckdb_can_read_sees_every_table(db, monkeypatch) -> None:
    assert tables_in("SELECT * FROM Totals ((") == {"select", "from", "totals"}
    monkeypatch.setattr(one_time_sql, "parse", lambda *_, **__: [exp.Command(this="SHOW")])
    db.advance(to=9)
    assert rows(db.query("FROM totals SELECT count(*) AS n")) == [{"n": 2}]


def test_another_thread_sees_answers_that_belong_together() -> None:
    """Two queries over one stream: whatever is pushed meanwhile, they agree in what they saw."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    over, seen, windows = Event(), [], []
    try:
        with windrow.connect() as db:
            db.execute("""
                CREATE STREAM s (ts BIGINT, v BIGINT);
                CREATE QUERY live AS SELECT v FROM s [RANGE 5 SECONDS];
                CREATE QUERY total AS
                    SELECT SUM(v) AS total, COUNT(*) AS n FROM s [RANGE 5 SECONDS];
            """)
            db.push("s", {"ts": [1], "v": [1]})
            db.advance(to=1)

            def push() -> None:
                for ts in range(2, 60):
                    db.push("s", {"ts": [ts, ts], "v": [ts, 2 * ts]})
                over.set()

            writer = Thread(target=push)
            writer.start()
            sql = """SELECT (SELECT SUM(v) FROM live) AS l, (SELECT COUNT(*) FROM live) AS c,
                     total, n FROM total"""
            window = "SELECT ts, COUNT(*) AS n, SUM(v) AS v FROM s [RANGE 3 SECONDS] GROUP BY ts"
            while not over.is_set() or not seen:
                seen += db.query(sql).to_pylist()
                answer = db.query(window)
                (now,) = json.loads(answer.schema.metadata[b"windrow.instants"]).values()
                windows.append((now, sorted(map(tuple, (r.values() for r in answer.to_pylist())))))
            writer.join()
            seen += db.query(sql).to_pylist()
    finally:
        sys.setswitchinterval(usual)
    assert all((row["l"], row["c"]) == (row["total"], row["n"]) for row in seen)
    assert len(seen) >= 2
    for now, found in windows:  # each is a window as it was at the instant that it claims
        times = range(max(now - 2, 1), now + 1)
        assert found == [(ts, 2 if ts > 1 else 1, 3 * ts if ts > 1 else 1) for ts in times]


def test_a_listener_may_wait_for_another_thread_that_asks_or_pushes() -> None:
    with windrow.connect() as db:
        [live] = db.execute("CREATE STREAM s (ts BIGINT, v BIGINT); SELECT v FROM s [RANGE 5];")
        heard: list[tuple[list[int], int]] = []

        def ask(changes: pa.RecordBatch, out: list[int]) -> None:
            out.append(db.query("SELECT COUNT(*) AS n FROM s").to_pylist()[0]["n"])
            if len(heard) == 0:
                db.push("s", {"ts": [3, 4], "v": [30, 40]})

        def listen(changes: pa.RecordBatch) -> None:
            out: list[int] = []
            beside = Thread(target=ask, args=(changes, out), daemon=True)
            beside.start()
            beside.join(20)
            heard.append((changes.column("v").to_pylist(), *out))

        live.on_change(listen)
        db.push("s", {"ts": [1, 2], "v": [10, 20]})
    assert heard == [([10], 1), ([20, 30], 3)]  # what was pushed meanwhile is heard afterwards


def test_what_is_wrong_with_sql_is_said_without_the_part_of_duckdb_that_says_so() -> None:
    with windrow.connect() as db:
        db.execute("CREATE STREAM s (ts BIGINT); CREATE QUERY q AS SELECT ts FROM s;")
        for sql in (
            "SELECT * FROM nothing",
            "SELEC 1",
            "SELECT x FROM q",
            "SELECT CAST('a' AS INT)",
        ):
            with pytest.raises(InputError) as caught:
                db.query(sql)
            assert " Error: " not in str(caught.value)
