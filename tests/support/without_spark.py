"""Spark's part in a run over files, done in this process: fast, and fails where it is told to.

Tasks get their partitions, and the thread that begins micro-batches does all of them at its start.
Everything else is the driver's own code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.support.runs import ignore
from windrow.core.errors import InputError
from windrow.engine.progress import Report
from windrow.engine.runner import run
from windrow.plan.catalog import Catalog
from windrow.plan.sharing.group_schedule import ScheduleOptions
from windrow.plan.strategy import Strategy

CORES = 2


def run_without_spark(
    catalog: Catalog, checkpoint: Path, files: int = 1, schedule: ScheduleOptions | None = None
) -> Report:
    """As ``windrow run --once`` does, with so many files of each stream in a micro-batch."""
    from windrow.spark.run import batch_thread  # noqa: PLC0415 - loads PySpark
    from windrow.spark.run.spark_job import Feed  # noqa: PLC0415
    from windrow.spark.run.spark_runtime import OnSpark  # noqa: PLC0415

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_thread, "InheritableThread", _AtOnce)
        feed = Feed(once=True, files=files, schedule=schedule)
        session: Any = _Session
        runtime = OnSpark(session, checkpoint, Strategy.UPA, feed)
        return run(catalog, runtime, once=True, on_progress=ignore)


class _AtOnce:
    """A thread that has ended when it was started."""

    def __init__(self, target: Callable[[], None], name: str) -> None:
        self.start = target

    def is_alive(self) -> bool:
        return False


class _Machine:
    """The view of a virtual machine: it has whatever is asked for."""

    def __getattr__(self, name: str) -> str:
        return name


class _Session:
    """As much of a SparkSession as the driver's code asks of one."""

    def __init__(self) -> None:
        self.conf = SimpleNamespace(get=self._get)
        self.sparkContext = SimpleNamespace(
            master="local", defaultParallelism=CORES, parallelize=lambda _, n: n, runJob=_run_job,
            _jvm=_Machine(), setJobGroup=lambda *_, **__: None, setJobDescription=lambda _: None,
        )  # fmt: skip

    @property
    def _jvm(self) -> object:
        """There is none, so nobody can bring it classes of ours."""
        raise InputError(where="a session without Spark", expected="Java", found="none")

    def _get(self, name: str, default: str | None = "") -> str | None:
        return str(CORES) if name == "spark.sql.shuffle.partitions" else default

    def range(self, _: int, end: int, step: int, partitions: int) -> _Frame:
        assert step == 1
        assert partitions == end
        return _Frame([[pa.record_batch({"id": [number]})] for number in range(end)])


def _run_job(count: int, work: Callable[[Iterable[int]], Iterable[bytes]]) -> list[bytes]:
    """What tasks give that have a number each."""
    return [told for number in range(count) for told in work([number])]


@dataclass
class _Frame:
    """Packed blobs by partition."""

    parts: list[list[pa.RecordBatch]]

    def mapInArrow(self, work: Callable[..., Iterable[pa.RecordBatch]], _: object) -> _Frame:  # noqa: N802
        return _Frame([list(work(iter(part))) for part in self.parts])

    def repartition(self, count: int, _: str) -> _Frame:
        from windrow.spark.stage.routes import spark_hash  # noqa: PLC0415

        whole = [batch for part in self.parts for batch in part]
        parts: list[list[pa.RecordBatch]] = [[] for _ in range(count)]
        for batch in whole:
            homes = np.array([spark_hash(b) % count for b in batch["bucket"].to_pylist()])
            for number, part in enumerate(parts):
                part.append(batch.filter(pa.array(homes == number)))
        return _Frame(parts)

    def select(self, _: str) -> _Frame:
        return self

    def collect(self) -> list[Any]:
        batches = [batch for part in self.parts for batch in part]
        return [SimpleNamespace(blob=blob) for b in batches for blob in b["blob"].to_pylist()]
