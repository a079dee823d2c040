"""A job that comes to a pipeline which has run: filled with what the others hold, and let in.

What it would have by now is taken from the committed state of a micro-batch: windows of other jobs,
bucket by bucket (``saved_windows``), and the tuples that wait there for their instant to be closed.
Both are written down as its edges would have given them, so nobody is needed for it afterwards; a
micro-batch that is repeated fills it with the same. Its number and how it joined go into
``pipeline.json``, in one step: what was cut short before that is nothing.

The rules are those of a late query on an embedded connection (``windrow.engine.late_start``).
Cost: the tuples of the windows are read and written once, in memory of a bucket.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

import pyarrow as pa

from windrow.columns.delta import Delta
from windrow.columns.types import arrow_schema
from windrow.core.time import BEGINNING
from windrow.engine.late_start import (
    FillPoint,
    LateStart,
    fill_points,
    late_start,
    relations_shown_from,
)
from windrow.engine.live_windows import Choice, choose
from windrow.plan.catalog import StreamDeclaration
from windrow.plan.nodes import Node, RelationScan, walk
from windrow.plan.nodes.window_specs import PARTITIONED, UnboundedWindow
from windrow.plan.physical.cut_stages import plan_of_stages
from windrow.plan.physical.stages import StageEdge
from windrow.plan.window_contents import contents_of
from windrow.result_files.atomic_files import delete, write
from windrow.spark.checkpoint.pipeline_directory import Joined, PipelineHome
from windrow.spark.checkpoint.saved_windows import SavedJob, SavedWindow, saved_windows
from windrow.spark.source.file_log import FileLog
from windrow.spark.source.fill_task import write_tuples
from windrow.spark.stage.state_files import RETAINED, Version
from windrow.streams.stream_time import StreamTime, Times, time_reached, to_json


@dataclass(frozen=True)
class Joining:
    """A job that wants to come: what it reads by the names in its plan, and its stages."""

    job: SavedJob
    plan: Node
    streams: Mapping[str, StreamDeclaration]

    @property
    def edges(self) -> list[StageEdge]:
        """The inputs of its stages that come from streams and relations."""
        inputs = (edge for stage in self.job.stages for edge in stage.inputs)
        return [edge for edge in inputs if isinstance(edge.source, str)]


@dataclass(frozen=True)
class Moment:
    """A pipeline after a micro-batch: its state, those of its jobs that go on and may hold windows,
    and the lower-case names of all that is ``read`` there."""

    home: PipelineHome
    batch: int
    version: Version
    holders: Sequence[SavedJob]
    read: frozenset[str]

    def time_of(self, stream: str) -> tuple[StreamTime, bool]:
        """How far a stream had come, and whether it was ever idle."""
        time, idle = self._start(stream), False
        log = self.home.log(stream)
        for entry in FileLog.entries_in(log) if log.exists() else ():
            if (entry.batch or 0) <= self.batch:
                time, idle = entry.after(time), idle or entry.idle
        return time, idle

    def _start(self, stream: str) -> StreamTime:
        if not self.home.inboxes.exists():
            return StreamTime()
        known = {n.lower(): at for n, at in json.loads(self.home.inboxes.read_text()).items()}
        _, _, *time = known.get(stream.lower(), (0, 0))
        return StreamTime(*time)


@dataclass(frozen=True)
class LateFill:
    """What a job is filled with: windows by the numbers of its edges, if it has missed anything."""

    moment: Moment
    edges: Sequence[StageEdge]
    times: Times
    closed: int
    start: LateStart | None
    relations: Mapping[int, Choice]
    timestamps: Mapping[str, int]

    @property
    def is_complete(self) -> bool:
        """Whether its answers are complete as soon as the others have come to where they are."""
        if self.start is None:
            return True
        reached = (choice.window.now for choice in self.start.fills.values())
        return self.start.complete_from <= max(self.closed, *reached, BEGINNING)

    def write(self) -> Joined:
        """Write the tuples down; how the job has joined, then."""
        fills = {} if self.start is None else self.start.fills
        files: dict[str, list[str]] = {}
        first = {} if self.start is None else self.start.first_rows
        rows = {self.edges[number].name: row for number, row in first.items()}
        size, directory = 0, self.moment.home.fills
        for number, choice in {**fills, **self.relations}.items():
            edge, name = self.edges[number], f"{uuid.uuid4().hex}.arrow"
            timestamp = self.timestamps.get(str(edge.source).lower())
            directory.mkdir(parents=True, exist_ok=True)
            sizes: list[int] = []
            tuples = _tuples(choice, timestamp, arrow_schema(edge.pre.schema), sizes)
            write(directory / name, partial(write_tuples, edge, tuples))
            files[edge.name] = [name]
            size += sum(sizes)
        start, after = self.start, self.moment.batch
        if start is None:
            begins = self.closed if self.relations else BEGINNING
            times = to_json(self.times)
            return Joined(after, self.closed, begins, times=times, files=files, size=size, rows={})
        complete = start.since_when if start.fills else start.complete_from
        return Joined(
            after,
            self.closed,
            start.begins if start.fills else self.closed,
            complete,
            size,
            dict(start.since),
            to_json(self.times),
            files,
            rows=rows,
        )


def late_fill(joining: Joining, moment: Moment) -> LateFill | str:
    """What a job is filled with that joins after a micro-batch, or why it cannot join."""
    for name in joining.streams:
        if name.lower() not in moment.read:
            return f"no running query reads {name}"
    known = {name: moment.time_of(name) for name in joining.streams}
    times: Times = {name: time for name, (time, _) in known.items()}
    slacks = {name: stream.slack for name, stream in joining.streams.items()}
    closed, edges = time_reached(times, slacks), joining.edges
    of_relations = {n for n, edge in enumerate(edges) if _is_relation(edge)}
    tops = {edges[n].source for n in range(len(edges)) if n not in of_relations}
    missed = {str(n).lower(): times[str(n)].top for n in tops if times[str(n)].top > BEGINNING}
    windows = list(_windows(joining, moment))
    timestamps = {name.lower(): stream.timestamp for name, stream in joining.streams.items()}
    start = late_start(_points(joining, edges), windows, missed, timestamps, closed)
    read = {str(edges[n].source) for n in of_relations}
    as_of = {name.lower(): closed for name in read if times[name].top > BEGINNING}
    shown = relations_shown_from(joining.plan, as_of, began=bool(missed))
    if shown > closed:
        start = start or LateStart({}, shown, closed, {})
        start = replace(start, complete_from=max(start.complete_from, shown))
    relations: dict[int, Choice] = {}
    for number in sorted(of_relations):
        name = str(edges[number].source)
        if times[name].top == BEGINNING:
            continue
        wanted = contents_of(edges[number].pre)
        unnamed = [str(n) for n in range(len(edges[number].pre.schema))]
        choice = None if wanted is None else choose(wanted, unnamed, windows, None)
        if choice is None:
            return f"no running query holds all that it needs of {name}"
        relations[number] = choice
    return LateFill(moment, edges, times, closed, start, relations, timestamps)


def complete_after(joining: Joining, missed: Mapping[str, int]) -> int | None:
    """From when answers are complete of a job that nobody fills and that has ``missed`` tuples of
    streams up to some instants; None if it has missed nothing."""
    start = unfilled_start(joining, missed)
    return None if start is None else start.complete_from


def unfilled_start(joining: Joining, missed: Mapping[str, int]) -> LateStart | None:
    """How a job begins that nobody fills; None if it has missed nothing."""
    return late_start(_points(joining, joining.edges), [], missed, {}, BEGINNING)


def sweep_fills(home: PipelineHome) -> None:
    """Remove what jobs were filled with so long ago that no micro-batch goes back to it, and what
    was cut short."""
    taken = home.version.published
    needed = {
        file
        for name, how in home.joined.items()
        if taken.get(home.number_of(name), (-1, 0))[1] <= RETAINED
        for files in how.files.values()
        for file in files
    }
    for path in home.fills.glob("*.arrow"):
        if path.name not in needed:
            delete(path)


def _is_relation(edge: StageEdge) -> bool:
    return any(isinstance(node, RelationScan) for node in walk(edge.pre))


def _windows(joining: Joining, moment: Moment) -> Iterator[SavedWindow]:
    """The windows of jobs that have let no row of theirs pass because it came too late.

    That happens to a job of several streams of which one was idle.
    """
    wanted = {name.lower() for name in joining.streams}
    for holder in moment.holders:
        if len(holder.sources) > 1 and any(moment.time_of(name)[1] for name in holder.sources):
            continue
        yield from saved_windows(holder, moment.home.state, moment.version, wanted)


def _points(joining: Joining, edges: Sequence[StageEdge]) -> list[FillPoint] | None:
    """Where tuples come into windows, by the numbers of edges; None if they are not enough.

    An edge may lead to several windows, all of which get the same tuples.
    """
    points = fill_points(plan_of_stages(joining.plan, joining.job.strategy))
    if points is None:
        return None
    found: list[FillPoint] = []
    for point in points:
        number = next((n for n, edge in enumerate(edges) if _gives(edge, point)), None)
        if number is None:
            return None
        found.append(replace(point, number=number))
    for number in {point.number for point in found}:
        specs = {point.contents.spec for point in found if point.number == number}
        if len(specs) > 1 and any(isinstance(spec, PARTITIONED) for spec in specs):
            return None
    streams = {n for n, edge in enumerate(edges) if not _is_relation(edge)}
    return found if streams == {point.number for point in found} else None


def _gives(edge: StageEdge, point: FillPoint) -> bool:
    """Whether an edge gives the tuples of a point."""
    sent = contents_of(edge.pre)
    below = replace(point.contents, spec=UnboundedWindow(), partition=())
    return (
        sent is not None
        and sent == replace(below, source=sent.source)
        and (sent.stream == below.stream)
    )


def _tuples(
    choice: Choice, timestamp: int | None, schema: pa.Schema, sizes: list[int]
) -> Iterator[Delta]:
    """What is held, and what waits, as an edge gives it; of how many bytes each piece is."""
    window = choice.window
    assert isinstance(window, SavedWindow)
    held = (choice.insertions(part(), schema) for part in window.parts)
    parts = () if window.coming is None else window.coming.parts
    coming = choice.coming_insertions(parts, schema)
    sent = choice.before_window(window.sent, timestamp)
    waiting = (sent.derive(part().sorted(), schema) for part in window.waiting)
    for tuples in chain(held, coming, waiting):
        sizes.append(tuples.nbytes)
        yield tuples
