"""Samples of what withdraws early, of relations, and of results that outlive their tuples."""

from __future__ import annotations

import random
from dataclasses import replace

from tests.oracle.blocks import Body, Item, Negation, Output, Select, Source, Top, difference, union
from tests.oracle.expressions import COUNT_ALL, Expr, aggregate, column
from tests.oracle.queries import Program, Relation, View
from tests.oracle.samples import (
    CHAIN,
    EQUAL,
    STREAMS,
    TOTALS,
    X,
    Y,
    Z,
    agg,
    grouped,
    items,
    joined,
    over_view,
    plain,
    same,
    source,
)
from tests.oracle.windows import NO_WINDOW, Now, Range, Rows, Session, Unbounded, Window


def updated(name: str, seed: int, *, nrr: bool, updates: int = 40) -> Relation:
    """Rows that come and go in the time of the streams; of an NRR no row comes twice."""
    pick = random.Random(seed)
    at, held, said = -2, [], []
    for number in range(updates):
        if held and pick.random() < 0.4:
            said.append((at, -1, held.pop(pick.randrange(len(held)))))
        else:
            row = (pick.choice([None, 1, 2, 3, 4]), f"r{number if nrr else number % 5}")
            held.append(row)
            said.append((at, 1, row))
        at += pick.choice([0, 1, 2, 6, 12])
    return Relation(name, (("k", "INT"), ("w", "STRING")), tuple(said), nrr)


RELATIONS = (updated("R", 44, nrr=False), updated("N", 55, nrr=True))
K, W = column("k", "INT", "Y"), column("w", "STRING", "Y")


def ask(
    body: Body,
    *views: View,
    output: Output = Output.CHANGES,
    every: int = 0,
    lasting: Window | None = None,
    sliding: bool = False,
) -> Program:
    return Program(
        STREAMS, body, views, output, every or None,
        relations=RELATIONS, lasting=lasting, sliding=sliding,
    )  # fmt: skip


def without(
    block: Select,
    kind: str,
    window: Window | None,
    *names: str,
    name: str = "S2",
    where: str = "",
    across: str = "",
) -> Select:
    """The block without what has a partner in another window."""
    pairs = tuple((X[n], replace(X[n], cql=f"N.{n}", sql=f"N.{n}")) for n in names)
    inner = Source(name, "N", window)
    conditions = (same(text) if text else None for text in (where, across))
    negation = Negation(kind, inner, pairs, *conditions)
    return replace(block, negations=(*block.negations, negation))


def awaited(block: Select, within: int, *, after: bool = True) -> Select:
    """The block of tuples that no partner came to for so long."""
    block = without(block, "NOT EXISTS", NO_WINDOW, "k")
    (negation,) = block.negations
    return replace(block, negations=(replace(negation, within=within, after=after),))


def top(block: Select, count: int, *order: tuple[str, bool]) -> Select:
    return replace(block, top=Top(count, order))


def with_relation(name: str, window: Window, *, internal: bool = False) -> Select:
    sources = (source("X", window), Source(name, "Y", None, nrr=name == "N"))
    return Select(items(X["a"], W), sources, same("X.k = Y.k"), internal=internal)


def internal(block: Select) -> Select:
    return replace(block, internal=True)


def internally(block: Select, *places: int) -> Select:
    """The block with the windows at these places internal, and the others not."""
    sources = tuple(
        replace(s, internal=True) if place in places else s for place, s in enumerate(block.sources)
    )
    return replace(block, sources=sources)


def over_pairs(block: Select, keys: tuple[Expr, ...], *functions: str) -> Select:
    """The block with its tuples counted, and the values of Y aggregated."""
    values = (COUNT_ALL, *(aggregate(function, Y["a"]) for function in functions))
    return replace(block, items=items(*keys, *values), grouped=True, keys=keys)


def quantiles(*names: str) -> tuple[Expr, ...]:
    functions = ("MEDIAN", "QUANTILE 0.25", "QUANTILE 0.9", "VAR", "STDDEV")
    return tuple(agg(function, name) for name in names for function in functions)


FOUR = Select(
    items(X["k"], X["a"], Y["a"]),
    (*joined(EQUAL, Range(3), Range(4), Range(5)).sources, Source("S1", "W", Range(2))),
    same("X.k = Y.k AND Y.k = Z.k AND Z.k = W.k"),
)
STAR = "X.k = Y.k AND Y.k = Z.k"
MIXED_TOTALS = over_pairs(
    internally(joined(EQUAL, Range(8), Range(3)), 1), (X["k"],), "SUM", "AVG", "MAX"
)
FIRST = View("First", Select(tuple(Item(n, X[n]) for n in "ka"), (source("X"),), same("X.a > -3")),
             stream=True)  # fmt: skip
SECOND = View(
    "Second",
    Select(
        (Item("k", column("k", "INT", "X")), Item("n", COUNT_ALL)),
        (Source("First", "X", Range(7)),),
        grouped=True,
        keys=(column("k", "INT", "X"),),
    ),
    stream=False,
)
THIRD = View(
    "Third",
    Select((Item("n", column("n", "BIGINT", "X")),), (Source("Second", "X", None),),
           same("X.n > 1")),
    stream=False,
)  # fmt: skip
LASTING = View("Lasting", joined(EQUAL, Range(3), Range(3)), stream=False, lasting=Range(6))

AWAITED = View("Awaited", awaited(plain(NO_WINDOW), 3), stream=True)

MORE_SAMPLES: dict[str, Program] = {
    "not exists": ask(without(plain(Range(6)), "NOT EXISTS", Range(2), "k")),
    "not exists within a time after": ask(awaited(plain(NO_WINDOW), 4)),
    "not exists within a time before": ask(awaited(plain(NO_WINDOW), 3, after=False)),
    "group of what is awaited": ask(awaited(grouped(NO_WINDOW, (X["k"],), COUNT_ALL), 2)),
    "rows of what was awaited in vain": ask(over_view(AWAITED, Rows(3)), AWAITED),
    "sessions": ask(plain(Session(2))),
    "sessions of each key": ask(grouped(Session(3, ("k",)), (X["k"],), COUNT_ALL)),
    "sessions of each key joined": ask(joined(EQUAL, Session(4, ("k",)), Range(3))),
    "not exists on two keys": ask(without(plain(Range(6)), "NOT EXISTS", Range(5), "k", "s")),
    "not exists at all": ask(without(plain(Range(6)), "NOT EXISTS", Now())),
    "not exists with a filter": ask(
        without(plain(Range(6)), "NOT EXISTS", Rows(3), "k", where="N.a > 4")
    ),
    "not exists with a comparison": ask(
        without(plain(Range(8)), "NOT EXISTS", Range(6), "k", across="N.a > X.a")
    ),
    "not exists with a comparison of rows": ask(
        without(plain(Rows(9)), "NOT EXISTS", Rows(4), "s", where="N.k > 1", across="N.a <> X.k")
    ),
    "not exists with a comparison only": ask(
        without(plain(Range(6)), "NOT EXISTS", Range(3, 2), across="N.a < X.a")
    ),
    "not exists with a comparison in a relation": ask(
        without(plain(Unbounded()), "NOT EXISTS", None, name="R", across="N.k > X.k")
    ),
    "negation of a join with a comparison": ask(
        without(
            joined(EQUAL, Range(4), Range(4)), "NOT EXISTS", Range(4), "k", name="S3",
            across="N.x < Y.x",
        )
    ),
    "not exists of rows": ask(without(plain(Rows(4)), "NOT EXISTS", Range(3, 2), "k")),
    "not in": ask(without(plain(Range(6)), "NOT IN", Range(1), "k")),
    "not in with a filter": ask(
        without(plain(Range(6)), "NOT IN", Range(4), "k", where="N.k IS NOT NULL")
    ),
    "not in a relation": ask(
        without(plain(Range(6)), "NOT IN", None, "k", name="R", where="N.w <> 'r1'")
    ),
    "negation of a join": ask(
        without(joined(EQUAL, Range(4), Range(4)), "NOT EXISTS", Range(2), "s", name="S3")
    ),
    "two negations": ask(
        without(
            without(plain(Range(8)), "NOT EXISTS", Range(2), "k"),
            "NOT EXISTS", Rows(2), "s", name="S3",
        )
    ),
    "group of a negation": ask(without(TOTALS, "NOT EXISTS", Range(2), "k")),
    "except": ask(
        difference(plain(Range(6), X["k"]), Select(items(Y["k"]), (source("Y", Range(2)),)))
    ),
    "except of unbounded": ask(
        difference(plain(NO_WINDOW, X["k"]), Select(items(Y["k"]), (source("Y"),)))
    ),
    "except a relation": ask(
        difference(plain(Rows(9), X["k"]), Select(items(K), (Source("R", "Y", None),)))
    ),
    "relation": ask(Select(items(K, W), (Source("R", "Y", None),))),
    "relation grouped": ask(
        Select(items(W, COUNT_ALL), (Source("R", "Y", None),), grouped=True, keys=(W,))
    ),
    "join with a relation": ask(with_relation("R", Range(5))),
    "join of rows with a relation": ask(with_relation("R", Rows(5))),
    "join of unbounded with a relation": ask(with_relation("R", Unbounded())),
    "dstream of a join with a relation": ask(with_relation("R", Range(5)), output=Output.DSTREAM),
    "join with an NRR": ask(with_relation("N", Range(5))),
    "join of sliding with an NRR": ask(with_relation("N", Range(9, 4))),
    "join of unbounded with an NRR": ask(with_relation("N", NO_WINDOW)),
    "join of internal with an NRR": ask(with_relation("N", Range(5), internal=True)),
    "top": ask(top(plain(Range(6)), 2, ("c1", True))),
    "top of rows by two columns": ask(top(plain(Rows(9)), 3, ("c0", False), ("c1", True))),
    "top of a group": ask(top(TOTALS, 2, ("c2", True))),
    "quantiles and spread": ask(grouped(Range(9), (X["k"],), *quantiles("a"))),
    "quantiles and spread of rows": ask(grouped(Rows(6), (), *quantiles("x", "f"))),
    "wstream": ask(joined(EQUAL, Range(3), Range(4)), lasting=Range(7)),
    "wstream of rows": ask(plain(Range(2), X["k"], X["a"], X["s"]), lasting=Rows(3)),
    "wstream of the last rows of a stream": ask(plain(NO_WINDOW, X["k"], X["a"]), lasting=Rows(3)),
    "wstream of the last rows of two streams": ask(
        union(plain(Unbounded(), X["k"]), Select(items(Y["k"]), (source("Y"),), same("Y.k > 1"))),
        lasting=Rows(4),
    ),
    "wstream of a group": ask(TOTALS, lasting=Range(3)),
    "wstream in a view": ask(over_view(LASTING, None), LASTING),
    "istream-restore": ask(plain(Range(3)), output=Output.ISTREAM_RESTORE, every=5),
    "istream-restore of a group": ask(TOTALS, output=Output.ISTREAM_RESTORE, every=4, sliding=True),
    "rstream-restore": ask(joined(EQUAL, Range(3), Range(2)), output=Output.RSTREAM_RESTORE,
                           every=5),
    "rstream-restore by slide": ask(plain(Range(3)), output=Output.RSTREAM_RESTORE, every=4,
                                    sliding=True),
    "rstream-restore of a group having": ask(
        replace(grouped(Range(6), (X["k"],), agg("MAX", "a")), having=same("COUNT(*) <> 2")),
        output=Output.RSTREAM_RESTORE,
        every=6,
    ),
    "rstream-restore of a negation": ask(
        without(plain(Range(6), X["k"]), "NOT EXISTS", Range(2), "k"),
        output=Output.RSTREAM_RESTORE,
        every=4,
    ),
    "rstream-restore of a group": ask(TOTALS, output=Output.RSTREAM_RESTORE, every=6),
    "join of three on one key": ask(joined(STAR, Range(3), Range(4), Range(5))),
    "join of three on one key, rows between": ask(joined(STAR, Range(3), Rows(5), Range(5))),
    "join of four on one key": ask(FOUR),
    "join of three that slide": ask(joined(STAR, Range(6, 2), Range(4, 4), Range(7, 2))),
    "join by a hash table": ask(
        replace(joined("X.k = Y.k AND X.a < Y.a", Range(5), Rows(7)), option="HASH JOIN 2")
    ),
    "join of three by nested loops": ask(
        replace(joined(STAR, Range(3), Rows(5), Range(5)), option="NESTED LOOPS")
    ),
    "views over views over views": ask(over_view(THIRD, None), FIRST, SECOND, THIRD),
    "join of internal and external": ask(internally(joined(EQUAL, Range(9), Range(3)), 1)),
    "join of external and internal now": ask(internally(joined(EQUAL, Now(), Range(8)), 0)),
    "join of internal and external rows": ask(
        internally(joined("X.k = Y.k AND X.a < Y.a", Range(2), Rows(6)), 0)
    ),
    "join of internal rows and external": ask(internally(joined("TRUE", Rows(1), Range(4)), 0)),
    "join of internal and unbounded": ask(internally(joined(EQUAL, Range(2), Unbounded()), 0)),
    "join of one external between two internal": ask(
        internally(joined(CHAIN, Range(4), Range(6), Range(3)), 0, 2)
    ),
    "join of one internal between two external": ask(
        internally(joined(STAR, Range(5), Range(2, 2), Rows(8)), 1)
    ),
    "join of internal and external with an NRR": ask(
        internally(
            Select(
                items(X["a"], W, Z["a"]),
                (Source("N", "Y", None, nrr=True), source("Z", Range(3)), source("X", Range(8))),
                same("X.k = Y.k AND Z.k = X.k"),
            ),
            1,
        )
    ),
    "group of internal and external": ask(MIXED_TOTALS),
    "group of internal and external having": ask(
        replace(MIXED_TOTALS, having=same("COUNT(*) > 1 AND MAX(Y.a) < 12"))
    ),
    "least and greatest of internal and external rows": ask(
        over_pairs(
            internally(joined(EQUAL, Range(3), Rows(7)), 0), (), "MIN", "MAX", "MEDIAN",
            "COUNT DISTINCT",
        )
    ),
    "top of internal and external": ask(
        top(internally(joined(EQUAL, Range(9), Range(3)), 1), 3, ("c2", True))
    ),
    "top of a group of internal and external": ask(top(MIXED_TOTALS, 2, ("c1", True))),
    "wstream of a group of internal and external": ask(MIXED_TOTALS, lasting=Rows(4)),
    "rstream-restore of a group of internal and external": ask(
        MIXED_TOTALS, output=Output.RSTREAM_RESTORE, every=4
    ),
    "group of one internal between two external": ask(
        over_pairs(internally(joined(STAR, Range(4), Range(2, 2), Range(6)), 1), (X["k"],), "SUM")
    ),
    "internal range": ask(internal(plain(Range(3)))),
    "internal rows": ask(internal(plain(Rows(2)))),
    "internal join": ask(internal(joined(EQUAL, Range(3), Range(4)))),
    "internal group": ask(internal(TOTALS)),
    "internal join of three": ask(internal(joined(STAR, Range(2), Range(2), Range(3)))),
}  # fmt: skip
