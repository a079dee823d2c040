"""What the commits of a streaming query add up to, for each declared query that it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from windrow.core.patterns import UpdatePattern
from windrow.engine.commits import Commit, commits
from windrow.engine.console import print_changes
from windrow.engine.progress import Progress, QueryReport
from windrow.engine.results import answer_of, changes_schema, ranked, read_changes
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.ranks import ranks
from windrow.spark.query import SparkQuery
from windrow.spark.shared import SharedSparkQuery

LAST_ROWS = 10


class Outcome:
    """Of a streaming query that is one declared query."""

    def __init__(self, query: SparkQuery) -> None:
        self._query = query

    def show(self, new: Sequence[Commit]) -> None:
        """Print what is for the console."""
        if on_console(self._query.declaration):
            print_changes(self._query.declaration.name, self._read(new))

    def reports(self, done: Sequence[Commit], progress: Progress) -> list[QueryReport]:
        """What was done; ``done`` are the commits of all runs, ``progress`` is of this one."""
        query = self._query
        if query.archived:
            answer = pa.table({})  # it is in the archive
        elif query.declaration.plan.pattern is UpdatePattern.MONOTONIC:
            answer = last_rows(self._read([c for c in done if c.rows_out][-1:]))
        else:
            answer = answer_of(self._read(done))
        found = _report(query.declaration, progress, progress.rows_out, query.destination, answer)
        return [replace(found, waiting=query.waiting)]

    def _read(self, chosen: Sequence[Commit]) -> pa.Table:
        query = self._query
        return read_changes(query.results, query.format, query.schema, chosen)


class SharedOutcome:
    """Of a streaming query that is a group of declared ones."""

    def __init__(self, query: SharedSparkQuery) -> None:
        self._query, self._members = query, query.group.members
        first = next(iter(self._members.values()))
        self._schema = changes_schema(first.plan.schema, first.clock)
        self._stream = first.plan.pattern is UpdatePattern.MONOTONIC

    def show(self, new: Sequence[Commit]) -> None:
        """Print what is for the console, query by query."""
        if any(on_console(query) for query in self._members.values()):
            for number, changes in self._query.kept(new).parts():
                if on_console(self._members[number]):
                    print_changes(self._members[number].name, pa.Table.from_batches([changes]))

    def reports(self, done: Sequence[Commit], progress: Progress) -> list[QueryReport]:
        """As of a query alone, for each member."""
        fresh = done[len(done) - progress.batches :]
        first = fresh[0].batch if fresh else None
        counts = self._query.counts(fresh)
        kept = self._kept(done)
        found = []
        for number, query in self._members.items():
            into = self._query.own.get(number)
            if into is None:
                report = _report(query, progress, int(counts[number]), None, kept[number])
            else:
                place = Path(into.path).absolute()
                mine = commits(place)
                rows = 0 if first is None else sum(c.rows_out for c in mine if c.batch >= first)
                report = _report(
                    query, progress, rows, place, self._answer(place, into.format, mine)
                )
            found.append(report)
        return found

    def _answer(self, place: Path, format_: str, mine: Sequence[Commit]) -> pa.Table:
        if self._stream:
            return last_rows(read_changes(place, format_, self._schema, mine[-1:]))
        return answer_of(read_changes(place, format_, self._schema, mine))

    def _kept(self, done: Sequence[Commit]) -> dict[int, pa.Table]:
        """The answers of queries without files; of a stream the last rows, wherever they came."""
        missing = [n for n in self._members if n not in self._query.own]
        if not self._stream and missing:
            changes = self._query.kept(done)
            return {n: answer_of(pa.Table.from_batches([changes.part(n)])) for n in missing}
        found = dict.fromkeys(missing, last_rows(self._schema.empty_table()))
        silent = set(missing)
        for commit in reversed(done):
            if not silent:
                break
            for number, rows in self._query.kept([commit]).parts():
                if number in silent:
                    found[number] = last_rows(pa.Table.from_batches([rows]))
                    silent.discard(number)
        return found


def outcome_of(query: SparkQuery) -> Outcome | SharedOutcome:
    return SharedOutcome(query) if isinstance(query, SharedSparkQuery) else Outcome(query)


def last_rows(changes: pa.Table) -> pa.Table:
    """The last rows of a stream."""
    end = changes.slice(max(changes.num_rows - LAST_ROWS, 0))
    return end.drop_columns(["instant", "change"])


def on_console(query: QueryDeclaration) -> bool:
    return query.into is not None and query.into.format == "console"


def _report(
    query: QueryDeclaration,
    progress: Progress,
    rows_out: int,
    destination: Path | None,
    answer: pa.Table,
) -> QueryReport:
    return QueryReport(
        name=query.name,
        rows_in=progress.rows_in,
        rows_out=rows_out,
        quarantined=progress.quarantined,
        late=progress.late,
        now=progress.now,
        clock=progress.clock,
        destination=destination,
        answer=ranked(answer, query.plan),
        ranked=bool(ranks(query.plan)),
    )
