"""The results of a job: where they go, what is published, and what they add up to.

They are changes in files. Those of an archive are rows that say themselves when they end, and wait
in files until their day is over.

Queries that share their selection are one job with many directories. Their plan is the widened one
(``windrow.plan.sharing``): the senders ask the index whose tuple it is while they pack, every stage
works on tuples with a query's number in front, and each query gets what is its own
(``windrow.spark.sink.file_delivery``). A micro-batch costs what it costs for one query, but for the
directories that it publishes in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.delta import empty_batch
from windrow.columns.types import arrow_schema
from windrow.core.file_formats import FORMATS
from windrow.object_store.object_path import path_of
from windrow.plan.catalog import ArchiveDeclaration, Destination, QueryDeclaration
from windrow.plan.nodes.routed import MEMBER
from windrow.plan.sharing.shared_synopses import SharedSynopses
from windrow.result_files.commits import last_committed
from windrow.result_files.compaction import compact_before_answering, forget_drained
from windrow.result_files.identity import Identity, changes_schema, identity_of
from windrow.result_files.last_answer import Answer, last_answer
from windrow.result_files.member_rows import ByMember, OwnColumns
from windrow.result_files.ownership import prepare
from windrow.result_files.publication import COMPACT_AT, Publication
from windrow.result_files.query_table import place_of
from windrow.result_files.reader import Reading, published_results
from windrow.spark.archive.filling import Filling
from windrow.spark.checkpoint.lost_results import Noted, refuse_lost_member, refuse_lost_results
from windrow.spark.checkpoint.query_directory import Home
from windrow.spark.checkpoint.query_groups import Group
from windrow.spark.run.result_table import ResultTable
from windrow.spark.sink.file_delivery import FileDelivery, MemberDelivery, TablePart
from windrow.spark.stage.stage_task import Report, ResultDelivery


class JobResults:
    """Of a query alone."""

    def __init__(self, declaration: QueryDeclaration, home: Home) -> None:
        self.declaration, self.home = declaration, home
        into = declaration.into
        to_files = into is not None and into.format in FORMATS
        self.destination = path_of(into.path).absolute() if into and to_files else None
        self.format = into.format if into and to_files else "parquet"
        self.identity: Identity = identity_of(declaration, home.run, self.format)
        self.schema = self.identity.schema
        self.table: ResultTable | None = None

    def join_tables(self, tables: Mapping[str, ResultTable]) -> None:
        """Write into a table, if several queries write where this one does."""
        self.table = tables.get(place_of(self.declaration.into) or "")

    @property
    def tables(self) -> Sequence[ResultTable]:
        """All that it writes into."""
        return () if self.table is None else (self.table,)

    @property
    def directory(self) -> Path:
        """The directory that holds the results, whoever they are for."""
        return self.destination or self.home.results

    @property
    def waiting(self) -> int | None:
        """Rows of an archive's days that are not over."""
        return None

    @property
    def _files(self) -> FileDelivery:
        place, known, table = str(self.directory), self.declaration, self.table
        run, name = (self.home.run, None) if table is None else (table.run, known.name)
        return FileDelivery(
            place, self.format, run, known.plan.schema, known.clock, COMPACT_AT.value, query=name
        )

    def delivery(self, room: int) -> ResultDelivery:
        """What tasks do with answers; they may tell changes of up to ``room`` bytes."""
        return replace(self._files, room=room)

    def publications(self, batch: int, reports: Sequence[Report]) -> list[list[Publication]]:
        """What tasks have hidden in a micro-batch and told, to be published list by list."""
        return self._files.publications(batch, reports)

    @property
    def reading(self) -> Reading:
        return Reading(self.directory, self.format, self.schema)

    def prepare(self, noted: Noted, *, overwrite: bool = False) -> None:
        """Refuse results that are gone; remove what dead runs left."""
        for table in self.tables:
            self._check_table(table, noted)
            table.prepare(overwrite=overwrite)
        if self.table is None:
            self._prepare(noted, overwrite=overwrite)

    def _check_table(self, table: ResultTable, noted: Noted) -> None:
        table.check(self.home, noted)

    def _prepare(self, noted: Noted, *, overwrite: bool) -> None:
        refuse_lost_results(self.home, noted, self.directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        prepare(self.directory, self.identity, overwrite=overwrite)

    def begin(self, first: int) -> None:
        """Take note of what there is before the run, which begins after micro-batch ``first``."""
        for table in self.tables:
            table.begin()

    def for_console(self, after: int, upto: int) -> Iterator[tuple[QueryDeclaration, pa.Table]]:
        """The changes of the micro-batches after ``after`` that are for the console."""
        if on_console(self.declaration):
            for changes in self.reading.tables(after, upto):
                yield self.declaration, changes

    def parts(self, _number: int, after: int) -> Iterator[tuple[int, pa.Table]]:
        """The changes of a member after a micro-batch, in parts, with the last that each is of."""
        if self.table is not None:
            return self.table.parts(self.declaration.name, after)
        return self.reading.parts(after)

    def forget(self, _number: int, drained: int) -> None:
        """Changes that are nowhere else are for those who ask for them, once."""
        if self.destination is None:
            forget_drained(self.directory, drained)

    def answer_of(self, _number: int) -> pa.Table:
        """What the changes of a member, in all runs, add up to; of a stream, the last of them."""
        if self.table is not None:
            return self.table.answer_of(self.declaration.name)
        return self.answer().rows

    def rows_out(self, _number: int, new: int) -> int:
        """The changes of a member in this run, of ``new`` in all."""
        return self.rows_out_in_all(new)

    def rows_out_in_all(self, new: int) -> int:
        """The changes of all members in this run, of ``new`` in the directory."""
        return new if self.table is None else self.table.rows_out(self.declaration.name)

    def total(self, _number: int) -> int:
        """The changes of a member in all runs."""
        if self.table is not None:
            return self.table.total(self.declaration.name)
        return published_results(self.directory).totals.rows_out

    def place(self, _number: int) -> Path | None:
        """Where the results of a member are, if they are where its script says."""
        return self.destination

    def answer(self) -> Answer:
        """What the changes of all runs add up to; of a stream, the last of them."""
        compact_before_answering(self.directory)
        return last_answer(self.directory, self.identity)


class ArchiveResults(JobResults):
    """Of a query that fills an archive."""

    def __init__(self, declared: ArchiveDeclaration, home: Home) -> None:
        super().__init__(declared.query, home)
        self.destination = path_of(declared.path).absolute()
        self._filling = Filling(declared, home.results, home.run)

    @property
    def directory(self) -> Path:
        """The directory of what waits, and of the commits; the results are in the archive."""
        return self.home.results

    @property
    def waiting(self) -> int:
        return self._filling.rows_waiting()

    def prepare(self, noted: Noted, *, overwrite: bool = False) -> None:
        super().prepare(noted, overwrite=overwrite)
        self._filling.prepare()

    def delivery(self, room: int) -> ResultDelivery:
        return self._filling.delivery

    def publications(self, batch: int, reports: Sequence[Report]) -> list[list[Publication]]:
        """None: days that are over are put into the archive."""
        self._filling.publish(batch, reports)
        return []


def on_console(query: QueryDeclaration) -> bool:
    return query.into is not None and query.into.format == "console"


Columns = Mapping[int, OwnColumns] | None


def own_columns(group: Group) -> tuple[Columns, Columns]:
    """Which columns of changes, and of answers, are whose; None if all are everybody's."""
    if not isinstance(group.shared, SharedSynopses):
        return None, None
    clock = group.declaration.clock
    changes, rows = {}, {}
    for number, query in group.members.items():
        schema, slots = query.plan.schema, group.shared.shown_slots(number)
        places = (0, 1, *(place + 2 for place in slots))
        changes[number] = OwnColumns(places, changes_schema(schema, clock))
        rows[number] = OwnColumns(slots, arrow_schema(schema))
    return changes, rows


class MemberResults(JobResults):
    """Of the queries of a group; ``own`` are the destinations of those that write files."""

    def __init__(self, group: Group, home: Home) -> None:
        super().__init__(group.declaration, home)
        self.group = group
        self.own: dict[int, Destination] = {
            number: query.into
            for number, query in group.members.items()
            if query.into is not None and query.into.format in FORMATS
        }
        self._changes, self._rows = own_columns(group)
        self._split: tuple[tuple[int, int], ByMember] | None = None
        self._answers: tuple[int, ByMember] | None = None
        self._counted: tuple[int, npt.NDArray[np.int64]] | None = None
        self._shared: dict[int, ResultTable] = {}
        self._first = -1
        self._earlier: dict[int, int] = {}
        self._drained: dict[int, int] = {}

    def join_tables(self, tables: Mapping[str, ResultTable]) -> None:
        """Write into tables where several queries, also of other jobs, write into one place."""
        places = {number: place_of(into) or "" for number, into in self.own.items()}
        self._shared = {n: tables[place] for n, place in places.items() if place in tables}
        self.own = {n: into for n, into in self.own.items() if n not in self._shared}

    @property
    def tables(self) -> Sequence[ResultTable]:
        return list(dict.fromkeys(self._shared.values()))

    @property
    def _files(self) -> MemberDelivery:
        own = {n: (str(path_of(d.path).absolute()), d.format) for n, d in self.own.items()}
        kept = frozenset(self.group.members) - frozenset(own) - frozenset(self._shared)
        columns = None if self._changes is None else {n: self._changes[n] for n in own}
        tables = tuple(map(self._part_of, self.tables))
        return MemberDelivery(
            **vars(super()._files), own=own, kept=kept, columns=columns, tables=tables
        )

    def _part_of(self, table: ResultTable) -> TablePart:
        mine = [number for number, shared in self._shared.items() if shared is table]
        names = {number: self.group.members[number].name for number in mine}
        places = None if self._changes is None else {n: self._changes[n].places for n in mine}
        place, schema = str(table.directory), table.identity.schema
        return TablePart(place, table.format, table.run, names, schema, places)

    def _prepare(self, noted: Noted, *, overwrite: bool) -> None:
        """As for one query, for each; all of them are looked at before anything is removed."""
        for number in self.own:
            if not self._is_new(number, self._own_place(number)):
                refuse_lost_member(self.home, noted, self._own_place(number))
        super()._prepare(noted, overwrite=overwrite)
        for number in self.own:
            prepare(self._own_place(number), self.member(number), overwrite=overwrite)

    def _is_new(self, number: int, place: Path) -> bool:
        """Whether a query that joined has not begun to write."""
        return self.group.came_later(number) and Identity.read(place) is None

    def _check_table(self, table: ResultTable, noted: Noted) -> None:
        mine = [number for number, shared in self._shared.items() if shared is table]
        if not all(self._is_new(number, table.directory) for number in mine):
            super()._check_table(table, noted)

    def begin(self, first: int) -> None:
        super().begin(first)
        self._first = first
        self._earlier = {n: published_results(self._own_place(n)).totals.rows_out for n in self.own}

    def go_on_from(self, other: MemberResults) -> None:
        """Be where the results of the group with other queries were."""
        self._first, self._earlier = other._first, dict(other._earlier)
        self._shared = {n: t for n, t in other._shared.items() if n in self.group.members}
        self.own = {n: into for n, into in self.own.items() if n not in self._shared}
        self._drained = dict(other._drained)

    def for_console(self, after: int, upto: int) -> Iterator[tuple[QueryDeclaration, pa.Table]]:
        if any(on_console(query) for query in self.group.members.values()):
            for number, changes in self.kept_changes(after, upto).parts():
                if on_console(query := self.group.members[number]):
                    yield query, pa.Table.from_batches([changes])

    def _name(self, number: int) -> str:
        return self.group.members[number].name

    def parts(self, number: int, after: int) -> Iterator[tuple[int, pa.Table]]:
        if number in self._shared:
            return self._shared[number].parts(self._name(number), after)
        if number in self.own:
            known = self.member(number)
            return Reading(self._own_place(number), known.format, known.schema).parts(after)
        last = last_committed(self.directory, max(after, -1))
        return iter([(last, pa.Table.from_batches([self.kept_changes(after, last).part(number)]))])

    def forget(self, number: int, drained: int) -> None:
        """Let go of what no member without files needs any more."""
        if number not in self.own and number not in self._shared:
            self._drained[number] = drained
            kept = set(self.group.members) - set(self.own) - set(self._shared)
            forget_drained(self.directory, min(self._drained.get(n, -1) for n in kept))

    def answer_of(self, number: int) -> pa.Table:
        if number in self._shared:
            return self._shared[number].answer_of(self._name(number))
        if number not in self.own:
            return pa.Table.from_batches([self.kept_answers().part(number)])
        place = self._own_place(number)
        compact_before_answering(place)
        return last_answer(place, self.member(number)).rows

    def rows_out(self, number: int, _new: int) -> int:
        if number in self._shared:
            return self._shared[number].rows_out(self._name(number))
        if number not in self.own:
            return int(self._counts()[number])
        return self.total(number) - self._earlier.get(number, 0)

    def total(self, number: int) -> int:
        """Of a query without files of its own only those of this run are counted."""
        if number in self._shared:
            return self._shared[number].total(self._name(number))
        if number not in self.own:
            return int(self._counts()[number])
        return published_results(self._own_place(number)).totals.rows_out

    def place(self, number: int) -> Path | None:
        if number in self._shared:
            return self._shared[number].directory
        return self._own_place(number) if number in self.own else None

    def _own_place(self, number: int) -> Path:
        """Where the results of a query with files of its own are."""
        return path_of(self.own[number].path).absolute()

    def member(self, number: int) -> Identity:
        """What the results of a query with files of its own are."""
        query, into = self.group.members[number], self.own[number]
        return identity_of(query, self.home.run, into.format)

    def kept_changes(self, after: int = -1, upto: int | None = None) -> ByMember:
        """The changes of queries without files of their own, read once for all of them."""
        state = published_results(self.directory)
        asked = (after, state.last if upto is None else upto)
        if self._split is None or self._split[0] != asked:
            tables = [self.schema.empty_table(), *self.reading.tables(*asked, state=state)]
            (rows,) = pa.concat_tables(tables).combine_chunks().to_batches() or [
                empty_batch(self.schema)
            ]
            member = rows.column(MEMBER).to_numpy()
            self._split = (asked, ByMember(member, rows.drop_columns([MEMBER]), self._changes))
        return self._split[1]

    def kept_answers(self) -> ByMember:
        """The rows of their answers, put together once for all; of streams, the last of each."""
        last = last_committed(self.directory, -1)
        if self._answers is None or self._answers[0] != last:
            rows = self.answer().rows.combine_chunks()
            (batch,) = rows.to_batches() or [empty_batch(rows.schema)]
            common = batch.drop_columns([MEMBER])
            found = ByMember(batch.column(MEMBER).to_numpy(), common, self._rows)
            self._answers = (last, found)
        return self._answers[1]

    def _counts(self) -> npt.NDArray[np.int64]:
        """How many changes each query that is kept here has had in this run, counted once."""
        last = last_committed(self.directory, -1)
        if self._counted is None or self._counted[0] != last:
            total = np.zeros(len(self.group.seats), np.int64)
            for table in self.reading.tables(self._first):
                total += np.bincount(table[MEMBER].to_numpy(), minlength=len(total))
            self._counted = (last, total)
        return self._counted[1]
