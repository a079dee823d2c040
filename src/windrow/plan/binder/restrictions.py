"""What a query may not combine, each with the reason that Golab 2006 gives for it.

So has what APPROXIMATE and FREQUENT cannot be asked of. Both keep sub-windows (Golab 2006, 2.3.4)
as sketches or lists in place of tuples. So there must be sub-windows, of tuples that leave in the
order in which they came (6.2.1), and what is exact in a few numbers has no use for a sketch.
"""

from __future__ import annotations

from collections.abc import Iterator

from windrow.core.errors import BindError, Span
from windrow.core.patterns import UpdatePattern
from windrow.cql.syntax_tree import Limit, Select
from windrow.plan.expressions import Call, Column, Expression, Literal, columns_of, conjuncts
from windrow.plan.nodes import (
    Aggregate,
    AppendOnly,
    DuplicateElimination,
    GroupBy,
    Join,
    Negation,
    Node,
    OutputWindow,
    Projection,
    Reading,
    RelationScan,
    Selection,
    TopLists,
    ToStream,
    TupleWise,
    Window,
    is_nrr,
)
from windrow.plan.rules.use_sub_windows import slides_below

STREAMS = (ToStream, AppendOnly, OutputWindow)
"""Nodes whose results stand for themselves, whatever becomes of what they came from."""


def refuse_frozen_results(plan: Node, construct: str, section: str, span: Span) -> None:
    """DISTINCT and negation have no append-only form, so neither INTERNAL nor WSTREAM fit them."""
    for node in _results(plan):
        if isinstance(node, DuplicateElimination | Negation):
            name = "DISTINCT" if isinstance(node, DuplicateElimination) else node.form.value
            reason = "repeat" if name == "DISTINCT" else "go on after they stopped being true"
            raise BindError(
                f"{construct} does not fit {name}: results that are never withdrawn would "
                f"{reason} (Golab 2006, {section})",
                span=span,
                remedy=f"remove {construct}, or use ISTREAM to get the insertions",
            )


def _results(plan: Node) -> Iterator[Node]:
    """The operators whose own tuples are in the result; aggregates and streams make new ones, and
    what a window is over is a stream already."""
    yield plan
    if not isinstance(plan, (GroupBy, Window, *STREAMS)):
        children = plan.inputs[:1] if isinstance(plan, Negation) else plan.inputs
        for child in children:
            yield from _results(child)


def check_nrrs(plan: Node, span: Span | None) -> None:
    """An NRR only serves the tuples of a stream, each by its state when the tuple came (3.3.1)."""
    found = _nrr(plan)
    if found is not None:
        raise BindError(
            f"the NRR {found.name} is read alone, but its updates change no earlier result, so "
            "it has no answer of its own (Golab 2006, 3.3.1)",
            span=found.span or span, expected="a join with a stream", found="none",
            remedy=f"join {found.name} with a stream, or declare it with CREATE RELATION",
        )  # fmt: skip
    _check_joins(plan, span)


def _check_joins(plan: Node, span: Span | None) -> None:
    for position, child in enumerate(plan.inputs):
        nrr = _nrr(child)
        if nrr is None:
            _check_joins(child, span)
            continue
        place = nrr.span or span
        if not isinstance(plan, Join):
            raise BindError(
                f"the NRR {nrr.name} is an input of {_words(plan)}, where its updates would have "
                "to reach earlier results (Golab 2006, 3.3.1)",
                span=place, expected="a join with a stream", found=_words(plan),
                remedy=f"join {nrr.name} with a stream, or declare it with CREATE RELATION",
            )  # fmt: skip
        other = plan.inputs[1 - position]
        if is_nrr(other) or other.pattern is UpdatePattern.STRICT:
            what = "another NRR" if is_nrr(other) else "STRICT input"
            raise BindError(
                f"the NRR {nrr.name} is joined with {what}: such a join cannot process negative "
                "tuples, because the row that a withdrawn tuple met may be gone "
                "(Golab 2006, 3.5.3)",
                span=place, expected="a stream, or a time window over one", found=what,
                remedy=f"join {nrr.name} below what withdraws results (in a sub-query, say), or "
                "declare it with CREATE RELATION",
            )  # fmt: skip


def _nrr(plan: Node) -> RelationScan | None:
    if not is_nrr(plan):
        return None
    while isinstance(plan, Selection | Projection):
        plan = plan.input
    assert isinstance(plan, RelationScan)
    return plan


def _words(node: Node) -> str:
    match node:
        case Negation():
            return node.form.value
        case DuplicateElimination():
            return "DISTINCT (or UNION, EXCEPT, INTERSECT, EXISTS or IN)"
        case GroupBy():
            return "an aggregate"
        case ToStream():
            return node.kind.value
    return type(node).__name__.upper()


APPROXIMATED = "MEDIAN(x), QUANTILE(x, p) or COUNT(DISTINCT x)"
FLIPPED = {"lt": "gt", "le": "ge"}
"""``c < n`` says what ``n > c`` says."""


def refuse_exact(function: str, distinct: bool, span: Span) -> None:
    """Refuse APPROXIMATE before what needs no sketch, or has none."""
    if (function, distinct) in (("MEDIAN", False), ("QUANTILE", False), ("COUNT", True)):
        return
    called = f"{function} of DISTINCT values" if distinct else function
    reason = "has no sketch" if distinct else "is exact in a few numbers for each sub-window"
    raise BindError(
        f"{called} {reason}", span=span, expected=f"{APPROXIMATED} after APPROXIMATE",
        found=called, remedy="leave APPROXIMATE out",
    )  # fmt: skip


def refuse_in_lists(
    function: str, argument: Expression | None, reading: Reading, span: Span
) -> None:
    """Refuse any aggregate beside FREQUENT but COUNT(*): lists have counts and nothing else."""
    if function != "COUNT" or argument is not None or reading is Reading.ESTIMATE:
        raise BindError(
            "FREQUENT keeps the most frequent groups of each sub-window and how often they occur",
            span=span, expected="COUNT(*) and no other aggregate", found=function,
            remedy="ask for the other aggregates in a query of their own",
        )  # fmt: skip


def check_sub_windows(word: str, plan: Node, span: Span) -> None:
    """``plan`` is what is grouped: a window with SLIDE, but for selections and projections."""
    if slides_below(plan):
        return
    if plan.pattern > UpdatePattern.WEAKEST and not _is_over_window(plan):
        raise BindError(
            f"{word} keeps a summary of each sub-window, which leaves as a whole, so the tuples "
            "have to expire in the order in which they came (Golab 2006, 6.2.1)",
            span=span, expected="a window with SLIDE over a stream",
            found=f"{plan.pattern.name} input",
            remedy=f"ask for {word} below joins and negations, or leave it out: without it the "
            "tuples are kept and the answer is exact",
        )  # fmt: skip
    raise BindError(
        f"{word} keeps a summary of each sub-window, and only a window with SLIDE has sub-windows",
        span=span, expected="[RANGE ... SLIDE ...] or [ROWS ... SLIDE ...]",
        found="a window without SLIDE", remedy=f"add SLIDE to the window, or leave out {word}"
        + (": COUNT(DISTINCT x), for APPROX_DISTINCT(x), is exact" * (word == "APPROXIMATE")),
    )  # fmt: skip


def _is_over_window(plan: Node) -> bool:
    while isinstance(plan, TupleWise):
        plan = plan.input
    return isinstance(plan, Window)


def lists_of(
    select: Select, limit: Limit, keys: int, aggregates: tuple[Aggregate, ...],
    having: Expression | None, span: Span,
) -> TopLists:  # fmt: skip
    """The lists of ``SELECT FREQUENT k``; HAVING is over the row of groups."""
    if limit.count < 1:
        raise BindError(span=limit.span, expected="at least one group in a list", found="0")
    if select.order_by or select.distinct:
        raise BindError(
            span=span, expected="FREQUENT without ORDER BY and DISTINCT", found="one of them",
            remedy="leave it out: groups are distinct, and an answer is a bag without an order",
        )  # fmt: skip
    if not keys or not aggregates:
        raise BindError(
            span=limit.span, expected="FREQUENT with GROUP BY and COUNT(*)",
            found="no GROUP BY" if not keys else "no COUNT(*)",
            remedy="write SELECT FREQUENT 10 x, COUNT(*) AS n FROM ... GROUP BY x",
        )  # fmt: skip
    thresholds = 0
    for part in conjuncts(having) if having is not None else ():
        if any(c.index >= keys for c in columns_of(part)):
            _check_threshold(part, keys, span)
            thresholds += 1
    return TopLists(limit.count, certain=not thresholds)


def _check_threshold(part: Expression, keys: int, span: Span) -> None:
    """A count of FREQUENT is a lower bound: only that it exceeds something is certain."""
    if isinstance(part, Call) and len(part.args) == 2:
        function, (one, other) = part.function, part.args
        if isinstance(one, Literal):
            function, one, other = FLIPPED.get(function, ""), other, one
        plain = isinstance(one, Column) and one.index == keys and isinstance(other, Literal)
        if plain and function in ("gt", "ge"):
            return
    raise BindError(
        "FREQUENT never counts too many, so all that is certain is that a count exceeds a number",
        span=span, expected="COUNT(*) > number or COUNT(*) >= number in HAVING",
        found="another condition on the count",
        remedy="put the query into a sub-query in FROM to compare its bounds",
    )  # fmt: skip
