"""What the commits of a streaming query add up to, for each declared query that it answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from windrow.core.patterns import UpdatePattern
from windrow.engine.answers import last_answer
from windrow.engine.compaction import compact_before_answering
from windrow.engine.console import print_changes
from windrow.engine.identity import CHANGE, INSTANT
from windrow.engine.progress import Progress, QueryReport
from windrow.engine.published import published
from windrow.engine.results import ranked
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.physical.display_order import ranks
from windrow.spark.query import SparkQuery
from windrow.spark.shared import SharedSparkQuery


class Outcome:
    """Of a streaming query that is one declared query."""

    def __init__(self, query: SparkQuery) -> None:
        self._query = query

    def begin(self) -> None:
        """Take note of what there is before the run."""

    def show(self, after: int, upto: int) -> None:
        """Print what is for the console, of the micro-batches after ``after``."""
        into = self._query.declaration.into
        if into is not None and into.format == "console":
            for changes in self._query.reading.tables(after, upto):
                print_changes(self._query.declaration.name, changes, into.limit)

    def reports(self, first: int, progress: Progress) -> list[QueryReport]:
        """What was done; ``progress`` is of this run, which began after micro-batch ``first``."""
        query = self._query
        archived = query.archived  # then the answer is in the archive
        answer = pa.table({}) if archived else rows_of(query.answer().rows)
        found = _report(query.declaration, progress, progress.rows_out, query.destination, answer)
        stream = not archived and query.identity.stream
        total = published(query.results).totals.rows_out if stream else None
        return [replace(found, waiting=query.waiting, total=total)]


class SharedOutcome:
    """Of a streaming query that is a group of declared ones."""

    def __init__(self, query: SharedSparkQuery) -> None:
        self._query, self._members = query, query.group.members
        self._earlier: dict[int, int] = {}

    def begin(self) -> None:
        """Take note of how many changes each query with files of its own has had before."""
        query = self._query
        self._earlier = {n: published(query.place(n)).totals.rows_out for n in query.own}

    def show(self, after: int, upto: int) -> None:
        """Print what is for the console, query by query."""
        if any(on_console(query) for query in self._members.values()):
            for number, changes in self._query.kept(after, upto).parts():
                declared = self._members[number]
                if on_console(declared) and declared.into is not None:
                    table = pa.Table.from_batches([changes])
                    print_changes(declared.name, table, declared.into.limit)

    def reports(self, first: int, progress: Progress) -> list[QueryReport]:
        """As of a query alone, for each member."""
        query = self._query
        kept = any(number not in query.own for number in self._members)
        counts = query.counts(first) if kept else None
        answers = query.kept_answers() if kept else None
        found = []
        for number, declared in self._members.items():
            if number not in query.own:
                assert counts is not None
                assert answers is not None
                answer = rows_of(pa.Table.from_batches([answers.part(number)]))
                total = rows = int(counts[number])
                report = _report(declared, progress, rows, None, answer)
            else:
                place = query.place(number)
                compact_before_answering(place)
                state = published(place)
                total = state.totals.rows_out
                rows = total - self._earlier.get(number, 0)
                answer = rows_of(last_answer(place, query.member(number), state).rows)
                report = _report(declared, progress, rows, place, answer)
            stream = declared.plan.pattern is UpdatePattern.MONOTONIC
            found.append(replace(report, total=total) if stream else report)
        return found


def rows_of(answer: pa.Table) -> pa.Table:
    """The rows of an answer; those of a stream have come as changes."""
    return answer.drop_columns([n for n in (INSTANT, CHANGE) if n in answer.schema.names[:2]])


def outcome_of(query: SparkQuery) -> Outcome | SharedOutcome:
    return SharedOutcome(query) if isinstance(query, SharedSparkQuery) else Outcome(query)


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
