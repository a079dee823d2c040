"""Random programs over the streams of ``data``: every shape of query that is executable.

A program is drawn in layers: base streams, then views that are streams, then views that are
relations, then the query over any of them. Each layer draws from what the earlier ones named.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from hypothesis import strategies as st

from tests.oracle import data
from tests.oracle.blocks import (
    RESTORING,
    Body,
    Columns,
    Combined,
    Item,
    Negation,
    Output,
    Select,
    Source,
    Top,
    Unnest,
)
from tests.oracle.conditions import aggregates, columns_of, joins, predicates, scalars
from tests.oracle.expressions import COUNT_ALL, Expr, all_of, column, compare, number
from tests.oracle.queries import TIME, Program, View, slid
from tests.oracle.windows import NO_WINDOW, Now, Range, Rows, Session, Unbounded, Window

ALIASES = ("X", "Y", "Z", "W")


@dataclass(frozen=True)
class Named:
    """Something a FROM clause can name."""

    name: str
    columns: Columns
    stream: bool
    monotonic: bool  # nothing is ever withdrawn from it while it has no window
    nrr: bool = False


lengths = st.integers(1, 14)
PERIODS: list[st.SearchStrategy[Window]] = [
    *[st.builds(Range, lengths)] * 3,
    st.just(Now()),
]
SLIDING: st.SearchStrategy[Window] = st.builds(Range, lengths, st.integers(1, 6))
ENDLESS: list[st.SearchStrategy[Window]] = [st.just(Unbounded()), st.just(NO_WINDOW)]


def counted(columns: Columns) -> list[st.SearchStrategy[Window]]:
    """ROWS, by itself and for each value of some columns."""
    keys = st.sampled_from([name for name, _ in columns])
    by = st.lists(keys, min_size=1, max_size=2, unique=True).map(tuple)
    return [
        st.builds(Rows, st.integers(1, 6)),
        st.builds(Rows, st.integers(1, 3), by),
        st.builds(Session, st.integers(1, 4), st.just(()) | by),
    ]


def windows(named: Named, count: int = 1) -> st.SearchStrategy[Window | None]:
    """Any window over ``named``; the more sources there are, the shorter."""
    if not named.stream:
        return st.none()
    if count > 2:
        # Long enough to meet, short enough that not everything meets everything.
        return st.one_of(st.builds(Range, st.integers(2, 6)), SLIDING, *counted(named.columns)[1:])
    return st.one_of(*PERIODS, SLIDING, *ENDLESS, *counted(named.columns))


@st.composite
def sources(draw: st.DrawFn, names: list[Named], most: int) -> tuple[list[Named], list[Source]]:
    """One to four sources, or one or two streams in time windows and an NRR."""
    relations = [n for n in names if not n.nrr]
    nrrs = [n for n in names if n.nrr]
    if nrrs and most > 1 and draw(st.integers(0, 7)) == 0:
        stream = draw(st.sampled_from([n for n in relations if n.stream]))
        window = draw(st.one_of(*PERIODS, SLIDING, *ENDLESS))
        pair = [
            (stream, Source(stream.name, "X", window)),
            (nrrs[0], Source(nrrs[0].name, "Y", None, nrr=True)),
        ]
        if draw(st.booleans()):
            pair.reverse()
        return [n for n, _ in pair], [s for _, s in pair]
    count = min(draw(st.sampled_from([1, 1, 1, 2, 2, 2, 3, 4])), most)
    chosen = [draw(st.sampled_from(relations)) for _ in range(count)]
    return chosen, [
        Source(named.name, alias, draw(windows(named, count)))
        for named, alias in zip(chosen, ALIASES, strict=False)
    ]


def brief(named: Named) -> st.SearchStrategy[Window | None]:
    """A window for what takes results away: if it held all that came, nothing would be left."""
    if not named.stream:
        return st.none()
    return st.one_of(st.builds(Range, st.integers(1, 5)), st.just(Now()), *counted(named.columns))


@st.composite
def negations(
    draw: st.DrawFn, columns: list[Expr], names: list[Named], *, within: bool = False
) -> Negation:
    """NOT EXISTS or NOT IN a short window, on columns that meet now and then.

    With ``within`` there is a duration in place of the window.
    """
    named = draw(st.sampled_from([n for n in names if n.stream or not (within or n.nrr)]))
    window = NO_WINDOW if within else draw(brief(named))
    inner = columns_of(named.columns, "N")
    pairs = [(c, n) for c in columns for n in inner if c.family == n.family]
    alike = [(c, n) for c, n in pairs if c.cql.split(".")[1] == n.cql.split(".")[1]]
    kind = draw(st.sampled_from(["NOT EXISTS", "NOT EXISTS", "NOT IN"])) if pairs else "NOT EXISTS"
    most = 0 if not pairs else 1 if kind == "NOT IN" else draw(st.sampled_from([1] * 6 + [2, 2, 0]))
    chosen = tuple(draw(st.sampled_from(alike * 8 + pairs)) for _ in range(most))
    where = draw(predicates(inner)) if draw(st.integers(0, 2)) == 0 else None
    across = None
    if kind == "NOT EXISTS" and pairs and draw(st.integers(0, 2)) == 0:
        outer, other = draw(st.sampled_from(pairs))
        across = compare(other, draw(st.sampled_from(["<", ">=", "<>"])), outer)
    negation = Negation(kind, Source(named.name, "N", window), chosen, where, across)
    if not within:
        return negation
    return replace(negation, within=draw(st.integers(1, 6)), after=draw(st.integers(0, 3)) > 0)


@st.composite
def awaiting(draw: st.DrawFn, names: list[Named]) -> Select:
    """A block over one or two streams whose tuples wait for others that must not come."""
    count = draw(st.sampled_from([1, 1, 1, 2]))
    chosen = [draw(st.sampled_from([n for n in names if n.stream])) for _ in range(count)]
    pairs = list(zip(chosen, ALIASES, strict=False))
    scopes = [columns_of(named.columns, alias) for named, alias in pairs]
    columns = [c for scope in scopes for c in scope]
    froms = tuple(Source(named.name, alias) for named, alias in pairs)
    block = Select((), froms, all_of(draw(connections(scopes))))
    block = replace(block, negations=(draw(negations(columns, names, within=True)),))
    return draw(shaped(block, columns))


@st.composite
def looking_back(draw: st.DrawFn, names: list[Named]) -> Select:
    """A block over a base stream with values of earlier tuples beside the others."""
    named = draw(st.sampled_from([n for n in names if n.name.startswith("S")]))
    columns = columns_of(named.columns, "X")
    keys = draw(st.lists(st.sampled_from(columns), max_size=2, unique=True))
    looks = []
    for value in draw(st.lists(scalars(columns), min_size=1, max_size=2)):
        distance = draw(st.integers(1, 3))
        cql, sql = ("", "PARTITION BY X.t") if not keys else (
            "PARTITION BY " + ", ".join(k.cql for k in keys),
            "PARTITION BY X.t, " + ", ".join(k.sql for k in keys),
        )  # fmt: skip
        looks.append(
            Expr(
                f"LAG({value.cql}, {distance}) OVER ({cql} ORDER BY X.{TIME})",
                f"lag({value.sql}, {distance}) OVER ({sql} ORDER BY X.ts, X.seq)",
                value.type,
            )
        )
    where = draw(st.none() | predicates(columns))
    others = draw(st.lists(scalars(columns), max_size=2))
    shown = items([*others, *looks])
    return Select(shown, (Source(named.name, "X"),), where, looks_back=True)


@st.composite
def selects(draw: st.DrawFn, names: list[Named], most_sources: int = 4) -> Select:
    """A block over one to four sources: plain, DISTINCT, the first few, or aggregating."""
    if draw(st.integers(0, 19)) == 0:
        return draw(looking_back(names))
    if draw(st.integers(0, 11)) == 0:
        return draw(awaiting(names))
    chosen, froms = draw(sources(names, most_sources))
    aliases = [source.alias for source in froms]
    scopes = [columns_of(n.columns, alias) for n, alias in zip(chosen, aliases, strict=True)]
    columns = [c for scope in scopes for c in scope]
    block = Select((), tuple(froms), all_of(draw(connections(scopes))))
    bounded = all(s.nrr or (s.window is not None and s.window.cql) for s in froms)
    windowed = [place for place, s in enumerate(froms) if not s.nrr]
    if bounded and draw(st.integers(0, 7)) == 0:
        block = replace(block, internal=True)
    elif bounded and len(windowed) > 1 and draw(st.integers(0, 2)) == 0:
        inside = draw(st.sets(st.sampled_from(windowed), min_size=1, max_size=len(windowed) - 1))
        block = replace(
            block,
            sources=tuple(replace(s, internal=p in inside) for p, s in enumerate(froms)),
        )
    elif not any(s.nrr for s in froms) and draw(st.integers(0, 4)) == 0:
        block = replace(block, negations=(draw(negations(columns, names)),))
    arrays = [c for c in scopes[-1] if c.type.startswith("ARRAY")]
    if arrays and not (block.internal or block.mixed) and draw(st.booleans()):
        outer = not froms[-1].nrr and draw(st.integers(0, 2)) == 0  # no outer join of an NRR
        block = replace(block, unnest=Unnest(draw(st.sampled_from(arrays)), outer))
        columns = [*columns, *block.unnest.columns * 2]
    return draw(shaped(block, columns))


@st.composite
def mixed_selects(draw: st.DrawFn, names: list[Named]) -> Select:
    """A block with INTERNAL windows beside others, most of which withdraw tuples."""
    chosen = [
        draw(st.sampled_from([n for n in names if n.stream]))
        for _ in range(draw(st.sampled_from([2, 2, 2, 3])))
    ]
    inside = draw(
        st.sets(st.sampled_from(range(len(chosen))), min_size=1, max_size=len(chosen) - 1)
    )
    froms, scopes = [], []
    for place, (named, alias) in enumerate(zip(chosen, ALIASES, strict=False)):
        window = draw(st.one_of(*counted(named.columns) * 2, st.builds(Range, lengths)))
        froms.append(Source(named.name, alias, window, internal=place in inside))
        scopes.append(columns_of(named.columns, alias))
    block = Select((), tuple(froms), all_of(draw(connections(scopes))))
    return draw(shaped(block, [c for scope in scopes for c in scope]))


def bounded_windows(block: Select) -> bool:
    """Whether window_start() and window_end() may be asked for."""
    if len(block.sources) > 1 or block.internal or block.mixed or block.negations:
        return False
    if block.unnest is not None:
        return False
    (source,) = block.sources
    sliding = isinstance(source.window, Range) and source.window.slide is not None
    return sliding or isinstance(source.window, Session)


def session_with_bounds(block: Select, columns: list[Expr]) -> Select:
    """Each session, when it began and when it will end if nothing comes."""
    (source,) = block.sources
    assert isinstance(source.window, Session)
    keys = [c for c in columns if c.cql.split(".")[1] in source.window.partition_by]
    time = f"{source.alias}.ts"
    last = f"CAST(max({time}) + {source.window.gap} AS BIGINT)"
    bounds = [
        Expr("window_start()", f"min({time})", "BIGINT"),
        Expr("window_end()", last, "BIGINT"),
    ]
    shown = items([*keys, *bounds, COUNT_ALL])
    return replace(block, items=shown, where=None, grouped=True, keys=tuple(keys))


@st.composite
def with_bounds(draw: st.DrawFn, block: Select, columns: list[Expr]) -> Select:
    """Rows or groups beside the bounds of their window, which may be written as a function."""
    (source,) = block.sources
    if isinstance(source.window, Session):
        return session_with_bounds(block, columns)
    assert isinstance(source.window, Range)
    grouped = draw(st.booleans())
    slide, end = source.window.slide, f"{'any_value' if grouped else ''}({source.alias}.t)"
    edge = f"CAST(floor({end} / {slide}) * {slide} AS BIGINT)"
    if source.name.startswith("S") and draw(st.booleans()):
        block = replace(block, sources=(replace(source, time=TIME),))
    call = "" if block.sources[0].time and draw(st.booleans()) else "()"
    bounds = [
        Expr(f"window_start{call}", f"({edge} - {source.window.length})", "BIGINT"),
        Expr(f"window_end{call}", edge, "BIGINT"),
    ]
    chosen = draw(st.lists(st.sampled_from(bounds), min_size=1, max_size=2, unique=True))
    exprs = draw(st.lists(scalars(columns), max_size=2, unique=True))
    if not grouped:
        return replace(block, items=items([*chosen, *exprs]))
    values = draw(st.lists(aggregates(columns, exact=False), min_size=1, max_size=2))
    shown = items([*exprs, *chosen, *values])
    return replace(block, items=shown, grouped=True, keys=tuple(exprs))


@st.composite
def shaped(draw: st.DrawFn, block: Select, columns: list[Expr]) -> Select:
    """The block with a select list: plain, DISTINCT, the first few, or aggregating."""
    if bounded_windows(block) and draw(st.booleans()):
        return draw(with_bounds(block, columns))
    shape = draw(
        st.sampled_from(["plain", "plain", "distinct", "top", "grouped", "grouped", "total"])
    )
    if shape == "distinct" and (block.internal or block.mixed):
        shape = "plain"  # the language refuses the other
    if shape in ("plain", "distinct", "top"):
        exprs = draw(st.lists(scalars(columns), min_size=1, max_size=3))
        block = replace(block, items=items(exprs), distinct=shape == "distinct")
        return draw(topped(block)) if shape == "top" and not block.internal else block
    keys: list[Expr] = []
    if shape == "grouped":
        keys = draw(st.lists(scalars(columns), min_size=1, max_size=2, unique=True))
    values = draw(st.lists(aggregates(columns, exact=block.internal), min_size=1, max_size=3))
    block = replace(block, items=items([*keys, *values]), grouped=True, keys=tuple(keys))
    if block.internal:
        return block
    if draw(st.integers(0, 4)) == 4:
        operator = draw(st.sampled_from(["<>", "<", ">=", ">", "<="]))
        having = compare(COUNT_ALL, operator, number(draw(st.integers(1, 3))))
        block = replace(block, having=having)
    return draw(topped(block)) if draw(st.integers(0, 4)) == 0 else block


@st.composite
def connections(draw: st.DrawFn, scopes: list[list[Expr]]) -> list[Expr]:
    """Conditions that join the sources: all on one column, or in a chain; and perhaps a filter."""
    conditions = []
    common = [c for c in scopes[0] if all(named_alike(c, scope) for scope in scopes[1:])]
    if len(scopes) > 2 and common and draw(st.integers(0, 3)):
        key = draw(st.sampled_from(common))
        alike = [named_alike(key, scope)[0] for scope in scopes]
        conditions += [compare(one, "=", other) for one, other in pairwise(alike)]
    else:
        for place in range(1, len(scopes)):
            theta = len(scopes) == 2 and draw(st.integers(0, 3)) == 0
            other = scopes[draw(st.integers(0, place - 1))]
            conditions.append(draw(joins(other, scopes[place], theta)))
    if draw(st.integers(0, 4)) == 4:
        conditions.append(draw(predicates([c for scope in scopes for c in scope])))
    return conditions


def named_alike(one: Expr, scope: list[Expr]) -> list[Expr]:
    """The column of another source that has the name and family of ``one``, if there is one."""
    name = one.cql.split(".")[1]
    return [c for c in scope if c.cql.split(".")[1] == name and c.family == one.family]


@st.composite
def topped(draw: st.DrawFn, block: Select) -> Select:
    """The first few by some of its columns."""
    names = [name for name, _ in block.columns]
    by = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
    order = tuple((name, draw(st.booleans())) for name in by)
    groups = None
    if draw(st.booleans()):
        groups = tuple(draw(st.lists(st.sampled_from(names), max_size=2, unique=True)))
    functions = ("ROW_NUMBER", "RANK", "DENSE_RANK") if groups is not None else ("ROW_NUMBER",)
    function = draw(st.sampled_from(functions))
    return replace(block, top=Top(draw(st.integers(1, 4)), order, groups, function))


def items(exprs: list[Expr]) -> tuple[Item, ...]:
    return tuple(Item(f"c{place}", expr) for place, expr in enumerate(exprs))


@st.composite
def bodies(draw: st.DrawFn, names: list[Named]) -> Body:
    """A block, or the union or difference of two plain blocks."""
    keyed = [n for n in names if not n.nrr and dict(n.columns).get("k") == "INT"]
    if not keyed or draw(st.integers(0, 3)):
        return draw(selects(names))
    operator = draw(st.sampled_from(["UNION ALL", "EXCEPT ALL"]))
    branches = []
    for place in range(2):
        named = draw(st.sampled_from(keyed))
        where = draw(st.none() | predicates(columns_of(named.columns, "X")))
        taking = operator == "EXCEPT ALL" and place == 1
        source = Source(named.name, "X", draw(brief(named) if taking else windows(named)))
        branches.append(Select(items([column("k", "INT", "X")]), (source,), where))
    return Combined(operator, tuple(branches))


@st.composite
def stream_views(draw: st.DrawFn, name: str, names: list[Named]) -> View:
    """A view that takes a window: a filter over a stream, or the ISTREAM of a relation."""
    if draw(st.booleans()):
        base = draw(st.sampled_from([n for n in names if n.stream]))
        columns = columns_of(base.columns, "X")
        kept = tuple(Item(c, column(c, t, "X")) for c, t in base.columns)
        where = draw(st.none() | predicates(columns))
        return View(name, Select(kept, (Source(base.name, "X"),), where), stream=True)
    block = draw(selects(names, 2))
    stays = block.negations or block.looks_back
    if block.internal or (stays and never_withdraws(block, names)):
        return View(name, block, stream=True)
    output = draw(st.sampled_from([Output.ISTREAM, Output.ISTREAM, Output.DSTREAM, Output.RSTREAM]))
    return View(name, block, stream=True, output=output)


@st.composite
def relation_views(draw: st.DrawFn, name: str, names: list[Named]) -> View:
    """A view that is read without a window, whether or not it would take one."""
    block = draw(selects(names, 2))
    lasting = draw(lastings(block)) if productive(block) and draw(st.integers(0, 3)) == 0 else None
    return View(name, block, stream=False, lasting=lasting)


def lastings(body: Body) -> st.SearchStrategy[Window]:
    """Windows of WSTREAM."""
    return st.one_of(*PERIODS, SLIDING, *counted(body.columns))


def productive(body: Body) -> bool:
    """Whether it is known how often each result is produced: it is made of tuples of streams."""
    if isinstance(body, Combined):
        return body.operator != "EXCEPT ALL" and all(productive(branch) for branch in body.branches)
    made_new = body.distinct or body.negations or body.top or body.internal or body.looks_back
    # With its bounds a tuple is a result of every window that it is in.
    of_windows = any(item.expr.cql.startswith("window_") for item in body.items)
    return not (made_new or body.unnest or of_windows) and all(
        source.nrr or source.window is not None for source in body.sources
    )


def named(view: View, names: list[Named]) -> Named:
    monotonic = view.stream or (view.lasting is None and never_withdraws(view.body, names))
    return Named(view.name, view.body.columns, view.stream, monotonic)


def never_withdraws(body: Body, names: list[Named]) -> bool:
    """Whether all that the body reads is unbounded and nothing in it is recomputed."""
    if isinstance(body, Combined):
        stays = all(never_withdraws(branch, names) for branch in body.branches)
        return stays and body.operator != "EXCEPT ALL"
    if body.internal:
        return True
    monotonic = {n.name: n.monotonic for n in names}
    asked_now = any(negation.within is None for negation in body.negations)
    return not (body.grouped or asked_now or body.top) and all(
        monotonic[source.name] and isinstance(source.window, Unbounded | None)
        for source in body.external
    )


@st.composite
def mixtures(draw: st.DrawFn) -> Program:
    """INTERNAL windows beside others over two streams, perhaps read through a view."""
    streams = tuple(draw(data.streams(name)) for name in ("S1", "S2"))
    names = [Named(s.name, s.columns, stream=True, monotonic=True) for s in streams]
    views: tuple[View, ...] = ()
    if draw(st.integers(0, 2)) == 0:
        views = (draw(stream_views("V1", names)),)
        names.append(named(views[0], names))
    return Program(streams, draw(mixed_selects(names)), views)


ANY_OUTPUT = (*[Output.CHANGES] * 4, *Output)


@st.composite
def programs(draw: st.DrawFn, outputs: tuple[Output, ...] = ANY_OUTPUT) -> Program:
    """A whole program: streams, relations, up to three views, one query in any form of output."""
    streams = tuple(draw(data.streams(name)) for name in ("S1", "S2"))
    relations = (draw(data.relations("R")), draw(data.nrrs("N")))
    names = [Named(s.name, s.columns, stream=True, monotonic=True) for s in streams] * 2
    names += [Named(r.name, r.columns, stream=False, monotonic=False, nrr=r.nrr) for r in relations]
    views: list[View] = []
    for name in ("V1", "V2", "V3")[: draw(st.sampled_from([0, 0, 1, 2, 3]))]:
        kind = stream_views if draw(st.booleans()) else relation_views
        view = draw(kind(name, names))
        views.append(view)
        # Repeated, so that the query is more likely to read the views than to pass them by.
        names += [named(view, names)] * 4
    body = draw(bodies(names))
    program = Program(streams, body, tuple(views), relations=relations)
    output = draw(st.sampled_from(outputs))
    if output in RESTORING and "window_" in program.question:
        output = Output.CHANGES  # the rhythm takes the place of the SLIDE that bounds are of
    if output in RESTORING:
        return draw(restoring(replace(program, output=output)))
    lasting = output is Output.CHANGES and productive(body) and draw(st.integers(0, 4)) == 0
    return replace(
        program,
        output=output,
        every=draw(st.sampled_from([None, None, None, 2, 5])),
        lasting=draw(lastings(body)) if lasting else None,
    )


@st.composite
def restoring(draw: st.DrawFn, program: Program) -> Program:
    """With a rhythm of EVERY or of the query's own windows; no other window has one."""
    views = tuple(replace(v, body=continual(v.body)) for v in program.views)
    body = continual(program.body)
    sliding = isinstance(body, Select) and any(isinstance(s.window, Range) for s in body.sources)
    return replace(
        program,
        views=views,
        body=body,
        every=draw(st.integers(2, 6)),
        sliding=sliding and draw(st.booleans()),
    )


def continual(body: Body) -> Body:
    """The body with windows that move continually."""
    if isinstance(body, Combined):
        return replace(body, branches=tuple(slid(branch, None) for branch in body.branches))
    return slid(body, None)
