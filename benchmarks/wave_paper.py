"""Wave indices: Figures 2 to 9 of Shivakumar, Garcia-Molina 1997, modelled and measured.

The model has the paper's parameters (Table 8). Beside it, archives are taken through a window of
days: articles with a Zipf vocabulary stand for SCAM and the Web search engine, LINEITEM by ship
date for TPC-D. Days are smaller than the paper's, and probes fewer in proportion. Windows are
shorter: 7 days instead of 35 for the Web search engine (Figure 5), 15 instead of 100 for TPC-D
(Figures 6 and 7), and no more constituents than that; up to 21 instead of 42 in Figure 8. Times are
processor time, which others on the machine do not disturb; what the disk has to do is saved as
megabytes written. Every archive's answers are compared with those of the days themselves.

Two things come out. One is how much of the measured maintenance the paper's model explains once
its parameters are fitted to it. The other is what ``advise`` is worth, which measures a sample of
four days and knows nothing of the archives here: what it recommends is measured again, in turns
with one index that is built anew every day and with the best of all archives that were measured.
The ratio is the work a day of the index built anew over that of the archive that is recommended,
the geometric mean of both kinds of data.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.charts import Lines, show
from benchmarks.report import RESULTS, finish, quick_asked, save, say
from benchmarks.wave_days import Data, articles, lineitem
from benchmarks.wave_figures import FIGURES, Figure, draw
from benchmarks.wave_fit import fitted
from benchmarks.wave_measured import Measured, Setting, measured
from windrow.archive.advise.advise import Workload, advise
from windrow.archive.advise.parameters import CASES
from windrow.archive.advise.recommend import Measure, constituent_counts
from windrow.archive.advise.wave_costs import measures
from windrow.archive.wave.schemes import SCHEMES
from windrow.archive.wave.wave import TechniqueName

N, GROWN_WINDOW = 4, 14
"""Figures 8 and 9 have four constituents; the data of Figure 9 grows under two weeks of it."""
WINDOWS = (4, 7, 10, 14, 21, 28, 35, 42)
SAMPLE, TURNS = 4, 3
"""Days that advise is shown, and how often the archives that it is judged by take turns."""
OTHERS: tuple[tuple[str, TechniqueName], ...] = (
    ("DEL", "in-place"),
    ("WATA", "in-place"),
    ("RATA", "in-place"),
    ("WATA", "packed at rest"),
)
"""Layouts that no figure has, measured so that advise has more to be judged by."""
ARTICLES = {"SCAM": 70_000, "WSE": 100_000}
"""What the paper has a day."""


@dataclass(frozen=True)
class Sizes:
    """Windows are days; ``factors`` are times the data of a day."""

    articles: int = 1_000
    words: int = 60
    scale: float = 1.0
    dates: int = 20
    week: int = 7
    month: int = 15
    scam_n: tuple[int, ...] = (1, 2, 3, 4, 5, 7)
    tpc_n: tuple[int, ...] = (1, 2, 5, 10, 15)
    windows: tuple[int, ...] = (4, 7, 14, 21)
    factors: tuple[float, ...] = (0.5, 1, 2, 4)
    figures: tuple[Figure, ...] = FIGURES


QUICK = Sizes(
    articles=250,
    scale=0.05,
    dates=10,
    month=8,
    windows=(7,),
    scam_n=(1, 4),
    tpc_n=(1, 4),
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
            if name == "TPC-D":
                made = lineitem(sizes.scale, 2 * sizes.month, sizes.dates)
            else:
                days = 2 * max(sizes.week, GROWN_WINDOW, *sizes.windows)
                made = articles(int(sizes.articles * factor), sizes.words, days)
            self.data[name, factor] = made
        return self.data[name, factor]

    def queries(self, case: str) -> tuple[float, float]:
        """Probes and scans a day, in proportion to the articles."""
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


def seen(figure: Figure, runs: Runs) -> Lines:
    """The figure from archives."""
    sizes, lines = runs.sizes, {}
    tpc = figure.case == "TPC-D"
    numbers: dict[str, Sequence[float]] = {
        "n": sizes.tpc_n if tpc else sizes.scam_n,
        "window": sizes.windows,
        "factor": sizes.factors,
    }
    for name, scheme in SCHEMES.items():
        points = []
        for x in numbers[figure.over]:
            n = int(x) if figure.over == "n" else N
            if n < scheme.fewest:
                continue
            usual = sizes.month if tpc else sizes.week
            window = {"n": usual, "window": int(x), "factor": GROWN_WINDOW}[figure.over]
            factor = x if figure.over == "factor" else 1
            found = runs.measure(
                figure.case, Setting(name, figure.technique.value, window, n), factor
            )
            value = {
                "space": found.transition_space,
                "transition": found.transition,
                "work": found.work(*runs.queries(figure.case)),
            }[figure.what]
            points.append((float(x), value))
        lines[name] = points
    return lines


def advised(case: str, runs: Runs) -> dict[str, Any]:
    """What the fitted model explains, and what the advice for a sample is worth."""
    data, window = runs.of(case), runs.sizes.month if case == "TPC-D" else runs.sizes.week
    for scheme, technique in OTHERS:
        for n in runs.sizes.tpc_n if case == "TPC-D" else runs.sizes.scam_n:
            if n >= SCHEMES[scheme].fewest:
                runs.measure(case, Setting(scheme, technique, window, n))
    mine = {s: m for s, m in runs.done[data.name, 1].items() if s.window == window}
    probes, scans = runs.queries(case)
    fit = fitted(data, mine, probes, scans)
    sample = pa.concat_tables([data.days[day] for day in range(1, SAMPLE + 1)])
    expected = Workload(
        window,
        sample.num_rows // SAMPLE,
        probes,
        scans,
        scan_days=1 if data.newest else None,
        scan_columns=(data.summed,),
    )
    with tempfile.TemporaryDirectory(prefix="windrow-advise-") as place:
        advice = advise(sample, data.key, expected, Path(place), time.process_time)
    best = advice.recommendations[0]
    chosen = Setting(best.scheme, best.technique, window, best.n)
    rebuilt = Setting("REINDEX", "packed shadow", window, 1)
    least = min(mine, key=lambda s: mine[s].work(probes, scans))
    works = in_turns(data, [chosen, rebuilt, least], probes, scans)
    say(
        f"{case}: the model explains {fit.explained:.0%} of the maintenance of {len(mine)} archives"
        f" (a step takes {fit.fixed * 1e3:.1f} ms; a day built {fit.parameters.build * 1e3:.2f},"
        f" added {fit.parameters.add * 1e3:.2f}, copied {fit.parameters.copy * 1e3:.2f},"
        f" merged {fit.parameters.smart_copy * 1e3:.2f} ms)"
    )
    say(
        f"  advise recommends {named(chosen)} and foretells {best.measures.work * 1e3:.1f} ms a"
        f" day; measured in turns: {works[chosen] * 1e3:.1f} ms, one index built anew:"
        f" {works[rebuilt] * 1e3:.1f} ms; the best of all, {named(least)}:"
        f" {works[least] * 1e3:.1f} ms"
    )
    return {
        "explained": fit.explained,
        "parameters": asdict(fit.parameters),
        "fixed": fit.fixed,
        "prices": asdict(advice.prices),
        "recommended": named(chosen),
        "foretold_work": best.measures.work,
        "recommended_work": works[chosen],
        "rebuilt_work": works[rebuilt],
        "least": named(least),
        "least_work": works[least],
        "over_least": works[chosen] / works[least],
        "ratio": works[rebuilt] / works[chosen],
    }


def in_turns(
    data: Data, settings: list[Setting], probes: float, scans: float
) -> dict[Setting, float]:
    """Work a day, the least of several goes: what is the least of many by chance is found out."""
    found: dict[Setting, list[float]] = {}
    for _ in range(TURNS):
        for setting in dict.fromkeys(settings):
            found.setdefault(setting, []).append(measured(data, setting).work(probes, scans))
    return {setting: min(works) for setting, works in found.items()}


def named(setting: Setting) -> str:
    return f"{setting.scheme}, n = {setting.n}, {setting.technique}"


def run(sizes: Sizes) -> dict[str, Any]:
    models = {figure: modelled(figure) for figure in FIGURES}
    for figure, lines in models.items():
        show(f"{figure}, from the model", {"": lines})
    runs = Runs(sizes)
    archives = {}
    for figure in sizes.figures:
        archives[figure] = seen(figure, runs)
        show(f"{figure}, measured", {"": archives[figure]})
    advice = {case: advised(case, runs) for case in ("SCAM", "TPC-D")}
    return {"model": models, "archives": archives, "advice": advice, "runs": runs}


def main(argv: Sequence[str] | None = None) -> None:
    quick = quick_asked("wave_paper", "wave indices, modelled and measured", argv)
    results = run(QUICK if quick else Sizes())
    if not quick:
        draw(results["model"], "From the model", RESULTS / "wave_paper_model.png")
        draw(results["archives"], "Measured", RESULTS / "wave_paper_measured.png")
        save(
            "wave_paper",
            {
                "model": {str(figure): lines for figure, lines in results["model"].items()},
                "measured": {str(figure): lines for figure, lines in results["archives"].items()},
                "advice": results["advice"],
                "archives": [
                    {"data": name, "factor": factor, "archive": named(setting)}
                    | {"window": setting.window}
                    | asdict(found)
                    for (name, factor), done in results["runs"].done.items()
                    for setting, found in done.items()
                ],
            },
        )
    ratios = [found["ratio"] for found in results["advice"].values()]
    finish(math.prod(ratios) ** (1 / len(ratios)))


if __name__ == "__main__":
    main()
