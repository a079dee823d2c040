"""Where a plan is cut, and by which keys the tuples travel."""

from __future__ import annotations

import pytest

from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Type
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.expressions import Column, Named, render
from windrow.plan.nodes import (
    GroupBy,
    Join,
    MultiJoin,
    Selection,
    StageInput,
    StreamScan,
    Window,
    walk,
)
from windrow.plan.nodes.window_specs import RangeWindow
from windrow.plan.physical.cut_stages import cut_into_stages
from windrow.plan.physical.stages import Stage
from windrow.plan.program import compile_script
from windrow.plan.strategy import Strategy

STREAMS = """
CREATE STREAM l (ts BIGINT, src STRING, dst STRING, bytes INT) TIMESTAMP BY ts;
CREATE STREAM r (ts BIGINT, src STRING, dst STRING, size BIGINT, load DOUBLE) TIMESTAMP BY ts;
"""


def cut(query: str) -> tuple[Stage, ...]:
    catalog = compile_script(f"{STREAMS}\nCREATE QUERY q AS {query};").catalog
    declared = catalog.find("q")
    assert isinstance(declared, QueryDeclaration)
    return cut_into_stages(declared.plan)


def keys(stage: Stage) -> list[tuple[str | int, list[str] | None]]:
    """Per edge its source and its key as text."""
    return [
        (e.source, None if e.key is None else [render(k, e.schema) for k in e.key])
        for e in stage.inputs
    ]


def names(stage: Stage) -> list[tuple[str | int, list[str] | None]]:
    return [(s, k if k is None else [c.split(".")[-1] for c in k]) for s, k in keys(stage)]


def test_a_join_hashes_both_inputs_by_their_own_keys():
    (stage,) = cut("SELECT l.dst FROM l [RANGE 9], r [RANGE 9] WHERE l.src = r.dst")
    assert names(stage) == [("l", ["src"]), ("r", ["dst"])]


def test_every_leaf_of_a_stage_is_the_stage_input_of_one_of_its_edges():
    for stage in cut("SELECT l.src, COUNT(*) FROM l [RANGE 9], r [RANGE 9] "
                     "WHERE l.dst = r.dst GROUP BY l.src"):  # fmt: skip
        leaves = {n.name for n in walk(stage.plan) if not n.inputs}
        assert all(isinstance(n, StageInput) for n in walk(stage.plan) if not n.inputs)
        assert leaves == {e.name for e in stage.inputs}


def test_a_group_by_other_columns_than_the_join_is_a_stage_of_its_own():
    first, second = cut(
        "SELECT l.src, COUNT(*) FROM l [RANGE 9], r [RANGE 9] WHERE l.dst = r.dst GROUP BY l.src"
    )
    assert names(first) == [("l", ["dst"]), ("r", ["dst"])]
    assert names(second) == [(0, ["src"])]
    assert any(isinstance(n, GroupBy) for n in walk(second.plan))
    assert not any(isinstance(n, GroupBy) for n in walk(first.plan))


@pytest.mark.parametrize("group", ["l.src", "r.src", "l.src, l.dst", "r.src, r.size"])
def test_a_group_by_the_joins_key_and_perhaps_more_stays_in_the_joins_stage(group):
    (stage,) = cut(
        f"SELECT {group}, COUNT(*) FROM l [RANGE 9], r [RANGE 9] "
        f"WHERE l.src = r.src GROUP BY {group}"
    )
    assert names(stage) == [("l", ["src"]), ("r", ["src"])]


def test_a_join_on_two_keys_over_a_group_by_one_of_them_hashes_by_that_one():
    (stage,) = cut(
        "SELECT r.dst FROM (SELECT src, COUNT(*) AS n FROM l [RANGE 9] GROUP BY src) AS g, "
        "r [RANGE 9] WHERE g.n = r.size AND g.src = r.src"
    )
    assert names(stage) == [("l", ["src"]), ("r", ["src"])]


def test_joins_of_three_windows_on_one_key_are_one_stage():
    (stage,) = cut(
        "SELECT a.dst FROM l [RANGE 9] AS a, r [RANGE 9] AS b, l [RANGE 5] AS c "
        "WHERE a.src = b.src AND b.src = c.src"
    )
    assert all(key == ["src"] for _, key in names(stage))


def test_joins_of_three_windows_on_two_keys_are_two_stages():
    first, second = cut(
        "SELECT a.dst FROM l [RANGE 9] AS a, r [RANGE 9] AS b, l [RANGE 9] AS c "
        "WHERE a.src = b.src AND b.dst = c.dst"
    )
    assert all(key == ["src"] for _, key in names(first))
    assert {source for source, _ in names(second)} == {0, "l"}
    assert all(key == ["dst"] for _, key in names(second))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT l.dst FROM l [RANGE 9], r [RANGE 9] WHERE l.bytes < r.size",
        "SELECT COUNT(*) FROM l [RANGE 9]",
        "SELECT src FROM l [ROWS 5]",
    ],
)
def test_what_needs_all_tuples_is_in_a_single_bucket(query):
    (stage,) = cut(query)
    assert all(key is None for _, key in keys(stage))


def test_a_partitioned_window_is_hashed_by_its_partition():
    (stage,) = cut("SELECT src, bytes FROM l [PARTITION BY src ROWS 2]")
    assert names(stage) == [("l", ["src"])]


def test_a_group_by_the_partition_of_a_window_stays_in_its_stage():
    (stage,) = cut("SELECT src, SUM(bytes) FROM l [PARTITION BY src ROWS 2] GROUP BY src")
    assert names(stage) == [("l", ["src"])]


def test_equal_rows_meet_for_distinct_and_istream():
    for query in ("SELECT DISTINCT src, dst FROM l [RANGE 9]",
                  "ISTREAM(SELECT src, dst FROM l [RANGE 9])"):  # fmt: skip
        (stage,) = cut(query)
        assert names(stage) == [("l", ["src", "dst"])]


def test_distinct_over_a_group_by_whose_key_is_not_shown_is_a_stage_of_its_own():
    first, second = cut(
        "SELECT DISTINCT n FROM (SELECT src, COUNT(*) AS n FROM l [RANGE 9] GROUP BY src) AS g"
    )
    assert names(first) == [("l", ["src"])]
    assert names(second) == [(0, ["n"])]


def test_selections_and_projections_on_a_stream_are_done_while_packing():
    (stage,) = cut("SELECT src FROM l [RANGE 9] WHERE bytes > 5")
    (edge,) = stage.inputs
    assert any(isinstance(n, Selection) for n in walk(edge.pre))
    assert isinstance(list(walk(edge.pre))[-1], StreamScan)
    assert not any(isinstance(n, Selection) for n in walk(stage.plan))
    assert any(isinstance(n, Window) for n in walk(stage.plan))
    assert [f.name for f in edge.pre.schema] == ["src"]


def test_keys_of_different_types_are_hashed_as_one_type():
    (stage,) = cut("SELECT l.dst FROM l [RANGE 9], r [RANGE 9] WHERE l.bytes = r.load")
    types = {k.type for e in stage.inputs for k in e.key or ()}
    assert len(types) == 1


def test_a_self_join_on_one_key_packs_the_stream_once_if_both_sides_want_the_same():
    (stage,) = cut(
        "SELECT a.src, a.dst, b.dst FROM l [RANGE 9] AS a, l [RANGE 9] AS b WHERE a.src = b.src"
    )
    assert any(isinstance(n, Join) for n in walk(stage.plan))
    assert len(stage.inputs) == 1


def test_a_union_of_groups_by_different_keys_is_one_stage_until_something_must_meet():
    union = (
        "SELECT src AS k, COUNT(*) AS n FROM l [RANGE 9] GROUP BY src "
        "UNION ALL SELECT dst AS k, COUNT(*) AS n FROM r [RANGE 9] GROUP BY dst"
    )
    (alike,) = cut(f"SELECT k, SUM(n) FROM ({union}) AS u GROUP BY k")
    assert names(alike) == [("l", ["src"]), ("r", ["dst"])]
    first, second = cut(f"SELECT n, COUNT(*) FROM ({union}) AS u GROUP BY n")
    assert names(first) == [("l", ["src"]), ("r", ["dst"])]
    assert names(second) == [(0, ["n"])]


def test_stages_come_after_those_that_they_read():
    for stage in cut(
        "SELECT n, COUNT(*) FROM (SELECT a.dst, COUNT(*) AS n FROM l [RANGE 9] AS a, "
        "r [RANGE 9] AS b WHERE a.src = b.src GROUP BY a.dst) AS g GROUP BY n"
    ):
        assert all(e.source < stage.number for e in stage.inputs if isinstance(e.source, int))


def test_what_a_negation_compares_meets_but_for_not_in_which_one_null_decides():
    (stage,) = cut("SELECT src FROM l [RANGE 9] EXCEPT ALL SELECT dst FROM r [RANGE 9]")
    assert names(stage) == [("l", ["src"]), ("r", ["dst"])]
    (single,) = cut("SELECT dst FROM l [RANGE 9] WHERE src NOT IN (SELECT src FROM r [RANGE 9])")
    assert all(key is None for _, key in keys(single))


def test_an_operator_over_many_inputs_hashes_each_by_its_own_keys():
    catalog = compile_script(STREAMS).catalog
    scans = [StreamScan(s.name, s.schema, s.clock) for s in (*catalog.streams, catalog.streams[0])]
    by = [(Column(i, "k", s.schema[i].type),) for i, s in zip((1, 2, 2), scans, strict=True)]
    join = MultiJoin(tuple(Window(s, RangeWindow(9)) for s in scans), tuple(by), (0, 1, 2))
    (stage,) = cut_into_stages(join)
    assert names(stage) == [("l", ["src"]), ("r", ["dst"]), ("l", ["dst"])]
    keyed = Named("k", Column(len(scans[0].schema) + 2, "dst", Type.STRING))
    (grouped,) = cut_into_stages(GroupBy(join, (keyed,), ()))
    assert names(grouped) == names(stage)


def test_updates_of_a_relation_meet_the_stream_by_key_and_an_nrr_is_known_as_one():
    for kind in ("RELATION", "NRR"):
        compiled = compile_script(
            f"{STREAMS} CREATE {kind} hosts (ip STRING, owner STRING);"
            "SELECT owner FROM l [RANGE 9], hosts WHERE l.src = hosts.ip;"
        )
        (stage,) = cut_into_stages(compiled.queries[-1].plan)
        assert sorted(names(stage)) == [("hosts", ["ip"]), ("l", ["src"])]
        leaves = {n.name: n.nrr for n in walk(stage.plan) if isinstance(n, StageInput)}
        assert {name.split("#")[0] for name, nrr in leaves.items() if nrr} == (
            {"hosts"} if kind == "NRR" else set()
        )


def test_negative_tuples_are_in_the_plan_before_it_is_cut():
    query = (
        "SELECT l.src, COUNT(*) FROM l [RANGE 9], r [RANGE 9] WHERE l.dst = r.dst GROUP BY l.src"
    )
    plan = compile_script(f"{STREAMS} {query};").queries[0].plan
    first, second = cut_into_stages(plan, Strategy.NT)
    (sent,) = (n for n in walk(second.plan) if isinstance(n, StageInput))
    assert sent.pattern is first.plan.pattern is UpdatePattern.STRICT


@pytest.mark.parametrize(
    ("query", "summed"),
    [
        ("SELECT src, SUM(bytes) FROM l [RANGE 9 SLIDE 3] WHERE bytes > 2 GROUP BY src", True),
        ("SELECT COUNT(*), MAX(bytes) FROM l [RANGE 9 SLIDE 3]", True),
        ("SELECT src, MEDIAN(bytes) FROM l [RANGE 9 SLIDE 3] GROUP BY src", False),
        ("SELECT src, SUM(bytes) FROM l [RANGE 9] GROUP BY src", False),
    ],
)
def test_senders_make_summaries_for_a_group_by_over_sub_windows(query, summed):
    (stage,) = cut(query)
    (edge,) = stage.inputs
    assert (edge.summed is not None) == summed
    assert edge.schema == next(n for n in walk(stage.plan) if not n.inputs).schema


def test_tuples_travel_where_another_stream_may_close_their_instants():
    """A summary has one instant: some of its tuples might be late for the query, and others not."""
    stages = cut(
        "SELECT g.src FROM (SELECT src, COUNT(*) AS n FROM l [RANGE 9 SLIDE 3] GROUP BY src) AS g, "
        "r [RANGE 9] WHERE g.n = r.size AND g.src = r.src"
    )
    assert all(edge.summed is None for stage in stages for edge in stage.inputs)
