"""What queries mean as plans."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.plan.scripts import bound, catalog, optimised
from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Type
from windrow.core.time import FOREVER, Clock
from windrow.plan.catalog import (
    ArchiveDeclaration,
    Destination,
    RelationDeclaration,
    StreamDeclaration,
    SubscriptionsDeclaration,
    ViewDeclaration,
)
from windrow.plan.expressions import Column, render
from windrow.plan.nodes import (
    AppendOnly,
    DuplicateElimination,
    Every,
    FileSource,
    GroupBy,
    Join,
    LastingJoin,
    Negation,
    NegationForm,
    Node,
    OutputWindow,
    Projection,
    Selection,
    StreamKind,
    StreamScan,
    TopK,
    ToStream,
    Union,
    Window,
    walk,
)
from windrow.plan.nodes.rebuild import without_spans
from windrow.plan.nodes.window_specs import NowWindow, RangeWindow, RowsWindow
from windrow.plan.program import compile_script


def shape(plan: Node) -> list[str]:
    return [type(n).__name__ for n in walk(plan)]


def listed(text: str) -> list[tuple[str, Type]]:
    """Names and types of the columns of ``SELECT text FROM s`` or, with seconds, f."""
    return [(field.name, field.type) for field in bound(text).schema]


def test_declarations_keep_clock_slack_source_and_timestamp() -> None:
    made = compile_script(
        "CREATE STREAM q (a INT, at TIMESTAMP) FROM 'd/' FORMAT jsonl SLACK 2 SECONDS;"
        "CREATE STREAM p (a INT, at TIMESTAMP, ts BIGINT) SLACK 3;"
        "CREATE STREAM o (a INT, at TIMESTAMP, ts BIGINT) TIMESTAMP BY at;"
        "CREATE NRR h (a INT) FROM 'h.csv';"
    ).catalog
    q, p, o, h = (made.find(name) for name in "qpoh")
    assert isinstance(q, StreamDeclaration)
    assert (q.timestamp, q.clock, q.slack) == (1, Clock.TIMESTAMP, 2_000_000)
    assert q.source == FileSource("d/", "json")
    assert isinstance(p, StreamDeclaration)
    assert (p.timestamp, p.clock, p.slack) == (2, Clock.INTEGER, 3)
    assert isinstance(o, StreamDeclaration)
    assert (o.timestamp, o.clock) == (1, Clock.TIMESTAMP)
    assert isinstance(h, RelationDeclaration)
    assert (h.retroactive, h.source) == (False, FileSource("h.csv", "csv"))


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ("", (0, None, None)),
        ("SLACK 2 AHEAD 1 HOUR IDLE AFTER 30 SECONDS", (2, 3600, 30_000_000)),
        ("IDLE AFTER 1 MIN AHEAD 5 SLACK 2 SECONDS", (2, 5, 60_000_000)),
        ("AHEAD UNBOUNDED IDLE AFTER NEVER FROM 'x.csv'", (0, FOREVER, FOREVER)),
        ("ahead 0 TIMESTAMP BY ts idle after 5 ms", (0, 0, 5_000)),
    ],
)
def test_limits_of_time_stand_in_any_order(clauses: str, expected: tuple) -> None:
    made = compile_script(f"CREATE STREAM q (ts BIGINT) {clauses};").catalog.find("q")
    assert isinstance(made, StreamDeclaration)
    assert (made.slack, made.ahead, made.idle) == expected


def test_relations_have_limits_of_time_in_microseconds() -> None:
    script = "CREATE RELATION h (a INT) FROM 'h.csv' IDLE AFTER 2 SECONDS AHEAD 1 DAY;"
    made = compile_script(script).catalog.find("h")
    assert isinstance(made, RelationDeclaration)
    assert (made.ahead, made.idle) == (86_400_000_000, 2_000_000)


def test_a_limit_of_time_is_no_part_of_what_identifies_a_declaration() -> None:
    """The fingerprint of a checkpoint is made of it: old checkpoints go on, limits may change."""
    plain, limited = (
        compile_script(f"CREATE STREAM q (ts BIGINT) {clauses}").catalog.streams[0]
        for clauses in ("", "AHEAD 5 IDLE AFTER 1 MIN")
    )
    assert repr(replace(plain, span=None)) == repr(replace(limited, span=None))
    assert "ahead" not in repr(plain)


def test_archives_and_subscriptions_are_bound_to_their_stream() -> None:
    made = compile_script(
        "CREATE ARCHIVE m ON F KEY SRC WINDOW 30 DAYS USING WATA(4) PACKED;"
        "CREATE SUBSCRIPTIONS alerts ON f (bytes) FROM 'alerts.csv';",
        catalog(),
    ).catalog
    archive, alerts = made.find("m"), made.find("ALERTS")
    assert isinstance(archive, ArchiveDeclaration)
    assert (archive.on, archive.key, archive.window) == ("f", ("src",), 30 * 86_400_000_000)
    assert (archive.scheme, archive.constituents, archive.technique) == ("WATA", 4, "PACKED")
    assert isinstance(alerts, SubscriptionsDeclaration)
    assert alerts.source == FileSource("alerts.csv", "csv")


def test_queries_are_numbered_unless_named_and_know_their_destination() -> None:
    made = compile_script(
        "SELECT k FROM s; CREATE QUERY q AS SELECT k FROM s INTO 'o' FORMAT csv; SELECT a FROM s",
        catalog(),
    )
    assert [q.name for q in made.queries] == ["query1", "q", "query2"]
    assert made.queries[1].into == Destination("o", "csv")
    assert made.queries[1].text.startswith("CREATE QUERY q")


def test_a_script_extends_a_catalog_and_leaves_the_old_one() -> None:
    before = catalog()
    after = compile_script("CREATE VIEW v AS SELECT k FROM counted", before).catalog
    assert isinstance(after.find("V"), ViewDeclaration)
    assert before.find("v") is None


def test_a_stream_without_a_window_is_the_scan_itself() -> None:
    assert shape(bound("SELECT * FROM s")) == ["StreamScan"]
    assert bound("SELECT * FROM s [UNBOUNDED]") == bound("SELECT * FROM s [RANGE UNBOUNDED]")
    assert bound("SELECT * FROM s [UNBOUNDED]") == bound("SELECT * FROM s")


@pytest.mark.parametrize(
    ("clause", "stream", "spec"),
    [
        ("[RANGE 1 MINUTE]", "s", RangeWindow(60)),
        ("[RANGE 1 MINUTE]", "f", RangeWindow(60_000_000)),
        ("[RANGE 90]", "s", RangeWindow(90)),
        ("[RANGE 0.5 SECONDS SLIDE 250 MS]", "f", RangeWindow(500_000, 250_000)),
        ("[NOW INTERNAL]", "s", NowWindow(internal=True)),
        ("[ROWS 3]", "s", RowsWindow(3)),
        ("[ROWS 3 SLIDE 2]", "s", RowsWindow(3, slide=2)),
        ("[PARTITION BY name, K ROWS 3]", "s", RowsWindow(3, (5, 1))),
    ],
)
def test_windows_are_in_ticks_of_the_stream_s_clock(clause: str, stream: str, spec: object) -> None:
    windows = [n for n in walk(bound(f"SELECT * FROM {stream} {clause}")) if isinstance(n, Window)]
    assert [w.spec for w in windows] == [spec]


def test_names_are_found_in_any_case_and_by_alias() -> None:
    plan = bound("SELECT X.K, a AS Total FROM S AS x WHERE NAME = 'n'")
    assert [str(f) for f in plan.schema] == ["x.k", "Total"]


def test_stars_list_all_columns_or_those_of_one_table() -> None:
    assert [f.name for f in bound("SELECT * FROM t, r").schema] == ["ts", "k", "c", "k", "w"]
    names = [str(f) for f in bound("SELECT r.*, t.c FROM t, r").schema]
    assert names == ["r.k", "r.w", "t.c"]


def test_unnamed_items_get_names_that_files_can_have() -> None:
    assert [n for n, _ in listed("SELECT a / 2, SUM(b), COUNT(*), MAX(a + b) FROM s GROUP BY a / 2")
            ] == ["column1", "sum_b", "count", "max"]  # fmt: skip


def test_equalities_between_tables_become_keys_and_the_rest_stays() -> None:
    plan = bound(
        "SELECT s.a FROM s [RANGE 5], t [RANGE 5] "
        "WHERE s.k = t.k AND t.c + 1 = s.a * 2 AND s.a > t.c AND s.b = 3"
    )
    join = next(n for n in walk(plan) if isinstance(n, Join))
    assert [render(k) for k in join.left_keys] == ["k", "a * 2"]
    assert [render(k) for k in join.right_keys] == ["k", "c + 1"]
    assert join.residual is not None
    assert render(join.residual) == "a > c"
    above = next(n for n in walk(plan) if isinstance(n, Selection))
    assert render(above.predicate) == "b = 3"


def test_keys_of_different_types_are_cast_to_one() -> None:
    plan = bound("SELECT s.a FROM s, t WHERE s.x = t.k AND s.k = t.ts")
    join = next(n for n in walk(plan) if isinstance(n, Join))
    assert [k.type for k in join.left_keys] == [k.type for k in join.right_keys]
    assert [k.type for k in join.left_keys] == [Type.DOUBLE, Type.BIGINT]


def test_joins_are_left_deep_in_the_order_of_from() -> None:
    plan = bound("SELECT X.k FROM s AS X JOIN t AS Y ON X.k = Y.k, picked AS Z WHERE Y.k = Z.k")
    top = next(n for n in walk(plan) if isinstance(n, Join))
    assert isinstance(top.left, Join)
    assert [c.name for c in top.left_keys if isinstance(c, Column)] == ["k"]
    assert [c.index for c in top.left_keys if isinstance(c, Column)] == [7]


def test_views_are_their_plans() -> None:
    direct = optimised("SELECT k FROM (SELECT k, a FROM s WHERE a > 1) AS picked WHERE a < 5")
    viewed = optimised("SELECT k FROM picked WHERE a < 5")
    assert viewed.plan == direct.plan


def test_a_view_renames_columns_and_a_window_goes_over_a_monotonic_one() -> None:
    made = compile_script(
        "CREATE VIEW v (key INT, val INT) AS SELECT k, a FROM s;"
        "CREATE VIEW w (only) AS Istream(SELECT DISTINCT key FROM v [RANGE 4]);"
        "SELECT only, COUNT(*) FROM w [RANGE 9 SECONDS] GROUP BY only",
        catalog(),
    )
    plan = made.queries[0].plan
    assert [f.name for f in plan.schema] == ["only", "count"]
    assert shape(plan)[:3] == ["GroupBy", "Window", "ToStream"]


def test_group_by_is_keys_then_aggregates_with_having_and_arithmetic_on_top() -> None:
    plan = bound(
        "SELECT SUM(a) / COUNT(*) AS mean, k FROM s [ROWS 5] GROUP BY k HAVING MAX(b) > 2 AND k < 9"
    )
    assert shape(plan) == ["Projection", "Selection", "GroupBy", "Window", "StreamScan"]
    assert isinstance(plan, Projection)
    assert [render(c.expression, plan.input.schema) for c in plan.columns] == [
        "sum_a / count",
        "s.k",
    ]
    group = plan.input.inputs[0]
    assert isinstance(group, GroupBy)
    assert [a.function for a in group.aggregates] == ["SUM", "COUNT", "MAX"]


def test_equal_aggregates_are_computed_once_and_called_as_their_item() -> None:
    plan = bound("SELECT k, COUNT(*) AS n FROM s GROUP BY k HAVING COUNT(*) > 1 AND n < 9")
    assert shape(plan) == ["Selection", "GroupBy", "StreamScan"]
    assert [f.name for f in plan.schema] == ["k", "n"]


def test_grouping_by_expression_and_by_alias_is_the_same() -> None:
    by_alias = bound("SELECT a / 10 AS d, COUNT(*) AS n FROM s GROUP BY d")
    by_expression = bound("SELECT a / 10 AS d, COUNT(*) AS n FROM s GROUP BY a / 10")
    assert by_alias == by_expression


def test_aggregates_have_the_types_of_the_language() -> None:
    assert [t for _, t in listed(
        "SELECT SUM(a), SUM(x), AVG(a), COUNT(*), COUNT(DISTINCT name), MIN(name), MAX(a), "
        "MEDIAN(a), QUANTILE(x, 0.9), QUANTILE(0.1, a) FROM s"
    )] == [Type.BIGINT, Type.DOUBLE, Type.DOUBLE, Type.BIGINT, Type.BIGINT, Type.STRING, Type.INT,
           Type.DOUBLE, Type.DOUBLE, Type.DOUBLE]  # fmt: skip
    group = bound("SELECT COUNT(DISTINCT k), QUANTILE(0.25, a), MIN(DISTINCT a) FROM s")
    assert isinstance(group, GroupBy)
    assert [(a.distinct, a.parameter) for a in group.aggregates] == [
        (True, None), (False, 0.25), (False, None)]  # fmt: skip


def test_distinct_is_over_the_select_list() -> None:
    plan = bound("SELECT DISTINCT k, a / 25 FROM s [ROWS 12]")
    assert isinstance(plan, DuplicateElimination)
    assert isinstance(plan.input, Projection)


def test_union_flattens_takes_the_first_names_and_casts_to_common_types() -> None:
    plan = bound("SELECT k AS one FROM s UNION ALL SELECT ts FROM t UNION ALL SELECT c FROM t")
    assert isinstance(plan, Union)
    assert len(plan.branches) == 3
    assert [(f.name, f.type) for f in plan.schema] == [("one", Type.BIGINT)]
    assert all(b.schema[0].type is Type.BIGINT for b in plan.branches)


def test_except_is_negation_over_all_columns() -> None:
    plan = bound("picked EXCEPT picked")
    assert isinstance(plan, Negation)
    assert plan.form is NegationForm.EXCEPT
    assert len(plan.left_keys) == 2


def test_not_exists_splits_its_conditions_into_keys_residual_and_its_own() -> None:
    plan = bound(
        "SELECT k FROM s [RANGE 5] WHERE a > 0 AND NOT EXISTS "
        "(SELECT * FROM t [RANGE 5] WHERE k = s.k AND c > a AND c < 9)"
    )
    negation = next(n for n in walk(plan) if isinstance(n, Negation))
    assert negation.form is NegationForm.NOT_EXISTS
    assert [render(k) for k in (*negation.left_keys, *negation.right_keys)] == ["k", "k"]
    assert negation.residual is not None
    assert render(negation.residual, negation.left.schema + negation.right.schema) == "t.c > s.a"
    assert isinstance(negation.left, Selection)
    assert isinstance(negation.right, Selection)


def test_not_in_is_negation_on_the_value() -> None:
    plan = bound("SELECT * FROM s WHERE a NOT IN (SELECT c FROM t)")
    assert isinstance(plan, Negation)
    assert (plan.form, render(plan.left_keys[0])) == (NegationForm.NOT_IN, "a")


@pytest.mark.parametrize(
    ("by_number", "by_name"),
    [
        ("SELECT k, SUM(a) AS n FROM s [NOW] GROUP BY 1 ORDER BY 2 DESC LIMIT 3",
         "SELECT k, SUM(a) AS n FROM s [NOW] GROUP BY k ORDER BY n DESC LIMIT 3"),
        ("SELECT *, a + b AS c FROM s [NOW] ORDER BY 7, 2 LIMIT 3",
         "SELECT *, a + b AS c FROM s [NOW] ORDER BY c, k LIMIT 3"),
    ],
)  # fmt: skip
def test_a_number_in_group_by_and_order_by_is_an_item(by_number: str, by_name: str) -> None:
    assert without_spans(bound(by_number)) == without_spans(bound(by_name))


def test_top_orders_by_the_first_aggregate_or_by_order_by() -> None:
    top = bound("SELECT TOP 3 k, SUM(a), COUNT(*) FROM s [RANGE 5] GROUP BY k")
    assert isinstance(top, TopK)
    assert (top.count, top.keys[0].descending) == (3, True)
    assert render(top.keys[0].expression) == "sum_a"
    hidden = bound("SELECT k FROM s [RANGE 5] ORDER BY a + b DESC, k LIMIT 2")
    assert isinstance(hidden, Projection)
    assert [f.name for f in hidden.schema] == ["k"]
    assert isinstance(hidden.input, TopK)
    assert [k.descending for k in hidden.input.keys] == [True, False]
    distinct = bound("SELECT DISTINCT k FROM s [RANGE 5] ORDER BY k LIMIT 2")
    assert shape(distinct)[:2] == ["TopK", "DuplicateElimination"]


def test_the_query_of_golab_2006_section_3_5_1_negates_what_its_sub_query_keeps() -> None:
    text = "SELECT Rstream(*) FROM s, t WHERE s.k = t.k AND NOT EXISTS (SELECT {} FROM {} WHERE {})"
    written = bound(text.format("Rstream(*)", "r", "r.k = s.k"))
    assert without_spans(written) == without_spans(bound(text.format("*", "r", "r.k = s.k")))
    assert shape(written)[:3] == ["ToStream", "Negation", "Join"]


def test_streams_come_out_of_relations() -> None:
    for kind_ in (StreamKind.ISTREAM, StreamKind.DSTREAM):
        plan = bound(f"SELECT {kind_.value}(k) FROM s [RANGE 5]")
        assert isinstance(plan, ToStream)
        assert plan.kind is kind_
    output = bound("SELECT WSTREAM(*)[ROWS 10] FROM s [RANGE 5]")
    assert isinstance(output, OutputWindow)
    assert output.spec == RowsWindow(10)


@pytest.mark.parametrize(
    ("text", "every"),
    [
        ("Rstream(SELECT k FROM s [RANGE 5])", 1),
        ("Rstream(SELECT k FROM s [RANGE 10 SLIDE 5])", 1),
        ("Rstream(SELECT k FROM s [RANGE 5]) EVERY 5 SECONDS", 5),
        ("Rstream(SELECT k FROM s [RANGE 5] EVERY 5 SECONDS)", 5),
        ("Rstream(SELECT src FROM f [RANGE 5 MIN]) EVERY 1 SECOND", 1_000_000),
        ("Rstream(SELECT src FROM f [RANGE 5 MIN SLIDE 10 SECONDS])", 10_000_000),
        ("Rstream(SELECT a.src FROM f [RANGE 5 MIN SLIDE 10 SEC] a, f [RANGE 5 MIN SLIDE 4 SEC] b)",
         2_000_000),
    ],
)  # fmt: skip
def test_rstream_has_a_rhythm(text: str, every: int) -> None:
    plan = bound(text)
    assert isinstance(plan, ToStream)
    assert plan.every == every
    assert not any(isinstance(n, Every) for n in walk(plan))


def test_every_stands_below_istream_and_above_everything_else() -> None:
    assert shape(bound("SELECT * FROM s [RANGE 5] EVERY 2 SECONDS"))[0] == "Every"
    below = bound("Istream(SELECT * FROM s [RANGE 5]) EVERY 2 SECONDS")
    assert shape(below)[:2] == ["ToStream", "Every"]


def test_internal_windows_make_their_block_append_only() -> None:
    joined = bound("SELECT s.k FROM s [RANGE 5 INTERNAL], t [ROWS 5 INTERNAL] WHERE s.k = t.k")
    assert isinstance(joined, AppendOnly)
    nested = bound(
        "SELECT SUM(v) FROM (SELECT SUM(a) AS v FROM s [RANGE 6 SLIDE 6 INTERNAL]) [ROWS 10]"
    )
    assert shape(nested)[:3] == ["GroupBy", "Window", "AppendOnly"]


@pytest.mark.parametrize(
    ("items", "after"),
    [
        ("COUNT(*), SUM(a)", ""),
        ("s.k, MAX(c)", "GROUP BY s.k"),
        ("s.k, COUNT(*)", "GROUP BY s.k HAVING COUNT(*) > 2"),
        ("s.k, c", "ORDER BY c DESC LIMIT 3"),
    ],
)
def test_beside_internal_windows_what_is_asked_is_asked_of_the_join(items: str, after: str) -> None:
    """Whether the join is written in a sub-query or not (Golab 2006, Definition 3.1)."""
    tables = "s [RANGE 5] AS s, t [RANGE 2 INTERNAL] AS t WHERE s.k = t.k"
    plan = bound(f"SELECT {items} FROM {tables} {after}")
    join = next(n for n in walk(plan) if isinstance(n, LastingJoin))
    nested = bound(
        f"SELECT {items} FROM (SELECT s.k AS k, a, c FROM {tables}) AS s {after}",
    )
    assert join in walk(nested)
    assert plan.pattern is UpdatePattern.STRICT
    assert not any(isinstance(n, AppendOnly) for n in walk(plan))
    above = [kind for kind in shape(plan) if kind in ("GroupBy", "TopK", "LastingJoin")]
    assert above == [kind for kind in shape(nested) if kind in ("GroupBy", "TopK", "LastingJoin")]


def test_relations_need_no_window_and_no_clock() -> None:
    query = optimised("SELECT * FROM r")
    assert not any(isinstance(n, StreamScan) for n in walk(query.plan))
    assert query.clock is Clock.INTEGER


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ISTREAM-RESTORE(s.k) FROM s [RANGE 60 SLIDE 10], t [RANGE 30 SLIDE 10]",
        "ISTREAM-RESTORE(SELECT s.k FROM s [RANGE 60], t [RANGE 30]) EVERY 10 SECONDS",
        "ISTREAM-RESTORE(SELECT s.k FROM s [RANGE 60 SLIDE 10], t [RANGE 30] EVERY 10 SECONDS)",
    ],
)
def test_what_is_restored_runs_continually_and_is_reported_at_its_slide(text: str) -> None:
    plan = bound(text)
    assert isinstance(plan, ToStream)
    assert (plan.kind, plan.every) == (StreamKind.ISTREAM_RESTORE, 10)
    assert not any(isinstance(n, Every) for n in walk(plan))
    specs = [n.spec for n in walk(plan) if isinstance(n, Window)]
    assert specs == [RangeWindow(60), RangeWindow(30)]


def test_a_restored_query_leaves_the_slides_of_streams_that_it_reads() -> None:
    plan = bound(
        "SELECT RSTREAM-RESTORE(k) FROM (ISTREAM(SELECT k FROM s [RANGE 9 SLIDE 3])) [RANGE 8 "
        "SLIDE 4]"
    )
    assert isinstance(plan, ToStream)
    assert plan.every == 4
    specs = [n.spec for n in walk(plan) if isinstance(n, Window)]
    assert specs == [RangeWindow(8), RangeWindow(9, 3)]


def test_an_aggregate_over_wstream_is_one_over_a_window_on_a_sub_query() -> None:
    short = bound("SELECT SUM(WSTREAM(SUM(a))[ROWS 10]) AS total FROM s [RANGE 6 SLIDE 6]")
    assert shape(short) == ["GroupBy", "OutputWindow", "GroupBy", "Window", "StreamScan"]
    assert short.schema.unique_names() == ("total",)
    chunks = bound("SELECT SUM(a) AS result1 FROM s [RANGE 6 SLIDE 6]")
    assert isinstance(chunks, GroupBy)
    assert short.inputs[0].inputs[0] == replace(chunks, every_time=True)


def test_results_that_stay_are_produced_every_time_their_input_changes() -> None:
    for query in (
        "SELECT SUM(a) FROM s [RANGE 6 INTERNAL]",
        "SELECT WSTREAM(SUM(a))[ROWS 2] FROM s [RANGE 6]",
    ):
        (group,) = (n for n in walk(bound(query)) if isinstance(n, GroupBy))
        assert group.every_time
    (group,) = (n for n in walk(bound("SELECT SUM(a) FROM s [RANGE 6]")) if isinstance(n, GroupBy))
    assert not group.every_time


def test_a_relation_keeps_its_primary_key_and_without_one_the_row_is_the_key() -> None:
    made = compile_script(
        "CREATE RELATION a (x INT, y INT PRIMARY KEY); CREATE NRR b (x INT, y INT, z INT, "
        "PRIMARY KEY (Z, x)); CREATE RELATION c (x INT, y INT)"
    )
    assert [r.key for r in made.catalog.relations] == [(1,), (2, 0), (0, 1)]


def test_order_by_means_a_name_of_the_select_list_before_a_column_of_the_input() -> None:
    plan = bound("SELECT k AS a, a AS k FROM s [RANGE 5] ORDER BY a LIMIT 1")
    (top,) = (n for n in walk(plan) if isinstance(n, TopK))
    (key,) = top.keys
    assert isinstance(key.expression, Column)
    assert key.expression.index == 0
