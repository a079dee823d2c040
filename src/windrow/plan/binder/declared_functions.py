"""CREATE FUNCTION, and calls of what it declares. Where the function is, is loaded later."""

from __future__ import annotations

import re
from collections.abc import Sequence

from windrow.core.errors import BindError, Span
from windrow.core.schema import Type
from windrow.cql.statement_tree import CreateFunction
from windrow.plan.binder.calls import wrong_number
from windrow.plan.binder.literals import coerce
from windrow.plan.catalog import FunctionDeclaration
from windrow.plan.expressions import ARRAYS, Call, Expression, Literal
from windrow.plan.functions import AGGREGATES, FUNCTIONS, OTHER_FORMS, SYNONYMS, common

_LOCATION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*\Z")


def bind_function(statement: CreateFunction) -> FunctionDeclaration:
    name = statement.name
    if name.text.lower() in {*FUNCTIONS, *SYNONYMS, *AGGREGATES, *OTHER_FORMS}:
        raise BindError(
            f"there is a function {name.text} already", span=name.span, remedy="choose another name"
        )
    if not _LOCATION.match(statement.location):
        raise BindError(
            span=statement.at, expected="'module:function' after AS",
            found=f"'{statement.location}'",
            remedy="name a module that Python can import, and a function in it",
        )  # fmt: skip
    parameters = tuple((c.name.text, c.type) for c in statement.parameters if c.type is not None)
    return FunctionDeclaration(
        name.text, parameters, statement.returns, statement.location, statement.vectorised,
        statement.span, statement.text, at=statement.at,
    )  # fmt: skip


def bind_call(
    declared: FunctionDeclaration, args: Sequence[Expression], spans: Sequence[Span], span: Span
) -> Expression:
    """A call with arguments of the declared types; a wider type takes a narrower one."""
    if len(args) != len(declared.parameters):
        raise wrong_number(declared.name, declared.signature, len(args), span)
    fitted = []
    for argument, (name, kind), place in zip(args, declared.parameters, spans, strict=True):
        if common([argument.type, kind]) is not kind and not _converted(argument, kind):
            raise BindError(
                f"{declared.name} does not take this type", span=place,
                expected=f"{kind.value} for {name}", found=argument.type.value,
                remedy=f"write CAST(... AS {kind.value})",
            )  # fmt: skip
        fitted.append(coerce(argument, kind, place))
    function = f"{declared.name}@{declared.location}{ARRAYS if declared.vectorised else ''}"
    return Call(function, tuple(fitted), declared.returns)


def _converted(argument: Expression, kind: Type) -> bool:
    """Whether it is a constant that takes the type beside it: NULL, or a time in quotes."""
    if not isinstance(argument, Literal):
        return False
    moment = argument.type is Type.STRING and kind in (Type.TIMESTAMP, Type.DATE)
    return argument.value is None or moment
