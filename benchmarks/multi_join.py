"""Joins of four windows in different orders and by different algorithms (Golab 2006, 5.4).

The streams of Table 5.5: one tuple per tick from a stream chosen by its rate, with a value chosen
evenly from those that the stream has. (The table prints a rate of 100 for the first stream; the
costs that the text works out for it are those of 10, which is taken here.) Figure 5.2 compares
four orders, predicted, counted and measured; Figures 5.3 and 5.4 the algorithms, by interval.

    eager        evaluates at every tuple, and expires then (Algorithm 2) or, with an interval,
                 at the end of each (Algorithm 3)
    lazy         evaluates at the end of each interval what the windows hold then (Algorithm 4)
    lazyR        the same with restore semantics: nothing that came and went is lost (Algorithm 5)

All of them are Windrow's n-way join, with OPTION (NESTED LOOPS), OPTION (HASH JOIN n), or a chain
per value as it has by default. A time unit has 13 tuples; an interval of 0 is an evaluation at
every tuple, most of which is the price of a call from Python. Times are processor time and include
making the results as Arrow arrays; visits are the tuples whose values were compared.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.multi_join_figures import draw
from benchmarks.report import finish, median, quick_asked, save, say, table
from windrow.columns.delta import Delta
from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Type
from windrow.operators.multi_join import REVIEW_AFTER, MultiwayJoin
from windrow.plan.costs.join_order import Order, WindowedStream, best_order, order_cost
from windrow.plan.expressions import Column

STREAMS = tuple(WindowedStream(rate, 100, v) for rate, v in ((10, 40), (1, 100), (1, 8), (1, 5)))
PER_UNIT = int(sum(s.rate for s in STREAMS))
LENGTH = int(STREAMS[0].length)
WINDOW = LENGTH * PER_UNIT
NESTED, BY_VALUE = 1, 0
"""Numbers of buckets; none means a chain per value, as without OPTION."""
EAGER, LAZY, RESTORE = ALGORITHMS = ("eager", "lazy", "lazyR")
BY_SELECTIVITY: Order = (1, 2, 3, 0)
FASTEST_FIRST: Order = (0, 1, 2, 3)
INPUT = pa.schema([("k", pa.int64())])
OUTPUT = pa.schema([(f"k{i}", pa.int64()) for i in range(len(STREAMS))])
FILLING = 10 * PER_UNIT
"""Ticks between evaluations while windows fill."""
NEVER = 10**15
"""More tuples than come: no order is looked at again."""


@dataclass(frozen=True)
class Sizes:
    """Lengths are time units."""

    measured: int = 100
    repeats: int = 5
    interval: int = 10
    intervals: tuple[int, ...] = (0, 1, 5, 10, 20, 50)
    ways: tuple[tuple[str, int, int], ...] = (
        *((EAGER, b, i) for b in (NESTED, 10) for i in (0, 10)),
        *((a, b, 10) for b in (NESTED, 2, 10) for a in (LAZY, RESTORE)),
        (RESTORE, BY_VALUE, 10),
    )
    """Algorithms, buckets and intervals of Figure 5.2; those with two buckets are ours."""


QUICK = Sizes(
    repeats=5, intervals=(1, 10, 50),
    ways=tuple((RESTORE, b, 10) for b in (NESTED, 2, 10, BY_VALUE)),
)  # fmt: skip


@dataclass(frozen=True)
class Setting:
    """One way to evaluate the join; ``interval`` is in time units."""

    algorithm: str
    buckets: int
    order: Order
    interval: int

    @property
    def step(self) -> int:
        """Ticks between evaluations."""
        return 1 if self.algorithm == EAGER else max(PER_UNIT * self.interval, 1)

    def operator(self) -> MultiwayJoin:
        streams, key = len(STREAMS), Column(0, "k", Type.BIGINT)
        return MultiwayJoin(
            [INPUT] * streams, [UpdatePattern.WEAKEST] * streams, [[key]] * streams, [pa.int64()],
            None, self.order, OUTPUT, buckets=self.buckets,
            period=self.step if self.algorithm == LAZY else 0,
            expiry=PER_UNIT * self.interval if self.algorithm == EAGER else 0,
        )  # fmt: skip


def tuples(ticks: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """For each tick, which stream speaks, and what it says."""
    rng = np.random.default_rng(seed)
    rates = np.array([s.rate for s in STREAMS])
    stream = rng.choice(len(STREAMS), ticks, p=rates / rates.sum())
    values = np.array([int(s.distinct) for s in STREAMS])[stream]
    return stream, (rng.random(ticks) * values).astype(np.int64)


def intervals(setting: Setting, ticks: int, seed: int) -> list[tuple[list[Delta], int]]:
    """What comes between two evaluations, and when the second is: at a multiple of the step.

    Until windows are full nothing is measured, and evaluations are fewer.
    """
    stream, value = tuples(ticks, seed)
    found, filling = [], max(setting.step, FILLING)
    for start in (*range(0, WINDOW, filling), *range(WINDOW, ticks, setting.step)):
        end = min(start + (filling if start < WINDOW else setting.step), ticks)
        deltas = []
        for number in range(len(STREAMS)):
            at = np.flatnonzero(stream[start:end] == number) + start
            rows = pa.RecordBatch.from_arrays([pa.array(value[at])], schema=INPUT)
            ts, exp = at + 1, at + 1 + WINDOW
            if setting.algorithm == LAZY:  # as a window that slides by the step has it
                ts, exp = (-(-t // setting.step) * setting.step for t in (ts, exp))
            deltas.append(Delta.insertions(ts, rows, exp))
        found.append((deltas, -(-end // setting.step) * setting.step))
    return found


@dataclass(frozen=True)
class Run:
    """Of 1,000 tuples over full windows: milliseconds and visits; and what came out of all."""

    milliseconds: float
    visits: float
    results: int
    check: int


def run_once(setting: Setting, sizes: Sizes, seed: int) -> Run:
    full = WINDOW // max(setting.step, FILLING)
    work = intervals(setting, WINDOW + PER_UNIT * sizes.measured, seed)
    operator, kept = setting.operator(), []
    for deltas, now in work[:full]:
        operator.process(deltas, now)
    visits, began = operator.visits, time.process_time()
    for deltas, now in work[full:]:
        kept.append(operator.process(deltas, now))
    seconds = time.process_time() - began
    done = sum(len(d) for deltas, _ in work[full:] for d in deltas)
    check = sum(int(d.exp.sum()) + int(d.rows.column(0).to_numpy().sum()) for d in kept)
    visited = (operator.visits - visits) / done * 1000
    return Run(seconds / done * 1e6, visited, sum(len(d) for d in kept), check)


Measured = dict[Setting, list[Run]]


def measure(settings: Sequence[Setting], sizes: Sizes) -> Measured:
    """A run for each trace; each trace goes through all settings before the next one does."""
    runs: Measured = {s: [] for s in settings}
    with fixed_orders():
        run_once(settings[0], sizes, 0)
        for seed in range(1, sizes.repeats + 1):
            for setting in settings:
                runs[setting].append(run_once(setting, sizes, seed))
            _compare(runs)
    return runs


@contextmanager
def fixed_orders() -> Iterator[None]:
    """Keep joins from choosing a better order as they learn the rates."""
    usual, REVIEW_AFTER.value = REVIEW_AFTER.value, NEVER
    try:
        yield
    finally:
        REVIEW_AFTER.value = usual


def _compare(runs: Measured) -> None:
    """Orders and algorithms have the same results; without restore, those of one interval have."""
    answers: dict[int | None, set[tuple[int, int]]] = {}
    for setting, done in runs.items():
        meaning = setting.interval if setting.algorithm == LAZY else None
        answers.setdefault(meaning, set()).add((done[-1].results, done[-1].check))
    if any(len(found) > 1 for found in answers.values()):
        raise AssertionError(f"orders or algorithms differ in their results: {answers}")


def milliseconds(runs: Sequence[Run]) -> float:
    return median(run.milliseconds for run in runs)


def spread(runs: Sequence[Run]) -> tuple[float, float]:
    times = [run.milliseconds for run in runs]
    return min(times), max(times)


def kind(buckets: int) -> str:
    if buckets == BY_VALUE:
        return "chain per value"
    return "nested loops" if buckets == NESTED else f"{buckets} buckets"


def orders() -> dict[str, Order]:
    """Chosen, by selectivity, fastest first, worst."""
    worst = max(permutations(range(len(STREAMS))), key=lambda order: order_cost(STREAMS, order))
    return {_name(o): o for o in (best_order(STREAMS), BY_SELECTIVITY, FASTEST_FIRST, worst)}


def _name(order: Order) -> str:
    return "".join(f"S{i + 1}" for i in order)


def figure_2(sizes: Sizes) -> list[dict[str, Any]]:
    """Each way of evaluation: the four orders, relative to the chosen one."""
    chosen, *_ = orders().values()
    settings = [Setting(a, b, o, i) for a, b, i in sizes.ways for o in orders().values()]
    found = measure(settings, sizes)
    predicted = {
        n: order_cost(STREAMS, o) / order_cost(STREAMS, chosen) for n, o in orders().items()
    }
    bars: list[dict[str, Any]] = [{"way": "predicted", "relative": predicted}]
    for algorithm, buckets, interval in sizes.ways:
        runs = {n: found[Setting(algorithm, buckets, o, interval)] for n, o in orders().items()}
        base = runs[_name(chosen)]
        late = ", late expiry" if algorithm == EAGER and interval else ""
        bars.append(
            {
                "way": f"{algorithm}{late}, {kind(buckets)}",
                "relative": {n: milliseconds(r) / milliseconds(base) for n, r in runs.items()},
                "spread": {n: [t / milliseconds(base) for t in spread(r)] for n, r in runs.items()},
                "visits": {n: r[0].visits / base[0].visits for n, r in runs.items()},
                "milliseconds": {n: milliseconds(r) for n, r in runs.items()},
            }
        )
    table(
        ["relative time", *orders(), "ms per 1,000", "visits of the worst, relative"],
        [
            (
                b["way"], *b["relative"].values(), b.get("milliseconds", {}).get(_name(chosen)),
                list(b.get("visits", {}).values())[-1] if "visits" in b else None,
            )
            for b in bars
        ],
    )  # fmt: skip
    return bars


def figures_3_and_4(sizes: Sizes) -> list[dict[str, Any]]:
    """The chosen order: cost by interval, nested loops and two sizes of hash tables."""
    order = best_order(STREAMS)
    ways = [(a, b) for b in (NESTED, 2, 5) for a in ALGORITHMS]
    settings = [Setting(a, b, order, i) for a, b in ways for i in sizes.intervals]
    found = measure(settings, sizes)
    lines = []
    for algorithm, buckets in ways:
        runs = {i: found[Setting(algorithm, buckets, order, i)] for i in sizes.intervals}
        lines.append(
            {
                "algorithm": algorithm,
                "buckets": buckets,
                "points": [(i, milliseconds(r), *spread(r)) for i, r in runs.items()],
                "visits": [(i, median(run.visits for run in r) / 1000) for i, r in runs.items()],
                "results": [(i, sum(run.results for run in r)) for i, r in runs.items()],
            }
        )
    say()
    heads = [f"every {i}" if i else "every tuple" for i in sizes.intervals]
    table(
        ["ms per 1,000 tuples", *heads],
        [(f"{w['algorithm']}, {kind(w['buckets'])}", *(p[1] for p in w["points"])) for w in lines],
    )
    return lines


def lost(lines: Sequence[dict[str, Any]]) -> list[tuple[float, float, float]]:
    """By interval over window: the share of results that are lost without restore, as measured and
    as 5.2.3 estimates it."""
    of = {w["algorithm"]: dict(w["results"]) for w in lines}
    return [
        (i / LENGTH, 1 - count / of[RESTORE][i], i / LENGTH) for i, count in of[LAZY].items() if i
    ]


def run(sizes: Sizes) -> dict[str, Any]:
    bars, lines = figure_2(sizes), figures_3_and_4(sizes)
    shares = lost(lines)
    say()
    table(
        ["interval / window", "lost without restore", "estimated (5.2.3)"],
        [(f"{x:.2f}", f"{measured:.1%}", f"{estimate:.1%}") for x, measured, estimate in shares],
    )
    chosen, *_, worst = orders()
    by_way = {b["way"]: b["relative"][worst] for b in bars}
    say(f"{worst} (worst) over {chosen} (chosen), evaluated every {sizes.interval} time units")
    say("with all results, by nested loops:")
    return {
        "sizes": asdict(sizes),
        "figure_5_2": bars,
        "figures_5_3_and_5_4": lines,
        "lost": shares,
        "ratio": by_way[f"{RESTORE}, {kind(NESTED)}"],
    }


def main(argv: Sequence[str] | None = None) -> None:
    quick = quick_asked("multi_join", __doc__ or "", argv)
    results = run(QUICK if quick else Sizes())
    if not quick:
        path = save("multi_join", results)
        draw(results, path.with_suffix(".png"))
    finish(results["ratio"])


if __name__ == "__main__":
    main()
