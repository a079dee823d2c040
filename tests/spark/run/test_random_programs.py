"""Random programs, cut into stages and spread over buckets; and some of them on Spark itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from tests.operators.samples import between, changes
from tests.oracle.programs import programs
from tests.oracle.queries import Feed, Program, Relation
from tests.oracle.random_scripts import RELATIONAL, scripts
from tests.oracle.running import table
from tests.oracle.scripts import declared, fed
from tests.oracle.test_nested_values import nested_programs
from tests.oracle.test_time_constructs import programs_of_time
from tests.oracle.windows import Row
from tests.spark.scripts import net_changes, run_embedded, run_on_spark
from tests.spark.staged import end_of, expected, run_staged, streams_in
from windrow.columns.delta import Delta
from windrow.core.time import BEGINNING
from windrow.engine.pipeline import Pipeline
from windrow.plan.nodes import Node
from windrow.plan.program import compile_script
from windrow.plan.strategy import Strategy

ON_SPARK = 8


def netted(relation: Relation) -> Relation:
    """What cancels inside an instant is never seen."""
    net: dict[tuple[int, Row], int] = {}
    for at, sign, values in relation.updates:
        net[at, values] = net.get((at, values), 0) + sign
    kept = [(at, 1 if n > 0 else -1, row) for (at, row), n in net.items() for _ in range(abs(n))]
    return replace(relation, updates=tuple(sorted(kept, key=lambda u: u[:2])))


def delta(feed: Feed) -> Delta:
    """All rows of a feed in order of time, whatever the order in which they arrive."""
    feed = netted(feed) if isinstance(feed, Relation) else feed
    rows = table(feed, 0, len(feed.stamps))
    order = np.argsort(np.array(feed.stamps, np.int64), kind="stable")
    batch = rows.take(pa.array(order)).combine_chunks().to_batches(max_chunksize=None)
    ts = np.array(feed.stamps, np.int64)[order]
    content = batch[0] if batch else pa.RecordBatch.from_pylist([], rows.schema)
    if not isinstance(feed, Relation):
        return Delta.insertions(ts, content)
    sign = np.array([1 if c == "+" else -1 for c in content["change"].to_pylist()], np.int8)
    kept = content.select(content.schema.names[2:])
    return Delta(ts, Delta.insertions(ts, kept).exp, sign, kept)


def plan_of(program: Program) -> Node:
    text = f"{program.declarations()}\n{program.question}"
    return compile_script(text).queries[-1].plan


def whole_answer(plan: Node, inputs: dict[str, Delta]) -> list[tuple[int, int, str]]:
    end = end_of(plan, inputs)
    return changes(Pipeline(plan, changes=True).process(between(inputs, BEGINNING, end), end))


def answers_the_same_in_buckets(program: Program, strategy: Strategy, seed: int) -> bool:
    return plan_answers_the_same(plan_of(program), program.feeds, strategy, seed)


def plan_answers_the_same(plan: Node, feeds: Sequence[Feed], strategy: Strategy, seed: int) -> bool:
    inputs = {feed.name: delta(feed) for feed in feeds}
    assume(any(len(inputs[name]) for name in streams_in(plan)))
    whole = whole_answer(plan, inputs)
    run_name = f"random-{strategy.name}-{seed}"
    assert run_staged(plan, inputs, strategy, seed, run_name) == expected(whole)
    return bool(whole)


@pytest.mark.usefixtures("sizes")
def test_random_programs_answer_in_buckets_as_one_pipeline_does():
    spoke: list[bool] = []

    @settings(max_examples=40)
    @given(program=programs(), strategy=st.sampled_from(Strategy), seed=st.integers(0, 1000))
    def check(program: Program, strategy: Strategy, seed: int) -> None:
        spoke.append(answers_the_same_in_buckets(program, strategy, seed))

    check()
    assert sum(spoke) > 0.5 * len(spoke)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(max_examples=1_000)
@given(program=programs(), strategy=st.sampled_from(Strategy), seed=st.integers(0, 1000))
def test_many_more_random_programs_answer_in_buckets_as_one_pipeline_does(program, strategy, seed):
    answers_the_same_in_buckets(program, strategy, seed)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(max_examples=300)
@given(script=scripts(RELATIONAL), strategy=st.sampled_from(Strategy), seed=st.integers(0, 30))
def test_what_sql_has_beside_the_algebra_answers_in_buckets_as_one_pipeline_does(
    script, strategy, seed
):
    feeds = fed(seed)
    plan = compile_script("\n".join(declared(script, feeds))).queries[-1].plan
    plan_answers_the_same(plan, feeds, strategy, seed)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(max_examples=300)
@given(
    program=programs_of_time(), strategy=st.sampled_from(Strategy), seed=st.integers(0, 1000)
)  # fmt: skip
def test_constructs_of_time_answer_in_buckets_as_one_pipeline_does(program, strategy, seed):
    answers_the_same_in_buckets(program, strategy, seed)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(max_examples=300)
@given(program=nested_programs(), strategy=st.sampled_from(Strategy), seed=st.integers(0, 1000))
def test_nested_values_answer_in_buckets_as_one_pipeline_does(program, strategy, seed):
    answers_the_same_in_buckets(program, strategy, seed)


def some_programs(count: int) -> list[Program]:
    """Programs that say something, the same ones on every run."""
    found: list[Program] = []

    @settings(
        max_examples=40 * count,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(program=programs())
    def draw(program: Program) -> None:
        if len(found) >= count or any(not len(feed.stamps) for feed in program.feeds):
            return
        inputs = {feed.name: delta(feed) for feed in program.feeds}
        plan = plan_of(program)
        if len(whole_answer(plan, inputs)) > 5:
            found.append(program)

    draw()
    return found


def files_of(program: Program, directory: Path) -> str:
    """Every feed in three files, and its declaration with FROM."""
    text = program.declarations()
    for feed in program.feeds:
        (directory / feed.name).mkdir(parents=True)
        cuts: Sequence[int] = [len(feed.stamps) * i // 3 for i in range(4)]
        for i in range(3):
            part = table(feed, cuts[i], cuts[i + 1])
            pq.write_table(part, directory / feed.name / f"{i}.parquet")
        text = re.sub(
            rf"(CREATE \w+ {feed.name} \((?:[^()]|\([^()]*\))*\))",
            rf"\1 FROM '{directory / feed.name}' FORMAT parquet",
            text,
        )
    return text


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(1800)
def test_random_programs_answer_on_spark_as_embedded(spark, tmp_path):
    chosen = some_programs(ON_SPARK)
    assert len(chosen) == ON_SPARK
    for number, program in enumerate(chosen):
        directory = tmp_path / str(number)
        declared = files_of(program, directory)
        one, two = (
            compile_script(
                f"{declared}\n{program.question.rstrip().removesuffix(';')} "
                f"INTO '{directory / out}' FORMAT parquet;"
            ).catalog
            for out in ("embedded", "spark")
        )
        run_embedded(one)
        run_on_spark(two, directory / "checkpoint")
        assert net_changes(two, "q") == net_changes(one, "q"), program
