"""One program per construct, over larger seeded streams than the random ones.

``PLAIN_SAMPLES`` maps a name that says what is asked to the program. Texts are shared by both
languages unless a helper says otherwise.
"""

from __future__ import annotations

import random

from tests.oracle.blocks import Body, Item, Output, Select, Source, union
from tests.oracle.data import COLUMNS
from tests.oracle.expressions import COUNT_ALL, Expr, aggregate, arithmetic, column, number
from tests.oracle.queries import Program, Stream, View
from tests.oracle.windows import NO_WINDOW, Now, Range, Rows, Unbounded, Window

TYPES = dict(COLUMNS)


def seeded(name: str, seed: int, rows: int = 90) -> Stream:
    """A stream with ties, gaps, NULLs and duplicates."""
    pick = random.Random(seed)
    ts, arrivals = 0, []
    for _ in range(rows):
        ts += pick.choice([0, 0, 0, 1, 1, 2, 4, 17 if pick.random() < 0.1 else 1])
        values = (
            pick.choice([None, 1, 2, 3, 4]),
            pick.choice([None, *range(-8, 16)]),
            pick.choice([None, "a", "b", "ab", ""]),
            pick.choice([None, -1.5, 0.25, 2.0, 1e9]),
            pick.choice([None, 0.5, -0.25, 8.0]),
        )
        arrivals.append((ts, values))
    return Stream(name, COLUMNS, tuple(arrivals))


STREAMS = (seeded("S1", 11), seeded("S2", 22), seeded("S3", 33))
X, Y, Z = ({name: column(name, type_, alias) for name, type_ in COLUMNS} for alias in "XYZ")


def same(sql: str, type_: str = "BOOLEAN") -> Expr:
    """A text that means the same in both languages."""
    return Expr(sql, sql, type_)


def items(*exprs: Expr) -> tuple[Item, ...]:
    return tuple(Item(f"c{place}", expr) for place, expr in enumerate(exprs))


def source(alias: str, window: Window | None = NO_WINDOW, name: str = "") -> Source:
    return Source(name or {"X": "S1", "Y": "S2", "Z": "S3"}[alias], alias, window)


def plain(window: Window, *exprs: Expr, where: str = "") -> Select:
    chosen = items(*(exprs or (X["k"], X["a"])))
    return Select(chosen, (source("X", window),), same(where) if where else None)


def joined(where: str, *windows: Window, exprs: tuple[Expr, ...] = ()) -> Select:
    sources = tuple(source(alias, window) for alias, window in zip("XYZ", windows, strict=False))
    chosen = exprs or tuple(columns["a"] for columns, _ in zip((X, Y, Z), windows, strict=False))
    return Select(items(X["k"], *chosen), sources, same(where))


def grouped(
    window: Window, keys: tuple[Expr, ...], *values: Expr, having: Expr | None = None
) -> Select:
    block = Select(items(*keys, *values), (source("X", window),))
    return Select(block.items, block.sources, None, grouped=True, keys=keys, having=having)


def distinct(window: Window, *exprs: Expr) -> Select:
    return Select(items(*exprs), (source("X", window),), distinct=True)


def ask(body: Body, *views: View, output: Output = Output.CHANGES, every: int = 0) -> Program:
    return Program(STREAMS, body, views, output, every or None)


def agg(function: str, name: str) -> Expr:
    return aggregate(function, X[name])


ALL_AGGREGATES = (
    COUNT_ALL,
    agg("COUNT", "a"),
    agg("SUM", "a"),
    agg("AVG", "a"),
    agg("MIN", "a"),
    agg("MAX", "a"),
)
OF_DISTINCT = tuple(
    agg(f"{function} DISTINCT", name)
    for name in ("a", "x", "f")
    for function in ("SUM", "AVG", "MEDIAN", "QUANTILE 0.9", "VAR", "STDDEV", "COUNT")
)
EQUAL = "X.k = Y.k"
CHAIN = "X.k = Y.k AND Y.s = Z.s"
TOTALS = grouped(Range(8), (X["k"],), COUNT_ALL, agg("SUM", "a"))
FRESH = distinct(Range(4), X["k"])
LARGE = Select(tuple(Item(n, X[n]) for n in TYPES), (source("X"),), same("X.a > 2 OR X.s IS NULL"))
totals = View("Totals", TOTALS, stream=False)
large = View("Large", LARGE, stream=True)
fresh = View("Fresh", FRESH, stream=True, output=Output.ISTREAM)
gone = View("Gone", FRESH, stream=True, output=Output.DSTREAM)
both_streams = View(
    "BothStreams",
    union(plain(NO_WINDOW, X["k"]), Select(items(Y["k"]), (source("Y"),))),
    stream=True,
)


def over_view(view: View, window: Window | None, *exprs: Expr, where: str = "") -> Select:
    types = dict(view.body.columns)
    chosen = exprs or tuple(column(name, type_, "X") for name, type_ in types.items())
    return Select(items(*chosen), (source("X", window, view.name),), same(where) if where else None)


C0, C1, C2 = (column(n, t, "X") for n, t in (("c0", "INT"), ("c1", "BIGINT"), ("c2", "BIGINT")))
COUNTED = Select(items(C0, COUNT_ALL), (source("X", Range(9), "Fresh"),), grouped=True, keys=(C0,))
REGROUPED = Select(
    items(C1, COUNT_ALL, aggregate("MAX", C2)),
    (source("X", None, "Totals"),),
    grouped=True,
    keys=(C1,),
)
TOTALS_AGAIN = View("Busy", over_view(totals, None, where="X.c1 > 2 AND X.c2 < 10"), stream=False)

PLAIN_SAMPLES: dict[str, Program] = {
    "projection with arithmetic": ask(
        plain(
            NO_WINDOW,
            arithmetic(X["a"], "/", number(3)),
            arithmetic(X["a"], "%", number(4)),
            arithmetic(X["a"], "/", X["k"]),
            arithmetic(X["x"], "*", number(0.5)),
            arithmetic(X["x"], "/", X["a"]),
            same("CASE WHEN X.a > 3 THEN 'high' WHEN X.a < 0 THEN NULL ELSE X.s END", "STRING"),
        )
    ),
    "selection with NULLs": ask(plain(Range(7), where="NOT (X.a > 3 AND X.s <> 'a')")),
    "selection IN BETWEEN LIKE": ask(
        plain(Range(7), where="X.k IN (1, 3) OR X.a BETWEEN 2 AND 9 OR X.s LIKE '%b'")
    ),
    "range": ask(plain(Range(5))),
    "range of one tick": ask(plain(Range(1))),
    "range with slide": ask(plain(Range(9, 3))),
    "range with slide that does not divide it": ask(plain(Range(7, 3))),
    "range with slide longer than itself": ask(plain(Range(2, 5))),
    "now": ask(plain(Now())),
    "unbounded": ask(plain(Unbounded())),
    "rows": ask(plain(Rows(4))),
    "selection above rows": ask(plain(Rows(4), where="X.a > 3")),
    "rows by key": ask(plain(Rows(2, ("k",)))),
    "rows by two keys": ask(plain(Rows(2, ("s", "k")))),
    "selection above rows by key": ask(plain(Rows(2, ("k",)), where="X.a > 3")),
    "selection on the key above rows by key": ask(plain(Rows(2, ("k",)), where="X.k = 2")),
    "union": ask(union(plain(Range(4), X["k"]), Select(items(Y["k"]), (source("Y", Range(9)),)))),
    "union of unequal windows": ask(
        union(plain(Rows(3), X["k"]), Select(items(Y["k"]), (source("Y", Now()),)))
    ),
    "join": ask(joined(EQUAL, Range(5), Range(8))),
    "join of a stream with itself": ask(
        Select(
            items(X["a"], Y["a"]),
            (source("X", Range(4)), source("Y", Range(9), "S1")),
            same(EQUAL),
        )
    ),
    "join on strings": ask(joined("X.s = Y.s", Range(2), Range(3))),
    "join on doubles": ask(joined("X.x = Y.x", Range(2), Range(3))),
    "join on keys of different types": ask(joined("X.k = Y.a", Range(9), Range(9))),
    "join on an expression": ask(joined("X.k + 1 = Y.k", Range(5), Range(8))),
    "join on two keys": ask(joined("X.k = Y.k AND X.s = Y.s", Range(9), Range(9))),
    "join with a residual": ask(joined("X.k = Y.k AND X.a < Y.a", Range(5), Range(8))),
    "theta join": ask(joined("X.a > Y.a + 10 AND X.k <> Y.k", Range(3), Range(3))),
    "cross product": ask(joined("TRUE", Now(), Range(2))),
    "join range and rows": ask(joined(EQUAL, Range(6), Rows(5))),
    "join rows and rows": ask(joined(EQUAL, Rows(3), Rows(5))),
    "join now and unbounded": ask(joined(EQUAL, Now(), Unbounded())),
    "join unbounded and unbounded": ask(joined(EQUAL + " AND X.a = Y.a", NO_WINDOW, NO_WINDOW)),
    "join sliding and range": ask(joined(EQUAL, Range(6, 3), Range(4))),
    "join sliding and rows by key": ask(joined(EQUAL, Range(6, 4), Rows(1, ("k",)))),
    "three-way join": ask(joined(CHAIN, Range(4), Range(4), Range(6))),
    "three-way join of mixed windows": ask(joined(CHAIN, Range(4), Rows(4), Range(6, 2))),
    "three-way theta join": ask(joined("X.k = Y.k AND Z.a > X.a + Y.a", Now(), Range(3), Rows(2))),
    "group": ask(grouped(Range(6), (X["k"],), *ALL_AGGREGATES)),
    "group of rows": ask(grouped(Rows(7), (X["k"],), *ALL_AGGREGATES)),
    "group of sliding": ask(grouped(Range(8, 4), (X["s"],), *ALL_AGGREGATES)),
    "group of unbounded": ask(grouped(Unbounded(), (X["k"],), *ALL_AGGREGATES)),
    "group of now": ask(grouped(Now(), (X["k"],), *ALL_AGGREGATES)),
    "group by an expression": ask(
        grouped(Range(6), (arithmetic(X["a"], "/", number(4)), X["s"]), *ALL_AGGREGATES)
    ),
    "group of doubles": ask(
        grouped(Range(6), (X["k"],), agg("SUM", "x"), agg("AVG", "x"), agg("MAX", "x"))
    ),
    "group of floats": ask(
        grouped(Range(6), (X["k"],), agg("SUM", "f"), agg("AVG", "f"), agg("MIN", "f"))
    ),
    "least and greatest string": ask(
        grouped(Range(6), (X["k"],), agg("MIN", "s"), agg("MAX", "s"))
    ),
    "group having": ask(
        grouped(Range(6), (X["k"],), agg("SUM", "a"), having=same("COUNT(*) > 2 AND SUM(X.a) < 30"))
    ),
    "aggregate without keys": ask(grouped(Range(4), (), *ALL_AGGREGATES)),
    "aggregate without keys of rows": ask(grouped(Rows(3), (), *ALL_AGGREGATES)),
    "arithmetic on aggregates": ask(
        grouped(Range(6), (X["k"],), arithmetic(agg("MAX", "a"), "-", agg("MIN", "a")))
    ),
    "count distinct": ask(
        grouped(Range(6), (X["k"],), agg("COUNT DISTINCT", "a"), agg("COUNT DISTINCT", "s"))
    ),
    "count distinct without keys of rows": ask(grouped(Rows(9), (), agg("COUNT DISTINCT", "k"))),
    "aggregates of distinct values": ask(grouped(Range(6), (X["k"],), *OF_DISTINCT)),
    "aggregates of distinct values of rows": ask(grouped(Rows(7), (X["s"],), *OF_DISTINCT)),
    "aggregates of distinct values of unbounded": ask(
        grouped(Unbounded(), (X["k"],), *OF_DISTINCT)
    ),
    "aggregates of distinct values of a join": ask(
        Select(
            items(X["k"], aggregate("SUM DISTINCT", Y["a"]), aggregate("AVG DISTINCT", Y["f"])),
            (source("X", Range(5)), source("Y", Range(8))),
            same(EQUAL),
            grouped=True,
            keys=(X["k"],),
        )
    ),
    "distinct": ask(distinct(Range(4), X["k"], X["s"])),
    "distinct of rows": ask(distinct(Rows(8), X["k"])),
    "distinct of unbounded": ask(distinct(NO_WINDOW, X["k"], X["s"])),
    "distinct of sliding": ask(distinct(Range(6, 3), X["k"])),
    "distinct of a join": ask(
        Select(
            items(X["k"]),
            (source("X", Range(5)), source("Y", Range(8))),
            same(EQUAL),
            distinct=True,
        )
    ),
    "group of a join": ask(
        Select(
            items(X["k"], COUNT_ALL, aggregate("SUM", Y["a"])),
            (source("X", Range(5)), source("Y", Range(5))),
            same(EQUAL),
            grouped=True,
            keys=(X["k"],),
        )
    ),
    "istream": ask(plain(Range(6), X["k"]), output=Output.ISTREAM),
    "istream of a group": ask(TOTALS, output=Output.ISTREAM),
    "istream of a join": ask(joined(EQUAL, Range(5), Range(5)), output=Output.ISTREAM),
    "dstream": ask(plain(Range(6), X["k"]), output=Output.DSTREAM),
    "dstream of rows": ask(plain(Rows(3), X["k"]), output=Output.DSTREAM),
    "dstream of a group": ask(TOTALS, output=Output.DSTREAM),
    "rstream": ask(plain(Range(3)), output=Output.RSTREAM),
    "rstream of a group": ask(TOTALS, output=Output.RSTREAM),
    "rstream every five": ask(TOTALS, output=Output.RSTREAM, every=5),
    "every three": ask(plain(Range(5)), every=3),
    "group every four": ask(TOTALS, every=4),
    "join every two": ask(joined(EQUAL, Range(5), Range(8)), every=2),
    "window over a stream view": ask(over_view(large, Range(6), X["k"], X["a"]), large),
    "rows over a stream view": ask(over_view(large, Rows(3), X["k"], X["a"]), large),
    "window over a union view": ask(over_view(both_streams, Range(5)), both_streams),
    "window over an istream view": ask(COUNTED, fresh),
    "window over a dstream view": ask(over_view(gone, Range(5)), gone),
    "relation view": ask(over_view(totals, None, where="X.c1 > 2"), totals),
    "relation view grouped again": ask(REGROUPED, totals),
    "relation view over a relation view": ask(over_view(TOTALS_AGAIN, None), totals, TOTALS_AGAIN),
    "join of a relation view and a window": ask(
        Select(
            items(C0, C1, Y["a"]),
            (source("X", None, "Totals"), source("Y", Range(4))),
            same("X.c0 = Y.k AND X.c1 > 1"),
        ),
        totals,
    ),
    "istream over an istream view": ask(COUNTED, fresh, output=Output.ISTREAM),
}  # fmt: skip
