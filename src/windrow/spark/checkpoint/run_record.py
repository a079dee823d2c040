"""How the run of a pipeline is doing, as its driver writes it down after each micro-batch.

``status.json`` of the pipeline's directory has what no other file of the checkpoint says: who runs
it, where its queries read and write, how long micro-batches take, rates, and what went wrong. It is
replaced as a whole and never synced; nothing depends on it. Whoever looks takes what is missing or
damaged for not known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from windrow.engine.progress import Lateness
from windrow.result_files.commits import Totals

RECORD = "status.json"
FORMAT = 1


class End(StrEnum):
    """How a run of a pipeline ended; without one it goes on, or was killed."""

    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True)
class Mishap:
    """What went wrong, and when, in microseconds since 1970."""

    at: int
    text: str


@dataclass(frozen=True)
class QueryRecord:
    """A job: the queries that it answers, what they read, and where their commits are."""

    queries: tuple[str, ...]
    clock: str
    streams: tuple[str, ...]
    results: str


@dataclass(frozen=True)
class StreamRecord:
    """A stream or a relation; ``source`` is where its files are, if it has any, and ``header``
    whether the first line of each is not a row."""

    clock: str
    source: str | None = None
    format: str = ""
    header: bool = False


@dataclass(frozen=True)
class Traffic:
    """What went through micro-batches that ended after ``since`` and up to ``until``: rows in and
    out of each job, files and bytes of each stream."""

    since: int = 0
    until: int = 0
    rows_in: Mapping[str, int] = field(default_factory=dict)
    rows_out: Mapping[str, int] = field(default_factory=dict)
    files: Mapping[str, int] = field(default_factory=dict)
    size: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class RunRecord:
    """See the module. Times are microseconds since 1970; jobs are known by their directories."""

    pid: int
    host: str
    started: int
    jobs: Mapping[str, QueryRecord] = field(default_factory=dict)
    streams: Mapping[str, StreamRecord] = field(default_factory=dict)
    quarantine: str | None = None
    batch: int | None = None
    batches: int = 0
    seconds: tuple[float, ...] = ()
    """Of the last micro-batches, the newest last."""
    traffic: Traffic = field(default_factory=Traffic)
    totals: Mapping[str, Totals] = field(default_factory=dict)
    """Of jobs whose results are in an object store, where looking for them takes long."""
    lateness: Mapping[str, Mapping[str, Lateness]] = field(default_factory=dict)
    """Of the queries of jobs that may be late, after the last micro-batch of each."""
    failures: Mapping[str, Mishap] = field(default_factory=dict)
    """Why jobs have stayed behind."""
    error: Mishap | None = None
    """The last thing that went wrong, in whichever run."""
    restarts: int = 0
    end: End | None = None

    def to_json(self) -> str:
        return json.dumps({"format": FORMAT, **vars(self)}, default=vars)

    @classmethod
    def from_json(cls, text: str) -> RunRecord:
        """ValueError, TypeError or KeyError if it is not one."""
        known: dict[str, Any] = json.loads(text)
        if known.pop("format") != FORMAT:
            raise ValueError("another format")
        parts = {
            "jobs": {n: _query(told) for n, told in known["jobs"].items()},
            "streams": {n: StreamRecord(**told) for n, told in known["streams"].items()},
            "seconds": tuple(known["seconds"]),
            "traffic": Traffic(**known["traffic"]),
            "totals": {n: Totals(**told) for n, told in known["totals"].items()},
            "lateness": {n: _lateness(told) for n, told in known.get("lateness", {}).items()},
            "failures": {n: Mishap(**told) for n, told in known["failures"].items()},
            "error": None if known["error"] is None else Mishap(**known["error"]),
            "end": None if known["end"] is None else End(known["end"]),
        }
        return cls(**{**known, **parts})


def _query(told: Mapping[str, Any]) -> QueryRecord:
    lists = {name: tuple(told[name]) for name in ("queries", "streams")}
    return QueryRecord(**{**told, **lists})


def _lateness(told: Mapping[str, Any]) -> dict[str, Lateness]:
    return {query: Lateness(**late) for query, late in told.items()}


def read_run_record(directory: Path) -> RunRecord | None:
    """That of a pipeline; None if there is none, or none that can be read."""
    try:
        return RunRecord.from_json((directory / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
