"""What has been committed of a query's results.

A directory of results holds data files and one ``_commit-<batch>.json`` per micro-batch, which
names the files of that micro-batch and says what went in and came out. A file that no commit
names is not a result. Many commits become one record when results are compacted
(``windrow.engine.compacted``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from windrow.engine.files import read_record

COMMIT = "_commit-"
COUNTED = ("rows_in", "late", "rejected", "overflows", "cut")
"""What is counted of a micro-batch: rows, sums beyond BIGINT, moments that were cut."""


@dataclass(frozen=True)
class Commit:
    """What a micro-batch published. ``run`` tells a repeated batch from one of another run."""

    batch: int
    run: str
    files: tuple[str, ...]
    now: int | None
    rows_in: int
    rows_out: int
    late: int
    rejected: int
    overflows: int = 0
    cut: int = 0

    def path(self, directory: Path) -> Path:
        return commit_path(directory, self.batch)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, path: Path) -> Commit:
        return read_record(
            path,
            "a commit of results",
            lambda values: cls(**{**values, "files": tuple(values["files"])}),
            remedy="move the directory of results away and run the script from the beginning",
        )


@dataclass(frozen=True)
class Totals:
    """What micro-batches add up to; ``now`` is the last instant that one of them reached."""

    batches: int = 0
    rows_in: int = 0
    rows_out: int = 0
    late: int = 0
    rejected: int = 0
    now: int | None = None
    overflows: int = 0
    cut: int = 0

    def plus(self, commits: Iterable[Commit]) -> Totals:
        """With more micro-batches, in their order."""
        total = self
        for c in commits:
            total = Totals(
                total.batches + 1,
                total.rows_in + c.rows_in,
                total.rows_out + c.rows_out,
                total.late + c.late,
                total.rejected + c.rejected,
                total.now if c.now is None else c.now,
                total.overflows + c.overflows,
                total.cut + c.cut,
            )
        return total

    def since(self, earlier: Totals) -> Totals:
        """What has come since; ``now`` stays what it is."""
        return Totals(
            self.batches - earlier.batches,
            self.rows_in - earlier.rows_in,
            self.rows_out - earlier.rows_out,
            self.late - earlier.late,
            self.rejected - earlier.rejected,
            self.now,
            self.overflows - earlier.overflows,
            self.cut - earlier.cut,
        )


def sum_counts(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """What the tasks of a micro-batch have counted, together."""
    known = list(parts)
    return {name: sum(counts.get(name, 0) for counts in known) for name in COUNTED}


def commit_path(directory: Path, batch: int) -> Path:
    """Where the commit of a micro-batch is, if there is one."""
    return directory / f"{COMMIT}{batch:08d}.json"


def committed_numbers(directory: Path) -> list[int]:
    """The numbers of the micro-batches that have a commit of their own, in order."""
    paths = directory.glob(f"{COMMIT}*.json")
    return sorted(int(p.stem.removeprefix(COMMIT)) for p in paths)


def commits(directory: Path, after: int = -1) -> list[Commit]:
    """The commits of the micro-batches after ``after``, in their order."""
    numbers = committed_numbers(directory)
    return [Commit.read(commit_path(directory, n)) for n in numbers if n > after]
