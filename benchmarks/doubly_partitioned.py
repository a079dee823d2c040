"""Indexes of records with lifetimes of their own, on disk (Golab et al. 2006b, 4).

Records of 1,000 bytes with one of 100 keys and a lifetime spread evenly up to 36 update
intervals. After a lifetime's worth of updates the indexes are full; then 24 more are measured,
each followed by a probe of one key and a scan of everything, as in the paper. All indexes of a
figure take each update in turn, in one process, from the same records, and their answers to every
probe and scan are compared with a plain list.

    R-ins, D-ins   cut by insertion time only; a touched sub-index is rebuilt, or added to
    Rebuild        a square grid of insertion and expiry times, dealt round robin; rebuilt
    NoRebuild      the same; a new run is added, runs are merged as they double or die
    ... chr        the grid dealt chronologically

An update is timed from the Arrow table to the published version, all files synced. Reads find
their pages in memory. The paper's small and large sets are scaled to a tenth and a twentieth:
50 and 252 megabytes come in a lifetime, half of which is alive.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa

from benchmarks.report import finish, median, quick_asked, save, say, table
from windrow.archive.files import Disk
from windrow.archive.lifetimes.assignment import Chronological
from windrow.archive.lifetimes.grid import Grid, Technique, d_ins, r_ins
from windrow.archive.lifetimes.index import LifetimeIndex, Update

mpl.use("Agg")
from matplotlib import pyplot as plt

PERIODS, KEYS, RECORD = 36, 100, 1_000
TICKS = 1_000
"""Of an update interval."""
SCHEMA = pa.schema([("key", pa.int32()), ("id", pa.int64()), ("text", pa.string())])
PAYLOAD = RECORD - 4 - 8 - 8
RIVAL, OURS = "R-ins", "NoRebuild"


@dataclass(frozen=True)
class Sizes:
    """Records per update in the small set (none: it is left out) and the large one; sub-indices,
    which are squares; updates that are measured."""

    small: int = 1_400
    large: int = 7_000
    squares: tuple[int, ...] = (1, 4, 9, 16, 25)
    measured: int = 24


QUICK = Sizes(small=0, large=1_400, squares=(16,), measured=8)


@dataclass
class Lap:
    """One index: seconds of each measured update, probe and scan, and what updates did."""

    update: list[float] = field(default_factory=list)
    probe: list[float] = field(default_factory=list)
    scan: list[float] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    touched: list[int] = field(default_factory=list)
    runs: list[int] = field(default_factory=list)
    stored: int = 0


def techniques(n: int) -> dict[str, Grid]:
    """Everything with n sub-indices, under the names of the figures."""
    side = round(n**0.5)
    found = {RIVAL: r_ins(n), "D-ins": d_ins(n)}
    if n > 1:
        for technique in Technique:
            found[technique.value] = Grid(side, side, technique)
            found[f"{technique.value} chr"] = Grid(side, side, technique, Chronological())
    return found


def batches(rates: Sequence[int], seed: int) -> Iterator[tuple[int, pa.Table, pa.Array]]:
    """(now, records, expiries) of each update."""
    rng = np.random.default_rng(seed)
    text = rng.integers(32, 127, max(rates) * PAYLOAD, np.uint8)
    first = 0
    for number, rate in enumerate(rates, 1):
        now = number * TICKS
        ends = np.arange(rate + 1, dtype=np.int32) * PAYLOAD
        ids = np.arange(first, first + rate)
        first += rate
        # A text that is the record's own: eight bytes of it are its number.
        own = text[: rate * PAYLOAD].reshape(rate, PAYLOAD).copy()
        own[:, :8] = 65 + (ids[:, None] >> (4 * np.arange(8))) % 16
        texts = pa.StringArray.from_buffers(rate, pa.py_buffer(ends), pa.py_buffer(own.tobytes()))
        keys = pa.array(rng.integers(0, KEYS, rate, np.int32))
        records = pa.table([keys, pa.array(ids), texts], schema=SCHEMA)
        lives = rng.integers(1, PERIODS * TICKS, rate, endpoint=True)
        yield now, records, pa.array(now + lives)


class WarmingDisk(Disk):
    """Until the indexes are full nothing is measured, and nothing waits for the disk."""

    warm = False

    def sync(self, name: str) -> None:
        if self.warm:
            super().sync(name)

    def sync_names(self, folder: str) -> None:
        if self.warm:
            super().sync_names(folder)


class Plain:
    """The plain list: ids, keys and expiries of all that ever came."""

    def __init__(self) -> None:
        self.parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def add(self, records: pa.Table, expiries: pa.Array) -> None:
        columns = (records.column("id"), records.column("key"), expiries)
        self.parts.append(tuple(c.to_numpy() for c in columns))  # type: ignore[arg-type]

    def live(self, now: int, key: int | None = None) -> np.ndarray:
        found = [i[(e > now) & ((k == key) | (key is None))] for i, k, e in self.parts]
        return np.sort(np.concatenate(found))


def consume(answer: pa.Table) -> int:
    """Look at every byte of an answer, as a query would."""
    total = 0
    for batch in answer.to_batches():
        text = batch.column(batch.schema.get_field_index("text"))
        _, offsets, data = text.buffers()
        bounds = np.frombuffer(offsets, np.int32)[text.offset : text.offset + len(text) + 1]
        total += int(np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]].max())
    return total


def ids(answer: pa.Table) -> np.ndarray:
    return np.sort(answer.column("id").cast(pa.int64()).to_numpy())


@dataclass(frozen=True)
class Contender:
    """A grid and the rates at which its records come, update by update."""

    grid: Grid
    rates: tuple[int, ...]


def race(contenders: dict[str, Contender], measured: int, seed: int) -> dict[str, Lap]:
    """All indexes in turns, update by update; the last ``measured`` of them count."""
    laps = {name: Lap() for name in contenders}
    feeds = {c.rates: batches(c.rates, seed) for c in contenders.values()}
    plains = {rates: Plain() for rates in feeds}
    updates = len(next(iter(feeds)))
    keys = np.random.default_rng(seed + 1).integers(0, KEYS, updates).tolist()
    with tempfile.TemporaryDirectory(prefix="windrow-lifetimes-") as home:
        indexes = {
            name: LifetimeIndex.create(
                WarmingDisk(Path(home) / f"{number}"),
                SCHEMA,
                "key",
                longest=PERIODS * TICKS,
                interval=TICKS,
                grid=contender.grid,
            )
            for number, (name, contender) in enumerate(contenders.items())
        }
        for number in range(updates):
            given = {rates: next(feed) for rates, feed in feeds.items()}
            for rates, (_, records, expiries) in given.items():
                plains[rates].add(records, expiries)
            counts = number >= updates - measured
            for name in _turn(list(contenders), number):
                contender, index = contenders[name], indexes[name]
                index.disk.warm, before = counts, files_by_subindex(index)
                update = timed_update(index, laps[name], given[contender.rates])
                if counts:
                    check_touched(name, contender.grid, before, index, update)
                    query(name, index, laps[name], keys[number], plains[contender.rates])
                else:
                    laps[name] = Lap()
        for name, index in indexes.items():
            laps[name].stored = sum(run.bytes for run in index.contents().runs.values())
    return laps


def files_by_subindex(index: LifetimeIndex) -> list[list[str]]:
    contents = index.contents()
    held = contents.state.subindices if contents.state else ((),) * index.grid.size
    return [[contents.runs[run.number].name for run in runs] for runs in held]


def check_touched(
    name: str, grid: Grid, before: list[list[str]], index: LifetimeIndex, update: Update
) -> None:
    """An update may touch G + E - 1 sub-indices; the others must have kept their very files."""
    after = files_by_subindex(index)
    changed = {place for place in range(grid.size) if before[place] != after[place]}
    allowed = grid.insertions + grid.expiries - 1
    if len(update.step.touched) != allowed or not changed <= set(update.step.touched):
        raise AssertionError(f"{name} touched {update.step.touched} and changed {changed}")


def timed_update(index: LifetimeIndex, lap: Lap, given: tuple[int, pa.Table, pa.Array]) -> Update:
    began = time.perf_counter()
    update = index.insert(*given)
    lap.update.append(time.perf_counter() - began)
    lap.written.append(update.bytes_written)
    lap.touched.append(len(update.step.touched))
    index.vacuum()
    return update


def _turn(names: list[str], number: int) -> list[str]:
    """Everybody is first as often as anybody else."""
    at = number % len(names)
    return names[at:] + names[:at]


def query(name: str, index: LifetimeIndex, lap: Lap, key: int, plain: Plain) -> None:
    with index.reader() as reader:
        reader.probe((key + 1) % KEYS)  # files are open, and the code is warm
        began = time.perf_counter()
        probed = reader.probe(key)
        consume(probed)
        lap.probe.append(time.perf_counter() - began)
        began = time.perf_counter()
        scanned = reader.scan()
        consume(scanned)
        lap.scan.append(time.perf_counter() - began)
        now = reader.now
    lap.runs.append(len(index.contents().runs))
    same = np.array_equal(ids(scanned), plain.live(now))
    if not same or not np.array_equal(ids(probed), plain.live(now, key)):
        raise AssertionError(f"{name} answers differently from the plain list")


def summary(lap: Lap) -> dict[str, float]:
    return {
        "update_ms": median(lap.update) * 1e3,
        "mean_update_ms": float(np.mean(lap.update)) * 1e3,
        "worst_update_ms": max(lap.update) * 1e3,
        "probe_ms": median(lap.probe) * 1e3,
        "scan_ms": median(lap.scan) * 1e3,
        "written_mb": float(np.mean(lap.written)) / 1e6,
        "touched": float(np.mean(lap.touched)),
        "runs": float(np.mean(lap.runs)),
        "stored_mb": lap.stored / 1e6,
    }


def show(found: dict[str, dict[str, float]]) -> None:
    heads = "touched written_mb mean_update_ms worst_update_ms probe_ms scan_ms runs stored_mb"
    table(
        ["index", *heads.split()], [(n, *(s[h] for h in heads.split())) for n, s in found.items()]
    )


def by_squares(rate: int, sizes: Sizes, title: str) -> dict[str, dict[str, dict[str, float]]]:
    """Figures 6 to 8, or 10 to 12: number of sub-indices -> index -> what was measured."""
    rates = (rate,) * (PERIODS + sizes.measured)
    entries = {
        (n, name): Contender(grid, rates)
        for n in sizes.squares
        for name, grid in techniques(n).items()
    }
    laps = race({f"{name} {n}": c for (n, name), c in entries.items()}, sizes.measured, rate)
    found: dict[str, dict[str, dict[str, float]]] = {}
    for n, name in entries:
        found.setdefault(str(n), {})[name] = summary(laps[f"{name} {n}"])
    for n, at in found.items():
        say(f"{title}: n = {n}, {rate:,} records per update")
        show(at)
        say()
    return found


def figure_5(rate: int, sizes: Sizes) -> dict[str, dict[str, float]]:
    """Rebuild in a square grid and in two that are not."""
    rates = (rate,) * (PERIODS + sizes.measured)
    shapes = ((4, 4), (2, 8), (8, 2))
    grids = {f"{g}x{e}": Grid(g, e, Technique.REBUILD) for g, e in shapes}
    laps = race({name: Contender(g, rates) for name, g in grids.items()}, sizes.measured, 5)
    found = {name: summary(lap) for name, lap in laps.items()}
    say("Figure 5: Rebuild in three grids of 16")
    show(found)
    say()
    return found


def figure_9(rate: int, sizes: Sizes) -> dict[str, dict[str, float]]:
    """A rate that varies by a factor of up to four, beside a steady one with as many records."""
    updates = PERIODS + sizes.measured
    varying = np.random.default_rng(9).uniform(1, 4, updates)
    for part in (slice(None, PERIODS), slice(PERIODS, None)):
        varying[part] *= rate / varying[part].mean()
    kinds = {"steady": (rate,) * updates, "varying": tuple(varying.astype(int).tolist())}
    entries = {
        f"{name} {n} {kind}": Contender(grid, rates)
        for n in sizes.squares
        if n in (4, 16, 25)
        for name, grid in techniques(n).items()
        if not name.endswith("chr")
        for kind, rates in kinds.items()
    }
    laps = race(entries, sizes.measured, 9)
    found = {name: summary(lap) for name, lap in laps.items()}
    say("Figure 9: the rate varies by up to four times")
    show(found)
    say()
    return found


def draw(results: dict[str, Any], path: Path) -> None:
    sheet, panels = plt.subplots(2, 4, figsize=(21, 9))
    for row, (part, numbers) in enumerate((("small", (6, 7, 8)), ("large", (10, 11, 12)))):
        quantities = ("mean_update_ms", "probe_ms", "scan_ms", "written_mb")
        titles = [f"Figure {n}: {part} set" for n in numbers] + [f"written, {part} set"]
        for panel, quantity, title in zip(panels[row], quantities, titles, strict=True):
            _lines(panel, results[part], quantity)
            panel.set(title=title, xlabel="sub-indices", ylabel=quantity.replace("_", " "))
    panels[0][0].legend(fontsize=8)
    sheet.tight_layout()
    sheet.savefig(path, dpi=110)
    plt.close(sheet)


def _lines(panel: Any, found: dict[str, dict[str, dict[str, float]]], quantity: str) -> None:
    names = list(dict.fromkeys(name for at in found.values() for name in at))
    for name in names:
        points = [(int(n), at[name][quantity]) for n, at in found.items() if name in at]
        style = "--" if name.endswith("chr") else "-"
        panel.plot(*zip(*points, strict=True), style, marker="o", label=name)
    panel.set_ylim(bottom=0)
    panel.grid(visible=True, alpha=0.3)


def draw_bars(results: dict[str, Any], path: Path) -> None:
    sheet, (square, varying) = plt.subplots(1, 2, figsize=(14, 5))
    base = results["figure_5"]["4x4"]
    for number, (name, found) in enumerate(results["figure_5"].items()):
        heights = [found[q] / base[q] for q in ("mean_update_ms", "probe_ms", "scan_ms")]
        square.bar(np.arange(3) + 0.25 * number - 0.25, heights, 0.25, label=f"Rebuild{name}")
    square.set_xticks(range(3), ["update", "probe", "scan"])
    square.set(title="Figure 5: grids of 16", ylabel="time relative to 4x4")
    square.legend()
    names = [name.removesuffix(" steady") for name in results["figure_9"] if "steady" in name]
    for place, kind in enumerate(("steady", "varying")):
        heights = [results["figure_9"][f"{name} {kind}"]["mean_update_ms"] for name in names]
        varying.bar(np.arange(len(names)) + 0.4 * place - 0.2, heights, 0.4, label=kind)
    varying.set_xticks(range(len(names)), [n.replace(" ", "\n") for n in names], fontsize=7)
    varying.set(title="Figure 9: fluctuating rate", ylabel="mean update ms")
    varying.legend()
    sheet.tight_layout()
    sheet.savefig(path, dpi=110)
    plt.close(sheet)


def ratio(found: dict[str, dict[str, dict[str, float]]]) -> float:
    at = found["16"]
    return at[RIVAL]["mean_update_ms"] / at[OURS]["mean_update_ms"]


def run(sizes: Sizes) -> dict[str, Any]:
    results: dict[str, Any] = {"sizes": asdict(sizes)}
    if sizes.small:
        results["small"] = by_squares(sizes.small, sizes, "small set")
        results["figure_5"] = figure_5(sizes.small, sizes)
        results["figure_9"] = figure_9(sizes.small, sizes)
    results["large"] = by_squares(sizes.large, sizes, "large set")
    results["ratio"] = ratio(results["large"])
    return results


def main(argv: Sequence[str] | None = None) -> None:
    quick = quick_asked("doubly_partitioned", __doc__ or "", argv)
    results = run(QUICK if quick else Sizes())
    if not quick:
        path = save("doubly_partitioned", results)
        draw(results, path.with_suffix(".png"))
        draw_bars(results, path.with_name("doubly_partitioned_bars.png"))
    say(f"update time of {RIVAL}16 over {OURS}4x4, large set (Figure 10: two to three):")
    finish(results["ratio"])


if __name__ == "__main__":
    main()
