"""The queries on PyFlink SQL: ``python flink_rival.py QUERY DIRECTORY SECONDS SLIDE [RESULTS]``.

CSV files, because the package brings no Parquet reader: two for each link, rows dealt out by
turns, so that each of two readers has one. ``flink_jobs`` says how it is measured. Results are
collected, and not measured, if they are asked for.
"""

import json
import sys
from pathlib import Path

from flink_jobs import collected, environment, measure
from pyflink.table import TableEnvironment

QUERY, DIRECTORY, SECONDS, SLIDE = (
    sys.argv[1],
    Path(sys.argv[2]),
    int(sys.argv[3]),
    int(sys.argv[4]),
)
RESULTS = sys.argv[5] if len(sys.argv) > 5 else None
COLUMNS = "millis BIGINT, protocol STRING, size BIGINT, src STRING, dst STRING"
PASSES = 2


def declare(suffix: str) -> TableEnvironment:
    tables = environment()
    for link in (1, 2):
        # A millisecond is kept back: rows of one may stand in both files.
        tables.execute_sql(f"""
            CREATE TABLE link{link} ({COLUMNS}, ts AS TO_TIMESTAMP_LTZ(millis, 3),
                WATERMARK FOR ts AS ts - INTERVAL '0.001' SECOND)
            WITH ('connector' = 'filesystem', 'format' = 'csv', 'csv.null-literal' = '',
                'path' = 'file://{DIRECTORY / f"{suffix}{link}"}')
        """)
    return tables


def interval(milliseconds: int) -> str:
    """Spelt out: more than 99 are not allowed where an interval has seconds alone."""
    seconds, rest = divmod(milliseconds, 1000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:03}"
    return f"INTERVAL '0 {clock}' DAY TO SECOND"


HOPS = f"""TABLE(HOP(TABLE link1, DESCRIPTOR(ts),
    {interval(SLIDE * 1000)}, {interval(SECONDS * 1000)}))"""
# Times are milliseconds; both ends of a BETWEEN count, so the far end is one less.
REACH = interval(SECONDS * 1000 - 1)
END = "UNIX_TIMESTAMP(CAST(window_end AS STRING))"
ANSWERS = {
    "join": f"""SELECT l.src, l.dst, l.size, r.dst AS rdst, r.size AS rsize
        FROM link1 l, link2 r
        WHERE l.src = r.src AND l.protocol = 'telnet' AND r.protocol = 'telnet'
        AND r.ts BETWEEN l.ts - {REACH} AND l.ts + {REACH}""",
    "distinct": f"SELECT {END} AS e, src FROM {HOPS} GROUP BY window_start, window_end, src",
    "negation": f"""SELECT l.millis, l.src, l.dst, l.size FROM link1 l LEFT JOIN link2 r
        ON l.src = r.src AND r.ts BETWEEN l.ts - {REACH} AND l.ts WHERE r.src IS NULL""",
    "group": f"""SELECT {END} AS e, protocol, COUNT(*) AS n, SUM(size) AS s
        FROM {HOPS} GROUP BY window_start, window_end, protocol""",
}
if RESULTS:
    found = collected(declare("csv"), ANSWERS[QUERY])
    Path(RESULTS).write_text("".join(json.dumps(row) + "\n" for row in found))
    print(json.dumps({"results": len(found)}))
else:
    print(json.dumps(measure(ANSWERS[QUERY], declare("csv"), declare("tiny"), PASSES)))
