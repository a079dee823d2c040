"""ARRAYs and STRUCTs in expressions: how they are written, and how what is inside is named.

``s.a`` may be a column of a table s or a field of a column s; a table comes first, as in SQL.
"""

from __future__ import annotations

from sqlglot import expressions as exp

from windrow.core.errors import BindError, Span
from windrow.core.schema import Type
from windrow.plan.binder.calls import Binder
from windrow.plan.binder.literals import coerce
from windrow.plan.binder.scope import Scope, did_you_mean
from windrow.plan.expressions import Call, Expression, Literal

STRUCTS = ("struct", "row", "struct_pack", "named_struct")
"""Functions that make a STRUCT of their arguments."""
NAMED = "named_struct"
"""That of them whose arguments are names and values by turns."""


def bind_element(binder: Binder, node: exp.Bracket, span: Span) -> Expression:
    """``a[i]``: the i-th value from 1, from the end if i is negative; NULL if there is none.

    Of a STRUCT ``s['name']`` is a field.
    """
    inner, index = binder.bind(node.this), node.expressions[0]
    if inner.type.fields and isinstance(index, exp.Literal) and index.is_string:
        return bind_field(inner, index.name, span)
    place = binder.bind(index)
    if isinstance(place, Literal) and place.value is None:
        place = Literal(None, Type.BIGINT)
    if inner.type.element is None or len(node.expressions) != 1 or not place.type.integral:
        raise BindError(
            "an index in brackets is the place of a value in an ARRAY", span=span,
            expected="an ARRAY before the brackets, and a whole number in them",
            found=f"{inner.type.value}[{place.type.value}]",
            remedy="of a JSON text write x -> 0, of a string substring(x, 1, 1)"
            if inner.type is Type.STRING else "",
        )  # fmt: skip
    return Call("element", (inner, coerce(place, Type.BIGINT, span)), inner.type.element)


def bind_array(binder: Binder, node: exp.Array, span: Span) -> Expression:
    """``ARRAY[1, 2]`` and ``[1, 2]``; ``[]`` takes the type of what stands beside it."""
    if not node.expressions:
        return Call("array", (), Type.array(Type.STRING))
    return binder.call("array", [binder.bind(n) for n in node.expressions], node.expressions, span)


def bind_any(binder: Binder, node: exp.EQ, span: Span) -> Expression:
    """``x = ANY(a)``: NULL if x is in a only if NULL is."""
    inside = node.expression.this
    nodes = [inside, node.this]
    return binder.call("any_equal", [binder.bind(n) for n in nodes], nodes, span)


def bind_struct(binder: Binder, nodes: list[exp.Expr], span: Span) -> Expression:
    """``{'a': 1}``, ``STRUCT(1 AS a)``; what has no name is called col1, col2, ..."""
    fields: list[tuple[str, Type]] = []
    args: list[Expression] = []
    for place, node in enumerate(nodes, 1):
        name, value = f"col{place}", node
        if isinstance(node, exp.Alias):
            name, value = node.alias, node.this
        elif isinstance(node, exp.PropertyEQ):
            name, value = node.name, node.expression
        elif isinstance(node, exp.Column):
            name = node.name
        args.append(binder.bind(value))
        fields.append((name, args[-1].type))
    if not fields or len({name.lower() for name, _ in fields}) < len(fields):
        raise BindError(
            span=span, expected="values, each under a name of its own",
            found=", ".join(name for name, _ in fields) or "none",
            remedy="write for example {'a': 1, 'b': x} or STRUCT(1 AS a, x AS b)",
        )  # fmt: skip
    return Call("struct", tuple(args), Type.struct(fields))


def named_values(nodes: list[exp.Expr], span: Span) -> list[exp.Expr]:
    """``'a', 1, 'b', x`` as values with names."""
    names, values = nodes[::2], nodes[1::2]
    if len(names) != len(values) or not all(n.is_string for n in names):
        raise BindError(
            span=span, expected="names in quotes, each before its value",
            found="something else",
            remedy="write for example named_struct('a', 1, 'b', x) or {'a': 1, 'b': x}",
        )  # fmt: skip
    return [
        exp.PropertyEQ(this=name, expression=value)
        for name, value in zip(names, values, strict=True)
    ]


def bind_field(inner: Expression, name: str, span: Span) -> Expression:
    """The value of a STRUCT under a name."""
    for known, kind in inner.type.fields:
        if known.lower() == name.lower():
            return Call("field", (inner, Literal(known, Type.STRING)), kind)
    if not inner.type.fields:
        raise BindError(
            f"{inner.type.value} has no fields, so there is no {name} in it", span=span,
            expected="a STRUCT before the dot", found=inner.type.value,
        )  # fmt: skip
    raise BindError(
        f"there is no field {name}", span=span,
        remedy=did_you_mean(name, [known for known, _ in inner.type.fields]),
    )  # fmt: skip


def bind_path(scope: Scope, parts: list[str], span: Span) -> Expression:
    """``table.column.field...`` or ``column.field...``."""
    tables = [q.lower() for q in scope.qualifiers()]
    if (
        len(parts) > 1
        and parts[0].lower() in tables
        and (scope.find(parts[1], parts[0]) or not scope.find(parts[0]))
    ) or (len(parts) > 1 and not scope.find(parts[0])):
        found, rest = scope.meaning(parts[1], parts[0], span), parts[2:]
    else:
        found, rest = scope.meaning(parts[0], None, span), parts[1:]
    for name in rest:
        found = bind_field(found, name, span)
    return found
