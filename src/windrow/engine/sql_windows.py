"""Windows and columns that one-time SQL names: ``FROM flows [RANGE 10 MINUTES]``.

DuckDB knows no window clauses, so each is taken out of the text: a stream or view with its clause
becomes a table with a quoted name, ``"flows [RANGE 10 MINUTES]" AS flows``. A bracket after any
other name is left alone: it is DuckDB's, for elements of lists.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass, field

from sqlglot import exp, parse
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

WINDOWS = ("RANGE", "ROWS", "ROW", "PARTITION", "PARTITION BY", "NOW", "UNBOUNDED", "SESSION")
"""Words that begin a window clause."""
NAMES = (TokenType.VAR, TokenType.IDENTIFIER)
_EXPLAIN = re.compile(
    r"(\s|--[^\n]*\n|/\*[\s\S]*?\*/)*EXPLAIN\b\s*(ANALYZE\b|\([^)]*\))?", re.IGNORECASE
)
"""Also below comments."""


@dataclass(frozen=True)
class WindowClauses:
    """The text for DuckDB, and of each table in it that is a window: the name, and the clause."""

    sql: str
    tables: dict[str, tuple[str, str]] = field(default_factory=dict)


def split_explain(sql: str) -> tuple[str, str]:
    """EXPLAIN, if the text begins with it, and what is behind: a text of its own for whoever reads
    SQL.

    >>> split_explain("explain analyze SELECT 1"), split_explain("SELECT 1")
    (('explain analyze', ' SELECT 1'), ('', 'SELECT 1'))
    """
    found = _EXPLAIN.match(sql)
    end = 0 if found is None else found.end()
    return sql[:end], sql[end:]


def take_out_windows(sql: str, streams: Container[str]) -> WindowClauses:
    """The text without the window clauses of ``streams`` (lower-case names), and what they were.

    >>> found = take_out_windows("SELECT s.v, a[1] FROM S [range 5], s [ROWS 2] t", {"s"})
    >>> found.sql
    'SELECT s.v, a[1] FROM "S [range 5]" AS S, "s [ROWS 2]" t'
    >>> found.tables
    {'s [range 5]': ('S', '[range 5]'), 's [rows 2]': ('s', '[ROWS 2]')}
    """
    try:
        tokens = DuckDB().tokenize(sql)
    except SqlglotError:  # DuckDB will say what is wrong
        return WindowClauses(sql)
    parts, tables, done = [], {}, 0
    for at, token in enumerate(tokens):
        stop = _end_of_window(tokens, at)
        if stop is None or token.text.lower() not in streams:
            continue
        clause = sql[tokens[at + 1].start : tokens[stop].end + 1]
        name = f"{token.text} {clause}"
        tables[name.lower()] = token.text, clause
        following = tokens[stop + 1] if stop + 1 < len(tokens) else None
        has_alias = following is not None and following.token_type in (*NAMES, TokenType.ALIAS)
        alias = "" if has_alias else f" AS {sql[token.start : token.end + 1]}"
        parts += [sql[done : token.start], '"', name.replace('"', '""'), '"', alias]
        done = tokens[stop].end + 1
    return WindowClauses("".join([*parts, sql[done:]]), tables)


def _end_of_window(tokens: list[Token], at: int) -> int | None:
    """Where the window clause after a name ends; None if there is none."""
    following = tokens[at + 1 : at + 3]
    if tokens[at].token_type not in NAMES or len(following) < 2:
        return None
    if following[0].token_type is not TokenType.L_BRACKET:
        return None
    if following[1].text.upper() not in WINDOWS:
        return None
    ends = (n for n in range(at + 3, len(tokens)) if tokens[n].token_type is TokenType.R_BRACKET)
    return next(ends, None)


def columns_in(sql: str) -> frozenset[str] | None:
    """Lower-case names that may be columns in the text; None if it may need all there are.

    >>> sorted(columns_in("SELECT SUM(V) AS total, COUNT(*) FROM s JOIN h USING (k)") or ())
    ['k', 'v']
    >>> sorted(columns_in("SELECT s.k, t.p FROM s") or ())  # t is a column, a STRUCT
    ['k', 't']
    >>> [columns_in(f"SELECT s.{text}") for text in ("* FROM s", "x FROM t AS s (x, y)")]
    [None, None]
    """
    try:
        (tree,) = parse(sql, dialect="duckdb")
    except (SqlglotError, ValueError):
        return None
    if (
        tree is None
        or tree.find(exp.Select) is None
        or tree.find(exp.Command, exp.Pivot, exp.Columns, exp.PositionalColumn)
    ):
        return None
    if any(table.alias_column_names for table in tree.find_all(exp.Table)):
        return None  # they name its columns in turn
    for star in tree.find_all(exp.Star):
        if not isinstance(star.parent, exp.Count):
            return None
    joins = list(tree.find_all(exp.Join))
    if any(join.method.upper() == "NATURAL" for join in joins):
        return None
    sources = {t.alias_or_name.lower() for t in tree.find_all(exp.Table)}
    qualifiers = sources | {alias.name.lower() for alias in tree.find_all(exp.TableAlias)}
    found = {_column_of(column, qualifiers) for column in tree.find_all(exp.Column)}
    for join in joins:
        found |= {part.name.lower() for part in join.args.get("using") or ()}
    return None if found & sources else frozenset(found)  # a table may be meant as a row


def _column_of(reference: exp.Column, qualifiers: Container[str]) -> str:
    """The column in ``schema.table.column.field``, of which only a part may be written."""
    names = [part.name.lower() for part in reference.parts]
    tables = [place for place, name in enumerate(names[:-1]) if name in qualifiers]
    return names[tables[0] + 1 if tables else 0]
