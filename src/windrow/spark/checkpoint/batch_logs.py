"""Logs of micro-batches in Spark's form: a small file for each that was begun, one for each that
ended.

A file is a line with the format, one with settings, and one for each source. Beside each that Spark
has written on a local disk Hadoop keeps its checksums: ``.<name>.crc`` is a magic word, the number
of bytes per checksum, and the CRC-32 of each such stretch of the file. In those that we write the
CRC-32 of the lines about sources is among the settings: a file less in every micro-batch.
"""

from __future__ import annotations

import json
import struct
import uuid
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windrow.core.errors import StateError

FORMAT = "v1"
MAGIC = b"crc\0"
HEADER = 8
CHECKSUM = "crc32"
"""The setting with which our files say what their other lines are."""
OVER = f'{FORMAT}\n{{"nextBatchWatermarkMs":0}}'
"""What there is to say of a micro-batch that is over."""


NO_SETTINGS = {"batchWatermarkMs": 0, "batchTimestampMs": 0, "conf": {}}
"""What Spark expects in their place."""


class BatchNotes:
    """Both logs of a pipeline, in the directory ``spark``, for whoever begins micro-batches. A run
    can go back so many as are ``retained``."""

    def __init__(self, spark: Path, retained: int) -> None:
        self._retained = retained
        self._spark, self._offsets, self._commits = spark, spark / "offsets", spark / "commits"

    def open(self, beginning: Mapping[str, int]) -> tuple[int, dict[str, int], bool]:
        """The last micro-batch that was begun, -1 if none was, how far it reads, and whether it is
        over."""
        for directory in (self._offsets, self._commits):
            directory.mkdir(parents=True, exist_ok=True)
        if not (self._spark / "metadata").exists():
            _replace(self._spark / "metadata", json.dumps({"id": str(uuid.uuid4())}))
        begun, ended = _numbers(self._offsets), _numbers(self._commits)
        last = max(begun, default=-1)
        for number in begun | ended:
            self._forget(number, last)
        at = dict(beginning)
        if last >= 0:
            _, *sources = _lines(self._offsets / str(last))
            if len(sources) != 1:
                raise StateError(
                    "the checkpoint has rows of streaming DataFrames",
                    where=str(self._spark.parent),
                    expected="the DataFrames that it was begun with",
                    found="none",
                    remedy="give them again, with stream(), or use another checkpoint",
                )
            at |= sources[0]
        return last, at, last in ended or last < 0

    def begin(self, batch: int, offsets: Mapping[str, int]) -> None:
        """A micro-batch reads up to these numbers of entries."""
        _replace(self._offsets / str(batch), offsets_text({}, offsets))

    def end(self, batch: int) -> None:
        """A micro-batch is over; those to which nobody goes back are forgotten."""
        _replace(self._commits / str(batch), OVER)
        self._forget(batch - self._retained - 1, batch)

    def _forget(self, number: int, last: int) -> None:
        if 0 <= number < last - self._retained:
            for directory in (self._offsets, self._commits):
                _remove(directory / str(number))


def offsets_text(settings: Mapping[str, Any], offsets: Mapping[str, int]) -> str:
    """What says how far a micro-batch of one source reads."""
    line = json.dumps(offsets)
    return "\n".join(
        (FORMAT, json.dumps({**NO_SETTINGS, **settings, CHECKSUM: _crc([line])}), line)
    )


def _remove(path: Path) -> None:
    """Remove a file of a log, and its checksums."""
    path.unlink(missing_ok=True)
    checksums_of(path).unlink(missing_ok=True)


def _replace(path: Path, text: str) -> None:
    """A file that is there whole or not at all. It is not synced: the log of a stream and the
    commit of the state are, and say the same."""
    hidden = path.with_name(f".{path.name}.new")
    hidden.write_text(text, encoding="utf-8")
    checksums_of(path).unlink(missing_ok=True)  # of another file of this name, which is gone
    hidden.replace(path)


def _numbers(directory: Path) -> set[int]:
    return {int(path.name) for path in directory.glob("[0-9]*") if path.name.isdigit()}


@dataclass(frozen=True)
class BatchLog:
    """``whole`` are the contents of files that are, ``damaged`` says what is wrong with others."""

    directory: Path
    whole: dict[int, list[Any]]
    damaged: dict[int, str]

    @property
    def last(self) -> int:
        """The last number, of whatever file."""
        return max((*self.whole, *self.damaged), default=-1)

    @property
    def first(self) -> int | None:
        return min((*self.whole, *self.damaged), default=None)

    def path(self, batch: int) -> Path:
        return self.directory / str(batch)


def read_batch_log(directory: Path) -> BatchLog:
    whole: dict[int, list[Any]] = {}
    damaged: dict[int, str] = {}
    for path in directory.glob("[0-9]*"):
        if path.name.isdigit():
            try:
                whole[int(path.name)] = _lines(path)
            except ValueError as error:
                damaged[int(path.name)] = str(error)
    return BatchLog(directory, whole, damaged)


def _lines(path: Path) -> list[Any]:
    """The JSON of each line after the first, which names the format; ValueError if damaged."""
    if damage := damage_of(path):
        raise ValueError(damage)
    first, *rest = path.read_text(errors="replace").splitlines() or [""]
    if first != FORMAT or not rest:
        raise ValueError(
            "it is cut short" if FORMAT.startswith(first) else f"it says {first[:40]!r}"
        )
    try:
        found = [json.loads(line) for line in rest if line.strip() != "-"]
    except json.JSONDecodeError as error:
        raise ValueError(f"it is cut short or overwritten: {error}") from error
    settings = found[0] if isinstance(found[0], dict) else {}
    if settings.get(CHECKSUM) not in (None, _crc(rest[1:])):
        raise ValueError("it differs from its checksum")
    return found


def _crc(lines: list[str]) -> int:
    return zlib.crc32("\n".join(lines).encode())


def checksums_of(path: Path) -> Path:
    """Where the checksums of a file are."""
    return path.with_name(f".{path.name}.crc")


def damage_of(path: Path) -> str:
    """What is wrong with a file, if anything is; without checksums only whether it is there."""
    if not path.is_file():
        return "it is missing"
    beside = checksums_of(path)
    if not beside.is_file():
        return "" if path.stat().st_size else "it is empty"
    sums = beside.read_bytes()
    if not sums.startswith(MAGIC) or len(sums) < HEADER:
        return f"its checksums, {beside.name}, are damaged"
    step = struct.unpack(">i", sums[len(MAGIC) : HEADER])[0]
    expected = sums[HEADER:]
    with path.open("rb") as file:
        for at in range(0, len(expected), 4):
            stretch = file.read(step)
            if struct.pack(">I", zlib.crc32(stretch)) != expected[at : at + 4]:
                return f"it differs from its checksums after byte {at // 4 * step}"
        if file.read(1):
            return "it is longer than its checksums say"
    return ""
