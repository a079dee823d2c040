"""Which streaming DataFrames can stand for a declared stream."""

from __future__ import annotations

from typing import Any

from windrow.core.errors import InputError
from windrow.core.time import FOREVER, Clock
from windrow.plan.catalog import StreamDeclaration
from windrow.streams.monitor import InputMonitor
from windrow.streams.relations import RelationMonitor


def check_frame(monitor: InputMonitor, frame: Any) -> StreamDeclaration:
    """The declared stream; refuse a DataFrame that is none, or has not all columns, by name."""
    if isinstance(monitor, RelationMonitor):
        raise InputError(
            where=f"relation {monitor.declaration.name}",
            expected="a stream",
            found="a relation",
            remedy="push its updates, or declare it with CREATE STREAM",
        )
    declaration = monitor.declaration
    name = declaration.name
    _refuse_limits(declaration)
    if not frame.isStreaming:
        raise InputError(
            where=f"stream {name}",
            expected="a streaming DataFrame",
            found="one that is not",
            remedy="create it with spark.readStream, or push its rows",
        )
    missing = [f.name for f in declaration.schema if f.name not in frame.columns]
    if missing:
        raise InputError(
            where=f"stream {name}",
            expected=f"columns {', '.join(f.name for f in declaration.schema)}",
            found=f"no {', '.join(missing)} among {', '.join(frame.columns)}",
            remedy="rename columns with DataFrame.withColumnRenamed",
        )
    return declaration


def _refuse_limits(declaration: StreamDeclaration) -> None:
    """Refuse what cannot be judged of a DataFrame: rows without an order, a silence unseen."""
    ahead = declaration.ahead is not None and declaration.ahead < FOREVER
    if ahead and declaration.clock is Clock.INTEGER:
        found, remedy = "AHEAD on an integer clock", "declare its time as a TIMESTAMP"
    elif declaration.idle is not None and declaration.idle < FOREVER:
        found, remedy = (
            "IDLE AFTER",
            "leave it out; call advance(to=...) when nothing more will come",
        )
    else:
        return
    raise InputError(
        where=f"stream {declaration.name}",
        expected="time limits that work for a DataFrame",
        found=found,
        remedy=remedy,
    )
