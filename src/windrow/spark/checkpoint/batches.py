"""Spark's logs of micro-batches: a small file for each that was begun, one for each that ended."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windrow.spark.checkpoint.checksums import damage_of

FORMAT = "v1"


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
