"""Days of flow records: eight columns, three of them strings, looked up by source address.

Times are microseconds, as integers: SQLite and stores of packed values have no other, and rows of
Python values are the same for all.

How much the sources send is log-normal; a tenth of them sends several times the median. There are
as many sources as make a hundred records of each in a window, at any size.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

KEY = "src"
SCHEMA = pa.schema(
    {
        "ts": pa.int64(),
        "src": pa.string(),
        "dst": pa.string(),
        "proto": pa.string(),
        "sport": pa.int32(),
        "dport": pa.int32(),
        "packets": pa.int32(),
        "bytes": pa.int64(),
    }
)
PER_KEY = 100
_DAY = 86_400_000_000
_PROTOCOLS = pa.array(["tcp", "udp", "icmp", "gre"])
_PORTS = np.array([22, 25, 53, 80, 443, 8080], np.int32)


@dataclass(frozen=True)
class Days:
    """Days 1, 2, 3, ... of ``rows`` records each, made again from the seed whenever asked for."""

    rows: int
    window: int
    seed: int = 1

    @cached_property
    def hosts(self) -> pa.Array:
        wanted = self.rows * self.window // PER_KEY
        numbers = np.random.default_rng(self.seed).choice(254**3, wanted, replace=False)
        parts = [(numbers // 254**i % 254 + 1).astype(str) for i in (2, 1, 0)]
        names = parts[0]
        for part in parts[1:]:
            names = np.strings.add(np.strings.add(names, "."), part)
        return pa.array(np.strings.add("10.", names))

    @cached_property
    def _share(self) -> np.ndarray:
        weights = np.random.default_rng([self.seed, 1]).lognormal(0, 1, len(self.hosts))
        return np.cumsum(weights) / weights.sum()

    def keys(self, count: int, seed: int) -> list[str]:
        """Sources to look up, any as likely as any other."""
        places = np.random.default_rng([self.seed, 2, seed]).integers(0, len(self.hosts), count)
        found: list[str] = self.hosts.take(pa.array(places)).to_pylist()
        return found

    def day(self, number: int) -> pa.Table:
        """The records of a day in the order of their time."""
        rng = np.random.default_rng([self.seed, 3, number])
        rows = self.rows
        source = np.searchsorted(self._share, rng.random(rows))
        columns = [
            np.sort(rng.integers(0, _DAY, rows)) + number * _DAY,
            self.hosts.take(pa.array(source)),
            self.hosts.take(pa.array(rng.integers(0, len(self.hosts), rows))),
            _PROTOCOLS.take(pa.array(rng.choice(4, rows, p=[0.7, 0.2, 0.08, 0.02]))),
            rng.integers(1_024, 65_536, rows),
            rng.choice(_PORTS, rows),
            rng.integers(1, 200, rows),
            rng.lognormal(7, 1.5, rows).astype(np.int64) + 40,
        ]
        arrays = [pa.array(c).cast(f.type) for c, f in zip(columns, SCHEMA, strict=True)]
        return pa.table(arrays, schema=SCHEMA)
