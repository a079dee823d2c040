"""Update patterns on every edge, by the rules of Golab 2006, 3.5.1."""

from __future__ import annotations

import pytest

from tests.plan.scripts import bound
from windrow.core.patterns import UpdatePattern
from windrow.plan.nodes import Join, Union, walk

MONOTONIC, WEAKEST = UpdatePattern.MONOTONIC, UpdatePattern.WEAKEST
WEAK, STRICT = UpdatePattern.WEAK, UpdatePattern.STRICT


@pytest.mark.parametrize(
    ("query", "pattern"),
    [
        # leaves: unbounded streams, time windows, count windows, relations
        ("SELECT * FROM s", MONOTONIC),
        ("SELECT * FROM s [UNBOUNDED]", MONOTONIC),
        ("SELECT * FROM s [RANGE 5]", WEAKEST),
        ("SELECT * FROM s [RANGE 5 SLIDE 1]", WEAKEST),
        ("SELECT * FROM s [NOW]", WEAKEST),
        ("SELECT * FROM s [ROWS 5]", STRICT),
        ("SELECT * FROM s [PARTITION BY k ROWS 5]", STRICT),
        ("SELECT * FROM r", STRICT),
        # rule 1: selection and projection keep the pattern of their input
        ("SELECT k FROM s WHERE a > 1", MONOTONIC),
        ("SELECT k + 1 FROM s [RANGE 5] WHERE a > 1", WEAKEST),
        ("SELECT k FROM s [ROWS 5] WHERE a > 1", STRICT),
        # rule 1: so does a join with an NRR
        ("SELECT s.k FROM s [RANGE 5], n WHERE s.k = n.k", WEAKEST),
        ("SELECT s.k FROM s, n WHERE s.k = n.k AND n.w > 3", MONOTONIC),
        ("SELECT s.k FROM n, s [NOW] WHERE s.k = n.k", WEAKEST),
        # rule 2: union; windows of different lengths do not expire in order of arrival
        ("SELECT k FROM s [RANGE 5] UNION ALL SELECT k FROM t [RANGE 5]", WEAKEST),
        ("SELECT k FROM s [RANGE 5] UNION ALL SELECT k FROM t [RANGE 6]", WEAK),
        ("SELECT k FROM s [RANGE 5] UNION ALL SELECT k FROM t [NOW]", WEAK),
        ("SELECT k FROM s [RANGE 5] UNION ALL SELECT k FROM t", WEAK),
        ("SELECT k FROM s UNION ALL SELECT k FROM t", MONOTONIC),
        ("SELECT k FROM s [RANGE 5] UNION ALL SELECT k FROM t [ROWS 5]", STRICT),
        # rule 3: join and DISTINCT
        ("SELECT s.k FROM s [RANGE 5], t [RANGE 5] WHERE s.k = t.k", WEAK),
        ("SELECT s.k FROM s, t WHERE s.k = t.k", MONOTONIC),
        ("SELECT s.k FROM s [RANGE 5], t WHERE s.k = t.k", WEAK),
        ("SELECT s.k FROM s [RANGE 5], t [ROWS 5] WHERE s.k = t.k", STRICT),
        ("SELECT s.k FROM s [RANGE 5], r WHERE s.k = r.k", STRICT),
        ("SELECT DISTINCT k FROM s [RANGE 5]", WEAK),
        ("SELECT DISTINCT k FROM s", MONOTONIC),
        ("SELECT DISTINCT k FROM s [ROWS 5]", STRICT),
        # rules 4 and 5: grouping replaces its results, negation withdraws them
        ("SELECT k, COUNT(*) FROM s [RANGE 5] GROUP BY k", STRICT),
        ("SELECT COUNT(*) FROM s", STRICT),
        ("SELECT k FROM s [RANGE 5] EXCEPT ALL SELECT k FROM t [RANGE 5]", STRICT),
        ("SELECT k FROM s [RANGE 5] WHERE k NOT IN (SELECT k FROM t [RANGE 5])", STRICT),
        # what comes out as a stream is never withdrawn
        ("Istream(SELECT k FROM s [RANGE 5])", MONOTONIC),
        ("Dstream(SELECT k FROM s [ROWS 5])", MONOTONIC),
        ("Rstream(SELECT k, COUNT(*) FROM s [RANGE 5] GROUP BY k)", MONOTONIC),
        ("SELECT k FROM s [RANGE 5 INTERNAL]", MONOTONIC),
        ("SELECT s.k FROM s [ROWS 5 INTERNAL], t [RANGE 5 INTERNAL] WHERE s.k = t.k", MONOTONIC),
        ("SELECT k, COUNT(*) FROM s [RANGE 5 INTERNAL] GROUP BY k", MONOTONIC),
        # what SQL has beside the algebra is made of it
        ("SELECT k FROM s [RANGE 5] UNION SELECT k FROM t [RANGE 5]", WEAK),
        ("SELECT k FROM s UNION SELECT k FROM t", MONOTONIC),
        ("SELECT k FROM s [RANGE 5] INTERSECT SELECT k FROM t [RANGE 5]", STRICT),
        (
            "SELECT k FROM s [RANGE 5] WHERE EXISTS (SELECT * FROM t [RANGE 5] WHERE t.k = s.k)",
            WEAK,
        ),
        ("SELECT k FROM s [RANGE 5] WHERE k IN (SELECT k FROM t [RANGE 5])", WEAK),
        ("SELECT k FROM s WHERE k IN (SELECT k FROM t)", MONOTONIC),
        (
            "SELECT k FROM s [RANGE 5] WHERE EXISTS (SELECT * FROM t [RANGE 5] WHERE t.k > s.k)",
            STRICT,
        ),
        ("SELECT s.k FROM s [RANGE 5] LEFT JOIN t [RANGE 5] ON t.k = s.k", STRICT),
        ("WITH w AS (SELECT k FROM s) SELECT k FROM w [RANGE 5]", WEAKEST),
        # beside internal windows only the external ones let results expire
        ("SELECT s.k FROM s [RANGE 5 INTERNAL], t [RANGE 5] WHERE s.k = t.k", WEAK),
        ("SELECT s.k FROM s [ROWS 5 INTERNAL], t [RANGE 5] WHERE s.k = t.k", WEAK),
        ("SELECT s.k FROM s [RANGE 5 INTERNAL], t [ROWS 5] WHERE s.k = t.k", STRICT),
        ("SELECT s.k FROM s [ROWS 5 INTERNAL], t [UNBOUNDED] WHERE s.k = t.k", MONOTONIC),
        ("SELECT s.k FROM s [NOW INTERNAL], t [NOW], r WHERE s.k = t.k AND s.k = r.k", STRICT),
        ("SELECT s.k FROM s [NOW INTERNAL], n, t [NOW] WHERE s.k = t.k AND s.k = n.k", WEAK),
        # windows over results
        ("SELECT WSTREAM(k)[ROWS 5] FROM s [RANGE 5]", STRICT),
        ("SELECT WSTREAM(k)[RANGE 5] FROM s [ROWS 5]", WEAKEST),
        ("SELECT k FROM (Istream(SELECT k FROM s [ROWS 5])) [RANGE 9]", WEAKEST),
        ("SELECT k FROM s [RANGE 5] ORDER BY k LIMIT 3", STRICT),
        ("SELECT k FROM s [RANGE 5] EVERY 2 SECONDS", WEAKEST),
    ],
)
def test_the_pattern_of_a_query(query: str, pattern: UpdatePattern) -> None:
    assert bound(query).pattern is pattern


def test_patterns_stand_on_inner_edges_too() -> None:
    plan = bound(
        "SELECT g.k FROM (SELECT k, COUNT(*) AS n FROM s [RANGE 5] GROUP BY k) AS g, "
        "t [RANGE 5] WHERE g.k = t.k"
    )
    join = next(n for n in walk(plan) if isinstance(n, Join))
    assert [i.pattern for i in join.inputs] == [STRICT, WEAKEST]
    assert join.left.inputs[0].pattern is WEAKEST


def test_a_union_of_equal_windows_keeps_their_lifetime() -> None:
    plan = bound("SELECT k FROM s [RANGE 5] UNION ALL SELECT k FROM t [RANGE 5]")
    assert isinstance(plan, Union)
    assert plan.lifetime == plan.branches[0].lifetime
    assert plan.lifetime is not None
