"""Jobs of PyFlink SQL under measurement, in this process and one after the other.

Parallelism 2, with a file for each reader; mini-batches, aggregation in two phases, and distinct
aggregation split; state on the heap; objects reused; a sink that drops everything. A query is run
over its rows until it is warm, then over next to no rows, and over its rows again; the difference
of the last two is what the rows took, without what a job takes to start and to stop.
"""

import os
import resource
from pathlib import Path

from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableEnvironment

GROUP = os.getpgrp()
SETTINGS = {
    "parallelism.default": "2",
    "state.backend.type": "hashmap",
    "pipeline.object-reuse": "true",
    "table.local-time-zone": "UTC",
    "taskmanager.memory.process.size": "4g",
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "2 s",
    "table.exec.mini-batch.size": "50000",
    "table.optimizer.agg-phase-strategy": "TWO_PHASE",
    "table.optimizer.distinct-agg.split.enabled": "true",
}


def environment() -> TableEnvironment:
    configuration = Configuration()
    for name, value in SETTINGS.items():
        configuration.set_string(name, value)
    made = EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(configuration)
    return TableEnvironment.create(made.build())


def spent() -> float:
    """Processor seconds of the Java process, which is a child of this one."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == GROUP:  # of our process group
            ticks += int(fields[11]) + int(fields[12])
    return ticks / 100 - sum(resource.getrusage(resource.RUSAGE_SELF)[:2])


def run(tables: TableEnvironment, query: str) -> tuple[float, float]:
    """Seconds of the clock and of the processor for one run."""
    schema = tables.sql_query(query).get_schema()
    columns = ", ".join(
        f"`{n}` {t}"
        for n, t in zip(schema.get_field_names(), schema.get_field_data_types(), strict=True)
    )
    columns = columns.replace(" NOT NULL", "")
    tables.execute_sql(f"CREATE TEMPORARY TABLE answer ({columns}) WITH ('connector'='blackhole')")
    worked = spent()
    done = tables.execute_sql(f"INSERT INTO answer {query}")
    net = done.get_job_client().get_job_execution_result().result().get_net_runtime() / 1000
    worked = spent() - worked
    tables.execute_sql("DROP TEMPORARY TABLE answer")
    return net, worked


def measure(
    query: str, tables: TableEnvironment, tiny: TableEnvironment, passes: int
) -> dict[str, float]:
    for _ in range(passes):
        run(tables, query)
    (start, started), (seconds, worked) = run(tiny, query), run(tables, query)
    return {
        "start": start, "whole": seconds,
        "seconds": seconds - start, "processor": worked - started,
    }  # fmt: skip


def collected(tables: TableEnvironment, query: str) -> list[list[object]]:
    """The rows of a query that takes none back."""
    return [list(row) for row in tables.execute_sql(query).collect()]
