"""``--metrics PORT``: how a run is doing, as text for Prometheus, on this machine only.

What every runner tells of its queries is served as it was told last. On Spark the checkpoint is
looked at too whenever somebody asks (``windrow.spark.checkpoint.checkpoint_status``). What each
metric is called, means and comes from is in the tables of families.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from prometheus_client import CollectorRegistry, ProcessCollector, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from windrow.core.errors import InputError, StateError
from windrow.core.time import Clock, Wall, wall_clock
from windrow.engine.progress import Progress

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from windrow.spark.checkpoint.checkpoint_status import CheckpointStatus, PipelineStatus
    from windrow.spark.checkpoint.query_status import QueryStatus
    from windrow.spark.checkpoint.stream_status import StreamStatus

LOOPBACK = "127.0.0.1"
T = TypeVar("T")
Value = int | float | None
Family = tuple[str, str, Callable[[T], Value]]
"""Name, help, and what to show; None is left out. Names that end in _total only grow."""


class Metrics:
    """What Prometheus collects. ``show`` may be called from any thread."""

    def __init__(self, wall: Wall = wall_clock) -> None:
        self._wall = wall
        self._latest: dict[str, Progress] = {}
        self._checkpoint: Path | None = None

    def show(self, progress: Progress) -> None:
        """Serve this from now on."""
        self._latest[progress.query] = progress

    def follow(self, checkpoint: Path) -> None:
        """Serve what the files of a checkpoint say, too."""
        self._checkpoint = checkpoint

    def collect(self) -> Iterator[Metric]:
        """What Prometheus is given; its client calls it."""
        yield from progress_families(list(self._latest.values()), self._wall())
        if self._checkpoint is None:
            return
        from windrow.spark.checkpoint.checkpoint_status import checkpoint_status  # noqa: PLC0415

        try:
            found = checkpoint_status(self._checkpoint, self._wall)
        except (StateError, OSError):  # it has not begun, or is gone already
            return
        yield from checkpoint_families(found)


@contextmanager
def serve_metrics(port: int, say: Callable[[str], None]) -> Iterator[Metrics]:
    """Serve metrics while the block lasts; port 0 is any that is free, and ``say`` is told."""
    metrics, registry = Metrics(), CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(metrics)
    try:
        server, thread = start_http_server(port, LOOPBACK, registry)
    except (OSError, OverflowError) as error:
        raise _no_port(port, error) from error
    try:
        say(f"metrics at http://{LOOPBACK}:{server.server_port}/metrics")
        yield metrics
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _no_port(port: int, error: Exception) -> InputError:
    taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
    return InputError(
        where=f"--metrics {port}",
        expected=f"a free port of {LOOPBACK}",
        found="one that another process uses" if taken else str(error),
        remedy="choose another one, or 0 for any that is free",
    )


def watermark_seconds(progress: Progress) -> float | None:
    """The last instant of the results in seconds since 1970, on a TIMESTAMP clock."""
    if progress.now is None or progress.clock is not Clock.TIMESTAMP:
        return None
    return progress.now / 1e6


OF_PROGRESS: Sequence[Family[Progress]] = (
    ("windrow_rows_in_total", "Rows that the query has read.", lambda p: p.rows_in),
    ("windrow_rows_out_total", "Changes that the query has published.", lambda p: p.rows_out),
    ("windrow_late_rows_total", "Rows that were too late.", lambda p: p.late),
    (
        "windrow_quarantined_rows_total",
        "Rows quarantined, with late ones.",
        lambda p: p.quarantined,
    ),
    ("windrow_batches_total", "Micro-batches of this run.", lambda p: p.batches),
    ("windrow_overflows_total", "Sums that did not fit into BIGINT.", lambda p: p.overflows),
    ("windrow_idle_streams", "Streams that the query does not wait for.", lambda p: len(p.idle)),
    (
        "windrow_answers_late_seconds",
        "By how much the latest of its queries is beyond its period.",
        lambda p: max((late.seconds for late in p.lateness.values()), default=None),
    ),
    (
        "windrow_late_answers_total",
        "Answers that came later than their periods ask for.",
        lambda p: sum(late.late for late in p.lateness.values()) if p.lateness else None,
    ),
    ("windrow_watermark_seconds", "Last instant of the results, from 1970.", watermark_seconds),
    (
        "windrow_watermark_ticks",
        "Last instant of the results, on an integer clock.",
        lambda p: p.now if p.clock is Clock.INTEGER else None,
    ),
)
OF_PIPELINES: Sequence[Family[PipelineStatus]] = (
    ("windrow_pipeline_running", "1 if it runs.", lambda p: p.condition == "running"),
    ("windrow_pipeline_batch", "The last micro-batch.", lambda p: p.batch),
    ("windrow_pipeline_batch_seconds", "How long it took.", lambda p: p.batch_seconds),
    ("windrow_pipeline_restarts_total", "How often it was restarted.", lambda p: p.restarts),
)
OF_STREAMS: Sequence[Family[StreamStatus]] = (
    ("windrow_stream_lag_seconds", "The wall clock minus its time.", lambda s: s.lag_seconds),
    ("windrow_stream_files_total", "Files that were read.", lambda s: s.files),
    ("windrow_stream_bytes_total", "Bytes that were read.", lambda s: s.size),
    ("windrow_stream_files_waiting", "Files that wait.", lambda s: s.files_waiting),
    ("windrow_stream_refused_total", "Files that cannot be read.", lambda s: s.files_refused),
)
OF_QUERIES: Sequence[Family[QueryStatus]] = (
    ("windrow_state_bytes", "The state of the query.", lambda q: q.state_bytes),
    ("windrow_query_late", "1 if the query is late.", lambda q: q.is_late),
    ("windrow_query_failed", "1 if the query has failed.", lambda q: q.standing == "failed"),
)


def progress_families(latest: Sequence[Progress], now: int) -> Iterator[Metric]:
    """What runners tell of their queries; ``now`` is the wall clock."""
    named = [((p.query,), p) for p in latest]
    for family in OF_PROGRESS:
        yield _samples(family, ("query",), named)
    yield _samples(
        (
            "windrow_lag_seconds",
            "The wall clock minus the watermark.",
            lambda p: None if (reached := watermark_seconds(p)) is None else now / 1e6 - reached,
        ),
        ("query",),
        named,
    )


def checkpoint_families(found: CheckpointStatus) -> Iterator[Metric]:
    """What a checkpoint says of its pipelines, streams and queries."""
    pipelines = [((p.name,), p) for p in found.pipelines]
    streams = [((p.name, s.name), s) for p in found.pipelines for s in p.streams]
    queries = [((p.name, q.name), q) for p in found.pipelines for q in p.queries]
    for of_pipeline in OF_PIPELINES:
        yield _samples(of_pipeline, ("pipeline",), pipelines)
    for of_stream in OF_STREAMS:
        yield _samples(of_stream, ("pipeline", "stream"), streams)
    for of_query in OF_QUERIES:
        yield _samples(of_query, ("pipeline", "query"), queries)


def _samples(
    family: Family[T], labels: Sequence[str], items: Iterable[tuple[Sequence[str], T]]
) -> Metric:
    name, text, value_of = family
    kind = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
    found = kind(name, text, labels=labels)
    for names, item in items:
        value = value_of(item)
        if value is not None:
            found.add_metric(list(names), float(value))
    return found
