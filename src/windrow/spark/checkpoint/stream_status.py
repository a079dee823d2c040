"""How far a stream has come, from the log of its files; and which files wait.

A log may have a hundred thousand lines, and this has to be quick, so lines are searched and only
the last of them are parsed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windrow.core.errors import InputError
from windrow.core.file_formats import is_compressed
from windrow.core.time import Clock
from windrow.plan.nodes.stream_relation import FileSource
from windrow.spark.checkpoint.run_record import StreamRecord, Traffic
from windrow.tables.find_files import Found, list_files

TIME = re.compile(rb'"(?:top|advance)":(-?\d+)')
SIZE = re.compile(rb'"size":(\d+)')
PATH = re.compile(rb'"(path|origin)":"((?:[^"\\]|\\.)*)"')
"""A quote in a path is escaped, so none of these is found inside one."""
MANY = 20_000
"""Files of a stream beyond which those that wait are not counted: that would take long."""
A_HEADER = 1 << 14
"""Bytes of a text file beyond which it is not looked at whether it has rows."""
STALE = 60_000_000
"""Microseconds without a micro-batch after which nothing flows."""


@dataclass(frozen=True)
class StreamStatus:
    """``time`` is the greatest instant that was read, in ticks of the clock; what is None is not
    known. ``waiting_seconds`` is how long the first file has waited that no micro-batch has."""

    name: str
    clock: str | None = None
    time: int | None = None
    lag_seconds: float | None = None
    files: int = 0
    size: int = 0
    files_per_second: float | None = None
    bytes_per_second: float | None = None
    files_refused: int = 0
    files_waiting: int | None = None
    waiting_seconds: float | None = None
    idle: bool = False
    over: bool = False


def stream_status(
    log: Path, name: str, last: int, record: StreamRecord | None, traffic: Traffic | None, now: int
) -> StreamStatus:
    """The stream of a log after micro-batch ``last``; with ``traffic`` its run goes on."""
    try:
        text = log.read_bytes()
    except FileNotFoundError:
        text = b""
    done, begun = _split(text, last)
    files = map(dict, map(PATH.findall, done.splitlines()))
    paths = {found.get(b"origin") or found.get(b"path") for found in files}
    clock = None if record is None else record.clock
    time = max(map(int, TIME.findall(done)), default=None)
    waiting, oldest = _waiting(text, len(begun), record)
    idle, over = _silence(done)
    return StreamStatus(
        name=name,
        clock=clock,
        time=time,
        lag_seconds=lag_seconds(time, clock, now),
        files=len(paths - {None}),
        size=sum(map(int, SIZE.findall(done))),
        files_per_second=None if traffic is None else rate(traffic.files.get(name), traffic, now),
        bytes_per_second=None if traffic is None else rate(traffic.size.get(name), traffic, now),
        files_refused=done.count(b'"refused":'),
        files_waiting=waiting,
        waiting_seconds=None if oldest is None else max(0, now - oldest // 1000) / 1e6,
        idle=idle,
        over=over,
    )


def lag_seconds(time: int | None, clock: str | None, now: int) -> float | None:
    """By how much a time is behind the wall clock; integers have no such clock."""
    if time is None or clock != Clock.TIMESTAMP.value:
        return None
    return (now - time) / 1e6


def rate(count: int | None, traffic: Traffic, now: int) -> float:
    """Per second, in the last minute or so."""
    if count is None or now - traffic.until > STALE:
        return 0.0
    return round(count * 1e6 / max(1, now - traffic.since), 3)


def _split(text: bytes, last: int) -> tuple[bytes, list[dict[str, Any]]]:
    """What micro-batches up to ``last`` had, and the entries with files of those after it."""
    whole = text[: text.rfind(b"\n") + 1]
    later, end = [], len(whole)
    for start, entry in _from_the_end(whole):
        if (entry.get("batch") or 0) <= last:
            break
        if entry.get("path") is not None:
            later.append(entry)
        end = start
    return whole[:end], later


def _from_the_end(whole: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """The entries, the last first, with where their lines begin; a damaged line ends it."""
    end = len(whole)
    while end > 0:
        start = whole.rfind(b"\n", 0, end - 1) + 1
        try:
            entry = json.loads(whole[start:end])
        except ValueError:
            return
        if not isinstance(entry, dict):
            return
        yield start, entry
        end = start


def _silence(done: bytes) -> tuple[bool, bool]:
    """Whether a stream is idle, and whether it is over."""
    for number, (_, entry) in enumerate(_from_the_end(done)):
        if entry.get("end"):
            return False, number == 0
        if entry.get("idle"):
            return True, False
        if entry.get("path") is not None:
            break
    return False, False


def _waiting(text: bytes, begun: int, record: StreamRecord | None) -> tuple[int | None, int | None]:
    """How many files wait, those of a micro-batch that has begun among them, and since when, in
    nanoseconds, the first that no micro-batch has."""
    if record is None or record.source is None:
        return begun, None
    if text.count(b"\n") > MANY:
        return None, None
    known = {_plain(path) for _, path in PATH.findall(text)}
    try:
        files = list_files(FileSource(record.source, record.format))
    except (InputError, OSError):
        return None, None
    found = (file for file in files if str(file.path) not in known)
    new = [file.changed for file in found if not _is_empty(file, record)]
    return begun + len(new), min(new, default=None)


def _is_empty(file: Found, record: StreamRecord) -> bool:
    """Whether it is text without a row by now: no micro-batch has it, and nobody waits for that."""
    if record.format == "parquet" or is_compressed(file.path) or file.size > A_HEADER:
        return False
    try:
        lines = file.path.read_bytes().split(b"\n")
    except OSError:
        return False
    return not b"".join(lines[1:] if record.header else lines).strip()


def _plain(path: bytes) -> str:
    return str(json.loads(b'"%b"' % path)) if b"\\" in path else path.decode()
