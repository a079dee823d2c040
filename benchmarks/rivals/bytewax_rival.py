"""The four queries on Bytewax: ``python bytewax_rival.py QUERY DIRECTORY SECONDS SLIDE [RESULTS]``.

Bytewax has no join over a time interval and no negation, so those two are stateful steps by hand,
as its users write them; the other two are its own sliding windows. Rows are decoded before the
clock starts and come merged in order of time, which favours it.
"""

import json
import sys
import time
from collections import deque
from datetime import UTC, datetime, timedelta
from pathlib import Path

import bytewax.operators as op
import bytewax.operators.windowing as wop
import pyarrow as pa
import pyarrow.parquet as pq
from bytewax.dataflow import Dataflow
from bytewax.inputs import DynamicSource, StatelessSourcePartition
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.testing import run_main

QUERY, DIRECTORY, SECONDS, SLIDE = (
    sys.argv[1],
    Path(sys.argv[2]),
    int(sys.argv[3]),
    int(sys.argv[4]),
)
RESULTS = sys.argv[5] if len(sys.argv) > 5 else None
WIDTH = SECONDS * 1_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BATCH = 1000
found: list[tuple] = []
clock = {}


def rows_of(link: int) -> list[tuple]:
    table = pa.concat_tables(
        pq.read_table(p) for p in sorted((DIRECTORY / f"link{link}").iterdir())
    )
    times = table["ts"].cast(pa.int64()).to_pylist()
    others = (table[name].to_pylist() for name in ("protocol", "bytes", "src", "dst"))
    return [(link, *row) for row in zip(times, *others, strict=True)]


class Part(StatelessSourcePartition):
    def __init__(self, batches):
        self.batches = iter(batches)

    def next_batch(self):
        clock.setdefault("began", time.perf_counter())
        return next(self.batches)  # StopIteration is the end


class Source(DynamicSource):
    def __init__(self, rows):
        self.rows = [rows[i : i + BATCH] for i in range(0, len(rows), BATCH)]

    def build(self, _step, _worker, _count):
        return Part(self.rows)


class Drop(StatelessSinkPartition):
    def write_batch(self, items):
        clock["results"] = clock.get("results", 0) + len(items)
        if RESULTS:
            found.extend(items)


class Sink(DynamicSink):
    def build(self, _step, _worker, _count):
        return Drop()


def join(state, row):
    left, right = state or (deque(), deque())
    mine, theirs = (left, right) if row[0] == 1 else (right, left)
    oldest = row[1] - WIDTH
    while theirs and theirs[0][1] <= oldest:
        theirs.popleft()
    while mine and mine[0][1] <= oldest:
        mine.popleft()
    mine.append(row)
    pairs = ((row, o) if row[0] == 1 else (o, row) for o in theirs)
    return (left, right), [(a[4], a[5], a[3], b[5], b[3]) for a, b in pairs]


def negate(state, row):
    """The last time of the key on link 2; merged order puts link 2 first at equal times."""
    if row[0] == 2:
        return row[1], []
    unmatched = state is None or state <= row[1] - WIDTH
    return state, [(row[1], row[4], row[5], row[3])] if unmatched else []


def sliding(step, keyed, builder, folder, shape):
    clock_of = wop.EventClock(
        lambda row: EPOCH + timedelta(microseconds=row[1]),
        wait_for_system_duration=timedelta(seconds=SLIDE),
    )
    windower = wop.SlidingWindower(
        length=timedelta(seconds=SECONDS), offset=timedelta(seconds=SLIDE), align_to=EPOCH
    )
    folded = wop.fold_window(step, keyed, clock_of, windower, builder, folder, lambda a, b: a + b)

    def named(item):
        key, (number, value) = item
        return shape(number * SLIDE + SECONDS, key, value)

    return op.map("named", folded.down, named)


flow = Dataflow("rival")
rows = rows_of(1)
if QUERY in ("join", "negation"):
    rows = sorted(rows + rows_of(2), key=lambda r: (r[1], -r[0]))
given = op.input("rows", flow, Source(rows))
if QUERY == "join":
    given = op.filter("telnet", given, lambda row: row[2] == "telnet")
keyed = op.key_on("key", given, lambda row: row[2] if QUERY == "group" else row[4])
if QUERY == "join":
    answer = op.map("values", op.stateful_flat_map("join", keyed, join), lambda kv: kv[1])
elif QUERY == "negation":
    answer = op.map("values", op.stateful_flat_map("negate", keyed, negate), lambda kv: kv[1])
elif QUERY == "distinct":
    answer = sliding("window", keyed, int, lambda n, _row: n, lambda end, key, _: (end, key))
else:
    answer = sliding(
        "window",
        keyed,
        lambda: (0, 0),
        lambda sums, row: (sums[0] + 1, sums[1] + (row[3] or 0)),
        lambda end, key, sums: (end, key, *sums),
    )
op.output("out", answer, Sink())
run_main(flow)
seconds = time.perf_counter() - clock["began"]
if RESULTS:
    Path(RESULTS).write_text("".join(json.dumps(item) + "\n" for item in found))
print(json.dumps({"rows": len(rows), "seconds": seconds, "results": clock.get("results", 0)}))
