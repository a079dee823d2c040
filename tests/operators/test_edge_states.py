"""However the state of an edge was chosen, the changes are the same, and it is what was chosen."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.operators.samples import QUERIES, STREAMS, between, changes, plan_of, random_input
from tests.operators.test_contract import ROWS, cuts
from windrow.core.thresholds import lowered_thresholds
from windrow.engine.pipeline import Pipeline
from windrow.operators.state.buffer import StateBuffer
from windrow.plan.nodes import EdgeState, Node, StrictState, walk
from windrow.plan.nodes.rebuild import keep_edges_as
from windrow.plan.physical.buffers import edge_buffer
from windrow.plan.program import compile_script

SEARCHED = EdgeState(3, StrictState.SEARCHED)
ABSENT = "NOT EXISTS (SELECT * FROM r [RANGE 3 SECONDS] WHERE r.k = s.k)"
UNMATCHED = f"SELECT k, a, n FROM s [RANGE 9 SECONDS] WHERE {ABSENT}"
ABOVE_NEGATION = {
    "join": f"SELECT v.a, v.n, b FROM ({UNMATCHED}) AS v, r [RANGE 6 SECONDS] WHERE v.a = r.b",
    "group": f"SELECT n, COUNT(*), SUM(a), MAX(k) FROM ({UNMATCHED}) AS v GROUP BY n",
    "distinct": f"SELECT DISTINCT n FROM ({UNMATCHED}) AS v",
    "top": f"SELECT TOP 3 k, a, n FROM ({UNMATCHED}) AS v ORDER BY a",
    "negation": f"SELECT a FROM ({UNMATCHED}) AS v WHERE a NOT IN "
    "(SELECT b FROM r [RANGE 2 SECONDS])",
    "except": f"(SELECT k FROM ({UNMATCHED}) AS v) EXCEPT ALL (SELECT k FROM r [RANGE 2 SECONDS])",
    "changes": f"DSTREAM({UNMATCHED})",
    "relation": f"RSTREAM({UNMATCHED}) EVERY 3",
}


def plans() -> dict[str, Node]:
    """Plans in which some tuples are searched for, if that is chosen."""
    found = {name: plan_of(name) for name in QUERIES}
    for name, query in ABOVE_NEGATION.items():
        made = compile_script(f"{STREAMS} CREATE QUERY q AS {query};")
        found[f"{name} above negation"] = made.queries[0].plan
    return {
        name: plan
        for name, plan in found.items()
        if any(edge_buffer(n).partitions for n in walk(plan) if not edge_buffer(n).by_tuple)
        or any(edge_buffer(keep_edges_as(n, SEARCHED)).searched for n in walk(plan))
    }


PLANS = plans()


def test_samples_have_operators_of_all_kinds_above_a_negation() -> None:
    assert {name for name in PLANS if name.endswith("above negation")} == {
        f"{name} above negation" for name in ABOVE_NEGATION
    }


@pytest.mark.parametrize("name", PLANS)
def test_searched_calendars_of_few_partitions_change_nothing(name: str) -> None:
    """Cut differently, and saved and loaded at each cut."""
    inputs, usual = random_input(3, ROWS), Pipeline(PLANS[name], changes=True)
    plan = keep_edges_as(PLANS[name], SEARCHED)
    wanted, before = [], -1
    for cut in cuts(2, 9):
        wanted += changes(usual.process(between(inputs, before, cut), cut))
        before = cut
    with lowered_thresholds():
        found, carried, before = [], Pipeline(plan, changes=True), -1
        segments: dict[str, pa.RecordBatch] = {}
        for cut in cuts(4, 9):
            found += changes(carried.process(between(inputs, before, cut), cut))
            before = cut
            saved = carried.save()
            for gone in saved.drop:
                segments.pop(gone, None)
            segments.update(saved.put)
            carried = Pipeline(plan, changes=True)
            carried.load(segments, saved.meta)
    assert sorted(found, key=repr) == sorted(wanted, key=repr)


def test_what_was_chosen_is_held() -> None:
    plan = keep_edges_as(PLANS["changes above negation"], SEARCHED)
    (changelog,) = (o for o in Pipeline(plan).operators if hasattr(o, "signs"))
    buffer: StateBuffer = changelog.buffer
    assert buffer.kind == edge_buffer(plan.inputs[0])
    assert buffer.kind.searched
    assert buffer.index is None
    assert str(buffer.kind) == (
        "calendar queue by expiry (3 partitions), searched for negative tuples"
    )
