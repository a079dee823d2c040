"""Changes of a connection can be drained, walked through and listened to; memory stays bounded."""

from __future__ import annotations

import gc

import pyarrow as pa
import pytest

import windrow
from windrow.engine.change_log import ChangeLog

QUERY = "CREATE QUERY q AS SELECT k FROM s [RANGE 2] WHERE k >= 0"
SHARED = "; ".join(
    f"CREATE QUERY q{n} AS SELECT k FROM s [RANGE 2] WHERE k >= {n}" for n in (1, 2, 3)
)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


def opened(script: str):
    db = windrow.connect()
    return db, db.execute(f"CREATE STREAM s (ts BIGINT, k INT); {script};")[-1]


def push(db, ts: int) -> None:
    db.push("s", {"ts": [ts], "k": [ts]})
    db.advance(to=ts)


def rows(table: pa.Table) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


@pytest.mark.parametrize(
    "script", [QUERY, SHARED, QUERY + " INTO 'out'", QUERY + " INTO 'o' FORMAT csv"]
)
def test_drained_changes_come_once_and_the_answer_is_as_before(script) -> None:
    db, q = opened(script)
    whole = opened(script.replace("INTO 'out'", "").replace("INTO 'o' FORMAT csv", ""))
    taken = []
    for ts in range(3, 12):
        push(db, ts)
        push(whole[0], ts)
        if ts % 3 == 0:
            taken += rows(q.changes(drain=True))
            assert q.changes().num_rows == q.changes(drain=True).num_rows == 0
        assert q.answer() == whole[1].answer()
    taken += rows(q.changes())
    assert taken == rows(whole[1].changes())
    db.close()


@pytest.mark.parametrize("script", [QUERY, QUERY + " INTO 'out'"])
def test_walking_through_changes_drains_them_one_by_one(script) -> None:
    db, q = opened(script)
    for ts in (3, 4, 5):
        push(db, ts)
    first = next(iter(q.stream()))
    assert q.changes().num_rows == 4, "what was not walked past is there"
    found = [rows(pa.Table.from_batches([batch])) for batch in q.stream()]
    assert found[0][0] == rows(pa.Table.from_batches([first]))[0] == (3, "+", 3)
    assert sum(map(len, found)) == 4
    assert list(q.stream()) == []
    db.close()


@pytest.mark.parametrize("script", [QUERY, SHARED, QUERY + " INTO 'out'"])
def test_listeners_hear_all_that_was_not_drained_and_all_that_comes(script) -> None:
    db, q = opened(script)
    push(db, 3)
    q.changes(drain=True)
    push(db, 4)
    one, two = [], []
    q.on_change(one.append)
    push(db, 5)
    q.on_change(two.append)
    push(db, 6)
    assert rows(pa.Table.from_batches(one)) == [
        (4, "+", 4), (5, "-", 3), (5, "+", 5), (6, "-", 4), (6, "+", 6),
    ]  # fmt: skip
    assert rows(pa.Table.from_batches(two)) == [(6, "-", 4), (6, "+", 6)]
    assert q.changes().num_rows == 0, "what was heard is drained"
    db.close()


def test_a_listener_that_fails_hears_it_again() -> None:
    db, q = opened(QUERY)
    heard = []

    def fail_once(batch) -> None:
        heard.append(batch)
        if len(heard) == 1:
            raise ValueError("busy")

    q.on_change(fail_once)
    with pytest.raises(ValueError, match="busy"):
        db.push("s", {"ts": [3, 4], "k": [3, 4]})
    db.advance(to=4)
    assert heard[0] == heard[1]
    assert rows(pa.Table.from_batches(heard[1:])) == [(3, "+", 3), (4, "+", 4)]


@pytest.mark.parametrize("script", [QUERY, SHARED, QUERY + " INTO 'out'"])
def test_a_function_gets_each_batch_with_its_number_and_one_that_failed_again(script) -> None:
    db, q = opened(script)
    push(db, 3)
    calls = []

    def fail_on_the_second(changes, batch) -> None:
        calls.append((batch, rows(changes)))
        if len(calls) == 2:
            raise ValueError("busy")

    q.foreach_batch(fail_on_the_second)
    with pytest.raises(ValueError, match="busy"):
        push(db, 4)
    push(db, 5)
    assert calls == [
        (0, [(3, "+", 3)]),
        (1, [(4, "+", 4)]),
        (1, [(4, "+", 4)]),
        (2, [(5, "-", 3), (5, "+", 5)]),
    ]
    assert q.changes().num_rows == 0, "what was taken is drained"
    db.close()


@pytest.mark.parametrize("way", ["drain", "stream", "hear", "files"])
def test_a_connection_holds_no_more_after_a_thousand_pushes_than_after_ten(way) -> None:
    db, q = opened(QUERY + (" INTO 'out' FORMAT csv" if way == "files" else ""))
    if way == "hear":
        q.on_change(lambda _: None)
    sizes = []
    for ts in range(3, 300 if way == "files" else 1000):
        push(db, ts)
        if way == "drain":
            q.changes(drain=True)
        elif way == "stream":
            list(q.stream())
        if ts in (10, 299, 999):
            sizes.append(len(q._run.delivery.log))
    assert max(sizes) <= 2
    db.close()


def test_changes_of_a_group_go_when_no_member_needs_them() -> None:
    db, last = opened(SHARED)
    others = [db.queries["q1"], db.queries["q2"]]
    for ts in range(3, 30):
        push(db, ts)
        last.changes(drain=True)
    assert len(last._run.delivery.log) > 20
    for query in others:
        query.changes(drain=True)
    push(db, 30)
    assert len(last._run.delivery.log) <= 2


def test_a_log_without_readers_holds_nothing() -> None:
    log: ChangeLog[int] = ChangeLog()
    cursor = log.cursor()
    for entry in range(5):
        log.append(entry)
    assert list(cursor) == list(range(5))
    log.append(5)
    assert len(log) == 1
    cursor.close()
    log.trim()
    gc.collect()
    assert len(log) == 0
