"""What one-time SQL is asked of, taken at one moment: answers, relations and windows.

Whoever takes a moment sees to it that nothing is pushed meanwhile. Of windows and summaries
references are taken, and tables made when others may go on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from windrow.core.errors import NotHeldError, StateError
from windrow.cql.script_parameters import Values
from windrow.engine.handles import Handle
from windrow.engine.inputs import HeldRelation
from windrow.engine.one_time_sql import answer_sql
from windrow.engine.runtime import Run, Runtime
from windrow.engine.sql_tables import (
    Request,
    choose_windows,
    read_request,
    relations_below,
    take_summaries_of,
)
from windrow.engine.synopsis_answers import query_in
from windrow.plan.catalog import Catalog

MOMENTS = 5
"""How often answers are taken together before giving up."""
ANSWER = "answer"


@dataclass(frozen=True)
class Moment:
    """A SELECT, its tables, some of them still to be made, and as of which instant each is."""

    sql: str
    tables: Mapping[str, pa.Table]
    unmade: Mapping[str, Callable[[], pa.Table]]
    instants: Mapping[str, int | None]
    remedy: str

    def answer(self, parameters: Values | None = None) -> pa.Table:
        """What DuckDB answers; streams may go on meanwhile."""
        tables = {**self.tables, **{name: make() for name, make in self.unmade.items()}}
        return answer_sql(self.sql, tables, self.instants, self.remedy, parameters)


def take_moment(
    sql: str,
    catalog: Catalog,
    handles: Mapping[str, Handle],
    runs: Sequence[Run],
    runtime: Runtime,
) -> Moment:
    """All that a SELECT names. On Spark a query may go on by itself, with files; then everything
    is taken once more."""
    in_state = runtime.inputs.relations_in_state
    request = read_request(sql, catalog, relations_are_held=in_state)
    known = {name.lower(): handle for name, handle in handles.items()}
    queries = {name: handle for name, handle in known.items() if name in request.names}
    keeping = {name: known[query] for name, query in request.summaries.items()}
    named = request.names | relations_below(request, catalog)
    own = {r.name.lower() for r in catalog.relations} & named - request.windows.keys()
    for _ in range(MOMENTS):
        rows = {} if in_state else _relation_rows(sorted(own), runtime)
        before = _instants_of(queries | keeping)
        tables = {name: handle.answer() for name, handle in queries.items()}
        live = [window for run in runs for window in run.windows()] if request.windows else []
        try:
            chosen = choose_windows(request, catalog, live, rows.get)
        except NotHeldError:
            if (probed := _from_synopses(sql, request, catalog, runs)) is None:
                raise
            return probed
        unmade = {name: source.take() for name, source in chosen.items()}
        unmade |= {name: take_summaries_of(handle) for name, handle in keeping.items()}
        if before == _instants_of(queries | keeping):
            break
    else:
        raise StateError(
            "answers went on while they were taken",
            where="SQL",
            expected=f"all of them at one instant, in {MOMENTS} attempts",
            found=", ".join(queries),
            remedy="ask fewer queries at once",
        )
    tables |= {name: pa.Table.from_batches([held.rows]) for name, held in rows.items()}
    instants = before | {name: held.instant for name, held in rows.items()}
    instants |= {name: source.now for name, source in chosen.items()}
    return Moment(request.sql, tables, unmade, instants, _remedy(sql, catalog, handles))


def _from_synopses(
    sql: str, request: Request, catalog: Catalog, runs: Sequence[Run]
) -> Moment | None:
    """The answer of an aggregate that synopses hold, if all of the text is one."""
    query = query_in(sql, catalog) if len(request.windows) == 1 else None
    for run in runs if query is not None else ():
        assert query is not None
        if (found := run.probe_synopses(query)) is not None:
            rows, instant = found
            (name,) = request.windows
            return Moment(f"SELECT * FROM {ANSWER}", {ANSWER: rows}, {}, {name: instant}, "")  # noqa: S608
    return None


def _relation_rows(names: Sequence[str], runtime: Runtime) -> dict[str, HeldRelation]:
    """What relations hold; files that no query has asked for yet are read first."""
    inputs = runtime.inputs
    for name in names:
        inputs.relation_rows(name)  # or it is an error
    if names:
        with runtime.all_or_nothing():
            inputs.open(names)
            runtime.read()
    return {name: inputs.relation_rows(name) for name in names}


def _instants_of(handles: Mapping[str, Handle]) -> dict[str, int | None]:
    return {name: handle.closed_instant() for name, handle in handles.items()}


def _remedy(sql: str, catalog: Catalog, handles: Mapping[str, Handle]) -> str:
    """What to tell who asks for a table that is none, or gives the name of one and no SELECT."""
    declared = [*(s.name for s in catalog.streams), *(r.name for r in catalog.relations)]
    names = sorted([*handles, *declared])
    if (name := sql.strip(" ;\n")) in names:
        return f"all of its rows are SELECT * FROM {name}"  # noqa: S608 - words for a person
    return f"the tables are {', '.join(names) or 'none yet'}"
