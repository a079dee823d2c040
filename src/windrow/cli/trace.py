"""A seeded trace of wide-area connections, in the shape of LBL-CONN-7 (Golab 2006, 3.6.1).

Thirty days of connections that leave a site over two links; the destination decides the link.
What windowed queries are sensitive to is kept: a few hosts do most of the talking (Zipf), days
and nights and weekends differ, and connections come in *sessions*, a source busy with one
protocol for some minutes. Telnet is used about three times as often as FTP, so that joining the
links on the source gives about ten times as many pairs for it. Some connections were not seen
to end: their duration and size are NULL.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from windrow.core.errors import InputError
from windrow.core.time import MICROSECONDS

SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us")),
        ("duration", pa.float64()),
        ("protocol", pa.string()),
        ("bytes", pa.int64()),
        ("src", pa.string()),
        ("dst", pa.string()),
    ]
)
LINKS = ("link1", "link2")

START = int(datetime(1993, 9, 16, tzinfo=UTC).timestamp()) * 1_000_000
SOURCES, DESTINATIONS = 20_000, 30_000
UNFINISHED = 0.03
"""Share of the connections whose end is missing."""


@dataclass(frozen=True)
class Protocol:
    """Its share of the connections, and what one connection of it looks like (medians)."""

    name: str
    share: float
    seconds: float
    size: float


PROTOCOLS = (
    Protocol("smtp", 0.33, 2.0, 2_000),
    Protocol("telnet", 0.24, 240.0, 4_000),
    Protocol("nntp", 0.20, 15.0, 12_000),
    Protocol("http", 0.16, 1.5, 6_000),
    Protocol("ftp", 0.07, 8.0, 40_000),
)
SESSION = 3.0
"""Connections per session, on average."""
ELSEWHERE = 0.15
"""Share of the connections that do not go where their session goes."""
PAUSE = 45.0
"""Seconds between the connections of one session, on average."""


@dataclass(frozen=True)
class TraceParameters:
    """What a trace is made from; the same parameters give the same rows in the same files."""

    rows: int = 2_000_000
    days: int = 30
    seed: int = 7
    files: int = 10
    layout: int = 1


def write_trace(
    directory: Path,
    parameters: TraceParameters | None = None,
    on_file: Callable[[int, int], None] | None = None,
) -> bool:
    """Write ``link1/`` and ``link2/`` below ``directory``, each as Parquet files in time order.

    Nothing is done, and False returned, if the directory holds this very trace already. Another
    trace is replaced, anything else is left alone with an error. The trace appears as a whole or
    not at all. ``on_file`` hears how many files of how many are written.
    """
    parameters = parameters or TraceParameters()
    description = json.dumps(asdict(parameters))
    marker = directory / "trace.json"
    if marker.is_file() and marker.read_text() == description:
        return False
    if directory.exists() and not marker.is_file():
        raise InputError(
            where=str(directory),
            expected="a trace to replace, or nothing",
            found="something else",
            remedy="move it away, or choose another directory",
        )
    directory.parent.mkdir(parents=True, exist_ok=True)
    unfinished = directory.with_name(f".{directory.name}-{os.getpid()}")
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        _write_files(unfinished, parameters, on_file or (lambda _done, _all: None))
        (unfinished / marker.name).write_text(description)
        if directory.exists():
            shutil.rmtree(directory)
        unfinished.rename(directory)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return True


def _write_files(
    directory: Path, parameters: TraceParameters, on_file: Callable[[int, int], None]
) -> None:
    trace, link = generate(parameters)
    edges = np.linspace(0, parameters.days * MICROSECONDS["DAY"], parameters.files + 1)
    cuts = np.searchsorted(trace["ts"].cast(pa.int64()).to_numpy(), START + edges)
    done = 0
    for number, name in enumerate(LINKS):
        (directory / name).mkdir(parents=True)
        for part in range(parameters.files):
            start, stop = int(cuts[part]), int(cuts[part + 1])
            mine = np.flatnonzero(link[start:stop] == number) + start
            pq.write_table(trace.take(mine), directory / name / f"part-{part:03}.parquet")
            done += 1
            on_file(done, len(LINKS) * parameters.files)


def generate(parameters: TraceParameters) -> tuple[pa.Table, npt.NDArray[np.int64]]:
    """All connections in order of time, and the number of the link that each of them takes."""
    rng = np.random.default_rng(parameters.seed)
    rows = parameters.rows
    sizes = rng.geometric(1 / SESSION, int(rows / SESSION * 1.2) + 100)
    sizes = sizes[: int(np.searchsorted(np.cumsum(sizes), rows)) + 1]
    session = np.repeat(np.arange(len(sizes)), sizes)[:rows]

    span = parameters.days * MICROSECONDS["DAY"]
    pauses = rng.exponential(PAUSE * 1e6, rows)
    waited = np.cumsum(pauses)
    first = np.searchsorted(session, np.arange(len(sizes)))
    since_start = waited - waited[first][session]
    begun = _session_starts(rng, len(sizes), parameters.days)
    # A session that outlasts the trace goes on at its beginning.
    ts = ((begun[session] + since_start) % span).astype(np.int64)
    order = np.argsort(ts, kind="stable")
    session, ts = session[order], ts[order]

    protocol = _choose(rng, np.array([p.share for p in PROTOCOLS]), len(sizes))[session]
    source = _choose(rng, _zipf(SOURCES, 1.0), len(sizes))[session]
    usual = _choose(rng, _zipf(DESTINATIONS, 0.9), len(sizes))[session]
    other = _choose(rng, _zipf(DESTINATIONS, 0.9), rows)
    destination = np.where(rng.random(rows) < ELSEWHERE, other, usual)
    seconds = rng.lognormal(np.log([p.seconds for p in PROTOCOLS])[protocol], 1.4)
    volume = rng.lognormal(np.log([p.size for p in PROTOCOLS])[protocol], 1.6)
    unfinished = rng.random(rows) < UNFINISHED

    columns = [
        pa.array(ts + START, pa.timestamp("us")),
        pa.array(seconds.round(6), mask=unfinished),
        pa.array([p.name for p in PROTOCOLS]).take(pa.array(protocol)),
        pa.array(volume.astype(np.int64), mask=unfinished),
        _addresses(rng, "10", SOURCES).take(pa.array(source)),
        _addresses(rng, "172", DESTINATIONS).take(pa.array(destination)),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA), destination % len(LINKS)


def _session_starts(rng: np.random.Generator, count: int, days: int) -> npt.NDArray[np.float64]:
    """Microseconds since the start: an afternoon peak, quiet week-ends, hours that are bursts."""
    minute = np.arange(days * 24 * 60)
    daily = 1.0 + 0.85 * np.cos((minute / 60 % 24 - 15) / 24 * 2 * np.pi)
    weekday = (minute // (24 * 60) + 3) % 7  # the first day is a Thursday
    busy = np.where(weekday < 5, 1.0, 0.35)
    bursts = np.repeat(rng.lognormal(0, 0.5, len(minute) // 10), 10)
    mass = np.concatenate([[0.0], np.cumsum(daily * busy * bursts)])
    minutes = np.interp(rng.random(count) * mass[-1], mass, np.arange(len(mass)))
    return np.asarray(minutes * MICROSECONDS["MINUTE"], np.float64)


def _zipf(count: int, exponent: float) -> npt.NDArray[np.float64]:
    return np.asarray(np.arange(1, count + 1) ** -exponent, np.float64)


def _choose(
    rng: np.random.Generator, weights: npt.NDArray[np.float64], count: int
) -> npt.NDArray[np.int64]:
    mass = np.cumsum(weights)
    return np.asarray(np.searchsorted(mass, rng.random(count) * mass[-1], side="right"))


def _addresses(rng: np.random.Generator, network: str, count: int) -> pa.Array:
    """Distinct addresses of a private network, in no order that tells how busy a host is."""
    low = rng.permutation(1 << 16)[:count]
    return pa.array([f"{network}.16.{n >> 8}.{n & 255}" for n in low])
