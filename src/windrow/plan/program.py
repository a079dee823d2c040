"""A whole script compiled: parsed, bound statement by statement, optimised."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from windrow.core.warnings import ScriptWarning
from windrow.cql import parse
from windrow.plan.binder import ExplainRequest, bind
from windrow.plan.catalog import (
    Catalog,
    Declaration,
    QueryDeclaration,
    SubscriptionsDeclaration,
    ViewDeclaration,
)
from windrow.plan.costs.statistics import Statistics
from windrow.plan.optimiser import alternatives, optimise
from windrow.plan.rules.inputs import without_places
from windrow.plan.script_warnings import warnings_of
from windrow.plan.strategy import Strategy


@dataclass(frozen=True)
class Compiled:
    """What a script came to: the catalog after it, and what it asked for, in order."""

    catalog: Catalog
    queries: tuple[QueryDeclaration, ...] = ()
    explains: tuple[ExplainRequest, ...] = field(default=())
    warnings: tuple[ScriptWarning, ...] = ()


def compile_script(
    text: str,
    catalog: Catalog | None = None,
    strategy: Strategy = Strategy.UPA,
    statistics: Statistics | None = None,
) -> Compiled:
    """Add the declarations of ``text`` to ``catalog``; nothing is kept if a statement is wrong.

    Plans of views stay as they were bound; plans of queries are the cheapest found for the
    strategy and what is known of the streams.
    """
    catalog = _without_places(catalog) if catalog is not None else Catalog()
    queries: list[QueryDeclaration] = []
    explains: list[ExplainRequest] = []
    warned: dict[ScriptWarning, None] = {}
    for statement in parse(text).statements:
        bound = bind(statement, catalog, text)
        warned.update(dict.fromkeys(warnings_of(bound, text)))
        if isinstance(bound, ExplainRequest):
            considered = alternatives(bound.query.plan, statistics, strategy)
            query = replace(bound.query, plan=considered[0].plan)
            explains.append(replace(bound, query=query, considered=considered))
            continue
        if isinstance(bound, QueryDeclaration | SubscriptionsDeclaration):
            bound = replace(bound, plan=optimise(bound.plan, statistics, strategy))
            queries.append(bound if isinstance(bound, QueryDeclaration) else bound.query)
        catalog = catalog.adding(bound)
    return Compiled(catalog, tuple(queries), tuple(explains), tuple(warned))


def _without_places(catalog: Catalog) -> Catalog:
    """Positions in an earlier script mean nothing in this one, and must not be shown for it."""
    declarations: dict[str, Declaration] = {}
    for name, declaration in catalog.declarations.items():
        plain = replace(declaration, span=None)
        if isinstance(plain, ViewDeclaration | SubscriptionsDeclaration):
            plain = replace(plain, plan=without_places(plain.plan))
        declarations[name] = plain
    return Catalog(declarations)
