"""What has been committed of a query's results.

A directory of results holds data files and one ``_commit-<batch>.json`` per micro-batch, which
names the files of that micro-batch and says what went in and came out. A file that no commit
names is not a result.

Compaction merges many micro-batches into few files: ``_compacted.json`` stands for the commits of
all micro-batches up to ``through``. It is replaced as a whole, and commits that it stands for are
removed after that, so there is no moment at which a micro-batch counts twice or not at all. A
merged file has the changes of its micro-batches in their order; ``_batches-<first>-<last>.json``
says how many each of them has.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from windrow.result_files.atomic_files import publish, read_once, read_record

COMMIT = "_commit-"
COMPACTED = "_compacted.json"
COUNTED = ("rows_in", "late", "rejected", "overflows", "cut")
"""What is counted of a micro-batch: rows, sums beyond BIGINT, moments that were cut."""
REMEDY = "move the directory of results away and run the script from the beginning"
Marks = list[tuple[int, int]]
"""Micro-batches that have changes, with how many."""


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
        return json.dumps(vars(self))

    @classmethod
    def read(cls, path: Path) -> Commit:
        return read_record(
            path,
            "a commit of results",
            lambda values: cls(**{**values, "files": tuple(values["files"])}),
            remedy=REMEDY,
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
        """As the merged file is called; in an object store that has a mark of its own."""
        stem = Path(self.files[0]).stem.removeprefix("batch-") if self.files else self.stem
        return f"_batches-{stem}.json"

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
    """Many micro-batches as one record; changes up to ``forgotten`` were drained and are gone."""

    run: str
    through: int
    segments: tuple[Segment, ...]
    totals: Totals
    snapshot: Snapshot | None = None
    forgotten: int = -1

    def publish(self, directory: Path, over: str | None = None) -> None:
        publish(directory / COMPACTED, json.dumps(asdict(self)), over)

    def names(self) -> set[str]:
        """Of all files that it needs."""
        found = {name for segment in self.segments for name in segment.names()}
        return found | ({self.snapshot.file} if self.snapshot is not None else set())

    @classmethod
    def read(cls, directory: Path) -> Compacted | None:
        path = directory / COMPACTED

        def read() -> Compacted:
            return read_record(path, "the record of compacted results", cls._of, remedy=REMEDY)

        try:
            return read_once(path, read)
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


@dataclass(frozen=True)
class Published:
    """``compacted`` stands for all micro-batches before those of ``commits``."""

    directory: Path
    run: str | None
    compacted: Compacted | None
    commits: tuple[Commit, ...]

    @property
    def last(self) -> int:
        """The last micro-batch; -1 if there is none."""
        if self.commits:
            return self.commits[-1].batch
        return -1 if self.compacted is None else self.compacted.through

    @property
    def totals(self) -> Totals:
        before = Totals() if self.compacted is None else self.compacted.totals
        return before.plus(self.commits)

    @property
    def forgotten_through(self) -> int:
        return -1 if self.compacted is None else self.compacted.forgotten

    @property
    def segments(self) -> tuple[Segment, ...]:
        """All changes that are there, in the order of their micro-batches."""
        merged = () if self.compacted is None else self.compacted.segments
        return (*merged, *(Segment.of(commit) for commit in self.commits))

    def names(self) -> set[str]:
        """Of the files that the results are made of, without those that say so."""
        compacted = set() if self.compacted is None else self.compacted.names()
        return compacted | {name for commit in self.commits for name in commit.files}


def committed_results(directory: Path, run: str | None) -> Published:
    """What is committed now by ``run``, or by whoever if it is None; FileNotFoundError if a commit
    was compacted meanwhile.

    Listing a directory while others write there is not atomic: names that come or go meanwhile may
    be seen or not. So the commits are listed twice, and none beyond the last of the first time
    counts: all of those were there when the second listing began. The record of a compaction is
    read after them: if a commit was missed because it had been compacted, the record stands for it
    by then.
    """
    last = max(committed_numbers(directory), default=-1)
    numbers = [n for n in committed_numbers(directory) if n <= last]
    compacted = Compacted.read(directory)
    if compacted is not None and run not in (None, compacted.run):
        compacted = None
    through = -1 if compacted is None else compacted.through
    found = [Commit.read(commit_path(directory, n)) for n in numbers if n > through]
    mine = tuple(c for c in found if run in (None, c.run))
    return Published(directory, run, compacted, mine)


def last_committed(directory: Path, after: int) -> int:
    """The last micro-batch, if ``after`` was once; a query may have taken no part in others."""
    numbers = committed_numbers(directory)  # before the record, which stands for what is gone
    compacted = Compacted.read(directory)
    last = after if compacted is None else max(after, compacted.through)
    return max(last, *numbers, -1)


def new_commits(directory: Path, after: int) -> Iterator[Commit]:
    """The commits of the micro-batches after ``after``, up to one that is compacted by now."""
    for number in committed_numbers(directory):
        if number > after:
            try:
                yield Commit.read(commit_path(directory, number))
            except FileNotFoundError:
                return
