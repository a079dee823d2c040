"""What a thread reads ahead comes in order, errors in their place, and ends when it is closed."""

from __future__ import annotations

import threading

import pytest

from windrow.tables.read_ahead import AHEAD, ReadAhead, Readers


@pytest.mark.parametrize("count", [0, 1, AHEAD, 20])
def test_items_come_in_their_order(count):
    found = ReadAhead((n + 1 for n in range(count)), Readers())
    assert list(found) == [n + 1 for n in range(count)]
    assert next(found, None) is None


def test_it_reads_before_it_is_asked_and_no_more_than_may_wait():
    read, enough = [], threading.Event()

    def source():
        for n in range(1, 20):
            read.append(n)
            if n == AHEAD:
                enough.set()
            yield n

    found = ReadAhead(source(), Readers())
    assert enough.wait(60)
    assert next(found) == 1
    found.close()
    assert len(read) <= AHEAD + 1


def test_an_error_comes_after_what_was_read_before_it():
    def source():
        yield from (1, 2)
        raise OSError("gone")

    found, seen = ReadAhead(source(), Readers()), []
    with pytest.raises(OSError, match="gone"):
        seen.extend(found)
    assert seen == [1, 2]
    assert next(found, None) is None


def test_to_close_it_ends_the_source_and_those_that_kept_threads_end_these():
    ended = threading.Event()

    def source():
        try:
            while True:
                yield threading.current_thread()
        finally:
            ended.set()

    readers = Readers()
    found = ReadAhead(source(), readers)
    thread = next(found)
    found.close()
    assert ended.is_set()
    assert next(found, None) is None
    found.close()
    readers.close()
    assert not thread.is_alive()


@pytest.mark.parametrize("most", [1, 2, 3])
def test_threads_read_one_file_after_another_and_are_no_more_than_may_be(most):
    def source():
        for _ in range(2 * AHEAD):
            yield threading.current_thread()

    readers = Readers(most)
    threads = set()
    for _ in range(2):
        files = [ReadAhead(source(), readers) for _ in range(3)]
        found = [thread for several in zip(*files, strict=True) for thread in several]
        assert len(found) == 3 * 2 * AHEAD
        threads.update(found)
        assert [next(file, None) for file in files] == [None] * 3
    assert len(threads) == most
    readers.close()
    assert not any(thread.is_alive() for thread in threads)
