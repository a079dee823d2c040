"""Where the results of embedded queries go: files or standard output, as ``INTO`` says.

Queries that are INTO the same directory are one table there: their changes are taken one after the
other, and published together.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from windrow.core.errors import StateError, WindrowError
from windrow.engine.embedded_run import EmbeddedRun
from windrow.object_store.object_path import path_of
from windrow.result_files.change_table import print_changes
from windrow.result_files.identity import identity_in_place
from windrow.result_files.query_table import place_of
from windrow.result_files.sinks import FileSink, QuerySink, open_sinks

Member = tuple[EmbeddedRun, int]
"""A run, and the number of one of its queries."""


class Outlet:
    """The changes of one member on their way out, to a sink or, without one, to the console."""

    def __init__(self, run: EmbeddedRun, number: int, sink: FileSink | QuerySink | None) -> None:
        self.run, self.number, self._sink = run, number, sink
        self._consumers = run.consumers(number)
        if sink is not None:
            sink.prepare()
        self._consumers.write_to(sink)

    @property
    def place(self) -> Path | None:
        """The directory that it writes into, if it is one."""
        return self.run.destination(self.number)

    def take(self) -> None:
        """Write down what has changed since the last time; a sink publishes it when it is much."""
        run, sink = self.run, self._sink
        member = run.job.members[self.number]
        if sink is not None:
            sink.describe(member.query)
        for changes in self._consumers.news():
            if sink is None:
                limit = member.into.limit if member.into else None
                print_changes(member.name, pa.Table.from_batches([changes]), limit)
            else:
                sink.write(changes, run.rows_in, run.now)

    def publish(self) -> None:
        """All that was taken, as a file."""
        if self._sink is not None:
            self._sink.flush(self.run.rows_in, self.run.now)

    def close(self) -> None:
        """Let others write there."""
        if self._sink is not None:
            self._sink.close()


class Outlets:
    """Those of all runs. Results of another run are replaced if ``overwrite`` says so."""

    def __init__(self, *, overwrite: bool = False) -> None:
        self._open: list[Outlet] = []
        self._overwrite = overwrite

    def copy(self) -> list[Outlet]:
        """Those that there are now, for ``restore``."""
        return [*self._open]

    def restore(self, before: list[Outlet]) -> None:
        """Close those that have been opened since."""
        for outlet in self._open:
            if outlet not in before:
                outlet.close()
        self._open = before

    def runs(self) -> list[EmbeddedRun]:
        return [outlet.run for outlet in self._open]

    def open(
        self, members: Sequence[Member], leaving: Mapping[EmbeddedRun, set[int]]
    ) -> list[Outlet]:
        """Outlets of those members that are INTO somewhere; all of them or none.

        Members that are leaving make way for those that write into the same directories.
        """
        self._make_way(members, leaving)
        opened = open_outlets(members, overwrite=self._overwrite)
        self._open += opened
        return opened

    def _make_way(self, members: Sequence[Member], leaving: Mapping[EmbeddedRun, set[int]]) -> None:
        mine = {run.destination(number) for run, number in members}
        for outlet in tuple(self._open):
            place = outlet.place
            if outlet.number not in leaving.get(outlet.run, ()) or place not in mine:
                continue
            if place is None:
                continue
            if not self._overwrite:
                name = outlet.run.job.members[outlet.number].name
                raise StateError(
                    f"the results of the query {name} that is to be replaced are there",
                    where=f"INTO '{place}'",
                    remedy="write INTO another directory, or connect(overwrite=True)",
                )
            outlet.publish()
            outlet.close()
            self._open.remove(outlet)

    def let_go(self, leaving: Mapping[EmbeddedRun, set[int]]) -> None:
        """Publish what those have that leave; a directory is closed by the last that is in it."""
        for outlet in [o for o in self._open if o.number in leaving.get(o.run, ())]:
            outlet.publish()
            self._open.remove(outlet)
            if outlet.place is None or outlet.place not in [o.place for o in self._open]:
                outlet.close()

    def advance(self, *, publish: bool) -> list[WindrowError]:
        """Take what is new, and publish it if asked to; what fails is tried again the next time.

        All are taken before any is published: those of a table are published together.
        """
        failed: dict[Outlet, WindrowError] = {}
        for step in [Outlet.take, Outlet.publish] if publish else [Outlet.take]:
            for outlet in (outlet for outlet in self._open if outlet not in failed):
                try:
                    step(outlet)
                except WindrowError as error:
                    failed[outlet] = error
        return list(failed.values())

    def publish(self) -> None:
        """All changes that were taken, as files."""
        for outlet in self._open:
            outlet.publish()

    def close(self) -> None:
        """Let others write where results went."""
        for outlet in self._open:
            outlet.close()
        self._open = []


def take_and_publish(outlets: Sequence[Outlet]) -> None:
    """All of them are taken before any is published."""
    for outlet in outlets:
        outlet.take()
    for outlet in outlets:
        outlet.publish()


def open_outlets(members: Sequence[Member], *, overwrite: bool = False) -> list[Outlet]:
    """The outlets of those members that are INTO somewhere; all of them or none."""
    ends = {key: into for key in members if (into := key[0].job.members[key[1]].into) is not None}
    files = {key: into for key, into in ends.items() if into.format != "console"}
    owner = uuid.uuid4().hex
    writers: dict[str | None, list[Member]] = {}
    for key, into in files.items():
        writers.setdefault(place_of(into), []).append(key)
    places = []
    for keys in writers.values():
        queries, into = [run.job.members[n].query for run, n in keys], files[keys[0]]
        places.append((path_of(into.path), identity_in_place(queries, owner, into.format)))
    sinks: dict[Member, FileSink | QuerySink] = {}
    for keys, sink in zip(writers.values(), open_sinks(places, overwrite=overwrite), strict=True):
        for run, number in keys:
            name = run.job.members[number].name
            sinks[run, number] = sink if len(keys) == 1 else QuerySink(sink, name)
    return [Outlet(run, number, sinks.get((run, number))) for run, number in ends]
