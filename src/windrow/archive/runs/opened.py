"""Runs that are open, each once, however many ask for it.

A run that is open is mapped, and its bytes stay on the disk when its files are deleted. So readers
of one archive share what they open, and each forgets what the newest version no longer has; a
writer forgets all that it opened when it is done.
"""

from __future__ import annotations

from collections.abc import Iterable

from windrow.archive.format.disk import Disk
from windrow.archive.format.layout import Layout
from windrow.archive.format.run_ref import RunRef
from windrow.archive.runs.run import Run


class OpenRuns:
    """Opens runs and finds them again."""

    def __init__(self, disk: Disk, layout: Layout) -> None:
        self._disk, self._layout = disk, layout
        self.runs: dict[str, Run] = {}

    def __call__(self, ref: RunRef) -> Run:
        run = self.runs.get(ref.name)
        if run is None:
            run = self.runs[ref.name] = Run(self._disk, self._layout, ref)
        return run

    def keep(self, refs: Iterable[RunRef]) -> None:
        """Forget all others; what readers of other versions use is kept open by them alone."""
        for name in set(self.runs) - {ref.name for ref in refs}:
            self.runs.pop(name, None)
