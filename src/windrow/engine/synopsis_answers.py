"""One-time SQL that is answered from synopses, where no operator holds tuples.

``SELECT src, SUM(bytes) FROM flows [RANGE 10 MINUTES SLIDE 1 MINUTE] GROUP BY src`` is CQL as well.
If it were a query that came now, rules say whether it could start at once on synopses that are
there, without one more and without a longer one (SS1 to SS4; Golab 2006, 8.2 and 8.3); then they
are probed once, and the answer is that of such a query: at the last multiple of its SLIDE.

Cost: a probe of the synopses for each group.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from windrow.columns.types import arrow_schema
from windrow.core.errors import ScriptError
from windrow.core.time import BEGINNING
from windrow.engine.build_shared import shared_aggregation
from windrow.operators.shared_group_by import SharedAggregation
from windrow.plan.catalog import Catalog, QueryDeclaration
from windrow.plan.nodes.sub_window_groups import slot_types
from windrow.plan.program import compile_script
from windrow.plan.sharing.shared_synopses import SharedSynopses, with_query

NAME = "asked"
"""Of a query that is asked once."""


def query_in(sql: str, catalog: Catalog) -> QueryDeclaration | None:
    """The only query of a text that is CQL as well."""
    try:
        queries = compile_script(sql, catalog).queries
    except ScriptError:
        return None
    return replace(queries[0], name=_unused_name(catalog)) if len(queries) == 1 else None


def _unused_name(catalog: Catalog) -> str:
    name = NAME
    while catalog.find(name) is not None:
        name += "_"
    return name


def probe_synopses(
    group: SharedSynopses, operator: SharedAggregation, query: QueryDeclaration
) -> tuple[pa.Table, int] | None:
    """The answer of a query and its instant, from the synopses of a group; None if these are not
    enough."""
    now = operator.now
    joined = None if now == BEGINNING else with_query(group, query, now)
    if joined is None or len(joined.plan.synopses) > len(group.plan.synopses):
        return None
    complete = joined.sharing.member(query.name).complete_from
    member = joined.plan.members[-1]
    if member is None or member.top is not None or complete is not None:
        return None
    instant = now // member.slide * member.slide
    began = (joined.sharing.synopsis(n).since for n in joined.sharing.member(query.name).numbers)
    if any(since is not None and since > instant - member.window for since in began):
        return None
    numbers = {n for a in member.aggregates for n in (*a.added, *a.subtracted)}
    read = [group.plan.synopses[n] for n in numbers]
    if any(instant - member.window + each.s + each.keep <= now for each in read):
        return None  # what was at that instant has been dropped in part
    member = replace(member, since=None)
    plan = replace(group.plan, members=(member,), types=slot_types([member]), schedule=None)
    reader = shared_aggregation(plan, arrow_schema(plan.schema))
    reader.adopt(operator)
    found = reader.answers_at(np.array([instant], np.int64))
    columns = [found.rows.column(1 + slot) for slot in plan.slots[0]]
    schema = arrow_schema(query.plan.schema)
    arrays = [c.cast(f.type) for c, f in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema), instant
