"""What of a directory's results is committed at one moment.

Listing a directory while others write there is not atomic: names that come or go meanwhile may be
seen or not. So the commits are listed twice, and none beyond the last of the first time counts:
all of those were there when the second listing began. The record of a compaction is read after
them: if a commit was missed because it had been compacted, the record stands for it by then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from windrow.engine.commits import Commit, Totals, commit_path, committed_numbers
from windrow.engine.compacted import Compacted, Segment
from windrow.engine.identity import Identity


@dataclass(frozen=True)
class Published:
    """See the module; ``compacted`` stands for all micro-batches before those of ``commits``."""

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
    def forgotten(self) -> int:
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


def published_results(directory: Path) -> Published:
    """What is committed now, by the run whose directory it is."""
    while True:
        identity = Identity.read(directory)
        run = None if identity is None else identity.run
        try:
            found = _results_now(directory, run)
        except FileNotFoundError:  # compacted, or replaced by another run, while we looked
            continue
        after = Identity.read(directory)
        if run == (None if after is None else after.run):
            return found


def _results_now(directory: Path, run: str | None) -> Published:
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
    """The last micro-batch, if ``after`` was once; micro-batches follow each other one by one."""
    compacted = Compacted.read(directory)
    last = after if compacted is None else max(after, compacted.through)
    while commit_path(directory, last + 1).exists():
        last += 1
    return last


def new_commits(directory: Path, after: int) -> Iterator[Commit]:
    """The commits of the micro-batches that follow ``after`` one by one; nothing is listed."""
    while True:
        try:
            commit = Commit.read(commit_path(directory, after + 1))
        except FileNotFoundError:
            return
        yield commit
        after += 1
