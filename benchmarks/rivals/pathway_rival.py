"""The four queries on Pathway: ``python pathway_rival.py QUERY DIRECTORY SECONDS SLIDE [RESULTS]``.

CSV files of each link, one after the other, by Pathway's own streaming connector, which reads and
parses them in its engine and goes on to watch for more; the run is over when all rows have been
counted and everything of their time has come out. Behaviours let it forget what lies behind the
window. The clock begins when it has counted its first rows, which favours it.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path

import pathway as pw

QUERY, DIRECTORY, SECONDS, SLIDE = (
    sys.argv[1],
    Path(sys.argv[2]),
    int(sys.argv[3]),
    int(sys.argv[4]),
)
RESULTS = sys.argv[5] if len(sys.argv) > 5 else None
WIDTH = SECONDS * 1_000_000


class Row(pw.Schema):
    ts: int
    protocol: str
    bytes: int | None
    src: str
    dst: str


def rows_in(place: Path) -> int:
    return sum(path.read_bytes().count(b"\n") - 1 for path in place.iterdir())


def table_of(link: int) -> pw.Table:
    return pw.io.csv.read(
        str(DIRECTORY / f"text{link}"), schema=Row, mode="streaming", autocommit_duration_ms=100
    )


LINKS = (1, 2) if QUERY in ("join", "negation") else (1,)
streams = {link: table_of(link) for link in LINKS}
expected = {link: rows_in(DIRECTORY / f"text{link}") for link in LINKS}
left = streams[1]
# A link may be read before the other: what a join forgets lies behind all that is there.
span = sum(expected.values()) * 2_000
forget = pw.temporal.common_behavior(cutoff=WIDTH + span)
if QUERY == "join":
    telnet = {n: t.filter(t.protocol == "telnet") for n, t in streams.items()}
    left, right = telnet[1], telnet[2]
    between = pw.temporal.interval(-WIDTH + 1, WIDTH - 1)
    answer = left.interval_join(
        right, left.ts, right.ts, between, left.src == right.src, behavior=forget
    ).select(left.src, ldst=left.dst, lbytes=left.bytes, rdst=right.dst, rbytes=right.bytes)
elif QUERY == "negation":
    right = streams[2]
    between = pw.temporal.interval(-WIDTH + 1, 0)
    answer = left.interval_join_left(
        right, left.ts, right.ts, between, left.src == right.src, behavior=forget
    ).select(left.ts, left.src, left.dst, left.bytes, other=right.ts)
    answer = answer.filter(answer.other.is_none()).without(pw.this.other)
else:
    window = pw.temporal.sliding(hop=SLIDE * 1_000_000, duration=WIDTH)
    key = left.protocol if QUERY == "group" else left.src
    close = pw.temporal.common_behavior(cutoff=0)
    windows = left.windowby(left.ts, window=window, instance=key, behavior=close)
    end, instance = pw.this["_pw_window_end"], pw.this["_pw_instance"]
    values = {"end": end // 1_000_000, "key": instance}
    if QUERY == "group":
        size = pw.coalesce(pw.this.bytes, 0)
        values |= {"count": pw.reducers.count(), "sum": pw.reducers.sum(size)}
    answer = windows.reduce(**values)

clock: dict[str, float] = {}
counted: dict[int, int] = dict.fromkeys(LINKS, 0)
complete: dict[int, int] = {}
kept: dict = {}
over = threading.Event()


def count_of(link: int):
    def change(key, row, time, is_addition):  # noqa: ARG001 - Pathway's names
        clock.setdefault("began", now())
        if is_addition:
            counted[link] = row["n"]
            if row["n"] == expected[link]:
                complete[link] = time

    return change


def now() -> float:
    return time.perf_counter()


def keep(key, row, time, is_addition):  # noqa: ARG001
    if not RESULTS:
        return
    if is_addition:
        kept[key] = list(row.values())
    else:
        kept.pop(key, None)


def end_of(moment: int) -> None:
    if len(complete) == len(LINKS) and moment >= max(complete.values()) and not over.is_set():
        clock["ended"] = now()
        over.set()


for link, stream in streams.items():
    pw.io.subscribe(stream.reduce(n=pw.reducers.count()), count_of(link))
pw.io.subscribe(answer, keep, on_time_end=end_of)
started = now()
threading.Thread(
    target=lambda: pw.run(monitoring_level=pw.MonitoringLevel.NONE), daemon=True
).start()
over.wait()
if RESULTS:
    Path(RESULTS).write_text("".join(json.dumps(item) + "\n" for item in kept.values()))
seconds = clock["ended"] - clock.get("began", started)
print(json.dumps({"seconds": seconds, "whole": clock["ended"] - started}), flush=True)
os._exit(0)  # it would watch the directory for ever
