"""Between two looks for something new, Spark pauses only where the source does not wait itself."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from windrow.spark.run.spark_job import Feed
from windrow.spark.run.spark_pipeline import Pipeline

PAUSE = "spark.sql.streaming.pollingDelay"


class AskingPipeline(Pipeline):
    """One whose query of Spark's, when it starts, says what pause it has."""

    def __init__(self, session, feed: Feed) -> None:
        self._session, self.feed, self.jobs = session, feed, {}
        self.home, self._exchange = SimpleNamespace(), None  # type: ignore[assignment]

    def pause(self) -> str:
        return str(self._streaming_query(self.plan).query)  # type: ignore[attr-defined]

    def _writer(self, plan) -> SimpleNamespace:  # type: ignore[override]
        return SimpleNamespace(start=lambda: self._session.conf.get(PAUSE))


@pytest.mark.spark
def test_a_watched_directory_is_not_left_alone_between_two_looks(spark):
    usual = spark.conf.get(PAUSE)
    assert AskingPipeline(spark, Feed()).pause() == "1ms"
    for feed in (Feed(once=True), Feed(live=True)):
        assert AskingPipeline(spark, feed).pause() == usual
    assert spark.conf.get(PAUSE) == usual != "1ms"
