"""Random programs over the streams of ``data``: every shape of query that is executable.

A program is drawn in layers: base streams, then views that are streams, then views that are
relations, then the query over any of them. Each layer draws from what the earlier ones named.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import strategies as st

from tests.oracle import data
from tests.oracle.expressions import (
    COUNT_ALL,
    Expr,
    aggregate,
    all_of,
    arithmetic,
    both,
    column,
    compare,
    number,
    text,
)
from tests.oracle.queries import Body, Item, Output, Program, Select, Source, Union, View
from tests.oracle.windows import NO_WINDOW, Now, Range, Rows, Unbounded, Window

ALIASES = ("X", "Y", "Z")
COMPARISONS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])


@dataclass(frozen=True)
class Named:
    """Something a FROM clause can name."""

    name: str
    columns: tuple[tuple[str, str], ...]
    stream: bool
    ordered: bool  # tuples of one instant have a known order, so ROWS means something
    monotonic: bool  # nothing is ever withdrawn from it while it has no window


def windows(named: Named) -> st.SearchStrategy[Window | None]:
    """The windows that mean one thing only over ``named``."""
    if not named.stream:
        return st.none()
    lengths = st.integers(1, 12)
    options: list[st.SearchStrategy[Window]] = [
        st.builds(Range, lengths),
        st.builds(Range, lengths, st.integers(1, 6)),
        st.just(Now()),
        st.just(Unbounded()),
        st.just(NO_WINDOW),
    ]
    if named.ordered:
        keys = st.sampled_from([name for name, _ in named.columns])
        by = st.lists(keys, min_size=1, max_size=2, unique=True).map(tuple)
        options += [st.builds(Rows, st.integers(1, 6)), st.builds(Rows, st.integers(1, 3), by)]
    return st.one_of(options)


def columns_of(named: Named, alias: str) -> list[Expr]:
    return [column(name, type_, alias) for name, type_ in named.columns]


@st.composite
def scalars(draw: st.DrawFn, columns: list[Expr]) -> Expr:
    """A column, or something computed from one or two."""
    one = draw(st.sampled_from(columns))
    if not draw(st.booleans()):
        return one
    if one.type == "STRING":
        return draw(
            st.sampled_from(
                [
                    both("UPPER({0})", "STRING", one),
                    both("({0} || 'z')", "STRING", one),
                    both("COALESCE({0}, 'none')", "STRING", one),
                    both("LENGTH({0})", "BIGINT", one),
                ]
            )
        )
    operator = draw(st.sampled_from("+-*/%"))
    if one.integral:
        return arithmetic(one, operator, number(draw(st.sampled_from([-2, 0, 1, 3]))))
    return arithmetic(one, draw(st.sampled_from("+-*")), number(0.5))


@st.composite
def predicates(draw: st.DrawFn, columns: list[Expr]) -> Expr:
    """A condition, NULL for some tuples."""
    one = draw(st.sampled_from(columns))
    kind = draw(st.sampled_from(["compare", "compare", "null", "in", "and", "or", "not"]))
    if kind == "null":
        return both(draw(st.sampled_from(["({0} IS NULL)", "({0} IS NOT NULL)"])), "BOOLEAN", one)
    if kind in ("and", "or"):
        sides = draw(predicates(columns)), draw(predicates(columns))
        return both("({0} " + kind.upper() + " {1})", "BOOLEAN", *sides)
    if kind == "not":
        return both("(NOT {0})", "BOOLEAN", draw(predicates(columns)))
    if one.type == "STRING":
        if kind == "in":
            return both("({0} LIKE 'a%')", "BOOLEAN", one)
        return compare(one, draw(COMPARISONS), text(draw(st.sampled_from(["a", "b", ""]))))
    if kind == "in" and one.integral:
        return both("({0} IN (0, 1, 7))", "BOOLEAN", one)
    constant = number(draw(st.integers(-3, 9))) if one.integral else number(0.25)
    return compare(one, draw(COMPARISONS), constant)


@st.composite
def joins(draw: st.DrawFn, left: list[Expr], right: list[Expr], theta: bool) -> Expr:
    """A condition across two sources: equal keys, or a comparison."""
    kinds = [(e, f) for e in left for f in right if (e.type == "STRING") == (f.type == "STRING")]
    # Columns of one name meet often; the others test keys of different types.
    alike = [(e, f) for e, f in kinds if e.cql.split(".")[1] == f.cql.split(".")[1]]
    one, other = draw(st.sampled_from(alike * 4 + kinds))
    if not theta:
        return compare(one, "=", other)
    return compare(one, draw(st.sampled_from(["<", ">=", "<>"])), other)


@st.composite
def aggregates(draw: st.DrawFn, columns: list[Expr]) -> Expr:
    function = draw(
        st.sampled_from(["COUNT(*)", "COUNT", "SUM", "AVG", "MIN", "MAX", "COUNT DISTINCT"])
    )
    if function == "COUNT(*)":
        return COUNT_ALL
    usable = [c for c in columns if c.type != "STRING"] if function in ("SUM", "AVG") else columns
    return aggregate(function, draw(st.sampled_from(usable))) if usable else COUNT_ALL


@st.composite
def selects(draw: st.DrawFn, names: list[Named], most_sources: int = 3) -> Select:
    """A block over one to three sources: plain, DISTINCT, or aggregating."""
    count = min(draw(st.sampled_from([1, 1, 1, 2, 2, 3])), most_sources)
    chosen = [draw(st.sampled_from(names)) for _ in range(count)]
    sources = tuple(
        Source(named.name, alias, draw(windows(named)))
        for named, alias in zip(chosen, ALIASES, strict=False)
    )
    scopes = [columns_of(n, alias) for n, alias in zip(chosen, ALIASES, strict=False)]
    columns = [c for scope in scopes for c in scope]
    conditions = []
    for place in range(1, count):
        theta = count == 2 and draw(st.integers(0, 3)) == 0
        conditions.append(
            draw(joins(scopes[draw(st.integers(0, place - 1))], scopes[place], theta))
        )
    if draw(st.integers(0, 2)) == 2:
        conditions.append(draw(predicates(columns)))
    shape = draw(st.sampled_from(["plain", "plain", "distinct", "grouped", "grouped", "total"]))
    block = Select((), sources, all_of(conditions))
    if shape in ("plain", "distinct"):
        exprs = draw(st.lists(scalars(columns), min_size=1, max_size=3))
        return replace(block, items=items(exprs), distinct=shape == "distinct")
    keys: list[Expr] = []
    if shape == "grouped":
        keys = draw(st.lists(scalars(columns), min_size=1, max_size=2, unique=True))
    values = draw(st.lists(aggregates(columns), min_size=1, max_size=3))
    having = None
    if draw(st.integers(0, 3)) == 0:
        having = compare(COUNT_ALL, draw(COMPARISONS), number(draw(st.integers(1, 3))))
    return replace(
        block, items=items([*keys, *values]), grouped=True, keys=tuple(keys), having=having
    )


def items(exprs: list[Expr]) -> tuple[Item, ...]:
    return tuple(Item(f"c{place}", expr) for place, expr in enumerate(exprs))


@st.composite
def bodies(draw: st.DrawFn, names: list[Named]) -> Body:
    """A block, or the union of two plain blocks over streams."""
    streams = [n for n in names if n.stream and dict(n.columns).get("k") == "INT"]
    if not streams or draw(st.integers(0, 4)):
        return draw(selects(names))
    branches = []
    for _ in range(2):
        named = draw(st.sampled_from(streams))
        columns = columns_of(named, "X")
        key = column("k", "INT", "X")
        where = draw(st.none() | predicates(columns))
        source = Source(named.name, "X", draw(windows(named)))
        branches.append(Select(items([key]), (source,), where))
    return Union(tuple(branches))


@st.composite
def stream_views(draw: st.DrawFn, name: str, names: list[Named]) -> View:
    """A view that takes a window: a filter over a stream, or the ISTREAM of a relation."""
    if draw(st.booleans()):
        base = draw(st.sampled_from([n for n in names if n.stream]))
        columns = columns_of(base, "X")
        kept = tuple(Item(c, column(c, t, "X")) for c, t in base.columns)
        where = draw(st.none() | predicates(columns))
        return View(name, Select(kept, (Source(base.name, "X"),), where), stream=True)
    block = draw(selects(names, 2))
    output = draw(st.sampled_from([Output.ISTREAM, Output.ISTREAM, Output.DSTREAM]))
    return View(name, block, stream=True, output=speaking(output, block, names))


def named(view: View, names: list[Named]) -> Named:
    ordered = view.output is Output.CHANGES and view.body.in_arrival_order
    return Named(
        view.name,
        view.body.columns,
        view.stream,
        ordered,
        monotonic=view.stream or never_withdraws(view.body, names),
    )


def never_withdraws(body: Body, names: list[Named]) -> bool:
    """Whether all that the body reads is unbounded and nothing in it is recomputed."""
    if isinstance(body, Union):
        return all(never_withdraws(branch, names) for branch in body.branches)
    monotonic = {n.name: n.monotonic for n in names}
    return not body.grouped and all(
        monotonic[source.name] and isinstance(source.window, Unbounded | None)
        for source in body.sources
    )


def speaking(output: Output, body: Body, names: list[Named]) -> Output:
    """ISTREAM in place of a DSTREAM that could never speak, which the language refuses."""
    silent = output is Output.DSTREAM and never_withdraws(body, names)
    return Output.ISTREAM if silent else output


@st.composite
def relation_views(draw: st.DrawFn, name: str, names: list[Named]) -> View:
    """A view that is read without a window, whether or not it would take one."""
    return View(name, draw(selects(names, 2)), stream=False)


@st.composite
def programs(draw: st.DrawFn, outputs: tuple[Output, ...] = tuple(Output)) -> Program:
    """A whole program: three streams, up to two views, one query in any form of output."""
    streams = tuple(draw(data.streams(name)) for name in ("S1", "S2", "S3"))
    names = [Named(s.name, s.columns, True, ordered=True, monotonic=True) for s in streams]
    views: list[View] = []
    for name in ("V1", "V2")[: draw(st.sampled_from([0, 0, 1, 2]))]:
        kind = stream_views if draw(st.booleans()) else relation_views
        view = draw(kind(name, names))
        views.append(view)
        # Repeated, so that the query is more likely to read the views than to pass them by.
        names += [named(view, names)] * 3
    body = draw(bodies(names))
    output = speaking(draw(st.sampled_from(outputs)), body, names)
    rhythmic = output in (Output.CHANGES, Output.RSTREAM)
    every = draw(st.sampled_from([None, None, 2, 5])) if rhythmic else None
    return Program(streams, body, tuple(views), output, every)
