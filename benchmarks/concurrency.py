"""What concurrency control costs and brings: Golab 2006, Figures 7.8 to 7.14.

Serial, WS, LWS (Algorithm 7) and TTU (Algorithm 8) over the same packets and queries: windows of 10
to 100 sub-windows of one second with 40 periodic queries, and of five seconds with 100, in groups
of five that share a scan; then with five one-time queries per sub-window. A run lasts one window
length, and is repeated with other packets and queries. ``concurrency_runs`` says what is real and
what is virtual: scans and schedulers are real and timed, time is their processor time multiplied
by a factor. It is chosen once, so that to scan 100 sub-windows of a second for a group takes nine
tenths of a second; the text's machine of 2006 was about as slow, since there nearly every
transaction over such a window met an update. All else follows.

The last line is Serial's mean staleness over TTU's in the first two figures' settings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean

from benchmarks.charts import BARS, Chart, Lines, Style, draw, show
from benchmarks.concurrency_runs import KINDS, NAMES, Run, one_time_queries
from benchmarks.concurrency_threads import check_threads
from benchmarks.concurrency_workload import RATE, Workload
from benchmarks.report import RESULTS, finish, quick_asked, save, say, table

QUERIES = {1: 40, 5: 100}
"""Periodic queries by the seconds of a sub-window."""
SCAN_SECONDS = 0.9

Results = dict[tuple[str, str, int, int], dict[str, float]]
"""Means by workload (plain or mixed), scheduler, seconds and n."""


@dataclass(frozen=True)
class Figure:
    """A figure of the text: which measure, of which queries, in which workload."""

    number: str
    title: str
    unit: str
    workload: str
    queries: str
    measure: str
    seconds: tuple[int, ...]


FIGURES = (
    Figure("7.8", "aborted", "% of transactions", "plain", "periodic", "aborted", (1, 5)),
    Figure("7.9", "staleness", "seconds", "plain", "periodic", "staleness", (1, 5)),
    Figure("7.10", "inter-execution time", "seconds", "plain", "periodic", "between", (1, 5)),
    Figure("7.11", "throughput", "transactions/s", "plain", "periodic", "throughput", (1, 5)),
    Figure("7.12", "one-time response", "seconds", "mixed", "one-time", "response", (5,)),
    Figure("7.13", "one-time staleness", "seconds", "mixed", "one-time", "staleness", (5,)),
    Figure(
        "7.14", "periodic staleness in the mix", "seconds", "mixed", "periodic", "staleness", (5,)
    ),
)
COLOURS = dict(zip(NAMES, ("black", "tab:blue", "tab:red", "tab:green"), strict=True))
TITLE = "Golab 2006, 7.5: TTU aborts nobody and is the least stale; LWS aborts more with growing n"
STYLES = {
    f"{name}, t = {seconds} s": Style(COLOURS[name], marker, line)
    for name in NAMES
    for seconds, marker, line in ((1, "o", "-"), (5, "s", "--"))
}


def measure(sizes: Sequence[int], trials: int, slowness: float) -> dict[str, Results]:
    """Every scheduler in every setting, in turns; the means of the trials, by class of queries."""
    seen: dict[str, dict[tuple[str, str, int, int], list[dict[str, float]]]] = {}
    for seconds, queries in QUERIES.items():
        for n in sizes:
            for trial in range(trials):
                workload = Workload(n, seconds, queries, seed=trial)
                for mix in ("plain", "mixed") if seconds == 5 else ("plain",):
                    arrivals = one_time_queries(workload, trial) if mix == "mixed" else []
                    turn = trial % len(KINDS)
                    for kind in KINDS[turn:] + KINDS[:turn]:
                        found = Run(kind, workload, slowness, arrivals).go()
                        for name, means in found.items():
                            key = mix, kind.name, seconds, n
                            seen.setdefault(name, {}).setdefault(key, []).append(means)
            say(f"  measured t = {seconds} s, n = {n}")
    return {
        name: {key: _mean(runs) for key, runs in by_key.items()} for name, by_key in seen.items()
    }


def _mean(runs: list[dict[str, float]]) -> dict[str, float]:
    """Of the trials that have a value: a run may be too short for a query to come twice.

    The least and the greatest stand beside the mean, as ``least_`` and ``most_`` of the measure.
    """
    found = {}
    for measure in runs[0]:
        if values := [run[measure] for run in runs if not math.isnan(run[measure])]:
            found[measure] = fmean(values)
            found[f"least_{measure}"], found[f"most_{measure}"] = min(values), max(values)
    return found


def lines_of(figure: Figure, results: Mapping[str, Results]) -> Lines:
    lines: Lines = {}
    for (mix, name, seconds, n), means in sorted(results[figure.queries].items()):
        if mix == figure.workload and seconds in figure.seconds and figure.measure in means:
            point = float(n), means[figure.measure]
            lines.setdefault(f"{name}, t = {seconds} s", []).append(point)
    return {name: lines[name] for name in STYLES if name in lines}


def spreads_of(figure: Figure, results: Mapping[str, Results]) -> Lines:
    """For each point of ``lines_of`` the least and the greatest of the trials."""
    ends = [
        lines_of(replace(figure, measure=f"{end}_{figure.measure}"), results)
        for end in ("least", "most")
    ]
    return {
        name: [(low, high) for (_, low), (_, high) in zip(points, ends[1][name], strict=True)]
        for name, points in ends[0].items()
    }


class Shapes:
    """What the text says of its figures, and whether it is so here."""

    def __init__(self, results: Mapping[str, Results], sizes: Sequence[int]) -> None:
        self.results, self.sizes = results, sizes
        self.met: dict[str, bool] = {}

    def value(self, figure: Figure, name: str, seconds: int, n: int) -> float:
        means = self.results[figure.queries].get((figure.workload, name, seconds, n), {})
        return means.get(figure.measure, math.inf)

    def mean(self, figure: Figure, name: str, seconds: int) -> float:
        """Over the n for which every scheduler has a value."""
        values = [
            self.value(figure, name, seconds, n)
            for n in self.sizes
            if all(math.isfinite(self.value(figure, k, seconds, n)) for k in NAMES)
        ]
        return fmean(values)

    def check(self, figure: Figure, claim: str, is_met: bool) -> None:
        text = f"Figure {figure.number}: {claim}"
        self.met[text] = bool(is_met)
        say(f"  {'met    ' if is_met else 'NOT MET'}  {text}")


def check_shapes(results: Mapping[str, Results], sizes: Sequence[int]) -> Shapes:
    shapes = Shapes(results, sizes)
    aborted, stale, between, throughput, response, once_stale, mix_stale = FIGURES
    first, last = min(sizes), max(sizes)
    value, mean, check = shapes.value, shapes.mean, shapes.check
    for t in QUERIES:
        check(
            aborted,
            f"LWS aborts more with more sub-windows, t = {t}",
            value(aborted, "LWS", t, first) < value(aborted, "LWS", t, last),
        )
    check(
        aborted,
        "LWS aborts more at t = 1 than at t = 5",
        mean(aborted, "LWS", 1) > mean(aborted, "LWS", 5),
    )
    check(aborted, "LWS aborts over half at t = 1, n = 100", value(aborted, "LWS", 1, last) > 50)
    everywhere = [(t, n) for t in QUERIES for n in sizes]
    check(aborted, "TTU aborts none", all(value(aborted, "TTU", *at) == 0 for at in everywhere))
    for t in QUERIES:
        order = [mean(stale, name, t) for name in ("TTU", "LWS", "Serial", "WS")]
        check(stale, f"TTU < LWS < Serial, t = {t}", order[0] < order[1] < order[2])
        check(
            stale,
            f"WS is slightly worse than Serial, t = {t} ({order[3] / order[2] - 1:+.1%})",
            1 <= order[3] / order[2] < 1.1,
        )
    for t in QUERIES:
        serial, ws, lws, ttu = (mean(between, name, t) for name in NAMES)
        check(
            between,
            f"WS and TTU close behind Serial, t = {t} "
            f"({ws / serial - 1:+.1%}, {ttu / serial - 1:+.1%})",
            max(ws, ttu) < 1.05 * serial,
        )
        check(between, f"LWS worst, t = {t}", lws > max(serial, ws, ttu))
    ratios = [value(throughput, "TTU", *at) / value(throughput, "Serial", *at) for at in everywhere]
    check(
        throughput,
        f"TTU within 2 % of Serial on average, 4 % everywhere "
        f"({fmean(ratios) - 1:+.1%}, {min(ratios) - 1:+.1%})",
        fmean(ratios) > 0.98 and min(ratios) > 0.96,
    )
    check(
        throughput,
        "LWS lower everywhere",
        all(
            value(throughput, "LWS", *at) < value(throughput, name, *at)
            for at in everywhere
            for name in ("Serial", "WS", "TTU")
        ),
    )
    serial, ws, lws, ttu = (mean(response, name, 5) for name in NAMES)
    check(response, f"TTU as WS ({ttu / ws - 1:+.1%})", abs(ttu / ws - 1) < 0.05)
    check(response, "LWS longer", max(ws, ttu) < lws)
    check(response, "Serial worst", serial > max(ws, lws, ttu))
    serial, ws, lws, ttu = (mean(once_stale, name, 5) for name in NAMES)
    check(once_stale, f"TTU best, LWS a little worse ({lws / ttu - 1:+.1%})", ttu < lws)
    check(once_stale, "WS and Serial worst", min(ws, serial) > max(lws, ttu))
    serial, ws, lws, ttu = (mean(mix_stale, name, 5) for name in NAMES)
    check(mix_stale, "TTU best", ttu < min(serial, ws, lws))
    return shapes


def overall(results: Results, read: Callable[[dict[str, float]], float]) -> float:
    """Serial over TTU, each as the mean over all settings without one-time queries."""
    means = {
        name: fmean(
            read(v) for (mix, k, _, _), v in results.items() if mix == "plain" and k == name
        )
        for name in ("Serial", "TTU")
    }
    return means["Serial"] / means["TTU"]


def main(argv: Sequence[str] | None = None) -> None:
    quick = quick_asked("concurrency", "Golab 2006, Figures 7.8 to 7.14", argv)
    sizes, trials = ((10, 40, 100), 2) if quick else (tuple(range(10, 101, 10)), 5)
    execution = fmean(Workload(100, 1, QUERIES[1], seed).mean_execution for seed in range(2, 5))
    slowness = SCAN_SECONDS / execution
    say(
        f"{RATE:,} packets a second; a group over 100 sub-windows of a second takes "
        f"{1000 * execution:.2f} ms of processor time: a second of it counts as {slowness:.0f}"
    )
    results = measure(sizes, trials, slowness)
    sheets = [(figure, lines_of(figure, results)) for figure in FIGURES]
    for figure, lines in sheets:
        show(f"\nFigure {figure.number}: {figure.title}, {figure.unit}, by n", {"": lines})
    say("\nwhat the text says of its figures:")
    shapes = check_shapes(results, sizes)
    threads = check_threads(quick)
    say("\nin two threads, with an update for every answer:")
    table(
        ["", "answers", "wrong", "updates", "restarts", "level"],
        [
            [name, t.answers, t.wrong, t.updates, t.restarts, str(t.isolation)]
            for name, t in threads.items()
        ],
    )
    applied = overall(results["periodic"], lambda means: means["staleness_applied"])
    throughput = 1 / overall(results["periodic"], lambda means: means["throughput"])
    ratio = overall(results["periodic"], lambda means: means["staleness"])
    say(f"\nTTU's throughput over Serial's: {throughput:.3f} (at least 0.95 wanted)")
    say(
        f"Serial's mean staleness over TTU's: {ratio:.2f} since updates were due; "
        f"{applied:.2f} since they were carried out, which Serial delays"
    )
    if not quick:
        charts = [
            Chart(
                f"Figure {f.number}: {f.title}",
                "sub-windows",
                f.unit,
                lines,
                spreads_of(f, results),
            )
            for f, lines in sheets
        ]
        draw(charts, STYLES, TITLE + BARS, RESULTS / "concurrency.png")
        figures = {
            f.number: {"title": f.title, "lines": lines, "spreads": chart.spreads}
            for (f, lines), chart in zip(sheets, charts, strict=True)
        }
        save(
            "concurrency",
            {
                "packets_per_second": RATE,
                "virtual_seconds_per_processor_second": slowness,
                "trials": trials,
                "figures": figures,
                "shapes": shapes.met,
                "threads": {
                    name: {**asdict(t), "isolation": str(t.isolation)}
                    for name, t in threads.items()
                },
                "staleness_ratio_due": ratio,
                "staleness_ratio_applied": applied,
                "throughput_ratio": throughput,
            },
        )
    finish(min(ratio, applied))


if __name__ == "__main__":
    main()
