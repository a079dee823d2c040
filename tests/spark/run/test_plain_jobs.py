"""Small jobs give what PySpark's own give, and fail as they do."""

from __future__ import annotations

import pytest

from windrow.spark.active_session import with_settings
from windrow.spark.run import plain_jobs
from windrow.spark.run.plain_jobs import PlainJobs

SETTING = "spark.sql.codegen.wholeStage"


def work(message: str = ""):
    """A function that workers, which do not know this module, are sent whole: of some partitions
    it tells nothing, of others one large value or many."""

    def tell(numbers):
        for number in numbers:
            if message:
                raise ValueError(message)
            yield from [b"%d" % number] * (number % 4)
            if number == 5:
                yield bytes(1 << 20)

    return tell


@pytest.fixture
def numbers(spark):
    return spark.sparkContext.parallelize(range(7), 7)


def test_partitions_are_told_in_their_order(spark, numbers):
    jobs = PlainJobs(spark)
    assert jobs._runner is not None, "on one machine there is a class of ours"
    assert jobs.run(numbers, work()) == spark.sparkContext.runJob(numbers, work())
    assert len(jobs.run(numbers, work())) > 7


def test_elsewhere_jobs_are_run_as_pyspark_does(spark, numbers, monkeypatch):
    monkeypatch.setattr(plain_jobs, "on_one_machine", lambda _: False)
    jobs = PlainJobs(spark)
    assert jobs._runner is None
    assert jobs.run(numbers, work()) == spark.sparkContext.runJob(numbers, work())


def test_what_a_task_says_of_its_failure_is_in_the_error(spark, numbers):
    jobs = PlainJobs(spark)
    found = []
    for run in (jobs.run, spark.sparkContext.runJob):
        with pytest.raises(Exception, match="no such bucket") as error:
            run(numbers, work("no such bucket"))
        found.append(error.type)
    assert found[0] is found[1]


def test_settings_are_others_for_a_while_and_then_as_they_were(spark):
    before = spark.conf.get(SETTING)
    with with_settings(spark, {SETTING: "false", "spark.of.mine": "1"}):
        assert (spark.conf.get(SETTING), spark.conf.get("spark.of.mine")) == ("false", "1")
    assert spark.conf.get(SETTING) == before
    assert spark.conf.get("spark.of.mine", None) is None
