"""The queries on PyFlink SQL: ``python flink_rival.py QUERY DIRECTORY SECONDS SLIDE [RESULTS]``.

CSV files, because the package brings no Parquet reader; state on the heap; a sink that drops
everything, or CSV files if results are wanted. What the job took is Flink's own net run time.
"""

import json
import sys
import tempfile
from pathlib import Path

from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableEnvironment

QUERY, DIRECTORY, SECONDS, SLIDE = (
    sys.argv[1],
    Path(sys.argv[2]),
    int(sys.argv[3]),
    int(sys.argv[4]),
)
RESULTS = sys.argv[5] if len(sys.argv) > 5 else None
COLUMNS = "millis BIGINT, protocol STRING, size BIGINT, src STRING, dst STRING"

settings = Configuration()
for name, value in {
    "parallelism.default": "2",
    "state.backend.type": "hashmap",
    "table.exec.source.idle-timeout": "10 s",
    "pipeline.object-reuse": "true",
    "table.local-time-zone": "UTC",
    "taskmanager.memory.process.size": "4g",
}.items():
    settings.set_string(name, value)
environment = EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(settings)
tables = TableEnvironment.create(environment.build())
for link in (1, 2):
    tables.execute_sql(f"""
        CREATE TABLE link{link} ({COLUMNS}, ts AS TO_TIMESTAMP_LTZ(millis, 3),
            WATERMARK FOR ts AS ts)
        WITH ('connector' = 'filesystem', 'format' = 'csv', 'csv.null-literal' = '',
            'path' = 'file://{DIRECTORY / f"csv{link}"}')
    """)


def interval(milliseconds: int) -> str:
    """Spelt out: more than 99 are not allowed where an interval has seconds alone."""
    seconds, rest = divmod(milliseconds, 1000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:03}"
    return f"INTERVAL '0 {clock}' DAY TO SECOND"


HOPS = f"""TABLE(HOP(TABLE link1, DESCRIPTOR(ts),
    {interval(SLIDE * 1000)}, {interval(SECONDS * 1000)}))"""
# Times are milliseconds; both ends of a BETWEEN count, so the far end is one less.
REACH = interval(SECONDS * 1000 - 1)
ANSWERS = {
    "join": (
        "src STRING, ldst STRING, lbytes BIGINT, rdst STRING, rbytes BIGINT",
        f"""SELECT l.src, l.dst, l.size, r.dst, r.size FROM link1 l, link2 r
            WHERE l.src = r.src AND l.protocol = 'telnet' AND r.protocol = 'telnet'
            AND r.ts BETWEEN l.ts - {REACH} AND l.ts + {REACH}""",
    ),
    "distinct": (
        "finish BIGINT, src STRING",
        f"""SELECT UNIX_TIMESTAMP(CAST(window_end AS STRING)), src FROM {HOPS}
            GROUP BY window_start, window_end, src""",
    ),
    "negation": (
        "millis BIGINT, src STRING, dst STRING, size BIGINT",
        f"""SELECT l.millis, l.src, l.dst, l.size FROM link1 l LEFT JOIN link2 r
            ON l.src = r.src AND r.ts BETWEEN l.ts - {REACH} AND l.ts WHERE r.src IS NULL""",
    ),
    "group": (
        "finish BIGINT, protocol STRING, tuples BIGINT, size BIGINT",
        f"""SELECT UNIX_TIMESTAMP(CAST(window_end AS STRING)), protocol, COUNT(*), SUM(size)
            FROM {HOPS} GROUP BY window_start, window_end, protocol""",
    ),
}
shape, answer = ANSWERS[QUERY]
with tempfile.TemporaryDirectory() as place:
    files = f"'filesystem', 'format' = 'json', 'path' = 'file://{place}'"
    sink = files if RESULTS else "'blackhole'"
    tables.execute_sql(f"CREATE TABLE answer ({shape}) WITH ('connector' = {sink})")
    done = tables.execute_sql(f"INSERT INTO answer {answer}")
    job = done.get_job_client()
    seconds = job.get_job_execution_result().result().get_net_runtime() / 1000
    results = 0
    if RESULTS:
        lines = []
        for path in Path(place).rglob("*"):
            if path.is_file() and path.stat().st_size:
                lines += [json.loads(line) for line in path.read_text().splitlines()]
        names = [column.split()[0] for column in shape.split(", ")]
        text = "".join(json.dumps([line.get(n) for n in names]) + "\n" for line in lines)
        Path(RESULTS).write_text(text)
        results = len(lines)
print(json.dumps({"seconds": seconds, "results": results}))
