"""JSON_EXTRACT and JSON_EXTRACT_STRING: what stands at a path of a JSON text.

Texts are parsed row by row; there is no column type for JSON. What is not there, and what is not
JSON at all, is NULL: one broken row does not end a query. A number has all digits that it is
written with, also those that a double has not: it may be cast to a DECIMAL.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from math import inf, isfinite
from typing import Any

import pyarrow as pa

from windrow.columns.functions.operands import Kernel, Operand, as_array, length_of
from windrow.columns.functions.regular_expressions import constant
from windrow.plan.expressions import Call
from windrow.plan.json_paths import Step, parse_path

MISSING = object()
"""Told from a null that is there."""
SURE_DIGITS = 15
"""A number that is no longer as a text is the shortest that its double is written as."""


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def _number(text: str) -> float | Decimal:
    """A number with a point or an exponent: a decimal if no double is written like it."""
    nearest = float(text)
    if len(text) <= SURE_DIGITS and sys.float_info.min < abs(nearest) < inf:
        return nearest
    try:
        exact = Decimal(text)
    except InvalidOperation as error:
        raise ValueError(f"{text[:SURE_DIGITS]}... has an exponent that no decimal has") from error
    return nearest if isfinite(nearest) and Decimal(repr(nearest)) == exact else exact


def value_at(text: str, steps: tuple[Step, ...]) -> Any:
    """The parsed value at the path, MISSING if there is none."""
    try:
        value = json.loads(text, parse_float=_number, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return MISSING
    for step in steps:
        if isinstance(step, str):
            if not isinstance(value, dict) or step not in value:
                return MISSING
        elif not isinstance(value, list) or not -len(value) <= step < len(value):
            return MISSING
        value = value[step]
    return value


def as_json(value: Any) -> str | None:
    if value is MISSING:
        return None
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except TypeError:  # a decimal somewhere, for which there is no other way to write it as it is
        with suppress(RecursionError):  # which takes more of the stack than to read it
            return _with_decimals(value)
        return None


def _with_decimals(value: Any) -> str:
    if isinstance(value, dict):
        fields = (
            f"{json.dumps(key, ensure_ascii=False)}:{_with_decimals(inner)}"
            for key, inner in value.items()
        )
        return f"{{{','.join(fields)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_with_decimals, value))}]"
    return str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)


def as_text(value: Any) -> str | None:
    """A text without its quotes, null as NULL, all else as JSON."""
    if isinstance(value, str):
        return value
    return None if value is None else as_json(value)


def kernel_of(write: Any) -> Kernel:
    def kernel(args: Sequence[Operand], call: Call) -> Operand:
        steps = parse_path(constant(call, 1))
        assert steps is not None  # the binder has parsed it
        texts = as_array(args[0], length_of(args)).to_pylist()
        written = [None if t is None else write(value_at(t, steps)) for t in texts]
        try:
            return pa.array(written, pa.string())
        except UnicodeEncodeError:  # half of a pair of surrogates, which is no character
            whole = (None if w is None else w.encode(errors="replace").decode() for w in written)
            return pa.array(whole, pa.string())

    return kernel


KERNELS: dict[str, Kernel] = {
    "json_extract": kernel_of(as_json),
    "json_extract_string": kernel_of(as_text),
}
