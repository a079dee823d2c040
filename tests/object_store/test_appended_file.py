"""A file in pieces is what was appended to it, whoever stops or comes second."""

from __future__ import annotations

import random

import pytest

from windrow.object_store import appended_file
from windrow.object_store.appended_file import AppendedFile
from windrow.object_store.bucket import Bucket
from windrow.object_store.errors import StoreError

FOLDER = "a.log"


@pytest.fixture
def bucket(url):
    return Bucket(url)


def opened(bucket) -> AppendedFile:
    return AppendedFile(bucket, FOLDER, bucket.list_folder(FOLDER))


def test_it_is_what_was_appended_and_in_few_pieces(bucket, monkeypatch):
    monkeypatch.setattr(appended_file.MANY, "value", 4)
    rng, whole = random.Random(5), b""
    written = opened(bucket)
    for number in range(60):
        data = rng.randbytes(rng.randint(1, 20))
        whole += data
        assert written.append(data)
        assert written.merge(lambda start, stop, whole=whole: whole[start:stop])
        if number % 7 == 0:
            start = rng.randint(0, len(whole))
            assert opened(bucket).read(start) == whole[start:]
    assert opened(bucket).read() == whole
    assert len(bucket.list_folder(FOLDER)) <= 4 + 1 + 8


def test_of_two_that_go_on_from_the_same_end_one_is_told(bucket):
    one, other = opened(bucket), opened(bucket)
    assert one.append(b"abc")
    assert not other.append(b"xyz")
    assert opened(bucket).read() == b"abc"


def test_of_two_that_merge_one_is_told(bucket, monkeypatch):
    monkeypatch.setattr(appended_file.MANY, "value", 1)
    one = opened(bucket)
    assert one.append(b"ab")
    assert one.append(b"cd")
    other = opened(bucket)
    assert other.append(b"ef")
    assert other.merge(lambda start, stop: b"abcdef"[start:stop])
    assert not one.merge(lambda start, stop: b"abcd"[start:stop])
    assert opened(bucket).read() == b"abcdef"


def test_pieces_that_were_merged_and_not_deleted_are_passed_over(bucket):
    bucket.put(f"{FOLDER}/{0:016d}", b"abcdef")
    bucket.put(f"{FOLDER}/{2:016d}", b"cd")
    bucket.put(f"{FOLDER}/{4:016d}", b"of one that came late")
    bucket.put(f"{FOLDER}/{6:016d}", b"gh")
    assert opened(bucket).read() == b"abcdefgh"


def test_a_piece_that_is_missing_is_an_error(bucket):
    bucket.put(f"{FOLDER}/{0:016d}", b"ab")
    bucket.put(f"{FOLDER}/{4:016d}", b"ef")
    with pytest.raises(StoreError, match=r"begins with byte 2.*found the next begins with byte 4"):
        opened(bucket)
