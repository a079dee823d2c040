"""What names can mean: the catalog that all of the binder sees, and the columns of expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from windrow.core.errors import BindError, Span
from windrow.core.schema import Schema
from windrow.core.time import Clock
from windrow.cql.syntax_tree import Query
from windrow.plan.catalog import Catalog, FunctionDeclaration
from windrow.plan.expressions import Column, Expression, shift_columns
from windrow.plan.nodes import (
    Node,
    StreamScan,
    walk,
)


@dataclass(frozen=True)
class Context:
    """The catalog, the text, and the way back to the binder of whole queries.

    ``uses`` takes the lower-case names that the statement reads.
    ``defined`` are the plans that WITH names here, by lower-case name; they hide declarations.
    """

    catalog: Catalog
    source: str
    bind_query: Callable[[Query, Context], Node]
    uses: set[str] = field(default_factory=set, compare=False)
    defined: Mapping[str, Node] = field(default_factory=dict)

    def defining(self, name: str, plan: Node) -> Context:
        """A context in which the name stands for the plan too."""
        return replace(self, defined={**self.defined, name.lower(): plan})


def clock_of(plan: Node, span: Span | None = None) -> Clock | None:
    """The clock of the plan's streams; None if it has none, BindError if they differ."""
    clocks = {n.clock: n.name for n in walk(plan) if isinstance(n, StreamScan)}
    if len(clocks) > 1:
        names = " and ".join(f"{name} ({clock.value})" for clock, name in clocks.items())
        raise BindError(
            span=span,
            expected="streams that share one kind of clock",
            found=names,
            remedy="declare both with a TIMESTAMP column, or both with an integer one",
        )
    return next(iter(clocks), None)


NO_COLUMNS = {
    **dict.fromkeys(("window_start", "window_end"), "they are columns of TUMBLE(s, ts, 10 MINUTES) "
                    "in FROM, of the first if there are several, and functions, as window_end(), "
                    "of [RANGE ... SLIDE ...]; in a join all windows are the same, so leave out "
                    "conditions on their bounds"),
    **dict.fromkeys(("second", "minute", "hour", "day", "week", "month", "quarter", "year"),
                    "a unit of time stands in quotes, as in date_trunc('hour', t)"),
}  # fmt: skip
"""Names of what is no column where somebody takes it for one."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A remedy that names what was probably meant, or what there is to choose from."""
    names = list(dict.fromkeys(known))
    by_lower = {n.lower(): n for n in names}
    near = get_close_matches(name.lower(), list(by_lower), 1, 0.6)
    if near:
        return f"did you mean {by_lower[near[0]]}?"
    if not names:
        return ""
    shown = ", ".join(names[:8])
    return f"there is {shown}{', ...' if len(names) > 8 else ''}"


@dataclass(frozen=True)
class MergedColumn:
    """A column that USING names: without a table it is ``expression``, whichever side has it."""

    name: str
    expression: Expression
    places: frozenset[int]


@dataclass(frozen=True)
class Scope:
    """The columns of FROM under the names of their tables, in the order of the joined row.

    In a sub-query that sees the outer query's columns too, those from ``inner_from`` on are its
    own, and hide outer ones of the same name. Those in ``merged`` are one column unless they are
    written with their table. The last ``values`` columns stand for scalar sub-queries, and are not
    meant by ``*``.
    """

    schema: Schema
    inner_from: int = 0
    merged: tuple[MergedColumn, ...] = ()
    times: tuple[Column, ...] = ()
    """The time columns of all streams, if they are shown."""
    values: int = 0
    context: Context | None = None
    """Where functions of the user's own are looked up."""
    aliases: tuple[str, ...] = ()
    """Names of the select list, which are no columns of it."""

    @property
    def table_width(self) -> int:
        """How many columns are those of tables."""
        return len(self.schema) - self.values

    def find(self, name: str, qualifier: str | None = None) -> tuple[int, ...]:
        """The places of all columns that the name can mean; case makes no difference."""
        found = tuple(
            index
            for index, field in enumerate(self.schema)
            if field.name.lower() == name.lower()
            and (
                qualifier is None
                or (field.qualifier is not None and field.qualifier.lower() == qualifier.lower())
            )
        )
        return tuple(i for i in found if i >= self.inner_from) or found

    def within(self, outer: Scope) -> Scope:
        """This scope in a sub-query that sees the outer query's columns, which come first."""
        width = len(outer.schema)
        merged = tuple(
            MergedColumn(
                m.name, shift_columns(m.expression, width), frozenset(p + width for p in m.places)
            )
            for m in self.merged
        )
        return replace(self, schema=outer.schema + self.schema, inner_from=width,
                       merged=(*outer.merged, *merged), times=())  # fmt: skip

    def function(self, name: str) -> FunctionDeclaration | None:
        """A function of the user's own, which the statement then uses."""
        found = self.context.catalog.find(name) if self.context is not None else None
        if self.context is None or not isinstance(found, FunctionDeclaration):
            return None
        self.context.uses.add(name.lower())
        return found

    def column(self, index: int) -> Column:
        field = self.schema[index]
        return Column(index, field.name, field.type)

    def qualifiers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(f.qualifier for f in self.schema if f.qualifier))

    def meaning(self, name: str, qualifier: str | None, span: Span) -> Expression:
        """What a name in an expression stands for: a column, or the one that USING made of two."""
        if qualifier is None:
            found = set(self.find(name))
            for column in self.merged:
                if column.name == name.lower() and found <= column.places:
                    return column.expression
        return self.resolve(name, qualifier, span)

    def resolve(self, name: str, qualifier: str | None, span: Span) -> Column:
        """The one column that is meant; BindError if there is none, or more than one."""
        found = self.find(name, qualifier)
        if len(found) == 1:
            return self.column(found[0])
        if found:
            names = list(dict.fromkeys(str(self.schema[i]) for i in found))
            if len(names) < len(found):
                owner = self.schema[found[0]].qualifier or "the sub-query"
                raise BindError(
                    f"{owner} has {len(found)} columns called {name}", span=span,
                    remedy=f"give each a name of its own with AS where {owner} is made",
                )  # fmt: skip
            raise BindError(
                f"the column {name} is ambiguous", span=span, remedy=f"write {' or '.join(names)}"
            )
        if qualifier is not None and qualifier.lower() not in map(str.lower, self.qualifiers()):
            raise BindError(
                f"no table here is called {qualifier}",
                span=span,
                remedy=did_you_mean(qualifier, self.qualifiers()),
            )
        candidates = [
            f.name
            for f in self.schema
            if qualifier is None or (f.qualifier or "").lower() == qualifier.lower()
        ]
        where = f" in {qualifier}" if qualifier else ""
        remedy = NO_COLUMNS.get(name.lower()) or did_you_mean(name, candidates)
        if qualifier is None and name.lower() in map(str.lower, self.aliases):
            remedy = (
                "it is a name of the select list: write what it stands for, or SELECT it in FROM"
            )
        raise BindError(f"there is no column {name}{where}", span=span, remedy=remedy)
