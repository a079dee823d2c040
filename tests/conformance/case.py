"""One case file, and the CQL script that it stands for.

A file's stream has its time outside its columns; a declared stream has it inside. So the
stream ``S (k, a)`` of a case is the view ``S`` over a stream ``S_raw (at_, k, a)``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

TIME = "at_"
SQL_TYPES = {"int": "INT", "float": "FLOAT", "byte": "STRING"}  # char(n) is a STRING too
ARROW_TYPES = {"INT": pa.int32(), "FLOAT": pa.float32(), "STRING": pa.string()}

Change = tuple[int, str, tuple[Any, ...]]
"""An instant, ``+`` or ``-``, and the values of the tuple."""


@dataclass(frozen=True)
class Input:
    """A stream or a relation of a case; each row starts with its instant."""

    name: str
    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Any, ...], ...]

    @property
    def is_relation(self) -> bool:
        """Whether each row has a sign after its instant."""
        return any(len(row) == len(self.columns) + 2 for row in self.rows)

    @property
    def declared(self) -> str:
        return ", ".join(f"{name} {type_}" for name, type_ in self.columns)

    def pieces(self, count: int) -> Iterator[pa.Table]:
        """The rows as ``count`` tables, cut by number of rows: an instant may lie on both sides."""
        names = [TIME, *(name for name, _ in self.columns)]
        types = [pa.int64(), *(ARROW_TYPES[type_] for _, type_ in self.columns)]
        if self.is_relation:
            names[:1], types[:1] = ["instant", "change"], [pa.int64(), pa.string()]
        for piece in range(count):
            start, stop = (len(self.rows) * n // count for n in (piece, piece + 1))
            rows = self.rows[start:stop]
            arrays = [pa.array([r[i] for r in rows], type_) for i, type_ in enumerate(types)]
            yield pa.Table.from_arrays(arrays, names)


@dataclass(frozen=True)
class Case:
    """A case file, read."""

    name: str
    streams: tuple[Input, ...]
    relations: tuple[Input, ...]
    views: tuple[str, ...]
    query: str
    expect: tuple[Change, ...]
    horizon: int
    nested_averages: bool

    @property
    def tolerance(self) -> float:
        """How far apart two floats may be: the answers were printed with 6 digits of binary32."""
        return 1e-4 if self.nested_averages else 1e-5

    @property
    def script(self) -> str:
        streams = [
            f"CREATE STREAM {s.name}_raw ({TIME} BIGINT, {s.declared}) TIMESTAMP BY {TIME};\n"
            f"CREATE VIEW {s.name} AS SELECT {', '.join(n for n, _ in s.columns)} "
            f"FROM {s.name}_raw;"
            for s in self.streams
        ]
        relations = [f"CREATE RELATION {r.name} ({r.declared});" for r in self.relations]
        return "\n".join([*streams, *relations, *self.views, self.query])


def in_our_quotes(query: str) -> str:
    """The prototype writes texts in double quotes; here these hold names."""
    return query.replace('"', "'")


def load(path: Path) -> Case:
    """Read a case file."""
    case = json.loads(path.read_text(encoding="utf-8"))
    texts = [view["query"].lower() for view in case["views"]]
    return Case(
        name=case["name"],
        streams=_inputs(case["streams"]),
        relations=_inputs(case["relations"]),
        views=tuple(_view(view) for view in case["views"]),
        query=in_our_quotes(case["query"]).rstrip().rstrip(";") + ";",
        expect=tuple((at, sign, tuple(values)) for at, sign, values in case["expect"]),
        horizon=case["horizon"],
        nested_averages=sum("avg" in text for text in [*texts, case["query"].lower()]) > 1,
    )


def _inputs(described: dict[str, Any]) -> tuple[Input, ...]:
    return tuple(
        Input(name, _columns(entry["columns"]), tuple(tuple(row) for row in entry["rows"]))
        for name, entry in described.items()
    )


def _columns(columns: list[list[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((name, SQL_TYPES.get(type_, "STRING")) for name, type_ in columns)


def _view(view: dict[str, Any]) -> str:
    columns = ", ".join(f"{name} {type_}" for name, type_ in _columns(view["columns"]))
    query = in_our_quotes(view["query"]).rstrip().rstrip(";")
    return f"CREATE VIEW {view['name']} ({columns}) AS {query};"
