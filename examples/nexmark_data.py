"""Data for nexmark.cql: persons, auctions and bids of an auction house that does not exist.

    python examples/nexmark_data.py [DIRECTORY] [--events 1000000] [--format parquet]

The proportions are those of the Nexmark generator (Tucker, Tufte, Papadimos, Maier 2002, as Apache
Beam and the Nexmark project carry it on): of 50 events one is a person, three are auctions and 46
are bids, 10,000 events a second. Half of the bids are for one hot auction of the last hundred,
three quarters are by one hot bidder, three quarters of the auctions are by one hot seller; the
others are spread over the last 100 auctions and the last 1,000 people. Prices are log-uniform from
1 to a million, in cents. Events come in the order of their time, and none falls on a whole second,
so that no event is on the edge of a window: engines that count an edge to different windows agree.

The same arguments give the same rows.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

PERSONS, AUCTIONS, BIDS = 1, 3, 46
ROUND = PERSONS + AUCTIONS + BIDS
FIRST_ID, FIRST_CATEGORY, CATEGORIES = 1_000, 10, 5
HOT = 100
"""One in so many people and auctions is hot for a while."""
IN_FLIGHT, ACTIVE, LEAD = 100, 1_000, 10
"""Auctions that run, people who do something, and how many of each are named too early."""
CHANNELS = 10_000
UNQUOTED = pa.csv.WriteOptions(quoting_style="none")
"""No text has a comma, a quote or a newline in it."""
HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
FIRST_NAMES = ("Ada", "Boris", "Clara", "Dilip", "Edda", "Femi", "Greta", "Hugo", "Ines", "Jonas")
LAST_NAMES = ("Albrecht", "Baker", "Costa", "Dubois", "Eriksen", "Fischer", "Garcia", "Hoffman")
CITIES = ("Phoenix", "Palo Alto", "Boise", "Portland", "Bend", "Seattle", "Spokane", "Casper")
STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
BEGINNING = 1_714_557_600
"""Seconds since 1970, 2024-05-01 10:00: a multiple of every slide, and past (see AHEAD)."""


@dataclass(frozen=True)
class Nexmark:
    """So many events at so many a second; ``tables`` has them as Arrow."""

    events: int
    rate: int = 10_000
    seed: int = 0

    def tables(self, names: tuple[str, ...] = ("person", "auction", "bid")) -> dict[str, pa.Table]:
        """The streams, each in the order of time."""
        rng = np.random.default_rng(self.seed)
        number = np.arange(self.events)
        place = number % ROUND
        makers = {
            "person": (self._persons, place < PERSONS),
            "auction": (self._auctions, (place >= PERSONS) & (place < PERSONS + AUCTIONS)),
            "bid": (self._bids, place >= PERSONS + AUCTIONS),
        }
        return {name: makers[name][0](number[makers[name][1]], rng) for name in names}

    def millis(self, number: np.ndarray) -> np.ndarray:
        """When these events happen, from the first to the last millisecond of a second."""
        second, rest = np.divmod(number, self.rate)
        found: np.ndarray = (BEGINNING + second) * 1_000 + 1 + rest * 999 // self.rate
        return found

    def _persons(self, number: np.ndarray, rng: np.random.Generator) -> pa.Table:
        count = len(number)
        cards = pa.array(rng.integers(10**15, 10**16, count)).cast(pa.string())
        return pa.table(
            {
                "id": FIRST_ID + number // ROUND,
                "name": _choice(
                    [f"{first} {last}" for first in FIRST_NAMES for last in LAST_NAMES], count, rng
                ),
                "email": _words(count, 12, 20, rng),
                "credit_card": cards,
                "city": _choice(CITIES, count, rng),
                "state": _choice(STATES, count, rng),
                "date_time": _timestamps(self.millis(number)),
                "extra": _words(count, 90, 140, rng),
            }
        )

    def _auctions(self, number: np.ndarray, rng: np.random.Generator) -> pa.Table:
        count, person = len(number), number // ROUND
        ident = person * AUCTIONS + number % ROUND - PERSONS
        seller = np.where(_chance(3, 4, count, rng), person // HOT * HOT, _people(person, rng))
        initial, at = _prices(count, rng), self.millis(number)
        # On average an auction is over when as many have begun as are in flight.
        length = 1_000 * IN_FLIGHT * ROUND // AUCTIONS // self.rate
        return pa.table(
            {
                "id": FIRST_ID + ident,
                "item_name": _words(count, 5, 20, rng),
                "description": _words(count, 30, 100, rng),
                "initial_bid": initial,
                "reserve": initial + _prices(count, rng),
                "date_time": _timestamps(at),
                "expires": _timestamps(at + 1 + rng.integers(0, max(2 * length, 1), count)),
                "seller": FIRST_ID + seller,
                "category": FIRST_CATEGORY + rng.integers(0, CATEGORIES, count),
                "extra": _words(count, 300, 400, rng),
            }
        )

    def _bids(self, number: np.ndarray, rng: np.random.Generator) -> pa.Table:
        count, person = len(number), number // ROUND
        last = person * AUCTIONS + AUCTIONS - 1
        oldest = np.maximum(last - IN_FLIGHT, 0)
        any_auction = oldest + rng.integers(0, last - oldest + 1 + LEAD)
        any_person = _people(person, rng)
        channel, url = _channels(count, rng)
        return pa.table(
            {
                "auction": FIRST_ID
                + np.where(_chance(1, 2, count, rng), last // HOT * HOT, any_auction),
                "bidder": FIRST_ID
                + np.where(_chance(3, 4, count, rng), person // HOT * HOT + 1, any_person),
                "price": _prices(count, rng),
                "channel": channel,
                "url": url,
                "date_time": _timestamps(self.millis(number)),
                "extra": _words(count, 40, 60, rng),
            }
        )


def _chance(of: int, times: int, count: int, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, times, count) < of


def _people(last: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Anybody of those who are active, or who will be there soon."""
    active = np.minimum(last + 1, ACTIVE)
    found: np.ndarray = last + 1 - active + rng.integers(0, active + LEAD)
    return found


def _prices(count: int, rng: np.random.Generator) -> np.ndarray:
    return np.rint(100 * 10 ** (6 * rng.random(count))).astype(np.int64)


def _timestamps(millis: np.ndarray) -> pa.Array:
    return pa.array(millis * 1_000, pa.timestamp("us"))


def _choice(values: tuple[str, ...] | list[str], count: int, rng: np.random.Generator) -> pa.Array:
    return pa.array(values).take(pa.array(rng.integers(0, len(values), count)))


def _words(count: int, least: int, most: int, rng: np.random.Generator) -> pa.Array:
    """Letters, so many in each."""
    offsets = np.zeros(count + 1, np.int32)
    np.cumsum(rng.integers(least, most + 1, count), out=offsets[1:])
    letters = rng.integers(ord("a"), ord("z") + 1, offsets[-1], dtype=np.uint8)
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(letters))


def _channels(count: int, rng: np.random.Generator) -> tuple[pa.Array, pa.Array]:
    """Half of the bids come over four channels; nine of ten others have their number in the URL."""
    names = [*HOT_CHANNELS, *(f"channel-{n}" for n in range(CHANNELS))]
    parts = [_words(len(names), 3, 6, rng).to_pylist() for _ in range(3)]
    urls = [
        f"https://auctions.example/{a}/{b}/{c}/item?query=1" for a, b, c in zip(*parts, strict=True)
    ]
    known = _chance(9, 10, CHANNELS, rng)
    for n in np.flatnonzero(known).tolist():
        urls[len(HOT_CHANNELS) + n] += f"&channel_id={n * 7_919 % 1_000_003}"
    hot = _chance(1, 2, count, rng)
    chosen = pa.array(
        np.where(
            hot,
            rng.integers(0, len(HOT_CHANNELS), count),
            rng.integers(len(HOT_CHANNELS), len(names), count),
        )
    )
    return pa.array(names).take(chosen), pa.array(urls).take(chosen)


def write_tables(
    tables: dict[str, pa.Table], directory: Path, form: str = "parquet", files: int = 10
) -> None:
    """Each table in a directory of its name, cut into files that follow each other in time."""
    for name, rows in tables.items():
        place = directory / name
        place.mkdir(parents=True, exist_ok=True)
        step = max(-(-len(rows) // files), 1)
        for n, start in enumerate(range(0, len(rows), step)):
            path = place / f"{n:04}.{form}"
            if form == "csv":
                pa.csv.write_csv(rows.slice(start, step), path, UNQUOTED)
            else:
                pa.parquet.write_table(rows.slice(start, step), path)


def write_side_input(directory: Path) -> None:
    """What query 13 joins with: a value for each key."""
    keys = np.arange(10_000)
    rows = pa.table({"id": keys, "value": pa.array([f"value-{n}" for n in keys.tolist()])})
    directory.mkdir(parents=True, exist_ok=True)
    pa.csv.write_csv(rows, directory / "side_input.csv")


def main() -> None:
    """Write the files that nexmark.cql reads."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("directory", nargs="?", type=Path, default=Path("data/nexmark"))
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rate", type=int, default=10_000, help="events in a second of their time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--format", choices=("parquet", "csv"), default="parquet")
    asked = parser.parse_args()
    tables = Nexmark(asked.events, asked.rate, asked.seed).tables()
    write_tables(tables, asked.directory, asked.format)
    write_side_input(asked.directory)
    rows = ", ".join(f"{len(table):,} rows of {name}" for name, table in tables.items())
    print(f"{rows} in {asked.directory}")


if __name__ == "__main__":
    main()
