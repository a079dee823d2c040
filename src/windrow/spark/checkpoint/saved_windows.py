"""The windows of tuples in the state of a checkpoint, read from its files.

A stage's plan says which operator holds what (``windrow.operators.state.held_tuples``), and under
which name its buffer is saved; of each bucket only the segments of that buffer are read, and no
operator is brought back to work. It needs neither Spark nor the run, which may go on: a commit
names files that stay for a while, and who finds one gone takes a newer commit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from windrow.columns.delta import Delta, concat
from windrow.columns.types import arrow_schema
from windrow.core.time import BEGINNING, Clock
from windrow.engine.build import operator_for
from windrow.engine.live_windows import Coming, LiveWindow, Tuples
from windrow.engine.pipeline import Pipeline
from windrow.engine.summary_tables import (
    sliding_operator,
    take_shared_summaries,
    take_summaries,
)
from windrow.engine.synopsis_answers import probe_synopses
from windrow.operators.base import below
from windrow.operators.shared_group_by import SharedAggregation
from windrow.operators.snap import PendingChanges
from windrow.operators.state.buffer import StateBuffer
from windrow.operators.state.held_tuples import HeldInput
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.nodes import Node, SharedGroupBy, SlidingGroupBy, StageInput, Subscribe, walk
from windrow.plan.nodes.rebuild import map_inputs
from windrow.plan.physical.stages import Stage, StageEdge
from windrow.plan.sharing.shared_synopses import SharedSynopses
from windrow.plan.strategy import Strategy
from windrow.plan.window_contents import WindowContents, contents_of
from windrow.spark.checkpoint.pipeline_directory import PipelineHome
from windrow.spark.stage.bucket_host import PIPELINE, WAITING, waiting_tuples
from windrow.spark.stage.state_files import BucketFiles, Contents, StateCommits, Version


@dataclass(frozen=True)
class SavedJob:
    """A query whose state is in a pipeline: its number there, and its stages."""

    name: str
    number: int
    stages: Sequence[Stage]
    strategy: Strategy
    since: Mapping[str, int]

    @property
    def sources(self) -> set[str]:
        """Lower-case names of the streams and relations that it reads."""
        edges = (edge for stage in self.stages for edge in stage.inputs)
        return {edge.source.lower() for edge in edges if isinstance(edge.source, str)}


@dataclass(frozen=True)
class SavedWindow(LiveWindow):
    """A live window in saved state: ``parts`` are its tuples by bucket. What was ``sent`` to its
    operator and waits for its instant to be closed is ``waiting``, by bucket too."""

    parts: Sequence[Callable[[], Delta]]
    sent: WindowContents
    waiting: Sequence[Callable[[], Delta]]


def saved_windows(
    job: SavedJob, state: Path, version: Version, wanted: Collection[str]
) -> Iterator[SavedWindow]:
    """Windows of ``wanted`` streams and relations in a version of the state."""
    if not job.sources & set(wanted):
        return
    for stage in job.stages:
        if any(isinstance(node, Subscribe) for node in walk(stage.plan)):
            continue
        found = {
            name: held
            for name, held in _held_parts(job, stage).items()
            if held.contents.stream in wanted
        }
        buckets = saved_buckets(stage, state, version, job.number) if found else []
        for name, held in found.items():
            window = _window(job, name, held, buckets)
            if window is not None:
                yield window


@dataclass(frozen=True)
class _HeldPart:
    """What an operator holds of a stream or relation, and the edge by which that comes."""

    part: HeldInput
    contents: WindowContents
    edge: StageEdge
    before: tuple[str, WindowContents, pa.Schema] | None = None
    """The operator in which tuples wait for the window to slide, if it does, and what they are."""


def _held_parts(job: SavedJob, stage: Stage) -> dict[str, _HeldPart]:
    """What operators of a stage hold of streams and relations, by the names it is saved under."""
    sent = {
        edge.name: edge
        for edge in stage.inputs
        if isinstance(edge.source, str) and edge.post is None and edge.summed is None
    }
    left = Strategy.UPA if job.strategy is Strategy.NT else job.strategy
    final = stage is job.stages[-1]
    pipeline = Pipeline(stage.plan, changes=final, strategy=left, answers=False)
    found, sliding = {}, pipeline.sliding_windows()
    for name, (node, part) in pipeline.held_inputs().items():
        contents = contents_of(_with_senders(node, sent))
        if contents is not None:
            leaf = next(leaf for leaf in walk(node) if isinstance(leaf, StageInput))
            if part.expressions is not None:
                contents = contents.as_columns(part.expressions)
            slides = next((n for n, (window, _) in sliding.items() if window in walk(node)), None)
            found[name] = _HeldPart(part, contents, sent[leaf.name])
            if slides is not None:
                window, operator = sliding[slides]
                before = contents_of(_with_senders(window, sent))
                assert before is not None, "a part of a window has the form of the whole"
                found[name] = replace(found[name], before=(slides, before, operator.schema))
    return found


def _with_senders(node: Node, sent: Mapping[str, StageEdge]) -> Node:
    """A part of a stage's plan with what its senders do below it."""
    if isinstance(node, StageInput):
        return sent[node.name].pre if node.name in sent else node
    return map_inputs(node, lambda child: _with_senders(child, sent))


@dataclass(frozen=True)
class SavedBucket:
    """The state of a job in one bucket: files, what they contain, and its small values."""

    files: BucketFiles
    contents: Contents
    meta: Mapping[str, Any]
    prefix: str

    def load(self, name: str, buffer: StateBuffer) -> StateBuffer:
        """Fill a fresh buffer with what was saved under a name."""
        buffer.load(self.segments(name), self.small(name))
        return buffer

    def segments(self, name: str) -> dict[str, pa.RecordBatch]:
        """What an operator, or a part of one, has saved."""
        start = f"{self.prefix}.{PIPELINE}.{name}"
        mine = {n: s for n, s in self.contents.segments.items() if n.startswith(f"{start}.")}
        return below(start, self.files.segments(Contents(mine)))

    def waiting(self, edge: StageEdge) -> Delta:
        """What has come along an edge and waits for its instant to be closed."""
        schema, start = arrow_schema(edge.schema), f"{self.prefix}.{WAITING}.{edge.name}."
        mine = {n: s for n, s in self.contents.segments.items() if n.startswith(start)}
        batches = self.files.segments(Contents(mine)).values()
        return concat([waiting_tuples(batch, schema) for batch in batches], schema)

    def coming(self, name: str, schema: pa.Schema) -> Delta:
        """What waits in an operator for its window to slide."""
        pending = PendingChanges(schema)
        pending.load(self.segments(name), self.small_values(name))
        return pending.rows

    def small_values(self, name: str) -> Mapping[str, Any]:
        """Those of a whole operator."""
        known: Mapping[str, Any] = self.meta[PIPELINE][name]
        return known

    def small(self, name: str) -> Mapping[str, Any]:
        """The small values of a part of an operator."""
        operator, _, part = name.partition(".")
        known: Mapping[str, Any] = self.meta[PIPELINE][operator][part]
        return known


def saved_buckets(stage: Stage, state: Path, version: Version, number: int) -> list[SavedBucket]:
    """The state of a job in all buckets of a stage."""
    found = []
    for key, file in version.files.items():
        level, bucket = map(int, key.split("."))
        if level == stage.number:
            files = BucketFiles(state, level, bucket)
            contents = files.read(file)
            meta = contents.meta.get(str(number))
            if meta is not None:
                found.append(SavedBucket(files, contents, meta, str(number)))
    return found


def _window(
    job: SavedJob, name: str, held: _HeldPart, buckets: Sequence[SavedBucket]
) -> SavedWindow | None:
    """What all buckets hold together; None if there is none, or one has left tuples out."""
    if not buckets or not all(bucket.small(name).get("whole", False) for bucket in buckets):
        return None
    now = min(int(bucket.meta["now"]) for bucket in buckets)
    like, contents, whole_at = held.part.buffer, held.contents, held.part.whole_at(now)

    def load(bucket: SavedBucket) -> Tuples:
        empty = StateBuffer(like.schema, like.pattern, like.kind)
        return bucket.load(name, empty).lend(whole_at).tuples

    def take() -> Tuples:
        lent = [load(bucket) for bucket in buckets]
        return lambda: concat([tuples() for tuples in lent], like.schema)

    since, sent = job.since.get(contents.stream, BEGINNING), contents_of(held.edge.pre)
    assert sent is not None
    parts = [lambda bucket=bucket: load(bucket)() for bucket in buckets]
    waiting = [partial(bucket.waiting, held.edge) for bucket in buckets]
    coming = None
    if held.before is not None:
        operator, before, schema = held.before
        coming = Coming(before, [partial(bucket.coming, operator, schema) for bucket in buckets])
    numbers = _numbers(name, buckets) if held.part.numbered else None
    return SavedWindow(
        job.name, contents, now, whole_at, since, take, coming, numbers, parts, sent, waiting
    )


def _numbers(name: str, buckets: Sequence[SavedBucket]) -> range:
    """Those of the rows of a window of rows, all of which are in one bucket."""
    stretches = (bucket.small(name) for bucket in buckets)
    return max((range(s["base"], s["next"]) for s in stretches), key=lambda rows: rows.stop)


def saved_summaries(
    job: SavedJob, state: Path, version: Version, clock: Clock
) -> Callable[[], pa.Table] | None:
    """The summaries of sub-windows that a query keeps, of all buckets; None if it keeps none."""
    for stage in job.stages:
        plan = Pipeline(stage.plan, changes=False) if _has_sliding_groups(stage) else None
        for name, (node, _) in ({} if plan is None else plan.sliding_groups()).items():
            makers = []
            for bucket in saved_buckets(stage, state, version, job.number):
                operator = sliding_operator(node)
                operator.load(bucket.segments(name), bucket.small_values(name))
                makers.append(take_summaries(node, operator, clock))
            return (lambda made=makers: pa.concat_tables([m() for m in made])) if makers else None  # type: ignore[misc]
    return None


def saved_shared_summaries(
    job: SavedJob,
    state: Path,
    version: Version,
    group: SharedSynopses,
    number: int,
    query: QueryDeclaration,
) -> Callable[[], pa.Table] | None:
    """The same of a query that shares synopses, which is a member of the job; None before the first
    micro-batch."""
    tables = [
        take_shared_summaries(group, node, operator, number, query)
        for node, operator in _shared_operators(job, state, version)
    ]
    return (lambda: pa.concat_tables(tables)) if tables else None


def probe_saved_synopses(
    job: SavedJob, state: Path, version: Version, group: SharedSynopses, query: QueryDeclaration
) -> tuple[pa.Table, int] | None:
    """What the synopses of a job answer to a query that is asked once; None if they do not."""
    operators = [operator for _, operator in _shared_operators(job, state, version)]
    found = [probe_synopses(group, operator, query) for operator in operators]
    answers = [answer for answer in found if answer is not None]
    if not answers or len(answers) < len(found):
        return None
    return pa.concat_tables([rows for rows, _ in answers]), min(at for _, at in answers)


def _shared_operators(
    job: SavedJob, state: Path, version: Version
) -> Iterator[tuple[SharedGroupBy, SharedAggregation]]:
    """The operators over shared synopses of all buckets, as they were saved."""
    for stage in job.stages:
        for name, node in _shared_groups(stage).items():
            for bucket in saved_buckets(stage, state, version, job.number):
                operator = operator_for(node)
                assert isinstance(operator, SharedAggregation)
                operator.load(bucket.segments(name), bucket.small_values(name))
                yield node, operator


def _shared_groups(stage: Stage) -> dict[str, SharedGroupBy]:
    """The nodes over shared synopses, by the names that their operators are saved by."""
    if not any(isinstance(node, SharedGroupBy) for node in walk(stage.plan)):
        return {}
    pipeline = Pipeline(stage.plan, changes=False)
    found = [n for n, o in enumerate(pipeline.operators) if isinstance(o, SharedAggregation)]
    nodes = [node for node in walk(stage.plan) if isinstance(node, SharedGroupBy)]
    return {str(number): node for number, node in zip(found, nodes, strict=True)}


def _has_sliding_groups(stage: Stage) -> bool:
    return any(isinstance(node, SlidingGroupBy) for node in walk(stage.plan))


def newest_version(state: Path) -> tuple[int, Version]:
    """The newest commit of state, and its micro-batch; -1 if there is none."""
    commits = StateCommits(state)
    numbers = commits.numbers()
    return (numbers[-1], commits.read(numbers[-1])) if numbers else (-1, Version())


def missed_by(home: PipelineHome, job: str) -> dict[str, int]:
    """Of streams that had rows before a job was made, up to which instant it has missed some."""
    how = home.joined.get(job)
    if how is None:
        return pushed_before(home)
    if how.files and how.rows is None and not how.summarised:
        # A Windrow that counted from 0 what it filled windows with: of these nothing is taken.
        return {stream: max(since, how.closed) for stream, since in how.since.items()}
    return dict(how.since)


def pushed_before(home: PipelineHome) -> dict[str, int]:
    """Of streams of a connection that had rows before a pipeline was made, up to which instant."""
    if not home.inboxes.exists():
        return {}
    known = json.loads(home.inboxes.read_text())
    return {name.lower(): max(time) for name, (first, _, *time) in known.items() if first and time}
