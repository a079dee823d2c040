"""Scripts over generated files, run on both runners."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.support import runs
from tests.support.runs import run_embedded
from windrow.engine.progress import Progress, Report
from windrow.plan.catalog import Catalog
from windrow.plan.program import compile_script
from windrow.result_files.change_table import read_changes
from windrow.result_files.identity import changes_schema


def write_streams(directory: Path, files: int = 8, rows: int = 300, seed: int = 3) -> None:
    """Two streams of ``files`` files each; the second runs at another speed, out of order."""
    rng = np.random.default_rng(seed)
    for name, pace in (("a", 1), ("b", 3)):
        (directory / name).mkdir(parents=True)
        for i in range(files):
            ts = (np.arange(i * rows, (i + 1) * rows) * pace) // 4
            ts = ts + rng.integers(0, 4, rows)
            columns = {
                "ts": ts,
                "k": rng.integers(0, 20, rows).astype(np.int32),
                "v": rng.integers(0, 50, rows),
            }
            pq.write_table(pa.table(columns), directory / name / f"{i:02d}.parquet")


def compiled(
    directory: Path, queries: dict[str, str], out: str, format_: str = "parquet", more: str = ""
) -> Catalog:
    """The streams of ``write_streams`` and the queries, each into a directory of its own."""
    return compile_script(script_of(directory, queries, out, format_) + more).catalog


def script_of(directory: Path, queries: dict[str, str], out: str, format_: str = "parquet") -> str:
    """The text of that."""
    text = "".join(
        f"CREATE STREAM {s} (ts BIGINT, k INT, v BIGINT) FROM '{directory / s}' FORMAT parquet "
        "TIMESTAMP BY ts SLACK 4;\n"
        for s in "ab"
    )
    for name, query in queries.items():
        text += (
            f"CREATE QUERY {name} AS {query} INTO '{directory / out / name}' FORMAT {format_};\n"
        )
    return text


def run_on_spark(catalog: Catalog, checkpoint: Path, **options: Any) -> Report:
    """With a file of each stream in a micro-batch."""
    return runs.run_on_spark(catalog, checkpoint, files_per_trigger=1, **options)


def run_two_files(catalog: Catalog, checkpoint: Path) -> Report:
    """A run that is stopped when it has read two files of each stream. The others come afterwards,
    so that something is left for the next run however fast this one is."""
    sources = [Path(stream.source.path) for stream in catalog.streams if stream.source is not None]
    later = {
        file: file.with_name(f".{file.name}")
        for source in sources
        for file in sorted(source.iterdir())[2:]
    }
    for file, hidden in later.items():
        file.rename(hidden)
    stop = threading.Event()

    def stop_after_two(progress: Progress) -> None:
        if progress.batches >= 2:
            stop.set()

    report = run_on_spark(catalog, checkpoint, once=False, on_progress=stop_after_two, stop=stop)
    for file, hidden in later.items():
        hidden.rename(file)
    return report


def net_changes(catalog: Catalog, query: str) -> dict[int, Counter[str]]:
    """Per instant the net change of the bag, as the query's result files have it."""
    declared = next(q for q in catalog.queries if q.name == query)
    assert declared.into is not None
    schema = changes_schema(declared.plan.schema, declared.clock)
    found: dict[int, Counter[str]] = {}
    for row in read_changes(Path(declared.into.path), declared.into.format, schema).to_pylist():
        instant, change, *values = row.values()
        bag = found.setdefault(instant, Counter())
        bag[repr(tuple(values))] += 1 if change == "+" else -1
    bags = {t: Counter({v: n for v, n in bag.items() if n}) for t, bag in found.items()}
    return {t: bag for t, bag in bags.items() if bag}


__all__ = [
    "compiled",
    "net_changes",
    "run_embedded",
    "run_on_spark",
    "run_two_files",
    "write_streams",
]
