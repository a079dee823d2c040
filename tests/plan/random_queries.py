"""Random queries over two streams and a relation, as text, for judging rewritings.

    s (ts, k, a, b)    t (ts, k, c)    r (k, w), which never changes

Every table of a FROM gets an alias of its own, so that any column can be named.
"""

from __future__ import annotations

from hypothesis import strategies as st

from windrow.plan.costs.flows import StreamStatistics

DECLARATIONS = """
CREATE STREAM s (ts BIGINT, k INT, a INT, b INT);
CREATE STREAM t (ts BIGINT, k INT, c INT);
CREATE RELATION r (k INT, w INT);
"""
COLUMNS = {"s": ("k", "a", "b"), "t": ("k", "c"), "r": ("k", "w")}
WINDOWS = ("[RANGE 2]", "[RANGE 3]", "[RANGE 4 SLIDE 2]", "[NOW]", "", "[ROWS 2]",
           "[ROWS 3 SLIDE 2]", "[PARTITION BY k ROWS 1]")  # fmt: skip


@st.composite
def blocks(draw: st.DrawFn, width: int | None = None, most: int = 3) -> str:
    """One SELECT; with ``width`` it has that many columns, all of them plain."""
    tables = [
        (f"x{i}", draw(st.sampled_from(["s", "t", "s", "t", "r"])))
        for i in range(draw(st.integers(1, most)))
    ]
    sources = [
        f"{name} {draw(st.sampled_from(WINDOWS)) if name != 'r' else ''} AS {alias}"
        for alias, name in tables
    ]
    every = [f"{alias}.{column}" for alias, name in tables for column in COLUMNS[name]]
    some = st.sampled_from(every)
    conditions = []
    for (alias, name), (before, other) in zip(tables[1:], tables, strict=False):
        match draw(st.sampled_from(["key", "key", "key", "mixed", "theta", "none"])):
            case "key":
                conditions.append(f"{before}.k = {alias}.k")
            case "mixed":
                one, two = (draw(st.sampled_from(COLUMNS[n])) for n in (other, name))
                conditions.append(f"{before}.{one} = {alias}.{two}")
            case "theta":
                conditions.append(f"{before}.k < {alias}.k")
    if draw(st.booleans()):
        conditions.append(f"{draw(some)} {draw(st.sampled_from(['>', '<', '=', '<>']))} 1")
    if draw(st.booleans()):
        conditions.append(_negated(draw, draw(some)))
    if draw(st.integers(0, 3)) == 0:
        conditions.append(_negated(draw, draw(some)))
    if draw(st.integers(0, 3)) == 0:
        conditions.append(f"({_exists(draw, draw(some))} OR {_exists(draw, draw(some))})")
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    body = f"FROM {', '.join(sources)}{where}"
    if width is None and draw(st.integers(0, 4)) == 0:
        key = draw(some)
        aggregate = draw(st.sampled_from([f"SUM({draw(some)})", "COUNT(*)", f"MAX({draw(some)})"]))
        return f"SELECT {key}, {aggregate} AS v {body} GROUP BY {key}"
    count = width or draw(st.integers(1, 3))
    items = ", ".join(f"{draw(some)} AS c{i}" for i in range(count))
    return f"SELECT {draw(st.sampled_from(['', 'DISTINCT ', 'DISTINCT ']))}{items} {body}"


def _negated(draw: st.DrawFn, column: str) -> str:
    name = draw(st.sampled_from(["s", "t"]))
    window = draw(st.sampled_from(WINDOWS))
    if draw(st.booleans()):
        return f"NOT {_exists(draw, column)}"
    return f"{column} NOT IN (SELECT n.k FROM {name} {window} AS n)"


def _exists(draw: st.DrawFn, column: str) -> str:
    name, window = draw(st.sampled_from(["s", "t"])), draw(st.sampled_from(WINDOWS))
    more = f" AND n.{COLUMNS[name][1]} > {column}" if draw(st.integers(0, 3)) == 0 else ""
    return f"EXISTS (SELECT * FROM {name} {window} AS n WHERE n.k = {column}{more})"


@st.composite
def queries(draw: st.DrawFn) -> str:
    """A block, two of them put together, or one that reads another."""
    match draw(st.sampled_from(["block", "block", "block", "set", "nested", "stream"])):
        case "set":
            word = draw(
                st.sampled_from(["UNION", "UNION ALL", "EXCEPT", "EXCEPT ALL", "INTERSECT"])
            )
            width = draw(st.integers(1, 2))
            return f"{draw(blocks(width, 2))} {word} {draw(blocks(width, 2))}"
        case "nested":
            inner, window = draw(blocks(2, 2)), draw(st.sampled_from(WINDOWS[:3]))
            distinct = draw(st.sampled_from(["", "DISTINCT "]))
            return (
                f"SELECT {distinct}q.c1, y.a FROM ({inner}) AS q, s {window} AS y "
                f"WHERE q.c0 = y.k AND {_negated(draw, 'y.a')}"
            )
        case "stream":
            kind = draw(st.sampled_from(["ISTREAM", "RSTREAM"]))
            return f"{kind}({draw(blocks(most=2))})"
    return draw(blocks())


def statistics() -> st.SearchStrategy[StreamStatistics]:
    """Figures that make the optimiser choose now this plan, now that one."""
    rates = st.sampled_from([0.1, 1.0, 10.0, 1000.0])
    values = st.sampled_from([1.0, 3.0, 100.0, 10_000.0])
    columns = [f"{name}.{column}" for name, found in COLUMNS.items() for column in found]
    return st.builds(
        StreamStatistics,
        rates=st.fixed_dictionaries({"s": rates, "t": rates, "r": rates}),
        distinct=st.fixed_dictionaries(dict.fromkeys(columns, values)),
    )
