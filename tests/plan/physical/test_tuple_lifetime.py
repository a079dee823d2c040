"""How long a tuple of an answer can live, from the plan and from what is archived."""

from __future__ import annotations

import pytest

import windrow
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.core.time import FOREVER
from windrow.plan.catalog import ViewDeclaration
from windrow.plan.physical.tuple_lifetime import longest_life
from windrow.plan.program import compile_script

STREAM = "CREATE STREAM s (ts BIGINT, k BIGINT);"
LIVES = [
    ("SELECT k FROM s [RANGE 7]", 7),
    ("SELECT k FROM s [NOW]", 1),
    ("SELECT k FROM s [RANGE 7] WHERE k > 1", 7),
    ("SELECT k FROM s [RANGE 7 SLIDE 5]", 10),
    ("SELECT a.k FROM s [RANGE 7] AS a, s [RANGE 4] AS b WHERE a.k = b.k", 4),
    ("SELECT a.k FROM s [RANGE 7] AS a, s AS b WHERE a.k = b.k", 7),
    ("SELECT a.k FROM s [RANGE 7] AS a, s [RANGE 20 SLIDE 10] AS b WHERE a.k = b.k", 7),
    ("SELECT k FROM s [RANGE 7] UNION ALL SELECT k FROM s [RANGE 9]", 9),
    ("SELECT k FROM s UNION ALL SELECT k FROM s [RANGE 9]", FOREVER),
    ("SELECT DISTINCT k FROM s [RANGE 6]", 6),
    ("SELECT k FROM s", FOREVER),
    ("ISTREAM(SELECT k FROM s [RANGE 7])", FOREVER),
]


@pytest.mark.parametrize(("query", "longest"), LIVES)
def test_the_longest_life_is_one_that_an_archive_of_the_answer_really_meets(
    query, longest, tmp_path
):
    text = f"{STREAM} CREATE VIEW v AS {query};"
    view = compile_script(text).catalog.find("v")
    assert isinstance(view, ViewDeclaration)
    assert longest_life(view.plan) == longest
    if longest == FOREVER:
        return
    met = set()
    with windrow.connect() as db:
        db.execute(
            f"{text} CREATE ARCHIVE m ON v KEY k WINDOW {longest} SECONDS USING GRID(1, 1) "
            f"INTO '{tmp_path}/m';"
        )
        for now in range(40):
            db.push("s", {"ts": [now], "k": [now // 4]})
            db.advance(to=now)
            with LifetimeIndex.open(tmp_path / "m").reader() as reader:
                assert reader.now in (None, now)
                expiries = reader.scan(columns=["_exp"]).column("_exp").to_pylist()
            met |= {expiry - now for expiry in expiries}
    assert max(met) == longest
