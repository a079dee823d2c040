"""Shares of buckets: each is done by one task, if possible where its state is in memory."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from windrow.spark.source.batch_tasks import ShareClaims


def test_a_task_takes_a_share_that_its_worker_has_and_leaves_the_others(tmp_path):
    claims = ShareClaims(str(tmp_path), "a")
    assert claims.take(0, 3, lambda share: share == 2) == 2
    assert claims.take(1, 3, lambda share: share == 2) == 0
    assert claims.take(2, 3, lambda share: share == 1) == 1


def test_every_share_is_done_once_however_many_ask_at_the_same_time(tmp_path):
    for attempt in range(30):
        claims = ShareClaims(str(tmp_path), str(attempt))
        with ThreadPoolExecutor(8) as tasks:
            taken = list(
                tasks.map(lambda task, c=claims: c.take(task, 8, lambda s: s < 3), range(8))
            )
        assert sorted(taken) == list(range(8))


def test_a_task_that_is_repeated_gets_the_share_that_it_had(tmp_path):
    claims = ShareClaims(str(tmp_path), "a")
    taken = [claims.take(task, 3, lambda share: share == 1) for task in range(3)]
    assert [claims.take(task, 3, lambda _: True) for task in range(3)] == taken
    again = ShareClaims(str(tmp_path), "b")
    assert again.take(5, 3, lambda _: True) == 0, "another attempt begins anew"


def test_a_task_that_is_repeated_before_others_begin_leaves_them_theirs(tmp_path):
    claims = ShareClaims(str(tmp_path), "a")
    assert [claims.take(0, 3, lambda _: False) for _ in range(3)] == [0, 0, 0]
    assert [claims.take(task, 3, lambda share: share == 0) for task in (1, 2)] == [1, 2]
