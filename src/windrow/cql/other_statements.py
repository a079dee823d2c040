"""Statements and clauses that other systems have, and what CQL has in their place.

Whatever stands where nothing of CQL can stand is refused here: before a statement, in the place of
what it creates, and behind its end.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import NoReturn

from sqlglot.tokenizer_core import TokenType

from windrow.cql.table_parser import EMITTED
from windrow.cql.token_cursor import TokenCursor
from windrow.cql.window_parser import IN_BRACKETS, WINDOWS, at_window_in_parentheses

CLAUSES = ("SELECT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION", "EXCEPT",
           "INTO", "EVERY", "JOIN", "AND", "OR", "SLACK", "AHEAD", "IDLE", "TIMESTAMP",
           "FORMAT")  # fmt: skip
STARTS = ("SELECT", "CREATE", "EXPLAIN", "DROP", "SHOW", "DESCRIBE")
OTHER_STATEMENTS = ("INSERT", "UPDATE", "DELETE", "ALTER", "TRUNCATE", "MERGE")
STATEMENTS, ONLY = (
    "CREATE, DROP, SHOW, DESCRIBE, EXPLAIN or a query", "CQL has declarations and queries only"
)  # fmt: skip
OTHER_REMEDIES = {
    "ALTER": "declare it again with CREATE OR REPLACE",
    "INSERT": "rows come from files (FROM) or from Python (push); an answer goes to files with "
    "CREATE QUERY name AS SELECT ... INTO 'directory'",
    "FROM": "write SELECT and its columns before FROM",
}
SESSION_STATEMENTS = ("SET", "USE", "BEGIN", "COPY", "PRAGMA", "ATTACH", "GRANT")
"""Statements of SQL whose first word may be the name of a view here, if it stands alone."""
AFTER_QUERIES = {
    "FETCH": "write LIMIT and the number of rows",
    "EMIT": EMITTED,
    "FOR": "declare it with CREATE NRR: a tuple meets such a relation as it is when the tuple "
    "comes, and JOIN names it without FOR",
    "WITHIN": "say after each name how long its tuples count: s [RANGE 1 HOUR] JOIN t [RANGE 1 "
    "HOUR] ON ...",
    "MATCH_RECOGNIZE": "join the stream with itself, once for each row of the pattern, or compare "
    "with LAG",
    **dict.fromkeys(("PIVOT", "UNPIVOT"), "write an aggregate for each value: SUM(x) FILTER (WHERE "
                    "k = 'a') AS a"),
}  # fmt: skip
"""By words behind a query; one that may be a name is taken for an alias, and found before."""


def refuse_other_statements(parser: TokenCursor) -> None:
    """Say what to write for a statement of SQL that CQL does not have."""
    if parser.at(*OTHER_STATEMENTS):
        remedy = OTHER_REMEDIES.get(parser.current.text.upper(), ONLY)
        parser.fail(STATEMENTS, remedy=remedy)
    if parser.at_type(TokenType.FROM):
        parser.fail(STATEMENTS, remedy=OTHER_REMEDIES["FROM"])
    if parser.at_type(TokenType.HASH):
        parser.fail(STATEMENTS, remedy="a comment begins with --")


def refuse_other_kinds(parser: TokenCursor) -> None:
    """Say what to CREATE, or DROP, in place of a TABLE or a MATERIALIZED VIEW."""
    if parser.at("TABLE"):
        ended = parser.token_at(2).text.upper() == "AS"
        parser.fail(
            "a STREAM or a RELATION instead of a TABLE",
            remedy="for a name of a query write CREATE VIEW, for one whose answer is kept CREATE "
            "QUERY" if ended
            else "rows with a time of their own are a STREAM; rows that are updated a RELATION",
        )  # fmt: skip
    if parser.at("MATERIALIZED"):
        parser.fail(
            "VIEW or QUERY", remedy="write CREATE VIEW; its answer is kept for what reads it; "
            "CREATE QUERY has an answer of its own",
        )  # fmt: skip


def fail_at_rest(parser: TokenCursor) -> NoReturn:
    """A misspelt clause was taken for an alias, so the word before is suspected too."""
    start = parser.first.text.upper()
    if start not in STARTS and get_close_matches(start, STARTS, 1, 0.7):
        parser.fail("the beginning of a statement", token=parser.first, near=STARTS)
    if start in SESSION_STATEMENTS:
        parser.fail(STATEMENTS, token=parser.first, remedy=ONLY)
    refuse_next_statement(parser)
    if parser.at_type(TokenType.TILDE):
        parser.fail("an operator of CQL", remedy="write RLIKE for a regular expression")
    if parser.at("!") and parser.following.token_type in (TokenType.TILDE, TokenType.IRLIKE):
        parser.fail("an operator of CQL", remedy="write x NOT RLIKE '...' for a regular expression")
    for token in (parser.previous, parser.current):
        if token.text.upper() in AFTER_QUERIES:
            remedy = AFTER_QUERIES[token.text.upper()]
            parser.fail("the end of the statement", token=token, remedy=remedy)
    if parser.at(*WINDOWS) or at_window_in_parentheses(parser):
        parser.fail("the end of the statement", remedy=IN_BRACKETS)
    before = parser.previous.text.upper()
    if before not in CLAUSES and get_close_matches(before, CLAUSES, 1, 0.7):
        # Only a path is followed by FORMAT, and that does not let a clause be taken for an alias.
        near = [word for word in CLAUSES if word != "FORMAT"]
        parser.fail("a clause, or the end of the statement", token=parser.previous, near=near)
    after_path = parser.previous.token_type is TokenType.STRING
    near = [word for word in CLAUSES if after_path or word != "FORMAT"]
    parser.fail("the end of the statement", near=near)


def refuse_next_statement(parser: TokenCursor) -> None:
    """Say that a semicolon is missing where another statement begins.

    SHOW, DROP and DESCRIBE may have been taken for an alias.
    """
    token = parser.current
    if parser.previous.text.upper() in ("SHOW", "DROP", "DESCRIBE"):
        token = parser.previous
    alone = not parser.at_type(TokenType.IDENTIFIER) and token is not parser.first
    if alone and token.text.upper() in STARTS:
        parser.fail(
            "a semicolon before the next statement", token=token,
            remedy="end the statement before it with ;",
        )  # fmt: skip
