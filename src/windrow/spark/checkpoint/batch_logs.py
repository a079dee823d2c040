"""Spark's logs of micro-batches: a small file for each that was begun, one for each that ended.

Beside each file of a checkpoint on a local disk Hadoop keeps its checksums: ``.<name>.crc`` is a
magic word, the number of bytes per checksum, and the CRC-32 of each such stretch of the file.
"""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FORMAT = "v1"
MAGIC = b"crc\0"
HEADER = 8


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
        return [json.loads(line) for line in rest if line.strip() != "-"]
    except json.JSONDecodeError as error:
        raise ValueError(f"it is cut short or overwritten: {error}") from error


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
