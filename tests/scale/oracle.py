"""What DuckDB answers at each instant, and where an answer differs from it."""

from __future__ import annotations

from types import TracebackType
from typing import Self

import duckdb
import pyarrow as pa

from tests.scale.cases import Case
from tests.scale.data import Data

SHOWN = 3
CANCELLED = 1e-12


class Oracle:
    """The data in DuckDB; the answers to a case are worked out once."""

    def __init__(self, data: Data) -> None:
        self.data = data
        self._db = duckdb.connect()
        self._db.execute("SET threads = 1")
        for name, table in {**data.streams, "lives": data.lives}.items():
            self._db.register("given", table)
            self._db.execute(f"CREATE TABLE {name} AS FROM given")
            self._db.unregister("given")
        self._asked: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._db.close()

    def difference(self, case: Case, changes: pa.Table) -> str | None:
        """The first instant at which the changes do not add up to the answer, and how."""
        expected = self._expected(case)
        self._db.register("changes", changes)
        columns = changes.schema.names[2:]
        shown = ", ".join(f"{plain(changes, n)} AS c{i}" for i, n in enumerate(columns))
        copies = "sum(CASE change WHEN '+' THEN 1 ELSE -1 END)"
        self._db.execute(f"CREATE OR REPLACE TEMP TABLE said AS SELECT instant, change, {shown} "
                         "FROM changes")  # fmt: skip
        self._db.unregister("changes")
        names = ", ".join(f"c{i}" for i in range(len(columns)))
        for t in self.data.instants:
            ours = (
                f"SELECT {names}, CAST({copies} AS BIGINT) AS copies FROM said "
                f"WHERE instant IS NULL OR instant <= {t} GROUP BY ALL HAVING copies <> 0"
            )
            theirs = f"SELECT {names}, copies FROM {expected} WHERE t = {t}"
            if not self._rows(
                f"SELECT {names} FROM (({ours}) UNION ALL "
                f"SELECT {names}, -copies FROM {expected} WHERE t = {t}) "
                "GROUP BY ALL HAVING sum(copies) <> 0 LIMIT 1"
            ):
                continue
            extra = self._rows(f"({ours}) EXCEPT ({theirs})")
            missing = self._rows(f"({theirs}) EXCEPT ({ours})")
            if extra or missing:
                return (
                    f"at {t}: {len(extra)} rows too many, such as {extra[:SHOWN]}, "
                    f"{len(missing)} missing, such as {missing[:SHOWN]}"
                )
        return None

    def _expected(self, case: Case) -> str:
        """A table of the answers, made when the case is first asked for."""
        if case.name not in self._asked:
            table = f"expected_{len(self._asked)}"
            for place, t in enumerate(self.data.instants):
                answer = self._db.sql(case.sql.replace("$t", str(t)))
                kinds = zip(answer.columns, answer.types, strict=True)
                shown = ", ".join(
                    f"{written(f'answer.{column}', str(kind))} AS c{i}"
                    for i, (column, kind) in enumerate(kinds)
                )
                asked = (
                    f"SELECT {t} AS t, {shown}, count(*) AS copies "
                    f"FROM ({case.sql.replace('$t', str(t))}) AS answer GROUP BY ALL"
                )
                into = f"INSERT INTO {table}" if place else f"CREATE TABLE {table} AS"
                self._db.execute(f"{into} {asked}")
            self._asked[case.name] = table
        return self._asked[case.name]

    def _rows(self, sql: str) -> list[tuple[object, ...]]:
        found: list[tuple[object, ...]] = self._db.execute(sql).fetchall()
        return found


def plain(changes: pa.Table, name: str) -> str:
    """A column of the changes as text; names may be anything, so it is asked for by quotes."""
    kind = changes.schema.field(name).type
    return written(f'changes."{name}"', "DOUBLE" if pa.types.is_floating(kind) else "other")


def written(column: str, kind: str) -> str:
    """A value as text: nine digits of a floating-point number, everything of others.

    A number is first scaled by an odd factor: means of integers often lie just between two
    numbers of nine digits, where the last bit would decide. Where an interpolation cancels but for
    the error of its share, DuckDB rounds what is left and Windrow does not: that is 0 here. The
    data are quarters, so nothing else is so small.
    """
    if kind in ("DOUBLE", "FLOAT"):
        small = f"abs({column}) < {CANCELLED}"
        return f"CASE WHEN {small} THEN '0' ELSE printf('%.9g', {column} * 1.0001234567 + 0.0) END"
    return f"CAST({column} AS VARCHAR)"
