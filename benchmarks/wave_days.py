"""Days of data like those of the paper's case studies (Shivakumar, Garcia-Molina 1997, 5).

LINEITEM is TPC-H's, from tpchgen-cli, by ship date; a day of ours is several dates, so that it is
worth indexing. Articles are made up: their words follow Zipf's law, and every word is a search
value.
"""

from __future__ import annotations

import datetime
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

FIRST_DATE = datetime.date(1994, 1, 1)
COLUMNS = (
    "l_orderkey",
    "l_partkey",
    "l_suppkey",
    "l_quantity",
    "l_extendedprice",
    "l_discount",
    "l_tax",
    "l_returnflag",
    "l_linestatus",
    "l_shipdate",
)
VOCABULARY = 50_000


@dataclass(frozen=True)
class Data:
    """Days of records, and what is asked of them.

    ``keys`` are probed for; scans compute the sum of a column, over the newest day only if
    ``newest``.
    """

    name: str
    key: str
    days: dict[int, pa.Table]
    keys: tuple[object, ...]
    newest: bool
    summed: str

    def records(self, first: int, last: int) -> pa.Table:
        """All records of some days."""
        return pa.concat_tables([self.days[day] for day in range(first, last + 1)])

    def having(self, rows: pa.Table, key: object) -> pa.Table:
        """The records with a search value; one with many of them is there once."""
        column = rows.column(self.key).combine_chunks()
        if not pa.types.is_list(column.type):
            return rows.filter(pc.equal(column, key))
        found = pc.list_parent_indices(column).filter(pc.equal(pc.list_flatten(column), key))
        return rows.take(pc.unique(found))


def lineitem(scale: float, days: int, dates_per_day: int) -> Data:
    with tempfile.TemporaryDirectory(prefix="windrow-tpch-") as place:
        tool = Path(sys.prefix) / "bin" / "tpchgen-cli"
        command = [tool, "parquet", "-s", str(scale), "--tables=lineitem", f"--output-dir={place}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        rows = parquet.read_table(Path(place) / "lineitem.parquet", columns=list(COLUMNS))
    types = ((f.name, pa.string() if f.type == pa.string_view() else f.type) for f in rows.schema)
    rows = rows.cast(pa.schema(types))
    numbers = pc.subtract(
        rows.column("l_shipdate").cast(pa.int32()), (FIRST_DATE - datetime.date(1970, 1, 1)).days
    )
    day = np.floor_divide(numbers.to_numpy(), dates_per_day) + 1
    cut = {d: rows.filter(pa.array(day == d)).combine_chunks() for d in range(1, days + 1)}
    suppliers = np.random.default_rng(5).permutation(pc.unique(rows.column("l_suppkey")).to_numpy())
    return Data("TPC-D", "l_suppkey", cut, tuple(suppliers[:50].tolist()), False, "l_quantity")


def articles(per_day: int, words: int, days: int) -> Data:
    rng = np.random.default_rng(6)
    odds = 1 / np.arange(1, VOCABULARY + 1)
    odds /= odds.sum()
    names = np.array([f"word{rank}" for rank in range(VOCABULARY)])
    cut = {}
    for day in range(1, days + 1):
        drawn = rng.choice(VOCABULARY, (per_day, words), p=odds)
        distinct = [np.unique(row) for row in drawn]  # a word counts once in an article
        offsets = np.concatenate([[0], np.cumsum([len(row) for row in distinct])])
        cut[day] = pa.table(
            {
                "article": pa.array(np.arange(per_day) + day * per_day),
                "words": pa.ListArray.from_arrays(
                    pa.array(offsets, pa.int32()), pa.array(names[np.concatenate(distinct)])
                ),
                "length": pa.array(rng.integers(100, 5_000, per_day)),
            }
        )
    asked = names[rng.choice(VOCABULARY, 50, p=odds)]
    return Data("SCAM", "words", cut, tuple(asked.tolist()), True, "length")
