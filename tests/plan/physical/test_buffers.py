"""What can run, and what state is kept in."""

from __future__ import annotations

import pytest

from tests.plan.scripts import bound, catalog
from windrow.core.errors import BindError
from windrow.engine.pipeline import Pipeline
from windrow.plan.nodes import walk
from windrow.plan.physical.buffers import buffer_for
from windrow.plan.program import compile_script


@pytest.mark.parametrize(
    "query",
    [
        (
            "SELECT k, SUM(a), COUNT(*), AVG(a), MIN(a), MAX(DISTINCT a), COUNT(DISTINCT a) FROM s "
            "[RANGE 5] GROUP BY k HAVING COUNT(*) > 1"
        ),
        "SELECT x.k FROM s [RANGE 5] x, t [ROWS 5] y, picked [NOW] z WHERE x.k = y.k AND y.k = z.k",
        "SELECT DISTINCT k FROM s [PARTITION BY k ROWS 3] UNION ALL SELECT k FROM t",
        "Rstream(SELECT k FROM s [RANGE 5 SLIDE 2]) EVERY 2",
        "Istream(SELECT k FROM s [RANGE 5]) EVERY 2",
        "SELECT s.k FROM s [RANGE 5 INTERNAL], t [RANGE 5 INTERNAL] WHERE s.a > t.c",
        "SELECT k FROM s EXCEPT ALL SELECT k FROM t",
        "SELECT k FROM s WHERE NOT EXISTS (SELECT * FROM t WHERE t.k = s.k)",
        "SELECT k FROM s WHERE NOT EXISTS (SELECT * FROM t WHERE t.k = s.k AND t.c > s.a)",
        "SELECT k FROM s WHERE k NOT IN (SELECT k FROM t)",
        "SELECT SUM(DISTINCT a), MEDIAN(DISTINCT a) FROM s",
        "SELECT s.k FROM s [RANGE 5], r WHERE s.k = r.k",
        "SELECT s.k FROM s, n WHERE s.k = n.k",
        "SELECT TOP 3 k, MEDIAN(a), QUANTILE(a, 0.9), STDDEV(a) FROM s [RANGE 5] GROUP BY k",
        "SELECT WSTREAM(k)[ROWS 2] FROM s [RANGE 5]",
    ],
)
def test_every_query_can_run(query: str) -> None:
    assert len(Pipeline(bound(query)).process({}, 0)) == 0


def test_a_view_of_an_earlier_script_is_not_blamed_on_a_place_in_this_one() -> None:
    earlier = compile_script("\n\nCREATE VIEW v AS SELECT k FROM n", catalog())
    with pytest.raises(BindError, match=r"^line 1, column 1: the NRR n is read alone"):
        compile_script("SELECT * FROM v", earlier.catalog)
    with pytest.raises(BindError, match="v is declared already, and differently"):
        compile_script("CREATE VIEW v AS SELECT k FROM s", earlier.catalog)


HASH = "hash on the tuple"
CALENDAR = "calendar queue by expiry (500 partitions)"
AUXILIARY = f"output and auxiliary output by value, {CALENDAR}"


def buffers(query: str) -> list[str | None]:
    """The buffers of all edges, from the top down."""
    return [buffer_for(node, i) for node in walk(bound(query)) for i in range(len(node.inputs))]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT s.*, t.* FROM s, t WHERE s.k = t.k", ["list", "list"]),
        ("SELECT s.*, t.* FROM s [RANGE 5], t [ROWS 5] WHERE s.k = t.k",
         ["FIFO", HASH, None, "list of the last rows"]),
        ("SELECT DISTINCT * FROM s", ["output by value"]),
        ("SELECT DISTINCT * FROM s [RANGE 5]", [AUXILIARY, None]),
        ("SELECT DISTINCT * FROM s [ROWS 5]",
         [f"{HASH}, array by group", "list of the last rows"]),
        ("SELECT DISTINCT * FROM (SELECT x.k FROM s [NOW] x, t [NOW] y)",
         [AUXILIARY, None, "FIFO", "FIFO",
          None, None]),
        ("SELECT k, COUNT(*) FROM s GROUP BY k", ["array by group"]),
        ("SELECT k, MAX(a) FROM s GROUP BY k", ["array by group"]),
        ("SELECT k, MEDIAN(a) FROM s GROUP BY k",
         ["list of what aggregates need, array by group"]),
        ("SELECT k, COUNT(DISTINCT a) FROM s GROUP BY k",
         ["different values by group, array by group"]),
        ("SELECT * FROM s [PARTITION BY k ROWS 5]", ["list of the last rows, queues by key"]),
        ("SELECT k, COUNT(*) FROM s [RANGE 5] GROUP BY k",
         ["FIFO, array by group", None]),
        ("Dstream(SELECT * FROM s [RANGE 5])", ["FIFO", None]),
        ("Istream(SELECT * FROM s [RANGE 5])", ["FIFO", None]),
        ("Istream(SELECT * FROM s)", [None]),
        ("Rstream(SELECT * FROM s)", ["list"]),
        ("SELECT * FROM s [RANGE 5 SLIDE 2] EVERY 4",
         ["tuples since the last report", "tuples since the last report"]),
        ("SELECT * FROM s [RANGE 5] WHERE k NOT IN (SELECT k FROM t [NOW])",
         ["FIFO", "FIFO of keys, counts by key",
          None, None, None]),
        ("SELECT * FROM s [RANGE 5] EXCEPT ALL SELECT * FROM s [NOW]",
         ["FIFO", "FIFO", None, None]),
        ("SELECT * FROM s [RANGE 5] ORDER BY k LIMIT 3", ["FIFO", None]),
        ("SELECT WSTREAM(*)[ROWS 3] FROM s", ["list of the last rows"]),
        ("SELECT s.*, n.* FROM s [RANGE 5], n WHERE s.k = n.k", [None, HASH, None]),
    ],
)  # fmt: skip
def test_the_update_pattern_decides_the_buffer(query: str, expected: list[str | None]) -> None:
    assert buffers(query) == expected
