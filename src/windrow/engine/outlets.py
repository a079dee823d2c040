"""Where ``INTO`` sends the changes of queries: files, or standard output."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from windrow.engine.console import print_changes
from windrow.engine.embedded_run import EmbeddedRun
from windrow.engine.identity import identity_of
from windrow.engine.sinks import FileSink, open_sinks


class Outlet:
    """The changes of one member on their way out, to a sink or, without one, to the console."""

    def __init__(self, run: EmbeddedRun, number: int, sink: FileSink | None) -> None:
        self._run, self._number, self._sink = run, number, sink
        self._consumers = run.consumers(number)
        if sink is not None:
            sink.prepare()
        self._consumers.write_to(sink)

    def take(self) -> None:
        """Write down what has changed since the last time; a sink publishes it when it is much."""
        run, sink = self._run, self._sink
        member = run.job.members[self._number]
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
            self._sink.flush(self._run.rows_in, self._run.now)

    def close(self) -> None:
        """Let others write there."""
        if self._sink is not None:
            self._sink.close()


def open_outlets(runs: Sequence[EmbeddedRun], *, overwrite: bool = False) -> list[Outlet]:
    """The outlets of those members that are INTO somewhere; all of them or none."""
    members = [(run, number) for run in runs for number in run.job.members]
    ends = {key: into for key in members if (into := key[0].job.members[key[1]].into) is not None}
    files = {key: into for key, into in ends.items() if into.format != "console"}
    owner = uuid.uuid4().hex
    places = [
        (Path(into.path), identity_of(run.job.members[number].query, owner, into.format))
        for (run, number), into in files.items()
    ]
    sinks = dict(zip(files, open_sinks(places, overwrite=overwrite), strict=True))
    return [Outlet(run, number, sinks.get((run, number))) for run, number in ends]
