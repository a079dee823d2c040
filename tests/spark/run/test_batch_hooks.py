"""Functions that are called with every published micro-batch, at least once and in order."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest

import windrow
from windrow.core.errors import StateError
from windrow.result_files.commits import commits

pytestmark = pytest.mark.spark

SCRIPT = """
    CREATE STREAM s (ts BIGINT, k INT);
    CREATE QUERY counts AS SELECT k, COUNT(*) AS n FROM s [RANGE 3] GROUP BY k{into};
    CREATE QUERY one AS SELECT k FROM s [RANGE 3] WHERE k > 0;
    CREATE QUERY two AS SELECT k FROM s [RANGE 3] WHERE k > 1;
"""
QUERIES = ("counts", "one", "two")
Calls = dict[str, list[tuple[int, pa.Table]]]


def push(db, ts: int) -> None:
    db.push("s", {"ts": [2 * ts, 2 * ts + 1], "k": [ts % 3, ts % 3 + 1]})


def bag(tables: list[pa.Table]) -> Counter[str]:
    return Counter(str(row) for table in tables for row in table.to_pylist())


def take_all(db, calls: Calls) -> None:
    for name in QUERIES:
        to = calls.setdefault(name, [])
        db.queries[name].foreach_batch(lambda changes, batch, to=to: to.append((batch, changes)))


@pytest.mark.parametrize("into", [False, True], ids=["kept", "files"])
def test_every_batch_comes_once_in_order_whoever_publishes_it_and_as_embedded(
    spark, tmp_path, into
):
    script = SCRIPT.format(into=f" INTO '{tmp_path / 'out'}'" if into else "")
    expected: Calls = {}
    with windrow.connect() as db:
        db.execute(SCRIPT.format(into=""))
        take_all(db, expected)
        for ts in range(4):
            push(db, ts)
    found: Calls = {}
    with windrow.connect(spark, checkpoint=tmp_path / "state") as db:
        db.execute(script)
        push(db, 0)
        db.queries["counts"].answer()  # published while nobody takes it
        take_all(db, found)
        push(db, 1)
        db.queries["counts"].answer()
    with windrow.connect(spark, checkpoint=tmp_path / "state") as db:
        db.execute(script)
        push(db, 2)
        db.queries["counts"].answer()  # as above
        take_all(db, found)
        push(db, 3)
        db.queries["counts"].answer()
    for name in QUERIES:
        numbers = [batch for batch, _ in found[name]]
        assert numbers == sorted(set(numbers)), name
        assert len(numbers) >= 2, name
        tables = [table for _, table in found[name]]
        assert bag(tables) == bag([table for _, table in expected[name]]), name
    if into:
        known = {c.batch for c in commits(tmp_path / "out") if c.rows_out}
        assert {batch for batch, _ in found["counts"]} <= known


def test_a_function_that_fails_gets_the_same_batch_again_and_nothing_is_lost(spark, tmp_path):
    script, calls = SCRIPT.format(into=f" INTO '{tmp_path / 'out'}'"), []

    def fail_on_the_second(changes: pa.Table, batch: int) -> None:
        calls.append((batch, changes))
        if len(calls) == 2:
            raise ValueError("the sink is down")

    def fill() -> None:
        with windrow.connect(spark, checkpoint=tmp_path / "state") as db:
            db.execute(script)
            db.queries["counts"].foreach_batch(fail_on_the_second)
            push(db, 0)
            db.queries["counts"].answer()
            push(db, 1)

    with pytest.raises(StateError, match=r"query counts, batch 1: .*the sink is down"):
        fill()
    with windrow.connect(spark, checkpoint=tmp_path / "state") as db:
        db.execute(script)
        db.queries["counts"].foreach_batch(fail_on_the_second)
        push(db, 2)
        whole = db.queries["counts"].changes()
    numbers = [batch for batch, _ in calls]
    assert numbers[1] == numbers[2]
    assert calls[1][1].equals(calls[2][1])
    assert [*numbers[:1], *numbers[2:]] == sorted(set(numbers))
    assert whole.num_rows == 0, "what was taken is drained"
