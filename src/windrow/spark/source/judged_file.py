"""The rows of one admitted part of a file: those in time, and the others for the quarantine.

Which rows are late or ahead follows from the stream's time before the part and from its horizon,
which the log knows: so parts can be judged in any order, at the same time, and again.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from windrow.columns.delta import Delta
from windrow.core.time import BEGINNING
from windrow.plan.catalog import StreamDeclaration
from windrow.streams.horizon import Horizon
from windrow.streams.monitor import InputMonitor
from windrow.streams.quarantine import Page
from windrow.streams.stream_time import StreamTime
from windrow.tables.file_part import Part
from windrow.tables.readers import read_file

Counts = dict[str, int]


class JudgedFile:
    """See the module. ``counts``, ``top`` and ``rest`` are right when all Deltas were taken."""

    def __init__(
        self, declaration: StreamDeclaration, before: StreamTime, horizon: Horizon
    ) -> None:
        self._declaration, self._horizon = declaration, horizon
        self._monitor = InputMonitor(declaration, None if before.top == BEGINNING else before.top)
        self._monitor.advance(before.advanced)
        self.rest: Part | None = None

    def deltas(self, path: Path, part: Part, page: Page) -> Iterator[Delta]:
        """The rows that are in time, a bounded number at once; the others go to the page."""
        monitor, declaration = self._monitor, self._declaration
        for parsed in read_file(path, declaration, part=part):
            self.rest = parsed.after
            accepted = monitor.accept(parsed, self._horizon)
            page.add(parsed.rejected)
            page.add(accepted.rejections(parsed, declaration))
            monitor.release(accepted.delta.ts[-1] if len(accepted.delta) else BEGINNING)
            yield accepted.delta

    @property
    def top(self) -> int | None:
        """The greatest credible timestamp of the stream by now."""
        return self._monitor.top

    @property
    def counts(self) -> Counts:
        """Rows of the part by what became of them."""
        monitor = self._monitor
        return {
            "rows_in": monitor.accepted,
            "late": monitor.late,
            "rejected": monitor.rejected,
            "cut": monitor.cut,
        }
