"""The client of object stores: what it refuses, and what it says."""

from __future__ import annotations

import subprocess
import sys
import uuid

import pytest

from tests.support.bucket_server import NAME, bucket_server
from windrow.core.errors import InputError
from windrow.core.paths import object_url
from windrow.object_store import bucket as module
from windrow.object_store.bucket import PIECE, Bucket
from windrow.object_store.errors import StoreError


@pytest.fixture(autouse=True)
def forget_probes(monkeypatch):
    monkeypatch.setattr(module, "_probed", set())


def test_objects_are_put_listed_read_and_deleted(url):
    bucket = Bucket(url)
    for name in ("a/1", "a/2", "a/b/3", ".hidden", "a/ä b%20+"):
        bucket.put(name, name.encode())
    assert sorted(bucket.list_folder("a")) == ["1", "2", "ä b%20+"]
    assert list(bucket.list_folder("")) == [".hidden"]
    assert bucket.get("a/ä b%20+") == "a/ä b%20+".encode()
    assert bucket.head("a/1").size == 3
    for _ in range(2):
        bucket.delete("a/1")
    with pytest.raises(FileNotFoundError, match=f"{url}/a/1"):
        bucket.get("a/1")
    assert bucket.list_folder("nothing") == {}


def test_an_object_is_put_once_and_known_again_by_whoever_put_it(url):
    bucket = Bucket(url)
    assert bucket.put_new("x", b"mine")
    assert not bucket.put_new("x", b"yours")
    assert bucket.put_new("x", b"mine")  # the answer to the first request was lost, say
    assert bucket.get("x") == b"mine"


def test_a_large_object_comes_in_pieces_and_one_that_was_cut_short_is_told(url, tmp_path):
    data = bytes(range(256)) * (2 * PIECE // 256) + b"rest"
    file = tmp_path / "large"
    file.write_bytes(data)
    bucket = Bucket(url)
    stored = bucket.put("large", file)
    assert bucket.list_folder("")["large"].tag == stored.tag
    assert [len(piece) for piece in bucket.pieces("large", stored)] == [PIECE, PIECE, 4]
    assert b"".join(bucket.pieces("large", stored)) == data
    bucket.put("large", data[: PIECE + 5])
    with pytest.raises(StoreError, match="cut short or replaced"):
        list(bucket.pieces("large", stored))


def test_a_store_that_keeps_what_is_there_is_tried_out_once(url, server):
    Bucket(url).require_put_if_absent()
    puts = sum(method == "PUT" for method, _ in server.requests)
    assert puts == 3  # one over it without a tag, one with a wrong tag
    Bucket(url).require_put_if_absent()
    assert sum(method == "PUT" for method, _ in server.requests) == puts
    assert Bucket(url).list_folder("") == {}


def test_a_store_that_overwrites_is_refused(url, server):
    server.overwrites = True
    with pytest.raises(StoreError, match="does not overwrite an object") as refused:
        Bucket(url).require_put_if_absent()
    assert refused.value.where == url
    assert "or a directory" in refused.value.remedy
    assert Bucket(url).list_folder("") == {}


def test_a_store_that_knows_no_conditions_is_refused(url, server):
    server.refuse = lambda method, path: (
        ("501 Not Implemented", "NotImplemented") if method == "PUT" else None
    )
    with pytest.raises(StoreError, match="NotImplemented"):
        Bucket(url).require_put_if_absent()


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        ("403 Forbidden", "AccessDenied", "permission to list, read, write and delete"),
        ("403 Forbidden", "InvalidAccessKeyId", "set AWS_ACCESS_KEY_ID and AWS_SECRET"),
        ("403 Forbidden", "SignatureDoesNotMatch", "credentials that the store accepts"),
        ("400 Bad Request", "ExpiredToken", "set AWS_ACCESS_KEY_ID and AWS_SECRET"),
    ],
)
def test_a_refusal_says_what_to_do(status, code, said, url, server):
    server.refuse = lambda method, path: (status, code)
    for ask in (
        lambda b: b.get("x"),
        lambda b: b.put("x", b""),
        lambda b: b.put_new("x", b"x"),
        lambda b: b.list_folder(""),
        lambda b: b.delete("x"),
    ):
        with pytest.raises(StoreError, match=said) as refused:
            ask(Bucket(url))
        assert not refused.value.uncertain
        assert code in refused.value.found
        assert refused.value.where.startswith(url)


def test_a_bucket_that_is_not_there_is_told(server):
    bucket = Bucket(f"s3://no-such-bucket-{uuid.uuid4().hex}/x")
    for ask in (
        lambda: bucket.get("x"),
        lambda: bucket.put("x", b""),
        lambda: bucket.put_new("x", b"x"),
        lambda: bucket.list_folder("x"),
        lambda: bucket.delete("x"),
        bucket.require_put_if_absent,
    ):
        with pytest.raises(StoreError, match="found none of that name; create it, or correct"):
            ask()


def test_a_network_that_is_gone_is_told_and_what_was_asked_is_uncertain(server, monkeypatch):
    with bucket_server() as other:
        monkeypatch.setenv("AWS_ENDPOINT_URL", other.url)
        bucket = Bucket(f"s3://{NAME}/x")
        bucket.put("x", b"x")
    with pytest.raises(StoreError, match="check the network, AWS_ENDPOINT_URL") as gone:
        bucket.put_new("y", b"y")
    assert gone.value.uncertain
    assert "Debug source" not in str(gone.value)


def test_without_credentials_it_says_which_variables_to_set(server, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    with bucket_server() as metadata:  # where machines in a cloud are asked for some
        metadata.refuse = lambda method, path: ("404 Not Found", "None")
        monkeypatch.setenv("AWS_METADATA_ENDPOINT", metadata.url)
        with pytest.raises(StoreError, match="set AWS_ACCESS_KEY_ID"):
            Bucket(f"s3://{NAME}/x").get("x")


@pytest.mark.parametrize("text", ["s3://", "s3:///x/..", "s3://b/../c", "data/x"])
def test_an_address_without_a_bucket_is_refused(text):
    with pytest.raises(InputError, match="expected s3://bucket/path"):
        object_url(text)


WITHOUT = """
import sys
sys.modules["obstore"] = None
from windrow.object_store.bucket import Bucket
try:
    Bucket("s3://b/x")
except Exception as error:
    print(error)
"""


def test_without_the_package_it_says_how_to_install_it():
    said = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True
    ).stdout
    assert "pip install 'windrow[s3]'" in said


def test_the_package_is_imported_only_for_such_places(tmp_path):
    code = (
        "import sys, pyarrow as pa, windrow.archive as a; "
        f"a.Archive.create({str(tmp_path / 'a')!r}, pa.schema({{'k': pa.int64()}}), 'k', "
        "window=3, scheme='DEL', n=1).verify(); "
        "assert 'obstore' not in sys.modules; "
        "assert not [m for m in sys.modules if 'bucket' in m]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
