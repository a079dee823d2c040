"""Between two looks for something new, Spark pauses only where the source does not wait itself."""

from __future__ import annotations

import pytest

from windrow.spark.checkpoint.pipeline_directory import PipelineHome
from windrow.spark.run.batch_driver import start_query
from windrow.spark.run.pipeline_plan import PipelinePlan
from windrow.spark.run.spark_job import Feed

PAUSE = "spark.sql.streaming.pollingDelay"


class AnyWriter:
    """A writer of a streaming query that takes whatever it is told, and starts nothing."""

    def __getattr__(self, _: str):
        return lambda *_, **__: self


@pytest.mark.spark
def test_a_watched_directory_is_not_left_alone_between_two_looks(spark, tmp_path):
    usual, found = spark.conf.get(PAUSE), []

    class Plan(PipelinePlan):
        def frame(self):
            found.append(spark.conf.get(PAUSE))
            return self

        @property
        def writeStream(self):  # noqa: N802 - Spark's name
            return AnyWriter()

    home = PipelineHome(tmp_path, "run", ())
    for feed in (Feed(), Feed(once=True), Feed(live=True)):
        start_query(spark, Plan(spark, home, {}, feed, None), "a name", lambda *_: None)
    assert found == ["1ms", usual, usual]
    assert spark.conf.get(PAUSE) == usual != "1ms"
