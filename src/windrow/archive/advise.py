"""Which layout suits somebody's data, on somebody's disk: measured on a sample, then reckoned.

The sample is cut into a few days. On an archive in a directory of its own, made for this and
thrown away, each price of the cost model (``costs.parameters``) is measured with the archive's own
code: building a packed index of a day, adding a day to an index in place, masking one out, copying,
merging; the bytes of each; what a probe costs for each run that it looks into, and how fast a scan
reads. Prices are scaled to the rows of a real day. Time is told by the ``timer`` that is given.

A measurement is repeated and the least is taken: what else the machine does only ever adds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.archive.archive import Archive
from windrow.archive.costs.constraints import Constraints
from windrow.archive.costs.formats import FormatChoice, FormatCost, choose_format
from windrow.archive.costs.parameters import Parameters
from windrow.archive.costs.recommend import Recommendation, recommend
from windrow.archive.errors import ArchiveError
from windrow.archive.runs.ref import Format
from windrow.archive.wave import TechniqueName

DAYS = 4
PROBES = 200
TIMES = 3
FEWEST = 1_000
MEGA = 1e6
PAGE = 4096
GROWTH = 2.0
"""An index that is not packed takes in (g - 1) times its days before its runs are merged: half as
many are there on average, and each day pays its share of the merge."""
Timer = Callable[[], float]


@dataclass(frozen=True)
class Workload:
    """What is expected of the archive. Rows, probes and scans are those of a day."""

    window: int
    rows: int
    probes: float
    scans: float


@dataclass(frozen=True)
class Advice:
    """The best layouts, best first; the run format; and the prices that they follow from."""

    recommendations: tuple[Recommendation, ...]
    format: FormatChoice
    parameters: Parameters


@dataclass(frozen=True)
class _Prices:
    """What was measured with one run format, for a day of the sample."""

    parameters: Parameters
    cost: FormatCost


def advise(
    sample: pa.Table,
    key: str | Sequence[str],
    workload: Workload,
    directory: Path,
    timer: Timer,
    constraints: Constraints | None = None,
) -> Advice:
    """Measure both run formats below ``directory`` and recommend.

    Takes some seconds for a sample of a million rows. ``directory`` should be on the disk that the
    archive will be on; what is made there is left for the caller to remove.
    """
    if sample.num_rows < FEWEST:
        raise ArchiveError(
            where="sample", expected=f"at least {FEWEST:,} rows", found=f"{sample.num_rows:,}"
        )
    forms: tuple[Format, Format] = ("arrow", "parquet")
    arrow, parquet = (
        _measured(sample, key, workload, directory / form, form, timer) for form in forms
    )
    choice = choose_format(arrow.cost, parquet.cost, probes=workload.probes, scans=workload.scans)
    prices = arrow if choice.chosen is arrow.cost else parquet
    found = recommend(workload.window, prices.parameters, constraints or Constraints())
    return Advice(tuple(found), choice, prices.parameters)


def _measured(
    sample: pa.Table,
    key: str | Sequence[str],
    workload: Workload,
    directory: Path,
    form: Format,
    timer: Timer,
) -> _Prices:
    days = [sample.slice(i * sample.num_rows // DAYS, sample.num_rows // DAYS) for i in range(DAYS)]
    scale = workload.rows / days[0].num_rows

    def archive(name: str, technique: TechniqueName, n: int = 1) -> Archive:
        named = (key,) if isinstance(key, str) else tuple(key)
        return Archive.create(
            directory / name, sample.schema, named,
            window=DAYS, scheme="DEL", n=n, technique=technique, growth=1e9, format=form,
        )  # fmt: skip

    nothing = sample.slice(0, 0)
    publish = _least(TIMES, lambda i: archive(f"empty{i}", "in-place").append(1, nothing, now=1),
                     timer)  # fmt: skip
    build = _least(
        TIMES, lambda i: archive(f"build{i}", "packed shadow").append(1, days[0], now=1), timer
    )
    grown, add = archive("grown", "in-place"), float("inf")
    for number, day in enumerate(days, start=1):
        add = min(add, _timed(partial(grown.append, number, day, now=number), timer))
    delete = _timed(lambda: grown.append(DAYS + 1, nothing, now=DAYS + 1), timer)
    unpacked = grown.stat().bytes / DAYS
    copied = _copied(archive("copied", "simple shadow"), days, timer)
    packed_archive = archive("packed", "packed shadow")
    smart = _copied(packed_archive, days, timer)
    packed = packed_archive.stat().bytes / DAYS
    many = archive("many", "packed shadow", n=DAYS)
    for number, day in enumerate(days, start=1):
        many.append(number, day, now=number)
    seek, transfer, scan = _asked(packed_archive, many, sample, key, timer)
    parameters = Parameters(
        seek=seek,
        transfer=transfer,
        packed=packed * scale / MEGA,
        unpacked=unpacked * scale / MEGA,
        bucket=_bucket(sample, key, packed) * scale / MEGA,
        build=publish + max(build - publish, 0) * scale,
        add=publish + (max(add - publish, 0) + smart / (GROWTH - 1)) * scale,
        delete=max(delete, publish),
        copy=publish + copied * scale,
        smart_copy=publish + smart * scale,
        probes=workload.probes,
        scans=workload.scans,
        runs=(GROWTH - 1) / 2,
    )
    probe = seek * max(1, min(workload.window, DAYS))
    cost = FormatCost(
        form, probe, scan * scale * workload.window / DAYS, parameters.build,
        parameters.packed * workload.window,
    )  # fmt: skip
    return _Prices(parameters, cost)


def _copied(archive: Archive, days: Sequence[pa.Table], timer: Timer) -> float:
    """What each further day of an index costs an update: the slope from one day to all of them."""
    times = []
    for number, day in enumerate(days, start=1):
        times.append(_timed(partial(archive.append, number, day, now=number), timer))
    return max((times[-1] - times[0]) / (len(times) - 1), 1e-6)


def _asked(
    packed: Archive, many: Archive, sample: pa.Table, key: str | Sequence[str], timer: Timer
) -> tuple[float, float, float]:
    """Seconds per run of a probe, megabytes per second and seconds of a scan."""
    names = (key,) if isinstance(key, str) else tuple(key)
    places = np.linspace(0, sample.num_rows - 1, PROBES).astype(np.int64)
    columns = [sample.column(name).take(pa.array(places)).to_pylist() for name in names]
    keys: list[Any] = [
        _one(values[0]) if len(values) == 1 else tuple(map(_one, values))
        for values in zip(*columns, strict=True)
    ]
    with many.reader() as reader:
        reader.probe(keys[0])
        taken = _least(TIMES, lambda _: [reader.probe(k) for k in keys], timer)
    with packed.reader() as reader:
        scan = _least(TIMES, lambda _: _touch(reader.scan()), timer)
    size = packed.stat().bytes / MEGA
    return taken / PROBES / DAYS, size / max(scan, 1e-9), scan


def _touch(table: pa.Table) -> None:
    """Read every page of an answer, which may be a mapped file that nobody has looked at yet."""
    for column in table.columns:
        for chunk in column.chunks:
            for buffer in chunk.buffers():
                if buffer is not None:
                    np.frombuffer(buffer, np.uint8)[::PAGE].sum()


def _one(value: Any) -> Any:
    """A value of a search field; of several, one."""
    return (value[0] if value else None) if isinstance(value, list) else value


def _bucket(sample: pa.Table, key: str | Sequence[str], bytes_per_day: float) -> float:
    """Bytes of the entries of one key on one day, on average."""
    name = key if isinstance(key, str) else key[0]
    column = sample.column(name)
    values = pa.concat_arrays([c.flatten() for c in column.chunks]) if pa.types.is_list(
        column.type) else column  # fmt: skip
    return bytes_per_day / max(len(values.unique()), 1)


def _timed(work: Callable[[], Any], timer: Timer) -> float:
    began = timer()
    work()
    return timer() - began


def _least(times: int, work: Callable[[int], Any], timer: Timer) -> float:
    return min(_timed(partial(work, i), timer) for i in range(times))
