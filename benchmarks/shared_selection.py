"""Many queries that differ in a range over one stream: one index and one pipeline, or one each.

    CREATE QUERY qN AS SELECT COUNT(*) AS n, SUM(bytes) AS total
      FROM flows [RANGE 10 SECONDS SLIDE 5 SECONDS] WHERE bytes BETWEEN a AND b;

and the same without a window and an aggregate. The ranges of all queries together cover half of the
attribute, once: however many there are, they select the same tuples, each for one query. What grows
is only how many queries these belong to. Ours and the rival get the same rows in the same batches,
taking turns; the rival runs each query by itself, as the engine does without sharing. The answers
of some queries are compared.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.report import finish, median, quick_asked, save, say, table
from windrow.columns.delta import Delta
from windrow.engine.embedded_run import EmbeddedRun
from windrow.engine.handles import Handle
from windrow.plan.catalog import Catalog, QueryDeclaration
from windrow.plan.expressions import Call, Expression, Literal
from windrow.plan.jobs import arrange, job_of_query
from windrow.plan.nodes import Node, Selection
from windrow.plan.nodes.rebuild import map_inputs
from windrow.plan.program import compile_script

STREAM = "CREATE STREAM flows (ts BIGINT, src STRING, bytes BIGINT);"
SHAPES = {
    "sums": "SELECT COUNT(*) AS n, SUM(bytes) AS total "
    "FROM flows [RANGE 10 SECONDS SLIDE 5 SECONDS] WHERE bytes BETWEEN {} AND {}",
    "selection": "SELECT ts, src, bytes FROM flows WHERE bytes BETWEEN {} AND {}",
}
DOMAIN = 1 << 20
LOW, HIGH = 1_111_111, 2_222_222
"""Stand for the ends of a range while one query is compiled for all."""


@dataclass(frozen=True)
class Sizes:
    """``compared`` is how many queries the rival runs too; ``counts`` are ours."""

    rows: int = 50_000
    batches: int = 8
    counts: tuple[int, ...] = (1, 10, 100, 1_000, 10_000)
    compared: int = 1_000
    rounds: int = 3


QUICK = Sizes(rows=50_000, batches=4, counts=(1, 1_000, 10_000), rounds=1)


def batches(sizes: Sizes) -> list[tuple[Delta, int]]:
    """The stream, five seconds to a batch."""
    rng = np.random.default_rng(7)
    names = np.array([f"10.0.{i // 256}.{i % 256}" for i in range(100)])
    found = []
    for number in range(sizes.batches):
        start = 5 * number
        ts = np.sort(rng.integers(start, start + 5, sizes.rows))
        rows = pa.record_batch(
            {
                "ts": ts,
                "src": names[rng.integers(0, len(names), sizes.rows)],
                "bytes": rng.integers(0, DOMAIN, sizes.rows),
            }
        )
        found.append((Delta.insertions(ts, rows), start + 4))
    return found


def declared(shape: str, count: int) -> tuple[QueryDeclaration, ...]:
    """``count`` queries as a script would declare them, but compiled once."""
    (one,) = compile_script(f"{STREAM} {SHAPES[shape].format(LOW, HIGH)}").queries
    width = DOMAIN // 2 // count
    lows = np.random.default_rng(count).permutation(count) * 2 * width
    return tuple(
        replace(one, name=f"q{i}", plan=_ranging(one.plan, {LOW: low, HIGH: low + width - 1}))
        for i, low in enumerate(lows.tolist())
    )


def _ranging(plan: Node, ends: dict[int, int]) -> Node:
    if isinstance(plan, Selection):
        return replace(plan, predicate=_with(plan.predicate, ends))
    return map_inputs(plan, lambda child: _ranging(child, ends))


def _with(expression: Expression, ends: dict[int, int]) -> Expression:
    if isinstance(expression, Literal) and expression.value in ends:
        return replace(expression, value=ends[expression.value])
    if isinstance(expression, Call):
        return replace(expression, args=tuple(_with(a, ends) for a in expression.args))
    return expression


def shared(queries: Sequence[QueryDeclaration], work: list[tuple[Delta, int]]) -> tuple[float, Any]:
    (job,) = arrange(queries)
    running = EmbeddedRun(job)
    began = time.process_time()
    for delta, now in work:
        running.offer("flows", delta)
        running.follow(now)
    return time.process_time() - began, [Handle(running, n, list) for n in job.members]


def alone(queries: Sequence[QueryDeclaration], work: list[tuple[Delta, int]]) -> tuple[float, Any]:
    running = [EmbeddedRun(job_of_query(query, Catalog())) for query in queries]
    began = time.process_time()
    for delta, now in work:
        for query in running:
            query.offer("flows", delta)
            query.follow(now)
    return time.process_time() - began, [Handle(run, 0, list) for run in running]


def same(ours: Any, theirs: Any) -> None:
    for mine, other in zip(ours, theirs, strict=True):
        found = [sorted(map(str, q.changes().to_pylist())) for q in (mine, other)]
        if found[0] != found[1]:
            raise AssertionError(f"{mine.name} answers differently when it is shared")


def measure(shape: str, sizes: Sizes) -> list[dict[str, Any]]:
    work = batches(sizes)
    tuples = sizes.rows * sizes.batches
    lines = []
    for count in sizes.counts:
        queries = declared(shape, count)
        times: dict[str, list[float]] = {"shared": [], "alone": []}
        selected = 0
        for number in range(sizes.rounds):
            if count > 1:
                seconds, ours = shared(queries, work)
                times["shared"].append(seconds)
                selected = sum(q.rows_out for q in ours)
            if count <= sizes.compared:
                seconds, theirs = alone(queries, work)
                times["alone"].append(seconds)
                selected = sum(q.rows_out for q in theirs)
                if count > 1 and number == 0:
                    sample = np.linspace(0, count - 1, min(count, 50)).astype(int)
                    same([ours[i] for i in sample], [theirs[i] for i in sample])
        middle = {name: median(laps) if laps else None for name, laps in times.items()}
        lines.append({"queries": count, "tuples": tuples, "changes": selected, **middle})
    return lines


def run(sizes: Sizes) -> dict[str, Any]:
    results: dict[str, Any] = {"sizes": asdict(sizes)}
    for shape in SHAPES:
        lines = measure(shape, sizes)
        say(f"{shape}: processor seconds for {lines[0]['tuples']:,} tuples")
        table(
            ["queries", "changes", "shared", "one by one", "ratio"],
            [
                (f"{line['queries']:,}", line["changes"], line["shared"], line["alone"],
                 line["alone"] / line["shared"] if line["alone"] and line["shared"] else None)
                for line in lines
            ],
        )  # fmt: skip
        by_count = {line["queries"]: line for line in lines}
        one, many = by_count[1], by_count[max(by_count)]
        most_over_one = many["shared"] / one["alone"]
        say(f"{max(by_count):,} queries take {most_over_one:.1f} times the time of one")
        say()
        results[shape] = {"lines": lines, "most_over_one": most_over_one}
    at = next(n for n in results["sums"]["lines"] if n["queries"] == sizes.compared)
    results["ratio"] = at["alone"] / at["shared"]
    say(f"{sizes.compared:,} queries with sums, one by one over shared:")
    return results


def main(argv: Sequence[str] | None = None) -> None:
    quick = quick_asked("shared_selection", __doc__ or "", argv)
    results = run(QUICK if quick else Sizes())
    if not quick:
        save("shared_selection", results)
    finish(results["ratio"])


if __name__ == "__main__":
    main()
