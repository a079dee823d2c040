"""Queries that come while others run, and go: what each starts on, and that its answers are right.

Golab 2006, 8.2: a query that comes starts at once on a matching synopsis, extends one, or fills its
own; a query that goes leaves what others use. Every answer from ``complete_from`` on is recomputed
by a query that ran alone from the beginning.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow
from tests.plan.sharing.test_shared_synopses import MEMBERS, ROWS, STREAM, bag, in_time, run
from windrow.core.errors import InputError
from windrow.engine.handles import Handle
from windrow.plan.sharing.shared_synopses import MOST_PREDICATES

END = 60


@pytest.fixture
def sizes_but_one_group(sizes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thresholds as usual and at their least, but no queries are left to an index."""
    monkeypatch.setattr(MOST_PREDICATES, "value", MOST_PREDICATES.usual)


class Guests:
    """Queries of a connection with their texts, checked against queries that ran alone."""

    def __init__(self) -> None:
        self.db = windrow.connect()
        self.db.execute(STREAM)
        self.here: dict[str, tuple[Handle, str, int]] = {}
        self.rows: list[dict[str, Any]] = []
        self.made = 0
        self.now = -1

    def come(self, texts: list[str]) -> None:
        names = [f"q{self.made + i}" for i in range(len(texts))]
        script = "".join(f"CREATE QUERY {n} AS {t};" for n, t in zip(names, texts, strict=True))
        said = self.db.explain(script)
        handles = self.db.execute(script)
        self.made += len(texts)
        for handle, text, plan in zip(handles, texts, said.split("\n\n"), strict=True):
            self.here[handle.name] = handle, text, self.now
            self.check_words(handle, plan)

    def check_words(self, handle: Handle, would_be: str) -> None:
        """What was said before it came is what is said of it now, and what has happened."""
        sharing = [
            line for line in would_be.splitlines() if line.startswith("  ") and "(SS" in line
        ]
        running = self.db.explain(handle.name)
        assert all(line in running for line in sharing)
        assert bool(sharing) == (handle._run.job.synopses is not None)
        complete = handle.complete_from
        if sharing:
            when = "at once" if complete is None else f"from {complete} on"
            assert f"complete {when} (SS" in sharing[0]
        assert (f"complete from instant {complete}" in running) == (complete is not None)

    def go(self, number: int) -> None:
        name = sorted(self.here)[number % len(self.here)]
        del self.here[name]
        self.db.execute(f"DROP QUERY {name}")

    def push(self, rows: list[dict[str, Any]]) -> None:
        rows = [row for row in rows if row["ts"] > self.now]
        self.db.push("s", rows)
        self.rows += rows

    def advance(self, to: int) -> None:
        self.db.advance(to=to)
        self.now = to
        for handle, text, came in self.here.values():
            complete, slide = handle.complete_from, int(text.split("SLIDE ")[1].split()[0])
            due = to // slide * slide
            if due <= came or (complete is not None and due < complete):
                continue
            (whole,) = run(f"{text};", [self.rows], to)
            assert bag(handle.answer()) == bag(whole.answer()), (text, to)
            assert held_by(handle) == bag(handle.answer()), text


def held_by(handle: Handle) -> list[str]:
    """The answer that the changes so far come to."""
    net: dict[str, int] = {}
    for change in handle.changes().to_pylist():
        sign = {"+": 1, "-": -1}[change.pop("change")]
        del change["instant"]
        net[repr(change)] = net.get(repr(change), 0) + sign
    return sorted(row for row, n in net.items() for _ in range(n))


EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("come"), st.lists(MEMBERS, min_size=1, max_size=2)),
        st.tuples(st.just("go"), st.integers(0, 5)),
        st.tuples(st.just("pass"), st.integers(1, 9)),
    ),
    min_size=2,
    max_size=7,
)


@pytest.mark.usefixtures("sizes_but_one_group")
@settings(max_examples=40)
@given(first=st.lists(MEMBERS, max_size=3), events=EVENTS, rows=ROWS.map(in_time))
def test_whoever_comes_and_goes_answers_are_right_from_when_they_are_complete(first, events, rows):
    guests = Guests()
    if first:
        guests.come(first)
    guests.push([row for row in rows if row["ts"] <= 4])
    guests.advance(5)
    for kind, what in events:
        match kind:
            case "come":
                guests.come(what)
            case "go" if guests.here:
                guests.go(what)
            case "pass":
                until = guests.now + what
                guests.push([row for row in rows if guests.now < row["ts"] <= until])
                guests.advance(until)
    for end in (guests.now + 3, guests.now + 8, END + guests.now):
        guests.push([row for row in rows if guests.now < row["ts"] <= end])
        guests.advance(end)


ALIGNED = st.builds(
    lambda aggregate, slide, n, finish: finish.format(
        aggregate, f"s [RANGE {n * slide} SECONDS SLIDE {slide} SECONDS]"
    ),
    st.sampled_from([
        "COUNT(*)", "COUNT(n)", "SUM(n)", "AVG(n)", "MIN(n)", "MAX(x)", "SUM(x)", "AVG(x)",
        "MEDIAN(n)", "COUNT(DISTINCT w)", "QUANTILE(x, 0.9)", "MAX(DISTINCT n)",
        "MIN(w)", "FIRST(n)", "LAST(w)", "MAX_BY(w, n)", "VAR(n)", "STDDEV(x)",
    ]),
    st.sampled_from([2, 4]),
    st.integers(1, 4),
    st.sampled_from([
        "SELECT k, {0} AS a FROM {1} GROUP BY k",
        "SELECT {0} AS a FROM {1}",
        "SELECT w, k, {0} AS a, SUM(n) AS b FROM {1} GROUP BY w, k",
        "SELECT k, w, {0} AS a, COUNT(*) AS b FROM {1} GROUP BY k, w HAVING COUNT(*) > 1",
        "SELECT TOP 2 {0} AS a, k FROM {1} GROUP BY k ORDER BY a DESC",
    ]),
)  # fmt: skip
"""Those whose SLIDE divides their RANGE, by keys in two orders."""


@pytest.mark.usefixtures("sizes_but_one_group")
@settings(max_examples=60)
@given(
    alone=ALIGNED,
    late=st.lists(ALIGNED, min_size=1, max_size=3),
    rows=ROWS.map(in_time),
    when=st.integers(1, 20),
    steps=st.lists(st.integers(1, 7), min_size=1, max_size=4),
)
def test_one_that_was_alone_goes_on_as_a_group_and_later_ones_start_on_what_it_kept(
    alone, late, rows, when, steps
):
    guests = Guests()
    guests.come([alone])
    for instant in (when // 2, when):
        guests.push([row for row in rows if guests.now < row["ts"] <= instant])
        guests.advance(instant)
    for text in late:
        guests.come([text])
    for step in (*steps, END):
        until = guests.now + step
        guests.push([row for row in rows if guests.now < row["ts"] <= until])
        guests.advance(until)
    (whole,) = run(f"{alone};", [guests.rows], guests.now)
    (first,) = [handle for handle, *_ in guests.here.values() if handle.name == "q0"]
    assert bag(first.changes()) == bag(whole.changes()), "nobody notices that others have come"


QUERY = "SELECT k, {} AS a FROM s [RANGE {} SECONDS SLIDE {} SECONDS] {} GROUP BY k"


def bring(db: windrow.Connection, start: int, end: int) -> None:
    db.push("s", rows_until(end, start))
    db.advance(to=end)


def rows_until(end: int, start: int = 1) -> list[dict[str, Any]]:
    return [
        {"ts": t, "k": t % 3, "w": "ab"[t % 2], "n": t * t % 11, "x": t / 4} | dict.fromkeys("deb")
        for t in range(start, end + 1)
    ]


def sharing_lines(plan: str) -> list[str]:
    return [
        line.strip() for line in plan.splitlines() if line.startswith("  synopsis") or "(SS" in line
    ]


@pytest.fixture
def db():
    with windrow.connect() as connection:
        connection.execute(STREAM)
        yield connection


def test_explain_says_what_a_query_starts_on_extends_and_fills(db):
    db.execute(
        f"CREATE QUERY a AS {QUERY.format('SUM(n)', 20, 5, '')};"
        f"CREATE QUERY b AS {QUERY.format('MAX(n)', 10, 5, '')};"
    )
    bring(db, 1, 42)
    sums = "running synopsis of sums of n by k over s"
    most = "basic interval synopsis of maxima of n by k over s"
    expected = {
        QUERY.format("SUM(n)", 10, 10, ""): [
            f"synopsis 1: {sums} (s = 5 SECONDS, b = 4); shared with a",
            "sums of n from synopsis 1; it starts on synopsis 1; complete at once (SS1)",
        ],
        QUERY.format("SUM(n)", 30, 5, ""): [
            f"synopsis 1: {sums} (s = 5 SECONDS, b = 6); shared with a",
            "sums of n from synopsis 1; it extends synopsis 1; complete from 50 on (SS1)",
        ],
        QUERY.format("MIN(n)", 10, 5, "WHERE n > 3"): [
            (
                "synopsis 3: interval synopsis of minima of n by k over s where n > 3 "
                "(s = 5 SECONDS, b = 2); read by nobody else"
            ),
            "minima of n from synopsis 3; it fills synopsis 3; complete from 55 on (SS1)",
        ],
        QUERY.format("MAX(n) AS m, AVG(n)", 20, 5, ""): [
            f"synopsis 2: {most} (s = 5 SECONDS, b = 4); shared with b",
            f"synopsis 1: {sums} (s = 5 SECONDS, b = 4); shared with a",
            (
                "synopsis 4: running synopsis of counts of n by k over s (s = 5 SECONDS, b = 4), "
                "kept beside synopsis 1; read by nobody else"
            ),
            (
                "maxima of n from synopsis 2; sums of n from synopsis 1; "
                "counts of n from synopsis 4; it starts on synopses 1, 4 and extends synopsis 2; "
                "complete from 50 on (SS1, SS2)"
            ),
        ],
    }
    for text, lines in expected.items():
        assert sharing_lines(db.explain(text)) == lines
        (plan,) = db.execute(f"EXPLAIN {text}").plans
        assert sharing_lines(plan) == lines
        (handle,) = db.execute(f"CREATE QUERY c AS {text}")
        (running,) = db.execute("EXPLAIN c").plans
        assert sharing_lines(running) == sharing_lines(db.explain("c")) == lines
        said = lines[-1]
        assert (f"from {handle.complete_from} on" if handle.complete_from else "at once") in said
        db.execute("DROP QUERY c")


def test_explain_says_the_instant_of_a_timestamp_as_a_time(db):
    db.execute("CREATE STREAM t (at TIMESTAMP, k INT, n BIGINT)")
    query = QUERY.replace("FROM s", "FROM t")
    db.execute(f"CREATE QUERY a AS {query.format('SUM(n)', 20, 5, '')}")
    db.push("t", {"at": ["2026-03-01 09:00:00"], "k": [1], "n": [1]})
    db.advance(to="2026-03-01 09:00:41")
    said = db.explain(query.format("SUM(n)", 30, 5, ""))
    assert "it extends synopsis 1; complete from 2026-03-01 09:00:50.000000 on (SS1)" in said
    assert said.endswith(
        "late: it shares synopses with a; complete from instant 2026-03-01 09:00:50.000000"
    )


def test_queries_of_one_script_are_explained_as_they_would_come_one_after_the_other(db):
    db.execute(f"CREATE QUERY a AS {QUERY.format('SUM(n)', 20, 5, '')}")
    bring(db, 1, 42)
    script = (
        f"CREATE QUERY b AS {QUERY.format('SUM(n)', 40, 5, '')};"
        f"CREATE QUERY c AS {QUERY.format('SUM(n)', 30, 5, '')};"
    )
    plans = db.explain(script).split("\n\n")
    assert "it extends synopsis 1; complete from 60 on" in plans[0]
    assert "it starts on synopsis 1; complete from 50 on" in plans[1]
    assert [handle.complete_from for handle in db.execute(script)] == [60, 50]


@pytest.mark.parametrize("aggregate", ["COUNT(*)", "COUNT(n)", "AVG(n)"])
@pytest.mark.parametrize("alone", [True, False])
def test_counts_are_there_already_and_are_started_on(db, aggregate, alone):
    db.execute(f"CREATE QUERY a AS {QUERY.format('SUM(n)', 20, 5, '')};" + (
        "" if alone else f"CREATE QUERY b AS {QUERY.format('MAX(n)', 10, 5, '')};"
    ))  # fmt: skip
    bring(db, 1, 42)
    text = QUERY.format(aggregate, 20, 10, "")
    (late,) = db.execute(f"CREATE QUERY late AS {text}")
    assert late.complete_from is None
    (group,) = {id(run): run.job.synopses for run in db._runs}.values()
    assert len(group.plan.synopses) == 1, "nothing more is kept"
    bring(db, 43, 50)
    (whole,) = run(f"{text};", [rows_until(50)], 50)
    assert bag(late.answer()) == bag(whole.answer())


def test_counts_under_other_predicates_are_put_together(db):
    for name in "ab":
        where = f"WHERE w = '{name}'"
        db.execute(f"CREATE QUERY {name} AS {QUERY.format('SUM(n)', 20, 5, where)}")
    bring(db, 1, 42)
    text = QUERY.format("COUNT(*)", 10, 5, "WHERE w = 'a' OR w = 'b'")
    assert "counts from synopsis 3 + synopsis 4; it starts on synopses 3, 4; complete at once" in (
        db.explain(text)
    )


def test_what_is_planned_to_be_read_is_kept_when_another_goes(db):
    """An average has its count from its sum, but is planned as a reader of the counts that others
    keep: whoever comes when those have gone starts on these."""
    db.execute("".join(
        f"CREATE QUERY c{t} AS {QUERY.format('COUNT(n)', t, 5, '')};" for t in (10, 20)
    ))  # fmt: skip
    bring(db, 1, 22)
    db.execute(f"CREATE QUERY mean AS {QUERY.format('AVG(n)', 20, 5, '')}")
    db.execute("DROP QUERY c10; DROP QUERY c20")
    bring(db, 23, 42)
    text = QUERY.format("COUNT(n)", 10, 5, "")
    (late,) = db.execute(f"CREATE QUERY late AS {text}")
    assert late.complete_from is None
    bring(db, 43, 50)
    (whole,) = run(f"{text};", [rows_until(50)], 50)
    assert bag(late.answer()) == bag(whole.answer()) != []


@pytest.mark.parametrize(("gone", "left"), [("a", "MAX"), ("b", "SUM")])
def test_one_with_top_goes_and_others_come(db, gone, left):
    query = (
        "SELECT TOP 2 k, {}(n) AS a FROM s [RANGE {} SECONDS SLIDE 5 SECONDS] GROUP BY k ORDER BY a"
    )
    script = (
        f"CREATE QUERY a AS {query.format('SUM', 20)}; CREATE QUERY b AS {query.format('MAX', 20)};"
    )
    db.execute(script)
    bring(db, 1, 42)
    db.execute(f"DROP QUERY {gone}")
    (late,) = db.execute(f"CREATE QUERY late AS {query.format(left, 10)}")
    bring(db, 43, 50)
    (whole,) = run(f"{query.format(left, 10)};", [rows_until(50)], 50)
    assert late.complete_from is None
    assert bag(late.answer()) == bag(whole.answer())
    assert len(db._runs) == 1


def test_a_query_that_was_alone_stays_so_if_the_second_one_cannot_start(db, tmp_path):
    (alone,) = db.execute(f"CREATE QUERY a AS {QUERY.format('SUM(n)', 20, 5, '')}")
    bring(db, 1, 42)
    with pytest.raises(InputError):
        db.execute(
            f"CREATE QUERY b AS {QUERY.format('SUM(n)', 10, 5, '')};"
            "CREATE SUBSCRIPTIONS t ON s (n) FROM 'missing.csv';"
        )
    assert alone._run.job.synopses is None
    bring(db, 43, 50)
    (whole,) = run(f"{QUERY.format('SUM(n)', 20, 5, '')};", [rows_until(50)], 50)
    assert bag(alone.changes()) == bag(whole.changes())


def test_tuples_that_somebody_holds_are_better_than_a_synopsis_that_is_too_short(db):
    db.execute("CREATE QUERY held AS SELECT k, n FROM s [RANGE 40 SECONDS]")
    db.execute(f"CREATE QUERY a AS {QUERY.format('SUM(n)', 20, 5, '')}")
    bring(db, 1, 42)
    (short,) = db.execute(f"CREATE QUERY short AS {QUERY.format('SUM(n)', 10, 5, '')}")
    assert (short.complete_from, short._run.job.synopses is None) == (None, False)
    db.execute("DROP QUERY short; DROP QUERY a")
    db.execute(f"CREATE QUERY a AS {QUERY.format('SUM(n)', 10, 5, '')}")
    (longer,) = db.execute(f"CREATE QUERY longer AS {QUERY.format('SUM(n)', 30, 5, '')}")
    assert (longer.complete_from, longer._run.job.synopses) == (42, None)


def test_a_late_one_that_is_joined_says_from_when_both_are_complete(db):
    bring(db, 1, 3)
    (first,) = db.execute(f"CREATE QUERY a AS {QUERY.format('SUM(n)', 20, 5, '')}")
    assert first.complete_from == 25
    bring(db, 4, 12)
    (second,) = db.execute(f"CREATE QUERY b AS {QUERY.format('SUM(n)', 10, 5, '')}")
    assert second._run is first._run
    assert (first.complete_from, second.complete_from) == (25, None), "5 to 15 is all there"
    (third,) = db.execute(f"CREATE QUERY c AS {QUERY.format('SUM(n)', 15, 5, '')}")
    assert third.complete_from == 20
    bring(db, 13, 25)
    for handle, window in ((first, 20), (second, 10)):
        (whole,) = run(f"{QUERY.format('SUM(n)', window, 5, '')};", [rows_until(25)], 25)
        assert bag(handle.answer()) == bag(whole.answer())


def test_results_in_files_go_on_when_another_joins(db, tmp_path):
    into = f"INTO '{tmp_path}/a' FORMAT csv"
    db.execute(f"CREATE QUERY a AS {QUERY.format('SUM(n)', 20, 5, '')} {into}")
    bring(db, 1, 42)
    db.execute(f"CREATE QUERY b AS {QUERY.format('SUM(n)', 10, 5, '')} {into.replace('/a', '/b')}")
    bring(db, 43, 50)
    for name, window in (("a", 20), ("b", 10)):
        (whole,) = run(f"{QUERY.format('SUM(n)', window, 5, '')};", [rows_until(50)], 50)
        assert bag(windrow.results(tmp_path / name).answer()) == bag(whole.answer())
    (whole,) = run(f"{QUERY.format('SUM(n)', 20, 5, '')};", [rows_until(50)], 50)
    assert bag(windrow.results(tmp_path / "a").changes()) == bag(whole.changes())


def test_one_time_sql_is_not_answered_from_synopses_that_began_within_its_window(db):
    for window in (2, 4):
        db.execute(f"CREATE QUERY w{window} AS {QUERY.format('SUM(n)', window, 2, '')}")
    db.push("s", rows_until(5, 5))
    db.advance(to=6)
    db.execute(f"CREATE QUERY late AS {QUERY.format('MAX(n)', 12, 2, '')}")
    db.push("s", [rows_until(12, 12)[0] | {"k": 1, "n": 2}])
    asked = QUERY.format("MAX(n)", 8, 4, "")
    for instant, known in ((15, False), (16, True)):  # the window ends at 12 and at 16
        db.advance(to=instant)
        if known:
            assert db.query(asked).to_pylist() == [{"k": 1, "a": 2}]
        else:
            with pytest.raises(InputError, match="running query holds"):
                db.query(asked)
