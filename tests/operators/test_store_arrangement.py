"""Predicates that share a store answer as those that have one each, and go on where these were."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plan.sharing.test_shared_synopses import (
    PREDICATES,
    ROWS,
    STREAM,
    delta_of,
    in_time,
    script_of,
    sizes_but_one_group,
)
from windrow.engine import build_shared
from windrow.engine.pipeline import Pipeline
from windrow.engine.shared_stores import predicates_together
from windrow.operators.shared_group_by import SharedAggregation
from windrow.plan.nodes.sub_window_groups import SharedGroupBy
from windrow.plan.program import compile_script
from windrow.plan.sharing.shared_synopses import shared_synopses

__all__ = ["sizes_but_one_group"]

PLAIN = ["COUNT(*)", "COUNT(n)", "SUM(n)", "AVG(n)", "MIN(n)", "MAX(n)", "SUM(x)", "MAX(k)"]


def member(aggregate: str, predicate: str, window: int, slide: int) -> str:
    where = f"WHERE {predicate}" if predicate else ""
    window_of = f"[RANGE {window} SECONDS SLIDE {slide} SECONDS]"
    return f"SELECT k, {aggregate} AS a FROM s {window_of} {where} GROUP BY k"


MEMBERS = st.builds(
    member,
    st.sampled_from(PLAIN),
    st.sampled_from(PREDICATES),
    st.sampled_from([2, 4, 6, 20]),
    st.just(2),
)


def plan_of(texts: list[str]) -> SharedGroupBy:
    (group,) = shared_synopses(compile_script(STREAM + script_of(texts)).queries)
    return group.plan


def operator_of(pipeline: Pipeline) -> SharedAggregation:
    (found,) = (o for o in pipeline.operators if isinstance(o, SharedAggregation))
    return found


def apart(synopses, known=()):
    """As it was before stores were shared."""
    placed = {number for numbers in known for number in numbers}
    return (*known, *((n,) for n in range(len(synopses)) if n not in placed))


@pytest.mark.usefixtures("sizes_but_one_group")
@settings(max_examples=25)
@given(
    texts=st.lists(MEMBERS, min_size=2, max_size=7),
    rows=ROWS.map(in_time),
    stop=st.integers(0, 40),
)
def test_stores_of_several_predicates_answer_as_one_for_each_and_load_what_it_saved(
    texts, rows, stop
):
    node = plan_of(texts)
    parts = [[r for r in rows if r["ts"] <= stop], [r for r in rows if r["ts"] > stop]]
    together, own, found = Pipeline(node), None, []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build_shared, "predicates_together", apart)
        own = Pipeline(node)
        assert all(len(n) == 1 for n in operator_of(own).arrangement.together)
    loaded = Pipeline(node)
    for part, now in zip(parts, (stop, 90), strict=True):
        pipelines = [together, own] if now == stop else [together, own, loaded]
        changes = [p.process({"s": delta_of(part, node)}, now) for p in pipelines]
        found = [sorted(map(repr, delta.to_batch().to_pylist())) for delta in changes]
        assert all(other == found[0] for other in found)
        if now == stop:
            saved = own.save()
            loaded.load(dict(saved.put), saved.meta)
            assert operator_of(loaded).arrangement.together == operator_of(own).arrangement.together


def test_predicates_share_a_store_if_they_are_kept_about_as_long():
    texts = [
        member("SUM(n)", "w = 'a'", 4, 2),
        member("MAX(n)", "w = 'b'", 6, 2),
        member("MIN(n)", "w = 'c'", 600, 2),
        member("SUM(x)", "w = 'd'", 4, 2),
        member("MEDIAN(n)", "w = 'e'", 4, 2),
        member("MEDIAN(n)", "w = 'f'", 4, 2),
    ]
    node = plan_of(texts)
    assert predicates_together(node.synopses) == ((0, 1), (2,), (3,), (4,), (5,))
    # What came first stays where it was, whatever it would be put with now.
    assert predicates_together(node.synopses[:2], ((0,),)) == ((0,), (1,))


def test_a_sub_window_is_kept_for_the_predicate_that_needs_it_longest():
    node = plan_of([member("SUM(n)", "w = 'a'", 4, 2), member("SUM(n)", "w = 'b'", 6, 2)])
    (store,) = operator_of(Pipeline(node)).stores
    assert store.keep == max(each.keep for each in node.synopses) == 8
