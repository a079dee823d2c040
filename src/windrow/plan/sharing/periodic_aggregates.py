"""Which queries of a script are periodic aggregates, as the rules of sharing see them.

A query counts if it is one GROUP BY over ``[RANGE T SLIDE s]`` of one stream (or over ``[RANGE T]``
with ``EVERY s``), with selections below and anything that looks at its groups above: HAVING, TOP, a
choice of columns. Joins, nested groups and windows that count rows do not; of what is answered
periodically and does not count, the reason is said. What a query shares with others is then
``sharing.rules``' business (Golab 2006, 8.3).

For the rules WHERE is a disjunctive normal form of comparisons with constants. What is not such a
comparison (LIKE, IS NULL, one column against another) becomes an attribute of its own that must be
TRUE, named by its text: equal texts are then known to be equal, and nothing else is concluded. NOT
moves inwards; under SQL's three truth values a comparison and its opposite are both unknown for
NULL, so that is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

from windrow.core.schema import Type
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.describe import duration, node_text
from windrow.plan.expressions import (
    Call,
    Column,
    Expression,
    Value,
    conjunction,
    render,
    replace_columns,
)
from windrow.plan.nodes import (
    Every,
    GroupBy,
    Joining,
    Node,
    Projection,
    Selection,
    StreamScan,
    Window,
    walk,
)
from windrow.plan.nodes.relational import Aggregate as PlannedAggregate
from windrow.plan.nodes.routed import Among, Asked
from windrow.plan.nodes.sub_window_groups import SlidingGroupBy
from windrow.plan.nodes.window_specs import RangeWindow, RowsWindow
from windrow.plan.rules.use_sub_windows import use_sub_windows
from windrow.plan.sharing.shared_selection import condition_of
from windrow.sharing.rules import (
    EVERYTHING,
    Aggregate,
    Atom,
    Attribute,
    Function,
    Order,
    PeriodicQuery,
    Predicate,
    SharingPlan,
    describe_plan,
    plan_queries,
)

FUNCTIONS = {
    "SUM": Function.SUM,
    "COUNT": Function.COUNT,
    "AVG": Function.AVG,
    "MIN": Function.MIN,
    "MAX": Function.MAX,
    "MEDIAN": Function.QUANTILE,
    "QUANTILE": Function.QUANTILE,
    "VAR": Function.VAR,
    "STDDEV": Function.STDDEV,
}


@dataclass(frozen=True)
class TakenApart:
    """A periodic aggregate: its groups, what is below them, and what is above, the top first."""

    groups: GroupBy
    source: Source
    above: tuple[Node, ...]
    window: int
    slide: int
    description: PeriodicQuery


def periodic_aggregate(query: QueryDeclaration) -> PeriodicQuery | None:
    """The description of a query, or None if it is not a periodic aggregate."""
    found = take_apart(query)
    return None if found is None else found.description


def take_apart(query: QueryDeclaration) -> TakenApart | None:
    """The parts of a periodic aggregate; None if the query is none."""
    found = find_parts(query)
    return found if isinstance(found, TakenApart) else None


def find_parts(query: QueryDeclaration) -> TakenApart | str | None:
    """The parts of a periodic aggregate. Of another query with groups that is answered periodically
    the reason why it is none; None of all others.
    """
    above: list[Node] = []
    node = use_sub_windows(query.plan)  # with what was selected above a window below it
    while not isinstance(node, GroupBy | SlidingGroupBy) and len(node.inputs) == 1:
        above.append(node)
        (node,) = node.inputs
    if isinstance(node, SlidingGroupBy):
        node = node.logical
    if not isinstance(node, GroupBy):
        return None
    slide = _slide(node, above)
    if not isinstance(slide, int):
        return slide
    assert isinstance(node.input, Window)
    assert isinstance(node.input.spec, RangeWindow)
    source = Source.below(node.input)
    if source is None:
        return "its window is over more than columns and selections of one stream"
    aggregates = [_aggregate(a, source) for a in node.aggregates]
    reasons = (a for a in aggregates if isinstance(a, str))
    if not aggregates or (reason := next(reasons, None)) is not None:
        return reason if aggregates else "it has groups and no aggregates"
    window = node.input.spec.length
    described = PeriodicQuery(
        query.name,
        source.stream,
        tuple(a for a in aggregates if isinstance(a, Aggregate)),
        (window,),
        slide,
        source.predicate,
        tuple(sorted(render(source.resolve(key.expression)) for key in node.keys)),
        query.priority,
        finish="; ".join(
            node_text(each, query.clock) for each in above if not isinstance(each, Every)
        ),
    )
    return TakenApart(node, source, tuple(above), window, slide, described)


def plan_sharing(queries: Iterable[QueryDeclaration]) -> SharingPlan:
    """The sharing plan of the periodic aggregates among the queries."""
    described = map(periodic_aggregate, queries)
    return plan_queries(query for query in described if query is not None)


def explain_sharing(queries: Sequence[QueryDeclaration]) -> str:
    """What the periodic aggregates among the queries can share, a paragraph for each clock."""
    texts = []
    for clock in dict.fromkeys(query.clock for query in queries):
        plan = plan_sharing(query for query in queries if query.clock is clock)
        if plan.members:
            texts.append(describe_plan(plan, ticks=partial(duration, clock=clock)))
    return "\n\n".join(texts)


def _slide(groups: GroupBy, above: Iterable[Node]) -> int | str | None:
    """The period of the groups, by SLIDE or by EVERY; None without one. Of groups that cannot share
    the reason.
    """
    window = groups.input
    while isinstance(window, Selection | Projection):
        window = window.input
    windows = [node.spec for node in walk(window) if isinstance(node, Window)]
    slides = [
        spec.slide for spec in windows if isinstance(spec, RangeWindow | RowsWindow) and spec.slide
    ]
    rhythms = [each.period for each in above if isinstance(each, Every)] + slides
    if not rhythms:
        return None
    if len(windows) > 1:
        return "it is over a join, and no other query has the same one of another length"
    if not isinstance(window, Window):
        return "something else than columns and selections is between its groups and its window"
    spec = window.spec
    if not isinstance(spec, RangeWindow):
        rows = isinstance(spec, RowsWindow)
        kind = "counts rows" if rows else "is not by time"
        return f"its window {kind}, and shared synopses are of sub-windows of time"
    if groups.lists is not None:
        return "FREQUENT keeps lists of some groups, and its answer is about all of them"
    if groups.every_time:
        return "it puts out every answer, also one that is equal to the last"
    if len(rhythms) > 1:
        return "it has a SLIDE and EVERY beside it"
    if spec.internal:
        return "its window is INTERNAL"
    if groups.input is not window:
        return "its WHERE is asked of tuples in the window, and not before"
    return rhythms[0]


class Source:
    """A stream below a window: its columns under the projections, and what was selected."""

    def __init__(self, scan: StreamScan) -> None:
        self.scan, self.stream = scan, scan.name
        self.columns: tuple[Expression, ...] = tuple(
            Column(i, field.name, field.type) for i, field in enumerate(scan.schema)
        )
        self._selected: tuple[Expression, ...] = ()

    @classmethod
    def below(cls, window: Window) -> Source | None:
        chain: list[Selection | Projection] = []
        node = window.input
        while isinstance(node, Selection | Projection):
            chain.append(node)
            node = node.input
        if not isinstance(node, StreamScan):
            return None
        source = cls(node)
        for step in reversed(chain):
            if isinstance(step, Selection):
                source._selected += (source.resolve(step.predicate),)
            else:
                source.columns = tuple(source.resolve(c.expression) for c in step.columns)
        return source

    def resolve(self, expression: Expression) -> Expression:
        """The expression over the columns of the stream itself."""
        return replace_columns(expression, lambda column: self.columns[column.index])

    @property
    def where(self) -> Expression | None:
        """WHERE over the columns of the stream; None without one."""
        return conjunction(self._selected)

    @property
    def predicate(self) -> Predicate:
        selected = self.where
        return EVERYTHING if selected is None else normal_form(selected)


def _aggregate(planned: PlannedAggregate, source: Source) -> Aggregate | str:
    """An aggregate over the stream's columns; if no synopsis of the rules holds it, the reason."""
    function = FUNCTIONS.get(planned.function)
    argument = None if planned.argument is None else render(source.resolve(planned.argument))
    if planned.distinct and function not in (Function.MIN, Function.MAX):
        if function is not Function.COUNT:
            return f"{planned.function}(DISTINCT ...) needs the different values"
        function = Function.COUNT_DISTINCT
    kind = None if planned.argument is None else planned.argument.type
    parameter = 0.5 if planned.function == "MEDIAN" else planned.parameter
    if function is None or isinstance(parameter, Joining):
        return f"{planned.function} needs all values"
    if kind is not None and kind.is_nested:
        return f"{planned.function} is of values that are no numbers, texts or times"
    return Aggregate(function, argument, parameter, approximate=not planned.exact)


MOST_TERMS = 64
"""A form with more terms is not made: the predicate counts as one atom, known by its text."""
OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
Term = tuple[Atom, ...]


def normal_form(predicate: Expression) -> Predicate:
    """The predicate over the columns of its stream, which are known by their names.

    >>> from windrow.plan.expressions import Column, Literal
    >>> a, three = Column(0, "a", Type.INT), Literal(3, Type.INT)
    >>> less, more = (Call(f, (a, three), Type.BOOLEAN) for f in ("lt", "gt"))
    >>> print(normal_form(Call("not", (Call("or", (less, more), Type.BOOLEAN),), Type.BOOLEAN)))
    a >= 3 AND a <= 3
    """
    terms = _terms(predicate, negate=False)
    if terms is None:
        terms = ((_opaque(predicate, negate=False),),)
    return Predicate(tuple(dict.fromkeys(terms)))


def _terms(predicate: Expression, *, negate: bool) -> tuple[Term, ...] | None:
    """The terms of the predicate or of its opposite; None if there are too many."""
    if isinstance(predicate, Call) and predicate.function == "not":
        return _terms(predicate.args[0], negate=not negate)
    if isinstance(predicate, Call) and predicate.function in ("and", "or"):
        parts = [_terms(arg, negate=negate) for arg in predicate.args]
        return _connect(parts, conjunctive=(predicate.function == "and") != negate)
    if isinstance(predicate, Call) and predicate.function == "ne":
        return _terms(Call("eq", predicate.args, Type.BOOLEAN), negate=not negate)
    condition = condition_of(predicate)
    if condition is None:
        return ((_opaque(predicate, negate=negate),),)
    expression, kind, asked = condition
    attribute = Attribute(render(expression), _order(kind))
    terms = _comparisons(attribute, asked)
    if not negate:
        return terms
    opposites: list[tuple[Term, ...] | None] = [
        tuple((Atom(a.attribute, OPPOSITE[a.operator], a.constant),) for a in term)
        for term in terms
    ]
    return _connect(opposites, conjunctive=True)


def _connect(parts: list[tuple[Term, ...] | None], *, conjunctive: bool) -> tuple[Term, ...] | None:
    terms: tuple[Term, ...] = ((),) if conjunctive else ()
    for part in parts:
        if part is None or len(part) * max(1, len(terms)) > MOST_TERMS:
            return None
        if conjunctive:
            both = (tuple(dict.fromkeys(a + b)) for a, b in product(terms, part))
            terms = tuple(both)
        else:
            terms += part
    return terms if len(terms) <= MOST_TERMS else None


def _comparisons(attribute: Attribute, asked: Asked) -> tuple[Term, ...]:
    """What an index would be asked for, as terms: values or an interval."""
    if isinstance(asked, Among):
        return tuple((_atom(attribute, "=", value),) for value in asked.values)
    if asked.low is not None and asked.low == asked.high:
        return ((_atom(attribute, "=", asked.low),),)
    term = []
    if asked.low is not None:
        term.append(_atom(attribute, ">" if asked.low_open else ">=", asked.low))
    if asked.high is not None:
        term.append(_atom(attribute, "<" if asked.high_open else "<=", asked.high))
    return (tuple(term),)


def _atom(attribute: Attribute, operator: str, value: Value) -> Atom:
    assert value is not None
    return Atom(attribute, operator, value)


def _opaque(predicate: Expression, *, negate: bool) -> Atom:
    return Atom(Attribute(render(predicate), Order.BOOLEAN), "=", not negate)


def _order(kind: Type) -> Order:
    if kind is Type.STRING:
        return Order.UNORDERED
    return Order.DENSE if kind is Type.DOUBLE else Order.DISCRETE
