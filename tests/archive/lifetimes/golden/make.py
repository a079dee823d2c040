"""Makes those golden indexes of the current format version that are not there yet.

    python -m tests.archive.lifetimes.golden.make <mark>

Each index is a directory ``<version>-<runs' format>-<layout>-<mark>`` beside this file; the mark
says what was new in the format then (``summed``: manifests end with a checksum; the first had no
mark), the layout is ``chronological`` or ``draining`` (in the middle of a migration), and is not
named if it is one of the first two. An index once committed stays as it is: it must always open.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa

from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.lifetimes.partition_grid import Chronological, Grid, GridTechnique, Randomised
from windrow.archive.versions.manifest import FORMAT_VERSION

HERE = Path(__file__).parent
SCHEMA = pa.schema([("k", pa.string()), ("v", pa.int64())])
LONGEST, INTERVAL, LAST = 40, 5, 61


def records(now: int) -> tuple[pa.Table, pa.Array]:
    """The same for the same instant: ten records with ten lifetimes, a key missing."""
    rows = range(10)
    keys = [None if i == 7 else f"k{(now + i) % 4}" for i in rows]
    values = [100 * now + i for i in rows]
    lives = [1 + (7 * now + 11 * i) % LONGEST for i in rows]
    return pa.table({"k": keys, "v": values}, schema=SCHEMA), pa.array([now + n for n in lives])


def instants() -> list[int]:
    """Boundaries, a gap, and an instant between boundaries."""
    return [*range(5, 40, 5), 55, 60, LAST]


CHRONOLOGICAL = Grid(2, 2, GridTechnique.NO_REBUILD, Chronological())
GRIDS = {
    "arrow": ("arrow", Grid(2, 3)),
    "parquet": ("parquet", Grid(3, 2, GridTechnique.REBUILD, Randomised(4))),
    "arrow-chronological": ("arrow", CHRONOLOGICAL),
    "parquet-draining": ("parquet", Grid(2, 3, GridTechnique.REBUILD)),
}


def main(mark: str) -> None:
    for name, (form, grid) in GRIDS.items():
        path = HERE / f"{FORMAT_VERSION}-{name}-{mark}"
        if path.exists():
            continue
        index = LifetimeIndex.create(
            path, SCHEMA, "k", longest=LONGEST, interval=INTERVAL, grid=grid, format=form
        )
        for number, now in enumerate(instants()):
            if name == "parquet-draining" and now == LAST - 1:
                index.migrate(grid=CHRONOLOGICAL, how="drain")
            index.insert(now, *records(now), batch=("golden", number))
        index.vacuum()


if __name__ == "__main__":
    main(sys.argv[1])
