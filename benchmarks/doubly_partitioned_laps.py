"""Indexes of records with lifetimes, taken through updates in turns, each answer compared.

Records of 1,000 bytes with one of 100 keys and a lifetime spread evenly up to ``PERIODS`` update
intervals. Keys are drawn evenly, or by a power law with the coefficient one (4.3). After a
lifetime's worth of updates the indexes are full; those that follow are measured, each with a probe
of one key and a scan of everything after it, as in the paper (4.1). They make ``LAPS`` laps of as
many updates: what the means (of probes and scans the medians) of laps differ by are the error bars.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.report import median
from windrow.archive.advise.grid_advice import UnsyncedDisk
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex, Update
from windrow.archive.lifetimes.partition_grid import Grid

PERIODS, KEYS, RECORD = 36, 100, 1_000
TICKS = 1_000
"""Of an update interval."""
SCHEMA = pa.schema([("key", pa.int32()), ("id", pa.int64()), ("text", pa.string())])
PAYLOAD = RECORD - 4 - 8 - 8
LAPS = 3


@dataclass
class Lap:
    """One index: seconds of each measured update, probe and scan, and what updates did."""

    update: list[float] = field(default_factory=list)
    probe: list[float] = field(default_factory=list)
    scan: list[float] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    touched: list[int] = field(default_factory=list)
    runs: list[int] = field(default_factory=list)
    stored: list[int] = field(default_factory=list)


def steady(rate: int, measured: int) -> tuple[int, ...]:
    """Records of each update: as many every time."""
    return (rate,) * (PERIODS + measured)


def varying(rate: int, measured: int) -> tuple[int, ...]:
    """A rate that varies by a factor of up to four, with as many records in all (4.4)."""
    rates = np.random.default_rng(9).uniform(1, 4, PERIODS + measured)
    for part in (slice(None, PERIODS), slice(PERIODS, None)):
        rates[part] *= rate / rates[part].mean()
    return tuple(rates.astype(int).tolist())


def batches(
    rates: Sequence[int], seed: int, *, power_law: bool = False
) -> Iterator[tuple[int, pa.Table, pa.Array]]:
    """(now, records, expiries) of each update."""
    rng = np.random.default_rng(seed)
    odds = 1 / np.arange(1, KEYS + 1) if power_law else np.ones(KEYS)
    odds /= odds.sum()
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
        keys = pa.array(rng.choice(KEYS, rate, p=odds).astype(np.int32))
        records = pa.table([keys, pa.array(ids), texts], schema=SCHEMA)
        lives = rng.integers(1, PERIODS * TICKS, rate, endpoint=True)
        yield now, records, pa.array(now + lives)


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
    """A grid, the rates at which its records come, update by update, and how keys are drawn."""

    grid: Grid
    rates: tuple[int, ...]
    power_law: bool = False

    @property
    def feed(self) -> tuple[tuple[int, ...], bool]:
        """What it has in common with others that are given the same records."""
        return self.rates, self.power_law


def race(contenders: dict[str, Contender], measured: int, seed: int) -> dict[str, Lap]:
    """All indexes in turns, update by update; the last ``measured`` of them count."""
    laps = {name: Lap() for name in contenders}
    kinds = {c.feed for c in contenders.values()}
    feeds = {kind: batches(kind[0], seed, power_law=kind[1]) for kind in kinds}
    plains = {kind: Plain() for kind in feeds}
    updates = len(next(iter(feeds))[0])
    keys = np.random.default_rng(seed + 1).integers(0, KEYS, updates).tolist()
    with tempfile.TemporaryDirectory(prefix="windrow-lifetimes-") as home:
        indexes = {
            name: LifetimeIndex.create(
                UnsyncedDisk(Path(home) / f"{number}"),
                SCHEMA,
                "key",
                longest=PERIODS * TICKS,
                interval=TICKS,
                grid=contender.grid,
            )
            for number, (name, contender) in enumerate(contenders.items())
        }
        for number in range(updates):
            given = {kind: next(feed) for kind, feed in feeds.items()}
            for kind, (_, records, expiries) in given.items():
                plains[kind].add(records, expiries)
            counts = number >= updates - measured
            for name in turn(list(contenders), number):
                contender, index = contenders[name], indexes[name]
                index.disk.synced, before = counts, files_by_subindex(index)
                update = timed_update(index, laps[name], given[contender.feed])
                if counts:
                    check_touched(name, contender.grid, before, index, update)
                    query(name, index, laps[name], keys[number], plains[contender.feed])
                else:
                    laps[name] = Lap()
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
    if len(update.step.touched_subindices) != allowed or not changed <= set(
        update.step.touched_subindices
    ):
        raise AssertionError(
            f"{name} touched {update.step.touched_subindices} and changed {changed}"
        )


def timed_update(index: LifetimeIndex, lap: Lap, given: tuple[int, pa.Table, pa.Array]) -> Update:
    began = time.perf_counter()
    update = index.insert(*given)
    lap.update.append(time.perf_counter() - began)
    lap.written.append(update.bytes_written)
    lap.touched.append(len(update.step.touched_subindices))
    index.vacuum()
    return update


def turn(names: list[str], number: int) -> list[str]:
    """Everybody is first as often as anybody else."""
    at = number % len(names)
    return names[at:] + names[:at]


def query(name: str, index: LifetimeIndex, lap: Lap, key: int, plain: Plain) -> None:
    with index.reader() as reader:
        reader.probe((key + 1) % KEYS)  # files are open, and the code is warm
        began = time.process_time()
        probed = reader.probe(key)
        consume(probed)
        lap.probe.append(time.process_time() - began)
        began = time.process_time()
        scanned = reader.scan()
        consume(scanned)
        lap.scan.append(time.process_time() - began)
        now = reader.now
    runs = index.contents().runs.values()
    lap.runs.append(len(runs))
    lap.stored.append(sum(run.bytes for run in runs))
    same = np.array_equal(ids(scanned), plain.live(now))
    if not same or not np.array_equal(ids(probed), plain.live(now, key)):
        raise AssertionError(f"{name} answers differently from the plain list")


def summary(lap: Lap) -> dict[str, float]:
    """What was measured of an index; of times also the least and the greatest lap."""
    return {
        "update_ms": median(lap.update) * 1e3,
        **of_laps("mean_update_ms", lap.update, np.mean),
        "worst_update_ms": max(lap.update) * 1e3,
        **of_laps("probe_ms", lap.probe, np.median),
        **of_laps("scan_ms", lap.scan, np.median),
        "written_mb": float(np.mean(lap.written)) / 1e6,
        "touched": float(np.mean(lap.touched)),
        "runs": float(np.mean(lap.runs)),
        "stored_mb": float(np.mean(lap.stored)) / 1e6,
    }


def of_laps(
    name: str, seconds: Sequence[float], typical: Callable[[Sequence[float]], Any]
) -> dict[str, float]:
    """The typical one of all, and the least and the greatest of the laps' typical ones."""
    laps = [part for part in np.array_split(np.asarray(seconds), LAPS) if len(part)]
    each = [float(typical(part)) * 1e3 for part in laps]
    whole = float(typical(seconds)) * 1e3
    return {name: whole, f"{name}_least": min(each), f"{name}_most": max(each)}
