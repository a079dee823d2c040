"""How stores are measured: in turns, on the same days, their answers compared before anything.

Warm
    Every key was looked up once before it is timed.
Cold
    The store is closed, its files are written back and dropped from the page cache (this needs no
    rights, and leaves everybody else's files alone); then it is opened and one key is looked up, in
    plain values: all of that is the time.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.archive_days import SCHEMA
from benchmarks.archive_stores import Store


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


def _written() -> int:
    """Bytes that this process has handed to the system to write."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["wchar"])


def same_answers(stores: Sequence[Store], keys: Sequence[str]) -> int:
    """How many records the keys have, which all stores must agree on to the last value."""
    records = 0
    for key in keys:
        found = {s.name: s.table(s.probe(key)).select(SCHEMA.names) for s in stores}
        prints = {name: _print(answer) for name, answer in found.items()}
        if len(set(prints.values())) > 1:
            counts = {name: len(answer) for name, answer in found.items()}
            raise AssertionError(f"stores differ in the records of {key}: {counts}")
        records += len(next(iter(found.values())))
    return records


def _print(answer: pa.Table) -> str:
    rows = sorted(zip(*(c.to_pylist() for c in answer.columns), strict=True))
    return hashlib.sha256(repr(rows).encode()).hexdigest()


def scans(stores: Sequence[Store], laps: Laps, rounds: int) -> None:
    """The totals of three columns by the fourth, over the whole window."""
    for number in range(rounds):
        found = {s.name: laps.time(s.name, "scan", s.totals) for s in _turned(stores, number)}
        if len({repr(sorted(t.items())) for t in found.values()}) > 1:
            raise AssertionError(f"stores differ in their totals: {found}")


def warm_probes(
    stores: Sequence[Store], keys: Sequence[str], rounds: int, *, plain: bool = False
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
            probe = store.probe_plain if plain else store.probe
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
            store.probe_plain(key)
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
