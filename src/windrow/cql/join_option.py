"""``OPTION (HASH JOIN 16)`` and ``OPTION (NESTED LOOPS)``: how the joins of a block find partners.

It ends a SELECT block. Without it every value of a join's key has a chain of its own, which is
faster; hash tables with few buckets and nested loops are what Golab 2006, 5.4 compares.
"""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

from windrow.cql.syntax_tree import JoinOption
from windrow.cql.token_cursor import TokenCursor

NESTED_LOOPS = 1
"""A hash table with one bucket is a list."""


def at_join_option(parser: TokenCursor) -> bool:
    """Whether OPTION ( stands here; alone, the word may be a name."""
    return parser.at("OPTION") and parser.following.token_type is TokenType.L_PAREN


def parse_join_option(parser: TokenCursor) -> JoinOption:
    """The option that stands here."""
    first = parser.advance()
    parser.advance()
    if parser.take("HASH"):
        parser.expect("JOIN")
        number = parser.current
        buckets = parser.integer("the number of buckets")
        if buckets < 1:
            parser.fail("at least one bucket", token=number)
    elif parser.take("NESTED"):
        parser.expect("LOOPS")
        buckets = NESTED_LOOPS
    else:
        parser.fail("HASH JOIN and a number of buckets, or NESTED LOOPS")
    parser.expect_type(TokenType.R_PAREN, ") at the end of OPTION (")
    return JoinOption(buckets, parser.span_from(first))
