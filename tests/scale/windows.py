"""Window clauses, and their contents at one instant ``$t`` as SQL over ``(ts, n, ...)``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Window:
    """A clause of the language, and the SQL that selects what it holds of the table ``{s}``."""

    cql: str
    sql: str

    def of(self, stream: str) -> str:
        return self.sql.format(s=stream)


UNBOUNDED = Window("[UNBOUNDED]", "SELECT * FROM {s} WHERE ts <= $t")
NOW = Window("[NOW]", "SELECT * FROM {s} WHERE ts = $t")


def time(length: int) -> Window:
    return Window(
        f"[RANGE {length} SECONDS]",
        f"SELECT * FROM {{s}} WHERE ts <= $t AND ts > $t - {length}",
    )


def slide(length: int, step: int) -> Window:
    edge = f"($t // {step} * {step})"
    return Window(
        f"[RANGE {length} SECONDS SLIDE {step} SECONDS]",
        f"SELECT * FROM {{s}} WHERE ts <= {edge} AND ts > {edge} - {length}",
    )


def rows(count: int) -> Window:
    return Window(
        f"[ROWS {count}]",
        f"SELECT * FROM {{s}} WHERE ts <= $t ORDER BY ts DESC, n DESC LIMIT {count}",
    )


def partition(column: str, count: int) -> Window:
    order = f"PARTITION BY {column} ORDER BY ts DESC, n DESC"
    return Window(
        f"[PARTITION BY {column} ROWS {count}]",
        f"SELECT * FROM {{s}} WHERE ts <= $t QUALIFY row_number() OVER ({order}) <= {count}",
    )
