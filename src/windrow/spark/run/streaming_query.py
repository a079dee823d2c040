"""A query on Spark: sources, the chain of its stages and the sink, as one streaming query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from windrow.core.errors import InputError, StateError
from windrow.core.file_formats import FORMATS
from windrow.core.time import BEGINNING, FOREVER, Wall, wall_clock
from windrow.engine.idling import idle_after
from windrow.plan.catalog import (
    Catalog,
    QueryDeclaration,
    RelationDeclaration,
    StreamDeclaration,
)
from windrow.plan.nodes import RelationScan, StreamScan, walk
from windrow.plan.physical.cut_stages import cut_into_stages
from windrow.plan.physical.stages import Stage
from windrow.plan.strategy import Strategy
from windrow.result_files.compaction import compact_before_answering, forget_drained
from windrow.result_files.identity import Identity, identity_of
from windrow.result_files.last_answer import Answer, last_answer
from windrow.result_files.ownership import prepare
from windrow.result_files.reader import Reading, published_results
from windrow.result_files.sinks import COMPACT_AT
from windrow.spark.active_session import active
from windrow.spark.checkpoint.lost_results import refuse_lost_results
from windrow.spark.checkpoint.query_directory import Home, fingerprint_of, open_home
from windrow.spark.checkpoint.state import sweep
from windrow.spark.checkpoint.survey import damage_error, quick_survey, survey
from windrow.spark.run.direct_plan import DirectPlan, through_stages
from windrow.spark.run.session import index_memory, on_one_machine, shuffle_partitions
from windrow.spark.sink.file_delivery import FileDelivery
from windrow.spark.sink.publisher import Publisher, RunBatch, collect_blobs
from windrow.spark.source.file_log import Refusals, ends_idle
from windrow.spark.source.file_source import FORMAT, SourceSpec, WindrowSource, encoded
from windrow.spark.source.frame_packer import FramePacker, with_wall
from windrow.spark.stage import exchange
from windrow.spark.stage.range_partition import layout_for
from windrow.spark.stage.routes import PACKED, Routes
from windrow.spark.stage.stage_task import Report, ResultDelivery, StageTask
from windrow.spark.stage.subscription_index import with_cut, with_whole_paths
from windrow.streams.quarantine import Quarantine
from windrow.streams.relations import updates_of
from windrow.streams.stream_time import StreamTime

WATCHING = "500 milliseconds"
"""How often a directory that is watched is looked at."""


@dataclass(frozen=True)
class Delivery:
    """An inbox as a query finds it when it starts; ``since`` is for relations (see ``source``)."""

    directory: Path
    first: int
    start: StreamTime
    since: int = BEGINNING


@dataclass(frozen=True)
class Feed:
    """How the rows come: ``once`` ends with the files that are there; ``live`` never pauses.

    ``files`` is how many files of a stream a trigger takes; None leaves it to their size. Results
    of another run are refused unless ``overwrite`` says that they may go. By the ``wall`` rows are
    ahead and streams idle.
    """

    once: bool = False
    live: bool = False
    files: int | None = None
    quarantine: Quarantine | None = None
    overwrite: bool = False
    inboxes: Mapping[str, Delivery] = field(default_factory=dict)
    frames: Mapping[str, DataFrame] = field(default_factory=dict)
    wall: Wall = wall_clock


class SparkQuery:
    """A declared query and its directory; ``start`` starts it, or goes on where it stopped.

    Its results are changes in files. Those of an archive are rows that say themselves when
    they end, and ``waiting`` is how many of them are not in the archive yet.
    """

    def __init__(
        self,
        session: SparkSession,
        declaration: QueryDeclaration,
        catalog: Catalog,
        directory: Path,
        strategy: Strategy = Strategy.UPA,
    ) -> None:
        self.declaration = declaration
        self._session, self._strategy = session, strategy
        plan = with_whole_paths(declaration.plan)
        self._inputs = inputs_of(declaration, catalog)
        self._streams = {
            name: updates_of(i, declaration.clock) if isinstance(i, RelationDeclaration) else i
            for name, i in self._inputs.items()
        }
        self.streams = tuple(self._streams)
        self.home: Home = open_home(
            directory.absolute(),
            declaration.name,
            fingerprint_of(cut_into_stages(plan, strategy), self._inputs, strategy),
            lambda: layout_for(plan, shuffle_partitions(session), index_memory(session)),
        )
        self._stages = cut_into_stages(with_cut(plan, self.home.layout.cut), strategy)
        into = declaration.into
        to_files = into is not None and into.format in FORMATS
        self.destination = Path(into.path).absolute() if into and to_files else None
        self.format = into.format if into and to_files else "parquet"
        self.identity: Identity = identity_of(declaration, self.home.run, self.format)
        self.schema = self.identity.schema
        self._exchange = self.home.exchange if on_one_machine(session) else None
        self._publisher = Publisher(self.home.state, self._publish, self._exchange)
        self._refusals = Refusals([self.home.log(s.name) for s in self._streams.values()])

    @property
    def results(self) -> Path:
        """The directory that holds the results, whoever they are for."""
        return self.destination or self.home.results

    @property
    def waiting(self) -> int | None:
        return None

    @property
    def _files(self) -> FileDelivery:
        place, known = str(self.results), self.declaration
        return FileDelivery(
            place, self.format, self.home.run, known.plan.schema, known.clock, COMPACT_AT.value
        )

    @property
    def _delivery(self) -> ResultDelivery:
        return self._files

    def _publish(self, batch: int, reports: Sequence[Report]) -> None:
        self._files.publish(batch, reports)

    @property
    def reading(self) -> Reading:
        return Reading(self.results, self.format, self.schema)

    def prepare(self, *, overwrite: bool = False) -> None:
        """Refuse a damaged checkpoint, or results that are gone; remove what dead runs left."""
        damage = damage_error(self.home.directory, quick_survey(self.home.directory))
        if damage is not None:
            raise damage
        refuse_lost_results(self.home, self.results)
        self.results.mkdir(parents=True, exist_ok=True)
        prepare(self.results, self.identity, overwrite=overwrite)
        sweep(self.home.state)
        if self._exchange is not None:
            exchange.prepare(self._exchange)

    def begin(self, first: int) -> None:
        """Take note of what there is before the run, which begins after micro-batch ``first``."""

    def for_console(self, after: int, upto: int) -> Iterator[tuple[QueryDeclaration, pa.Table]]:
        """The changes of the micro-batches after ``after`` that are for the console."""
        if on_console(self.declaration):
            for changes in self.reading.tables(after, upto):
                yield self.declaration, changes

    def parts(self, _number: int, after: int) -> Iterator[tuple[int, pa.Table]]:
        """The changes of a member after a micro-batch, in parts, with the last that each is of."""
        return self.reading.parts(after)

    def forget(self, _number: int, drained: int) -> None:
        """Changes that are nowhere else are for those who ask for them, once."""
        if self.destination is None:
            forget_drained(self.results, drained)

    def answer_of(self, _number: int) -> pa.Table:
        """What the changes of a member, in all runs, add up to; of a stream, the last of them."""
        return self.answer().rows

    def rows_out(self, _number: int, new: int) -> int:
        """The changes of a member in this run, of ``new`` in all."""
        return new

    def total(self, _number: int) -> int:
        """The changes of a member in all runs."""
        return published_results(self.results).totals.rows_out

    def place(self, _number: int) -> Path | None:
        """Where the results of a member are, if they are where its script says."""
        return self.destination

    def answer(self) -> Answer:
        """What the changes of all runs add up to; of a stream, the last of them."""
        compact_before_answering(self.results)
        return last_answer(self.results, self.identity)

    def damage(self) -> StateError | None:
        """What is wrong with the checkpoint, if that may be why the query failed."""
        return damage_error(self.home.directory, survey(self.home.directory).problems)

    def start(self, feed: Feed) -> StreamingQuery:
        """Start it, or go on; ``prepare`` comes first."""
        with active(self._session):
            self._session.dataSource.register(WindrowSource)
            return self._writer(feed).start()

    def _writer(self, feed: Feed) -> DataStreamWriter:
        packed = [self._packed(s, feed) for s in self._streams.values()]
        frame = reduce(DataFrame.union, packed)
        tasks = [self._task(stage, feed) for stage in self._stages]
        run: RunBatch = collect_blobs
        if not self._streams.keys() & feed.frames.keys():
            specs = [self._source(s, feed) for s in self._streams.values()]
            run = DirectPlan(self._session, specs, tasks).run
        frame = through_stages(frame, tasks, shuffle_partitions(self._session))
        writer = frame.writeStream.foreachBatch(self._publisher.function(run))
        writer = writer.option("checkpointLocation", str(self.home.spark)).outputMode("append")
        if feed.once:
            return writer.trigger(availableNow=True)
        return writer if feed.live else writer.trigger(processingTime=WATCHING)

    def idle_streams(self) -> tuple[str, ...]:
        """The streams that it does not wait for, because they are silent."""
        streams = [s.name for s in self._streams.values()]
        return tuple(name for name in streams if ends_idle(self.home.log(name)))

    def refusals(self) -> tuple[str, ...]:
        """Of which files something was refused since this run began, and why."""
        return self._refusals.words()

    def settle(self) -> None:
        """Wait for what goes on here after Spark has stopped the query."""
        self._publisher.settle()

    def _packed(self, stream: StreamDeclaration, feed: Feed) -> DataFrame:
        given = feed.frames.get(stream.name)
        parts = []
        if given is None or stream.name in feed.inboxes:
            spec = encoded(self._source(stream, feed))
            parts.append(self._session.readStream.format(FORMAT).option("spec", spec).load())
        if given is not None:  # comes second: a union belongs to the session of its first part
            names = [f.name for f in stream.schema]
            packer = FramePacker(stream, self._routes(stream.name), feed.quarantine)
            parts.append(with_wall(given.select(*names)).mapInArrow(packer, PACKED))
        return reduce(DataFrame.union, parts)

    def _source(self, stream: StreamDeclaration, feed: Feed) -> SourceSpec:
        delivery, declared = feed.inboxes.get(stream.name), self._inputs[stream.name]
        return SourceSpec(
            with_whole_path(stream),
            self._routes(stream.name),
            str(self.home.log(stream.name)),
            str(self.home.offsets),
            tasks=self._session.sparkContext.defaultParallelism,
            once=feed.once,
            files=feed.files,
            quarantine=feed.quarantine,
            inbox=str(delivery.directory) if delivery else None,
            inbox_from=delivery.first if delivery else 0,
            start=delivery.start if delivery else StreamTime(),
            relation=declared if isinstance(declared, RelationDeclaration) else None,
            since=delivery.since if delivery else BEGINNING,
            idle=self._idle_after(stream, feed),
            wall=feed.wall,
        )

    def _routes(self, source: str | int) -> Routes:
        place = None if self._exchange is None else str(self._exchange)
        return Routes.of(source, self._stages, self.home.buckets, place)

    def _idle_after(self, stream: StreamDeclaration, feed: Feed) -> int:
        """When the others no longer wait for a stream; nobody waits for the only one."""
        if len(self._streams) == 1 or stream.name in feed.frames:
            return FOREVER
        delivered = stream.name in feed.inboxes
        by_connection = delivered and isinstance(self._inputs[stream.name], RelationDeclaration)
        watched = stream.source is not None and not by_connection
        return idle_after(stream, watched=watched)

    def _task(self, stage: Stage, feed: Feed) -> StageTask:
        edges = {e.source: e.name for s in reversed(self._stages) for e in reversed(s.inputs)}
        return StageTask(
            run=self.home.run,
            stage=stage,
            slacks={s.name: s.slack for s in self._streams.values()},
            routes=self._routes(stage.number),
            clock=self.declaration.clock,
            state=str(self.home.state),
            delivery=self._delivery if stage is self._stages[-1] else None,
            judging=frozenset(edges.values()),
            quarantine=feed.quarantine,
            strategy=self._strategy,
        )


def with_whole_path(stream: StreamDeclaration) -> StreamDeclaration:
    """Its files as found from here: Spark's processes stay where Java was started."""
    if stream.source is None:
        return stream
    whole = str(Path(stream.source.path).absolute())
    return replace(stream, source=replace(stream.source, path=whole))


def on_console(query: QueryDeclaration) -> bool:
    return query.into is not None and query.into.format == "console"


def inputs_of(
    query: QueryDeclaration, catalog: Catalog
) -> dict[str, StreamDeclaration | RelationDeclaration]:
    """The streams and relations that the query reads, by the names that its plan has for them."""
    found: dict[str, StreamDeclaration | RelationDeclaration] = {}
    for node in walk(query.plan):
        if isinstance(node, StreamScan | RelationScan):
            declared = catalog.find(node.name)
            if not isinstance(declared, StreamDeclaration | RelationDeclaration):
                raise InputError(
                    where=f"query {query.name}",
                    expected=f"a declaration of {node.name}",
                    found="none",
                    remedy="add CREATE STREAM or CREATE RELATION to the script",
                )
            found[node.name] = declared
    return found
