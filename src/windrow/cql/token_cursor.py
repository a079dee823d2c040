"""A parser's place in the tokens of one statement: what stands there, going past it, failing at it.

SQLGlot's parser has all of this in methods that are its own; here they have names, and failing says
what was expected, what was found and what may have been meant.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import NoReturn

from sqlglot import expressions as exp
from sqlglot import parser as sqlglot_parser
from sqlglot.tokenizer_core import Token, TokenType

from windrow.core.errors import ParseError, Span
from windrow.cql.positions import token_span
from windrow.cql.script_parameters import Filled
from windrow.cql.syntax_tree import Name


class TokenCursor(sqlglot_parser.Parser):
    """Where the parser of a statement stands; ``start`` puts it at the first token.

    ``filled`` are all tokens of the script, and the values of its parameters.
    """

    filled = Filled([])

    def start(self, statement: list[Token], sql: str) -> None:
        """Stand at the first token of a statement."""
        self.reset()
        self.sql = sql
        self.failed_at: Token | None = None
        self.failed_at_end = False
        self._chunks = [statement]
        self._advance_chunk()

    def raise_error(self, message: str, token: Token = sqlglot_parser.SENTINEL_NONE) -> None:
        """Remember where it happened, for the error that the user will see."""
        found = self._curr if token is self._prev else token or self._curr
        self.failed_at, self.failed_at_end = found or self._prev, not found
        super().raise_error(message, token)

    @property
    def current(self) -> Token:
        return self._curr

    @property
    def previous(self) -> Token:
        return self._prev

    @property
    def first(self) -> Token:
        """The first token of the statement."""
        return self._tokens[0]

    @property
    def following(self) -> Token:
        return self._next

    def token_at(self, distance: int) -> Token:
        """The token so many places after the current one; at the end the one that is none."""
        place = self._index + distance
        return self._tokens[place] if place < len(self._tokens) else sqlglot_parser.SENTINEL_NONE

    @property
    def tokens(self) -> list[Token]:
        """Those of the statement."""
        return self._tokens

    @property
    def place(self) -> int:
        """Where in ``tokens`` the current one is."""
        return self._index

    @property
    def at_end(self) -> bool:
        return not self._curr

    def at(self, *words: str) -> bool:
        """Whether the current token is one of the words."""
        return self._match_texts(words, advance=False)

    def at_word(self) -> bool:
        """Whether the current token could be a name or a keyword."""
        text = self._curr.text if self._curr else ""
        return text.replace("_", "a").isalnum() and not text[0].isdigit() and not self.at_string()

    def at_string(self) -> bool:
        return self.at_type(TokenType.STRING)

    def at_type(self, token_type: TokenType) -> bool:
        return bool(self._curr) and self._curr.token_type == token_type

    def take(self, *words: str) -> bool:
        """Go past the words, in this order, if they are all there."""
        return self._match_text_seq(*words)

    def take_type(self, token_type: TokenType) -> bool:
        return bool(self._match(token_type))

    def advance(self) -> Token:
        """Go past the current token and return it."""
        self._advance()
        return self._prev

    def expect(self, *words: str) -> None:
        for word in words:
            if not self.take(word):
                self.fail(word, near=(word,))

    def expect_type(self, token_type: TokenType, text: str) -> None:
        if not self.take_type(token_type):
            self.fail(text)

    def name(self, what: str) -> Name:
        """An identifier, quoted or not; keywords are names too where nothing else can stand."""
        if not self.at_word() and not self.at_type(TokenType.IDENTIFIER):
            self.fail(what)
        token = self.advance()
        return Name(token.text, token_span(self.sql, token))

    def expression_here(self) -> exp.Expr:
        """A scalar expression."""
        found = self._parse_disjunction()
        if found is None:
            self.fail("an expression")
        return found

    def expressions_here(self) -> list[exp.Expr]:
        """Scalar expressions with commas between them."""
        return self._parse_csv(self._parse_disjunction)

    def names(self, what: str) -> tuple[Name, ...]:
        found = [self.name(what)]
        while self.take_type(TokenType.COMMA):
            found.append(self.name(what))
        return tuple(found)

    def integer(self, what: str) -> int:
        """A whole number; a sign is read here and judged by the binder."""
        first = self.current
        sign = -1 if self.take_type(TokenType.DASH) else 1
        if not self.at_type(TokenType.NUMBER) or not self.current.text.isdigit():
            self.fail(f"a whole number: {what}", token=self.current or first)
        return sign * int(self.advance().text)

    def string(self, what: str) -> str:
        if not self.at_string() and not self.at_type(TokenType.IDENTIFIER):
            self.fail(f"{what} in quotes")
        return self.advance().text

    def span_from(self, first: Token) -> Span:
        """From ``first`` to the token that was read last."""
        return token_span(self.sql, first, self._prev if self._prev.end >= first.end else first)

    def text_from(self, first: Token) -> str:
        """The text from there on up to the token that was read last, with values filled in."""
        return self.filled.text(self.sql, first.start, self._prev.end + 1)

    def fail(
        self, expected: str, *, token: Token | None = None, near: Iterable[str] = (),
        remedy: str = "",
    ) -> NoReturn:  # fmt: skip
        """Raise what the user sees; ``near`` are words that the token may be a typo of."""
        place = token or self._curr or self._prev
        ended = not (token or self._curr)
        found = "the end of the statement" if ended else f"'{self._find_sql(place, place)}'"
        matches = get_close_matches(place.text.upper(), list(near), 1, 0.6) if not ended else []
        if matches and not remedy and matches[0] not in place.text.upper().split():
            remedy = f"did you mean {matches[0]}?"
        raise ParseError(
            span=token_span(self.sql, place), source=self.sql, expected=expected, found=found,
            remedy=remedy,
        )  # fmt: skip
