"""IDLE AFTER: a silent stream holds nobody back, and what it brings later is judged as always."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.runs import run_embedded
from windrow.core.errors import NotHeldError
from windrow.core.time import FOREVER
from windrow.engine.connection import Connection
from windrow.engine.embedded import Embedded
from windrow.engine.idling import DEFAULT
from windrow.engine.progress import Progress, Report
from windrow.plan.program import compile_script

SECOND = 1_000_000
JOIN = "SELECT a.v, b.v FROM a [RANGE 50 SECONDS], b [RANGE 50 SECONDS] WHERE a.v = b.v;"


class Clock:
    """A wall that shows what it is told."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> int:
        return int(self.seconds * SECOND)


def connected(clock: Clock, a: str = "", b: str = "IDLE AFTER 30 SECONDS", **options) -> Connection:
    db = Connection(Embedded(wall=clock, **options))
    db.execute(
        f"CREATE STREAM a (ts BIGINT, v INT) {a}; CREATE STREAM b (ts BIGINT, v INT) SLACK 5 {b};"
        f"CREATE QUERY joined AS {JOIN} CREATE QUERY alone AS SELECT v FROM b [RANGE 9 SECONDS];"
    )
    return db


def push(db: Connection, stream: str, *rows: tuple[int, int]) -> None:
    db.push(stream, {"ts": [ts for ts, _ in rows], "v": [v for _, v in rows]})


def said(db: Connection, query: str = "joined") -> list[tuple[int, str, int]]:
    return [tuple(r.values())[:3] for r in db.queries[query].changes().to_pylist()]


def test_others_go_on_without_a_stream_that_is_silent_for_too_long() -> None:
    clock = Clock()
    db = connected(clock)
    push(db, "b", (10, 1), (12, 2))
    push(db, "a", (11, 1))
    assert said(db) == [], "b has closed nothing after 6"
    clock.seconds = 29
    push(db, "a", (13, 2), (20, 0))
    assert said(db) == []
    clock.seconds = 31
    push(db, "a", (21, 0))
    assert said(db) == [(11, "+", 1), (13, "+", 2)], "what b brought within its slack is there"
    assert db.queries["joined"].now == 20
    assert db.queries["alone"].now == 6, "b alone is silent, so the time of b stays"


def test_windows_of_a_query_lack_what_was_late_for_it_until_they_have_moved_past() -> None:
    """What others show and it does not is in no answer as of the same instant."""
    clock = Clock()
    db = connected(clock)
    db.execute("""
        CREATE QUERY held AS SELECT v FROM b [RANGE 50 SECONDS];
        CREATE VIEW counted AS SELECT COUNT(*) AS n FROM b [RANGE 50 SECONDS];
    """)
    push(db, "b", (10, 1))
    clock.seconds = 40
    push(db, "a", (30, 1))
    push(db, "b", (25, 1))
    db.advance(to=35)
    assert db.queries["joined"].now == db.queries["held"].now == 35
    whole = "SELECT ts FROM b [RANGE 50 SECONDS] ORDER BY ts"
    assert db.query(whole)["ts"].to_pylist() == [10, 25]
    assert db.query("SELECT * FROM counted").to_pylist() == [{"n": 2}]
    db.execute("DROP QUERY held")
    with pytest.raises(NotHeldError, match="since 25"):
        db.query(whole)
    assert db.query("SELECT ts FROM b [RANGE 10 SECONDS]").num_rows == 0
    [late] = db.execute("SELECT v FROM b [RANGE 40 SECONDS]")
    assert (late.complete_from, late.answer().num_rows) == (65, 1)


def test_a_stream_that_is_declared_again_has_not_been_silent() -> None:
    clock = Clock()
    db = connected(clock)
    push(db, "b", (10, 1))
    db.execute("DROP QUERY joined; DROP QUERY alone; DROP STREAM b;")
    db.execute("CREATE STREAM b (ts BIGINT, v INT) IDLE AFTER 30 SECONDS;"
               f"CREATE QUERY joined AS {JOIN}")  # fmt: skip
    clock.seconds = 40
    push(db, "b", (11, 1))
    push(db, "a", (20, 1))
    assert db.queries["joined"].now == 10


def test_a_row_that_is_late_for_a_query_is_heard_once() -> None:
    clock = Clock()
    db = connected(clock)
    push(db, "b", (10, 1))
    clock.seconds = 40
    push(db, "a", (30, 1))
    clock.seconds = 41
    push(db, "b", (25, 1))
    assert db.count_late("b") == 1
    clock.seconds = 60
    push(db, "a", (40, 1))
    clock.seconds = 71
    push(db, "a", (50, 1))
    assert db.queries["joined"].now == 49, "b has been silent for 30 seconds"


def test_rows_of_a_stream_that_wakes_up_are_late_where_time_went_past_them(tmp_path: Path) -> None:
    clock = Clock()
    db = connected(clock, quarantine=tmp_path)
    push(db, "b", (10, 1))
    push(db, "a", (10, 1))
    clock.seconds = 40
    push(db, "a", (21, 2), (30, 2))
    push(db, "b", (29, 7), (30, 2), (31, 2))
    assert db.count_late("b") == 1
    push(db, "b", (40, 0))
    push(db, "a", (40, 0))
    assert said(db) == [(10, "+", 1), (30, "+", 2), (30, "+", 2), (31, "+", 2), (31, "+", 2)]
    assert [v for _, _, v in said(db, "alone")] == [1, 1, 7, 2, 2], "in time for b alone"
    (page,) = tmp_path.rglob("*.jsonl")
    (line,) = map(json.loads, page.read_text().splitlines())
    assert json.loads(line["text"]) == {"ts": 29, "v": 7}
    assert line["reason"] == (
        "late: its time is 29, and the query had closed 29 without its stream; "
        "wait longer for it with IDLE AFTER"
    )


def test_a_row_that_is_late_for_one_query_is_counted_there_only(tmp_path: Path) -> None:
    clock = Clock()
    db = connected(clock, quarantine=tmp_path)
    push(db, "b", (10, 1))
    push(db, "a", (10, 1))
    clock.seconds = 40
    push(db, "a", (30, 2))
    push(db, "b", (29, 7), (30, 2), (40, 0), (1, 9))
    counts = {p.query: (p.rows_in, p.quarantined, p.late) for p in db._runtime.progress()}
    assert counts == {"joined": (5, 2, 2), "alone": (4, 1, 1)}
    assert db.count_late("b") == 2
    assert sorted(page.name for page in tmp_path.rglob("*.jsonl")) == [
        "closed-00001.jsonl",
        "push-00001.jsonl",
    ]


def test_if_all_are_silent_time_stays() -> None:
    clock = Clock()
    db = connected(clock, a="IDLE AFTER 20 SECONDS")
    push(db, "b", (10, 1))
    push(db, "a", (50, 1))
    clock.seconds = 100
    push(db, "b")
    assert db.queries["joined"].now == 4
    push(db, "b", (50, 1))
    assert db.queries["joined"].now == 44, "a is idle, b is not"


@pytest.mark.parametrize("clause", ["", "IDLE AFTER NEVER"])
def test_a_stream_that_is_pushed_is_waited_for_unless_it_says_otherwise(clause: str) -> None:
    clock = Clock()
    db = connected(clock, b=clause)
    push(db, "b", (10, 1))
    push(db, "a", (50, 1))
    clock.seconds = 1e9
    push(db, "a", (90, 1))
    assert db.queries["joined"].now == 4


def test_updates_of_a_relation_that_wakes_up_happen_at_the_next_open_instant() -> None:
    clock = Clock()
    db = Connection(Embedded(wall=clock))
    (query,) = db.execute(
        "CREATE STREAM a (ts BIGINT, v INT); CREATE RELATION r (v INT) IDLE AFTER 5 SECONDS;"
        "SELECT a.v FROM a [RANGE 100 SECONDS], r WHERE a.v = r.v;"
    )
    db.push("r", {"instant": [1, 2], "change": ["+", "+"], "v": [1, 2]})
    push(db, "a", (3, 1), (3, 2))
    clock.seconds = 10
    push(db, "a", (20, 1))
    assert query.now == 19
    db.push("r", {"instant": [12, 13, 14], "change": ["-", "+", "-"], "v": [1, 3, 3]})
    db.push("r", {"instant": [30], "change": ["-"], "v": [2]})
    push(db, "a", (40, 0))
    assert db.count_late("r") == db.count_rejected("r") == 0
    changes = [tuple(r.values()) for r in query.changes().to_pylist()]
    assert changes == [(3, "+", 1), (3, "+", 2), (20, "-", 1)]
    db.advance(to=30)
    assert query.answer().num_rows == 0


def test_a_query_that_comes_later_sees_what_an_idle_stream_released(tmp_path: Path) -> None:
    """The rows of b beyond what b has closed went to ``joined`` before ``late`` was made."""
    clock, path = Clock(), tmp_path / "b.csv"
    path.write_text("ts,v\n10,1\n12,2\n")
    db = connected(clock, b=f"FROM '{path}' IDLE AFTER 30 SECONDS")
    push(db, "a", (11, 1))
    clock.seconds = 31
    push(db, "a", (13, 2), (20, 0))
    assert said(db) == [(11, "+", 1), (13, "+", 2)]
    db.execute("CREATE QUERY late AS SELECT v FROM b [ROWS 9];")
    db.advance(to=30)
    assert sorted(v for _, _, v in said(db, "late")) == [1, 2]


def test_files_that_wait_to_be_read_are_no_silence(tmp_path: Path) -> None:
    clock, directory = Clock(), tmp_path / "b"
    directory.mkdir()
    (directory / "1.csv").write_text("ts,v\n10,1\n")
    db = connected(clock, b=f"FROM '{directory}' FORMAT csv IDLE AFTER 30 SECONDS")
    push(db, "a", (11, 1))
    clock.seconds = 31
    (directory / "2.csv").write_text("ts,v\n15,1\n")
    push(db, "a", (20, 0))
    assert db.queries["joined"].now == 4


@settings(max_examples=15)
@given(data=st.data())
def test_how_pushes_are_cut_makes_no_difference_while_nobody_wakes_up(data: st.DataObject) -> None:
    """b is idle from 31 on; the rows of a are cut at will before and after."""
    rows = [(t, t % 3) for t in sorted(data.draw(st.lists(st.integers(5, 40), max_size=12)))]
    cut = data.draw(st.integers(0, len(rows)))
    answers = []
    for pieces in ([rows[:cut], rows[cut:]], [[r] for r in rows]):
        clock = Clock()
        db = connected(clock)
        push(db, "b", (10, 1), (12, 2))
        for piece in pieces:
            push(db, "a", *piece)
        clock.seconds = 31
        push(db, "a", (60, 5))
        answers.append(said(db))
    assert answers[0] == answers[1]


def watch(tmp_path: Path, clock: Clock, hear: Callable[[Progress], bool]) -> Report:
    """``windrow run`` over two watched directories, until ``hear`` has heard enough."""
    for name in "ab":
        (tmp_path / name).mkdir(exist_ok=True)
    (tmp_path / "a/1.csv").write_text("ts,v\n10,1\n30,2\n")
    (tmp_path / "b/1.csv").write_text("ts,v\n11,1\n12,2\n")
    script = "".join(
        f"CREATE STREAM {n} (ts BIGINT, v INT) FROM '{tmp_path / n}' FORMAT csv;" for n in "ab"
    )
    stop = threading.Event()
    return run_embedded(
        compile_script(script + f"CREATE QUERY joined AS {JOIN}").catalog, once=False,
        quarantine=tmp_path / "q", stop=stop, wall=clock,
        on_progress=lambda progress: stop.set() if hear(progress) else None,
    )  # fmt: skip


def test_watched_directories_are_idle_by_themselves_after_a_while(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("windrow.engine.embedded.POLL_SECONDS", 0.01)
    clock = Clock()
    told: list[Progress] = []

    def hear(progress: Progress) -> bool:
        told.append(progress)
        if len(told) == 2:
            threading.Timer(0.3, lambda: setattr(clock, "seconds", DEFAULT / SECOND)).start()
        return bool(progress.idle)

    report = watch(tmp_path, clock, hear)
    assert told[-1].idle == ("a", "b"), "both were silent, and both are named"
    assert report.queries[0].now == told[1].now == 11, "if all are silent, time stays"


def test_without_a_wall_nobody_is_ever_idle() -> None:
    db = connected(lambda: FOREVER)
    push(db, "b", (10, 1))
    push(db, "a", (50, 1), (51, 1))
    assert db.queries["joined"].now == 4
