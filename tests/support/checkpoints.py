"""A checkpoint made by hand, of two queries that read two streams, three micro-batches on."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from windrow.operators.base import Saved
from windrow.result_files.atomic_files import publish
from windrow.result_files.commits import Commit
from windrow.result_files.directory_lock import LOCK
from windrow.spark.checkpoint.pipeline_directory import PipelineHome, new_pipeline
from windrow.spark.checkpoint.run_record import (
    RECORD,
    QueryRecord,
    RunRecord,
    StreamRecord,
    Traffic,
)
from windrow.spark.source.file_log import Entry, FileLog
from windrow.spark.stage.state_files import BucketFiles, Contents, StateCommits, Version

SECOND = 1_000_000
NOON = 1_700_000_000 * SECOND
"""When everything here was last written."""


class HandMade:
    """See the module; ``root`` has the sources and the checkpoint."""

    def __init__(self, root: Path) -> None:
        self.root, self.path = root, root / "state"
        for stream in ("flows", "hosts"):
            (root / stream).mkdir(parents=True)
        self.home: PipelineHome = new_pipeline(self.path, ["busy", "pairs"])
        for name in ("busy", "pairs"):
            (self.path / name).mkdir()
            record = {"version": 4, "run": f"run of {name}", "fingerprint": {}, "buckets": [0]}
            publish(self.path / name / "windrow.json", json.dumps(record))
            (self.path / name / "results").mkdir()
        for batch in range(3):
            self.batch(batch)
        self.commit_state()
        self.lock()
        self.record = RunRecord(
            os.getpid(),
            socket.gethostname(),
            NOON - 120 * SECOND,
            jobs={
                name: QueryRecord((name,), "timestamp", streams, str(self.path / name / "results"))
                for name, streams in (("busy", ("flows",)), ("pairs", ("flows", "hosts")))
            },
            streams={
                name: StreamRecord("timestamp", str(root / name), "csv")
                for name in ("flows", "hosts")
            },
            quarantine=str(root / "bad"),
            batch=2,
            batches=3,
            seconds=(0.5, 0.2, 0.2),
            traffic=Traffic(
                NOON - 50 * SECOND,
                NOON,
                {"busy": 500, "pairs": 1000},
                {"busy": 50, "pairs": 0},
                {"flows": 5, "hosts": 5},
                {"flows": 5_000_000, "hosts": 50},
            ),
        )
        self.write()

    def lock(self, pid: int | None = None, host: str | None = None) -> None:
        """As the process that has the checkpoint leaves it."""
        told = {
            "pid": os.getpid() if pid is None else pid,
            "host": host or socket.gethostname(),
            "command": "windrow run traffic.cql",
        }
        (self.path / LOCK).write_text(json.dumps(told))

    def write(self, **changes: object) -> None:
        """The driver's record, with changes."""
        self.record = replace(self.record, **changes)  # type: ignore[arg-type]
        (self.home.directory / RECORD).write_text(self.record.to_json())

    def log(self, stream: str, *entries: Entry) -> None:
        FileLog(self.home.log(stream)).append(entries)

    def source(self, stream: str, *names: str) -> list[str]:
        """Files of a stream; their paths."""
        paths = [self.root / stream / name for name in names]
        for path in paths:
            path.write_text("x")
        return list(map(str, paths))

    def batch(self, number: int) -> None:
        """A micro-batch that is over: a file of each stream, results of each query."""
        for stream, late in (("flows", 0), ("hosts", 5)):
            (path,) = self.source(stream, f"{number}.csv")
            top = NOON - (100 - 10 * number + late) * SECOND
            self.log(stream, Entry(path, size=1000, top=top, batch=number))
        for part in (self.home.offsets, self.home.spark / "commits"):
            part.mkdir(parents=True, exist_ok=True)
            (part / str(number)).write_text("v1\n{}")
        for name in ("busy", "pairs"):
            now = NOON - (101 - 10 * number) * SECOND
            commit = Commit(number, f"run of {name}", (), now, 100, 10, 1, 2)
            publish(commit.path(self.path / name / "results"), commit.to_json())

    def commit_state(self, batch: int = 2, jobs: Sequence[int] = (0, 1)) -> int:
        """State of both queries in one bucket; the bytes of a segment."""
        files = BucketFiles(self.home.state, 0, 7)
        rows = pa.record_batch({"x": list(range(100))})
        saved = Saved({f"{job}.pipeline.{n}": rows for job in jobs for n in range(job + 1)})
        name, contents = files.write(batch, Contents(), saved)
        published = {0: (batch, 3), 1: (batch, 3)}
        StateCommits(self.home.state).publish(batch, Version({"0.7": name}, published))
        return next(iter(contents.segments.values())).length
