"""Where relation-to-stream forms and queries begin: looking ahead over the tokens.

ISTREAM and its kin are relation-to-stream forms in one place and columns in another. Only what
follows the word decides.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlglot.tokenizer_core import Token, TokenType

STREAM_KINDS = ("ISTREAM", "DSTREAM", "RSTREAM", "WSTREAM")
BEGINNINGS = (TokenType.L_PAREN, TokenType.DISTINCT, TokenType.STRING, TokenType.IDENTIFIER,
              TokenType.NUMBER, TokenType.CASE)  # fmt: skip


def form_at(
    tokens: Sequence[Token], index: int, names: Collection[TokenType]
) -> tuple[str, int] | None:
    """The form that begins at ``index``, and how many tokens its name has.

    ``names`` are the tokens that a column's name can begin with.
    """
    word = tokens[index]
    if word.token_type is TokenType.IDENTIFIER or word.text.upper() not in STREAM_KINDS:
        return None
    restored = [t.text.upper() for t in tokens[index + 1 : index + 3]] == ["-", "RESTORE"]
    length = 3 if restored else 1
    following = tokens[index + length : index + length + 2]
    if not following or not _opens(following, names):
        return None
    return word.text.upper() + ("-RESTORE" if restored else ""), length


def _opens(following: Sequence[Token], names: Collection[TokenType]) -> bool:
    first = following[0].token_type
    if first is TokenType.STAR:  # not the column of that name, multiplied
        return len(following) > 1 and following[1].token_type in (TokenType.FROM, TokenType.COMMA)
    return first in BEGINNINGS or first in names


def holds_select_list(tokens: Sequence[Token], index: int) -> bool:
    """Whether the parenthesis at ``index`` holds the whole select list, not its first term."""
    depth = 0
    for place in range(index, len(tokens)):
        kind = tokens[place].token_type
        depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
        if depth == 0:
            after = tokens[place + 1 : place + 2]
            return not after or after[0].token_type in (TokenType.FROM, TokenType.L_BRACKET)
    return False


def begins_query(tokens: Sequence[Token], index: int) -> bool:
    """Whether a query begins at ``index``: SELECT, WITH, VALUES, or a stream form around one."""
    here = tokens[index : index + 1]
    if not here or here[0].token_type in (TokenType.SELECT, TokenType.WITH, TokenType.VALUES):
        return bool(here)
    form = form_at(tokens, index, ())
    if form is None or tokens[index + form[1]].token_type is not TokenType.L_PAREN:
        return False
    return begins_query(tokens, index + form[1] + 1)
