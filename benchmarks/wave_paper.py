"""Wave indices: Figures 2 to 9 of Shivakumar, Garcia-Molina 1997, modelled and measured.

The model has the paper's parameters (Table 8). Beside it, archives are taken through days of 100
megabytes: the words of 70,000 articles a day, by Zipf's law, stand for SCAM and the Web search
engine, LINEITEM by ship date for TPC-D. There are fewer days than in the paper: windows of 3
instead of 7, 35 and 100 days (Figures 2 to 7), of 2 to 4 instead of 4 to 42 (Figure 8) with two
constituents instead of four; data grows up to a day of 100 megabytes (Figure 9). ``--quick`` has
days of 8.

Times are the clock's: files are synced, and nothing of the archive is in memory when a day comes,
when a probe begins, when a scan begins. Every probe of a day pays for its own reads, as in the
paper's model. Beside the clock stands processor time, with everything in memory. Every archive's
answers are compared with those of the days themselves.

Three things come out. How much of the measured maintenance the paper's model explains once its
parameters are fitted to it. What ``advise`` is worth, which measures a sample and knows nothing of
the archives here: what it recommends is measured again, in turns with one index that is built anew
every day and with the best of all archives that were measured. And what all of that is worth
beside a partition for each day in LMDB, DuckDB or Parquet (`benchmarks.wave_rivals`). The ratio is
the work a day of the best of these over that of the archive that is recommended, by the clock, the
geometric mean of both kinds of data.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.charts import Lines, show
from benchmarks.report import finish, median, quick_asked, save, say, table
from benchmarks.wave_days import Data, articles, lineitem
from benchmarks.wave_figures import CLOCK, FIGURES, PROCESSOR, Figure, Sources, draw_results
from benchmarks.wave_fit import fitted
from benchmarks.wave_measured import Measured, Setting, Spent, measured
from benchmarks.wave_rivals import measure_rival, rivals_of
from windrow.archive.advise.advise import Workload, advise
from windrow.archive.advise.parameters import CASES
from windrow.archive.advise.recommend import Measure, constituent_counts
from windrow.archive.advise.wave_costs import measures
from windrow.archive.wave.schemes import SCHEMES
from windrow.archive.wave.wave import TechniqueName

N, GROWN_WINDOW = 4, 14
"""Figures 8 and 9 have four constituents; the data of Figure 9 grows under two weeks of it."""
WINDOWS = (4, 7, 10, 14, 21, 28, 35, 42)
SAMPLE, TURNS, RIVAL_DAYS = 1, 2, 2
"""Days that advise is shown, how often the best take turns, and days of a rival that are timed."""
OTHERS: tuple[tuple[str, TechniqueName], ...] = (("WATA", "packed at rest"),)
"""Layouts that no figure has, measured so that advise has more to be judged by."""
ARTICLES = {"SCAM": 70_000, "WSE": 100_000}
"""What the paper has a day."""


@dataclass(frozen=True)
class Sizes:
    """Windows are days; ``factors`` are parts of a day. ``n`` is that of Figures 8 and 9, whose
    data grows in a window of ``grown`` days.
    """

    articles: int = 70_000
    words: int = 11
    scale: float = 1.6
    dates: int = 200
    window: int = 3
    counts: tuple[int, ...] = (1, 2, 3)
    windows: tuple[int, ...] = (2, 3, 4)
    factors: tuple[float, ...] = (0.25, 0.5, 1)
    n: int = 2
    grown: int = 3
    turns: int = TURNS
    figures: tuple[Figure, ...] = FIGURES

    @property
    def days(self) -> int:
        """Of articles."""
        drawn = {figure.over for figure in self.figures}
        longest = self.windows if "window" in drawn else ()
        return 2 * max(self.window, self.grown if "factor" in drawn else 0, *longest)


QUICK = Sizes(
    articles=5_000,
    scale=0.08,
    counts=(1, 3),
    turns=1,
    figures=tuple(f for f in FIGURES if f.number in (2, 3, 4, 7)),
)


@dataclass
class Runs:
    """Archives that were measured, each once."""

    sizes: Sizes
    data: dict[tuple[str, float], Data] = field(default_factory=dict)
    done: dict[tuple[str, float], dict[Setting, Measured]] = field(default_factory=dict)

    def of(self, case: str, factor: float = 1) -> Data:
        name, sizes = ("TPC-D" if case == "TPC-D" else "SCAM"), self.sizes
        if (name, factor) not in self.data:
            if factor != 1:
                made = self.of(case).shrunk(factor)
            elif name == "TPC-D":
                made = lineitem(sizes.scale, 2 * sizes.window, sizes.dates)
            else:
                made = articles(sizes.articles, sizes.words, sizes.days)
            self.data[name, factor] = made
        return self.data[name, factor]

    def queries(self, case: str) -> tuple[float, float]:
        """Probes and scans a day, in proportion to the articles of a day."""
        asked = CASES[case].parameters
        return asked.probes * self.sizes.articles / ARTICLES.get(case, 1), asked.scans

    def measure(self, case: str, setting: Setting, factor: float = 1) -> Measured:
        data = self.of(case, factor)
        done = self.done.setdefault((data.name, factor), {})
        if setting not in done:
            done[setting] = measured(data, setting)
        return done[setting]


def modelled(figure: Figure) -> Lines:
    case, lines = CASES[figure.case], {}
    for name, scheme in SCHEMES.items():
        points = []
        numbers = {
            "n": constituent_counts(case.window),
            "window": WINDOWS,
            "factor": (0.5, 1, 2, 3, 4, 5),
        }
        for x in numbers[figure.over]:
            n = int(x) if figure.over == "n" else N
            if n < scheme.fewest:
                continue
            window = {"n": case.window, "window": int(x), "factor": GROWN_WINDOW}[figure.over]
            of = case.parameters.scale(x) if figure.over == "factor" else case.parameters
            found = measures(name, figure.technique, window, n, of)
            points.append((float(x), Measure[figure.what.upper()].of(found)))
        lines[name] = points
    return lines


def seen(figure: Figure, runs: Runs) -> Sources:
    """The figure from archives: by the clock, and in processor time."""
    sizes = runs.sizes
    sources: dict[str, Lines] = {"": {}} if figure.what == "space" else {CLOCK: {}, PROCESSOR: {}}
    numbers: dict[str, Sequence[float]] = {
        "n": sizes.counts,
        "window": sizes.windows,
        "factor": sizes.factors,
    }
    for name, scheme in SCHEMES.items():
        for x in numbers[figure.over]:
            n = int(x) if figure.over == "n" else sizes.n
            if n < scheme.fewest:
                continue
            window = {"n": sizes.window, "window": int(x), "factor": sizes.grown}[figure.over]
            factor = x if figure.over == "factor" else 1
            found = runs.measure(
                figure.case, Setting(name, figure.technique.value, window, n), factor
            )
            work = found.work(*runs.queries(figure.case))
            values = {
                "space": {"": found.transition_space},
                "transition": {CLOCK: found.transition, PROCESSOR: found.cpu_transition},
                "work": {CLOCK: work.clock, PROCESSOR: work.processor},
            }[figure.what]
            for source, value in values.items():
                sources[source].setdefault(name, []).append((float(x), value))
    return sources


def advised(case: str, runs: Runs) -> dict[str, Any]:
    """What the fitted model explains, and what the advice for a sample is worth."""
    data, window = runs.of(case), runs.sizes.window
    for scheme, technique in OTHERS:
        for n in runs.sizes.counts:
            if n >= SCHEMES[scheme].fewest:
                runs.measure(case, Setting(scheme, technique, window, n))
    mine = {s: m for s, m in runs.done[data.name, 1].items() if s.window == window}
    probes, scans = runs.queries(case)
    fit = fitted(data, mine, probes, scans)
    sample = data.records(1, SAMPLE)
    expected = Workload(
        window,
        sample.num_rows // SAMPLE,
        probes,
        scans,
        scan_days=1 if data.newest else None,
        scan_columns=data.summed if data.by is None else (data.by, *data.summed),
        memory=0,  # as it is measured here
    )
    with tempfile.TemporaryDirectory(prefix="windrow-advise-") as place:
        advice = advise(sample, data.key, expected, Path(place), time.perf_counter)
    best = advice.recommendations[0]
    chosen = Setting(best.scheme, best.technique, window, best.n)
    rebuilt = Setting("REINDEX", "packed shadow", window, 1)
    least = min(mine, key=lambda s: mine[s].work(probes, scans).clock)
    say(
        f"{case}: the model explains {fit.explained:.0%} of the maintenance of {len(mine)} archives"
        f" (a step takes {fit.fixed:.2f} s; a day built {fit.parameters.build:.2f},"
        f" added {fit.parameters.add:.2f}, copied {fit.parameters.copy:.2f},"
        f" merged {fit.parameters.smart_copy:.2f} s)"
    )
    works = in_turns(
        {
            f"advised: {named(chosen)}": lambda: measured(data, chosen).work(probes, scans),
            f"built anew: {named(rebuilt)}": lambda: measured(data, rebuilt).work(probes, scans),
            f"best of all: {named(least)}": lambda: measured(data, least).work(probes, scans),
        }
        | {
            rival: partial(measure_rival, kind, data, window, RIVAL_DAYS, probes, scans)
            for rival, kind in rivals_of(data).items()
        },
        runs.sizes.turns,
    )
    say(f"{case}: seconds of work a day, {probes:,.0f} probes and {scans:,.0f} scans, in turns")
    table(
        ["", "clock, cold", "least", "most", "processor, warm"],
        [(name, *of.values()) for name, of in works.items()],
    )
    ours, anew, top, *rivals = (of["clock"] for of in works.values())
    say(
        f"  advise foretold {best.measures.work:.2f} s, queries from the disk; built anew over"
        f" advised {anew / ours:.2f}, the best rival over advised {min(rivals) / ours:.2f}"
    )
    return {
        "explained": fit.explained,
        "parameters": asdict(fit.parameters),
        "fixed": fit.fixed,
        "prices": asdict(advice.prices),
        "recommended": named(chosen),
        "foretold_work": best.measures.work,
        "works": works,
        "over_least": ours / top,
        "over_rebuilt": anew / ours,
        "ratio": min(rivals) / ours,
    }


def in_turns(
    contenders: Mapping[str, Callable[[], Spent]], turns: int
) -> dict[str, dict[str, float]]:
    """Work a day, the medians of several goes, with the least and the most by the clock.

    After the first turn those go on that are ours or within a half of the least of the others.
    """
    found: dict[str, list[Spent]] = {name: [] for name in contenders}
    for turn in range(turns):
        for name, measure in contenders.items():
            if turn == 0 or _goes_on(name, found):
                found[name].append(measure())
    return {
        name: {
            "clock": median(spent.clock for spent in goes),
            "least": min(spent.clock for spent in goes),
            "most": max(spent.clock for spent in goes),
            "processor": median(spent.processor for spent in goes),
        }
        for name, goes in found.items()
    }


def _goes_on(name: str, found: dict[str, list[Spent]]) -> bool:
    rivals = {other: goes[0].clock for other, goes in found.items() if ":" not in other}
    first = name.startswith("advised")
    return first or (name in rivals and rivals[name] <= 1.5 * min(rivals.values()))


def named(setting: Setting) -> str:
    return f"{setting.scheme}, n = {setting.n}, {setting.technique}"


def run(sizes: Sizes) -> dict[str, Any]:
    models: dict[Figure, Sources] = {figure: {"": modelled(figure)} for figure in FIGURES}
    for figure, sources in models.items():
        show(f"{figure}, from the model", sources)
    runs = Runs(sizes)
    for case in ("SCAM", "TPC-D"):
        days = runs.of(case).days
        say(
            f"{case}: a day has {len(days[1]):,} records, {days[1].nbytes / 1e6:.0f} MB"
            f"{'' if days[1].nbytes > 9e7 else ' (small days: a quick look, not a disk at work)'}"
        )
    archives = {}
    for figure in sizes.figures:
        archives[figure] = seen(figure, runs)
        show(f"{figure}, measured", archives[figure])
    advice = {case: advised(case, runs) for case in ("SCAM", "TPC-D")}
    return {"model": models, "archives": archives, "advice": advice, "runs": runs}


def main(argv: Sequence[str] | None = None) -> None:
    quick = quick_asked("wave_paper", "wave indices, modelled and measured", argv)
    results = run(QUICK if quick else Sizes())
    if not quick:
        keep(results)
    say("the best partition for each day over the archive that is advised, by the clock:")
    ratios = [found["ratio"] for found in results["advice"].values()]
    finish(math.prod(ratios) ** (1 / len(ratios)))


def keep(results: dict[str, Any]) -> None:
    """The figures and the results file."""
    runs = results["runs"]
    size = runs.of("SCAM").days[1].nbytes / 1e6
    draw_results(results["model"], results["archives"], size)
    save(
        "wave_paper",
        {
            "sizes": asdict(runs.sizes) | {"figures": [str(f) for f in runs.sizes.figures]},
            "day_megabytes": {
                case: runs.of(case).days[1].nbytes / 1e6 for case in ("SCAM", "TPC-D")
            },
            "model": {str(figure): lines[""] for figure, lines in results["model"].items()},
            "curves": {str(figure): lines for figure, lines in results["archives"].items()},
            "advice": results["advice"],
            "archives": [
                {"data": name, "factor": factor, "archive": named(setting)}
                | {"window": setting.window}
                | asdict(found)
                for (name, factor), done in runs.done.items()
                for setting, found in done.items()
            ],
        },
    )


if __name__ == "__main__":
    main()
