"""Progress while queries run: a table that lives on a terminal, plain lines anywhere else."""

from __future__ import annotations

import threading
import time
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from windrow.cli.console import instant
from windrow.engine.progress import Progress, warnings_of

SECONDS_BETWEEN_LINES = 2.0
"""On a plain output each query speaks at most this often."""


NAMED = 3
"""Late queries that are named."""


class Display:
    """Shows the latest Progress of each query. ``show`` may be called from any thread.

    With ``batches`` every micro-batch that is seen has a line, with its number.
    """

    def __init__(self, console: Console, activity: str, *, batches: bool = False) -> None:
        self._console, self._activity, self._batches = console, activity, batches
        self._latest: dict[str, Progress] = {}
        self._warned: set[str] = set()
        self._spoken: dict[str, tuple[float, Progress]] = {}
        self._refused: set[str] = set()
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self._live: Live | None = None

    def __enter__(self) -> Display:
        if self._console.is_terminal:
            self._live = Live(
                get_renderable=self._table,
                console=self._console,
                refresh_per_second=4,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
        else:
            self._console.print(self._activity)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()
        if self._live is not None or self._batches:
            return
        with self._lock:
            for progress in self._latest.values():
                if self._spoken[progress.query][1] != progress:
                    self._console.print(line(progress))

    def show(self, progress: Progress) -> None:
        with self._lock:
            for words in progress.refused:
                self._warn_once(words)
            known = self._latest.get(progress.query)
            self._latest[progress.query] = progress
            if self._batches:
                self._log(progress, known)
            elif self._live is None:
                self._speak(progress)
            self._warn(progress)

    def _warn(self, progress: Progress) -> None:
        """Say once for each query what of its input or answer is missing."""
        for warning in map(str, warnings_of(progress)):
            if warning not in self._warned:
                self._warned.add(warning)
                self._console.print(Text.assemble(("warning", "bold yellow"), f": {warning}"))

    def note(self, words: str) -> None:
        """Say something beside the progress, and go on."""
        self._activity = words
        if self._live is None:
            self._console.print(words)

    def remark(self, words: str) -> None:
        """Say something once, above the progress."""
        self._console.print(words)

    def _warn_once(self, words: str) -> None:
        """Several queries may read one file."""
        if words not in self._refused:
            self._refused.add(words)
            self._console.print(f"not read: {words}", style="yellow")

    def _speak(self, progress: Progress) -> None:
        now = time.monotonic()
        last, known = self._spoken.get(progress.query, (-SECONDS_BETWEEN_LINES, None))
        if now - last >= SECONDS_BETWEEN_LINES and progress != known:
            self._spoken[progress.query] = (now, progress)
            self._console.print(line(progress))

    def _log(self, progress: Progress, known: Progress | None) -> None:
        if progress.batch is not None and (known is None or known.batch != progress.batch):
            self._console.print(f"batch {progress.batch}: {line(progress)}")

    def _table(self) -> RenderableType:
        seconds = time.monotonic() - self._began
        status = Spinner("dots", f"{self._activity} ({seconds:.0f} s)")
        with self._lock:
            latest = list(self._latest.values())
        return Group(progress_table(latest), status) if latest else status


def progress_table(latest: list[Progress]) -> Table:
    """One row per query."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("query")
    for heading in ("rows in", "rows out", "watermark", "quarantined", "(late)", "batches"):
        table.add_column(heading, justify="right")
    if any(p.idle for p in latest):
        table.add_column("idle")
    if any(p.lateness for p in latest):
        table.add_column("answers late")
    for p in latest:
        counts = [f"{n:,}" for n in (p.quarantined, p.late, p.batches)]
        time_reached = instant(p.now, p.clock)
        idle = [", ".join(p.idle)] if any(q.idle for q in latest) else []
        behind = [late_answers(p)] if any(q.lateness for q in latest) else []
        seen = (f"{p.rows_in:,}", f"{p.rows_out:,}", time_reached, *counts)
        table.add_row(p.query, *seen, *idle, *behind)
    return table


def line(progress: Progress) -> str:
    """The same as words in one line."""
    p = progress
    idle = f", idle: {', '.join(p.idle)}" if p.idle else ""
    behind = f", answers late: {late_answers(p)}" if late_answers(p) else ""
    return (
        f"{p.query}: {p.rows_in:,} rows in, {p.rows_out:,} out, "
        f"watermark {instant(p.now, p.clock)}, "
        f"{p.quarantined:,} quarantined ({p.late:,} late){idle}{behind}"
    )


def late_answers(progress: Progress) -> str:
    """Which queries are late now, the latest first, and by how much; not all of very many."""
    found = {name: late.seconds for name, late in progress.lateness.items() if late.seconds}
    latest = sorted(found.items(), key=lambda item: -item[1])
    words = [f"{name} by {seconds:,.1f} s" for name, seconds in latest[:NAMED]]
    return ", ".join([*words, *([f"{len(latest) - NAMED} more"] if len(latest) > NAMED else [])])
