"""The type that a CAST names."""

from __future__ import annotations

import re

from sqlglot import expressions as exp

from windrow.core.errors import BindError, Span
from windrow.core.schema import Type
from windrow.cql.type_parser import DECIMAL_HINT, OTHER_TYPES, TYPES
from windrow.plan.binder.scope import did_you_mean

SYNONYMS = {"TIMESTAMPTZ": "TIMESTAMP", "DATETIME": "TIMESTAMP", "FLOAT8": "DOUBLE"}
NESTED = (exp.DType.ARRAY, exp.DType.STRUCT)
DECIMAL = re.compile(r"(?:DECIMAL|NUMERIC)\((\d+)(?:,\s*(\d+))?\)")


def cast_target(node: exp.Expr, span: Span) -> Type:
    """The type of SQLGlot's node; BindError if there is none."""
    if isinstance(node, exp.DataType) and node.this in NESTED:
        inner = [_field(part, span) for part in node.expressions]
        if inner and node.this is exp.DType.ARRAY:
            return Type.array(inner[0][1])
        if inner and all(name for name, _ in inner):
            return Type.struct(inner)
        raise BindError(
            span=span, expected="ARRAY<BIGINT>, BIGINT[] or STRUCT<a BIGINT, b STRING>",
            found=node.sql(),
        )  # fmt: skip
    text = node.sql().upper()
    name = text.split("(")[0]
    if digits := DECIMAL.fullmatch(text):
        try:
            return Type.decimal(int(digits[1]), int(digits[2] or 0))
        except ValueError:
            raise BindError(span=span, expected=DECIMAL_HINT, found=text) from None
    target = TYPES.get(SYNONYMS.get(name, name))
    if target is None:
        decimal = name in ("DECIMAL", "NUMERIC")
        raise BindError(
            span=span, expected=DECIMAL_HINT if decimal else "a type that CQL has", found=name,
            remedy="" if decimal else OTHER_TYPES.get(name) or did_you_mean(name, TYPES),
        )  # fmt: skip
    return target


def _field(node: exp.Expr, span: Span) -> tuple[str, Type]:
    """A field of a STRUCT, or the values of an ARRAY, which have no name."""
    if isinstance(node, exp.ColumnDef):
        return node.name, cast_target(node.args["kind"], span)
    return "", cast_target(node, span)
