"""Local copies of objects: whole, up to date, and bounded."""

from __future__ import annotations

import os
import threading

import pytest

from windrow.core.errors import InputError
from windrow.object_store.bucket import Stored
from windrow.object_store.local_copies import BOUND, FileCache, default_cache

URL = "s3://b/x"


def test_a_copy_is_found_by_address_size_and_tag(tmp_path):
    cache, stored = FileCache(tmp_path / "new"), Stored(4, "t")
    assert cache.find(URL, stored) is None
    path = cache.download(URL, stored, [b"ab", b"cd"])
    assert path.read_bytes() == b"abcd"
    assert cache.find(URL, stored) == path
    for url, other in ((URL + "y", stored), (URL, Stored(5, "t")), (URL, Stored(4, "u"))):
        assert cache.find(url, other) is None
    cache.discard(URL, stored)
    assert cache.find(URL, stored) is None


def test_a_download_that_fails_leaves_nothing(tmp_path):
    cache, stored = FileCache(tmp_path), Stored(4, "t")

    def pieces():
        yield b"ab"
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        cache.download(URL, stored, pieces())
    assert list(tmp_path.iterdir()) == []
    cache.path(URL, stored).write_bytes(b"ab")  # a copy that was cut short is none
    assert cache.find(URL, stored) is None


def test_copies_that_were_not_used_for_longest_go_first(tmp_path):
    cache = FileCache(tmp_path, bound=30)
    known = [Stored(10, str(number)) for number in range(4)]
    for age, stored in enumerate(known[:3]):
        os.utime(cache.download(URL, stored, [b"0123456789"]), (1000 + age, 1000 + age))
    cache.find(URL, known[0])
    cache.download(URL, known[3], [b"0123456789"])
    there = [stored for stored in known if cache.find(URL, stored)]
    assert there == [known[0], known[2], known[3]]


def test_one_larger_than_the_bound_is_kept_while_it_is_the_newest(tmp_path):
    cache = FileCache(tmp_path, bound=5)
    path = cache.download(URL, Stored(10, "a"), [b"0123456789"])
    assert path.read_bytes() == b"0123456789"
    cache.download(URL, Stored(3, "b"), [b"012"])
    assert not path.exists()


def test_parts_of_the_dead_go_in_time_and_those_of_the_living_stay(tmp_path):
    cache = FileCache(tmp_path)
    dead, living = cache.new_part(), cache.new_part()
    dead.write_bytes(b"x")
    living.write_bytes(b"x")
    os.utime(dead, (1000, 1000))
    cache.download(URL, Stored(1, "a"), [b"x"])
    assert not dead.exists()
    assert living.exists()


def test_many_threads_share_a_cache_that_is_too_small(tmp_path):
    cache, wrong = FileCache(tmp_path, bound=50), []

    def work(me: int) -> None:
        for turn in range(50):
            stored = Stored(10, str((me + turn) % 12))
            path = cache.find(URL, stored) or cache.download(
                URL, stored, [stored.tag.encode() * 10]
            )
            try:
                if len(set(path.read_bytes())) > 2:
                    wrong.append(path)
            except FileNotFoundError:
                pass  # another made room: whoever maps it tries again

    threads = [threading.Thread(target=work, args=(me,)) for me in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_environment_names_it(monkeypatch, tmp_path):
    monkeypatch.delenv("WINDROW_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache().directory == tmp_path / "windrow" / "objects"
    assert default_cache().bound == BOUND
    monkeypatch.setenv("WINDROW_CACHE_DIR", str(tmp_path / "here"))
    monkeypatch.setenv("WINDROW_CACHE_BYTES", "1000")
    assert (default_cache().directory, default_cache().bound) == (tmp_path / "here", 1000)
    monkeypatch.setenv("WINDROW_CACHE_BYTES", "10G")
    with pytest.raises(InputError, match="expected a number of bytes; found '10G'"):
        default_cache()
