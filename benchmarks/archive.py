"""A window of days on disk: look-ups by key, scans, and taking a day in, against other stores.

Days of flow records (``archive_days``) go into each store (``archive_stores``,
``archive_rivals``). A look-up finds the records of one source in the whole window, about a hundred;
a scan adds up three columns by a fourth; advancing takes a day in and forgets the oldest. Windrow
runs under WATA with four constituents, three times: Arrow runs packed at rest (what an archive is
if nothing is said: a day is a run of its own until its constituent has outgrown its first run, or
is complete), Arrow runs packed (a day is merged into its constituent as it comes), and Parquet runs
packed.

Advancing is from the day's table, in the order of time, to its being published, synced. Beside it
stands the least that a store of sorted days must do: sort the same table by key and write it as
zstd Parquet with pyarrow, synced. ``archive_laps`` says what warm and cold mean.

A look-up has three forms. *As stored* is what costs least: of LMDB and RocksDB the packed values
that were found, of ours the places of the rows in the mapped files, of SQLite its rows. *Arrow* is
a table (ours a view of the files, strings that repeat as codes), *Python rows* a list of tuples.
What all stores answer, in all forms, is compared before anything is timed.

The last line is the best rival's median warm look-up as stored over that of Arrow runs, packed at
rest.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.archive_days import KEY, Days
from benchmarks.archive_figures import draw, tell
from benchmarks.archive_laps import (
    Laps,
    cold_probes,
    disk_bytes,
    same_answers,
    scans,
    warm_probes,
)
from benchmarks.archive_rivals import PLAIN, RIVALS, installed
from benchmarks.archive_stores import OURS, PACKED, USUAL, Store, Windrow
from benchmarks.report import finish, median, quick_asked, save, say


@dataclass(frozen=True)
class Sizes:
    """``keys`` are looked up warm in ``rounds`` turns, ``cold`` others cold."""

    window: int = 30
    rows: int = 300_000
    advances: int = 3
    checked: int = 20
    keys: int = 2_000
    rounds: int = 10
    cold: int = 5
    scans: int = 3


QUICK = Sizes(10, 100_000, 1, 3, 300, 3, 1, 2)
FORMS = {"probe": "as stored", "arrow": "Arrow", "rows": "Python rows"}


def loaded(days: Days, sizes: Sizes, place: Path, laps: Laps) -> list[Store]:
    """Every store with the first window, then moved on by some days."""
    there, missing = installed()
    for package in missing:
        say(f"{package} is not installed and is left out")
    makers = {**OURS, **{name: RIVALS[name] for name in there}}
    stores: list[Store] = [
        make(place / str(i), sizes.window) for i, make in enumerate(makers.values())
    ]
    for day in range(1, sizes.window + 1):
        _take(stores, days.day(day), day, "load", laps)
        if day % 5 == 0:  # merges leave files behind
            for store in stores:
                store.reclaim()
    for store in stores:
        laps.time(store.name, "load", partial(store.loaded, sizes.window))
        store.reclaim()
    say(f"loaded {sizes.window} days of {sizes.rows:,} records")
    for day in range(sizes.window + 1, sizes.window + 1 + sizes.advances):
        _take(stores, days.day(day), day, "advance", laps)
        for store in stores:
            laps.time(store.name, "reclaim", store.reclaim)
    return stores


def _take(stores: list[Store], records: pa.Table, day: int, what: str, laps: Laps) -> None:
    ordered = laps.time("all", "sort", partial(records.sort_by, KEY))
    sorting = laps.seconds["sort"]["all"][-1]
    for store in stores:
        given, plus = (ordered, sorting) if store.wants_sorted else (records, 0.0)
        laps.time(store.name, what, partial(getattr(store, what), day, given), plus)


def advance_ratios(laps: Laps) -> dict[str, float]:
    """A day over sorting and writing it: a usual day, and all days, packing included."""
    ours, plain = (
        laps.seconds["load"][name][:-1] + laps.seconds["advance"][name] for name in (USUAL, PLAIN)
    )
    return {
        "median": median(a / b for a, b in zip(ours, plain, strict=True)),
        "all": sum(ours) / sum(plain),
        "median_presorted": median(
            a / (b - s) for a, b, s in zip(ours, plain, laps.seconds["sort"]["all"], strict=True)
        ),
        "packed_median": median(
            a / b
            for a, b in zip(
                laps.seconds["advance"][PACKED], laps.seconds["advance"][PLAIN], strict=True
            )
        ),
    }


def _spread(seconds: Sequence[float]) -> dict[str, float]:
    p50, p99 = np.quantile(seconds, [0.5, 0.99])
    return {"p50": float(p50), "p99": float(p99), "probes": len(seconds)}


def run(sizes: Sizes, place: Path) -> dict[str, Any]:
    days, laps = Days(sizes.rows, sizes.window), Laps()
    stores = loaded(days, sizes, place, laps)
    for store in stores:
        store.open()
    checked = same_answers(stores, days.keys(sizes.checked, 1))
    say(f"all stores agree on {checked:,} records of {sizes.checked} keys")
    scans(stores, laps, sizes.scans)
    keys = days.keys(sizes.keys, 2)
    warm: dict[str, dict[str, Any]] = {}
    for form in FORMS:
        seconds, worked = warm_probes(stores, keys, sizes.rounds, form)
        warm[form] = {name: _spread(s) for name, s in seconds.items()}
        if form == "probe":
            processor = {name: _spread(s) for name, s in worked.items()}
    ours = {s.name: s for s in stores if isinstance(s, Windrow)}
    runs = {name: store.runs() for name, store in ours.items()}
    density = {name: store.bytes_per_record() for name, store in ours.items()}
    cold = {n: _spread(s) for n, s in cold_probes(stores, days.keys(sizes.cold, 3)).items()}
    for store in stores:
        store.close()
    held = {store.name: disk_bytes(store.path) for store in stores}
    plain = held[PLAIN] / (sizes.window * sizes.rows)
    lines = {
        store.name: {
            "warm": warm["probe"][store.name],
            "arrow": warm["arrow"][store.name],
            "rows": warm["rows"][store.name],
            "warm_processor": processor[store.name],
            "cold": cold[store.name],
            "scan": median(laps.seconds["scan 1"][store.name]),
            "scan_two_cores": median(laps.seconds["scan 2"][store.name]),
            "advance": median(laps.seconds["advance"][store.name]),
            "advance_greatest": max(laps.seconds["advance"][store.name]),
            "reclaim": median(laps.seconds["reclaim"][store.name]),
            "load": sum(laps.seconds["load"][store.name]),
            "bytes_on_disk": held[store.name],
            "written_per_day": _written_per_day(laps, store.name),
        }
        for store in stores
    }
    results = {
        "sizes": asdict(sizes),
        "stores": lines,
        "runs": runs,
        "bytes_over_plain_parquet": {name: found / plain for name, found in density.items()},
        "advance_over_plain_parquet": advance_ratios(laps),
        **_ratios(lines),
    }
    tell(results)
    return results


def _written_per_day(laps: Laps, name: str) -> float:
    return median(
        a + b
        for a, b in zip(laps.written["advance"][name], laps.written["reclaim"][name], strict=True)
    )


def _ratios(lines: dict[str, Any]) -> dict[str, Any]:
    """The best rival's median over ours, of each form of a look-up and of scans."""
    rivals = {name: line for name, line in lines.items() if name not in OURS}
    best = {}
    for what in ("warm", "arrow", "rows", "scan", "scan_two_cores"):
        took = {n: v[what]["p50"] if what in _SPREAD else v[what] for n, v in rivals.items()}
        own = lines[USUAL][what]["p50"] if what in _SPREAD else lines[USUAL][what]
        name = min(took, key=took.__getitem__)
        best[what] = {"rival": name, "ratio": took[name] / own}
    return {"best": best, "ratio": best["warm"]["ratio"]}


_SPREAD = ("warm", "arrow", "rows")


def main(argv: Sequence[str] | None = None) -> None:
    quick = quick_asked("archive", __doc__ or "", argv)
    with tempfile.TemporaryDirectory(prefix="windrow-archive-") as place:
        results = run(QUICK if quick else Sizes(), Path(place))
    if not quick:
        path = save("archive", results)
        draw(results, path.with_suffix(".png"))
    finish(results["ratio"])


if __name__ == "__main__":
    main()
