"""Days of data like those of the paper's case studies (Shivakumar, Garcia-Molina 1997, 5).

LINEITEM is TPC-H's, whole, from tpchgen-cli, by ship date; a day of ours is several dates, so that
it is worth indexing. Prices, discounts and taxes are whole hundredths. Articles are made up: words
follow Zipf's law, and a record is a word of an article with its place and the text around it, as in
the index of a search engine.
"""

from __future__ import annotations

import datetime
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

FIRST_DATE = datetime.date(1992, 4, 1)
"""From here on there are as many lines of every date."""
HUNDREDTHS = ("l_quantity", "l_extendedprice", "l_discount", "l_tax")
VOCABULARY = 50_000
STOP_WORDS = 500
"""The commonest words, which nobody asks for."""
CONTEXT = 120
"""Bytes around a word."""
PROBED = 50


@dataclass(frozen=True)
class Data:
    """Days of records, and what is asked of them.

    ``keys`` are probed for. A scan adds up the columns ``summed``: by the column ``by`` over the
    window, or, without one, of the newest day, of which it then looks at every byte.
    """

    name: str
    key: str
    days: dict[int, pa.Table]
    keys: tuple[object, ...]
    by: str | None
    summed: tuple[str, ...]

    @property
    def newest(self) -> bool:
        """Whether scans are of the newest day only."""
        return self.by is None

    def records(self, first: int, last: int) -> pa.Table:
        """All records of some days."""
        return pa.concat_tables([self.days[day] for day in range(first, last + 1)])

    def having(self, rows: pa.Table, key: object) -> pa.Table:
        """The records with a search value."""
        return rows.filter(pc.equal(rows.column(self.key), key))

    def shrunk(self, factor: float) -> Data:
        """The first part of every day."""
        days = {day: rows.slice(0, int(len(rows) * factor)) for day, rows in self.days.items()}
        return replace(self, days=days)


def lineitem(scale: float, days: int, dates_per_day: int) -> Data:
    rows = _generate(scale)
    numbers = pc.subtract(
        rows.column("l_shipdate").cast(pa.int32()), (FIRST_DATE - datetime.date(1970, 1, 1)).days
    )
    day = np.floor_divide(numbers.to_numpy(), dates_per_day) + 1
    cut = {d: rows.filter(pa.array(day == d)).combine_chunks() for d in range(1, days + 1)}
    suppliers = np.random.default_rng(5).permutation(pc.unique(rows.column("l_suppkey")).to_numpy())
    return Data(
        "TPC-D",
        "l_suppkey",
        cut,
        tuple(suppliers[:PROBED].tolist()),
        "l_returnflag",
        HUNDREDTHS,
    )


def _generate(scale: float) -> pa.Table:
    path = os.pathsep.join([str(Path(sys.prefix) / "bin"), os.environ.get("PATH", "")])
    tool = shutil.which("tpchgen-cli", path=path)
    if tool is None:
        raise FileNotFoundError("tpchgen-cli, which makes TPC-H data, is not installed")
    with tempfile.TemporaryDirectory(prefix="windrow-tpch-") as place:
        command = [tool, "parquet", "-s", str(scale), "--tables=lineitem", f"--output-dir={place}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        rows = parquet.read_table(Path(place) / "lineitem.parquet")
    for name in HUNDREDTHS:
        whole = pc.multiply(rows.column(name), 100).cast(pa.int64())
        rows = rows.set_column(rows.schema.get_field_index(name), name, whole)
    plain = {pa.string_view(): pa.string()}
    return rows.cast(pa.schema([(f.name, plain.get(f.type, f.type)) for f in rows.schema]))


def articles(per_day: int, words: int, days: int) -> Data:
    """Each word of each article, once, with its place and the text around it."""
    rng = np.random.default_rng(6)
    odds = 1 / np.arange(1, VOCABULARY + 1)
    odds /= odds.sum()
    names = np.array([f"word{rank}" for rank in range(VOCABULARY)])
    source = " ".join(names[rng.choice(VOCABULARY, 400_000, p=odds)]).encode()
    texts = np.lib.stride_tricks.sliding_window_view(np.frombuffer(source, np.uint8), CONTEXT)
    cut = {}
    for day in range(1, days + 1):
        drawn = np.sort(rng.choice(VOCABULARY, (per_day, words), p=odds), axis=1)
        once = np.ones(drawn.shape, bool)
        once[:, 1:] = drawn[:, 1:] != drawn[:, :-1]
        found = drawn[once]
        context = texts[rng.integers(0, len(texts), len(found))]
        ends = np.arange(len(found) + 1, dtype=np.int32) * CONTEXT
        cut[day] = pa.table(
            {
                "word": pa.array(names).take(pa.array(found)),
                "article": pa.array(np.nonzero(once)[0] + day * per_day),
                "place": pa.array(rng.integers(0, 5_000, len(found), np.int32)),
                "context": pa.StringArray.from_buffers(
                    len(found), pa.py_buffer(ends), pa.py_buffer(context.tobytes())
                ),
            }
        )
    odds[:STOP_WORDS] = 0
    asked = names[rng.choice(VOCABULARY, PROBED, p=odds / odds.sum())]
    return Data("SCAM", "word", cut, tuple(asked.tolist()), None, ("article", "place"))
