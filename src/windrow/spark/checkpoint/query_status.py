"""How a query is doing: what it has published, the size of its state, and whether it is late."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from windrow.core.errors import StateError
from windrow.core.paths import is_object_url
from windrow.core.time import Clock
from windrow.engine.progress import Lateness
from windrow.result_files.commits import Totals, committed_results
from windrow.result_files.identity import Identity
from windrow.spark.checkpoint.run_record import Mishap, QueryRecord, Traffic
from windrow.spark.checkpoint.stream_status import StreamStatus, lag_seconds, rate
from windrow.spark.stage.state_files import BucketFiles, StateCommits

IDENTITY = "windrow.json"
"""Of ``query_directory``, which takes long to load."""
ATTEMPTS = 20
"""Others remove files while they are read; each time that happens there is a newer version."""
HELD_BACK = 60
"""Seconds that one stream of a query may be behind another."""
BEHIND = 30
"""Seconds that a file may wait."""


class Standing(StrEnum):
    """Whether a query keeps up, and if not why; the first that is true."""

    FAILED = "failed"
    LEFT_BEHIND = "left behind"
    HELD_BACK = "held back"
    BEHIND = "behind"
    STRETCHED = "answers late"
    UP_TO_DATE = "up to date"


@dataclass(frozen=True)
class QueryStatus:
    """Queries that run as one share it. Rows are those of all runs; ``watermark`` is the last
    instant that is part of the results, and ``reason`` says why a query is late."""

    name: str
    queries: tuple[str, ...]
    standing: Standing
    reason: str = ""
    clock: str | None = None
    watermark: int | None = None
    lag_seconds: float | None = None
    rows_in: int = 0
    rows_out: int = 0
    late: int = 0
    rejected: int = 0
    rows_in_per_second: float | None = None
    rows_out_per_second: float | None = None
    state_bytes: int | None = None
    batch: int | None = None
    streams: tuple[str, ...] = ()
    results: str | None = None
    lateness: Mapping[str, Lateness] = field(default_factory=dict)
    """Of those of its queries that may be late: whether they are, and have been."""

    @property
    def is_late(self) -> bool:
        return self.standing is not Standing.UP_TO_DATE


@dataclass(frozen=True)
class Surroundings:
    """What is known of the pipeline of a query: ``sizes`` of state by number, ``left`` jobs and
    why, ``totals`` of those that publish elsewhere, ``traffic`` if it runs, the wall clock, and the
    ``lateness`` of queries by job."""

    checkpoint: Path
    streams: Mapping[str, StreamStatus]
    sizes: Mapping[int, int] | None
    left: frozenset[str]
    failures: Mapping[str, Mishap]
    totals: Mapping[str, Totals]
    traffic: Traffic | None
    now: int
    lateness: Mapping[str, Mapping[str, Lateness]] = field(default_factory=dict)


def query_status(
    name: str, number: int, batch: int | None, record: QueryRecord | None, around: Surroundings
) -> QueryStatus:
    """The job of a directory; ``batch`` is the last micro-batch that it took part in."""
    home, now, traffic = around.checkpoint / name, around.now, around.traffic
    results = str(home / "results") if record is None else record.results
    if is_object_url(results):
        totals = around.totals.get(name, Totals())
    else:
        totals = totals_in(Path(results), _run_in(Path(results)) or _run_of(home)) or Totals()
    clock = None if record is None else record.clock
    streams = () if record is None else record.streams
    standing, reason = _standing(name, streams, around)
    flows = None if traffic is None or name in around.left else traffic
    return QueryStatus(
        name=name,
        queries=(name,) if record is None else record.queries,
        standing=standing,
        reason=reason,
        clock=clock,
        watermark=totals.now,
        lag_seconds=lag_seconds(totals.now, clock, now),
        rows_in=totals.rows_in,
        rows_out=totals.rows_out,
        late=totals.late,
        rejected=totals.rejected,
        rows_in_per_second=None if flows is None else rate(flows.rows_in.get(name), flows, now),
        rows_out_per_second=None if flows is None else rate(flows.rows_out.get(name), flows, now),
        state_bytes=None if around.sizes is None else around.sizes.get(number, 0),
        batch=batch,
        streams=streams,
        results=results,
        lateness=around.lateness.get(name, {}),
    )


def _standing(name: str, streams: Sequence[str], around: Surroundings) -> tuple[Standing, str]:
    why = around.failures.get(name)
    if why is not None:
        return Standing.FAILED, why.text
    if name in around.left:
        return Standing.LEFT_BEHIND, "the last run did not have it"
    mine = [around.streams[stream] for stream in streams if stream in around.streams]
    running = [s for s in mine if s.time is not None and not s.over and not s.idle]
    if len(running) > 1:
        slow, fast = (pick(running, key=_time_of) for pick in (min, max))
        if _time_of(fast) - _time_of(slow) > HELD_BACK * _ticks_per_second(slow):
            return Standing.HELD_BACK, f"{slow.name} is behind {fast.name}"
    late = [s for s in mine if (s.waiting_seconds or 0) > BEHIND]
    if late:
        return Standing.BEHIND, f"files of {', '.join(s.name for s in late)} wait"
    stretched = {q: found.seconds for q, found in around.lateness.get(name, {}).items()}
    if any(stretched.values()):
        latest = sorted(stretched.items(), key=lambda item: -item[1])
        return Standing.STRETCHED, ", ".join(f"{q} by {by:,.1f} s" for q, by in latest if by)
    return Standing.UP_TO_DATE, ""


def _time_of(stream: StreamStatus) -> int:
    return stream.time or 0


def _ticks_per_second(stream: StreamStatus) -> int:
    return Clock(stream.clock or Clock.INTEGER.value).ticks_per_second


def totals_in(directory: Path, run: str | None) -> Totals | None:
    """What the commits of a directory add up to; None if they are gone or damaged."""
    for _ in range(ATTEMPTS):
        try:
            return committed_results(directory, run).totals
        except FileNotFoundError:
            continue
        except (OSError, StateError):
            return None
    return None


def _run_in(results: Path) -> str | None:
    """The run whose table results are part of, if they are."""
    try:
        known = Identity.read(results)
    except StateError:
        return None
    return known.run if known is not None and known.table else None


def _run_of(home: Path) -> str | None:
    try:
        return str(json.loads((home / IDENTITY).read_text(encoding="utf-8"))["run"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def state_sizes(state: Path) -> dict[int, int] | None:
    """The bytes of each job's state, by its number; None if they cannot be read."""
    commits = StateCommits(state)
    for _ in range(ATTEMPTS):
        numbers = commits.numbers()
        if not numbers:
            return {}
        sizes: Counter[int] = Counter()
        try:
            for key, name in commits.read(numbers[-1]).files.items():
                contents = BucketFiles(state, *map(int, key.split("."))).read(name)
                for segment, place in contents.segments.items():
                    sizes[int(segment.partition(".")[0])] += place.length
        except FileNotFoundError:
            continue
        except (StateError, OSError, ValueError):
            if commits.numbers()[-1:] == numbers[-1:]:
                return None
            continue
        return dict(sizes)
    return None
