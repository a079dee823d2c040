"""Queries 1 to 4 of Golab 2006, 3.6, with negative tuples (NT), directly (DIRECT) and by pattern.

Windows of 2,000 to 200,000 tuples per link, evaluated at every tuple of a link as there, at every
20 and at every 1,000, results kept as a relation: the time per 1,000 tuples when the windows are
full, and the tuples held, as in Figures 3.8 to 3.15. UPA has the state that the optimiser chooses;
UPA(10) and UPA(50) have calendar queues of so many partitions, and UPA(searched) searches them for
what a negative tuple withdraws. All take turns over the same trace, and their answers are compared
at the end of each run. Operators and kernels are shared, so that what differs is the strategy.
Times are processor time, since all run alone on one core of a machine that others may use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.feeding import Feed, lap
from benchmarks.report import finish, median, quick_asked, save, say, table
from benchmarks.trace import COLUMNS
from benchmarks.update_patterns_figures import draw
from benchmarks.update_patterns_trace import proportioned_links
from windrow.cql import parse
from windrow.engine.observed import statistics_of
from windrow.engine.pipeline import Pipeline
from windrow.plan.binder import bind
from windrow.plan.catalog import Catalog, QueryDeclaration
from windrow.plan.costs.estimate import choose_edge_states
from windrow.plan.costs.flows import StreamStatistics
from windrow.plan.nodes import EdgeState, Join, Negation, Node, StrictState, walk
from windrow.plan.nodes.rebuild import keep_edges_as
from windrow.plan.optimiser import simplify
from windrow.plan.physical.buffers import changes_buffer
from windrow.plan.strategy import Strategy

CHOSEN: dict[str, EdgeState] = {
    "UPA(10)": EdgeState(10),
    "UPA(50)": EdgeState(50),
    "UPA(searched)": EdgeState(10, StrictState.SEARCHED),
}
"""State that the optimiser does not choose, by the name of the way; 10 partitions as in 3.6.1."""
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
    ways: tuple[str, ...] = ("NT", "DIRECT", "UPA")
    topmost: type[Node] | None = None
    """Which of its operators has to be above the other, where that is the point."""


def _query1(name: str, figure: str, protocol: str) -> Query:
    text = f"""SELECT {PAIRS} FROM link1 {{w}} AS l, link2 {{w}} AS r
        WHERE l.src = r.src AND l.protocol = '{protocol}' AND r.protocol = '{protocol}'"""
    return Query(name, figure, 2, text, ("NT", "DIRECT", "UPA(10)", "UPA(50)", "UPA"))


ABSENT = "NOT EXISTS (SELECT * FROM link2 {w} AS n WHERE n.src = l.src)"
QUERIES = (
    _query1("1 ftp", "3.8", "ftp"),
    _query1("1 telnet", "3.9", "telnet"),
    Query("2 source", "3.10", 1, "SELECT DISTINCT src FROM link1 {w}"),
    Query("2 pairs", "3.11", 1, "SELECT DISTINCT src, dst FROM link1 {w}"),
    Query(
        "3",
        "3.14",
        2,
        f"SELECT * FROM link1 {{w}} AS l WHERE {ABSENT}",
        ("NT", "DIRECT", "UPA(searched)", "UPA"),
    ),
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

    windows: tuple[int, ...] = (2_000, 20_000, 200_000)
    intervals: tuple[int, ...] = (1_000, 20, 1)
    laps: int = 3
    in_a_lap: tuple[int, ...] = (10_000, 1_000, 200)
    """Tuples of a link in a lap, by interval."""
    queries: tuple[Query, ...] = QUERIES

    @property
    def measured(self) -> int:
        """Tuples of a link after the window is full."""
        both = zip(self.in_a_lap, self.intervals, strict=True)
        return sum((self.laps + 1) * (lap + interval) for lap, interval in both)


QUICK = Sizes(
    (200_000,), (1_000, 20), laps=3, in_a_lap=(5_000, 1_000), queries=(QUERIES[1], QUERIES[2])
)


@dataclass(frozen=True)
class Measured:
    """One way on one query, one window and one interval."""

    query: str
    way: str
    window: int
    interval: int
    milliseconds: float
    """For 1,000 tuples, the median lap."""
    held: int
    answer: int
    state: str
    """How the result is kept, in the words of EXPLAIN."""
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


def strategy_of(way: str) -> Strategy:
    return Strategy[way.partition("(")[0]]


def plan_for(way: str, plan: Node, statistics: StreamStatistics) -> Node:
    """The plan with the state of a way; UPA itself has what the optimiser chooses."""
    if way in CHOSEN:
        return keep_edges_as(plan, CHOSEN[way])
    return choose_edge_states(plan, statistics, strategy_of(way))


def observe(plan: Node, streams: dict[str, pa.RecordBatch], window: int) -> StreamStatistics:
    """What one window of the trace says; each link brings a tuple per second."""
    seen = {name: rows.slice(0, window) for name, rows in streams.items()}
    return statistics_of(seen, dict.fromkeys(streams, 1.0), [plan])


def premature_share(plan: Node, streams: dict[str, pa.RecordBatch], window: int) -> float:
    """The share of the answer's tuples that a negative tuple ended, while a window passes."""
    pipeline, feed = Pipeline(plan), Feed(streams)
    came = ended = 0
    while (interval := feed.take(max(window // 20, 1))) is not None:
        delta = pipeline.process(*interval)
        if interval[1] >= window:
            came += int((delta.sign > 0).sum())
            ended += int((delta.sign < 0).sum())
    return ended / max(came, 1)


def measure(
    query: Query, window: int, trace: dict[str, pa.RecordBatch], sizes: Sizes
) -> Iterator[Measured]:
    plan = plan_of(query, window)
    streams = {f"link{n}": trace[f"link{n}"] for n in range(1, query.links + 1)}
    statistics = observe(plan, streams, window)
    plans = {way: plan_for(way, plan, statistics) for way in query.ways}
    runs = {
        way: (Pipeline(made, changes=True, strategy=strategy_of(way)), Feed(streams))
        for way, made in plans.items()
    }
    for pipeline, feed in runs.values():
        lap(pipeline, feed, query.links * window, max(sizes.intervals[0], window // 20))
    for interval, in_a_lap in zip(sizes.intervals, sizes.in_a_lap, strict=True):
        costs: dict[str, list[float]] = {way: [] for way in runs}
        for number in range(sizes.laps + 1):
            for way, (pipeline, feed) in runs.items():
                taken = lap(pipeline, feed, query.links * in_a_lap, interval)
                if number:  # the first one is for what is compiled or grows
                    costs[way].append(taken.work / taken.tuples * 1e6)
        answers = {way: pipeline.live_rows() for way, (pipeline, _) in runs.items()}
        compare(query, window, answers)
        for way, (pipeline, _) in runs.items():
            yield Measured(
                query.name, way, window, interval, median(costs[way]), pipeline.size(),
                answers[way].num_rows,
                changes_buffer(pipeline.plan, strategy_of(way)) or "", tuple(costs[way]),
            )  # fmt: skip


def compare(query: Query, window: int, answers: dict[str, pa.RecordBatch]) -> None:
    marks = {way: fingerprint(rows) for way, rows in answers.items()}
    first, *others = marks.values()
    if any(mark != first for mark in others):
        sizes = {way: rows.num_rows for way, rows in answers.items()}
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
    premature: dict[str, float] = {}
    for window in sizes.windows:
        rows = window + sizes.measured + window // 20
        trace = proportioned_links(rows, window, max(q.links for q in sizes.queries))
        for query in sizes.queries:
            here = list(measure(query, window, trace, sizes))
            found += here
            for interval in sizes.intervals:
                times = ", ".join(
                    f"{m.way} {m.milliseconds:.3f}" for m in here if m.interval == interval
                )
                say(f"query {query.name}, window {window:,}, interval {interval:,}: {times}")
        if any(query.name == "3" for query in sizes.queries):
            two = {f"link{n}": trace[f"link{n}"].slice(0, 2 * window) for n in (1, 2)}
            plan = plan_of(next(q for q in sizes.queries if q.name == "3"), window)
            premature[str(window)] = premature_share(plan, two, window)
            say(f"query 3, window {window:,}: {premature[str(window)]:.0%} expire early")
    measured = [asdict(m) for m in found]
    return {"sizes": {**asdict(sizes), "queries": None}, "premature": premature, "runs": measured}


def ratio(runs: Sequence[dict[str, Any]], query: str, window: int, interval: int) -> float:
    """How many times as fast as the better of the other two the update patterns make it."""
    here = {
        m["way"]: m["milliseconds"]
        for m in runs
        if (m["query"], m["window"], m["interval"]) == (query, window, interval)
    }
    return min(here["NT"], here["DIRECT"]) / float(here["UPA"])


WAYS = ("NT", "DIRECT", "UPA(10)", "UPA(50)", "UPA(searched)", "UPA")


def show(runs: Sequence[dict[str, Any]], sizes: Sizes) -> None:
    """Milliseconds per 1,000 tuples; what is held is that of the last interval."""
    rows = []
    for query in sizes.queries:
        for window in sizes.windows:
            for interval in sizes.intervals:
                here = {
                    m["way"]: m
                    for m in runs
                    if (m["query"], m["window"], m["interval"]) == (query.name, window, interval)
                }
                label = f"query {query.name} ({query.figure}), {window:,} by {interval:,}"
                times = [here[w]["milliseconds"] if w in here else None for w in WAYS]
                held = [here[w]["held"] for w in ("NT", "DIRECT", "UPA")]
                rows.append((label, *times, *held, ratio(runs, query.name, window, interval)))
    heads = ["ms per 1,000 tuples: window by interval", *WAYS, *(f"{w} held" for w in (
        "NT", "DIRECT", "UPA")), "gain"]  # fmt: skip
    table(heads, rows)


def main(argv: Sequence[str] | None = None) -> None:
    quick = quick_asked("update_patterns", __doc__ or "", argv)
    sizes = QUICK if quick else Sizes()
    results = run(sizes)
    show(results["runs"], sizes)
    result = ratio(results["runs"], "1 telnet", 200_000, 20)
    if not quick:
        path = save("update_patterns", {**results, "ratio": result})
        draw(results["runs"], path)
    finish(result)


if __name__ == "__main__":
    main()
