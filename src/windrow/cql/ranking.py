"""``ROW_NUMBER() OVER (PARTITION BY ... ORDER BY ...)`` and the number that it must not exceed;
RANK() and DENSE_RANK() likewise.

The number stands in QUALIFY of the block itself or, as people write it where there is no QUALIFY,
in WHERE of a SELECT around it, under the name that the block gives the ROW_NUMBER().
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce

from sqlglot import expressions as exp

from windrow.core.errors import ParseError, Span
from windrow.cql.positions import span_of
from windrow.cql.syntax_tree import Item, OrderItem, Ranking, Select

UPPER = {exp.LTE: 0, exp.LT: -1, exp.EQ: 0}
TURNED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.GTE: exp.LTE, exp.GT: exp.LT, exp.EQ: exp.EQ
}  # fmt: skip
FUNCTIONS = ("ROW_NUMBER", "RANK", "DENSE_RANK")
OF_RANKS = "write RANK() OVER (...) <= n in QUALIFY, or AS a name in the select list"
REMEDY = "write QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY x DESC) <= 3"


def order_item(node: exp.Expr, sql: str, default: Span) -> OrderItem:
    """One entry of ORDER BY; NULLs are last, whatever the direction."""
    descending = bool(node.args.get("desc")) if isinstance(node, exp.Ordered) else False
    inner = node.this if isinstance(node, exp.Ordered) else node
    if node.args.get("nulls_first"):
        raise ParseError(
            span=span_of(node, sql, default), source=sql, expected="NULLS LAST, which is the rule",
            found="NULLS FIRST",
            remedy="order by COALESCE(column, a value that comes first) instead",
        )  # fmt: skip
    if node.args.get("with_fill"):
        raise ParseError(
            span=span_of(node, sql, default), source=sql,
            expected="a column or an expression in ORDER BY", found="WITH FILL",
            remedy="an answer has the rows that there are; remove it",
        )  # fmt: skip
    return OrderItem(inner, descending, span_of(node, sql, default))


def take_ranking(select: Select, qualify: exp.Expr | None, sql: str) -> Select:
    """The block with its ROW_NUMBER() taken out of the select list and QUALIFY."""
    ranking: Ranking | None = None
    items: list[Item] = []
    for place, item in enumerate(select.items):
        if not _function(item.expression):
            items.append(item)
            continue
        if ranking is not None or item.alias is None:
            raise ParseError(
                span=item.span, source=sql, expected="one ROW_NUMBER() OVER (...), with AS a name",
                found="another one" if ranking is not None else "no name", remedy=REMEDY,
            )  # fmt: skip
        ranking = replace(_ranking(item.expression, sql, item.span), name=item.alias, place=place)
    for part in _conjuncts(qualify) if qualify is not None else ():
        span = span_of(part, sql, select.span)
        subject, count = _upper_bound(part)
        if isinstance(subject, exp.Window):
            asked = _ranking(subject, sql, span)
            if ranking is not None and _order(asked) != _order(ranking):
                subject = None
            else:
                ranking = ranking or asked
        elif ranking is None or not _names(subject, ranking):
            subject = None
        if subject is None or ranking is None:
            raise ParseError(
                span=span, source=sql, expected="ROW_NUMBER() OVER (...) <= a number in QUALIFY",
                found="another condition", remedy=REMEDY,
            )  # fmt: skip
        ranking = replace(
            ranking, count=min(count, count if ranking.count is None else ranking.count)
        )
    return replace(select, items=tuple(items), ranking=ranking)


def bound_inner_ranking(select: Select) -> Select:
    """The block with the number of its WHERE moved to the ROW_NUMBER() of its only sub-query."""
    inner = select.tables[0].source if len(select.tables) == 1 else None
    if not isinstance(inner, Select) or inner.ranking is None or select.where is None:
        return select
    ranking, rest = inner.ranking, []
    for part in _conjuncts(select.where):
        subject, count = _upper_bound(part)
        if _names(subject, ranking):
            known = count if ranking.count is None else ranking.count
            ranking = replace(ranking, count=min(count, known))
        else:
            rest.append(part)
    if ranking.count is None:
        return select
    where = reduce(lambda a, b: exp.And(this=a, expression=b), rest) if rest else None
    if not _is_read(select, where, ranking):
        ranking = replace(ranking, name=None)
    table = replace(select.tables[0], source=replace(inner, ranking=ranking))
    return replace(select, where=where, tables=(table,))


def _ranking(node: exp.Expr, sql: str, span: Span) -> Ranking:
    order, function = node.args.get("order"), _function(node)
    if not function or order is None or node.args.get("spec"):
        raise ParseError(
            span=span, source=sql, expected="ROW_NUMBER() OVER ([PARTITION BY ...] ORDER BY ...)",
            found="something else before or in OVER",
            remedy=f"{REMEDY}, or aggregate in a sub-query with GROUP BY",
        )  # fmt: skip
    return Ranking(
        tuple(node.args.get("partition_by") or ()),
        tuple(order_item(o, sql, span) for o in order.expressions),
        None, None, 0, span, function,
    )  # fmt: skip


def _order(ranking: Ranking) -> tuple[object, ...]:
    """What decides the numbers."""
    return ranking.partition_by, ranking.order_by, ranking.function


def _function(node: exp.Expr) -> str:
    """Which of the functions it is; others with OVER are refused where expressions are bound."""
    function = node.this if isinstance(node, exp.Window) else None
    if not isinstance(function, exp.Anonymous) or function.expressions:
        return ""
    name = str(function.name.upper())
    return name if name in FUNCTIONS else ""


def _conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.And):
        yield from _conjuncts(node.this)
        yield from _conjuncts(node.expression)
    else:
        yield node


def _upper_bound(part: exp.Expr) -> tuple[exp.Expr | None, int]:
    """What must not exceed which number, if the condition says that and nothing else."""
    kind, left, right = type(part), part.args.get("this"), part.args.get("expression")
    if isinstance(left, exp.Literal) and kind in TURNED:
        kind, left, right = TURNED[kind], right, left
    if kind not in UPPER or not isinstance(right, exp.Literal) or not right.is_int:
        return None, 0
    count = int(right.this) + UPPER[kind]
    if kind is exp.EQ and count != 1:
        return None, 0
    return left, count


def _names(subject: exp.Expr | None, ranking: Ranking) -> bool:
    if not isinstance(subject, exp.Column) or ranking.name is None:
        return False
    return bool(subject.name.lower() == ranking.name.text.lower())


def _is_read(select: Select, where: exp.Expr | None, ranking: Ranking) -> bool:
    """Whether a block reads the numbers beside bounding them."""
    nodes = [*(i.expression for i in select.items), *select.group_by, where, select.having]
    nodes += [o.expression for o in select.order_by]
    nodes += [n for o in (select.ranking,) if o for n in o.partition_by]
    nodes += [o.expression for r in (select.ranking,) if r for o in r.order_by]
    columns = [c for n in nodes if n is not None for c in (n, *n.find_all(exp.Column))]
    return any(isinstance(c, exp.Star) or c.name == "*" or _names(c, ranking) for c in columns)
