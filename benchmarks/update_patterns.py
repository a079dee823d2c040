"""Queries 1 to 4 of Golab 2006, 3.6, with negative tuples (NT), directly (DIRECT) and by pattern.

Windows of 2,000 to 2,000,000 tuples per link, intervals of 1,000 tuples per link, results kept as
a relation: the time per 1,000 tuples when the windows are full, and the tuples held, as in
Figures 3.8 to 3.15. The strategies take turns over the same trace, and their answers are compared
at the end of each run. Operators and kernels are shared, so that what differs is the strategy.
Times are processor time, since all run alone on one core of a machine that others may use.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.feeding import Feed, lap
from benchmarks.report import finish, median, quick_asked, save, say, table
from benchmarks.trace import COLUMNS, links
from benchmarks.update_patterns_figures import Series, draw
from windrow.cql import parse
from windrow.engine.pipeline import Pipeline
from windrow.plan.binder import bind
from windrow.plan.catalog import Catalog, QueryDeclaration
from windrow.plan.nodes import Join, Negation, Node, walk
from windrow.plan.optimiser import simplify
from windrow.plan.strategy import Strategy

NT, DIRECT, UPA = Strategy.NT, Strategy.DIRECT, Strategy.UPA
PAIRS = "l.src, l.dst, l.bytes, r.dst, r.bytes"
COMPARED_WHOLE = 500_000
"""Larger answers are compared by their size and the sums of their columns."""


@dataclass(frozen=True)
class Query:
    """A query of the dissertation's; ``{w}`` in its text stands for the window."""

    name: str
    figure: str
    links: int
    text: str
    strategies: tuple[Strategy, ...] = (NT, DIRECT, UPA)
    topmost: type[Node] | None = None
    """Which of its operators has to be above the other, where that is the point."""


def _query1(name: str, figure: str, protocol: str) -> Query:
    text = f"""SELECT {PAIRS} FROM link1 {{w}} AS l, link2 {{w}} AS r
        WHERE l.src = r.src AND l.protocol = '{protocol}' AND r.protocol = '{protocol}'"""
    return Query(name, figure, 2, text)


ABSENT = "NOT EXISTS (SELECT * FROM link2 {w} AS n WHERE n.src = l.src)"
QUERIES = (
    _query1("1 ftp", "3.8", "ftp"),
    _query1("1 telnet", "3.9", "telnet"),
    Query("2 source", "3.10", 1, "SELECT DISTINCT src FROM link1 {w}"),
    Query("2 pairs", "3.11", 1, "SELECT DISTINCT src, dst FROM link1 {w}"),
    Query("3", "3.14", 2, f"SELECT * FROM link1 {{w}} AS l WHERE {ABSENT}"),
    Query(
        "4 negation up",
        "3.15",
        3,
        f"""SELECT {PAIRS} FROM link1 {{w}} AS l, link3 {{w}} AS r
        WHERE l.src = r.src AND r.protocol = 'ftp' AND {ABSENT}""",
        topmost=Negation,
    ),
    Query(
        "4 join up",
        "3.15",
        3,
        f"""SELECT {PAIRS} FROM (SELECT * FROM link1 {{w}} AS l WHERE {ABSENT}) AS l,
        link3 {{w}} AS r WHERE l.src = r.src AND r.protocol = 'ftp'""",
        topmost=Join,
    ),
)


@dataclass(frozen=True)
class Sizes:
    """All in tuples per link."""

    windows: tuple[int, ...] = (2_000, 20_000, 200_000, 2_000_000)
    interval: int = 1_000
    laps: int = 5
    intervals: int = 20
    """Intervals in a lap."""
    queries: tuple[Query, ...] = QUERIES


QUICK = Sizes(windows=(200_000,), queries=QUERIES[2:3], laps=9)


@dataclass(frozen=True)
class Measured:
    """One strategy on one query and one window."""

    query: str
    strategy: str
    window: int
    milliseconds: float
    """For 1,000 tuples, the median lap."""
    held: int
    answer: int
    laps: tuple[float, ...]


def plan_of(query: Query, window: int) -> Node:
    """The plan as it is written, so that the optimiser does not choose between the plans."""
    declared = "".join(
        f"CREATE STREAM link{n} ({COLUMNS}) TIMESTAMP BY ts;" for n in range(1, query.links + 1)
    )
    script = f"{declared} {query.text.format(w=f'[RANGE {window} SECONDS]')};"
    catalog = Catalog()
    for statement in parse(script).statements:
        bound = bind(statement, catalog, script)
        if isinstance(bound, QueryDeclaration):
            return _checked(query, simplify(bound.plan))
        catalog = catalog.adding(bound)
    raise AssertionError(f"query {query.name} is no query")


def _checked(query: Query, plan: Node) -> Node:
    upper = next((n for n in walk(plan) if isinstance(n, Join | Negation)), None)
    if query.topmost is not None and not isinstance(upper, query.topmost):
        raise AssertionError(f"query {query.name} was to have {query.topmost.__name__} on top")
    return plan


def measure(
    query: Query, window: int, trace: dict[str, pa.RecordBatch], sizes: Sizes
) -> Iterator[Measured]:
    plan = plan_of(query, window)
    streams = {f"link{n}": trace[f"link{n}"] for n in range(1, query.links + 1)}
    runs = {s: (Pipeline(plan, changes=True, strategy=s), Feed(streams)) for s in query.strategies}
    filling = max(sizes.interval, window // 20)
    for pipeline, feed in runs.values():
        lap(pipeline, feed, query.links * window, filling)
        lap(pipeline, feed, query.links * 2 * sizes.interval, sizes.interval)
    costs: dict[Strategy, list[float]] = {s: [] for s in runs}
    tuples = query.links * sizes.intervals * sizes.interval
    for _ in range(sizes.laps):
        for strategy, (pipeline, feed) in runs.items():
            taken = lap(pipeline, feed, tuples, sizes.interval)
            costs[strategy].append(taken.work / taken.tuples * 1e6)
    answers = {s: pipeline.live_rows() for s, (pipeline, _) in runs.items()}
    compare(query, window, answers)
    for strategy, (pipeline, _) in runs.items():
        rows, laps = answers[strategy].num_rows, costs[strategy]
        name, held = strategy.name, pipeline.size()
        yield Measured(query.name, name, window, median(laps), held, rows, tuple(laps))


def compare(query: Query, window: int, answers: dict[Strategy, pa.RecordBatch]) -> None:
    marks = {strategy: fingerprint(rows) for strategy, rows in answers.items()}
    first, *others = marks.values()
    if any(mark != first for mark in others):
        sizes = {s.name: rows.num_rows for s, rows in answers.items()}
        raise AssertionError(f"query {query.name}, window {window}: answers differ: {sizes}")


def fingerprint(rows: pa.RecordBatch) -> Any:
    """Equal for the same bag of rows, and only for it unless they are very many."""
    names = [str(i) for i in range(rows.num_columns)]
    plain = pa.table(rows.columns, names)
    if rows.num_rows <= COMPARED_WHOLE:
        order = pc.sort_indices(plain, [(name, "ascending") for name in names])
        return plain.take(order).combine_chunks().to_pydict()
    texts = [pc.binary_length(c) if pa.types.is_string(c.type) else c for c in plain.columns]
    return [rows.num_rows, *(pc.sum(c).as_py() for c in texts)]


def run(sizes: Sizes) -> dict[str, Any]:
    found: list[Measured] = []
    for window in sizes.windows:
        rows = window + sizes.interval * (sizes.laps * sizes.intervals + 2) + window // 20
        trace = links(rows, max(q.links for q in sizes.queries))
        for query in sizes.queries:
            here = list(measure(query, window, trace, sizes))
            found += here
            times = ", ".join(f"{m.strategy} {m.milliseconds:.3f}" for m in here)
            say(f"query {query.name}, window {window:,}: ms per 1,000 tuples: {times}")
    return {"sizes": {**asdict(sizes), "queries": None}, "measured": [asdict(m) for m in found]}


def ratio(measured: Sequence[dict[str, Any]], query: str, window: int) -> float:
    """How many times as fast as the better of the other two the update patterns make it."""
    here = {
        m["strategy"]: m["milliseconds"]
        for m in measured
        if m["query"] == query and m["window"] == window
    }
    return min(ms for name, ms in here.items() if name != "UPA") / float(here["UPA"])


def show(measured: Sequence[dict[str, Any]], sizes: Sizes) -> None:
    rows = []
    for query in sizes.queries:
        for window in sizes.windows:
            here = {
                m["strategy"]: m
                for m in measured
                if m["query"] == query.name and m["window"] == window
            }
            cells = [here[s.name]["milliseconds"] if s.name in here else None for s in Strategy]
            cells += [here[s.name]["held"] if s.name in here else None for s in Strategy]
            label = f"query {query.name} ({query.figure}), {window:,}"
            rows.append((label, *cells, ratio(measured, query.name, window)))
    names = [s.name for s in Strategy]
    heads = ["window", *(f"{n} ms" for n in names), *(f"{n} held" for n in names), "gain"]
    table(heads, rows)


def series(measured: Sequence[dict[str, Any]]) -> list[Series]:
    """What the figures show, in their order."""
    wanted = [(q.figure, q.name, "milliseconds") for q in QUERIES]
    wanted[4:4] = [("3.12", "2 source", "held"), ("3.13", "2 pairs", "held")]
    lines = []
    for figure, query, what in wanted:
        for strategy in Strategy:
            points = [
                (m["window"], m[what])
                for m in measured
                if m["query"] == query and m["strategy"] == strategy.name
            ]
            if points:
                lines.append(Series(figure, query, strategy.name, what, points))
    return lines


def main(argv: Sequence[str] | None = None) -> None:
    quick = quick_asked("update_patterns", __doc__ or "", argv)
    sizes = QUICK if quick else Sizes()
    results = run(sizes)
    show(results["measured"], sizes)
    result = ratio(results["measured"], "2 source", 200_000)
    if not quick:
        path = save("update_patterns", {**results, "ratio": result})
        draw(series(results["measured"]), path.with_suffix(".png"))
    finish(result)


if __name__ == "__main__":
    main()
