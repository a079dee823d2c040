"""Paths are those of this machine's file system; names that become part of one stay in place.

A path with a scheme (``s3://bucket/x``) means another system. Taken for a path it would be a
directory called ``s3:``, so it is refused wherever a path can be given, but for places that may be
in an object store: archives, results and checkpoints.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from windrow.core.errors import InputError

SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
"""One slash is enough: ``pathlib`` makes one of two. A single letter is a drive."""
_OBJECTS = re.compile(r"[sS]3:/{1,2}")
SUPPORTED = "a path of this machine's file system, local or mounted"
REMEDY = (
    "mount or copy the data and use that path; other streams can be pushed from Python, or "
    "passed as a streaming DataFrame of Spark"
)
LONGEST = 200
"""Bytes of a name; file systems allow 255 of a part of a path, and some are for endings."""


def has_scheme(path: str | os.PathLike[str]) -> bool:
    """Whether the path means another system.

    >>> has_scheme("s3://bucket/day"), has_scheme("data/day"), has_scheme("C:/data")
    (True, False, False)
    """
    return SCHEME.match(os.fspath(path)) is not None


def is_object_url(path: str | os.PathLike[str]) -> bool:
    """Whether the path is a place in an object store.

    >>> is_object_url("s3://bucket/day"), is_object_url("data/day"), is_object_url("gs://bucket")
    (True, False, False)
    """
    return _OBJECTS.match(str(path)) is not None


def object_url(path: str | os.PathLike[str]) -> str:
    """The address of a place in an object store, as it is written; InputError if there is no
    bucket in it.

    >>> object_url(Path("s3://bucket/a/b/")), object_url("s3://bucket//a")
    ('s3://bucket/a/b', 's3://bucket/a')
    """
    text = str(path)
    parts = [part for part in _OBJECTS.sub("", text).split("/") if part]
    if not parts or not is_object_url(path) or {".", ".."} & set(parts):
        raise InputError(
            where="a place in an object store",
            expected="s3://bucket/path",
            found=f"'{text}'",
            remedy="name the bucket, and a path in it without . and ..",
        )
    return "s3://" + "/".join(parts)


def local_path(path: str | os.PathLike[str], where: str) -> Path:
    """The path; InputError if it means another system. ``where`` says who gave it."""
    if has_scheme(path):
        raise InputError(
            where=where, expected=SUPPORTED, found=f"'{os.fspath(path)}'", remedy=REMEDY
        )
    return Path(path)


def flaw_of_name(name: str) -> str:
    """What keeps a declared name from being one part of a path; empty if nothing does.

    >>> flaw_of_name("../x"), flaw_of_name("Zähler 2")
    ('/', '')
    """
    for character in name:
        if character in "/\\" or ord(character) < 32 or ord(character) == 127:
            return character if character.isprintable() else f"the character {ord(character)}"
    if not name.strip():
        return "nothing but blanks"
    if name.startswith("."):
        return "a dot at its beginning"
    if len(name.encode("utf-8", "surrogatepass")) > LONGEST:
        return f"more than {LONGEST} bytes"
    return ""
