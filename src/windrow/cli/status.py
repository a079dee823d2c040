"""``windrow status``: how the run of a checkpoint is doing, as tables and lines for people."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from windrow.cli.console import instant, out, size
from windrow.cli.error_messages import errors_in_words
from windrow.cli.options import Checkpoint, Verbose
from windrow.core.paths import is_object_url
from windrow.core.time import Clock, wall_clock
from windrow.spark.checkpoint.checkpoint_status import (
    CheckpointStatus,
    Condition,
    PipelineStatus,
    checkpoint_status,
)
from windrow.spark.checkpoint.query_status import QueryStatus, Standing
from windrow.spark.checkpoint.stream_status import StreamStatus

SECONDS_BETWEEN_LOOKS = 2.0
NAMED = 3
"""Queries of a group that are named."""
UNITS = (("d", 86_400), ("h", 3_600), ("min", 60))
GOOD = (Condition.RUNNING, Condition.STOPPED)


def status(
    checkpoint: Checkpoint,
    watch: Annotated[bool, typer.Option("--watch", help="Look again every two seconds.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, with --watch a line each time.")
    ] = False,
    verbose: Verbose = False,
) -> None:
    """Show how the run of CHECKPOINT is doing, or how it ended.

    Streams with rates and lag, queries with their watermarks and the size of their state, which
    queries are late and why, the quarantine, and the last error. It reads files only: it needs
    neither Java nor the run, and does not disturb it.

    \b
    Examples:
      windrow status state/
      windrow status state/ --watch
      windrow status state/ --json
    """
    with errors_in_words(verbose=verbose), _status_of(checkpoint) as look:
        if not watch:
            print_status(look(), as_json=as_json)
            return
        try:
            _watch(look, as_json=as_json)
        except KeyboardInterrupt:
            raise typer.Exit(0) from None


@contextmanager
def _status_of(checkpoint: Path) -> Iterator[Callable[[], CheckpointStatus]]:
    """What looks at a checkpoint, also at one in an object store."""
    if not is_object_url(checkpoint):
        yield partial(checkpoint_status, checkpoint, wall_clock)
        return
    from windrow.spark.checkpoint.working_copy import WorkingCopy  # noqa: PLC0415 - seldom needed

    with closing(WorkingCopy(checkpoint)) as copy:

        def look() -> CheckpointStatus:
            copy.look()
            return checkpoint_status(copy.directory, wall_clock)

        yield look


def print_status(found: CheckpointStatus, *, as_json: bool) -> None:
    if as_json:
        out().file.write(f"{to_json(found)}\n")
        out().file.flush()
    else:
        out().print(status_view(found))


def to_json(found: CheckpointStatus) -> str:
    """All of it in one line; instants and wall clock times are integers."""
    late = [query.name for query in found.late_queries]
    error = found.last_error
    more = {"late_queries": late, "last_error": None if error is None else asdict(error)}
    return json.dumps({**asdict(found), **more}, ensure_ascii=False)


def _watch(look: Callable[[], CheckpointStatus], *, as_json: bool) -> None:
    console = out()
    if as_json or not console.is_terminal:
        while True:
            print_status(look(), as_json=as_json)
            time.sleep(SECONDS_BETWEEN_LOOKS)
    console.soft_wrap = False  # lines that are too long would be cut off
    with Live(console=console, auto_refresh=False, vertical_overflow="visible") as live:
        while True:
            live.update(status_view(look()), refresh=True)
            time.sleep(SECONDS_BETWEEN_LOOKS)


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
