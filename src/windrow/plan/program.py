"""A whole script compiled: parsed, bound statement by statement, optimised."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from windrow.cql import parse
from windrow.plan.binder import ExplainRequest, bind
from windrow.plan.catalog import Catalog, Declaration, QueryDeclaration, ViewDeclaration
from windrow.plan.optimiser import optimise
from windrow.plan.rules.inputs import without_places


@dataclass(frozen=True)
class Compiled:
    """What a script came to: the catalog after it, and what it asked for, in order."""

    catalog: Catalog
    queries: tuple[QueryDeclaration, ...] = ()
    explains: tuple[ExplainRequest, ...] = field(default=())


def compile_script(text: str, catalog: Catalog | None = None) -> Compiled:
    """Add the declarations of ``text`` to ``catalog``; nothing is kept if a statement is wrong.

    Plans of views stay as they were bound, plans of queries are optimised. A query may be in the
    result although this version cannot run it: ``windrow.plan.physical.not_executable`` tells.
    """
    catalog = _without_places(catalog) if catalog is not None else Catalog()
    queries: list[QueryDeclaration] = []
    explains: list[ExplainRequest] = []
    for statement in parse(text).statements:
        bound = bind(statement, catalog, text)
        if isinstance(bound, ExplainRequest):
            explains.append(replace(bound, query=_optimised(bound.query)))
            continue
        if isinstance(bound, QueryDeclaration):
            bound = _optimised(bound)
            queries.append(bound)
        catalog = catalog.adding(bound)
    return Compiled(catalog, tuple(queries), tuple(explains))


def _without_places(catalog: Catalog) -> Catalog:
    """Positions in an earlier script mean nothing in this one, and must not be shown for it."""
    declarations: dict[str, Declaration] = {}
    for name, declaration in catalog.declarations.items():
        plain = replace(declaration, span=None)
        if isinstance(plain, ViewDeclaration):
            plain = replace(plain, plan=without_places(plain.plan))
        declarations[name] = plain
    return Catalog(declarations)


def _optimised(query: QueryDeclaration) -> QueryDeclaration:
    return replace(query, plan=optimise(query.plan))
