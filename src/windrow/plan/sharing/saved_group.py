"""A ``SharedGroupBy`` as JSON, for a checkpoint: its members may come back without some of them.

A query that has gone may have been the reason for a synopsis that others still read, and one that
came later reads what there was then. So what was planned is written down, and not planned again.
What nobody reads any more takes no tuples in and forgets those that it has.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from windrow.core.schema import Type
from windrow.plan.expressions import Call, Column, Expression, Literal, Named
from windrow.plan.nodes import Node, OrderKey, Reading
from windrow.plan.nodes.sub_window_groups import (
    GroupMember,
    KeptContent,
    MemberTop,
    PredicateSynopses,
    SharedAggregate,
    SharedGroupBy,
    SharedTop,
)
from windrow.sharing.rules import (
    Aggregate,
    Atom,
    Attribute,
    Contents,
    Function,
    Kept,
    Order,
    PeriodicQuery,
    Predicate,
    SharingPlan,
    SynopsisKind,
    SynopsisShape,
    drop_query,
)
from windrow.sharing.rules.sharing_plan import Arrival, Member, Part, Synopsis

NOBODY: Expression = Literal(False, Type.BOOLEAN)
"""The predicate of synopses that nobody reads."""


def to_json(node: SharedGroupBy, sharing: SharingPlan, places: Mapping[int, int]) -> dict[str, Any]:
    """All of the node but its input, and who reads what; ``places`` are those of synopses in it."""
    return {
        "sharing": {
            "made": sharing.made,
            "synopses": [
                [s.number, _shape(s.shape), s.since, places[s.number], s.beside]
                for s in sharing.synopses
            ],
            "members": [
                [
                    _query(member.query),
                    [[_contents(p.contents), p.added, p.subtracted] for p in member.parts],
                    member.complete_from,
                    _arrival(member.arrival),
                ]
                for member in sharing.members
            ],
        },
        "keys": [_expression(key.expression) for key in node.keys],
        "types": [kind.value for kind in node.types],
        "ranked": node.ranked,
        "synopses": [_synopses(store) for store in node.synopses],
        "members": [None if member is None else _member(member) for member in node.members],
    }


def from_json(saved: Mapping[str, Any], source: Node) -> SharedGroupBy:
    """The node over ``source``."""
    keys = [_read_expression(key) for key in saved["keys"]]
    return SharedGroupBy(
        source,
        tuple(Named(f"key{i}", key) for i, key in enumerate(keys)),
        tuple(map(_read_synopses, saved["synopses"])),
        tuple(None if member is None else _read_member(member) for member in saved["members"]),
        tuple(map(Type, saved["types"])),
        ranked=bool(saved["ranked"]),
    )


def places_of(saved: Mapping[str, Any]) -> dict[int, int]:
    """Where each synopsis is among those of the node."""
    return {int(number): int(place) for number, _, _, place, *_ in saved["sharing"]["synopses"]}


def sharing_of(saved: Mapping[str, Any], present: Collection[str]) -> SharingPlan:
    """What was planned for all queries, without those that have gone since."""
    told = saved["sharing"]
    synopses = (
        Synopsis(n, _read_shape(shape), since, *beside)
        for n, shape, since, _, *beside in told["synopses"]
    )
    members = (
        Member(
            _read_query(query),
            tuple(Part(_read_contents(c), tuple(a), tuple(s)) for c, a, s in parts),
            complete,
            *map(_read_arrival, arrival),
        )
        for query, parts, complete, *arrival in told["members"]
    )
    sharing = SharingPlan(tuple(synopses), tuple(members), int(told["made"]))
    for name in [member.query.name for member in sharing.members]:
        if name not in present:
            sharing = drop_query(sharing, name)
    return sharing


def without_others(
    node: SharedGroupBy,
    present: Collection[int],
    sharing: SharingPlan,
    places: Mapping[int, int],
) -> SharedGroupBy:
    """The node for these members, whose plan is ``sharing``. What that says is read stays, also if
    members have what they read of it from elsewhere (a sum knows its count): a query that comes
    next may start on it.
    """
    members = tuple(member if n in present else None for n, member in enumerate(node.members))
    synopses = []
    for place, store in enumerate(node.synopses):
        here = [s.number for s in sharing.synopses if places[s.number] == place]
        keep = longest_asked(sharing, here)
        synopses.append(replace(store, keep=keep, predicate=store.predicate if keep else NOBODY))
    return replace(node, members=members, synopses=tuple(synopses))


def longest_asked(sharing: SharingPlan, numbers: Iterable[int]) -> int:
    """How long after its end somebody may ask for a sub-window of some synopses; 0: nobody does.

    An answer is told as its difference to the one before, a period ago.
    """
    readers = (reader.query for number in numbers for reader in sharing.readers(number))
    return max((query.window + query.slide for query in readers), default=0)


def without_members(plan: Node) -> Node:
    """The plan of a group as far as it stays the same while queries come and go."""
    match plan:
        case SharedTop(input=groups):
            return replace(plan, input=without_members(groups), tops=(), slots=())
        case SharedGroupBy():
            nothing = PredicateSynopses(None, 1, (), 1)
            return replace(plan, synopses=(nothing,), members=(), types=())
    return plan


def _arrival(arrival: Arrival | None) -> list[Any] | None:
    return None if arrival is None else [arrival.extended, arrival.filled]


def _read_arrival(saved: list[Any] | None) -> Arrival | None:
    return None if saved is None else Arrival(*map(tuple, saved))


def _query(query: PeriodicQuery) -> dict[str, Any]:
    return {
        "name": query.name,
        "source": query.source,
        "aggregates": [
            [a.function.value, a.argument, a.parameter, a.approximate] for a in query.aggregates
        ],
        "windows": query.windows,
        "slide": query.slide,
        "group_by": query.group_by,
        "finish": query.finish,
        "predicate": _predicate(query.predicate),
    }


def _read_query(saved: Mapping[str, Any]) -> PeriodicQuery:
    aggregates = tuple(Aggregate(Function(f), *rest) for f, *rest in saved["aggregates"])
    return PeriodicQuery(
        saved["name"], saved["source"], aggregates, tuple(saved["windows"]), saved["slide"],
        _read_predicate(saved["predicate"]), tuple(saved["group_by"]), finish=saved["finish"],
    )  # fmt: skip


def _predicate(predicate: Predicate) -> list[Any]:
    return [
        [[a.attribute.name, a.attribute.order.value, a.operator, a.constant] for a in term]
        for term in predicate.terms
    ]


def _read_predicate(saved: list[Any]) -> Predicate:
    terms = (
        tuple(Atom(Attribute(n, Order(order)), op, constant) for n, order, op, constant in term)
        for term in saved
    )
    return Predicate(tuple(terms))


def _contents(contents: Contents) -> list[Any]:
    return [contents.kept.value, contents.argument]


def _read_contents(saved: list[Any]) -> Contents:
    kept, argument = saved
    return Contents(Kept(kept), argument)


def _shape(shape: SynopsisShape) -> dict[str, Any]:
    return {
        "kind": shape.kind.value,
        "source": shape.source,
        "contents": _contents(shape.contents),
        "s": shape.s,
        "b": shape.b,
        "predicate": _predicate(shape.predicate),
        "group_by": shape.group_by,
    }


def _read_shape(saved: Mapping[str, Any]) -> SynopsisShape:
    return SynopsisShape(
        SynopsisKind(saved["kind"]), saved["source"], _read_contents(saved["contents"]),
        int(saved["s"]), int(saved["b"]), predicate=_read_predicate(saved["predicate"]),
        group_by=tuple(saved["group_by"]),
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
            [
                a.function,
                _expression(a.argument),
                a.type.value,
                a.added,
                a.subtracted,
                a.parameter,
                a.reading.value,
            ]
            for a in member.aggregates
        ],
        "since": member.since,
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
            function,
            _read_optional(argument),
            Type(kind),
            tuple(added),
            tuple(subtracted),
            p,
            *map(Reading, reading),
        )
        for function, argument, kind, added, subtracted, p, *reading in saved["aggregates"]
    )
    columns = tuple(map(_read_expression, saved["columns"]))
    having = _read_optional(saved["having"])
    return GroupMember(
        int(saved["window"]), int(saved["slide"]), aggregates, having, columns,
        saved["since"], _read_top(saved["top"]),
    )  # fmt: skip


def _expression(expression: Expression | None) -> list[Any] | None:
    match expression:
        case Column():
            return ["column", expression.index, expression.name, expression.type.value]
        case Literal():
            value = expression.value
            shown = str(value) if isinstance(value, Decimal) else value
            return ["literal", shown, expression.type.value]
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
            exact = Type(kind).is_decimal and value is not None
            return Literal(Decimal(value) if exact else value, Type(kind))
        case ["call", function, args, kind]:
            return Call(str(function), tuple(map(_read_expression, args)), Type(kind))
    raise ValueError(f"not an expression: {saved!r}")
