"""``--metrics PORT``: how a run is doing, as text for Prometheus, on this machine only.

What every runner tells of its queries is served as it was told last. On Spark the checkpoint is
looked at too whenever somebody asks (``windrow.spark.checkpoint.checkpoint_status``).
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, ProcessCollector, start_http_server

from windrow.cli.metric_families import checkpoint_families, progress_families
from windrow.core.errors import InputError, StateError
from windrow.core.time import Wall, wall_clock
from windrow.engine.progress import Progress

if TYPE_CHECKING:
    from prometheus_client.core import Metric

LOOPBACK = "127.0.0.1"


class Metrics:
    """See the module. ``show`` may be called from any thread."""

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
