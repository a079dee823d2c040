"""OPTION says how the joins of a block find partners; rules keep it, and EXPLAIN shows it."""

from __future__ import annotations

import pytest

from windrow.plan.explain import explain
from windrow.plan.nodes import Join, MultiJoin, walk
from windrow.plan.nodes.rebuild import rewrite_anywhere
from windrow.plan.program import compile_script
from windrow.plan.rules.reshape_joins import flatten_joins, reorder_joins

STREAMS = "".join(f"CREATE STREAM {name} (ts BIGINT, k INT, a INT, b INT);" for name in "rstu")
PAIR = "SELECT r.a FROM r [RANGE 5 SECONDS], s [ROWS 3] WHERE r.k = s.k AND r.a < s.a"
STAR = (
    "SELECT r.a FROM r [RANGE 5 SECONDS], s [RANGE 4 SECONDS], t [RANGE 3 SECONDS] "
    "WHERE r.k = s.k AND s.k = t.k AND r.a > 1"
)


def joins(query: str) -> list[Join | MultiJoin]:
    plan = compile_script(f"{STREAMS} {query};").queries[-1].plan
    return [node for node in walk(plan) if isinstance(node, Join | MultiJoin)]


@pytest.mark.parametrize(
    ("option", "join", "state"),
    [
        ("", "Join r.k = s.k AND r.a < s.a\n", "state FIFO, index H-INDEX with DB rings"),
        ("OPTION (HASH JOIN 16)", ", by hash tables of 16 buckets\n",
         "state FIFO, hash table of 16 buckets\n"),
        ("OPTION (NESTED LOOPS)", ", by nested loops\n", "state FIFO, list for nested loops\n"),
    ],
)  # fmt: skip
def test_explain_says_how_a_join_finds_partners(option: str, join: str, state: str) -> None:
    (request,) = compile_script(f"{STREAMS} EXPLAIN {PAIR} {option};").explains
    text = explain(request)
    assert join in text
    assert state in text


def test_rules_keep_the_option() -> None:
    found = joins(f"{STAR} OPTION (HASH JOIN 4)")
    assert {join.buckets for join in found} == {4}
    written = compile_script(f"{STREAMS} {STAR} OPTION (HASH JOIN 4);").queries[-1].plan
    for rule in (flatten_joins, reorder_joins):
        for plan in rewrite_anywhere(written, rule):
            changed = [n for n in walk(plan) if isinstance(n, Join | MultiJoin)]
            assert {join.buckets for join in changed} == {4}


def test_joins_with_different_options_are_not_merged() -> None:
    inner = "SELECT r.k, r.a FROM r [RANGE 5 SECONDS], s [RANGE 4 SECONDS] WHERE r.k = s.k"
    query = f"SELECT x.a FROM ({inner} OPTION (NESTED LOOPS)) AS x, t [NOW] WHERE x.k = t.k"
    assert [(type(j), j.buckets) for j in joins(query)] == [(Join, 0), (Join, 1)]
    assert [(type(j), j.buckets) for j in joins(f"{query} OPTION (HASH JOIN 8)")] == [
        (Join, 8),
        (Join, 1),
    ]


def test_the_option_ends_a_block_and_may_stand_before_every() -> None:
    (join,) = joins(f"{PAIR} OPTION (NESTED LOOPS) EVERY 2 SECONDS")
    assert join.buckets == 1
    (renamed,) = joins("SELECT x.a AS option FROM r [NOW] AS x, s [NOW] AS y WHERE x.k = y.k")
    assert renamed.buckets == 0
