"""From streams to relations and back: sources, windows over them, answers as streams.

Where tuples come from are files, streams, relations and other stages; how an answer becomes a
stream, or keeps to a rhythm, are ISTREAM and its kin, WSTREAM and EVERY.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Schema
from windrow.core.time import Clock
from windrow.plan.expressions import Expression
from windrow.plan.nodes.base import MONOTONIC, STRICT, WEAKEST, Node, Unary
from windrow.plan.nodes.window_specs import (
    PARTITIONED,
    NowWindow,
    RangeWindow,
    RowsWindow,
    SessionWindow,
    UnboundedWindow,
    WindowSpec,
)


@dataclass(frozen=True)
class CsvOptions:
    """``FORMAT csv (SEPARATOR ';', QUOTE '"', HEADER false)``; no ``quote`` is the empty text.

    Without a header the columns of files are the declared ones, in their order.
    """

    separator: str = ","
    quote: str = '"'
    header: bool = True


@dataclass(frozen=True)
class FileSource:
    """``FROM 'path' FORMAT format``: a file or a directory of files.

    ``csv`` says how text is to be read that comes, so a checkpoint outlives a change of it.
    """

    path: str
    format: str  # csv, json or parquet
    csv: CsvOptions = field(default=CsvOptions(), repr=False)


@dataclass(frozen=True)
class StreamScan(Node):
    """The tuples of a stream; monotonic until a window bounds them."""

    name: str
    columns: Schema
    clock: Clock

    @property
    def schema(self) -> Schema:
        return self.columns

    @property
    def pattern(self) -> UpdatePattern:
        return MONOTONIC


@dataclass(frozen=True)
class RelationScan(Node):
    """A relation, or an NRR: a relation whose updates are not retroactive (3.3.1).

    With ``array`` it stands for UNNEST while a query is bound, and is joined away then.
    """

    name: str
    columns: Schema
    retroactive: bool
    array: Expression | None = field(default=None, repr=False)

    @property
    def schema(self) -> Schema:
        return self.columns

    @property
    def pattern(self) -> UpdatePattern:
        return STRICT


@dataclass(frozen=True)
class StageInput(Node):
    """A leaf that stands for the output of another stage; it repeats what that output promised."""

    name: str
    columns: Schema
    promised: UpdatePattern
    promised_lifetime: WindowSpec | None = None
    ordered: bool = False
    """Whether tuples of one instant come in the order in which a base stream brought them."""
    nrr: bool = False
    """Whether it stands for an NRR."""
    announced: bool = False
    """Whether no tuple of it expires by itself."""
    foreseen: bool = False
    """Whether every tuple of it has an expiry."""

    @property
    def schema(self) -> Schema:
        return self.columns

    @property
    def pattern(self) -> UpdatePattern:
        return self.promised

    @property
    def lifetime(self) -> WindowSpec | None:
        return self.promised_lifetime


@dataclass(frozen=True)
class Window(Unary):
    """Stream to relation. Its input is MONOTONIC: a stream, or a view that never withdraws."""

    spec: WindowSpec

    @property
    def pattern(self) -> UpdatePattern:
        match self.spec:
            case UnboundedWindow():
                return MONOTONIC
            case RangeWindow() | NowWindow():
                return WEAKEST
            case RowsWindow() | SessionWindow():
                return STRICT

    @property
    def lifetime(self) -> WindowSpec | None:
        return self.spec if self.pattern is WEAKEST else None


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
        return STRICT if isinstance(self.spec, PARTITIONED) else WEAKEST

    @property
    def lifetime(self) -> WindowSpec | None:
        return None if isinstance(self.spec, PARTITIONED) else self.spec


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
