"""Where things stand in the text: offsets to lines and columns."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache

from sqlglot import expressions as exp
from sqlglot.tokenizer_core import Token

from windrow.core.errors import Span

START, END = "windrow_start", "windrow_end"
"""Keys of the positions that our own parser notes; SQLGlot notes single tokens itself."""


def span_between(sql: str, start: int, end: int) -> Span:
    """The span of ``sql[start:end + 1]``.

    >>> span_between("a\\nbcd", 3, 4)
    Span(line=2, column=2, length=2)
    """
    starts = _line_starts(sql)
    line = bisect_right(starts, start)
    return Span(line, start - starts[line - 1] + 1, end - start + 1)


@lru_cache(maxsize=8)
def _line_starts(sql: str) -> list[int]:
    """Offsets at which lines begin; found once, for a script may have thousands of statements."""
    starts = [0]
    while (end := sql.find("\n", starts[-1])) >= 0:
        starts.append(end + 1)
    return starts


def token_span(sql: str, first: Token, last: Token | None = None) -> Span:
    return span_between(sql, first.start, (last or first).end)


def mark(expression: exp.Expr, first: Token, last: Token) -> None:
    """Note that ``expression`` reaches from one token to another."""
    expression.meta[START], expression.meta[END] = first.start, last.end


def offsets(expression: exp.Expr) -> tuple[int, int] | None:
    """First and last offset of the expression, from its own notes or those of its parts.

    What is found is noted, so that asking for every part of an expression stays linear; a chain
    of thousands of ANDs is as deep as it is long, so the parts are visited without recursion.
    """
    waiting = [expression]
    while waiting:
        node = waiting[-1]
        if START in node.meta:
            waiting.pop()
            continue
        parts = list(node.iter_expressions())
        open_parts = [part for part in parts if START not in part.meta]
        if open_parts:
            waiting += open_parts
            continue
        meta = node.meta
        found = [(part.meta[START], part.meta[END]) for part in parts if part.meta[START] >= 0]
        if meta.get("start") is not None:
            found.append((meta["start"], meta["end"]))
        meta[START] = min((start for start, _ in found), default=-1)
        meta[END] = max((end for _, end in found), default=-1)
        waiting.pop()
    start, end = expression.meta[START], expression.meta[END]
    return (start, end) if start >= 0 else None


def span_of(expression: exp.Expr, sql: str, default: Span | None = None) -> Span:
    """Where the expression stands; ``default`` if it consists of nothing that was noted."""
    place = offsets(expression)
    if place is None:
        return default or Span(1, 1)
    return span_between(sql, *place)
