"""The checkpoint of a script as runs on Spark write it, without Spark: micro-batches by hand."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa

from tests.operators.samples import between
from tests.spark.staged import Staged
from windrow.columns.delta import Delta
from windrow.columns.types import arrow_schema
from windrow.core.time import Clock
from windrow.object_store.object_path import ObjectPath, shared_directory
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.physical.cut_stages import cut_into_stages
from windrow.plan.program import compile_script
from windrow.plan.strategy import Strategy
from windrow.result_files.identity import identity_of
from windrow.spark.checkpoint.pipeline_directory import VERSION, new_pipeline
from windrow.spark.checkpoint.query_directory import IDENTITY, fingerprint_of
from windrow.spark.checkpoint.script_record import write_script
from windrow.spark.sink.file_delivery import FileDelivery
from windrow.spark.stage.state_files import BucketFiles, StateCommits

read_contents = BucketFiles.read
"""As it is before a test puts something in its place."""


class WrittenCheckpoint:
    """Each query of ``script`` is a pipeline of its own; ``batch`` lets all of them go on."""

    def __init__(self, directory: Path, script: str, strategy: Strategy = Strategy.UPA) -> None:
        self.directory, self._batch, self._now = directory, 0, 0
        directory.mkdir(parents=True, exist_ok=True)
        self.catalog = compile_script(script).catalog
        write_script(directory, self.catalog, strategy)
        self._jobs = [self._job(query, strategy) for query in self.catalog.queries]

    def _job(
        self, query: QueryDeclaration, strategy: Strategy
    ) -> tuple[Staged, FileDelivery, Path]:
        own = self.directory / query.name
        own.mkdir()
        stages = cut_into_stages(query.plan, strategy)
        declared = {d.name: d for d in (*self.catalog.streams, *self.catalog.relations)}
        names = {e.source for s in stages for e in s.inputs if isinstance(e.source, str)}
        inputs = {name: declared[name] for name in names}
        known = {"version": VERSION, "run": "r", "buckets": [3, 5, 8]}
        known["fingerprint"] = fingerprint_of(stages, inputs, strategy)
        (own / IDENTITY).write_text(json.dumps(known))
        results = shared_directory(own) / "results"
        results.mkdir(parents=True)
        identity_of(query, "r", "parquet").publish(results)
        delivery = FileDelivery(str(results), "parquet", "r", query.plan.schema, query.clock)
        staged = Staged(query.plan, strategy, f"{self.directory}{query.name}", delivery)
        return staged, delivery, new_pipeline(self.directory, [query.name]).state

    def batch(self, inputs: dict[str, Delta], now: int) -> None:
        """All rows up to an instant that have not been there, in one micro-batch."""
        for staged, delivery, state in self._jobs:
            rows = {name: between(inputs, self._now, now)[name] for name in staged.streams}
            time = dict.fromkeys(staged.streams, (now, False))
            delivery.publish(self._batch, staged.reports(self._batch, rows, time))
            copy_files(staged.state, state)
        self._batch, self._now = self._batch + 1, now

    def keep_newest(self) -> None:
        """Remove all that only older commits need, as a run does when many others have followed."""
        for _, _, state in self._jobs:
            commits = StateCommits(state)
            *older, newest = commits.numbers()
            needed = set()
            for key, name in commits.read(newest).files.items():
                level, bucket = map(int, key.split("."))
                places = read_contents(BucketFiles(state, level, bucket), name).segments.values()
                needed |= {(key, file) for file in (name, *(place.file for place in places))}
            for path in state.glob("*/*.state"):
                if (path.parent.name, path.name) not in needed:
                    path.unlink()
            for number in older:
                commits.path(number).unlink()


def copy_files(source: Path, target: Path) -> None:
    """Files of a directory to another place, which may be in an object store."""
    for path in source.rglob("*.*"):
        if path.is_file():
            place = target / path.relative_to(source)
            if isinstance(place, ObjectPath):
                place.bucket.put(place.key, path.read_bytes())
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, place)


def delta_of(script: str, name: str, rows: list[tuple]) -> Delta:
    """Rows of a stream, the first column of which says when they come, or insertions into a
    relation, each after its instant."""
    catalog = compile_script(script).catalog
    declared = {d.name: d for d in (*catalog.streams, *catalog.relations)}[name]
    schema = arrow_schema(declared.schema)
    ts = np.array([row[0] for row in rows], np.int64)
    values = rows if hasattr(declared, "timestamp") else [row[1:] for row in rows]
    columns = [pa.array([row[i] for row in values], f.type) for i, f in enumerate(schema)]
    assert getattr(declared, "clock", Clock.INTEGER) is Clock.INTEGER
    return Delta.insertions(ts, pa.RecordBatch.from_arrays(columns, schema=schema))
