"""Queries of a script as descriptions for the rules of sharing, and what they would share."""

from __future__ import annotations

import pytest

from windrow.plan.program import compile_script
from windrow.plan.sharing.periodic_aggregates import explain_sharing, periodic_aggregate
from windrow.sharing.rules import (
    EVERYTHING,
    PeriodicQuery,
    output_leaders,
    plan_queries,
)

STREAM = """
CREATE STREAM s (ts BIGINT, src STRING, proto STRING, bytes BIGINT, ok BOOLEAN);
CREATE VIEW web AS SELECT src, bytes * 8 AS bits FROM s WHERE proto = 'http';
"""


def described(*queries: str) -> list[PeriodicQuery | None]:
    script = STREAM + "".join(f"CREATE QUERY q{i} AS {q};" for i, q in enumerate(queries, 1))
    return [periodic_aggregate(query) for query in compile_script(script).queries]


def test_window_period_aggregates_keys_and_predicate_of_a_query() -> None:
    (query,) = described(
        "SELECT src, SUM(bytes), AVG(bytes), COUNT(*), COUNT(DISTINCT proto), MEDIAN(bytes) "
        "FROM s [RANGE 100 SLIDE 10] WHERE proto IN ('tcp', 'udp') AND NOT bytes < 3 GROUP BY src"
    )
    assert query is not None
    assert (query.name, query.source, query.windows, query.slide) == ("q1", "s", (100,), 10)
    assert [str(a) for a in query.aggregates] == [
        "SUM(bytes)",
        "AVG(bytes)",
        "COUNT(*)",
        "COUNT DISTINCT(proto)",
        "QUANTILE(bytes, 0.5)",
    ]
    assert query.group_by == ("src",)
    assert str(query.predicate) == ("proto = 'tcp' AND bytes >= 3 OR proto = 'udp' AND bytes >= 3")
    assert query.finish == ""


def test_a_view_is_seen_through_and_an_alias_makes_no_difference() -> None:
    over_view, spelt_out = described(
        "SELECT MAX(bits) FROM web [RANGE 60 SLIDE 5] WHERE src = 'a'",
        "SELECT MAX(l.bytes * 8) FROM s [RANGE 60 SLIDE 5] AS l "
        "WHERE l.src = 'a' AND l.proto = 'http'",
    )
    assert over_view is not None
    assert spelt_out is not None
    assert over_view.needs == spelt_out.needs
    assert over_view.source == spelt_out.source
    assert over_view.predicate.is_equivalent(spelt_out.predicate)


def test_what_is_selected_above_the_window_counts_too() -> None:
    above, below = described(
        "SELECT COUNT(*) FROM (SELECT bytes FROM s [RANGE 60 SLIDE 5]) AS w WHERE w.bytes > 3",
        "SELECT COUNT(*) FROM s [RANGE 60 SLIDE 5] WHERE bytes > 3",
    )
    assert above is not None
    assert below is not None
    assert above.predicate == below.predicate
    assert above.needs == below.needs


def test_every_is_a_period_too_and_having_and_top_come_after() -> None:
    plain, top = described(
        "SELECT src, COUNT(*) FROM s [RANGE 100] GROUP BY src EVERY 10",
        "SELECT TOP 3 src, COUNT(*) AS n FROM s [RANGE 100 SLIDE 20] GROUP BY src "
        "HAVING COUNT(*) > 2 ORDER BY n DESC",
    )
    assert plain is not None
    assert top is not None
    assert (plain.slide, plain.predicate, plain.finish) == (10, EVERYTHING, "")
    assert plain.needs == top.needs
    assert "TopK 3" in top.finish
    assert len(plan_queries([plain, top]).synopses) == 1
    assert output_leaders([plain, top]) == {}  # the state is the same, the answers are not


@pytest.mark.parametrize(
    "query",
    [
        "SELECT src, SUM(bytes) FROM s [RANGE 100] GROUP BY src",
        "SELECT src, SUM(bytes) FROM s [ROWS 100] GROUP BY src",
        "SELECT src FROM s [RANGE 100 SLIDE 10]",
        "SELECT SUM(DISTINCT bytes) FROM s [RANGE 100 SLIDE 10]",
        "SELECT STRING_AGG(src) FROM s [RANGE 100 SLIDE 10]",
        "SELECT COUNT(*) FROM s [RANGE 9 SLIDE 3] l, s [RANGE 9 SLIDE 3] r WHERE l.src = r.src",
        "SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM s [RANGE 100 SLIDE 10] GROUP BY src) AS c",
    ],
)
def test_what_is_no_periodic_aggregate_is_left_alone(query: str) -> None:
    assert described(query) == [None]


def test_explain_of_several_periodic_queries_says_what_they_share() -> None:
    script = (
        STREAM
        + """
    CREATE QUERY tcp AS SELECT src, SUM(bytes) FROM s [RANGE 100 SLIDE 10]
      WHERE proto = 'tcp' GROUP BY src;
    CREATE QUERY udp AS SELECT src, SUM(bytes) FROM s [RANGE 60 SLIDE 20]
      WHERE proto = 'udp' GROUP BY src;
    CREATE QUERY both AS SELECT src, SUM(bytes) FROM s [RANGE 50 SLIDE 10]
      WHERE proto IN ('udp', 'tcp') GROUP BY src;
    CREATE QUERY rows AS SELECT COUNT(*) FROM s [ROWS 10];
    """
    )
    kept = "running synopsis of sums of bytes by src over s where proto ="
    assert explain_sharing(compile_script(script).queries).splitlines() == [
        f"synopsis 1: {kept} 'tcp' (s = 10 SECONDS, b = 10); read by tcp, both",
        f"synopsis 2: {kept} 'udp' (s = 10 SECONDS, b = 6); read by udp, both",
        "tcp: sums of bytes from synopsis 1; complete at once",
        "udp: sums of bytes from synopsis 2; complete at once",
        "both: sums of bytes from synopsis 1 + synopsis 2; complete at once",
    ]
