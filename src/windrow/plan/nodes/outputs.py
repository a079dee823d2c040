"""How an answer becomes a stream, or keeps to a rhythm."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from windrow.core.patterns import UpdatePattern
from windrow.plan.nodes.base import MONOTONIC, STRICT, WEAKEST, Unary
from windrow.plan.nodes.window_specs import RowsWindow, WindowSpec


class StreamKind(Enum):
    """Relation to stream."""

    ISTREAM = "ISTREAM"
    DSTREAM = "DSTREAM"
    RSTREAM = "RSTREAM"
    ISTREAM_RESTORE = "ISTREAM-RESTORE"
    RSTREAM_RESTORE = "RSTREAM-RESTORE"


@dataclass(frozen=True)
class ToStream(Unary):
    """ISTREAM, DSTREAM and RSTREAM. ``every`` is the rhythm of RSTREAM in ticks."""

    kind: StreamKind
    every: int = 1

    @property
    def pattern(self) -> UpdatePattern:
        return MONOTONIC


@dataclass(frozen=True)
class OutputWindow(Unary):
    """WSTREAM: a window over the stream of results (3.3.3)."""

    spec: WindowSpec

    @property
    def pattern(self) -> UpdatePattern:
        return STRICT if isinstance(self.spec, RowsWindow) else WEAKEST

    @property
    def lifetime(self) -> WindowSpec | None:
        return None if isinstance(self.spec, RowsWindow) else self.spec


@dataclass(frozen=True)
class Every(Unary):
    """The answer as it was at the last multiple of ``period`` ticks (``EVERY 1 SECOND``)."""

    period: int


@dataclass(frozen=True)
class AppendOnly(Unary):
    """What INTERNAL windows ask for: the same results, never withdrawn (3.3.2)."""

    @property
    def pattern(self) -> UpdatePattern:
        return MONOTONIC
