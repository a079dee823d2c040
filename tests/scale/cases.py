"""What is asked: each operator and aggregate over each kind of input, in CQL and in SQL.

In a text, ``{a}`` stands for the stream ``a`` in its window. Where SQL says the same in other
words, a case has a text of its own for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.scale.windows import NOW, UNBOUNDED, Window, partition, rows, slide, time

IN_SQL = {
    "QUANTILE(": "quantile_cont(",
    "VAR(": "var_samp(",
    "STDDEV(": "stddev_samp(",
}
ALL_AGGREGATES = (
    "COUNT(*) AS c0, COUNT(v) AS c1, SUM(v) AS c2, AVG(v) AS c3, MIN(v) AS c4, MAX(v) AS c5, "
    "MEDIAN(v) AS c6, QUANTILE(x, 0.9) AS c7, VAR(v) AS c8, STDDEV(x) AS c9, SUM(x) AS c10, "
    "MIN(x) AS c11, COUNT(DISTINCT v) AS c12, SUM(DISTINCT v) AS c13, MEDIAN(DISTINCT x) AS c14"
)
OF_A = ALL_AGGREGATES.replace("(v", "(a.v").replace("(x", "(a.x").replace("T v", "T a.v").replace(
    "T x", "T a.x"
)  # fmt: skip
EXTREMES = "MIN(v) AS low, MAX(x) AS high"


@dataclass(frozen=True)
class Case:
    """A question, and the SQL that gives its answer at ``$t``."""

    name: str
    cql: str
    sql: str


def case(name: str, text: str, sql: str | None = None, /, **windows: Window) -> Case:
    streams = {alias: alias.rstrip("0123456789") for alias in windows}
    asked = text.format(**{x: f"{streams[x]} {w.cql} AS {x}" for x, w in windows.items()})
    said = sql if sql is not None else text
    for ours, theirs in IN_SQL.items():
        said = said.replace(ours, theirs)
    contents = {x: f"({w.of(streams[x])}) AS {x}" for x, w in windows.items()}
    return Case(name, asked, said.format(**contents))


WINDOWS = {
    "time": time(60),
    "slide": slide(60, 7),
    "rows": rows(700),
    "partition": partition("k", 2),
    "now": NOW,
    "unbounded": UNBOUNDED,
}
JOIN = "FROM {a}, {b} WHERE a.k = b.k"
UNLESS = (
    "FROM {a} WHERE a.v > -900 AND NOT EXISTS (SELECT * FROM {b} WHERE b.k = a.k AND b.v > 300)"
)
JOIN_UNLESS = "FROM {a}, {b} WHERE a.k = b.k AND NOT EXISTS (SELECT * FROM {c} WHERE c.k = a.k)"
SHORT_AND_LONG = (
    "((SELECT k, g, v, x, s, n FROM {a}) UNION ALL (SELECT k, g, v, x, s, n FROM {b})) AS u"
)
TOP = "ORDER BY {0}v DESC, {0}n LIMIT 20"
TOP_SQL = "ORDER BY {0}v DESC NULLS LAST, {0}n LIMIT 20"


def groups() -> list[Case]:
    cases = [
        case(f"groups, {name}", f"SELECT k, {ALL_AGGREGATES} FROM {{a}} GROUP BY k", a=window)
        for name, window in WINDOWS.items()
    ]
    cases += [
        case(f"groups that die, {name}", f"SELECT g, {ALL_AGGREGATES} FROM {{a}} GROUP BY g", a=w)
        for name, w in WINDOWS.items()
        if name in ("time", "slide", "rows", "partition")
    ]
    cases += [
        case(f"extremes alone, {name}", f"SELECT k, {EXTREMES} FROM {{a}} GROUP BY k", a=window)
        for name, window in WINDOWS.items()
    ]
    cases += [
        case("groups of texts", "SELECT s, COUNT(*) AS c, MAX(k) AS h FROM {a} GROUP BY s",
             a=time(40)),
        case("groups of a join", f"SELECT a.k, {OF_A} {JOIN} GROUP BY a.k", a=time(60), b=time(40)),
        case("groups of a join of rows", f"SELECT a.g, COUNT(*) AS c, MIN(b.v) AS low {JOIN} "
             "GROUP BY a.g", a=rows(500), b=partition("k", 1)),
        case("groups of a negation", f"SELECT a.g, {OF_A} {UNLESS} GROUP BY a.g",
             a=time(60), b=time(5)),
        case("groups of a join and a negation",
             f"SELECT a.k, COUNT(*) AS c, MIN(b.v) AS low, MEDIAN(a.x) AS m {JOIN_UNLESS} "
             "GROUP BY a.k", a=time(20), b=time(20), c=time(1)),
        case("groups of short and long lives", f"SELECT g, {ALL_AGGREGATES} FROM {SHORT_AND_LONG} "
             "GROUP BY g", a=time(5), b=time(900)),
        case("groups of distinct", "SELECT k, COUNT(*) AS c, MIN(v) AS low FROM (SELECT DISTINCT "
             "k, v FROM {a}) AS d GROUP BY k", a=rows(400)),
        case("having", "SELECT g, SUM(v) AS c, MEDIAN(x) AS m FROM {a} GROUP BY g "
             "HAVING COUNT(*) > 1", a=time(30)),
        case("one group", "SELECT COUNT(*) AS c, MEDIAN(v) AS m, MAX(v) AS h FROM {a} "
             "HAVING COUNT(*) > 0", a=time(30)),
    ]  # fmt: skip
    return cases


def joins() -> list[Case]:
    pair = f"SELECT a.n, b.n AS m {JOIN}"
    chain = "FROM {a}, {b}, {c} WHERE a.k = b.k AND b.s = c.s"
    return [
        case("join of times", pair, a=time(60), b=time(30)),
        case("join of rows", pair, a=rows(500), b=rows(300)),
        case("join of partitions", pair, a=partition("k", 2), b=time(40)),
        case("join with a condition", f"{pair} AND a.v < b.v", a=time(60), b=rows(200)),
        case("join by order", "SELECT a.n, b.n AS m FROM {a}, {b} WHERE a.v < b.v AND "
             "b.v < a.v + 20", a=time(4), b=time(6)),
        case("join of three on one key", "SELECT a.n, b.n AS m, c.n AS o FROM {a}, {b}, {c} "
             "WHERE a.k = b.k AND b.k = c.k", a=time(30), b=time(40), c=time(50)),
        case("join of three in a chain", f"SELECT a.n, b.n AS m, c.n AS o {chain}",
             a=time(20), b=time(10), c=time(20)),
        case("join with itself", "SELECT a.n, a2.n AS m FROM {a}, {a2} WHERE a.k = a2.k "
             "AND a.n < a2.n", a=time(30), a2=time(20)),
        case("join with everything", pair, a=time(2), b=UNBOUNDED),
        case("join with a relation", "SELECT a.n, r.w FROM {a}, r WHERE a.k = r.k",
             "SELECT a.n, r.w FROM {a}, lives AS r WHERE a.k = r.k AND r.start <= $t "
             "AND $t < r.stop", a=time(40)),
        case("join with an NRR", "SELECT a.n, nrr.w FROM {a}, nrr WHERE a.k = nrr.k",
             "SELECT a.n, r.w FROM {a}, lives AS r WHERE a.k = r.k AND r.start <= a.ts "
             "AND a.ts < r.stop", a=time(40)),
        case("groups of a relation", "SELECT r.w, COUNT(*) AS c FROM {a}, r WHERE a.k = r.k "
             "GROUP BY r.w",
             "SELECT r.w, COUNT(*) AS c FROM {a}, lives AS r WHERE a.k = r.k AND r.start <= $t "
             "AND $t < r.stop GROUP BY r.w", a=time(40)),
    ]  # fmt: skip


def internal() -> list[Case]:
    met = "WHERE a.k = b.k AND b.ts > greatest(a.ts, b.ts) - 5"
    return [
        Case("internal windows",
             "SELECT a.n, b.n AS m FROM a [RANGE 9 SECONDS INTERNAL], b [RANGE 5 SECONDS INTERNAL] "
             "WHERE a.k = b.k",
             f"SELECT a.n, b.n AS m FROM a, b {met} AND a.ts > greatest(a.ts, b.ts) - 9 "
             "AND greatest(a.ts, b.ts) <= $t"),
        Case("internal beside rows",
             "SELECT a.n, b.n AS m FROM a [ROWS 400], b [RANGE 5 SECONDS INTERNAL] "
             "WHERE a.k = b.k",
             f"SELECT a.n, b.n AS m FROM ({rows(400).of('a')}) AS a, b {met} AND b.ts <= $t"),
        Case("groups of internal beside time",
             "SELECT a.g, COUNT(*) AS c, MIN(b.v) AS low FROM a [RANGE 50 SECONDS], "
             "b [RANGE 5 SECONDS INTERNAL] WHERE a.k = b.k GROUP BY a.g",
             f"SELECT a.g, COUNT(*) AS c, MIN(b.v) AS low FROM ({time(50).of('a')}) AS a, b "
             f"{met} AND b.ts <= $t GROUP BY a.g"),
    ]  # fmt: skip


def negations() -> list[Case]:
    return [
        case("not exists, times", f"SELECT a.n {UNLESS}", a=time(60), b=time(5)),
        case("not exists, rows", f"SELECT a.n {UNLESS}", a=rows(600), b=rows(90)),
        case("not exists, partitions", f"SELECT a.n {UNLESS}", a=time(60), b=partition("s", 1)),
        case("not in", "SELECT a.n, a.k FROM {a} WHERE a.k NOT IN (SELECT k FROM {b} "
             "WHERE b.k IS NOT NULL)", a=time(60), b=time(3)),
        case("not in with NULLs", "SELECT a.n, a.k FROM {a} WHERE a.k NOT IN (SELECT k FROM {b} "
             "WHERE b.v > 980)", a=time(60), b=time(3)),
        case("not exists by order", "SELECT a.n FROM {a} WHERE NOT EXISTS (SELECT * FROM {b} "
             "WHERE b.k = a.k AND b.v > a.v)", a=time(40), b=time(20)),
        case("negation over a join", f"SELECT a.n, b.n AS m {JOIN_UNLESS}",
             a=time(30), b=time(30), c=time(3)),
        case("except, times", "(SELECT k, s FROM {a}) EXCEPT ALL (SELECT k, s FROM {b})",
             a=time(60), b=time(60)),
        case("except, rows", "(SELECT k FROM {a}) EXCEPT ALL (SELECT k FROM {b})",
             a=rows(600), b=rows(300)),
    ]  # fmt: skip


def distincts() -> list[Case]:
    cases = [
        case(f"distinct, {name}", "SELECT DISTINCT k, s FROM {a}", a=window)
        for name, window in WINDOWS.items()
    ]
    return [
        *cases,
        case("distinct that dies", "SELECT DISTINCT g FROM {a}", a=time(25)),
        case("distinct of a join", f"SELECT DISTINCT a.g {JOIN}", a=time(40), b=time(30)),
        case("distinct of a negation", f"SELECT DISTINCT a.g {UNLESS}", a=time(40), b=time(4)),
        case("distinct of short and long lives", f"SELECT DISTINCT k FROM {SHORT_AND_LONG}",
             a=time(5), b=time(900)),
        case("union", "(SELECT k, v FROM {a}) UNION ALL (SELECT k, v FROM {b})",
             a=time(10), b=rows(300)),
    ]  # fmt: skip


def tops() -> list[Case]:
    def top(name: str, text: str, prefix: str = "", /, **windows: Window) -> Case:
        ours, theirs = TOP.format(prefix), TOP_SQL.format(prefix)
        return case(name, f"{text} {ours}", f"{text} {theirs}", **windows)

    return [
        *(top(f"top, {name}", "SELECT v, n FROM {a}", a=w) for name, w in WINDOWS.items()),
        top("top of a negation", f"SELECT a.v, a.n {UNLESS}", "a.", a=time(60), b=time(5)),
        top("top of a join", f"SELECT a.v, a.n, b.n AS m {JOIN}", "a.", a=time(9),
            b=partition("k", 1)),
        top("top of short and long lives", f"SELECT v, n, s FROM {SHORT_AND_LONG}",
            a=time(5), b=time(900)),
        case("top groups",
             "SELECT TOP 10 k, SUM(v) AS total FROM {a} GROUP BY k ORDER BY total DESC, k",
             "SELECT k, SUM(v) AS total FROM {a} GROUP BY k "
             "ORDER BY total DESC NULLS LAST, k NULLS LAST LIMIT 10", a=time(60)),
    ]  # fmt: skip


def outputs() -> list[Case]:
    return [
        Case("istream", "ISTREAM(SELECT n, k FROM a [RANGE 30 SECONDS] WHERE v > 0)",
             "SELECT n, k FROM a WHERE v > 0 AND ts <= $t"),
        Case("dstream", "DSTREAM(SELECT n, k FROM a [RANGE 30 SECONDS] WHERE v > 0)",
             "SELECT n, k FROM a WHERE v > 0 AND ts + 30 <= $t"),
        Case("rstream", "RSTREAM(SELECT n, k FROM a [RANGE 12 SECONDS]) EVERY 40 SECONDS",
             "SELECT n, k FROM a, range(0, $t + 1, 40) AS e(tick) "
             "WHERE ts <= tick AND ts > tick - 12"),
        Case("selection", "SELECT n, v + 1 AS w, x * 2 AS y, s FROM a [RANGE 30 SECONDS] "
             "WHERE v > 0 OR s = 's7'",
             "SELECT n, v + 1 AS w, x * 2 AS y, s FROM a WHERE (v > 0 OR s = 's7') "
             "AND ts <= $t AND ts > $t - 30"),
    ]  # fmt: skip


CASES = {
    case.name: case
    for family in (groups, joins, internal, negations, distincts, tops, outputs)
    for case in family()
}
