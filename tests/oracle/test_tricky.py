"""Scripts for the corners of the language, each against the same words in SQL at every instant."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache

import pytest

import windrow
from tests.oracle.bags import History
from tests.oracle.queries import Feed
from tests.oracle.scripts import Script, fed, meant, said
from tests.oracle.tricky import FILTERED, RELATIONAL, TRICKY
from tests.support.thresholds import at_their_least
from windrow.plan.strategy import Strategy

SEEDS = (3, pytest.param(5, marks=pytest.mark.slow))
SCRIPTS = TRICKY | RELATIONAL
SLOWLY = [*TRICKY, *(pytest.param(name, marks=pytest.mark.slow) for name in RELATIONAL)]
"""What is made of the other operators need not be asked in every way each time."""


@cache
def feeds(seed: int) -> tuple[Feed, ...]:
    return fed(seed)


@cache
def should(name: str, seed: int) -> History:
    return meant(SCRIPTS[name], feeds(seed))


def first_difference(expected: History, found: History) -> str:
    for t in sorted(expected.keys() | found.keys()):
        if expected.get(t) != found.get(t):
            return f"at instant {t}: expected {expected.get(t)}, found {found.get(t)}"
    return ""


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", SCRIPTS)
def test_the_script_says_what_its_words_mean(name: str, seed: int) -> None:
    expected = should(name, seed)
    assert len(expected) > 3, "a script that says nothing shows nothing"
    assert not first_difference(expected, said(SCRIPTS[name], feeds(seed)))


RIVALS = (Strategy.NT, Strategy.DIRECT)


@pytest.mark.parametrize("name", SLOWLY)
def test_it_says_so_row_by_row(name: str) -> None:
    """With thresholds at their least: with the usual ones so few rows take the way of one push."""
    with at_their_least():
        found = said(SCRIPTS[name], feeds(3), rows=1)
    assert not first_difference(should(name, 3), found)


@pytest.mark.parametrize("name", SLOWLY)
def test_it_says_so_by_every_strategy(name: str, sizes: str) -> None:
    """By both rivals, by one of them with thresholds at their least."""
    strategy = RIVALS[(list(SCRIPTS).index(name) + (sizes == "least")) % len(RIVALS)]
    found = said(SCRIPTS[name], feeds(3), rows=7, strategy=strategy)
    assert not first_difference(should(name, 3), found)


@pytest.mark.slow
@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("name", SCRIPTS)
def test_it_says_so_in_pieces_at_all_thresholds(name: str, strategy: Strategy) -> None:
    for rows in (1, 7):
        found = said(SCRIPTS[name], feeds(3), rows=rows, strategy=strategy)
        assert not first_difference(should(name, 3), found)


JOINED = "s [RANGE 3{0}], t [RANGE 4{0}] WHERE s.k = t.k"
UNMATCHED = (
    "SELECT k FROM s [RANGE 5] AS o WHERE k {0} AND NOT EXISTS "
    "(SELECT * FROM t [RANGE 3] AS i WHERE i.k > 0{1})"
)
UNMATCHED_AT_ALL = (
    "SELECT s.k, a, b FROM s [RANGE 5], t [RANGE 9] WHERE s.k = t.k AND NOT EXISTS "
    "({} s [RANGE 2] AS u WHERE u.a > s.a)"
)
WINDOW = "SELECT k, a FROM s [RANGE 6]"
FIRST_OF_EACH = "ROW_NUMBER() OVER (PARTITION BY k ORDER BY a)"
LAST_TWO = "SELECT k, a FROM s [PARTITION BY k ROWS 2]"
CHUNKS = "SELECT SUM(a) AS c FROM s [RANGE 3 SLIDE 3 INTERNAL]"
MIXED = "s [RANGE 7] AS s, t [RANGE 2 INTERNAL] AS t WHERE s.k = t.k"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT k, a FROM s [RANGE 1]", "SELECT k, a FROM s [NOW]"),
        ("SELECT k, a FROM s [PARTITION BY s.k ROWS 2]", LAST_TWO),
        ("SELECT x.k, x.a FROM s [PARTITION BY X.k ROWS 2] AS x", LAST_TWO),
        ("SELECT k, a FROM s AS x [PARTITION BY s.k ROWS 2]", LAST_TWO),
        ("WSTREAM(SELECT x.k, a FROM s AS x)[PARTITION BY x.k ROWS 2]", LAST_TWO),
        (
            "SELECT * FROM filtered [PARTITION BY filtered.k, filtered.a ROWS 1]",
            "SELECT * FROM (SELECT k, a FROM filtered) AS y [PARTITION BY y.k, y.a ROWS 1]",
        ),
        (
            UNMATCHED_AT_ALL.format("SELECT RSTREAM(*) FROM"),
            UNMATCHED_AT_ALL.format("SELECT * FROM"),
        ),
        (
            "SELECT k FROM s [RANGE 5] WHERE k NOT IN (RSTREAM(SELECT k FROM t [RANGE 3]))",
            "SELECT k FROM s [RANGE 5] WHERE k NOT IN (SELECT k FROM t [RANGE 3])",
        ),
        ("SELECT k, a FROM s [RANGE 6 SLIDE 4]", "SELECT k, a FROM s [RANGE 6] EVERY 4"),
        ("SELECT k, a FROM s", "ISTREAM(SELECT k, a FROM s [UNBOUNDED])"),
        ("WSTREAM(SELECT k, a FROM filtered)[ROWS 3]", "SELECT k, a FROM filtered [ROWS 3]"),
        ("WSTREAM(SELECT k, a FROM s [RANGE 2])[RANGE 5]", "SELECT k, a FROM s [RANGE 5]"),
        (
            "WSTREAM(SELECT window_start() AS w, a FROM s [RANGE 3 SLIDE 1])[NOW]",
            "SELECT window_start() AS w, a FROM s [RANGE 3 SLIDE 1]",
        ),
        (
            f"WSTREAM(SELECT s.k, a, b FROM {JOINED.format('')})[RANGE 6]",
            f"SELECT * FROM (SELECT s.k, a, b FROM {JOINED.format(' INTERNAL')}) [RANGE 6]",
        ),
        (
            "SELECT SUM(WSTREAM(SUM(a))[ROWS 4]) AS total FROM s [RANGE 3 SLIDE 3]",
            f"SELECT SUM(c) AS total FROM ({CHUNKS}) [ROWS 4]",
        ),
        (
            f"SELECT s.k, SUM(b) AS total FROM {MIXED} GROUP BY s.k",
            f"SELECT k, SUM(b) AS total FROM (SELECT s.k AS k, b FROM {MIXED}) AS q GROUP BY k",
        ),
        (
            f"SELECT TOP 2 a, b FROM {MIXED} ORDER BY b DESC",
            f"SELECT a, b FROM (SELECT a, b FROM {MIXED}) AS q ORDER BY b DESC LIMIT 2",
        ),
        (
            "SELECT k, a FROM s [RANGE 6] QUALIFY ROW_NUMBER() OVER (ORDER BY a DESC) <= 2",
            "SELECT TOP 2 k, a FROM s [RANGE 6] ORDER BY a DESC",
        ),
        (
            f"SELECT k, a FROM (SELECT *, {FIRST_OF_EACH} AS i FROM ({WINDOW})) AS q WHERE q.i = 1",
            f"{WINDOW} QUALIFY {FIRST_OF_EACH} < 2",
        ),
        (
            "SELECT TOP 2 k, COUNT(*) AS c FROM s [RANGE 6] GROUP BY k",
            "SELECT k, COUNT(*) AS c FROM s [RANGE 6] GROUP BY k ORDER BY c DESC LIMIT 2",
        ),
        (
            "SELECT k FROM s [RANGE 5] WHERE k NOT IN (SELECT k FROM t [RANGE 3] WHERE k > 0)",
            UNMATCHED.format("IS NOT NULL", " AND i.k = o.k")
            + " UNION ALL "
            + UNMATCHED.format("IS NULL", ""),
        ),
    ],
)
def test_two_ways_to_say_it(one: str, other: str) -> None:
    given = feeds(3)
    first, second = (said(Script(text, views=(FILTERED,)), given) for text in (one, other))
    assert len(first) > 5
    assert not first_difference(first, second)


@pytest.mark.parametrize("more", ["", " AND b > a"])
def test_what_something_followed_and_what_nothing_followed_are_all_tuples(more: str) -> None:
    given = feeds(3)
    asked = f"EXISTS (SELECT * FROM t WHERE t.k = s.k{more}) WITHIN 3 SECONDS AFTER"
    followed, others = (
        said(Script(f"SELECT k, a FROM s WHERE {form}"), given) for form in (asked, f"NOT {asked}")
    )
    together: Counter[tuple[int, object]] = Counter()
    for history in (followed, others):
        for at, values in history.items():
            together.update({(at - 3, row): count for row, count in values.items()})
    everything = said(Script("SELECT k, a FROM s"), given)
    came = Counter({(at, row): n for at, bag in everything.items() for row, n in bag.items()})
    assert followed
    assert others
    assert together == came


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("seed", range(4))
def test_distinct_values_of_a_stream_are_a_stream_to_windows(seed: int, strategy: Strategy) -> None:
    """INTERNAL and WSTREAM take them as they take ISTREAM of them: none is ever withdrawn."""
    rnd, rows, now = random.Random(seed), [], 0
    for _ in range(25):
        now += rnd.randrange(3)
        rows.append((rnd.choice("st"), {"ts": now, "k": rnd.randrange(4)}))

    def told(view: str) -> list[list[str]]:
        with windrow.connect(strategy=strategy) as connection:
            connection.execute(f"""
                CREATE STREAM s (ts BIGINT, k INT);
                CREATE STREAM t (ts BIGINT, k INT);
                CREATE VIEW v AS {view};
                CREATE QUERY met AS SELECT t.k, v.k AS other
                  FROM t [PARTITION BY k ROWS 1 INTERNAL] AS t, v [RANGE 4 SECONDS INTERNAL] AS v
                  WHERE t.k < v.k;
                CREATE QUERY last AS WSTREAM(SELECT k FROM v [RANGE 4 SECONDS])[ROWS 2];
            """)
            for name, row in rows:
                connection.push(name, [row])
            connection.advance(to=60)
            changes = (connection.queries[name].changes() for name in ("met", "last"))
            return [sorted(map(repr, table.to_pylist())) for table in changes]

    found = told("SELECT DISTINCT k FROM s")
    assert all(found)
    assert found == told("ISTREAM(SELECT DISTINCT k FROM s)")
