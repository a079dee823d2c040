"""Shared selections and cut subscriptions in stages: the answers of one pipeline, without Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.operators.samples import run
from tests.plan.sharing.test_shared_selection import SHAPES, STREAM
from tests.spark.staged import BUCKETS, end_of, expected, run_staged
from windrow.columns.delta import Delta
from windrow.engine.pipeline import Pipeline
from windrow.plan.nodes import Node, Subscribe
from windrow.plan.physical.cut_stages import cut_into_stages
from windrow.plan.physical.stages import RangeKey
from windrow.plan.program import compile_script
from windrow.plan.sharing.shared_selection import shared_selections
from windrow.plan.strategy import Strategy
from windrow.spark.stage import level_task
from windrow.spark.stage import subscription_index as index
from windrow.spark.stage.job_layout import layout_for
from windrow.spark.stage.subscription_index import with_cut
from windrow.spark.stage.worker_cache import WorkerCache

RANGES = ["n BETWEEN 0 AND 3", "n BETWEEN 2 AND 9", "n BETWEEN 5 AND 5", "n BETWEEN -4 AND 30"]


def rows(count: int = 150) -> dict[str, Delta]:
    rng = np.random.default_rng(8)
    ts = np.cumsum(rng.choice([0, 1, 1, 2, 9], count, p=[0.4, 0.3, 0.2, 0.08, 0.02]))
    nothing = rng.random(count) < 0.1
    columns = {
        "ts": ts,
        "k": rng.integers(0, 3, count).astype(np.int32),
        "n": pa.array(rng.integers(-5, 12, count), mask=nothing),
        "x": rng.choice([0.0, 0.5, np.nan, np.inf], count),
        "f": rng.random(count).astype(np.float32),
        "w": pa.array(rng.choice(["a", "b", "c"], count)),
        "d": pa.array(np.full(count, "2024-01-02", "datetime64[D]")),
    }
    return {"s": Delta.insertions(ts, pa.record_batch(columns))}


INPUTS = rows()


def whole(plan: Node):
    found = run(Pipeline(plan, changes=True), INPUTS, [end_of(plan, INPUTS)])
    assert found
    return expected(found)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shared_selection_in_stages_gives_the_answer_of_one_pipeline(shape, monkeypatch):
    monkeypatch.setattr(level_task, "CACHE", WorkerCache(seconds=-1))
    text = "".join(f"{SHAPES[shape].format(r)};" for r in RANGES)
    (group,) = shared_selections(compile_script(STREAM + text).queries)
    found = run_staged(group.plan, INPUTS, Strategy.UPA, seed=4, run=f"shared {shape}")
    assert found == whole(group.plan)


VIEWS = {
    "the stream": "CREATE VIEW v AS SELECT k, n, w FROM s;",
    "a selection": "CREATE VIEW v AS SELECT n + 1 AS n, w FROM s WHERE k > 0;",
    "a union": "CREATE VIEW v AS (SELECT n, w FROM s) UNION ALL (SELECT n * 2 AS n, w FROM s);",
    "stages": "CREATE VIEW v AS ISTREAM(SELECT w, COUNT(*) AS n FROM s [RANGE 9] GROUP BY w);",
}


def subscribed_to(view: str, directory: Path) -> Subscribe:
    rng = np.random.default_rng(2)
    lines = ["id,n,w", "all,*,", 'text,,"in (a, c)"', 'both,"[2, 6)",b', "twice,> 8,", "twice,< 1,"]
    for number in range(60):
        low = int(rng.integers(-6, 12))
        lines.append(f'r{number},"[{low}, {low + int(rng.integers(0, 5))}]",')
    (directory / "wanted.csv").write_text("\n".join(lines) + "\n")
    script = (
        f"{STREAM}{VIEWS[view]}CREATE SUBSCRIPTIONS m ON v (n, w) FROM '{directory}/wanted.csv';"
    )
    plan = compile_script(script).queries[-1].plan
    assert isinstance(plan, Subscribe)
    return plan


@pytest.mark.parametrize("view", VIEWS)
def test_subscriptions_cut_by_range_match_as_the_whole_index_does(view, tmp_path):
    plan = subscribed_to(view, tmp_path)
    layout = layout_for(plan, cut_into_stages(plan), 2, memory=4_000)
    assert layout.cut is not None
    assert len(layout.cut.starts) + 1 == len(layout.buckets) >= 3
    cut = replace(layout.cut, starts=layout.cut.starts[: len(BUCKETS) - 1])
    found = run_staged(with_cut(plan, cut), INPUTS, Strategy.UPA, seed=3, run=f"cut {view}")
    assert found == whole(plan)
    (edge,) = cut_into_stages(with_cut(plan, cut))[-1].inputs
    assert edge.key == RangeKey(edge.key.column, cut.starts)
    assert edge.key.column.name == "n"


def test_an_index_within_memory_and_one_on_texts_stay_whole(tmp_path):
    plan = subscribed_to("the stream", tmp_path)
    assert layout_for(plan, cut_into_stages(plan), 2, memory=1 << 20).cut is None
    texts = replace(plan, columns=plan.columns[1:])
    (tmp_path / "wanted.csv").write_text("id,w\n" + "a,b\n" * 100)
    assert layout_for(texts, cut_into_stages(texts), 2, memory=100).cut is None


def test_a_worker_holds_its_part_and_forgets_what_is_past_its_memory(tmp_path):
    plan = subscribed_to("the stream", tmp_path)
    layout = layout_for(plan, cut_into_stages(plan), 2, memory=4_000)
    assert layout.cut is not None
    node = with_cut(plan, layout.cut)
    assert isinstance(node, Subscribe)
    index.PARTS.clear()
    delta = run_input(node)
    index.matched_in_parts(node, delta)
    assert len(index.PARTS) == 1, "each is larger than the memory, and one has to be there"
    roomy = with_cut(plan, replace(layout.cut, memory=1 << 30))
    index.matched_in_parts(roomy, delta)
    sizes = [len(m.subscriptions) for (n, _), (_, m) in index.PARTS.items() if n is roomy]
    assert len(sizes) == len(layout.buckets)
    assert max(sizes) < 66


def test_a_file_that_is_replaced_is_read_again(tmp_path):
    plan = subscribed_to("the stream", tmp_path)
    layout = layout_for(plan, cut_into_stages(plan), 2, memory=4_000)
    node = with_cut(plan, layout.cut)
    before = len(index.matched_in_parts(node, run_input(node)))
    (tmp_path / "wanted.csv").write_text("id,n,w\nonly,> 100000,\n")
    assert before > 0
    assert len(index.matched_in_parts(node, run_input(node))) == 0


def run_input(node: Subscribe) -> Delta:
    """The tuples that come to the node."""
    return Pipeline(node.input).process(INPUTS, end_of(node, INPUTS))
