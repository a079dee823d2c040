"""The status of a checkpoint as tables and lines for people."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from windrow.cli.console import instant
from windrow.core.time import Clock
from windrow.spark.checkpoint.checkpoint_status import (
    CheckpointStatus,
    Condition,
    PipelineStatus,
)
from windrow.spark.checkpoint.query_status import QueryStatus, Standing
from windrow.spark.checkpoint.stream_status import StreamStatus

NAMED = 3
"""Queries of a group that are named."""
UNITS = (("d", 86_400), ("h", 3_600), ("min", 60))
SIZES = ("B", "kB", "MB", "GB", "TB")
GOOD = (Condition.RUNNING, Condition.STOPPED)


def status_view(found: CheckpointStatus) -> RenderableType:
    """Everything, the pipelines one below the other."""
    parts: list[RenderableType] = [_headline(found)]
    for pipeline in found.pipelines:
        parts += ["", _pipeline_line(pipeline, found.at), "", _streams(pipeline.streams)]
        parts += ["", _queries(pipeline.queries)]
    parts += ["", *_remarks(found)]
    return Group(*parts[:-1] if parts[-1] == "" else parts)


def _headline(found: CheckpointStatus) -> Text:
    process = found.process
    if process is None:
        return Text(f"{found.checkpoint}: no run")
    running = any(p.condition is Condition.RUNNING for p in found.pipelines)
    who = f"process {process.pid} on {process.host}, `{process.command}`"
    verb = "run by" if running else "last run by"
    return Text(f"{found.checkpoint}: {verb} {who}, started {moment(process.since)}")


def _pipeline_line(pipeline: PipelineStatus, now: int) -> Text:
    words = ["no batch yet" if pipeline.batch is None else f"batch {pipeline.batch}"]
    if pipeline.batch_at is not None:
        words.append(f"done {span((now - pipeline.batch_at) / 1e6)} ago")
    if pipeline.batch_seconds is not None:
        mean = f"{pipeline.mean_batch_seconds:.2f} s"
        words.append(f"in {pipeline.batch_seconds:.2f} s (mean {mean})")
    if pipeline.restarts:
        words.append(f"{pipeline.restarts:,} restart{'' if pipeline.restarts == 1 else 's'}")
    style = "bold" if pipeline.condition in GOOD else "bold red"
    return Text.assemble(f"{pipeline.name}: ", (pipeline.condition, style), f", {', '.join(words)}")


def _streams(streams: tuple[StreamStatus, ...]) -> Table:
    headings = ("time", "lag", "files", "size", "files/s", "bytes/s", "waiting", "refused", "")
    table = _table("stream", headings)
    for s in streams:
        silence = "over" if s.over else "idle" if s.idle else ""
        table.add_row(
            s.name, _instant(s.time, s.clock), span(s.lag_seconds), f"{s.files:,}", size(s.size),
            per_second(s.files_per_second), size(s.bytes_per_second),
            "-" if s.files_waiting is None else f"{s.files_waiting:,}", f"{s.files_refused:,}",
            silence,
        )  # fmt: skip
    return table


def _queries(queries: tuple[QueryStatus, ...]) -> Table:
    headings = ("rows in", "rows/s", "rows out", "watermark", "lag", "late", "rejected", "state")
    table = _table("query", headings)
    table.add_column("standing", overflow="fold")
    for q in queries:
        table.add_row(
            title(q), f"{q.rows_in:,}", per_second(q.rows_in_per_second), f"{q.rows_out:,}",
            _instant(q.watermark, q.clock), span(q.lag_seconds), f"{q.late:,}",
            f"{q.rejected:,}", size(q.state_bytes), Text(q.standing, "yellow" if q.is_late else ""),
        )  # fmt: skip
    return table


def _remarks(found: CheckpointStatus) -> Iterator[Text]:
    for query in found.late_queries:
        since = "" if query.batch is None else f" after batch {query.batch}"
        words = {Standing.FAILED: f"failed{since}", Standing.LEFT_BEHIND: f"left behind{since}"}
        standing = words.get(query.standing, query.standing)
        yield Text(f"{title(query)}: {standing}: {query.reason}", "yellow")
    for q in found.quarantine:
        files = f"{q.files:,} file{'' if q.files == 1 else 's'}"
        yield Text(f"quarantine of {q.stream}: {files}, {size(q.size)}, in {q.directory}")
    if found.last_error is not None:
        error = found.last_error
        yield Text(f"last error, {moment(error.at)}: {error.text}", "red")


def title(query: QueryStatus) -> str:
    """The names of the queries, not all of very many."""
    first, more = query.queries[:NAMED], len(query.queries) - NAMED
    return ", ".join(first) + (f" and {more} more" if more > 0 else "")


def moment(microseconds: int) -> str:
    """A time of the wall clock."""
    return datetime.fromtimestamp(microseconds / 1e6, UTC).astimezone().isoformat(" ", "seconds")


def span(seconds: float | None) -> str:
    """A duration in its two largest units.

    >>> span(3.25), span(75), span(90_000), span(-2)
    ('3.2 s', '1 min 15 s', '1 d 1 h', '-2.0 s')
    """
    if seconds is None:
        return "-"
    rest, sign = abs(seconds), "-" if seconds < 0 else ""
    if rest < 60:
        return f"{sign}{rest:.1f} s"
    parts: list[str] = []
    for name, length in (*UNITS, ("s", 1)):
        whole, rest = divmod(rest, length)
        if whole or parts:
            parts.append(f"{int(whole):,} {name}" if whole else "")
    return sign + " ".join(filter(None, parts[:2]))


def size(count: float | None) -> str:
    """A number of bytes.

    >>> size(0), size(1_500), size(2_340_000), size(None)
    ('0 B', '1.5 kB', '2.3 MB', '-')
    """
    if count is None:
        return "-"
    number, unit = float(count), 0
    while number >= 1000 and unit < len(SIZES) - 1:
        number, unit = number / 1000, unit + 1
    return f"{number:.1f} {SIZES[unit]}" if unit else f"{number:.0f} B"


def per_second(count: float | None) -> str:
    if count is None:
        return "-"
    return f"{count:,.0f}" if count >= 10 or count == 0 else f"{count:.2g}"


def _instant(now: int | None, clock: str | None) -> str:
    return instant(now, Clock(clock or Clock.INTEGER.value))


def _table(first: str, headings: tuple[str, ...]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(first, overflow="fold")
    for heading in headings:
        table.add_column(heading, justify="right", overflow="fold")
    return table
