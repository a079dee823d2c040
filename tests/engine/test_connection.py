"""A connection in this process: scripts that name files, and queries that fail."""

from __future__ import annotations

import json
import shutil
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import windrow
from windrow.core.errors import DataError, InputError, ScriptError, StateError
from windrow.engine import feeds
from windrow.result_files import sinks
from windrow.result_files.change_table import read_changes
from windrow.tables.readers import read_file

HITS = "CREATE STREAM hits (ts BIGINT, page STRING) FROM 'hits' FORMAT csv;"
PAGES = "CREATE RELATION pages (page STRING, owner STRING) FROM 'pages.csv';"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("hits").mkdir()
    Path("hits/1.csv").write_text("ts,page\n1,a\n2,b\n2,\xff\n".replace("\xff", "c,extra"))
    Path("pages.csv").write_text("page,owner\na,ann\nb,bob\n")


def test_a_script_reads_the_files_that_it_names() -> None:
    db = windrow.connect(quarantine="bad")
    [seen] = db.execute(HITS + "SELECT page FROM hits [RANGE 5];")
    db.advance(to=2)
    assert seen.answer().to_pydict() == {"page": ["a", "b"]}
    assert db.count_rejected("hits") == 1
    assert [p.parent.name for p in Path("bad").rglob("*.jsonl")] == ["hits"]


def test_files_that_come_later_are_read_when_time_advances() -> None:
    db = windrow.connect()
    [seen] = db.execute(HITS + "SELECT COUNT(*) AS n FROM hits;")
    Path("hits/2.csv").write_text("ts,page\n3,a\n4,a\n")
    db.advance(to=4)
    assert seen.answer().to_pydict() == {"n": [4]}


def test_a_query_that_is_made_later_sees_the_files_from_the_beginning() -> None:
    db = windrow.connect()
    db.execute(HITS)
    [first] = db.execute("SELECT ts, page FROM hits;")
    db.advance(to=2)
    db.push("hits", {"ts": [3], "page": ["d"]})
    [second] = db.execute("SELECT ts, page FROM hits;")
    shared = db.execute("".join(f"SELECT page FROM hits WHERE ts >= {n};" for n in range(4)))
    db.advance(to=9)
    assert second.changes().slice(0, 2) == first.changes().slice(0, 2)
    assert second.answer().to_pydict() == {"ts": [1, 2, 3], "page": ["a", "b", "d"]}
    assert [q.answer().num_rows for q in shared] == [3, 3, 2, 1]


def test_a_relation_is_what_its_file_holds() -> None:
    db = windrow.connect()
    [who] = db.execute(
        "CREATE STREAM hits (ts BIGINT, page STRING);"
        + PAGES
        + "SELECT h.ts, p.owner FROM hits [RANGE 5] AS h, pages AS p WHERE h.page = p.page;"
    )
    db.push("hits", {"ts": [1, 2, 3], "page": ["b", "a", "a"]})
    assert who.answer().to_pydict() == {"ts": [1, 2], "owner": ["bob", "ann"]}


def test_updates_in_a_file_are_on_their_own_clock() -> None:
    Path("pages.csv").write_text(
        "instant,change,page,owner\n2026-03-01 09:00:00,+,a,ann\n2026-03-01 10:00:00,-,a,ann\n"
    )
    db = windrow.connect()
    [held] = db.execute(PAGES + "SELECT owner FROM pages;")
    assert held.answer().to_pydict() == {"owner": ["ann"]}
    db.advance(to="2026-03-01 10:00:00")
    assert held.answer().num_rows == 0


def test_results_go_where_the_script_says() -> None:
    db = windrow.connect()
    [seen] = db.execute(HITS + "CREATE QUERY seen AS SELECT page FROM hits INTO 'out' FORMAT csv;")
    db.advance(to=2)
    db.push("hits", {"ts": [3], "page": ["d"]})
    db.advance(to=3)
    assert seen.changes().num_rows == 3
    schema = seen.changes().schema
    assert read_changes(Path("out"), "csv", schema).to_pylist() == seen.changes().to_pylist()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("CREATE STREAM s (ts BIGINT) FROM 'none.csv'; SELECT ts FROM s;", "found nothing there"),
        ("CREATE STREAM s (ts BIGINT, z INT) FROM 'pages.csv'; SELECT z FROM s;", "column 'ts'"),
        (PAGES + "CREATE QUERY q AS SELECT owner FROM pages INTO 'hits/1.csv';", "found a file"),
        (PAGES + "CREATE QUERY q AS SELECT owner FROM pages INTO 'hits/1.csv/x';", "Not a dir"),
    ],
)
def test_a_script_whose_files_cannot_be_used_declares_nothing(wrong: str, says: str) -> None:
    db = windrow.connect()
    [seen] = db.execute(HITS + "SELECT page FROM hits;")
    with pytest.raises(InputError, match=says):
        db.execute(wrong)
    assert db.catalog.find("s") is None
    assert db.catalog.find("pages") is None
    db.advance(to=2)
    assert seen.answer().num_rows == 2


FAILING = """
    CREATE STREAM s (ts BIGINT, w BIGINT);
    CREATE QUERY more AS SELECT CAST(w AS INT) AS more FROM s;
    CREATE QUERY all_ AS SELECT w FROM s;
"""


def test_a_query_that_cannot_go_on_stops_alone_and_says_so_once() -> None:
    db = windrow.connect()
    more, whole = db.execute(FAILING)
    db.push("s", {"ts": [1, 2], "w": [1, 2]})
    with pytest.raises(DataError, match=r"query more, CAST.w AS INT.: .*write TRY_CAST"):
        db.push("s", {"ts": [3, 4], "w": [2**63 - 1, 2]})
    db.push("s", {"ts": [5], "w": [5]})
    db.advance(to=9)
    assert whole.changes().column("w").to_pylist() == [1, 2, 2**63 - 1, 2, 5]
    assert more.changes().column("more").to_pylist() == [1]
    assert "stopped by an error" in repr(more)
    with pytest.raises(StateError, match=r"it stopped: .*TRY_CAST"):
        more.answer()


def test_queries_that_share_a_selection_stop_together() -> None:
    db = windrow.connect()
    *shared, whole = db.execute(
        "CREATE STREAM s (ts BIGINT, w BIGINT);"
        + "".join(f"SELECT CAST(w AS INT) AS more FROM s WHERE w > {n};" for n in range(3))
        + "SELECT w FROM s;"
    )
    with pytest.raises(DataError, match="TRY_CAST"):
        db.push("s", {"ts": [1, 2], "w": [2**63 - 1, 2]})
    db.advance(to=9)
    assert whole.answer().num_rows == 2
    for query in shared:
        with pytest.raises(StateError, match="TRY_CAST"):
            query.answer()


def test_what_connect_cannot_use_is_refused_with_what_it_can() -> None:
    with pytest.raises(InputError, match="strategy: expected one of nt, direct, upa; found 'foo'"):
        windrow.connect(strategy="foo")
    with pytest.raises(InputError, match="expected a SparkSession; found str"):
        windrow.connect("spark://host:7077")
    with pytest.raises(InputError, match="expected a SparkSession with checkpoint"):
        windrow.connect(checkpoint="state")


def test_a_traceback_shows_the_place_in_the_script() -> None:
    with pytest.raises(ScriptError) as caught:
        windrow.connect().execute("CREATE STREAM s (ts BIGINT);\nSELECT tss FROM s;")
    assert caught.value.__notes__ == ["  2 | SELECT tss FROM s;\n    |        ^^^"]


def test_columns_of_changes_are_all_called_differently() -> None:
    db = windrow.connect()
    (query,) = db.execute(
        "CREATE STREAM s (ts BIGINT, instant STRING, k STRING);"
        "CREATE QUERY q AS SELECT instant, k AS change, k, instant AS k FROM s "
        "INTO 'out' FORMAT json;"
    )
    db.push("s", {"ts": [1], "instant": ["x"], "k": ["y"]})
    db.advance(to=1)
    (row,) = query.changes().to_pylist()
    expected = {
        "instant": 1,
        "change": "+",
        "instant_2": "x",
        "change_2": "y",
        "k": "y",
        "k_2": "x",
    }
    assert row == expected
    assert [json.loads(p.read_text()) for p in Path("out").glob("batch-*")] == [expected]


@pytest.mark.parametrize("wrong", [2**63, 20.5, "tomorrow", np.datetime64("NaT"), pd.NaT, None])
def test_time_does_not_advance_to_what_is_no_instant(wrong: Any) -> None:
    db = windrow.connect()
    (seen,) = db.execute("CREATE STREAM s (at TIMESTAMP); SELECT at FROM s;")
    db.push("s", {"at": ["2026-03-01"]})
    with pytest.raises(InputError, match=r"advance: expected an integer .*, a date, or ISO 8601"):
        db.advance(to=wrong)
    db.advance(to=date(2026, 3, 1))
    assert seen.answer().num_rows == 1


def test_the_answer_of_a_top_is_in_its_order() -> None:
    db = windrow.connect()
    by_sum, by_two, hidden = db.execute("""
        CREATE STREAM s (ts BIGINT, k STRING, v INT);
        SELECT TOP 3 k, SUM(v) AS total FROM s [RANGE 9] GROUP BY k;
        SELECT v, k FROM s [RANGE 9] ORDER BY k DESC, v LIMIT 4;
        SELECT k FROM s [RANGE 9] ORDER BY v DESC, k LIMIT 2;
    """)
    db.push("s", {"ts": [1] * 5, "k": ["a", "b", "c", "b", "d"], "v": [5, 9, 7, None, 1]})
    db.advance(to=1)
    assert by_sum.answer().to_pydict() == {"k": ["b", "c", "a"], "total": [9, 7, 5]}
    assert by_two.answer().to_pydict() == {"v": [1, 7, 9, None], "k": ["d", "c", "b", "b"]}
    assert sorted(hidden.answer()["k"].to_pylist()) == ["b", "c"]


def test_a_script_may_begin_with_the_mark_of_its_encoding() -> None:
    db = windrow.connect()
    assert len(db.execute("\ufeffCREATE STREAM s (ts BIGINT);\r\nSELECT ts FROM s;")) == 1


def test_a_stream_is_read_from_its_beginning_after_a_query_over_it_was_refused() -> None:
    Path("hits/1.csv").write_text(f"ts,page\n1,1\n2,{2**63 - 1}\n3,3\n9,9\n")
    db = windrow.connect()
    db.execute("CREATE STREAM hits (ts BIGINT, page BIGINT) FROM 'hits' FORMAT csv;")
    with pytest.raises(DataError, match="TRY_CAST"):
        db.execute("CREATE QUERY q AS SELECT CAST(page AS INT) AS more FROM hits;")
    Path("hits/1.csv").rename("hits/_1.csv")
    Path("hits/2.csv").write_text("at,page\n10,10\n")
    with pytest.raises(InputError, match="column 'ts'"):
        db.execute("CREATE QUERY q AS SELECT page FROM hits;")
    Path("hits/_1.csv").rename("hits/1.csv")
    Path("hits/2.csv").write_text("ts,page\n10,10\n")
    [seen] = db.execute("CREATE QUERY q AS SELECT page FROM hits;")
    db.advance(to=10)
    assert seen.answer()["page"].to_pylist() == [1, 2**63 - 1, 3, 9, 10]
    assert db.count_late("hits") == 0


def test_a_stream_of_a_refused_script_may_be_declared_differently() -> None:
    db = windrow.connect()
    with pytest.raises(DataError):
        db.execute(HITS + "SELECT CAST(page AS INT) AS n FROM hits;")
    [seen] = db.execute(HITS.replace("ts BIGINT, ", "ts BIGINT, more INT, ").replace(
        " FROM 'hits' FORMAT csv", "") + "SELECT more FROM hits;")  # fmt: skip
    db.push("hits", {"ts": [1], "more": [7], "page": ["a"]})
    db.advance(to=1)
    assert seen.answer().to_pydict() == {"more": [7]}


def test_what_came_too_late_is_late_for_queries_that_are_made_later_too() -> None:
    db = windrow.connect()
    [first] = db.execute(HITS + "SELECT ts FROM hits;")
    db.advance(to=10)
    Path("hits/2.csv").write_text("ts,page\n5,a\n11,b\n")
    db.advance(to=12)
    [second] = db.execute("SELECT ts FROM hits;")
    assert db.count_late("hits") == 1
    assert first.changes() == second.changes()
    assert first.answer()["ts"].to_pylist() == [1, 2, 11]


def test_files_are_read_again_once_for_all_queries_of_a_script(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("views").mkdir()
    Path("views/1.csv").write_text("ts,page\n1,b\n7,a\n")
    db = windrow.connect()
    views = HITS.replace("hits", "views")
    pairs = "SELECT h.ts, v.ts FROM hits [RANGE 9] AS h, views [RANGE 9] AS v WHERE v.page = h.page"
    [first] = db.execute(HITS + views + f"{pairs};")
    Path("hits/2.csv").write_text("ts,page\n4,a\n9,b\n")
    db.advance(to=9)
    opened = []

    def noted(path: Path, declaration: Any, part: Any) -> Any:
        opened.append(str(path))
        return read_file(path, declaration, part=part)

    monkeypatch.setattr(feeds, "read_file", noted)
    second, third, _ = db.execute(f"{pairs}; {pairs}; SELECT page FROM hits;")
    assert opened == ["hits/1.csv", "views/1.csv", "hits/2.csv"]
    assert first.changes().num_rows > 2
    assert (
        second.changes().to_pylist() == third.changes().to_pylist() == first.changes().to_pylist()
    )


def test_files_are_observed_like_rows_that_are_pushed() -> None:
    db = windrow.connect()
    db.execute(HITS + "SELECT page FROM hits;")
    Path("hits/2.csv").write_text("ts,page\n" + "".join(f"{n},a\n" for n in range(3, 101)))
    db.advance(to=50)
    db.push("hits", {"ts": [101], "page": ["a"]})
    seen = db._runtime.inputs.statistics()
    assert seen is not None
    assert seen.rates == {"hits": 1.0}


@pytest.mark.parametrize("script", [None, Path("calls.cql"), b"SELECT"])
def test_what_is_no_text_is_no_script(script: Any) -> None:
    for call in (windrow.connect().execute, windrow.connect().explain):
        with pytest.raises(InputError, match=r"expected the text of a script; found .*read_text"):
            call(script)


def test_a_query_is_found_by_its_name_in_any_case() -> None:
    db = windrow.connect()
    [busy] = db.execute("CREATE STREAM s (ts BIGINT); CREATE QUERY Busy AS SELECT ts FROM s [NOW];")
    assert db.queries["busy"] is db.queries["BUSY"] is busy
    with pytest.raises(KeyError, match=r"did you mean Busy\?"):
        db.queries["bussy"]
    assert list(db.queries) == ["Busy"]


def test_a_strategy_is_named_as_explain_names_it() -> None:
    db = windrow.connect(strategy="NT")
    db.execute("CREATE STREAM s (ts BIGINT)")
    assert "strategy NT" in db.explain("SELECT ts FROM s [NOW]")


def test_explain_takes_the_name_of_a_query() -> None:
    db = windrow.connect()
    db.execute('CREATE STREAM s (ts BIGINT); CREATE QUERY "Of ""s""" AS SELECT ts FROM s [NOW];')
    assert "Window [NOW]" in db.explain('of "S"')


def test_a_connection_that_was_closed_begins_anew() -> None:
    db = windrow.connect()
    db.execute("CREATE STREAM s (ts BIGINT); SELECT ts FROM s;")
    db.push("s", {"ts": [5]})
    db.close()
    [seen] = db.execute("CREATE STREAM s (ts BIGINT); SELECT ts FROM s;")
    db.push("s", {"ts": [1, 2]})
    assert seen.answer()["ts"].to_pylist() == [1]


def test_the_clock_of_one_relation_moves_all_that_it_meets() -> None:
    db = windrow.connect()
    alone, both = db.execute(
        "CREATE RELATION a (k INT); CREATE RELATION b (k INT);"
        "SELECT k FROM a; SELECT a.k FROM a, b WHERE a.k = b.k;"
    )
    for name in "ba":
        db.push(name, {"instant": ["2026-03-01"], "change": ["+"], "k": [1]})
    db.advance(to=date(2026, 3, 1))
    assert alone.changes()["instant"].to_pylist() == both.changes()["instant"].to_pylist()
    assert alone.answer().to_pydict() == both.answer().to_pydict() == {"k": [1]}


def test_results_of_an_earlier_run_stay_if_the_script_cannot_be_run() -> None:
    script = HITS + "CREATE QUERY seen AS SELECT page FROM hits INTO 'out';"
    windrow.connect().execute(script)
    before = sorted(Path("out").iterdir())
    assert before
    with pytest.raises(InputError, match="nothing there"):
        windrow.connect().execute(script.replace("'hits'", "'none'"))
    assert sorted(Path("out").iterdir()) == before


TWICE = """
    CREATE STREAM s (ts BIGINT);
    CREATE QUERY seen AS SELECT ts FROM s INTO 'out' FORMAT csv;
    CREATE QUERY beside AS SELECT ts FROM s [RANGE 1] INTO 'beside' FORMAT csv;
"""


def test_results_that_could_not_be_written_are_written_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sinks.ROWS_PER_FILE, "value", 1)
    db = windrow.connect()
    seen, beside = db.execute(TWICE)
    shutil.rmtree("out")
    for ts in ([1, 2], [3]):
        with pytest.raises(InputError, match=r"INTO 'out': .* can be written to; found"):
            db.push("s", {"ts": ts})
    written = read_changes(Path("beside"), "csv", beside.changes().schema)
    assert written.to_pylist() == beside.changes().to_pylist()
    Path("out").mkdir()
    db.push("s", {"ts": [4]})
    assert seen.changes().num_rows == 3
    written = read_changes(Path("out"), "csv", seen.changes().schema)
    assert written.to_pylist() == seen.changes().to_pylist()


def test_two_connections_do_not_mix_their_results() -> None:
    first, second = windrow.connect(), windrow.connect(overwrite=True)
    first.execute(TWICE)
    with pytest.raises(StateError, match=r"INTO 'out': .* another run or connection of this proc"):
        second.execute(TWICE)
    first.push("s", {"ts": [1, 2]})
    first.close()
    with pytest.raises(StateError, match=r"INTO 'out': .*query seen, of another run; name another"):
        windrow.connect().execute(TWICE)
    [seen, _] = second.execute(TWICE)
    second.push("s", {"ts": [101, 102, 103, 104]})
    written = read_changes(Path("out"), "csv", seen.changes().schema)
    assert written["ts"].to_pylist() == [101, 102, 103]


def test_what_is_interrupted_in_the_middle_of_rows_has_no_answer_and_others_do() -> None:
    def interrupt(v: int) -> int:
        if v == 2:
            raise KeyboardInterrupt
        return v

    with windrow.connect() as connection:
        connection.function("interrupt", interrupt)
        half, whole = connection.execute("""
            CREATE STREAM s (ts BIGINT, v INT);
            CREATE QUERY half AS SELECT interrupt(v) AS v FROM s;
            CREATE QUERY whole AS SELECT v FROM s;
        """)
        with pytest.raises(KeyboardInterrupt):
            connection.push("s", {"ts": [1, 2, 3], "v": [1, 2, 3]})
        connection.push("s", {"ts": [4], "v": [4]})
        connection.advance(to=4)
        with pytest.raises(StateError, match="half: found KeyboardInterrupt in the middle of rows"):
            half.answer()
        assert whole.answer()["v"].to_pylist() == [1, 2, 3, 4]
