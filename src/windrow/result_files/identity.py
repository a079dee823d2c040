"""What a directory of results is: whose, of which query, in which format and with which columns.

``_results.json`` stands beside the commits. Commits of another run than the one it names are no
results any more, so a directory changes hands by replacing this one file.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from windrow.columns.types import arrow_schema
from windrow.core.errors import StateError
from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Field, Schema, Type
from windrow.core.time import Clock
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.nodes.relational import ranks
from windrow.result_files.atomic_files import publish, read_once, read_record

RESULTS = "_results.json"
VERSION = 1
INSTANT, CHANGE = "instant", "change"
QUERY = "query"
"""The column of a table that says which query a change is of."""


@dataclass(frozen=True)
class Identity:
    """See the module. ``stream``: nothing is ever withdrawn; ``order`` is that of a TOP. In a
    ``table`` a column says which query a change is of."""

    run: str
    query: str
    format: str
    schema: pa.Schema
    clock: Clock = Clock.INTEGER
    stream: bool = True
    order: tuple[tuple[int, bool], ...] = ()
    table: bool = False

    def publish(self, directory: Path, over: str | None = None) -> None:
        publish(directory / RESULTS, self.to_json(), over)

    def to_json(self) -> str:
        columns = [{"name": f.name, "type": str(f.type)} for f in self.schema]
        known = {
            "version": VERSION,
            "run": self.run,
            "query": self.query,
            "format": self.format,
            "clock": self.clock.value,
            "stream": self.stream,
            "order": self.order,
            "table": self.table,
            "columns": columns,
            "schema": base64.b64encode(self.schema.serialize()).decode(),
        }
        return json.dumps(known, indent=1, ensure_ascii=False)

    @classmethod
    def read(cls, directory: Path) -> Identity | None:
        """That of a directory; None if it has none."""
        path = directory / RESULTS

        def read() -> Identity:
            return read_record(
                path,
                "the description of the results",
                lambda known: cls._of(known, path),
                remedy="move the directory of results away and run the script from the beginning",
            )

        try:
            return read_once(path, read)
        except (FileNotFoundError, NotADirectoryError):
            return None

    @classmethod
    def _of(cls, known: dict[str, Any], path: Path) -> Identity:
        if known["version"] != VERSION:
            raise StateError(
                where=str(path),
                expected=f"results of version {VERSION}",
                found=f"version {known['version']}",
                remedy="read them with the version of Windrow that wrote them",
            )
        return cls(
            known["run"],
            known["query"],
            known["format"],
            pa.ipc.read_schema(pa.py_buffer(base64.b64decode(known["schema"]))),
            Clock(known["clock"]),
            bool(known["stream"]),
            tuple((int(index), bool(down)) for index, down in known["order"]),
            bool(known.get("table", False)),
        )


def identity_of(query: QueryDeclaration, run: str, format_: str) -> Identity:
    """That of a query's changes."""
    return Identity(
        run,
        query.name,
        format_,
        changes_schema(query.plan.schema, query.clock),
        query.clock,
        query.plan.pattern is UpdatePattern.MONOTONIC,
        ranks(query.plan),
    )


def identity_of_table(queries: Sequence[QueryDeclaration], run: str, format_: str) -> Identity:
    """That of the changes of queries with the same columns, each after the name of its query."""
    first = queries[0]
    schema = Schema((Field(QUERY, Type.STRING),)) + first.plan.schema
    return Identity(
        run,
        first.name if len(queries) == 1 else f"{first.name} and {len(queries) - 1:,} more",
        format_,
        changes_schema(schema, first.clock),
        first.clock,
        first.plan.pattern is UpdatePattern.MONOTONIC,
        table=True,
    )


def identity_in_place(queries: Sequence[QueryDeclaration], run: str, format_: str) -> Identity:
    """That of the changes of all queries that are INTO one directory."""
    if len(queries) == 1:
        return identity_of(queries[0], run, format_)
    return identity_of_table(queries, run, format_)


def changes_schema(schema: Schema, clock: Clock) -> pa.Schema:
    """``instant``, ``change``, then the query's columns, all called differently."""
    kind = Type.TIMESTAMP if clock is Clock.TIMESTAMP else Type.BIGINT
    first = Schema((Field(INSTANT, kind), Field(CHANGE, Type.STRING)))
    return arrow_schema(first + schema)
