"""Random scripts whose queries are nested: any operator over any other, views of every form.

``programs`` combines blocks over streams and views; here a block reads blocks. All columns are
numbers, so that any column can be compared with, united with and grouped by any other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from hypothesis import strategies as st

from tests.oracle.scripts import Script, View

NUMBERS = {"s": ("k", "a"), "t": ("k", "b"), "r": ("k",)}
WINDOWS = ("RANGE 1", "RANGE 3", "RANGE 6", "RANGE 5 SLIDE 2", "RANGE 2 SLIDE 3", "NOW",
           "ROWS 1", "ROWS 4", "ROWS 4 SLIDE 3", "ROWS 2 SLIDE 5",
           "PARTITION BY k ROWS 1", "PARTITION BY k ROWS 2", "SESSION 2",
           "PARTITION BY k SESSION 3")  # fmt: skip
SETS = ("UNION", "UNION ALL", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL")
KINDS = ("plain", "join", "join", "group", "group", "total", "distinct", "UNION", "UNION ALL",
         "EXCEPT ALL", "missing", "first")  # fmt: skip
RELATIONAL = (*SETS, "outer", "outer", "using", "with", "filter", "present", "present", "present",
              "scalar", "scalar", "row", "values", "flag", "flag")  # fmt: skip
"""What SQL has beside them."""
ROWS = ("(0, 1), (1, 2), (1, NULL)", "(2, 0)", "(NULL, 1), (1, 1), (1, 1)")
"""Rows of VALUES."""
ALONE = "FROM (VALUES"
"""How they are read where they are not joined away."""
AGGREGATES = ("COUNT(*)", "COUNT({0})", "SUM({0})", "MIN({0})", "MAX({0})", "COUNT(DISTINCT {0})")


@dataclass(frozen=True)
class Query:
    """A query in both languages; its columns are called c0, c1..."""

    cql: str
    sql: str
    width: int

    def columns(self, alias: str) -> list[str]:
        return [f"{alias}.c{place}" for place in range(self.width)]


def both(pattern: str, width: int, *parts: Query) -> Query:
    """The same words around the parts in both languages; ``{0}`` is the first part."""
    return Query(
        pattern.format(*(p.cql for p in parts)), pattern.format(*(p.sql for p in parts)), width
    )


@dataclass
class _Writer:
    draw: st.DrawFn
    kinds: tuple[str, ...] = KINDS + RELATIONAL
    views: list[View] = field(default_factory=list)

    def one_of(self, *options: str) -> str:
        return self.draw(st.sampled_from(options))

    def number(self, most: int) -> int:
        return self.draw(st.integers(0, most))

    def query(self, depth: int) -> Query:
        if depth == 0:
            return self.base()
        kind = self.one_of(*self.kinds)
        match kind:
            case "plain":
                return self.plain(depth)
            case "join":
                return self.join(depth)
            case "group" | "total":
                return self.group(depth, keyed=kind == "group")
            case "distinct":
                inner = self.query(depth - 1)
                return both("SELECT DISTINCT * FROM ({0}) AS q", inner.width, inner)
            case "missing":
                return self.missing(depth)
            case "first":
                return self.first(depth)
            case "outer" | "using":
                return self.outer(depth, using=kind == "using")
            case "with":
                return self.defined(depth)
            case "filter":
                return self.filtered(depth)
            case "present":
                return self.present(depth)
            case "scalar":
                return self.with_value(depth)
            case "row":
                return self.row_among(depth)
            case "flag":
                return self.flagged(depth)
            case "values":
                return self.beside_values(depth)
        left = self.query(depth - 1)
        right = self.query(self.number(depth - 1))
        width = min(left.width, right.width)
        left, right = self.cut(left, width), self.cut(right, width)
        return both(f"({{0}}) {kind} ({{1}})", width, left, right)

    def base(self) -> Query:
        """The numbers of a stream in a window, of the relation, of a view, or written down."""
        views = {v.name: v for v in self.views}
        name = self.one_of("s", "s", "t", "t", "r", *views, *views, "VALUES")
        if name == "VALUES":
            rows = self.one_of(*ROWS)
            return both(f"SELECT a AS c0, b AS c1 {ALONE} {rows}) AS v (a, b)", 2)
        columns = NUMBERS.get(name) or tuple(c for c, _ in views[name].columns)
        bounded = views[name].stream and self.has_time(name) if name in views else name != "r"
        clauses = [c for c in WINDOWS if name in ("s", "t") or not c.startswith("PARTITION")]
        window = f" [{self.one_of(*clauses)}]" if bounded and self.number(9) else ""
        items = ", ".join(f"{column} AS c{place}" for place, column in enumerate(columns))
        return both(f"SELECT {items} FROM {name}{window}", len(columns))

    def cut(self, query: Query, width: int) -> Query:
        if query.width == width:
            return query
        names = ", ".join(f"c{place}" for place in range(width))
        return both(f"SELECT {names} FROM ({{0}}) AS q", width, query)

    def scalar(self, columns: list[str]) -> str:
        one = self.one_of(*columns)
        return self.one_of(
            one, one, f"{one} + 1", f"{one} % 2", f"-{one}", f"COALESCE({one}, 0)",
            f"CASE WHEN {one} > 1 THEN {self.one_of(*columns)} ELSE {one} END",
        )  # fmt: skip

    def condition(self, columns: list[str]) -> str:
        one = self.one_of(*columns)
        other = self.one_of(*columns, "0", "1", "2")
        return self.one_of(
            f"{one} > {other}", f"{one} <> {other}", f"{one} IS NULL", f"{one} IS NOT NULL",
            f"NOT ({one} <= {other} AND {one} IS NOT NULL)", f"{one} IN (0, 1, NULL)",
        )  # fmt: skip

    def plain(self, depth: int) -> Query:
        inner = self.query(depth - 1)
        columns = inner.columns("q")
        count = 1 + self.number(1)
        items = ", ".join(f"{self.scalar(columns)} AS c{place}" for place in range(count))
        where = f" WHERE {self.condition(columns)}" if self.number(1) else ""
        return both(f"SELECT {items} FROM ({{0}}) AS q{where}", count, inner)

    def join(self, depth: int) -> Query:
        left, right = self.query(depth - 1), self.query(depth - 1)
        x, y = left.columns("x"), right.columns("y")
        operator = self.one_of("=", "=", "=", "=", "<", "<>", "IS NOT DISTINCT FROM")
        where = f"{self.one_of(*x)} {operator} {self.one_of(*y)}"
        if not self.number(2):
            where += f" AND {self.condition(x + y)}"
        items = f"{self.one_of(*x)} AS c0, {self.scalar(y)} AS c1"
        return both(f"SELECT {items} FROM ({{0}}) AS x, ({{1}}) AS y WHERE {where}", 2, left, right)

    def outer(self, depth: int, *, using: bool) -> Query:
        """A join of which one side, or both, or neither, stays without a partner."""
        left, right = self.query(depth - 1), self.query(self.number(depth - 1))
        x, y = left.columns("x"), right.columns("y")
        kind = self.one_of("LEFT", "RIGHT", "FULL", *(["INNER"] if using else ["LEFT"]))
        on, first = "USING (c0)", self.one_of("c0", "x.c0", "y.c0")
        if not using:
            operators = ("=", "=", "=", "<") if kind != "FULL" else ("=",)
            on = f"ON {self.one_of(*x)} {self.one_of(*operators)} {self.one_of(*y)}"
            own = {"LEFT": x + y, "RIGHT": x + y, "FULL": []}[kind]
            if own and not self.number(1):
                on += f" AND {self.condition(own)}"
            first = self.one_of(*x)
        if using and left.width == right.width and not self.number(2):
            kind, on = f"NATURAL {kind}", ""
        where = f" WHERE {self.condition(x + y)}" if not self.number(2) else ""
        items = f"{first} AS c0, {self.scalar(x + y)} AS c1"
        text = f"SELECT {items} FROM ({{0}}) AS x {kind} JOIN ({{1}}) AS y {on}{where}"
        return both(text, 2, left, right)

    def row_among(self, depth: int) -> Query:
        """``(a, b) [NOT] IN (SELECT c, d ...)``, in SQL said for each of the values."""
        outer, inner = self.query(depth - 1), self.query(self.number(depth - 1))
        pairs = [
            (self.one_of(*outer.columns("o")), self.one_of(*inner.columns("i"))) for _ in range(2)
        ]
        no = self.one_of("", "", "NOT ")
        own = self.one_of("TRUE", self.condition(inner.columns("i")))
        tests = [f"{o} = {i}" for o, i in pairs]
        if no:
            tests = [f"({o} = {i} OR {o} IS NULL OR {i} IS NULL)" for o, i in pairs]
        rows = f"({pairs[0][0]}, {pairs[1][0]})"
        asked = f"{no}IN (SELECT {pairs[0][1]}, {pairs[1][1]} FROM ({{1}}) AS i WHERE {own})"
        meant = f"{no}EXISTS (SELECT * FROM ({{1}}) AS i WHERE {own} AND {' AND '.join(tests)})"
        items = f"SELECT {', '.join(outer.columns('o'))} FROM ({{0}}) AS o WHERE"
        return Query(
            f"{items} {rows} {asked}".format(outer.cql, inner.cql),
            f"{items} {meant}".format(outer.sql, inner.sql),
            outer.width,
        )

    def beside_values(self, depth: int) -> Query:
        """A join with rows that are written down."""
        inner = self.query(depth - 1)
        x = inner.columns("x")
        kind = self.one_of("INNER", "LEFT", "LEFT")
        on = f"{self.one_of(*x)} {self.one_of('=', '=', '<')} v.a"
        if not self.number(2):
            on += f" AND {self.condition([*x, 'v.b'])}"
        rows = self.one_of(*ROWS)
        where = f" WHERE {x[0]} IN (VALUES (0), (1), (2))" if not self.number(2) else ""
        items = f"{self.one_of(*x)} AS c0, v.b AS c1"
        values = f"(VALUES {rows}) AS v (a, b)"
        text = f"SELECT {items} FROM ({{0}}) AS x {kind} JOIN {values} ON {on}{where}"
        return both(text, 2, inner)

    def defined(self, depth: int) -> Query:
        """WITH, what it defines being read twice."""
        inner, other = self.query(depth - 1), self.query(self.number(depth - 1))
        x = inner.columns("x")
        if self.number(1):
            names = ", ".join(f"d{place}" for place in range(inner.width))
            text = (
                f"WITH w ({names}) AS ({{0}}) SELECT p.d0 AS c0, q.d0 AS c1 FROM w AS p, w AS q "
                f"WHERE p.d0 = q.d{inner.width - 1} AND p.d0 > 0"
            )
            return both(text, 2, inner)
        text = (
            "WITH w AS ({0}), z AS ({1}), v AS (SELECT z.c0 FROM z UNION ALL SELECT w.c0 FROM w) "
            f"SELECT {self.one_of(*x)} AS c0, y.c0 AS c1 FROM w AS x CROSS JOIN v AS y "
            f"WHERE {self.one_of(*x)} = y.c0"
        )
        return both(text, 2, inner, other)

    def filtered(self, depth: int) -> Query:
        inner = self.query(depth - 1)
        columns = inner.columns("q")
        key = self.one_of(*columns)
        value = self.one_of(*AGGREGATES).format(self.one_of(*columns))
        one, other = self.condition(columns), self.condition(columns)
        text = (
            f"SELECT {key} AS c0, {value} FILTER (WHERE {one}) AS c1, "
            f"COUNT(*) FILTER (WHERE {other}) AS c2 FROM ({{0}}) AS q GROUP BY {key}"
        )
        return both(text, 3, inner)

    def group(self, depth: int, *, keyed: bool) -> Query:
        inner = self.query(depth - 1)
        columns = inner.columns("q")
        value = self.one_of(*AGGREGATES).format(self.one_of(*columns))
        if keyed:
            key = self.one_of(*columns)
            having = " HAVING COUNT(*) > 1" if not self.number(3) else ""
            groups = self.one_of(key, key, "ALL")
            text = f"SELECT {key} AS c0, {value} AS c1 FROM ({{0}}) AS q GROUP BY {groups}{having}"
            return both(text, 2, inner)
        text = f"SELECT {value} AS c0 FROM ({{0}}) AS q"
        # SQL has a row for an empty input, CQL has none.
        sql = f"{text} HAVING COUNT(*) > 0"
        return Query(text.format(inner.cql), sql.format(inner.sql), 1)

    def missing(self, depth: int) -> Query:
        """What has no partner."""
        # If what takes away were as deep as what it is taken from, little would be left.
        outer, inner = self.query(depth - 1), self.query(self.number(depth - 1))
        o, i = self.one_of(*outer.columns("o")), self.one_of(*inner.columns("i"))
        more = f" AND {self.one_of(*inner.columns('i'))} > {o}" if not self.number(4) else ""
        negation = self.one_of(
            f"NOT EXISTS (SELECT * FROM ({{1}}) AS i WHERE {i} = {o}{more})",
            f"{o} NOT IN (SELECT {i} FROM ({{1}}) AS i WHERE {i} IS NOT NULL)",
            f"{o} NOT IN (SELECT {i} FROM ({{1}}) AS i WHERE {i} <> 1 OR {i} IS NULL)",
        )
        items = ", ".join(outer.columns("o"))
        return both(f"SELECT {items} FROM ({{0}}) AS o WHERE {negation}", outer.width, outer, inner)

    def present(self, depth: int) -> Query:
        """What has a partner, or has one by another condition, or meets a plain one."""
        outer, inner = self.query(depth - 1), self.query(self.number(depth - 1))
        one, other = self.asked(outer, inner), self.asked(outer, inner)
        plain = self.condition(outer.columns("o"))
        where = self.one_of(
            one, one, f"{plain} OR {one}", f"{one} OR {other}", f"NOT ({plain} AND {one})",
            f"{one} AND NOT ({other} OR {plain})",
        )  # fmt: skip
        items = ", ".join(outer.columns("o"))
        return both(f"SELECT {items} FROM ({{0}}) AS o WHERE {where}", outer.width, outer, inner)

    def flagged(self, depth: int) -> Query:
        """EXISTS and IN in the select list, in HAVING, in aggregates, inside of conditions."""
        outer, inner = self.query(depth - 1), self.query(self.number(min(depth - 1, 1)))
        o = self.one_of(*outer.columns("o"))
        one, other = self.asked(outer, inner), self.asked(outer, inner)
        plain = self.condition(outer.columns("o"))
        counted = f"COUNT(*) FILTER (WHERE {one})"
        shared = self.asked(outer, inner, o)
        where = self.one_of(
            f"CASE WHEN {one} THEN {plain} ELSE {other} END", f"COALESCE({one}, {plain})",
            f"({one}) IS NULL", f"NOT (({one}) = ({other}))",
        )  # fmt: skip
        text = self.one_of(
            f"SELECT {o} AS c0, CASE WHEN {one} THEN 1 WHEN NOT ({one}) THEN 0 END AS c1 "
            "FROM ({0}) AS o",
            f"SELECT {o} AS c0, CASE WHEN {plain} AND {one} OR {other} THEN {o} ELSE 7 END AS c1 "
            "FROM ({0}) AS o",
            f"SELECT {o} AS c0, {counted} AS c1 FROM ({{0}}) AS o GROUP BY {o}",
            f"SELECT {o} AS c0, COUNT(*) AS c1 FROM ({{0}}) AS o GROUP BY {o} HAVING {shared}",
            f"SELECT {o} AS c0, COUNT(*) + CASE WHEN {shared} THEN 10 ELSE 20 END AS c1 "
            f"FROM ({{0}}) AS o GROUP BY {o}",
            f"SELECT CASE WHEN {one} THEN 1 ELSE 0 END AS c0, COUNT(*) AS c1 FROM ({{0}}) AS o "
            "GROUP BY 1",
            f"SELECT {o} AS c0, 1 AS c1 FROM ({{0}}) AS o WHERE {where}",
        )
        return both(text, 2, outer, inner)

    def asked(self, outer: Query, inner: Query, column: str = "") -> str:
        """EXISTS or IN, or the negation of one, of the outer ``column`` or any."""
        o, i = column or self.one_of(*outer.columns("o")), self.one_of(*inner.columns("i"))
        link = f"{self.one_of(*inner.columns('i'))} {self.one_of('=', '=', '<')} {o}"
        own = self.condition(inner.columns("i"))
        text = self.one_of(
            f"EXISTS (SELECT * FROM ({{1}}) AS i WHERE {i} = {o})",
            f"EXISTS (SELECT * FROM ({{1}}) AS i WHERE {i} = {o} AND {link})",
            f"EXISTS (SELECT 1 AS one FROM ({{1}}) AS i WHERE {own})",
            f"{o} IN (SELECT {i} FROM ({{1}}) AS i)",
            f"{o} IN (SELECT {i} FROM ({{1}}) AS i WHERE {own})",
            f"{o} IN (SELECT {i} + 1 FROM ({{1}}) AS i WHERE {link})",
            f"{o} = ANY (SELECT {i} FROM ({{1}}) AS i WHERE {own})",
            f"{o} <> ALL (SELECT {i} FROM ({{1}}) AS i WHERE {link})",
        )
        return self.one_of("", "", "NOT ") + text

    def with_value(self, depth: int) -> Query:
        """A value of a sub-query: of all of it, or of what goes with the outer tuple."""
        outer, inner = self.query(depth - 1), self.query(self.number(depth - 1))
        o, i = self.one_of(*outer.columns("o")), self.one_of(*inner.columns("i"))
        value = self.one_of(*AGGREGATES).format(i)
        own, link = self.condition(inner.columns("i")), f"{i} = {o}"
        where = self.one_of("", f" WHERE {own}", f" WHERE {link}", f" WHERE {link} AND {own}")
        one = f"(SELECT {value} FROM ({{1}}) AS i{where})"
        other = f"(SELECT {value} + 1 FROM ({{1}}) AS i)"
        asked = self.one_of(
            f"{o} > {one}", f"{o} + {one} <> 2", f"COALESCE({one}, 0) <= {o}", f"{one} IS NULL",
            f"NOT ({o} = {one})", f"{one} > {other} OR {o} IS NULL",
            f"{o} >= {one} OR EXISTS (SELECT * FROM ({{1}}) AS i WHERE {link})",
        )  # fmt: skip
        match self.number(3):
            case 0:
                text = f"SELECT {o} AS c0, {one} AS c1 FROM ({{0}}) AS o"
            case 1:
                text = f"SELECT {o} AS c0, {o} * {one} - {other} AS c1 FROM ({{0}}) AS o"
            case 2:
                text = f"SELECT {o} AS c0, COUNT(*) - {other} AS c1 FROM ({{0}}) AS o GROUP BY {o}"
            case _:
                text = f"SELECT {o} AS c0, 1 AS c1 FROM ({{0}}) AS o WHERE {asked}"
        return both(text, 2, outer, inner)

    def first(self, depth: int) -> Query:
        inner = self.query(depth - 1)
        names = [f"c{place}" for place in range(inner.width)]
        key, down = self.one_of(*names), self.one_of("", " DESC")
        count = 1 + self.number(2)
        limit = self.one_of(f"LIMIT {count}", f"FETCH FIRST {count} ROWS ONLY")
        text = f"SELECT {', '.join(names)} FROM ({{0}}) AS q ORDER BY"
        ties = ", ".join(f"{name} NULLS LAST" for name in names)
        return Query(
            f"{text} {key}{down} {limit}".format(inner.cql),
            f"{text} {key}{down} NULLS LAST, {ties} LIMIT {count}".format(inner.sql),
            inner.width,
        )

    def form(self, body: Query, *forms: str) -> str:
        """What is around a query; rows that are there from the beginning are not said for ever."""
        if ALONE in self.all_of(body.cql):
            forms = tuple(form for form in forms if form != "RSTREAM")
        return self.one_of(*forms)

    def has_time(self, name: str) -> bool:
        """Whether a view reads anything but VALUES."""
        return re.search(r"FROM [str]\b", self.all_of(f"FROM {name}")) is not None

    def all_of(self, text: str) -> str:
        """A text, and those of the views below it."""
        for view in reversed(self.views):
            text += view.cql if re.search(rf"FROM {view.name}\b", text) else ""
        return text

    def view(self, name: str) -> View:
        """A relation, or what came into one, left it, or was in it."""
        body = self.query(1 + self.number(1))
        form = self.form(body, "", "ISTREAM", "ISTREAM", "RSTREAM")
        cql, sql = (f"{form}({text})" if form else text for text in (body.cql, body.sql))
        columns = tuple((f"c{place}", "BIGINT") for place in range(body.width))
        return View(name, cql, columns, stream=bool(form), sql=sql)


@st.composite
def scripts(draw: st.DrawFn, kinds: tuple[str, ...] = KINDS + RELATIONAL) -> Script:
    """Up to two views and a query, two or three operators deep."""
    writer = _Writer(draw, kinds)
    for name in ("v1", "v2")[: writer.number(2)]:
        writer.views.append(writer.view(name))
    query = writer.query(2 + writer.number(1))
    form = writer.form(query, "", "", "", "ISTREAM", "RSTREAM")
    every = writer.one_of("", "", "", " EVERY 3") if form != "ISTREAM" else ""
    cql, sql = (f"{form}({t}){every}" if form else f"({t}){every}" for t in (query.cql, query.sql))
    return Script(cql, sql, tuple(writer.views))
