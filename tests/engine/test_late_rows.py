"""A late query over a window of rows goes on counting where others have come that hold its rows.

That it answers as one from the beginning ``test_late_start`` says; here it is said when.
"""

from __future__ import annotations

import pytest

import windrow
from tests.engine.test_late_start import HOLD_ROWS, LATE_ROWS, STREAMS, bag, push
from windrow.core.time import FOREVER


@pytest.mark.parametrize("query", LATE_ROWS)
@pytest.mark.parametrize("rows", [1, 5, 24, 25, 26, 27, 28, 29])
def test_windows_of_rows_are_whole_at_once(query, rows) -> None:
    with windrow.connect() as db:
        db.execute(STREAMS + HOLD_ROWS)
        for name in "sr":
            push(db, name, [(ts, "a", ts % 4) for ts in range(1, rows + 1)])
        db.advance(to=rows)
        [late] = db.execute(f"CREATE QUERY late AS {query};")
        assert late.complete_from == (rows if "EVERY" not in query else -(-rows // 4) * 4)


def test_a_window_of_rows_of_which_too_few_are_held_begins_empty() -> None:
    with windrow.connect() as db:
        db.execute(STREAMS + HOLD_ROWS)
        push(db, "s", [(ts, "a", 1) for ts in range(1, 10)])
        db.advance(to=9)
        long, short = "SELECT v FROM s [ROWS 8 SLIDE 3]", "SELECT v FROM s [ROWS 6 SLIDE 4]"
        said = [db.explain(query).splitlines()[-1] for query in (long, short)]
        handles = [db.execute(query)[0] for query in (long, short)]
    assert said == [
        "late: begins empty; its answers do not have what came before",
        "late: filled with s [ROWS 7 SLIDE 3] from of_s; complete from instant 9",
    ]
    assert [handle.complete_from for handle in handles] == [FOREVER, 9]


def test_rows_are_counted_from_the_beginning_by_who_was_filled_too() -> None:
    query = "SELECT v FROM s [ROWS 5 SLIDE 3]"
    with windrow.connect() as db, windrow.connect() as other:
        db.execute(STREAMS + HOLD_ROWS)
        [*_, early] = other.execute(f"{STREAMS} CREATE QUERY early AS {query};")
        for ts in range(1, 30):
            for connection in (db, other):
                push(connection, "s", [(ts, "a", ts)])
                connection.advance(to=ts)
            if ts == 11:
                db.execute("CREATE QUERY between AS SELECT DISTINCT v FROM s [ROWS 7 SLIDE 2];")
                db.execute("DROP QUERY of_s; DROP QUERY of_both;")
            if ts == 16:
                [late] = db.execute(f"CREATE QUERY late AS {query};")
                assert late.complete_from == 16
            if ts >= 16:
                assert bag(late) == bag(early)


def test_rows_of_a_window_that_is_ahead_are_numbered_or_left_out() -> None:
    """Of two windows of one stream the slower one says from which instant on rows come again."""
    query = "SELECT b.v FROM s [RANGE 8] AS a, s [ROWS 2 SLIDE 2] AS b WHERE a.k = b.k"
    rows = [(ts, "a", ts) for ts in (1, 2, 3, 7, 8, 9)]
    for upto, complete in ((2, FOREVER), (8, 8)):
        with windrow.connect() as db, windrow.connect() as other:
            db.execute(f"{STREAMS} CREATE QUERY ahead AS SELECT v, k FROM s [ROWS 2 SLIDE 2];")
            db.execute("CREATE QUERY slow AS SELECT s.v FROM s [RANGE 9], r [NOW] WHERE s.k = r.k;")
            [*_, early] = other.execute(f"{STREAMS} CREATE QUERY early AS {query};")
            for connection in (db, other):
                push(connection, "s", rows)
                push(connection, "r", [(upto, "b", 0)])
            [late] = db.execute(f"CREATE QUERY late AS {query};")
            assert late.complete_from == complete
            for connection in (db, other):
                push(connection, "s", [(10, "a", 10)])
                connection.advance(to=10)
            assert (bag(late) == bag(early)) is (complete != FOREVER)


def test_one_time_sql_has_the_rows_of_a_window_with_another_slide() -> None:
    with windrow.connect() as db:
        db.execute(f"{STREAMS} {HOLD_ROWS} CREATE VIEW many AS {LATE_ROWS[3]};")
        push(db, "s", [(ts, "a", ts) for ts in range(1, 12)])
        push(db, "r", [(11, "a", 1)])
        db.advance(to=11)
        asked = ("s [ROWS 4 SLIDE 2]", "s [ROWS 3]", "s [ROWS 7 SLIDE 3]", "r [ROWS 6 SLIDE 4]")
        found = [db.query(f"SELECT v FROM {window}").column(0).to_pylist() for window in asked]
        assert found == [[7, 8, 9, 10], [9, 10, 11], [3, 4, 5, 6, 7, 8, 9], []]
        assert db.query("SELECT * FROM many").to_pylist() == [{"k": "a", "t": 40, "n": 5}]
