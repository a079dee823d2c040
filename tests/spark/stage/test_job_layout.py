"""Into how many buckets the tuples of a job go, and into which."""

from __future__ import annotations

from types import SimpleNamespace

from tests.support.thresholds import at_their_least
from windrow.plan.physical.cut_stages import cut_into_stages
from windrow.plan.program import compile_script
from windrow.spark.run.spark_job import seat_of
from windrow.spark.stage.job_layout import (
    ALONE,
    JOBS_PER_PARTITION,
    Layout,
    Seat,
    layout_for,
)
from windrow.spark.stage.routes import spread_buckets

GROUPS = "SELECT k, COUNT(*) AS n FROM a [RANGE 20] GROUP BY k"
JOIN = "SELECT a.v FROM a [RANGE 20], b [RANGE 30] WHERE a.k = b.k"
TWO_STAGES = "SELECT n, COUNT(*) AS m FROM (" + GROUPS + ") AS g GROUP BY n"
PARTITIONS = 2
ENOUGH = JOBS_PER_PARTITION.usual * PARTITIONS


def layout(query: str, seat: Seat) -> Layout:
    text = "".join(f"CREATE STREAM {n} (ts BIGINT, k BIGINT, v BIGINT);" for n in ("a", "b"))
    (declared,) = compile_script(f"{text} CREATE QUERY q AS {query};").queries
    return layout_for(declared.plan, cut_into_stages(declared.plan), PARTITIONS, 1 << 20, seat)


def test_many_plain_jobs_have_a_bucket_each_spread_evenly():
    found = [layout(GROUPS, Seat(number, ENOUGH)).buckets for number in range(ENOUGH)]
    assert all(len(buckets) == 1 for buckets in found)
    used = [buckets[0] for buckets in found]
    whole = spread_buckets(PARTITIONS)
    assert [used.count(bucket) for bucket in whole] == [ENOUGH // PARTITIONS] * PARTITIONS


def test_few_jobs_are_cut_into_parts_to_keep_all_cores_busy():
    assert layout(GROUPS, Seat(0, ENOUGH - 1)).buckets == spread_buckets(PARTITIONS)


def test_who_may_have_much_more_work_than_others_is_cut_into_parts_among_any_number():
    for query in (JOIN, TWO_STAGES):
        assert layout(query, Seat(3, 100 * ENOUGH)).buckets == spread_buckets(PARTITIONS)


def test_at_its_least_it_takes_as_many_jobs_as_partitions():
    with at_their_least():
        assert len(layout(GROUPS, Seat(1, PARTITIONS)).buckets) == 1
        assert len(layout(GROUPS, Seat(0, PARTITIONS - 1)).buckets) == PARTITIONS


def test_queries_that_share_their_work_are_not_counted_as_jobs():
    p, group, q = (SimpleNamespace(name=n, is_shared=n == "group") for n in ("p", "group", "q"))
    found = [seat_of(job, [p, group, q]) for job in (p, group, q)]
    assert found == [Seat(0, 2), ALONE, Seat(1, 2)]
