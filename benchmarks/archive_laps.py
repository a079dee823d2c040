"""How stores are measured: in turns, on the same days, their answers compared before anything.

Warm
    Every key was looked up once before it is timed.
Cold
    The store is closed, its files are written back and dropped from the page cache (this needs no
    rights, and leaves everybody else's files alone); then it is opened and one key is looked up, as
    Python rows: all of that is the time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.archive_days import SCHEMA
from benchmarks.archive_keyvalue import Lmdb, RocksDb
from benchmarks.archive_stores import Store
from benchmarks.archive_tables import SqliteClustered, SqliteTable


class Laps:
    """Seconds and bytes written by store and by what was done, a number for each time."""

    def __init__(self) -> None:
        self.seconds: dict[str, dict[str, list[float]]] = {}
        self.written: dict[str, dict[str, list[int]]] = {}

    def time(self, store: str, what: str, action: Callable[[], Any], plus: float = 0.0) -> Any:
        """Do it and keep what it took, and ``plus`` seconds of work that was done for several."""
        before, began = _written(), time.perf_counter()
        result = action()
        seconds, written = time.perf_counter() - began, _written() - before
        self.seconds.setdefault(what, {}).setdefault(store, []).append(seconds + plus)
        self.written.setdefault(what, {}).setdefault(store, []).append(written)
        return result

    def repeat(self, store: str, what: str) -> None:
        """Take what the first scan on one core took for another one."""
        seconds = self.seconds["scan 1"][store][0]
        self.seconds.setdefault(what, {}).setdefault(store, []).append(seconds)


def _written() -> int:
    """Bytes that this process has handed to the system to write."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["wchar"])


def same_answers(stores: Sequence[Store], keys: Sequence[str]) -> int:
    """How many records the keys have, which all stores must agree on to the last value, in every
    form of an answer.
    """
    records = 0
    for key in keys:
        found = {}
        for store in stores:
            found[store.name, "stored"] = store.unpack(store.probe(key))
            found[store.name, "rows"] = store.rows(key)
            columns = store.arrow(key).select(SCHEMA.names).columns
            found[store.name, "arrow"] = list(zip(*(c.to_pylist() for c in columns), strict=True))
        prints = {name: repr(sorted(answer)) for name, answer in found.items()}
        if len(set(prints.values())) > 1:
            counts = {name: len(answer) for name, answer in found.items()}
            raise AssertionError(f"stores differ in the records of {key}: {counts}")
        records += len(next(iter(found.values())))
    return records


def scans(stores: Sequence[Store], laps: Laps, rounds: int) -> None:
    """The totals of three columns by the fourth, over the whole window, on one core and on two;
    warm. Those that use one core anyway, and take seconds, do it once.
    """
    wanted = ""
    for threads in (1, 2):
        what = f"scan {threads}"
        for number in range(rounds):
            for store in _turned(stores, number):
                slow = store.name in _SLOW_SCANS
                if slow and (threads, number) != (1, 0):
                    laps.repeat(store.name, what)
                    continue
                store.use_threads(threads)
                if not number and not slow:
                    store.totals()
                found = repr(sorted(laps.time(store.name, what, store.totals).items()))
                wanted = wanted or found
                if found != wanted:
                    raise AssertionError(f"totals of {store.name}: {found}, others': {wanted}")


_SLOW_SCANS = {SqliteTable.name, SqliteClustered.name, Lmdb.name, RocksDb.name}


def warm_probes(
    stores: Sequence[Store], keys: Sequence[str], rounds: int, form: str = "probe"
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Seconds of each look-up, and processor seconds of all its threads.

    A slow store gets the first keys of each round only.
    """
    found: dict[str, list[float]] = {s.name: [] for s in stores}
    processor: dict[str, list[float]] = {s.name: [] for s in stores}
    cuts = np.array_split(np.arange(len(keys)), rounds)
    for number, cut in enumerate(cuts):
        for store in _turned(stores, number):
            own = [keys[i] for i in cut[: max(1, round(len(cut) * store.share))]]
            probe = getattr(store, form)
            for key in own:
                probe(key)
            for key in own:
                worked, began = time.process_time(), time.perf_counter()
                probe(key)
                found[store.name].append(time.perf_counter() - began)
                processor[store.name].append(time.process_time() - worked)
    return found, processor


def cold_probes(stores: Sequence[Store], keys: Sequence[str]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {s.name: [] for s in stores}
    for number, key in enumerate(keys):
        for store in _turned(stores, number):
            store.close()
            evict(store.path)
            began = time.perf_counter()
            store.open()
            store.rows(key)
            found[store.name].append(time.perf_counter() - began)
    return found


def evict(path: Path) -> None:
    for file in files(path):
        handle = os.open(file, os.O_RDONLY)
        os.fsync(handle)  # a page that is not written back yet stays
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(handle)


def files(path: Path) -> list[Path]:
    return [file for file in path.rglob("*") if file.is_file()]


def disk_bytes(path: Path) -> int:
    return sum(file.stat().st_size for file in files(path))


def _turned(stores: Sequence[Store], number: int) -> list[Store]:
    """All stores, another one first each time."""
    first = number % len(stores)
    return [*stores[first:], *stores[:first]]
