"""The files that a stream or relation is declared ``FROM``, taken in batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from windrow.columns.delta import Delta
from windrow.core.errors import InputError
from windrow.streams.files import find_files
from windrow.streams.monitor import Accepted, InputMonitor, time_of
from windrow.streams.parsed import Parsed, Rejected
from windrow.streams.quarantine import Page, Quarantine
from windrow.streams.readers import read_file
from windrow.streams.relations import RelationMonitor, contents_in


class Feed:
    """The files of one stream or relation, read in order; ``step`` takes in one batch."""

    def __init__(self, monitor: InputMonitor, quarantine: Quarantine | None) -> None:
        declaration = monitor.declaration
        if declaration.source is None:
            raise InputError(
                where=declaration.name,
                expected="FROM 'path' FORMAT csv, json or parquet",
                found="a stream or relation without a source",
                remedy="name its files where it is created, or push rows from Python",
            )
        self.monitor, self.declaration, self.source = monitor, declaration, declaration.source
        self._quarantine = quarantine
        self._seen: set[Path] = set()
        self._files: list[Path] = []
        self._taken: list[tuple[Path, list[tuple[int | None, int]]]] = []
        self._batches: Iterator[tuple[Parsed, Page | None]] = iter(())
        self.look()
        relation = monitor.relation if isinstance(monitor, RelationMonitor) else None
        self._contents = (
            contents_in(self._files, relation, declaration.clock) if relation is not None else None
        )

    def look(self) -> None:
        """Take note of files that have come."""
        if self.monitor.over:
            return
        fresh = [path for path in find_files(self.source) if path not in self._seen]
        self._files += fresh
        self._seen.update(fresh)

    def step(self) -> Accepted | None:
        """Accept one batch; None if there is nothing to read."""
        while True:
            for parsed, page in self._batches:
                self._taken[-1][1].append((self.monitor.top, self.monitor.advanced))
                accepted = self.monitor.accept(parsed)
                late = accepted.rejections(parsed, self.declaration) if page is not None else []
                aside = [*parsed.rejected, *late, *self._refused()]
                if page is not None:
                    page.add(aside)
                return accepted
            if not self._files:
                if self._contents is not None:
                    self.monitor.finish()  # a relation without updates holds nothing back
                return None
            path = self._files.pop(0)
            self._taken.append((path, []))
            self._batches = self._read(path)

    def _refused(self) -> list[Rejected]:
        """Updates that broke the rules of a relation."""
        if not isinstance(self.monitor, RelationMonitor):
            return []
        refused, self.monitor.refused = self.monitor.refused, []
        return refused

    def release(self) -> Delta:
        """What the queries may see now."""
        return self.monitor.release(time_of([self.monitor]))

    def again(self, judge: InputMonitor) -> Iterator[Accepted]:
        """Give the batches of a stream that were taken in so far to another monitor.

        It stands before each where our own stood, so that the same rows are late.
        """
        for path, stood in self._taken:
            batches = read_file(path, self.declaration)
            for (top, advanced), parsed in zip(stood, batches, strict=False):
                judge.top = top
                judge.advance(advanced)
                yield judge.accept(parsed)

    def _read(self, path: Path) -> Iterator[tuple[Parsed, Page | None]]:
        if self._quarantine is None:
            for parsed in self._parsed(path):
                yield parsed, None
            return
        with self._quarantine.page(self.declaration.name, path) as page:
            for parsed in self._parsed(path):
                yield parsed, page

    def _parsed(self, path: Path) -> Iterator[Parsed]:
        if self._contents is None or not isinstance(self.monitor, RelationMonitor):
            yield from read_file(path, self.declaration)
            return
        for parsed in read_file(path, self._contents):
            yield self.monitor.initial(parsed)
