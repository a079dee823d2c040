"""What EXPLAIN says on a connection: of a query that runs what it is and with whom it shares, of
another one what it would be if it came now.

The runtime is asked the question that it asks itself when queries come (``Runtime.groups_with``).
"""

from __future__ import annotations

from collections.abc import Sequence

from windrow.engine.late_start import words_of_member, words_of_running
from windrow.engine.runtime import Run, Runtime
from windrow.plan.binder import ExplainRequest
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.explain import explain
from windrow.plan.jobs import Group, groups_of
from windrow.plan.program import Compiled
from windrow.plan.sharing.shared_selection import SharedSelection
from windrow.plan.sharing.shared_synopses import SharedSynopses

Asked = QueryDeclaration | ExplainRequest


def texts_of_script(compiled: Compiled, runtime: Runtime, runs: Sequence[Run]) -> list[str]:
    """The plans of all queries of a script, which come together if they are new."""
    new = {(query.name, query.span) for query in compiled.queries}
    dropped = {declaration.name.lower() for declaration in compiled.dropped}
    together = runtime.groups_with(compiled.queries, dropped) if new else ()
    named = [query for query in compiled.catalog.queries if query.name in compiled.named]
    wanted: list[Asked] = [*named, *compiled.explains]
    texts = []
    for asked in wanted:
        query = _query(asked)
        is_new = (query.name, query.span) in new
        coming = together if is_new else None
        texts.append(plan_text(asked, runtime, runs, coming, compiled.queries))
    return texts


def plan_text(
    asked: Asked,
    runtime: Runtime,
    runs: Sequence[Run],
    together: Sequence[Group] | None = None,
    coming: Sequence[QueryDeclaration] = (),
) -> str:
    """The plan of one; ``together`` are the groups of queries that would come with it, if it is
    one of these, and ``coming`` all of these."""
    query = _query(asked)
    running = (member.query for run in runs for member in run.job.members.values())
    beside = [*running, *coming]
    found = None if together is not None else _find(query.name, runs)
    if found is not None:
        run, number = found
        text = explain(asked, runtime.strategy, groups_of(run.job for run in runs), beside)
        late = words_of_running(run.complete_for(number), query.clock)
        return text if late is None else f"{text}\n{late}"
    groups = runtime.groups_with([query]) if together is None else together
    others = [
        group for group in groups_of(run.job for run in runs) if query.name not in group.names
    ]
    text = explain(asked, runtime.strategy, [*groups, *others], beside)
    shared = [g for g in groups if isinstance(g, SharedSynopses) and query.name in g.names]
    if shared:
        late = words_of_member(shared[0], query.name, query.clock)
    else:
        selection = any(isinstance(g, SharedSelection) and query.name in g.names for g in groups)
        late = runtime.late_words(query, alone=not selection)
    return text if late is None else f"{text}\n{late}"


def _query(asked: Asked) -> QueryDeclaration:
    return asked.query if isinstance(asked, ExplainRequest) else asked


def _find(name: str, runs: Sequence[Run]) -> tuple[Run, int] | None:
    """Where a query of this name runs."""
    for run in runs:
        for number, member in run.job.members.items():
            if member.name == name:
                return run, number
    return None
