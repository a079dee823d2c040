"""One-time SQL over a checkpoint: answers, relations and windows as of one micro-batch.

Everything is read from files, while the run goes on or after it: what the streams and queries are
from ``script.json``, tuples of windows and relations from the state (``saved_windows``), answers
from results. Of each pipeline the newest commit of state is taken, and results up to its
micro-batch, since those of the next may be published before its state is committed. If what a
commit names is gone by the time it is read, a newer one is there, and all is read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from windrow.core.errors import InputError, NotHeldError, StateError
from windrow.core.file_formats import FORMATS
from windrow.engine.live_windows import LiveWindow
from windrow.engine.one_time_sql import answer_sql, instants_as_metadata
from windrow.engine.sql_tables import (
    Request,
    choose_windows,
    read_request,
    summaries_or_error,
)
from windrow.engine.synopsis_answers import query_in
from windrow.object_store.object_path import path_of
from windrow.plan.catalog import (
    Catalog,
    QueryDeclaration,
    RelationDeclaration,
    StreamDeclaration,
    SubscriptionsDeclaration,
    ViewDeclaration,
)
from windrow.plan.nodes import RelationScan, StreamScan, walk
from windrow.plan.nodes.routed import MEMBER
from windrow.plan.physical.cut_stages import cut_into_stages
from windrow.plan.sharing.shared_synopses import SharedSynopses
from windrow.result_files.change_table import sort_by_rank
from windrow.result_files.commits import Published
from windrow.result_files.identity import CHANGE, INSTANT, Identity
from windrow.result_files.last_answer import last_answer
from windrow.result_files.query_table import rows_of_query, tables_among
from windrow.result_files.reader import Reading, published_results
from windrow.spark.checkpoint.pipeline_directory import (
    PipelineHome,
    pipeline_directories,
    read_pipeline,
)
from windrow.spark.checkpoint.query_directory import fingerprint_of, read_home
from windrow.spark.checkpoint.query_groups import Group, groups_of
from windrow.spark.checkpoint.saved_windows import (
    SavedJob,
    missed_by,
    newest_version,
    probe_saved_synopses,
    saved_shared_summaries,
    saved_summaries,
    saved_windows,
)
from windrow.spark.checkpoint.script_record import read_script
from windrow.spark.stage.state_files import Version
from windrow.spark.stage.subscription_index import with_cut, with_whole_paths

ATTEMPTS = 5
"""How often a newer commit is taken before what is missing is called damage."""


def query_checkpoint(directory: Path, sql: str) -> pa.Table:
    """The answer to one SELECT; ``directory`` is the checkpoint, or a copy of its notes."""
    for attempt in range(ATTEMPTS):
        looked = CheckpointTables(directory)
        try:
            return looked.answer(sql)
        except (FileNotFoundError, StateError):
            if attempt == ATTEMPTS - 1 or not looked.is_overtaken():
                raise
    raise AssertionError("the last attempt returns or raises")


@dataclass(frozen=True)
class _Place:
    """Where a job runs, under which number, and the newest version of the state there."""

    home: PipelineHome
    number: int
    batch: int
    version: Version


class CheckpointTables:
    """What one look at a checkpoint finds; see the module."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._record = read_script(directory)
        self._batches: dict[Path, int] = {}

    def answer(self, sql: str) -> pa.Table:
        """The answer to one SELECT, as of this look."""
        catalog = self._record.catalog
        request = read_request(sql, catalog, relations_are_held=True)
        queries = {q.name.lower(): q for q in catalog.queries if q.name.lower() in request.names}
        tables: dict[str, pa.Table] = {}
        instants: dict[str, int | None] = {}
        for name, query in queries.items():
            tables[name], instants[name] = self._answer_of(query)
        try:
            chosen = choose_windows(request, catalog, list(self._windows(request)))
        except NotHeldError:
            if (probed := self._from_synopses(sql, request)) is None:
                raise
            return probed
        for name, source in chosen.items():
            tables[name], instants[name] = source.take()(), source.now
        declared = {query.name.lower(): query for query in catalog.queries}
        for name, query_name in request.summaries.items():
            make = self._summaries(declared[query_name])
            tables[name] = summaries_or_error(query_name, make)()
        named = [d.name for d in catalog.declarations.values()]
        remedy = f"the tables are {', '.join(sorted(named))}"
        return answer_sql(request.sql, tables, instants, remedy)

    def is_overtaken(self) -> bool:
        """Whether a pipeline that was looked at has a newer commit by now."""
        return any(newest_version(state)[0] != batch for state, batch in self._batches.items())

    @cached_property
    def _homes(self) -> list[PipelineHome]:
        return [read_pipeline(path) for path in pipeline_directories(self._directory)]

    @cached_property
    def _groups(self) -> Mapping[str, Group]:
        """The groups of queries that run as one, by the names of their members."""
        record = self._record
        groups = groups_of(record.catalog.queries, self._directory, record.strategy)
        return {q.name: g for g in groups for q in g.members.values() if g.directory.is_dir()}

    def _place(self, job: str) -> _Place | None:
        """Where a job is; a pipeline in which it goes on comes before one that it has left."""
        homes = [h for h in self._homes if job in h.members]
        home = next((h for h in homes if job in h.present), homes[-1] if homes else None)
        if home is None:
            return None
        batch, version = newest_version(home.state)
        self._batches[home.state] = batch
        return _Place(home, home.number_of(job), batch, version)

    def _answer_of(self, query: QueryDeclaration) -> tuple[pa.Table, int | None]:
        """The answer of a query, and as of which instant it is."""
        group = self._groups.get(query.name)
        job = self._directory / query.name if group is None else group.directory
        place = self._place(job.name)
        if place is None:
            raise InputError(
                where=f"query {query.name}", expected="a query that has run", found="no state of it"
            )
        into = query.into
        own = into is not None and into.format in FORMATS
        results = read_home(job)[0].results
        if into is not None and own:
            results = path_of(into.path)
            results = results if results.is_absolute() else self._record.base / results
        rows, now = _rows(results, place.batch)
        if any(query in sharing for sharing in tables_among(self._record.catalog.queries).values()):
            rows = rows_of_query(rows, query.name)
        if group is not None and not own:
            rows = _rows_of_member(rows, query, group)
        return sort_by_rank(rows, query.plan), now

    def _windows(self, request: Request) -> Iterator[LiveWindow]:
        """The windows that queries hold of what is asked for."""
        wanted = set(_sources_of(request, self._record.catalog))
        for query in self._record.catalog.queries if wanted else ():
            job = self._directory / query.name
            place = None if query.name in self._groups else self._place(job.name)
            if place is not None:
                saved = self._saved_job(query, job, place)
                if saved is not None:
                    yield from saved_windows(saved, place.home.state, place.version, wanted)

    def _from_synopses(self, sql: str, request: Request) -> pa.Table | None:
        """The answer of an aggregate that synopses hold, if all of the text is one."""
        query = query_in(sql, self._record.catalog) if len(request.windows) == 1 else None
        groups = {group.directory: group for group in self._groups.values()}
        for group in groups.values() if query is not None else ():
            assert query is not None
            place = self._place(group.directory.name)
            if place is None or not isinstance(group.shared, SharedSynopses):
                continue
            job = self._shared_job(group.directory.name, group, place)
            state, version = place.home.state, place.version
            found = probe_saved_synopses(job, state, version, group.shared, query)
            if found is not None:
                (name,) = request.windows
                return found[0].replace_schema_metadata(instants_as_metadata({name: found[1]}))
        return None

    def _shared_job(self, name: str, group: Group, place: _Place) -> SavedJob:
        """Queries that share synopses, as the one job that they are."""
        stages = cut_into_stages(group.declaration.plan, self._record.strategy)
        return SavedJob(name, place.number, stages, self._record.strategy, {})

    def _summaries(self, query: QueryDeclaration) -> Callable[[], pa.Table] | None:
        group = self._groups.get(query.name)
        if group is not None and isinstance(group.shared, SharedSynopses):
            return self._shared_summaries(query, group, group.shared)
        job = self._directory / query.name
        place = None if query.name in self._groups else self._place(job.name)
        saved = None if place is None else self._saved_job(query, job, place)
        if place is None or saved is None:
            return None
        return saved_summaries(saved, place.home.state, place.version, query.clock)

    def _shared_summaries(
        self, query: QueryDeclaration, group: Group, shared: SharedSynopses
    ) -> Callable[[], pa.Table] | None:
        """Of a query that shares synopses."""
        place = self._place(group.directory.name)
        if place is None:
            return None
        job = self._shared_job(query.name, group, place)
        number = next(n for n, member in group.members.items() if member.name == query.name)
        state, version = place.home.state, place.version
        return saved_shared_summaries(job, state, version, shared, number, query)

    def _saved_job(self, query: QueryDeclaration, job: Path, place: _Place) -> SavedJob | None:
        """A query and its stages; None if it is planned otherwise now than when it began."""
        catalog, strategy = self._record.catalog, self._record.strategy
        if isinstance(catalog.find(query.name), SubscriptionsDeclaration):
            return None
        plan, (home, fingerprint) = with_whole_paths(query.plan), read_home(job)
        scans = (node for node in walk(plan) if isinstance(node, StreamScan | RelationScan))
        declared = {node.name: catalog.find(node.name) for node in scans}
        inputs = {
            name: found
            for name, found in declared.items()
            if isinstance(found, StreamDeclaration | RelationDeclaration)
        }
        stages = cut_into_stages(plan, strategy)
        if fingerprint_of(stages, inputs, strategy) != fingerprint:
            return None
        stages = cut_into_stages(with_cut(plan, home.layout.cut), strategy)
        return SavedJob(query.name, place.number, stages, strategy, missed_by(place.home, job.name))


def _sources_of(request: Request, catalog: Catalog) -> Iterator[str]:
    """Lower-case names of the streams and relations of the windows that are asked for."""
    for asked in request.windows.values():
        declared = catalog.find(asked.name)
        if isinstance(declared, ViewDeclaration):
            scans = (n for n in walk(declared.plan) if isinstance(n, StreamScan | RelationScan))
            yield from (node.name.lower() for node in scans)
        else:
            yield asked.name.lower()


def _rows(directory: Path, upto: int) -> tuple[pa.Table, int | None]:
    """The answer in a directory of results after a micro-batch; of a stream, all that is there."""
    identity, state = Identity.read(directory), published_results(directory)
    if identity is None:
        raise InputError(
            where=str(directory), expected="results of a query", found="none yet",
            remedy="ask again when the first micro-batch is over",
        )  # fmt: skip
    now = state.totals.now if state.last <= upto else _instant_after(state, upto)
    if identity.stream:
        reading = Reading(directory, identity.format, identity.schema)
        parts = reading.tables(None, upto, state=state)
        rows = pa.concat_tables([identity.schema.empty_table(), *parts])
        return rows.drop_columns([INSTANT, CHANGE]), now
    return last_answer(directory, identity, state, upto).rows, now


def _instant_after(state: Published, upto: int) -> int | None:
    """How far results had come after a micro-batch; None if that was compacted with later ones."""
    found = next((s for s in reversed(state.segments) if s.first <= upto), None)
    return None if found is None or found.last > upto else found.now


def _rows_of_member(rows: pa.Table, query: QueryDeclaration, group: Group) -> pa.Table:
    """The rows of one query of a group."""
    number = next(n for n, member in group.members.items() if member.name == query.name)
    mine = rows.filter(pc.equal(rows[MEMBER], number)).drop_columns([MEMBER])
    if isinstance(group.shared, SharedSynopses):
        mine = mine.select(list(group.shared.shown_slots(number)))
    return mine.rename_columns([field.name for field in query.plan.schema])
