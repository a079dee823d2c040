"""A stream into an archive: event time cut into days, each row in it exactly once.

    write_stream(flows, "archive/", timestamp="ts", slack=5_000_000).option(
        "checkpointLocation", ...
    ).start()

Each micro-batch publishes its runs and, in the same manifest, its number under the query's id,
which belongs to the checkpoint. A batch that Spark repeats because it does not know how the first
attempt ended is found there and left out; one that died before it published left files that no
version names, which a vacuum removes. It is a ``foreachBatch`` function, not a format with a
writer: only the driver's own process can hold the writer's lease while the tasks write.

Several queries may fill one archive. What the tasks of one have written is published on top of
whatever the others have published meanwhile, those of one driver in turns. It is only written again
if somebody has closed a day that rows were written for: then they are late.

When a day is over
    When a row has come that is ``slack`` later than its end, the window moves on to it. A row from
    the future must not make others expire: on a clock of timestamps no day is over that is not over
    by the clock on the wall, and on others a row more than a window ahead of all is not believed
    before rows of another day follow it. Rows of a day that is closed are late; they come in on the
    first day that is open, and ``_day`` says which.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from windrow.archive.archive import Archive
from windrow.archive.errors import ArchiveError, ConflictError, HalfwayError
from windrow.archive.format.day_calendar import latest_plausible_day
from windrow.archive.wave.wave import Wave
from windrow.core.paths import is_object_url
from windrow.core.time import Wall, wall_clock
from windrow.spark.archive.writing import (
    Stamps,
    WrittenRuns,
    archive_of_days,
    declared_columns,
    latest_of,
    write_runs,
)

QUERY = "sql.streaming.queryId"
"""The local property under which Spark tells a micro-batch whose it is."""
ATTEMPTS = 5
"""How often a micro-batch is published, or written, if other writers are faster."""
_turns: dict[str, threading.Lock] = {}
"""Whose turn it is to publish in an archive, among the queries of this driver."""


def write_stream(
    frame: DataFrame, path: str | Path, *, timestamp: str, slack: int = 0
) -> DataStreamWriter:
    """A writer of a streaming DataFrame into an archive; it needs a checkpoint, and to be started.

    ``timestamp`` is the column that tells the day, ``slack`` how late rows may come, both on the
    archive's clock (microseconds, for timestamps).
    """
    sink = archive_sink(path, timestamp=timestamp, slack=slack)
    declared_columns(frame, sink.archive.layout)
    return frame.writeStream.outputMode("append").foreachBatch(sink)


def archive_sink(
    path: str | Path,
    *,
    timestamp: str,
    slack: int = 0,
    source: str | None = None,
    wall: Wall = wall_clock,
) -> ArchiveSink:
    """A function for ``foreachBatch``; ``source`` names the stream, if not Spark's query id."""
    archive = archive_of_days(path if is_object_url(path) else Path(path).absolute())
    stamps = Stamps.by(timestamp, archive.layout, archive.stat().settings.calendar)
    if slack < 0:
        raise ArchiveError(
            where="slack",
            expected="ticks of the archive's clock (microseconds, for timestamps), 0 or more",
            found=str(slack),
        )
    return ArchiveSink(archive, stamps, slack, source, wall)


@dataclass(frozen=True)
class ArchiveSink:
    """What is done with a micro-batch, at the driver and by tasks; see ``archive_sink``."""

    archive: Archive
    stamps: Stamps
    slack: int
    source: str | None
    wall: Wall

    def __call__(self, frame: DataFrame, number: int) -> None:
        name = self.source or frame.sparkSession.sparkContext.getLocalProperty(QUERY)
        assert name, "Spark names the query of a micro-batch"
        for _ in range(ATTEMPTS):
            if self._put(frame, (name, number)):
                return
        raise ConflictError(
            where=self.archive.disk.where(),
            expected="days that stay open until the rows of a micro-batch are written",
            found=f"other writers that closed them, {ATTEMPTS} times",
            remedy="restart the query, which loses nothing, with a longer slack",
        )

    def _put(self, frame: DataFrame, batch: tuple[str, int]) -> bool:
        """Write rows and publish them, unless their days were closed meanwhile."""
        with self.archive.session() as session:  # its lease keeps what the tasks write
            now = Wave.of(session.base).now
            stamps = replace(self.stamps, first=None if now is None else now + 1)
            chosen = declared_columns(frame, self.archive.layout)
            few = chosen.coalesce(frame.sparkSession.sparkContext.defaultParallelism)
            if session.has(batch):  # its rows are in; that the window has moved on is not certain
                latest = latest_of(few.select(f"`{stamps.column}`"), stamps)
                written = WrittenRuns({}, [], latest)
            else:
                written = write_runs(few, self.archive, session, stamps)
            for _ in range(ATTEMPTS - 1):
                with suppress(ConflictError, HalfwayError):  # another process was faster
                    return self._published(written, batch)
            return self._published(written, batch)

    def _published(self, written: WrittenRuns, batch: tuple[str, int]) -> bool:
        """Make runs part of the newest version; False if it is too late for their days."""
        turn = _turns.setdefault(self.archive.disk.address(), threading.Lock())
        with turn, self.archive.session() as session:
            wave, runs = Wave.of(session.base), written.runs
            repeated = session.has(batch)
            if repeated:
                runs = {}
            elif wave.now is not None and any(day <= wave.now for day in runs):
                return False
            over = self._over(written.latest, wave, runs)
            if over is not None and wave.now is None:  # time may be anywhere before the first row
                over = over if any(day <= over for day in (*wave.ahead, *runs)) else None
            elif over is not None and wave.now is not None and over <= wave.now:
                over = None
            session.commit(
                runs, now=over, batch=None if repeated else batch, encodings=written.encodings
            )
            return True

    def _over(self, latest: int | None, wave: Wave, days: Iterable[int]) -> int | None:
        """The last day that is over, if one is."""
        if latest is None:
            return None
        calendar, instant = self.stamps.calendar, latest - self.slack
        if calendar.timestamps:
            instant = min(instant, self.wall())
        else:
            newest = latest // calendar.length
            come = latest_plausible_day(
                [newest, *days, *wave.ahead], wave.now, wave.settings.window
            )
            if come is not None and come < newest:
                instant = come * calendar.length - self.slack
        return instant // calendar.length - 1
