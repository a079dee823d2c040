"""The record of a compaction: many micro-batches, merged into few files.

``_compacted.json`` stands for the commits of all micro-batches up to ``through``. It is replaced as
a whole, and commits that it stands for are removed after that, so there is no moment at which a
micro-batch counts twice or not at all. A merged file has the changes of its micro-batches in their
order; ``_batches-<first>-<last>.json`` says how many each of them has.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from windrow.engine.commits import Commit, Totals
from windrow.engine.files import publish, read_record

COMPACTED = "_compacted.json"
REMEDY = "move the directory of results away and run the script from the beginning"
Marks = list[tuple[int, int]]
"""Micro-batches that have changes, with how many."""


@dataclass(frozen=True)
class Segment:
    """Changes of consecutive micro-batches; ``now`` is the instant that they reach.

    The files of a single micro-batch are as its tasks wrote them; those of several are one, with
    all changes in order.
    """

    first: int
    last: int
    files: tuple[str, ...]
    rows: int
    now: int | None = None

    @property
    def single(self) -> bool:
        return self.first == self.last

    @property
    def stem(self) -> str:
        return f"{self.first:08d}-{self.last:08d}"

    @classmethod
    def of(cls, commit: Commit) -> Segment:
        rows = commit.rows_out if commit.files else 0
        return cls(commit.batch, commit.batch, commit.files, rows, commit.now)

    def marks(self, directory: Path) -> Marks:
        if self.single:
            return [(self.first, self.rows)]
        if not self.rows:
            return []
        return read_record(
            directory / self.marks_name,
            "the record of compacted results",
            lambda found: [(int(batch), int(rows)) for batch, rows in found],
            remedy=REMEDY,
        )

    @property
    def marks_name(self) -> str:
        return f"_batches-{self.stem}.json"

    def names(self) -> set[str]:
        """Of all files that it needs."""
        return {*self.files} | ({self.marks_name} if self.rows and not self.single else set())


@dataclass(frozen=True)
class Snapshot:
    """A file of changes that add up to the answer after micro-batch ``batch``; of a stream, of its
    last changes.
    """

    batch: int
    file: str
    rows: int


@dataclass(frozen=True)
class Compacted:
    """See the module. Changes up to ``forgotten`` were taken away by whoever drained them."""

    run: str
    through: int
    segments: tuple[Segment, ...]
    totals: Totals
    snapshot: Snapshot | None = None
    forgotten: int = -1

    def publish(self, directory: Path) -> None:
        publish(directory / COMPACTED, json.dumps(asdict(self)))

    def names(self) -> set[str]:
        """Of all files that it needs."""
        found = {name for segment in self.segments for name in segment.names()}
        return found | ({self.snapshot.file} if self.snapshot is not None else set())

    @classmethod
    def read(cls, directory: Path) -> Compacted | None:
        try:
            path = directory / COMPACTED
            return read_record(path, "the record of compacted results", cls._of, remedy=REMEDY)
        except (FileNotFoundError, NotADirectoryError):
            return None

    @classmethod
    def _of(cls, known: dict[str, Any]) -> Compacted:
        snapshot = known["snapshot"]
        segments: Sequence[dict[str, Any]] = known["segments"]
        return cls(
            known["run"],
            known["through"],
            tuple(Segment(**{**s, "files": tuple(s["files"])}) for s in segments),
            Totals(**known["totals"]),
            None if snapshot is None else Snapshot(**snapshot),
            known["forgotten"],
        )
