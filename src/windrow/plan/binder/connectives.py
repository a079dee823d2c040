"""Chains of ANDs and ORs, which the parser makes as deep as they are long."""

from __future__ import annotations

from sqlglot import expressions as exp


def operands_of(node: exp.Expr, connector: type[exp.Expr]) -> list[exp.Expr]:
    """The operands of a chain of one connector from left to right, parentheses opened."""
    operands: list[exp.Expr] = []
    waiting = [node]
    while waiting:
        part = waiting.pop()
        inner = part
        while isinstance(inner, exp.Paren):
            inner = inner.this
        if isinstance(inner, connector):
            waiting += [inner.args["expression"], inner.args["this"]]
        else:
            operands.append(part)
    return operands
