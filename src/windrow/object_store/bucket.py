"""Objects below ``s3://bucket/path``, by ``obstore``, which is imported when one is opened.

Settings are those of the environment (``AWS_*``), which ``obstore`` reads itself. Every object is
put as a whole or not at all. ``put_new`` is the one operation that decides between two writers;
some servers overwrite all the same, so it is tried out before a place is used for the first time.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

from windrow.core.paths import object_url
from windrow.object_store.errors import StoreError, translate_store_errors

PIECE = 8 << 20
"""Bytes of one request for a large object: one that takes too long is repeated, not the rest."""
_PROBE = "_windrow-probe"
_OTHER_TAG = {"e_tag": '"00000000000000000000000000000000"'}
_probed: set[tuple[str, str]] = set()
"""Places that have kept what was there, by endpoint; they are tried out once in a process."""


@dataclass(frozen=True)
class Stored:
    """What the store says of an object; ``tag`` changes when its bytes do."""

    size: int
    tag: str
    modified: datetime | None = None


class Bucket:
    """The objects below a place; keys are relative to it, with ``/``. Each method is one request,
    but for large objects, which go in pieces.
    """

    def __init__(self, url: str) -> None:
        self.url = object_url(url)
        self._client = _client()
        self._store = _open(self._client, self.url)

    def where(self, key: str = "") -> str:
        """The address of an object, for people."""
        return f"{self.url}/{key}" if key else self.url

    def require_put_if_absent(self) -> None:
        """StoreError if the store overwrites what it was told to leave as it is."""
        place = (os.environ.get("AWS_ENDPOINT_URL", ""), self.url)
        if place in _probed:
            return
        key, mine = f"{_PROBE}-{uuid.uuid4().hex}", b"first"
        with self._errors(key):
            try:
                self._put(key, mine, mode="create", use_multipart=False)
                over = self._put_over(key, "create") or self._put_over(key, _OTHER_TAG)
                kept = not over and self.get(key) == mine
            finally:
                self.delete(key)
        if not kept:
            raise StoreError(
                where=self.url,
                expected="a store that does not overwrite an object when asked not to "
                "(If-None-Match, If-Match)",
                found="one that does",
                remedy="use a store with conditional writes, as Amazon S3 has, or a directory",
            )
        _probed.add(place)

    def _put_over(self, key: str, mode: str | dict[str, str]) -> bool:
        errors = self._client.exceptions
        try:
            self._put(key, b"second", mode=mode, use_multipart=False)
        except (errors.AlreadyExistsError, errors.PreconditionError):
            return False
        except self._client.exceptions.NotSupportedError:
            return True
        return True

    def put(self, key: str, data: bytes | Path) -> Stored:
        """Put an object, over another if there is one."""
        with self._errors(key):
            size = data.stat().st_size if isinstance(data, Path) else len(data)
            return Stored(size, str(self._put(key, data)["e_tag"]))

    def put_new(self, key: str, data: bytes) -> str | None:
        """Put an object unless there is one; its tag if it is there now, else None.

        No other writer ever has the same ``data``: so if the answer to a request was lost and it
        was repeated, what is there is known to be one's own.
        """
        with self._errors(key):
            try:
                return str(self._put(key, data, mode="create", use_multipart=False)["e_tag"])
            except self._client.exceptions.AlreadyExistsError:
                return self._tag_if(key, data)

    def _put(self, key: str, data: bytes | Path, **options: Any) -> Any:
        return self._client.put(self._store, key, data, **options)

    def get(self, key: str) -> bytes:
        """A small object, whole; ``FileNotFoundError`` if there is none."""
        with self._errors(key):
            return bytes(self._client.get(self._store, key).bytes())

    def get_tagged(self, key: str) -> tuple[bytes, str]:
        """The same, with its tag."""
        with self._errors(key):
            found = self._client.get(self._store, key)
            return bytes(found.bytes()), str(found.meta["e_tag"])

    def replace(self, key: str, data: bytes, tag: str) -> str | None:
        """Put an object over one that still has that tag; the new one's if it is there now.

        As with ``put_new``, no other writer ever has the same ``data``.
        """
        refused = (
            self._client.exceptions.PreconditionError,
            self._client.exceptions.NotModifiedError,
            FileNotFoundError,
        )
        with self._errors(key):
            try:
                return str(self._put(key, data, mode={"e_tag": tag}, use_multipart=False)["e_tag"])
            except refused:
                return self._tag_if(key, data)

    def _tag_if(self, key: str, data: bytes) -> str | None:
        """The tag of an object if it has these bytes."""
        try:
            found, tag = self.get_tagged(key)
        except FileNotFoundError:
            return None
        return tag if found == data else None

    def copy(self, key: str, new: str) -> None:
        """Give an object's bytes a second name."""
        with self._errors(key):
            self._client.copy(self._store, key, new)

    def pieces(
        self, key: str, stored: Stored, first: int = 0, last: int | None = None
    ) -> Iterator[bytes]:
        """The bytes [first, last) of an object that is known, in order."""
        last = stored.size if last is None else last
        for start in range(first, last, PIECE):
            length = min(PIECE, last - start)
            with self._errors(key):
                piece = bytes(self._client.get_range(self._store, key, start=start, length=length))
            if len(piece) != length:
                raise StoreError(
                    where=self.where(key),
                    expected=f"{stored.size} bytes",
                    found=f"{start + len(piece)}",
                    remedy="the object was cut short or replaced: restore it from a copy",
                )
            yield piece

    def head(self, key: str) -> Stored:
        """What there is to know about an object; ``FileNotFoundError`` if there is none."""
        with self._errors(key):
            return _stored(self._client.head(self._store, key))

    def list_folder(self, folder: str) -> dict[str, Stored]:
        """The objects of a folder by their names in it, without those of folders below."""
        with self._errors(folder):
            found = self._client.list_with_delimiter(self._store, folder or None)["objects"]
        return {str(one["path"]).rpartition("/")[2]: _stored(one) for one in found}

    def list_folders(self, folder: str) -> list[str]:
        """The names of the folders right below one."""
        with self._errors(folder):
            found = self._client.list_with_delimiter(self._store, folder or None)["common_prefixes"]
        return [str(one).rstrip("/").rpartition("/")[2] for one in found]

    def list_below(self, folder: str) -> dict[str, Stored]:
        """The objects below a folder, however deep, by their names from there."""
        prefix = f"{folder}/" if folder else ""
        found: dict[str, Stored] = {}
        with self._errors(folder):
            for part in self._client.list(self._store, prefix or None, chunk_size=1000):
                for one in part:
                    found[str(one["path"]).removeprefix(prefix)] = _stored(one)
        return found

    def delete(self, key: str) -> None:
        """Remove an object; one that is gone already is no error."""
        with self._errors(key):
            try:
                self._client.delete(self._store, key)
            except FileNotFoundError as error:
                if "NoSuchBucket" in str(error):
                    raise

    def _errors(self, key: str) -> Any:
        return translate_store_errors(self.where(key))


def _stored(found: Any) -> Stored:
    return Stored(int(found["size"]), str(found["e_tag"]), found["last_modified"])


def _client() -> Any:
    try:
        import_module("obstore.store")
        return import_module("obstore")
    except ImportError as error:
        raise StoreError(
            where="s3://",
            expected="the package obstore, which speaks to object stores",
            found="none",
            remedy="install it: pip install 'windrow[s3]'",
        ) from error


def _open(client: Any, url: str) -> Any:
    """The store's client. Requests end after a minute; what can be repeated is, for a while."""
    bucket, _, prefix = url.removeprefix("s3://").partition("/")
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    options: dict[str, Any] = {
        "connect_timeout": timedelta(seconds=5),
        "timeout": timedelta(seconds=60),
    }
    if endpoint.startswith("http://"):  # who writes that means it
        options["allow_http"] = True
    with translate_store_errors(url):
        return client.store.S3Store(
            bucket,
            prefix=prefix or None,
            config={"disable_bulk_delete": True},
            client_options=options,
            retry_config={"max_retries": 5, "retry_timeout": timedelta(seconds=60)},
        )
