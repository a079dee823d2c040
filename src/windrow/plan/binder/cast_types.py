"""The type that a CAST names."""

from __future__ import annotations

import re

from sqlglot import expressions as exp

from windrow.core.errors import BindError, Span
from windrow.core.schema import Type
from windrow.cql.column_parser import DECIMAL_HINT, OTHER_TYPES, TYPES
from windrow.plan.binder.scope import did_you_mean

SYNONYMS = {"TIMESTAMPTZ": "TIMESTAMP", "DATETIME": "TIMESTAMP", "FLOAT8": "DOUBLE"}
DECIMAL = re.compile(r"(?:DECIMAL|NUMERIC)\((\d+)(?:,\s*(\d+))?\)")


def cast_target(node: exp.Expr, span: Span) -> Type:
    """The type of SQLGlot's node; BindError if there is none."""
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
