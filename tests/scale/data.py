"""Seeded streams and a relation, as large as asked for.

``k`` is a key to join on, ``g`` a group that lives for a while and never comes again, so that far
more groups are seen than live; ``n`` numbers the rows of a stream. Floating-point values are
quarters, so that sums are exact in any order.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

COLUMNS = "ts BIGINT, n BIGINT, k INT, g BIGINT, v BIGINT, x DOUBLE, s STRING"
DECLARATIONS = f"""
CREATE STREAM a ({COLUMNS}) TIMESTAMP BY ts;
CREATE STREAM b ({COLUMNS}) TIMESTAMP BY ts;
CREATE STREAM c ({COLUMNS}) TIMESTAMP BY ts;
CREATE RELATION r (k INT, w INT);
CREATE NRR nrr (k INT, w INT);
"""
SHARES = {"a": 0.5, "b": 0.3, "c": 0.2}
KEYS = 500
BEYOND = 130
"""How long time goes on after the last row: longer than most windows."""


@dataclass(frozen=True)
class Data:
    """Streams of ``size`` rows in all over ``ticks`` instants, and ``size / 20`` updates."""

    size: int
    ticks: int = 1_000
    seed: int = 1

    @cached_property
    def streams(self) -> dict[str, pa.Table]:
        rng = np.random.default_rng(self.seed)
        return {name: self._stream(rng, int(self.size * share)) for name, share in SHARES.items()}

    def _stream(self, rng: np.random.Generator, rows: int) -> pa.Table:
        ts = np.sort(rng.integers(1, self.ticks, rows))
        at_once = max(rows // self.ticks, 1)
        some = lambda: rng.random(rows) < 0.05  # noqa: E731
        columns = {
            "ts": ts,
            "n": np.arange(rows),
            "k": pa.array(rng.integers(0, KEYS, rows).astype(np.int32), mask=some()),
            "g": ts * at_once + rng.integers(0, 40 * at_once, rows),
            "v": pa.array(rng.integers(-1_000, 1_000, rows), mask=some()),
            "x": pa.array(rng.integers(-4_000, 4_000, rows) / 4, mask=some()),
            "s": pa.array([f"s{i}" for i in rng.integers(0, 300, rows)], mask=some()),
        }
        return pa.table(columns)

    @cached_property
    def lives(self) -> pa.Table:
        """The rows of the relation: each is there from ``start`` until before ``stop``.

        None comes a second time, since an NRR would refuse it.
        """
        rng = np.random.default_rng(self.seed + 1)
        found: list[tuple[int, int, int, int]] = []
        each = max(self.size // 20 // KEYS // 2, 1)
        for k in range(KEYS):
            times = np.unique(rng.integers(0, self.ticks, 2 * each))
            values = rng.choice(90, each, replace=False).tolist()
            for w, start, stop in zip(values, times[::2], times[1::2], strict=False):
                found.append((k, w, int(start), int(stop)))
        k, w, start, stop = zip(*found, strict=True)
        kinds = pa.array(k, pa.int32()), pa.array(w, pa.int32())
        return pa.table({"k": kinds[0], "w": kinds[1], "start": start, "stop": stop})

    @cached_property
    def updates(self) -> pa.Table:
        """The relation as it is pushed."""
        lives = self.lives
        signs = {"start": "+", "stop": "-"}
        parts = [
            pa.table(
                {
                    "instant": lives[column],
                    "change": [sign] * lives.num_rows,
                    "k": lives["k"],
                    "w": lives["w"],
                }
            )
            for column, sign in signs.items()
        ]
        return pa.concat_tables(parts).sort_by([("instant", "ascending"), ("change", "descending")])

    @property
    def end(self) -> int:
        return self.ticks + BEYOND

    @property
    def instants(self) -> tuple[int, ...]:
        """Early, while windows fill, three in the middle, at the end, and while windows empty."""
        last = self.ticks
        return (
            3,
            last // 25,
            last // 3 + 1,
            last // 2,
            last * 5 // 6 + 7,
            last,
            last + 45,
            self.end,
        )


def pieces(table: pa.Table, count: int) -> list[pa.Table]:
    """The table in ``count`` parts of nearly the same length, in order."""
    edges: npt.NDArray[np.int64] = np.linspace(0, table.num_rows, count + 1).astype(np.int64)
    return [table.slice(a, b - a) for a, b in itertools.pairwise(edges)]
