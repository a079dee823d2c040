"""A step of `plan_update` carried out: runs are read, merged with what is new, and written.

What is new and is merged with older runs goes through a run in memory first, so that it is
written to disk once. A run that is not merged costs its own writing only; what is dropped, or
expires without being rewritten, costs nothing here.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from windrow.archive.format.disk import Disk, Written
from windrow.archive.format.layout import Layout
from windrow.archive.format.run_ref import Format, RunRef
from windrow.archive.lifetimes.update import Step, Write
from windrow.archive.progress import Progress, Reached, nobody
from windrow.archive.runs.merge import merge
from windrow.archive.runs.run import ALL, Only, Run
from windrow.archive.runs.write import write_day


class _Memory(Disk):
    """Files that last as long as this object."""

    summed = False

    def __init__(self) -> None:
        super().__init__(Path("memory"))
        self._files: dict[str, pa.Buffer] = {}

    def write(self, name: str, fill: Callable[[Any], None]) -> Written:
        stream = pa.BufferOutputStream()
        fill(stream)
        data = stream.getvalue()
        pages = mmap.mmap(-1, data.size)
        pages.write(data)
        self._files[name] = pa.py_buffer(pages)
        return Written(data.size, 0)

    def sum(self, name: str) -> Written:
        """Nobody doubts memory."""
        return Written(self._files[name].size, 0)

    def sync(self, name: str) -> None:
        """Nothing to do: memory is as durable as it gets."""

    def map(self, name: str) -> pa.Buffer:
        return self._files[name]


@dataclass(frozen=True)
class Carrier:
    """Where and how runs are written. ``name`` makes a file name of a run's number.

    ``progress`` is told how many runs of a step have been written.
    """

    disk: Disk
    layout: Layout
    kind: Format
    name: Callable[[int], str]
    progress: Progress = nobody

    def carry_out(
        self,
        step: Step,
        runs: Callable[[int], Run],
        fresh: Mapping[int, pa.Table],
        encodings: Mapping[str, str],
        alive_from: int,
    ) -> tuple[dict[int, RunRef], dict[str, str]]:
        """The runs that the step writes, by number, and the encodings from now on.

        ``fresh`` are the new entries by sub-index; entries of merged runs that expire before
        ``alive_from`` are left behind.
        """
        after = dict(encodings)
        written = {}
        for done, write in enumerate(step.writes, start=1):
            table = fresh[write.subindex] if write.fresh else None
            written[write.run], after = self._write(write, runs, table, after, alive_from)
            size = sum(ref.bytes for ref in written.values())
            self.progress(Reached("runs", done, len(step.writes), size))
        return written, after

    def _write(
        self,
        write: Write,
        runs: Callable[[int], Run],
        fresh: pa.Table | None,
        encodings: dict[str, str],
        alive_from: int,
    ) -> tuple[RunRef, dict[str, str]]:
        name = self.name(write.run)
        if fresh is not None and not write.merged:
            return write_day(self.disk, self.layout, encodings, fresh, name, self.kind)
        inputs = [(run, _living(run, alive_from)) for run in map(runs, write.merged)]
        if fresh is not None:
            memory = _Memory()
            ref, wider = write_day(memory, self.layout, encodings, fresh, name, "arrow")
            inputs.append((Run(memory, self.layout, ref), ALL))
            encodings = wider if self.kind == "arrow" else encodings
        merged, after = merge(self.disk, self.layout, encodings, inputs, name, self.kind)
        assert merged is not None, "a planned run has records"
        return merged, after


def _living(run: Run, alive_from: int) -> Only:
    """All of a run, without looking at its expiries, if none can be over."""
    assert run.ref.expiries is not None, "an index of lifetimes keeps expiries"
    return ALL if run.ref.expiries[0] >= alive_from else Only(after=alive_from)
