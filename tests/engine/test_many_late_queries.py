"""Many queries that join a running job one by one: operators are made once for all of them."""

from __future__ import annotations

import pytest

import windrow
from tests.plan.sharing.test_shared_synopses import bag
from windrow.core.errors import WindrowError
from windrow.engine import build_shared
from windrow.engine.handles import Handle

STREAM = "CREATE STREAM s (ts BIGINT, k INT, v BIGINT);"
FIRST = "SELECT k, SUM(v) AS t FROM s [RANGE 40 SLIDE 5] GROUP BY k"
ROWS = [{"ts": i // 3, "k": i % 4, "v": i * i % 17} for i in range(300)]
CAME = 50


def late(number: int) -> str:
    what, window = ("SUM(v)", "COUNT(*)", "AVG(v)")[number % 3], 5 * (1 + number % 8)
    return f"SELECT k, {what} AS t FROM s [RANGE {window} SLIDE {5 + number % 2 * 5}] GROUP BY k"


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many members each operator over shared synopses was built for."""
    found: list[int] = []
    made = build_shared.shared_aggregation

    def count(node, schema):
        found.append(len(node.members))
        return made(node, schema)

    monkeypatch.setattr("windrow.engine.build.shared_aggregation", count)
    return found


def running() -> windrow.Connection:
    db = windrow.connect()
    db.execute(f"{STREAM} CREATE QUERY q AS {FIRST};")
    db.push("s", [row for row in ROWS if row["ts"] <= CAME])
    db.advance(to=CAME)
    return db


def check(db: windrow.Connection, handles: list[Handle], texts: list[str]) -> None:
    """After the rest of the rows each has the answer of one that ran alone from the beginning."""
    for to in (61, 75, 99):
        db.push("s", [row for row in ROWS if db.queries["r"].now < row["ts"] <= to])
        db.advance(to=to)
        for handle, text in zip(handles, texts, strict=True):
            alone = windrow.connect()
            (whole,) = alone.execute(f"{STREAM} {text};")
            alone.push("s", [row for row in ROWS if row["ts"] <= to])
            alone.advance(to=to)
            assert bag(handle.answer()) == bag(whole.answer()) != [], (text, to)


def test_operators_are_built_once_for_all_that_join_between_two_rows(built):
    db = running()
    texts = [late(number) for number in range(40)]
    handles = [db.execute(f"CREATE QUERY q{n} AS {text}")[0] for n, text in enumerate(texts)]
    assert built == [], "nobody has looked"
    assert {handle.complete_from for handle in handles} == {None}
    db.execute(f"CREATE QUERY r AS {FIRST}")
    check(db, [*handles, db.queries["q"]], [*texts, FIRST])
    assert built == [42]


def test_a_script_that_fails_or_drops_the_first_while_others_have_just_joined(built, tmp_path):
    (tmp_path / "taken").write_text("a file where results should go")
    db = running()
    kept = [db.execute(f"CREATE QUERY q{n} AS {late(n)}")[0] for n in range(3)]
    with pytest.raises(WindrowError):
        db.execute(f"CREATE QUERY w AS {late(4)} INTO '{tmp_path / 'taken'}' FORMAT csv")
    assert "w" not in db.queries
    db.execute("DROP QUERY q")
    (more,) = db.execute(f"CREATE QUERY r AS {late(5)}")
    check(db, [*kept, more], [late(n) for n in (0, 1, 2, 5)])
    assert built[-1] == 5, "the first has left its seat empty"
