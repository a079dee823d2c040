"""Joins of four windows in different orders and by different algorithms (Golab 2006, 5.4).

The streams of Table 5.5: one tuple per tick from a stream chosen by its rate, with a value chosen
evenly from those that the stream has. (The table prints a rate of 100 for the first stream; the
costs that the text works out for it are those of 10, which is taken here.) Figure 5.2 compares
four orders, predicted and measured; Figures 5.3 and 5.4 the algorithms, by how often they run.

    eager        evaluates and expires at every time unit
    eager, late  evaluates at every time unit and expires at every interval (Algorithm 3)
    lazy         evaluates at every interval what the windows hold then (Algorithm 4)
    lazy, all    the same with restore semantics: nothing that came and went is lost (Algorithm 5)

by nested loops and over hash tables with some buckets. A time unit has 13 tuples; one evaluation
for each tuple would measure calls from Python. Windrow's own operator has a chain per value, and
is shown beside them. Times are processor time and include making the results as Arrow arrays.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa

from benchmarks.bucketed_join import INPUT, BucketedJoin, FixedOrderJoin, arguments
from benchmarks.report import finish, median, quick_asked, save, say, table
from windrow.columns.delta import Delta
from windrow.operators.multi_join import MultiwayJoin
from windrow.plan.costs.join_order import Order, WindowedStream, best_order, order_cost

mpl.use("Agg")
from matplotlib import pyplot as plt

STREAMS = tuple(WindowedStream(rate, 100, v) for rate, v in ((10, 40), (1, 100), (1, 8), (1, 5)))
PER_UNIT = int(sum(s.rate for s in STREAMS))
WINDOW = int(STREAMS[0].length) * PER_UNIT
NESTED, BY_VALUE = 1, 0
"""Numbers of buckets; none means a chain per value, as in Windrow's own operator."""
ALGORITHMS = ("eager", "eager, late", "lazy", "lazy, all")
BY_SELECTIVITY: Order = (1, 2, 3, 0)
FASTEST_FIRST: Order = (0, 1, 2, 3)


@dataclass(frozen=True)
class Sizes:
    """Lengths are time units."""

    measured: int = 200
    repeats: int = 10
    interval: int = 10
    intervals: tuple[int, ...] = (1, 5, 10, 20, 50)


QUICK = Sizes(measured=100, repeats=3, intervals=())


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
        return PER_UNIT * (1 if self.algorithm.startswith("eager") else self.interval)

    def operator(self) -> MultiwayJoin:
        if self.buckets == BY_VALUE:
            return FixedOrderJoin(**arguments(len(STREAMS), self.order))
        expiry = PER_UNIT * self.interval if self.algorithm == "eager, late" else 0
        return BucketedJoin(len(STREAMS), self.order, self.buckets, expiry)


def tuples(ticks: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """For each tick, which stream speaks, and what it says."""
    rng = np.random.default_rng(seed)
    rates = np.array([s.rate for s in STREAMS])
    stream = rng.choice(len(STREAMS), ticks, p=rates / rates.sum())
    values = np.array([int(s.distinct) for s in STREAMS])[stream]
    return stream, (rng.random(ticks) * values).astype(np.int64)


def intervals(setting: Setting, ticks: int, seed: int) -> list[tuple[list[Delta], int]]:
    stream, value = tuples(ticks, seed)
    found = []
    for start in range(0, ticks, setting.step):
        end = min(start + setting.step, ticks) - 1
        deltas = []
        for number in range(len(STREAMS)):
            at = np.flatnonzero(stream[start : end + 1] == number) + start
            rows = pa.RecordBatch.from_arrays([pa.array(value[at])], schema=INPUT)
            ts, exp = at, at + WINDOW
            if setting.algorithm == "lazy":
                # Seen at the end of an interval only: what has gone by then was never there.
                ts = np.full(len(at), end)
                exp = (exp // setting.step + 1) * setting.step - 1
            deltas.append(Delta.insertions(ts, rows, exp))
        found.append((deltas, end))
    return found


@dataclass(frozen=True)
class Run:
    """Milliseconds per 1,000 tuples with full windows, and what came out."""

    milliseconds: float
    results: int
    check: int


def run_once(setting: Setting, sizes: Sizes, seed: int) -> Run:
    full = WINDOW // setting.step
    work = intervals(setting, WINDOW + PER_UNIT * sizes.measured, seed)
    operator = setting.operator()
    for deltas, now in work[:full]:
        operator.process(deltas, now)
    kept = []
    began = time.process_time()
    for deltas, now in work[full:]:
        kept.append(operator.process(deltas, now))
    seconds = time.process_time() - began
    done = sum(len(d) for deltas, _ in work[full:] for d in deltas)
    check = sum(int(d.exp.sum()) + int(d.rows.column(0).to_numpy().sum()) for d in kept)
    return Run(seconds / done * 1e6, sum(len(d) for d in kept), check)


def measure(settings: Sequence[Setting], sizes: Sizes) -> dict[Setting, float]:
    """Medians over traces; each trace goes through all settings before the next one does."""
    times: dict[Setting, list[float]] = {s: [] for s in settings}
    run_once(settings[0], sizes, 0)
    for seed in range(1, sizes.repeats + 1):
        answers: dict[Any, set[tuple[int, int]]] = {}
        for setting in settings:
            found = run_once(setting, sizes, seed)
            times[setting].append(found.milliseconds)
            # Without restore semantics, what is lost depends on the interval.
            meaning = setting.interval if setting.algorithm == "lazy" else None
            answers.setdefault(meaning, set()).add((found.results, found.check))
        if any(len(found) > 1 for found in answers.values()):
            raise AssertionError(f"orders or algorithms differ in their results: {answers}")
    return {setting: median(laps) for setting, laps in times.items()}


def kind(buckets: int) -> str:
    if buckets == BY_VALUE:
        return "by value"
    return "nested loops" if buckets == NESTED else f"{buckets} buckets"


def orders() -> dict[str, Order]:
    """Chosen, by selectivity, fastest first, worst."""
    worst = max(permutations(range(len(STREAMS))), key=lambda order: order_cost(STREAMS, order))
    return {_name(o): o for o in (best_order(STREAMS), BY_SELECTIVITY, FASTEST_FIRST, worst)}


def _name(order: Order) -> str:
    return "".join(f"S{i + 1}" for i in order)


def figure_2(sizes: Sizes) -> dict[str, Any]:
    """Each way of evaluation: the four orders, relative to the chosen one."""
    chosen, *_ = orders().values()
    ways = [(a, b) for b in (NESTED, 10) for a in ALGORITHMS] + [("lazy, all", BY_VALUE)]
    settings = [Setting(a, b, o, sizes.interval) for a, b in ways for o in orders().values()]
    found = measure(settings, sizes)
    predicted = {
        n: order_cost(STREAMS, o) / order_cost(STREAMS, chosen) for n, o in orders().items()
    }
    bars = [{"way": "predicted", "milliseconds": None, "relative": predicted}]
    for algorithm, buckets in ways:
        times = {
            name: found[Setting(algorithm, buckets, order, sizes.interval)]
            for name, order in orders().items()
        }
        base = times[_name(chosen)]
        relative = {name: ms / base for name, ms in times.items()}
        way = f"{algorithm}, {kind(buckets)}"
        bars.append({"way": way, "milliseconds": times, "relative": relative})
    table(
        ["relative time", *orders(), "ms per 1,000"],
        [
            (b["way"], *b["relative"].values(), (b["milliseconds"] or {}).get(_name(chosen)))
            for b in bars
        ],
    )
    return {"bars": bars}


def figures_3_and_4(sizes: Sizes) -> list[dict[str, Any]]:
    """The chosen order: cost by interval, nested loops and two sizes of hash tables."""
    order = best_order(STREAMS)
    ways = [(a, b) for b in (NESTED, 2, 5) for a in ("eager, late", "lazy", "lazy, all")]
    settings = [Setting(a, b, order, i) for a, b in ways for i in sizes.intervals]
    found = measure(settings, sizes) if settings else {}
    lines = [
        {
            "way": f"{algorithm}, {kind(buckets)}",
            "buckets": buckets,
            "points": [(i, found[Setting(algorithm, buckets, order, i)]) for i in sizes.intervals],
        }
        for algorithm, buckets in ways
        if sizes.intervals
    ]
    if lines:
        say()
        table(
            ["ms per 1,000 tuples", *(f"every {i}" for i in sizes.intervals)],
            [(line["way"], *(ms for _, ms in line["points"])) for line in lines],
        )
    return lines


def draw(results: dict[str, Any], path: Path) -> None:
    sheet, (bars, loops, hashed) = plt.subplots(1, 3, figsize=(18, 5), width_ratios=[2, 1, 1])
    groups = results["figure_5_2"]["bars"]
    names = list(groups[0]["relative"])
    for number, name in enumerate(names):
        heights = [group["relative"][name] for group in groups]
        bars.bar(np.arange(len(groups)) + 0.2 * number - 0.3, heights, 0.2, label=name)
    bars.set_xticks(range(len(groups)), [g["way"].replace(", ", "\n") for g in groups], fontsize=7)
    bars.set(title="Figure 5.2: join orders", ylabel="time relative to the chosen order")
    for panel, title, wanted in (
        (loops, "Figure 5.3: nested loops", (NESTED,)),
        (hashed, "Figure 5.4: hash tables", (2, 5)),
    ):
        for line in results["figures_5_3_and_5_4"]:
            if line["buckets"] in wanted:
                panel.plot(*zip(*line["points"], strict=True), marker="o", label=line["way"])
        panel.set(title=title, xlabel="interval (time units)", ylabel="ms per 1,000 tuples")
        panel.set_ylim(bottom=0)
    for panel in (bars, loops, hashed):
        panel.legend(fontsize=8)
        panel.grid(visible=True, alpha=0.3)
    sheet.tight_layout()
    sheet.savefig(path, dpi=110)
    plt.close(sheet)


def run(sizes: Sizes) -> dict[str, Any]:
    orders_compared = figure_2(sizes)
    lines = figures_3_and_4(sizes)
    chosen, *_, worst = orders()
    by_way = {b["way"]: b["relative"][worst] for b in orders_compared["bars"]}
    say(f"{worst} (worst) over {chosen} (chosen), by nested loops, lazily, with all results:")
    return {
        "sizes": asdict(sizes),
        "figure_5_2": orders_compared,
        "figures_5_3_and_5_4": lines,
        "ratio": by_way["lazy, all, nested loops"],
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
