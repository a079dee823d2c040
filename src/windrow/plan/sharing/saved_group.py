"""A ``SharedGroupBy`` as JSON, for a checkpoint: its members may come back without some of them.

A query that has gone may have been the reason for a synopsis that others still read, so what was
planned is written down, and not planned again. What nobody reads any more takes no tuples in and
forgets those that it has.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from windrow.core.schema import Type
from windrow.plan.expressions import Call, Column, Expression, Literal, Named
from windrow.plan.nodes import Node, OrderKey
from windrow.plan.nodes.shared_groups import (
    GroupMember,
    KeptContent,
    MemberTop,
    PredicateSynopses,
    SharedAggregate,
    SharedGroupBy,
)
from windrow.sharing.rules import (
    Aggregate,
    Atom,
    Attribute,
    Function,
    Order,
    PeriodicQuery,
    Predicate,
    SharingPlan,
    SynopsisKind,
    drop_query,
    plan_queries,
)

NOBODY: Expression = Literal(False, Type.BOOLEAN)
"""The predicate of synopses that nobody reads."""


def to_json(node: SharedGroupBy, sharing: SharingPlan) -> dict[str, Any]:
    """All of the node but its input, and who was planned; every member is there."""
    return {
        "queries": [_query(member.query) for member in sharing.members],
        "keys": [_expression(key.expression) for key in node.keys],
        "types": [kind.value for kind in node.types],
        "ranked": node.ranked,
        "synopses": [_synopses(store) for store in node.synopses],
        "members": [_member(member) for member in node.members if member is not None],
    }


def from_json(saved: Mapping[str, Any], source: Node) -> SharedGroupBy:
    """The node over ``source``."""
    keys = [_read_expression(key) for key in saved["keys"]]
    return SharedGroupBy(
        source,
        tuple(Named(f"key{i}", key) for i, key in enumerate(keys)),
        tuple(map(_read_synopses, saved["synopses"])),
        tuple(map(_read_member, saved["members"])),
        tuple(map(Type, saved["types"])),
        ranked=bool(saved.get("ranked", False)),
    )


def sharing_of(saved: Mapping[str, Any], present: Collection[str]) -> SharingPlan:
    """What was planned for all queries, without those that have gone since."""
    sharing = plan_queries(map(_read_query, saved["queries"]))
    for name in [member.query.name for member in sharing.members]:
        if name not in present:
            sharing = drop_query(sharing, name)
    return sharing


def without_others(node: SharedGroupBy, present: Collection[int]) -> SharedGroupBy:
    """The node for these members; a synopsis is kept as long as one of them may ask for it."""
    members = [member if n in present else None for n, member in enumerate(node.members)]
    keep = [0] * len(node.synopses)
    for member in members:
        for aggregate in () if member is None else member.aggregates:
            for number in (*aggregate.added, *aggregate.subtracted):
                assert member is not None
                keep[number] = max(keep[number], member.window + member.slide)
    synopses = [
        replace(store, keep=k, predicate=store.predicate if k else NOBODY)
        for store, k in zip(node.synopses, keep, strict=True)
    ]
    return replace(node, members=tuple(members), synopses=tuple(synopses))


def _query(query: PeriodicQuery) -> dict[str, Any]:
    return {
        "name": query.name,
        "source": query.source,
        "aggregates": [[a.function.value, a.argument, a.parameter] for a in query.aggregates],
        "windows": query.windows,
        "slide": query.slide,
        "group_by": query.group_by,
        "finish": query.finish,
        "predicate": [
            [[a.attribute.name, a.attribute.order.value, a.operator, a.constant] for a in term]
            for term in query.predicate.terms
        ],
    }


def _read_query(saved: Mapping[str, Any]) -> PeriodicQuery:
    aggregates = tuple(Aggregate(Function(f), *rest) for f, *rest in saved["aggregates"])
    terms = tuple(
        tuple(Atom(Attribute(n, Order(order)), op, constant) for n, order, op, constant in term)
        for term in saved["predicate"]
    )
    return PeriodicQuery(
        saved["name"], saved["source"], aggregates, tuple(saved["windows"]), saved["slide"],
        Predicate(terms), tuple(saved["group_by"]), finish=saved["finish"],
    )  # fmt: skip


def _synopses(store: PredicateSynopses) -> dict[str, Any]:
    return {
        "predicate": _expression(store.predicate),
        "s": store.s,
        "keep": store.keep,
        "contents": [[c.function, _expression(c.argument), c.kind.value] for c in store.contents],
    }


def _read_synopses(saved: Mapping[str, Any]) -> PredicateSynopses:
    contents = tuple(
        KeptContent(function, _read_expression(argument), SynopsisKind(kind))
        for function, argument, kind in saved["contents"]
    )
    predicate = _read_optional(saved["predicate"])
    return PredicateSynopses(predicate, int(saved["s"]), contents, int(saved["keep"]))


def _member(member: GroupMember) -> dict[str, Any]:
    return {
        "window": member.window,
        "slide": member.slide,
        "having": _expression(member.having),
        "columns": [_expression(column) for column in member.columns],
        "aggregates": [
            [a.function, _expression(a.argument), a.type.value, a.added, a.subtracted, a.parameter]
            for a in member.aggregates
        ],
        "top": _top(member.top),
    }


def _top(top: MemberTop | None) -> list[Any] | None:
    if top is None:
        return None
    keys = [[_expression(key.expression), key.descending] for key in top.keys]
    return [keys, top.count, top.shown]


def _read_top(saved: list[Any] | None) -> MemberTop | None:
    if saved is None:
        return None
    keys, count, shown = saved
    order = tuple(OrderKey(_read_expression(key), bool(descending)) for key, descending in keys)
    return MemberTop(order, int(count), tuple(shown))


def _read_member(saved: Mapping[str, Any]) -> GroupMember:
    aggregates = tuple(
        SharedAggregate(
            function, _read_optional(argument), Type(kind), tuple(added), tuple(subtracted), *more
        )
        for function, argument, kind, added, subtracted, *more in saved["aggregates"]
    )
    columns = tuple(map(_read_expression, saved["columns"]))
    having = _read_optional(saved["having"])
    return GroupMember(
        int(saved["window"]), int(saved["slide"]), aggregates, having, columns,
        top=_read_top(saved.get("top")),
    )  # fmt: skip


def _expression(expression: Expression | None) -> list[Any] | None:
    match expression:
        case Column():
            return ["column", expression.index, expression.name, expression.type.value]
        case Literal():
            return ["literal", expression.value, expression.type.value]
        case Call():
            args = [_expression(arg) for arg in expression.args]
            return ["call", expression.function, args, expression.type.value]
    return None


def _read_optional(saved: list[Any] | None) -> Expression | None:
    return None if saved is None else _read_expression(saved)


def _read_expression(saved: list[Any]) -> Expression:
    match saved:
        case ["column", index, name, kind]:
            return Column(int(index), str(name), Type(kind))
        case ["literal", value, kind]:
            return Literal(value, Type(kind))
        case ["call", function, args, kind]:
            return Call(str(function), tuple(map(_read_expression, args)), Type(kind))
    raise ValueError(f"not an expression: {saved!r}")
