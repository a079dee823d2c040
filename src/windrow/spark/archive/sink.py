"""A stream into an archive: event time cut into days, each row in it exactly once.

    write_stream(flows, "archive/", timestamp="ts", slack=5_000_000).option(
        "checkpointLocation", ...
    ).start()

Each micro-batch publishes its runs and, in the same manifest, its number under the query's id,
which belongs to the checkpoint. A batch that Spark repeats because it does not know how the first
attempt ended is found there and left out; one that died before it published left files that no
version names, which a vacuum removes. It is a ``foreachBatch`` function, not a format with a
writer: only the driver's own process can hold the writer's lease while the tasks write.

When a day is over
    When a row has come that is ``slack`` later than its end, the window moves on to it. A row from
    the future must not make others expire: on a clock of timestamps no day is over that is not over
    by the clock on the wall. Rows of a day that is closed are late; they come in on the first day
    that is open, and ``_day`` says which.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from windrow.archive.archive import Archive
from windrow.archive.calendar import Calendar
from windrow.archive.errors import ArchiveError, ConflictError
from windrow.archive.wave import Wave
from windrow.spark.archive.writing import (
    Stamps,
    WrittenRuns,
    declared,
    latest_of,
    write_runs,
)

QUERY = "sql.streaming.queryId"
"""The local property under which Spark tells a micro-batch whose it is."""
ATTEMPTS = 5
"""How often a micro-batch is written if other writers are faster."""


def _wall() -> int:
    return time.time_ns() // 1000


def write_stream(
    frame: DataFrame, path: str | Path, *, timestamp: str, slack: int = 0
) -> DataStreamWriter:
    """A writer of a streaming DataFrame into an archive; it needs a checkpoint, and to be started.

    ``timestamp`` is the column that tells the day, ``slack`` how late rows may come, both on the
    archive's clock (microseconds, for timestamps).
    """
    sink = archive_sink(path, timestamp=timestamp, slack=slack)
    return frame.writeStream.outputMode("append").foreachBatch(sink)


def archive_sink(
    path: str | Path,
    *,
    timestamp: str,
    slack: int = 0,
    source: str | None = None,
    wall: Callable[[], int] = _wall,
) -> Callable[[DataFrame, int], None]:
    """A function for ``foreachBatch``; ``source`` names the stream, if not Spark's query id."""
    archive = Archive.open(Path(path).absolute())
    if timestamp not in archive.layout.schema.names:
        raise ArchiveError(
            where="timestamp",
            expected=f"one of the columns {', '.join(archive.layout.schema.names)}",
            found=timestamp,
        )

    def put(frame: DataFrame, number: int) -> None:
        name = source or frame.sparkSession.sparkContext.getLocalProperty(QUERY)
        assert name, "Spark names the query of a micro-batch"
        for attempt in range(ATTEMPTS):
            try:
                _put(archive, frame, (name, number), timestamp, slack, wall)
            except ConflictError:  # somebody else moved the window on, say
                if attempt == ATTEMPTS - 1:
                    raise
            else:
                return

    return put


def _put(
    archive: Archive,
    frame: DataFrame,
    batch: tuple[str, int],
    timestamp: str,
    slack: int,
    wall: Callable[[], int],
) -> None:
    with archive.session() as session:
        wave = Wave.of(session.base)
        calendar, now = wave.settings.calendar, wave.now
        stamps = Stamps(None, timestamp, calendar, None if now is None else now + 1)
        chosen = declared(frame, archive.layout)
        few = chosen.coalesce(frame.sparkSession.sparkContext.defaultParallelism)
        repeated = session.has(batch)
        if repeated:  # its rows are in; that the window has moved on is not certain
            written = WrittenRuns({}, [], latest_of(few.select(timestamp), stamps))
        else:
            written = write_runs(few, archive, session, stamps)
        over = _over(calendar, written.latest, slack, wall)
        if now is None:  # time may be anywhere before the first row
            days = (*wave.ahead, *written.runs)
            over = over if over is not None and any(day <= over for day in days) else None
        elif over is not None and over <= now:
            over = None
        session.commit(
            written.runs,
            now=over,
            batch=None if repeated else batch,
            encodings=written.encodings,
        )


def _over(
    calendar: Calendar, latest: int | None, slack: int, wall: Callable[[], int]
) -> int | None:
    """The last day that is over, if one is."""
    if latest is None:
        return None
    reached = latest - slack
    if calendar.timestamps:
        reached = min(reached, wall())
    return reached // calendar.length - 1
