"""How far the time of a query has come: what is known of each of its streams, and the rule.

The slowest stream decides. Embedded, the input monitors know their streams. On Spark every packing
task sends what it knows to every bucket, so that all buckets of all stages reach the same instant
in the same micro-batch, with or without tuples of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from windrow.core.time import BEGINNING


@dataclass(frozen=True)
class StreamTime:
    """What is known of a stream's time after ``at`` entries of its log.

    ``top`` is the greatest timestamp seen, ``advanced`` the instant that was declared closed, and
    ``over`` says that nothing more will come, ``idle`` that nothing has come for long. A stream
    that goes on after its end, because a later run found new files, is not over any more.
    """

    top: int = BEGINNING
    advanced: int = BEGINNING
    over: bool = False
    at: int = 0
    idle: bool = False

    def closed_instant(self, slack: int) -> int:
        """The last instant of which every tuple has come."""
        return max(self.advanced, self.top - slack - 1 if self.top > BEGINNING else BEGINNING)

    def merge(self, other: StreamTime) -> StreamTime:
        """What both know together; of end and silence of the stream the later one knows better."""
        later = max(self, other, key=lambda t: (t.at, t.over, t.idle))
        top, advanced = max(self.top, other.top), max(self.advanced, other.advanced)
        return StreamTime(top, advanced, later.over, later.at, later.idle)


UNKNOWN = StreamTime()
K = TypeVar("K")
Times = dict[str, StreamTime]


def merge_times(parts: Iterable[Mapping[str, StreamTime]]) -> Times:
    """All that the parts know."""
    times: Times = {}
    for part in parts:
        for stream, time in part.items():
            times[stream] = times[stream].merge(time) if stream in times else time
    return times


def time_reached(times: Mapping[K, StreamTime], slacks: Mapping[K, int]) -> int:
    """The instant up to which a query over the streams of ``slacks`` can be answered.

    Streams that are over or idle hold nothing back. If all that are not over are idle, time stays
    where the caller has it; when all are over, it ends at the greatest timestamp that any of them
    saw or was advanced to.
    """
    known = {stream: times.get(stream, UNKNOWN) for stream in slacks}
    open_ones = {stream: t for stream, t in known.items() if not t.over}
    running = {stream: t for stream, t in open_ones.items() if not t.idle}
    if open_ones:
        return min(t.closed_instant(slacks[stream]) for stream, t in (running or open_ones).items())
    return max((max(t.top, t.advanced) for t in known.values()), default=BEGINNING)


def to_json(times: Mapping[str, StreamTime]) -> dict[str, list[int]]:
    return {s: [t.top, t.advanced, int(t.over), t.at, int(t.idle)] for s, t in times.items()}


def from_json(times: Mapping[str, list[int]]) -> Times:
    """Of old state nothing is known of idle streams: there were none."""
    return {
        s: StreamTime(top, advanced, bool(over), at, any(idle))
        for s, (top, advanced, over, at, *idle) in times.items()
    }
