"""A version of an archive, as a value and as JSON.

A manifest is immutable. It lists every run that the version consists of, with checksums; what the
runs mean is in ``body``, which belongs to the kind of index: ``wave.py`` for windows of days. So
whatever looks after files (publishing, leases, vacuum, checksums) needs to know no kind.

The text ends with the CRC-32 of all that comes before, so that no flipped bit of it goes unnoticed;
the first archives had none, and are taken at their word. A manifest may come from anywhere: what it
says is checked for sense, and the names in it for being names of runs and nothing else.
"""

from __future__ import annotations

import contextlib
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windrow.archive.errors import ArchiveError, DamagedError
from windrow.archive.format.layout import Layout
from windrow.archive.format.run_ref import Format, RunRef, check_format, widest

FORMAT_VERSION = 2
"""What is written where keys are lists; everything else is as in version 1, and says so."""
_FIRST = 1
_CHECKSUM = re.compile(rb',\n"checksum": ([0-9]+)\n}\n\Z')
_END = b"\n}\n"
_FIELDS = {"version", "token", "kind", "layout", "format", "encodings", "runs", "body"}


@dataclass(frozen=True)
class Manifest:
    """Version ``version`` of an archive. ``token`` is the mark of the writer that made it."""

    version: int
    token: str
    kind: str
    layout: Layout
    format: Format
    encodings: Mapping[str, str]
    runs: tuple[RunRef, ...]
    body: Mapping[str, Any]

    def to_json(self) -> bytes:
        value = {
            "windrow_archive": _FIRST if self.layout.list_key is None else FORMAT_VERSION,
            "version": self.version,
            "token": self.token,
            "kind": self.kind,
            "layout": self.layout.to_json(),
            "format": self.format,
            "encodings": dict(self.encodings),
            "runs": [run.to_json() for run in self.runs],
            "body": self.body,
        }
        lines = ",\n".join(f"{json.dumps(key)}: {_lines(part)}" for key, part in value.items())
        text = f"{{\n{lines}\n}}\n".encode()
        return text.removesuffix(_END) + b',\n"checksum": %d%b' % (zlib.crc32(text), _END)

    @classmethod
    def from_json(cls, text: bytes, where: str) -> Manifest:
        with unreadable_is_damaged(where):
            value = json.loads(text)
            found = value.pop("windrow_archive")
            if found not in range(_FIRST, FORMAT_VERSION + 1):
                raise ArchiveError(
                    where=where,
                    expected=f"an archive of format version {FORMAT_VERSION} or an earlier one",
                    found=f"format version {found}",
                    remedy="open it with a newer Windrow",
                )
            if _has_checksum(text):
                del value["checksum"]
            if value.keys() != _FIELDS:
                raise ValueError(
                    f"fields {sorted(value.keys() ^ _FIELDS)} that are missing or unknown"
                )
            return cls(
                int(value["version"]),
                str(value["token"]),
                str(value["kind"]),
                Layout.from_json(value["layout"]),
                check_format(value["format"]),
                {str(name): widest(width) for name, width in value["encodings"].items()},
                tuple(RunRef.from_json(run) for run in value["runs"]),
                value["body"],
            )


def _lines(part: Any) -> str:
    """A list of objects, such as runs, with a line for each; anything else is one line.

    ``indent`` would give each number a line, and take ten times as long: a version of an index
    of lifetimes counts the records of every run by period.
    """
    if isinstance(part, list) and part and all(isinstance(item, dict) for item in part):
        return "[\n" + ",\n".join(map(json.dumps, part)) + "\n]"
    return json.dumps(part)


def _has_checksum(text: bytes) -> bool:
    """Whether a manifest has a checksum; it must be that of the text without it."""
    end = _CHECKSUM.search(text)
    if end is not None and zlib.crc32(text[: end.start()] + _END) != int(end[1]):
        raise ValueError("a wrong checksum")
    return end is not None


@contextlib.contextmanager
def unreadable_is_damaged(where: str) -> Iterator[None]:
    """Whatever a parser of a manifest stumbles over, as an error that says what to do."""
    try:
        yield
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        OSError,
        RecursionError,
        TypeError,
        ValueError,
        pa.ArrowException,
    ) as error:
        raise DamagedError(
            where=where,
            expected="a valid manifest",
            found=f"{type(error).__name__}: {error}",
            remedy="restore the file from a copy of the archive",
        ) from error
