"""Writing the runs of a version to be: days as they come, and indexes as they are planned.

Files are written under names with the writer's token in them and are synced; nobody sees them
until a manifest names them. If the writer fails, or loses the race, ``vacuum`` removes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from windrow.archive.errors import DamagedError
from windrow.archive.format.disk import Disk
from windrow.archive.format.layout import Layout, cast_to_schema
from windrow.archive.format.run_ref import Format, RunRef
from windrow.archive.progress_callback import Progress, Reached, nobody
from windrow.archive.runs.merge import merge
from windrow.archive.runs.run import ALL, Only, Run
from windrow.archive.runs.write import write_day
from windrow.archive.wave.techniques import Copied, Merged, Piece, Planned
from windrow.archive.wave.wave import Index, Part
from windrow.core.thresholds import Threshold

AT_ONCE = Threshold(256 << 20, least=4096)
"""Bytes of a day that are sorted in memory at a time; a longer day is sorted in turns, merged."""

MANY, ALIKE = 64, 8
"""Runs that a day may wait in before any are merged, and how many of one size are then."""


class Writer:
    """Writes runs for one version. ``encodings`` widen as runs are written.

    ``progress`` is told how many of the runs of planned indexes have been written.
    """

    def __init__(
        self,
        disk: Disk,
        layout: Layout,
        form: Format,
        encodings: Mapping[str, str],
        token: str,
        opened: Callable[[RunRef], Run],
        progress: Progress = nobody,
    ) -> None:
        self.encodings = dict(encodings)
        self._disk, self._layout, self._form, self._opened = disk, layout, form, opened
        self._token, self._count, self._progress = token, 0, progress

    def day(self, day: int, data: Any) -> RunRef | None:
        """The entries of a day's records as a run; None if there are none."""
        runs = []
        for table in _in_turns(data, self._layout.schema):
            entries = self._layout.entries(table, day)
            if len(entries):
                ref, self.encodings = write_day(
                    self._disk, self._layout, self.encodings, entries, self._name(), self._form
                )
                runs.append(ref)
        if len(runs) <= 1:
            return runs[0] if runs else None
        whole = self._merge([Part(run) for run in runs])
        for run in runs:
            for name, _ in run.files:
                self._disk.delete(name)
        return whole

    def few(self, runs: tuple[RunRef, ...]) -> tuple[RunRef, ...]:
        """The runs of a day that waits; if it came in very many goes, those of like size merged.

        A stream brings a day in thousands of small runs, and each version names them all. Runs
        are alike if their lengths are within a factor of eight; so an entry is written once more
        for each such factor between a piece and the day.
        """
        if len(runs) <= MANY:
            return runs
        alike: dict[int, list[RunRef]] = {}
        for run in runs:
            alike.setdefault(run.rows.bit_length() // 3, []).append(run)
        for size in range(max(alike) + 1):
            if len(alike.get(size, ())) >= ALIKE:
                merged = self._merge([Part(run) for run in alike.pop(size)])
                assert merged is not None, "runs have entries"
                alike.setdefault(merged.rows.bit_length() // 3, []).append(merged)
        return tuple(run for found in alike.values() for run in found)

    def indexes(self, planned: Mapping[str, Planned | Index]) -> dict[str, Index]:
        """Planned indexes, written. What several of them share is written once."""
        written: dict[Piece, Part | None] = {}
        to_write = len({p for plan in planned.values() for p in _unwritten(plan)})
        done, size = {}, 0
        for name, plan in planned.items():
            if isinstance(plan, Index):
                done[name] = plan
                continue
            parts = []
            for piece in plan.pieces:
                if isinstance(piece, Part):
                    parts.append(piece)
                    continue
                if piece not in written:
                    new = written[piece] = self._write(piece)
                    size += 0 if new is None else new.run.bytes
                    self._progress(Reached("runs", len(written), to_write, size))
                part = written[piece]
                if part is not None:
                    parts.append(part)
            done[name] = Index(plan.days, tuple(parts))
        return done

    def _write(self, piece: Merged | Copied) -> Part | None:
        if isinstance(piece, Copied):
            return replace(piece.part, run=self._copy(piece.part.run))
        run = self._merge(piece.parts)
        return None if run is None else Part(run)

    def _merge(self, parts: Iterable[Part]) -> RunRef | None:
        inputs = [
            (self._opened(part.run), Only(part.days) if part.masked else ALL) for part in parts
        ]
        ref, self.encodings = merge(
            self._disk, self._layout, self.encodings, inputs, self._name(), self._form
        )
        return ref

    def _copy(self, run: RunRef) -> RunRef:
        made = replace(run, name=self._name())
        for (old, written), (new, _) in zip(run.files, made.files, strict=True):
            copied = self._disk.copy(old, new)
            if copied != written:
                raise DamagedError(
                    where=self._disk.where(old),
                    expected=f"the {written.size} bytes that were written",
                    found=f"{copied.size} bytes with a wrong checksum",
                    remedy="run `verify`, and restore the file from a copy of the archive",
                )
        self._disk.sync_all([new for new, _ in made.files])
        return made

    def _name(self) -> str:
        self._count += 1
        return f"{self._token}-{self._count}"


def _unwritten(plan: Planned | Index) -> list[Piece]:
    pieces = plan.pieces if isinstance(plan, Planned) else ()
    return [piece for piece in pieces if not isinstance(piece, Part)]


def _in_turns(data: Any, schema: pa.Schema) -> Iterator[pa.Table]:
    """Records as tables that can be sorted in memory."""
    if not isinstance(data, pa.Table):
        from windrow.archive.records import record_batches  # noqa: PLC0415 - loads readers of files

        data = record_batches(data, schema)
    if isinstance(data, pa.Table):
        yield from _slices(data)
        return
    held: list[pa.Table] = []
    size = 0
    for batch in data:
        table = cast_to_schema(batch, schema)
        if held and size + table.nbytes > AT_ONCE.value:
            yield from _slices(pa.concat_tables(held))
            held, size = [], 0
        held.append(table)
        size += table.nbytes
    if held:
        yield from _slices(pa.concat_tables(held))


def _slices(table: pa.Table) -> Iterator[pa.Table]:
    """A table, in as many parts as it takes."""
    turns = max(1, -(-table.nbytes // AT_ONCE.value))
    rows = max(1, -(-len(table) // turns))
    for start in range(0, len(table), rows):
        yield table.slice(start, rows)
