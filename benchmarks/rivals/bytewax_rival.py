"""The four queries on Bytewax: ``python bytewax_rival.py QUERY DIRECTORY SECONDS SLIDE [RESULTS]``.

Bytewax has no join over a time interval and no negation, and its sliding windows open a window
for every row and slide, so all four queries are written by hand, as somebody would who wants them
fast: one step with state that is given whole batches, so that what is paid for a row is a turn of a
Python loop and not a call of the framework. Parquet files are read by pyarrow, only the columns
that a query needs, and those of two links are merged in the order of time; that is counted. A
pass over everything goes first.
"""

import json
import sys
import time
from bisect import bisect_right
from collections import defaultdict, deque
from pathlib import Path

import bytewax.operators as op
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from bytewax.dataflow import Dataflow
from bytewax.inputs import DynamicSource, StatelessSourcePartition
from bytewax.operators import StatefulBatchLogic
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.testing import run_main

QUERY, DIRECTORY, SECONDS, SLIDE = (
    sys.argv[1],
    Path(sys.argv[2]),
    int(sys.argv[3]),
    int(sys.argv[4]),
)
RESULTS = sys.argv[5] if len(sys.argv) > 5 else None
WIDTH, HOP = SECONDS * 1_000_000, SLIDE * 1_000_000
COLUMNS = {
    "join": ["ts", "protocol", "src", "dst", "bytes"],
    "distinct": ["ts", "src"],
    "negation": ["ts", "src", "dst", "bytes"],
    "group": ["ts", "protocol", "bytes"],
}[QUERY]
BATCH = 10_000
found: list[tuple] = []
count = {"rows": 0, "results": 0}


def table_of(path: Path, link: int) -> pa.Table:
    """A file, without the rows that a query drops at once."""
    table = pq.read_table(path, columns=COLUMNS)
    count["rows"] += table.num_rows
    if QUERY == "join":
        table = table.filter(pc.equal(table["protocol"], "telnet")).drop_columns(["protocol"])
    sides = pa.repeat(pa.scalar(-link, pa.int64()), table.num_rows)
    return table.set_column(0, "ts", table["ts"].cast(pa.int64())).add_column(1, "side", sides)


def batches():
    """Lists of columns in the order of time; the files of both links span the same times."""
    links = (1, 2) if QUERY in ("join", "negation") else (1,)
    for paths in zip(*(sorted((DIRECTORY / f"link{n}").iterdir()) for n in links), strict=True):
        table = pa.concat_tables([table_of(p, n) for p, n in zip(paths, links, strict=True)])
        if len(links) > 1:  # link 2 first at equal times
            table = table.sort_by([("ts", "ascending"), ("side", "ascending")])
        for start in range(0, len(table), BATCH):
            yield [column.to_pylist() for column in table.slice(start, BATCH).columns]


class Part(StatelessSourcePartition):
    def __init__(self):
        self.batches = batches()

    def next_batch(self):
        return [("all", next(self.batches))]  # StopIteration is the end


class Source(DynamicSource):
    def build(self, _step, _worker, _count):
        return Part()


class Drop(StatelessSinkPartition):
    def write_batch(self, items):
        for _, answers in items:
            count["results"] += len(answers)
            if RESULTS:
                found.extend(answers)


class Sink(DynamicSink):
    def build(self, _step, _worker, _count):
        return Drop()


class Step(StatefulBatchLogic):
    """A function from a batch to its results, with what it remembers."""

    def __init__(self, work):
        self.work = work

    def on_batch(self, values):
        return [answers for value in values if (answers := self.work(value))], False

    def snapshot(self):
        return None


def join():
    links = defaultdict(deque), defaultdict(deque)

    def work(columns):
        answers = []
        for row in zip(*columns, strict=True):
            at, side, src = row[0], row[1], row[2]
            mine, theirs = links if side == -1 else links[::-1]
            partners = theirs.get(src)
            if partners:
                oldest = at - WIDTH
                while partners and partners[0][0] <= oldest:
                    partners.popleft()
                if side == -1:
                    answers += [(src, row[3], row[4], o[3], o[4]) for o in partners]
                else:
                    answers += [(src, o[3], o[4], row[3], row[4]) for o in partners]
            own = mine[src]
            while own and own[0][0] <= at - WIDTH:
                own.popleft()
            own.append(row)
        return answers

    return work


def negate():
    last: dict[str, int] = {}

    def work(columns):
        answers = []
        for at, side, src, dst, size in zip(*columns, strict=True):
            if side == -2:
                last[src] = at
            elif last.get(src, -WIDTH) <= at - WIDTH:
                answers.append((at, src, dst, size))
        return answers

    return work


def ends(before: int, now: int):
    """The ends of windows in (before, now)."""
    return range((before // HOP + 1) * HOP, now, HOP)


def distinct():
    """The last time of each source; what is older than a window at its end goes."""
    last: dict[str, int] = {}
    reached = [None]

    def report(end):
        answers = []
        for src, at in list(last.items()):
            if at > end - WIDTH:
                answers.append((end // 1_000_000, src))
            else:
                del last[src]
        return answers

    def work(columns):
        answers, (times, _, sources) = [], columns
        start = 0
        for end in ends(times[0] if reached[0] is None else reached[0], times[-1] + 1):
            stop = bisect_right(times, end, start)
            last.update(zip(sources[start:stop], times[start:stop], strict=True))
            answers += report(end)
            start = stop
        last.update(zip(sources[start:], times[start:], strict=True))
        reached[0] = times[-1]
        return answers

    return work


def group():
    """Sums of each sub-window of a slide and protocol."""
    slides: dict[int, dict[str, list[int]]] = {}
    reached = [None]

    def add(times, protocols, sizes):
        for at, protocol, size in zip(times, protocols, sizes, strict=True):
            sums = slides.setdefault(-(-at // HOP) * HOP, {}).setdefault(protocol, [0, 0])
            sums[0] += 1
            sums[1] += size or 0

    def report(end):
        whole: dict[str, list[int]] = {}
        for slide in [s for s in slides if s <= end - WIDTH]:
            del slides[slide]
        for groups in slides.values():
            for protocol, (n, size) in groups.items():
                sums = whole.setdefault(protocol, [0, 0])
                sums[0] += n
                sums[1] += size
        return [(end // 1_000_000, p, n, size) for p, (n, size) in whole.items()]

    def work(columns):
        answers, (times, _, protocols, sizes), start = [], columns, 0
        for end in ends(times[0] if reached[0] is None else reached[0], times[-1] + 1):
            stop = bisect_right(times, end, start)
            add(times[start:stop], protocols[start:stop], sizes[start:stop])
            answers += report(end)
            start = stop
        add(times[start:], protocols[start:], sizes[start:])
        reached[0] = times[-1]
        return answers

    return work


STEPS = {"join": join, "distinct": distinct, "negation": negate, "group": group}


def run() -> float:
    found.clear()
    count.update(rows=0, results=0)
    flow = Dataflow("rival")
    given = op.input("rows", flow, Source())
    answer = op.stateful_batch("query", given, lambda _state: Step(STEPS[QUERY]()))
    op.output("out", answer, Sink())
    began = time.perf_counter()
    run_main(flow)
    return time.perf_counter() - began


run()
seconds = run()
if RESULTS:
    Path(RESULTS).write_text("".join(json.dumps(item) + "\n" for item in found))
print(json.dumps({"seconds": seconds, **count}))
