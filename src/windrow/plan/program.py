"""A whole script compiled: parsed, bound statement by statement, optimised.

A name may be declared again, or no more: DROP, OR REPLACE, IF NOT EXISTS. What others read cannot
go: their plans were made of it. The same declaration once more is none: it says what there is
already, so a cell of a notebook can be run twice. That is for declarations of earlier scripts,
which have no place in this one; two of one name in a script are a mistake.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from windrow.core.errors import BindError
from windrow.core.patterns import UpdatePattern
from windrow.core.warnings import ScriptWarning
from windrow.cql import parse
from windrow.cql.parser import words_of
from windrow.cql.script_parameters import Values
from windrow.cql.statement_tree import Create, Describe, Drop, Existing, Explain, Show
from windrow.cql.syntax_tree import Name
from windrow.plan.binder import ExplainRequest, bind
from windrow.plan.binder.scope import did_you_mean
from windrow.plan.catalog import (
    Catalog,
    Declaration,
    QueryDeclaration,
    SubscriptionsDeclaration,
    ViewDeclaration,
    kind_of,
)
from windrow.plan.costs.flows import StreamStatistics
from windrow.plan.listing import Listing, list_declarations
from windrow.plan.nodes import Node, StreamKind, ToStream, walk
from windrow.plan.nodes.rebuild import without_spans
from windrow.plan.optimiser import alternatives, optimise
from windrow.plan.strategy import Strategy


def drop(statement: Drop, catalog: Catalog, source: str) -> Catalog:
    """The catalog without what DROP names."""
    name = statement.name
    found = catalog.find(name.text)
    if found is None:
        if statement.if_exists:
            return catalog
        known = [d.name for d in catalog.declarations.values() if kind_of(d) == statement.kind]
        raise BindError(
            f"there is no {_noun(statement.kind)} called {name.text}", span=name.span,
            source=source, remedy=did_you_mean(name.text, known)
            or f"write DROP {statement.kind} IF EXISTS if that is fine",
        )  # fmt: skip
    if kind_of(found) != statement.kind:
        raise BindError(
            f"{found.name} is {_a(kind_of(found))}", span=name.span, source=source,
            remedy=f"write DROP {kind_of(found)} {found.name}",
        )  # fmt: skip
    _refuse_if_read(found, name, catalog, source)
    return catalog.without(name.text)


def make_room(statement: Create, name: Name, catalog: Catalog, source: str) -> Catalog:
    """The catalog that a declaration can be added to, or that has it already.

    Without what OR REPLACE replaces; BindError if the name is that of something else.
    """
    found = catalog.find(name.text)
    if found is None:
        return catalog
    kind = "NRR" if getattr(statement, "retroactive", True) is False else _kind(statement)
    if kind_of(found) != kind:
        where = f", declared on line {found.span.line}" if found.span is not None else ""
        raise BindError(
            f"{found.name} is {_a(kind_of(found))} already{where}", span=name.span, source=source,
            remedy=f"choose another name, or write DROP {kind_of(found)} {found.name} before",
        )  # fmt: skip
    in_script = found.span is not None and statement.existing is Existing.REFUSE
    if in_script or is_kept(statement, found):
        return catalog  # the binder says what is wrong with two of them in one script
    if statement.existing is Existing.REPLACE:
        _refuse_if_read(found, name, catalog, source)
        return catalog.without(name.text)
    raise BindError(
        f"{found.name} is declared already, and differently", span=name.span, source=source,
        remedy=f"write CREATE OR REPLACE {kind} {found.name} to replace it, or choose another name",
    )  # fmt: skip


def is_kept(statement: Create, found: Declaration) -> bool:
    """Whether what there is stays, because it is the same or because of IF NOT EXISTS."""
    if statement.existing is Existing.KEEP:
        return True
    if found.span is not None and statement.existing is Existing.REFUSE:
        return False
    if isinstance(found, SubscriptionsDeclaration) and statement.existing is Existing.REPLACE:
        return False  # their file is read once, and may be another by now
    return bool(found.text) and words_of(found.text) == words_of(statement.text)


def _refuse_if_read(found: Declaration, name: Name, catalog: Catalog, source: str) -> None:
    readers = catalog.dependents(found.name)
    if readers:
        who = ", ".join(f"{_noun(kind_of(d))} {d.name}" for d in readers[:5])
        more = f" and {len(readers) - 5:,} more" if len(readers) > 5 else ""
        first, verb = readers[0], "call" if kind_of(found) == "FUNCTION" else "read"
        past = "called" if verb == "call" else "read"
        raise BindError(
            f"{found.name} is {past} by {who}{more}", span=name.span, source=source,
            remedy=f"drop what {verb}s it first: DROP {kind_of(first)} {first.name}",
        )  # fmt: skip


def _kind(statement: Create) -> str:
    return type(statement).__name__.removeprefix("Create").upper()


def _noun(kind: str) -> str:
    return kind if kind == "NRR" else kind.lower()


def _a(kind: str) -> str:
    if kind == "SUBSCRIPTIONS":
        return "subscriptions"
    return f"an {_noun(kind)}" if kind in ("NRR", "ARCHIVE") else f"a {_noun(kind)}"


@dataclass(frozen=True)
class Compiled:
    """What a script came to: the catalog after it, and what it asked for, in order.

    ``queries`` are those that it makes, ``named`` the names of all that it has a CREATE for, also
    of those that there were. ``dropped`` are declarations of before that are no more.
    """

    catalog: Catalog
    queries: tuple[QueryDeclaration, ...] = ()
    explains: tuple[ExplainRequest, ...] = field(default=())
    warnings: tuple[ScriptWarning, ...] = ()
    listings: tuple[Listing, ...] = ()
    dropped: tuple[Declaration, ...] = ()
    named: tuple[str, ...] = ()

    @property
    def asks(self) -> bool:
        """Whether there is anything to run or to show."""
        return bool(self.queries or self.explains or self.listings or self.catalog.archives)


def compile_script(
    text: str,
    catalog: Catalog | None = None,
    strategy: Strategy = Strategy.UPA,
    statistics: StreamStatistics | None = None,
    values: Values | None = None,
) -> Compiled:
    """Add the declarations of ``text`` to ``catalog``; nothing is kept if a statement is wrong.

    Plans of views stay as they were bound; plans of queries are the cheapest found for the
    strategy and what is known of the streams. ``values`` are those of the script's parameters.
    """
    before = catalog = _without_places(catalog) if catalog is not None else Catalog()
    queries: dict[str, QueryDeclaration] = {}
    named: dict[str, None] = {}
    explains: list[ExplainRequest] = []
    listings: list[Listing] = []
    warned: dict[ScriptWarning, None] = {}
    script = parse(text, values)
    for statement in script.statements:
        if isinstance(statement, Show | Describe):
            listings.append(list_declarations(statement, catalog, text))
            continue
        if isinstance(statement, Drop):
            catalog = drop(statement, catalog, text)
            continue
        if not isinstance(statement, Explain) and statement.name is not None:
            catalog = make_room(statement, statement.name, catalog, text)
            kept = catalog.find(statement.name.text)
            if kept is not None and is_kept(statement, kept):
                named[kept.name] = None
                continue
        bound = bind(statement, catalog, text)
        warned.update(dict.fromkeys(warnings_of(bound, text)))
        if isinstance(bound, ExplainRequest):
            considered = alternatives(bound.query.plan, statistics, strategy)
            query = replace(bound.query, plan=considered[0].plan)
            explains.append(replace(bound, query=query, considered=considered))
            continue
        if isinstance(bound, QueryDeclaration | SubscriptionsDeclaration):
            bound = replace(bound, plan=optimise(bound.plan, statistics, strategy))
            query = bound if isinstance(bound, QueryDeclaration) else bound.query
            queries[query.name], named[query.name] = query, None
        catalog = catalog.adding(bound)
    known = catalog.declarations
    there = [name for name in named if _is_query(catalog.find(name), name)]
    dropped = tuple(d for name, d in before.declarations.items() if known.get(name) is not d)
    if known != before.declarations or dropped:
        catalog = replace(catalog, texts=(*catalog.texts, script.text))
    return Compiled(
        catalog, tuple(queries[name] for name in there if name in queries), tuple(explains),
        tuple(warned), tuple(listings), dropped, tuple(there),
    )  # fmt: skip


def _is_query(found: Declaration | None, name: str) -> bool:
    """Whether what has this name at the end of the script is a query, or subscriptions."""
    running = isinstance(found, QueryDeclaration | SubscriptionsDeclaration)
    return running and found is not None and found.name == name


def _without_places(catalog: Catalog) -> Catalog:
    """Positions in an earlier script mean nothing in this one, and must not be shown for it."""
    declarations: dict[str, Declaration] = {}
    for name, declaration in catalog.declarations.items():
        declarations[name] = declaration
        if declaration.span is None:  # it has been here
            continue
        plain = replace(declaration, span=None)
        if isinstance(plain, ViewDeclaration | SubscriptionsDeclaration):
            plain = replace(plain, plan=without_spans(plain.plan))
        declarations[name] = plain
    return Catalog(declarations, catalog.texts)


def warnings_of(bound: Declaration | ExplainRequest, source: str) -> Iterator[ScriptWarning]:
    """The warnings that one statement deserves; ``source`` is the text of its script.

    A view of an earlier script has no place in this one, and was warned of there.
    """
    declared = bound.query if isinstance(bound, ExplainRequest) else bound
    plan: Node | None = getattr(declared, "plan", None)
    for node in walk(plan) if plan is not None else ():
        if isinstance(node, ToStream) and node.span is not None and _is_silent(node):
            yield ScriptWarning(
                "DSTREAM never emits anything here, because nothing is ever withdrawn from an "
                "unbounded stream",
                span=node.span,
                source=source,
                remedy="bound a stream in FROM with a window, as in [RANGE 1 MINUTE]",
            )


def _is_silent(node: ToStream) -> bool:
    never_withdraws = node.input.pattern is UpdatePattern.MONOTONIC
    return node.kind is StreamKind.DSTREAM and never_withdraws
