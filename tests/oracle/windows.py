"""Window clauses, and what each holds at an instant: once as SQL, once as plain Python.

``contents`` gives the contents at every instant of the table ``instants (t)`` at once, of a
stream kept as a table ``(ts, seq, ...)`` where ``seq`` is the order of arrival.
``held`` gives them at one instant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Protocol

Row = tuple[Any, ...]
Arrival = tuple[int, Row]
"""A tuple of a stream and its timestamp; a stream is a list of them in order of time."""


class Window(Protocol):
    """What the window clauses have in common."""

    @property
    def cql(self) -> str: ...

    def contents(self, stream: str) -> str:
        """SQL for the rows ``(t, ts, seq, ...)`` that the window holds at each ``t``."""

    def held(self, stream: Sequence[Arrival], columns: Sequence[str], t: int) -> list[Row]:
        """The rows that the window holds at ``t``."""


def _joined(stream: str, condition: str) -> str:
    return f"SELECT i.t, s.* FROM instants AS i JOIN {stream} AS s ON {condition}"


@dataclass(frozen=True)
class Range:
    """``[RANGE length SLIDE slide]``: ts in (edge - length, edge], the edge moving by slides."""

    length: int
    slide: int | None = None

    @property
    def cql(self) -> str:
        slide = f" SLIDE {self.slide} SECONDS" if self.slide else ""
        return f"[RANGE {self.length} SECONDS{slide}]"

    def function(self, name: str, time: str) -> str:
        """The same window as SQL:2016 writes it."""
        head = f"TABLE(HOP(TABLE {name}, DESCRIPTOR({time}), INTERVAL '{self.slide}' SECOND, "
        if self.slide == self.length:
            return f"TUMBLE({name}, {time}, {self.length} SECONDS)"
        return f"{head}INTERVAL '{self.length}' SECOND))"

    def contents(self, stream: str) -> str:
        edge = f"CAST(floor(i.t / {self.slide}) * {self.slide} AS BIGINT)" if self.slide else "i.t"
        return _joined(stream, f"s.ts <= {edge} AND s.ts > {edge} - {self.length}")

    def held(self, stream: Sequence[Arrival], columns: Sequence[str], t: int) -> list[Row]:
        edge = t // self.slide * self.slide if self.slide else t
        return [row for ts, row in stream if edge - self.length < ts <= edge]


@dataclass(frozen=True)
class Now:
    """``[NOW]``: the tuples of this very instant."""

    cql: str = "[NOW]"

    def contents(self, stream: str) -> str:
        return _joined(stream, "s.ts = i.t")

    def held(self, stream: Sequence[Arrival], columns: Sequence[str], t: int) -> list[Row]:
        return [row for ts, row in stream if ts == t]


@dataclass(frozen=True)
class Unbounded:
    """``[UNBOUNDED]``, or no window at all: everything that came."""

    cql: str = "[UNBOUNDED]"

    def contents(self, stream: str) -> str:
        return _joined(stream, "s.ts <= i.t")

    def held(self, stream: Sequence[Arrival], columns: Sequence[str], t: int) -> list[Row]:
        return [row for ts, row in stream if ts <= t]


NO_WINDOW = Unbounded(cql="")


@dataclass(frozen=True)
class Session:
    """``[PARTITION BY ... SESSION gap]``: what came since a silence, of all or of each key."""

    gap: int
    partition_by: tuple[str, ...] = ()

    @property
    def cql(self) -> str:
        by = f"PARTITION BY {', '.join(self.partition_by)} " if self.partition_by else ""
        return f"[{by}SESSION {self.gap} SECONDS]"

    def function(self, name: str, time: str) -> str:
        """The same window as SQL:2016 writes it."""
        by = f" PARTITION BY {', '.join(self.partition_by)}" if self.partition_by else ""
        return f"TABLE(SESSION(TABLE {name}{by}, DESCRIPTOR({time}), INTERVAL {self.gap} SECONDS))"

    def contents(self, stream: str) -> str:
        by = f"PARTITION BY {', '.join(['t', *self.partition_by])}"
        silent = f"coalesce(lead(ts) OVER ({by} ORDER BY ts, seq), t) - ts >= {self.gap}"
        followed = f"SELECT *, {silent} AS silent FROM ({_joined(stream, 's.ts <= i.t')})"
        ended = f"bool_or(silent) OVER ({by} ORDER BY ts DESC, seq DESC)"
        return f"SELECT * EXCLUDE (silent) FROM ({followed}) QUALIFY NOT {ended}"

    def held(self, stream: Sequence[Arrival], columns: Sequence[str], t: int) -> list[Row]:
        places = [columns.index(name) for name in self.partition_by]
        sessions: dict[str, tuple[int, list[Row]]] = {}
        for ts, row in stream:
            if ts > t:
                break
            key = repr([row[place] for place in places])
            last, rows = sessions.get(key, (ts, []))
            sessions[key] = (ts, [*rows, row] if ts - last < self.gap else [row])
        return [row for last, rows in sessions.values() if t - last < self.gap for row in rows]


@dataclass(frozen=True)
class Rows:
    """``[PARTITION BY ... ROWS count]``: the last that came, of all or of each key."""

    count: int
    partition_by: tuple[str, ...] = ()
    slide: int | None = None

    @property
    def cql(self) -> str:
        by = f"PARTITION BY {', '.join(self.partition_by)} " if self.partition_by else ""
        slide = f" SLIDE {self.slide}" if self.slide else ""
        return f"[{by}ROWS {self.count}{slide}]"

    def contents(self, stream: str) -> str:
        if self.slide:
            number = "row_number() OVER (PARTITION BY i.t ORDER BY s.ts, s.seq)"
            came = f"count(*) OVER (PARTITION BY i.t) // {self.slide} * {self.slide}"
            return (
                _joined(stream, "s.ts <= i.t")
                + f" QUALIFY {number} <= {came} AND {number} > {came} - {self.count}"
            )
        keys = ", ".join(["i.t", *(f"s.{name}" for name in self.partition_by)])
        return (
            _joined(stream, "s.ts <= i.t") + f" QUALIFY row_number() OVER "
            f"(PARTITION BY {keys} ORDER BY s.ts DESC, s.seq DESC) <= {self.count}"
        )

    def held(self, stream: Sequence[Arrival], columns: Sequence[str], t: int) -> list[Row]:
        came = [row for ts, row in stream if ts <= t]
        if self.slide:
            return came[: len(came) // self.slide * self.slide][-self.count :]
        places = [columns.index(name) for name in self.partition_by]

        def key(row: Row) -> str:
            return repr([row[place] for place in places])

        groups = groupby(sorted(came, key=key), key)
        return [row for _, rows in groups for row in list(rows)[-self.count :]]
