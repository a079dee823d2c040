"""The worker's cache gives back only what was committed."""

from __future__ import annotations

from windrow.spark.stage.worker_cache import WorkerCache

KEY = ("run", 0, 7)


def test_an_entry_is_given_back_under_its_own_token_only():
    cache = WorkerCache[str]()
    cache.put(KEY, "first", "state")
    assert cache.take(KEY, "second") is None
    assert cache.take(KEY, "first") is None, "a stale entry is forgotten, not kept"
    cache.put(KEY, "third", "state")
    assert cache.take(KEY, "third") == "state"


def test_an_entry_that_was_taken_is_gone_until_it_is_put_back():
    cache = WorkerCache[str]()
    cache.put(KEY, "t", "state")
    assert cache.take(KEY, "t") == "state"
    assert cache.take(KEY, "t") is None


def test_runs_stages_and_buckets_do_not_meet():
    cache = WorkerCache[str]()
    cache.put(KEY, "t", "state")
    others = [("other", 0, 7), ("run", 1, 7), ("run", 0, 8)]
    assert [cache.take(key, "t") for key in others] == [None] * 3


def test_entries_that_nobody_asks_for_go_and_the_others_stay():
    now = 0.0
    cache = WorkerCache[int](seconds=10, clock=lambda: now)
    for bucket in range(100):
        cache.put(("ended", 0, bucket), "t", bucket)
    cache.put(KEY, "0", 7)
    for now in (6.0, 12.0):
        assert cache.take(KEY, f"{int(now) // 6 - 1}") == 7
        cache.put(KEY, f"{int(now) // 6}", 7)
    assert len(cache) == 1
    assert cache.take(KEY, "2") == 7
