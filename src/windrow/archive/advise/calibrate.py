"""What the archive's operations take on this disk with this data: prices for the cost model.

Each operation is done by the code that an archive does it with, in a directory made for this, at
two sizes: a line through both gives what it costs each time and what it costs for a day of data. A
measurement is repeated and the least is taken: what else the machine does only ever adds.
Probes and scans are timed twice: with the files in memory, and with nothing of them there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.archive.advise.cold_cache import can_evict, evict
from windrow.archive.advise.rehearse import ColdPrices, Line, Prices
from windrow.archive.archive import Archive
from windrow.archive.format.disk import Disk
from windrow.archive.format.layout import Layout
from windrow.archive.format.run_ref import FOLDER, Format, RunRef
from windrow.archive.runs.encoding import decode
from windrow.archive.runs.run import Run
from windrow.archive.versions.pinned_reader import PinnedReader
from windrow.archive.wave.techniques import Copied, Merged, Piece, Planned
from windrow.archive.wave.wave import Part
from windrow.archive.wave.writer import Writer

DAYS = 4
PROBES = 100
TIMES, ENOUGH = 5, 1.0
"""How often something is measured; after so many seconds in all that is enough."""
COLD_KEYS, COLD_TIMES = 6, 3
"""Keys that are looked up with nothing in memory, and how often each is."""
MEGA = 1e6
PAGE = 4096
Timer = Callable[[], float]


def measure_prices(
    sample: pa.Table,
    key: Sequence[str],
    rows: int,
    directory: Path,
    form: Format,
    timer: Timer,
    scanned: Sequence[str] | None = None,
) -> Prices:
    """The prices of an archive whose days have so many rows of the sample's kind.

    ``scanned`` are the columns that scans read, all if None.
    """
    days = [sample.slice(i * sample.num_rows // DAYS, sample.num_rows // DAYS) for i in range(DAYS)]
    scale = rows / days[0].num_rows
    bench = _Bench(directory / "runs", Layout(sample.schema, tuple(key)), form, timer)
    write = bench.line(
        [lambda: bench.day(1, days[0].slice(0, len(days[0]) // 8)), lambda: bench.day(1, days[0])],
        (1 / 8, 1.0),
        scale,
    )
    parts = [Part(bench.day(number, day)) for number, day in enumerate(days, start=1)]
    few, all_of_them = Merged(tuple(parts[:2])), Merged(tuple(parts))
    merge = bench.line(
        [lambda: bench.piece(few), lambda: bench.piece(all_of_them)], (2.0, float(DAYS)), scale
    )
    whole = bench.piece(all_of_them)
    copy = bench.line(
        [lambda: bench.piece(Copied(parts[0], "")), lambda: bench.piece(Copied(whole, ""))],
        (1.0, float(DAYS)),
        scale,
    )
    return Prices(
        publish=_publish_seconds(sample, key, directory, timer),
        write=write.of(1, 1),
        merge=merge,
        copy=copy,
        **_query_prices(sample, days, key, directory, form, timer, scale, scanned),
        space=_sizes([part.run.bytes for part in parts], whole.run.bytes, scale),
    )


class _Bench:
    """A writer at work in a directory of its own, and a stop-watch."""

    def __init__(self, directory: Path, layout: Layout, form: Format, timer: Timer) -> None:
        disk = Disk(directory)
        disk.make_folder(FOLDER)
        self._writer = Writer(disk, layout, form, {}, "advise", partial(Run, disk, layout))
        self._timer = timer

    def day(self, number: int, rows: pa.Table) -> RunRef:
        run = self._writer.day(number, rows)
        assert run is not None, "a sample has rows"
        return run

    def piece(self, piece: Piece) -> Part:
        [index] = self._writer.indexes({"bench": Planned((), (piece,), changed=True)}).values()
        return index.parts[0]

    def line(
        self, works: Sequence[Callable[[], Any]], sizes: tuple[float, float], scale: float
    ) -> Line:
        """The line through two sizes, in days of the sample; ``scale`` of them are a day."""
        small, large = (least_seconds(work, self._timer) for work in works)
        return _through(small, large, sizes, scale)


def _through(small: float, large: float, sizes: tuple[float, float], scale: float) -> Line:
    slope = max((large - small) / (sizes[1] - sizes[0]), 0.0)
    return Line(max(small - slope * sizes[0], 0.0), slope * scale)


def _sizes(days: Sequence[int], whole: int, scale: float) -> Line:
    """S' and S: what the days take each by itself, and together in one run."""
    return _through(fmean(days) / MEGA, whole / MEGA, (1.0, float(DAYS)), scale)


def _publish_seconds(sample: pa.Table, key: Sequence[str], directory: Path, timer: Timer) -> float:
    """A version that has no new data: a lease, a step on paper, a manifest."""
    archive = Archive.create(
        directory / "versions", sample.schema, tuple(key),
        window=DAYS, scheme="DEL", n=DAYS, technique="in-place",
    )  # fmt: skip
    nothing, numbers = sample.slice(0, 0), iter(range(1, 2 * TIMES))
    return least_seconds(lambda: archive.append(day := next(numbers), nothing, now=day), timer)


def _query_prices(
    sample: pa.Table,
    days: Sequence[pa.Table],
    key: Sequence[str],
    directory: Path,
    form: Format,
    timer: Timer,
    scale: float,
    columns: Sequence[str] | None,
) -> dict[str, Any]:
    """Probes of one run and of several; scans of them, and of a day out of one.

    A scan is zero-copy where runs are mapped: it hands over what it has not looked at, encoded as
    it is stored. So what has to be done with that is measured too, or scans would seem free; and
    as it is a few times a day, without memory at hand from the time before.
    """

    def archive(name: str, n: int) -> Archive:
        made = Archive.create(
            directory / name, sample.schema, tuple(key),
            window=DAYS, scheme="DEL", n=n, technique="packed shadow", format=form,
        )  # fmt: skip
        made.append_days(dict(enumerate(days, start=1)), now=DAYS)
        return made

    keys = sample_keys(sample, key)
    with archive("one", 1).reader() as one, archive("many", DAYS).reader() as many:
        probe, probes = (
            least_seconds(partial(probe_keys, r, keys), timer) / len(keys) for r in (one, many)
        )
        scan, scans = (
            least_seconds(partial(scan_pages, r, None, columns), timer) for r in (one, many)
        )
        some = least_seconds(partial(scan_pages, one, DAYS, columns), timer)
        cold = _cold_prices(
            {directory / "one": one, directory / "many": many}, keys, timer, scale, columns
        )
        consume = least_seconds(partial(_add_up, one.scan(columns=columns)), timer, _without_memory)
    search = max((probes - probe) / (DAYS - 1), 1e-9)
    line = _scan_line(scan, scans, scale)
    return {
        "probe": max(probe - search, 0.0),
        "search": search,
        "scan": line,
        "sieve": max(some - line.fixed, 1e-9) / DAYS * scale,
        "consume": consume / DAYS * scale,
        "cold": cold,
    }


def _scan_line(one: float, many: float, scale: float) -> Line:
    """From scans of one run and of as many as there are days."""
    each = max((many - one) / (DAYS - 1), 0.0)
    return Line(each, max(one - each, 1e-9) / DAYS * scale)


def _cold_prices(
    readers: Mapping[Path, PinnedReader],
    keys: Sequence[Any],
    timer: Timer,
    scale: float,
    columns: Sequence[str] | None,
) -> ColdPrices | None:
    """The same of files that are not in memory; None where they cannot be dropped from it."""
    if not can_evict():
        return None
    probe, probes = (cold_probe(reader, keys, place, timer) for place, reader in readers.items())
    scan, scans = (
        least_seconds(partial(scan_pages, reader, None, columns), timer, partial(evict, place))
        for place, reader in readers.items()
    )
    search = max((probes - probe) / (DAYS - 1), 1e-9)
    return ColdPrices(max(probe - search, 0.0), search, _scan_line(scan, scans, scale))


def cold_probe(reader: PinnedReader, keys: Sequence[Any], place: Path, timer: Timer) -> float:
    """Seconds of a probe that finds nothing in memory: for some keys the least, of these the mean.

    The least, because a probe is a dozen reads of a page, and what else uses the disk at the time
    makes them ten times as slow, and never faster.
    """
    some = keys[:: max(len(keys) // COLD_KEYS, 1)][:COLD_KEYS]
    return fmean(
        least_seconds(partial(reader.probe, key), timer, partial(evict, place), COLD_TIMES)
        for key in some
    )


def sample_keys(sample: pa.Table, key: Sequence[str]) -> list[Any]:
    """Keys as often as they occur."""
    places = pa.array(np.linspace(0, sample.num_rows - 1, PROBES).astype(np.int64))
    columns = [sample.column(name).take(places).to_pylist() for name in key]
    found = [tuple(map(_one, values)) for values in zip(*columns, strict=True)]
    return [one[0] for one in found] if len(key) == 1 else found


def _one(value: Any) -> Any:
    """A value of a search field; of several, one."""
    return (value[0] if value else None) if isinstance(value, list) else value


def probe_keys(reader: PinnedReader, keys: Sequence[Any]) -> None:
    for key in keys:
        reader.probe(key)


def scan_pages(reader: PinnedReader, first: int | None, columns: Sequence[str] | None) -> None:
    """Read every page of an answer, which may be a mapped file that nobody has looked at yet."""
    for column in reader.scan(first, columns=columns).columns:
        for chunk in column.chunks:
            for buffer in chunk.buffers():
                if buffer is not None:
                    np.frombuffer(buffer, np.uint8)[::PAGE].sum()


def _add_up(rows: pa.Table) -> None:
    """Look at every value: in plain types, numbers summed. An aggregate does no less (2.1)."""
    for column in decode(rows).columns:
        kind = column.type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            pc.sum(column)


def _without_memory() -> None:
    pa.default_memory_pool().release_unused()


def least_seconds(
    work: Callable[[], Any],
    timer: Timer,
    before: Callable[[], None] = lambda: None,
    most: int = TIMES,
) -> float:
    """The shortest of several times, after one that is not counted; ``before`` never is."""
    work()
    times: list[float] = []
    while len(times) < most and sum(times) < ENOUGH:
        before()
        began = timer()
        work()
        times.append(timer() - began)
    return min(times)
