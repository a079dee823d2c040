"""Where tuples come from: files, streams, relations, other stages, and the windows over them."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Schema
from windrow.core.time import Clock
from windrow.plan.nodes.base import MONOTONIC, STRICT, WEAKEST, Node, Unary
from windrow.plan.nodes.window_specs import (
    NowWindow,
    RangeWindow,
    RowsWindow,
    UnboundedWindow,
    WindowSpec,
)


@dataclass(frozen=True)
class FileSource:
    """``FROM 'path' FORMAT format``: a file or a directory of files."""

    path: str
    format: str  # csv, json or parquet


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
    """A relation, or an NRR: a relation whose updates are not retroactive (3.3.1)."""

    name: str
    columns: Schema
    retroactive: bool

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
            case RowsWindow():
                return STRICT

    @property
    def lifetime(self) -> WindowSpec | None:
        return self.spec if self.pattern is WEAKEST else None
