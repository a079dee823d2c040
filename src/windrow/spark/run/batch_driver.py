"""Who begins the micro-batches of a pipeline: a thread of ours, or a streaming query of Spark's.

Files and deliveries need no streaming query: the driver admits them, and plans and runs what there
is to do. Spark's would plan an empty one beside each micro-batch, for half of what a small one
takes. It is for rows that come through it, of somebody's streaming DataFrames, and for whoever
listens to streaming queries. Both leave the same notes, so either goes on where the other ended.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from windrow.spark.active_session import active, with_settings
from windrow.spark.checkpoint.pipeline_directory import PipelineHome
from windrow.spark.run.batch_thread import WATCHING
from windrow.spark.run.pipeline_plan import PipelinePlan
from windrow.spark.source.file_source import WindrowSource

LISTENED = ("spark.sql.streaming.streamingQueryListeners", "spark.sql.streaming.metricsEnabled")
"""Settings by which somebody hears of streaming queries."""
NOTHING_TO_RUN = {"spark.sql.codegen.wholeStage": "false"}
"""Of a query whose tasks are all ours: Spark would write code for every micro-batch that runs over
no rows."""
NO_PAUSE = {"spark.sql.streaming.pollingDelay": "1ms"}
"""Of a query whose source waits for something new: what came in a pause of Spark's would wait."""
STARTING = ("Initializing", "Getting offsets")
"""What Spark says of a query whose sources do not run yet, or have nothing new."""


class BatchDriver(Protocol):
    """A pipeline that runs."""

    @property
    def active(self) -> bool:
        """Whether it goes on."""

    @property
    def starting(self) -> bool:
        """Whether it has not yet looked for what there is."""

    @property
    def failure(self) -> BaseException | None:
        """Why it has ended, if that was an error."""

    @property
    def is_this_thread(self) -> bool:
        """Whether what asks is what it runs in a micro-batch."""

    def catch_up(self) -> None:
        """Wait until all that was delivered is worked off, or it has ended; its error, if any."""

    def wait(self) -> None:
        """Wait until it has ended; its error, if any."""

    def stop(self) -> None:
        """End it, in the middle of a micro-batch if need be."""

    @property
    def durations(self) -> list[float]:
        """The seconds of its last micro-batches, notes included."""


class StreamingQueryDriver:
    """A streaming query of Spark's; see the module."""

    def __init__(self, query: StreamingQuery) -> None:
        self.query = query

    @property
    def active(self) -> bool:
        return self.query.isActive

    @property
    def starting(self) -> bool:
        if not self.query.isActive:
            return False
        message = str(self.query.status["message"])
        return message.startswith(STARTING) and self.query.lastProgress is None

    @property
    def failure(self) -> BaseException | None:
        return self.query.exception()

    @property
    def is_this_thread(self) -> bool:
        return False

    def catch_up(self) -> None:
        self.query.processAllAvailable()

    def wait(self) -> None:
        self.query.awaitTermination()

    def stop(self) -> None:
        self.query.stop()

    @property
    def durations(self) -> list[float]:
        told = (progress["durationMs"] for progress in self.query.recentProgress)
        return [took["triggerExecution"] / 1000 for took in told if "addBatch" in took]


def is_listened(session: SparkSession) -> bool:
    """Whether somebody hears of the streaming queries of a session."""
    return any(session.conf.get(name, None) not in (None, "", "false") for name in LISTENED)


def start_query(
    session: SparkSession, plan: PipelinePlan, title: str, take: Callable[[DataFrame, int], None]
) -> StreamingQueryDriver:
    """A streaming query of a name that has all its micro-batches taken."""
    settings = ({} if plan.is_framed else NOTHING_TO_RUN) | (NO_PAUSE if plan.watches else {})
    with active(session), with_settings(session, settings):
        session.dataSource.register(WindrowSource)
        writer = plan.frame().writeStream.foreachBatch(take).outputMode("append")
        writer = writer.queryName(title)  # in a session of its own
        writer = writer.option("checkpointLocation", _location(plan.home))
        if plan.feed.once:
            writer = writer.trigger(availableNow=True)
        elif not plan.feed.live:
            writer = writer.trigger(processingTime=f"{WATCHING} seconds")
        return StreamingQueryDriver(writer.start())


def _location(home: PipelineHome) -> str:
    """Where Spark has its notes; a copy is on this machine, whatever Hadoop takes paths for."""
    copy = home.place_for_tasks != home.directory
    return f"file://{home.spark}" if copy else str(home.spark)
