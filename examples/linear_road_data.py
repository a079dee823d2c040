"""Data for linear_road.cql: the position reports of vehicles on toll roads.

    python examples/linear_road_data.py [DIRECTORY] [--vehicles 20000]

After the description of the Linear Road benchmark (Arasu, Cherniack, Galvez, Maier, Maskey,
Ryvkina, Stonebraker, Tibbetts 2004): an expressway has two directions of 100 segments, each a mile
long, three travel lanes, an entrance (lane 0) and an exit lane (4); a vehicle reports every 30
seconds where it is, in feet, and how fast, from the ramp on which it comes to the one by which it
leaves. In the middle of the road everybody is slow, which makes tolls; now and then two vehicles
stop at one place, which is an accident. One report in a hundred comes with a question for the
vehicle's balance.

The same arguments give the same rows.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

MILE = 5_280
SEGMENTS = 100
EVERY = 30
"""Seconds between two reports of a vehicle."""
ENTRANCE, EXIT = 0, 4
SLOW = range(40, 60)
"""Segments in which there is too much traffic."""
REPORT = ("time", "vid", "speed", "xway", "lane", "dir", "seg", "pos")


@dataclass(frozen=True)
class LinearRoad:
    """So many vehicles in so many seconds; every ``accidents`` seconds some collide."""

    vehicles: int
    seconds: int = 1_800
    expressways: int = 1
    accidents: int = 300
    seed: int = 0

    def tables(self) -> dict[str, pa.Table]:
        """Position reports and questions for balances, in the order of time."""
        rng = np.random.default_rng(self.seed)
        traffic = _Traffic(self, rng)
        ticks = [traffic.reports(tick) for tick in range(-(-self.seconds // EVERY))]
        columns = [np.concatenate(parts) for parts in zip(*ticks, strict=True)]
        order = np.lexsort((columns[1], columns[0]))
        rows = pa.table([pa.array(c[order]) for c in columns], list(REPORT))
        asking = np.flatnonzero(rng.integers(0, 100, len(rows)) == 0)
        questions = pa.table(
            {
                "time": rows["time"].take(pa.array(asking)),
                "vid": rows["vid"].take(pa.array(asking)),
                "qid": np.arange(len(asking)),
            }
        )
        return {"reports": rows, "questions": questions}


class _Traffic:
    """Where all vehicles are, moved on by 30 seconds at a time, each with a second of its own."""

    def __init__(self, road: LinearRoad, rng: np.random.Generator) -> None:
        count = road.vehicles
        self._road, self._rng = road, rng
        self._start = rng.integers(1, road.seconds + 1, count)
        self._xway = rng.integers(0, road.expressways, count)
        self._direction = rng.integers(0, 2, count)
        entrance = np.where(
            rng.random(count) < 0.7, rng.integers(30, 45, count), rng.integers(0, 75, count)
        )
        self._driven = entrance * MILE + rng.integers(0, MILE, count)  # feet from its road's begin
        self._goal = np.minimum(entrance + rng.integers(5, 40, count), SEGMENTS - 1) * MILE
        self._lane = np.full(count, ENTRANCE)
        self._gone = np.zeros(count, bool)
        self._stopped_until = np.zeros(count, np.int64)

    def reports(self, tick: int) -> list[np.ndarray]:
        """What the vehicles that are on the road report in the 30 seconds after this tick."""
        time = tick * EVERY + self._start % EVERY
        on = ~self._gone & (self._start <= time) & (time <= self._road.seconds) & (time > 0)
        if tick % max(self._road.accidents // EVERY, 1) == 3:
            self._collide(tick, on)
        segment = self._driven // MILE
        slow = (segment >= SLOW.start) & (segment < SLOW.stop)
        speed = np.where(slow, 18, 50) + self._rng.integers(0, 16, len(time))
        speed[self._stopped_until > tick] = 0
        leaving = on & (self._driven >= self._goal)
        self._lane[leaving] = EXIT
        place = np.where(self._direction == 0, self._driven, SEGMENTS * MILE - 1 - self._driven)
        vid = np.arange(len(time))
        columns = (
            time, vid, speed, self._xway, self._lane, self._direction, place // MILE, place
        )  # fmt: skip
        found = [column[on] for column in columns]
        self._gone |= leaving
        self._driven = np.where(on, self._driven + speed * MILE * EVERY // 3_600, self._driven)
        moving = on & (speed > 0)
        self._lane = np.where(moving, self._rng.integers(1, 4, len(time)), self._lane)
        return found

    def _collide(self, tick: int, on: np.ndarray) -> None:
        """In each direction one, and the nearest that travels the same way, stop at one place."""
        ready = on & (self._lane != ENTRANCE) & (self._driven + MILE < self._goal)
        for direction in (0, 1):
            able = np.flatnonzero(ready & (self._direction == direction))
            if not len(able):
                continue
            one = self._rng.choice(able)
            able = able[(self._xway[able] == self._xway[one]) & (able != one)]
            if not len(able):
                continue
            other = able[np.argmin(np.abs(self._driven[able] - self._driven[one]))]
            for places in (self._driven, self._lane, self._goal):
                places[other] = places[one]
            self._stopped_until[[one, other]] = tick + self._rng.integers(6, 13)


def write_tables(tables: dict[str, pa.Table], directory: Path, files: int = 10) -> None:
    """Each table in a directory of its name, cut into files that follow each other in time."""
    for name, rows in tables.items():
        place = directory / name
        place.mkdir(parents=True, exist_ok=True)
        step = max(-(-len(rows) // files), 1)
        for n, start in enumerate(range(0, len(rows), step)):
            pa.parquet.write_table(rows.slice(start, step), place / f"{n:04}.parquet")


def main() -> None:
    """Write the files that linear_road.cql reads."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("directory", nargs="?", type=Path, default=Path("data/linear_road"))
    parser.add_argument("--vehicles", type=int, default=20_000)
    parser.add_argument("--seconds", type=int, default=10_800)
    parser.add_argument("--expressways", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    road = LinearRoad(asked.vehicles, asked.seconds, asked.expressways, seed=asked.seed)
    tables = road.tables()
    write_tables(tables, asked.directory)
    rows = ", ".join(f"{len(table):,} {name}" for name, table in tables.items())
    print(f"{rows} in {asked.directory}")


if __name__ == "__main__":
    main()
