"""How many periodic queries a schedule gets done, and how late: Golab 2006, Figures 8.7 to 8.10.

Eight groups of 5, 10, 20 or 30 queries (top-k lists and quantiles of bandwidth, windows of 20 to
100 seconds, periods of one second to half a window), packets at 1,500 a second, and at 3,000 with
twice the values of each field. Six techniques:

    No-S    no sharing: the earliest deadline first, every sub-group by itself (Algorithm 9)
    AS      aggressive: a whole group at its shortest period
    CS      conservative: jointly what is due together (Algorithm 10)
    HS      hybrid: periods shortened where that is cheaper
    H-LS    hybrid, and what is late runs jointly
    H-LP    hybrid, and what is late or pending runs jointly (Algorithm 11)

Executions are real (``scheduling_workload``), and so is the scheduler: ``LocalScheduler``. Time is
virtual: packets arrive at their rate, and an execution moves the clock on by the processor time
that it took, times a factor; scheduling, updates of synopses and one-time queries (one a second)
are included. The factor makes this machine as slow as one for which 40 queries at 1,500 packets a
second are ``LOAD`` of what it can do without sharing; it is measured once and the same for all
techniques, sizes and rates. So load is stated relative to the machine, and what is compared are the
techniques. Queries run when they are due, not earlier in time to spare.

Throughput is queries re-executed per second; latency is the mean over queries of the updates beyond
the period between two executions, early ones counting as 0. The last line is the throughput of H-LP
over that of No-S at 240 queries, the lower of both rates.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

from benchmarks.charts import BARS, Chart, Lines, Style, draw, show
from benchmarks.report import RESULTS, finish, median, quick_asked, save, say
from benchmarks.scheduling_workload import FIELDS, INTERVALS, POOL, Sources, Traffic, Workload
from windrow.sharing.schedule import (
    Aggressive,
    Conservative,
    LatePending,
    LateSharing,
    LocalScheduler,
    NoSharing,
    SchedulePolicy,
)

TECHNIQUES: dict[str, SchedulePolicy] = {
    "No-S": NoSharing(),
    "AS": Aggressive(),
    "CS": Conservative(),
    "HS": Conservative(),
    "H-LS": LateSharing(Conservative()),
    "H-LP": LatePending(Conservative()),
}
"""Those with an H get the tasks that hybrid scheduling has arranged, once for all three."""
TITLE = "Golab 2006, 8.5: AS, H-LS and H-LP re-execute several times as many queries as No-S and CS"
STYLES = {
    "No-S": Style("tab:gray", "o"),
    "AS": Style("tab:orange", "s"),
    "CS": Style("tab:blue", "^"),
    "HS": Style("tab:green", "D"),
    "H-LS": Style("tab:purple", "v"),
    "H-LP": Style("tab:red", "*"),
}
RATES = (1500, 3000)
LOAD = 1.2
"""Processor time that 40 queries ask for without sharing, over what there is."""


@dataclass(frozen=True)
class Sizes:
    per_group: tuple[int, ...] = (5, 10, 20, 30)
    seconds: int = 300
    trials: int = 3


QUICK = Sizes(per_group=(5, 30), seconds=150, trials=1)


@dataclass(frozen=True)
class Measured:
    """One run; ``tasks`` is how many are scheduled, ``busy`` the share of time with work."""

    throughput: float
    latency: float
    tasks: int
    busy: float
    spread: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Of several runs the least and the greatest, of throughput and of latency."""


Results = dict[int, dict[str, dict[int, Measured]]]
"""By rate, technique and number of queries."""


def run(workload: Workload, technique: str, seconds: int, factor: float) -> Measured:
    """A schedule for so many virtual seconds; ``factor`` is virtual over processor time."""
    traffic = workload.traffic
    synopses = workload.synopses()
    sources = Sources(traffic.domain(("source",)))
    tasks = workload.hybrid_tasks if technique.startswith("H") else workload.tasks
    scheduler = LocalScheduler(tasks, TECHNIQUES[technique])
    asked = random.Random(seconds)
    clock = spent = 0.0
    executed = 0
    while True:
        begin = time.process_time()
        while scheduler.updates + 1 <= clock:
            second = traffic.seconds[(INTERVALS + scheduler.updates) % POOL]
            for counters, new in zip(synopses, second, strict=True):
                counters.append(*new)
            sources.append(*second[0])
            scheduler.update(scheduler.updates + 1)
            sources.usage(asked.randrange(FIELDS["source"]), asked.randint(1, INTERVALS))
        execution = scheduler.next_execution()
        if execution is not None:
            place, queries = workload.ordered(execution)
            synopses[place].execute(queries)
            scheduler.finish(execution)
            executed += len(queries)
        took = factor * (time.process_time() - begin)
        clock, spent = clock + took, spent + took
        if execution is None:
            clock = max(clock, scheduler.updates + 1.0)
        if clock > seconds:
            break
    report = scheduler.lateness()
    means = [entry.mean if entry.executions else float(entry.waiting) for entry in report]
    return Measured(executed / seconds, fmean(means), len(scheduler.tasks), min(1, spent / clock))


def machine_factor() -> float:
    """Virtual seconds for a second of processor time: 40 queries without sharing take ``LOAD``."""
    demands = []
    for seed in (1, 2, 3):
        tasks = Workload(Traffic(RATES[0], seed), 5, seed).tasks
        demands.append(sum(task.work.cost / task.period for task in tasks))
    return LOAD / fmean(demands)


def measure(sizes: Sizes, factor: float) -> Results:
    """For each rate, technique and number of queries the medians of all trials."""
    results: Results = {}
    for rate in RATES:
        streams = [Traffic(rate, trial) for trial in range(sizes.trials)]
        for per_group in sizes.per_group:
            found: dict[str, list[Measured]] = {name: [] for name in TECHNIQUES}
            for trial in range(sizes.trials):
                workload = Workload(streams[trial], per_group, 1000 * trial + per_group)
                for name in TECHNIQUES:
                    found[name].append(run(workload, name, sizes.seconds, factor))
            for name, runs in found.items():
                results.setdefault(rate, {}).setdefault(name, {})[8 * per_group] = Measured(
                    median(r.throughput for r in runs),
                    median(r.latency for r in runs),
                    round(median(r.tasks for r in runs)),
                    median(r.busy for r in runs),
                    {
                        "throughput": ends_of([r.throughput for r in runs]),
                        "latency": ends_of([r.latency for r in runs]),
                    },
                )
            say(f"  {rate:,} packets a second, {8 * per_group} queries: done")
    return results


def ends_of(values: list[float]) -> tuple[float, float]:
    return min(values), max(values)


def shapes_of(results: Results) -> dict[str, bool]:
    """What the text says of its figures, and whether it is so here."""
    low, high = (results[rate] for rate in RATES)
    sizes = list(low["HS"])
    most, large = sizes[-1], sizes[-2:]
    return {
        "8.7: No-S and CS have the lowest throughput": all(
            max(low["No-S"][n].throughput, low["CS"][n].throughput)
            < min(low[name][n].throughput for name in ("AS", "HS", "H-LS", "H-LP"))
            for n in sizes
        ),
        "8.7: HS alone comes near twice CS (1.7 times) with many queries": any(
            low["HS"][n].throughput > 1.7 * low["CS"][n].throughput for n in large
        ),
        "8.8: HS is less late than CS": all(
            low["HS"][n].latency < low["CS"][n].latency for n in sizes
        ),
        "8.7, 8.8: H-LS and H-LP do better than HS with many queries": all(
            low[name][n].throughput > low["HS"][n].throughput
            and low[name][n].latency < low["HS"][n].latency
            for name in ("H-LS", "H-LP")
            for n in large
        ),
        "8.5.2: HS has about half as many tasks as CS": all(
            0.35 < low["HS"][n].tasks / low["CS"][n].tasks < 0.65 for n in sizes
        ),
        "8.8: AS is later than HS": all(low["AS"][n].latency > low["HS"][n].latency for n in sizes),
        "8.9, 8.10: everything does worse at 3,000": all(
            high[name][n].throughput < low[name][n].throughput
            and high[name][n].latency > low[name][n].latency
            for name in TECHNIQUES
            for n in sizes
        ),
        "8.9: H-LP more than doubles HS": high["H-LP"][most].throughput
        > 2 * high["HS"][most].throughput,
        "8.9, 8.10: H-LP wins both": all(
            high["H-LP"][most].throughput >= high[name][most].throughput
            and high["H-LP"][most].latency <= high[name][most].latency
            for name in TECHNIQUES
        ),
    }


def charts_of(results: Results) -> list[Chart]:
    charts = []
    for rate, first in zip(RATES, (7, 9), strict=True):
        for offset, (title, unit, of) in enumerate(
            (
                ("throughput", "queries re-executed per second", "throughput"),
                ("mean latency", "updates beyond the period", "latency"),
            )
        ):
            lines: Lines = {
                name: [(float(n), getattr(m, of)) for n, m in by_size.items()]
                for name, by_size in results[rate].items()
            }
            spreads = {
                name: [m.spread[of] for m in by_size.values()]
                for name, by_size in results[rate].items()
            }
            name = f"Figure 8.{first + offset}: {title}, {rate:,} tuples a second"
            charts.append(Chart(name, "queries", unit, lines, spreads))
    return charts


def main(argv: Sequence[str] | None = None) -> None:
    quick = quick_asked("scheduling", "Golab 2006, Figures 8.7 to 8.10", argv)
    sizes = QUICK if quick else Sizes()
    factor = machine_factor()
    say(f"a second of processor time counts as {factor:,.0f}: 40 queries at {RATES[0]:,} packets a")
    say(f"second without sharing ask for {LOAD:.0%} of the machine")
    results = measure(sizes, factor)
    charts = charts_of(results)
    for chart in charts:
        show(f"\n{chart.title}", {"": chart.lines})
    tasks: Lines = {
        name: [(float(n), m.tasks) for n, m in by_size.items()]
        for name, by_size in results[RATES[0]].items()
    }
    show("\nscheduled tasks", {"": tasks})
    shapes = shapes_of(results)
    say("\nwhat the text says of its figures:")
    for claim, met in shapes.items():
        say(f"  {'yes' if met else 'no '}  {claim}")
    most = 8 * sizes.per_group[-1]
    ratios = {
        rate: results[rate]["H-LP"][most].throughput / results[rate]["No-S"][most].throughput
        for rate in RATES
    }
    say(
        "\nthroughput of H-LP over No-S at 240 queries: "
        + ", ".join(f"{ratio:.2f} at {rate:,}" for rate, ratio in ratios.items())
    )
    if not quick:
        draw(charts, STYLES, TITLE + BARS, RESULTS / "scheduling.png", columns=2)
        save(
            "scheduling",
            {
                "load_of_40_queries_without_sharing": LOAD,
                "virtual_seconds_per_processor_second": factor,
                "virtual_seconds_of_a_run": sizes.seconds,
                "trials": sizes.trials,
                "figures": {chart.title: chart.lines for chart in charts},
                "spreads": {chart.title: chart.spreads for chart in charts},
                "tasks": tasks,
                "shapes": shapes,
                "ratios": {str(rate): ratio for rate, ratio in ratios.items()},
            },
        )
    finish(min(ratios.values()))


if __name__ == "__main__":
    main()
