"""A version of an archive, as a value and as JSON.

A manifest is immutable. It lists every run that the version consists of, with checksums; what the
runs mean is in ``body``, which belongs to the kind of index: ``wave.py`` for windows of days. So
whatever looks after files (publishing, leases, vacuum, checksums) needs to know no kind.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from windrow.archive.errors import ArchiveError, DamagedError
from windrow.archive.layout import Layout
from windrow.archive.runs.ref import Format, RunRef

FORMAT_VERSION = 1


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
            "windrow_archive": FORMAT_VERSION,
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
        return f"{{\n{lines}\n}}\n".encode()

    @classmethod
    def from_json(cls, text: bytes, where: str) -> Manifest:
        try:
            value = json.loads(text)
            found = value["windrow_archive"]
            if found != FORMAT_VERSION:
                raise ArchiveError(
                    where=where,
                    expected=f"an archive of format version {FORMAT_VERSION}",
                    found=f"format version {found}",
                    remedy="open it with a newer Windrow",
                )
            return cls(
                int(value["version"]),
                str(value["token"]),
                str(value["kind"]),
                Layout.from_json(value["layout"]),
                value["format"],
                value["encodings"],
                tuple(RunRef.from_json(run) for run in value["runs"]),
                value["body"],
            )
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedError(
                where=where,
                expected="a manifest as Windrow writes it",
                found=f"{type(error).__name__}: {error}",
                remedy="restore the file from a copy of the archive",
            ) from error


def _lines(part: Any) -> str:
    """A list of objects, such as runs, with a line for each; anything else is one line.

    ``indent`` would give each number a line, and take ten times as long: a version of an index
    of lifetimes counts the records of every run by period.
    """
    if isinstance(part, list) and part and all(isinstance(item, dict) for item in part):
        return "[\n" + ",\n".join(map(json.dumps, part)) + "\n]"
    return json.dumps(part)
