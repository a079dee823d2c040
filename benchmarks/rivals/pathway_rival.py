"""The four queries on Pathway: ``python pathway_rival.py QUERY DIRECTORY SECONDS SLIDE [RESULTS]``.

Rows come from memory in steps of its own logical time, a file's rows at once; behaviours let it
forget what lies behind the window.
"""

import json
import sys
import time
from pathlib import Path

import pandas as pd
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


def table_of(link: int) -> tuple[pw.Table, int]:
    rows: list[tuple] = []
    for step, path in enumerate(sorted((DIRECTORY / f"link{link}").iterdir())):
        frame = pd.read_parquet(path)
        times = (frame["ts"].astype("datetime64[us]").astype("int64")).tolist()
        size = [None if pd.isna(b) else int(b) for b in frame["bytes"]]
        rows += zip(
            times, frame["protocol"], size, frame["src"], frame["dst"],
            [2 * step] * len(times), [1] * len(times), strict=True,
        )  # fmt: skip
    return pw.debug.table_from_rows(Row, rows, is_stream=True), len(rows)


left, count = table_of(1)
# A join forgets by the end of the file that it is reading, which is half a window ahead.
forget = pw.temporal.common_behavior(cutoff=WIDTH * 3 // 2)
if QUERY in ("join", "negation"):
    right, more = table_of(2)
    count += more
if QUERY == "join":
    left, right = (t.filter(t.protocol == "telnet") for t in (left, right))
    between = pw.temporal.interval(-WIDTH + 1, WIDTH - 1)
    answer = left.interval_join(
        right, left.ts, right.ts, between, left.src == right.src, behavior=forget
    ).select(left.src, ldst=left.dst, lbytes=left.bytes, rdst=right.dst, rbytes=right.bytes)
elif QUERY == "negation":
    between = pw.temporal.interval(-WIDTH + 1, 0)
    answer = left.interval_join_left(
        right, left.ts, right.ts, between, left.src == right.src, behavior=forget
    ).select(left.ts, left.src, left.dst, left.bytes, other=right.ts)
    answer = answer.filter(answer.other.is_none()).without(pw.this.other)
else:
    close = pw.temporal.common_behavior(cutoff=0)
    window = pw.temporal.sliding(hop=SLIDE * 1_000_000, duration=WIDTH)
    key = left.protocol if QUERY == "group" else left.src
    windows = left.windowby(left.ts, window=window, instance=key, behavior=close)
    end, instance = pw.this["_pw_window_end"], pw.this["_pw_instance"]
    values = {"end": end // 1_000_000, "key": instance}
    if QUERY == "group":
        size = pw.coalesce(pw.this.bytes, 0)
        values |= {"count": pw.reducers.count(), "sum": pw.reducers.sum(size)}
    answer = windows.reduce(**values)

seen = {"results": 0}
if RESULTS:
    kept: dict = {}

    def change(key, row, time, is_addition):  # noqa: ARG001 - Pathway's names
        if is_addition:
            kept[key] = list(row.values())
        else:
            kept.pop(key, None)

    pw.io.subscribe(answer, change)
else:
    pw.io.null.write(answer)
began = time.perf_counter()
pw.run(monitoring_level=pw.MonitoringLevel.NONE)
seconds = time.perf_counter() - began
if RESULTS:
    Path(RESULTS).write_text("".join(json.dumps(item) + "\n" for item in kept.values()))
    seen["results"] = len(kept)
print(json.dumps({"rows": count, "seconds": seconds, **seen}))
