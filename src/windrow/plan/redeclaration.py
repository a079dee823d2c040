"""A name that is declared again, or no more: DROP, OR REPLACE, IF NOT EXISTS.

What others read cannot go: their plans were made of it. The same declaration once more is none: it
says what there is already, so a cell of a notebook can be run twice. That is for declarations of
earlier scripts, which have no place in this one; two of one name in a script are a mistake.
"""

from __future__ import annotations

from windrow.core.errors import BindError
from windrow.cql.parser import words_of
from windrow.cql.statement_tree import Create, Drop, Existing
from windrow.cql.syntax_tree import Name
from windrow.plan.binder.scope import did_you_mean
from windrow.plan.catalog import Catalog, Declaration, kind_of


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
    if found is None or (found.span is not None and statement.existing is Existing.REFUSE):
        return catalog  # the binder says what is wrong with two of them
    kind = "NRR" if getattr(statement, "retroactive", True) is False else _kind(statement)
    if kind_of(found) != kind and statement.existing is not Existing.REFUSE:
        raise BindError(
            f"{found.name} is {_a(kind_of(found))} already", span=name.span, source=source,
            remedy=f"choose another name, or write DROP {kind_of(found)} {found.name} before",
        )  # fmt: skip
    if is_kept(statement, found):
        return catalog
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
    return bool(found.text) and words_of(found.text) == words_of(statement.text)


def _refuse_if_read(found: Declaration, name: Name, catalog: Catalog, source: str) -> None:
    readers = catalog.dependents(found.name)
    if readers:
        who = ", ".join(f"{_noun(kind_of(d))} {d.name}" for d in readers[:5])
        more = f" and {len(readers) - 5:,} more" if len(readers) > 5 else ""
        first = readers[0]
        raise BindError(
            f"{found.name} is read by {who}{more}", span=name.span, source=source,
            remedy=f"drop what reads it first: DROP {kind_of(first)} {first.name}",
        )  # fmt: skip


def _kind(statement: Create) -> str:
    return type(statement).__name__.removeprefix("Create").upper()


def _noun(kind: str) -> str:
    return kind if kind == "NRR" else kind.lower()


def _a(kind: str) -> str:
    if kind == "SUBSCRIPTIONS":
        return "subscriptions"
    return f"an {_noun(kind)}" if kind in ("NRR", "ARCHIVE") else f"a {_noun(kind)}"
