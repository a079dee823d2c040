"""CQL as a SQLGlot dialect.

SQLGlot parses select lists, conditions and joins. This dialect changes what a table reference is
(a window in brackets may follow it), and adds the relation-to-stream forms. Functions stay plain
calls by name, so that the binder alone decides which exist.

``windrow.cql.query_parser`` reads what is around SELECT blocks, ``windrow.cql.table_parser`` table
references; ``windrow.cql.stream_forms`` knows where a relation-to-stream form begins.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from sqlglot import expressions as exp
from sqlglot import parser as sqlglot_parser
from sqlglot import tokens
from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import Token, TokenType

from windrow.cql.call_spellings import APPROXIMATE, in_query, respell
from windrow.cql.join_option import at_join_option, parse_join_option
from windrow.cql.positions import mark
from windrow.cql.query_parser import STREAM, parse_query, take_stream_kind
from windrow.cql.stream_forms import begins_query, holds_select_list
from windrow.cql.table_parser import WINDOW, parse_table
from windrow.cql.token_cursor import TokenCursor
from windrow.cql.window_parser import parse_duration, parse_window

KEPT_FUNCTION_PARSERS = ("CAST", "TRY_CAST", "EXTRACT", "SUBSTRING", "POSITION", "TRIM")
FREQUENT, WITHIN, OPTION = "windrow_frequent", "windrow_within", "windrow_option"
"""Keys under which SQLGlot's nodes carry the parts that SQL does not have."""


class CqlParser(TokenCursor):
    """SQLGlot's parser with windows and streams."""

    FUNCTIONS: ClassVar[dict[str, Any]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        name: sqlglot_parser.Parser.FUNCTION_PARSERS[name] for name in KEPT_FUNCTION_PARSERS
    }
    PRIMARY_PARSERS: ClassVar[dict[Any, Any]] = {
        **sqlglot_parser.Parser.PRIMARY_PARSERS,
        TokenType.NULL: lambda self, token: self.expression(exp.Null(), token),
        TokenType.TRUE: lambda self, token: self.expression(exp.Boolean(this=True), token),
        TokenType.FALSE: lambda self, token: self.expression(exp.Boolean(this=False), token),
    }

    def start(self, statement: list[Token], sql: str) -> None:
        """Stand at the first token of a statement."""
        super().start(statement, sql)
        self._forms: list[tuple[Any, ...] | None] = []

    def query(self) -> exp.Expr:
        """The query that begins here."""
        return parse_query(self, self._select)

    def _select(self) -> exp.Expr:
        first = self._curr
        self._forms.append(None)
        this = super()._parse_select_query(parse_set_operation=False)
        form = self._forms.pop()
        if not isinstance(this, exp.Select):
            self.fail("SELECT", token=first)
        mark(this, first, self._prev)
        if form:
            kind, window, span, distinct = form
            this.meta[STREAM] = (kind, window, span)
            if distinct:
                this.set("distinct", exp.Distinct())
        if self.at("FETCH") and this.args.get("limit") is None:
            this.set("limit", self._parse_fetch())
        if at_join_option(self):
            this.meta[OPTION] = parse_join_option(self)
        return this

    def _parse_projections(self) -> tuple[list[exp.Expr], list[exp.Expr] | None]:
        first = self._curr
        kind = take_stream_kind(self)
        if kind is None:
            return self._items(), None
        wrapped = self.at_type(TokenType.L_PAREN) and holds_select_list(self._tokens, self._index)
        if wrapped:
            self._advance()
        distinct = bool(self._match(TokenType.DISTINCT))
        items = self._items()
        if wrapped:
            self.expect_type(TokenType.R_PAREN, f") at the end of {kind}(")
        window = parse_window(self) if self.at_type(TokenType.L_BRACKET) else None
        self._forms[-1] = (kind, window, self.span_from(first), distinct)
        return items, None

    def _items(self) -> list[exp.Expr]:
        items, _ = super()._parse_projections()
        if not items or self._prev.token_type is TokenType.COMMA:
            self.fail("a column or an expression")
        return items

    def _parse_group(self, skip_group_by_token: bool = False) -> exp.Group | None:
        first = self._curr
        group = super()._parse_group(skip_group_by_token)
        if group is not None and group.args.get("all"):
            mark(group, first, self._prev)
        if group is not None and self._prev.token_type in (TokenType.GROUP_BY, TokenType.COMMA):
            self.fail("a column or an expression")
        return group

    def _parse_select(self, *_args: Any, **_kwargs: Any) -> exp.Expr | None:
        """A query where SQLGlot looks for one inside an expression."""
        begins = self.at_type(TokenType.SELECT) or self.at_type(TokenType.WITH)
        return self.query() if begins else None

    def _parse_select_or_expression(self, alias: bool = False) -> exp.Expr | None:
        """What stands after IN: a query, or values."""
        if begins_query(self._tokens, self._index):
            return self.query()
        return super()._parse_select_or_expression(alias)

    def _parse_into(self) -> exp.Into | None:
        """INTO ends our statements instead of following the select list."""
        return None

    # Expressions, whose whole extent we note.

    def _parse_function_call(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        first = self._curr
        exists = self.at_type(TokenType.EXISTS) and self._next.token_type is TokenType.L_PAREN
        this: exp.Expr | None
        if exists and begins_query(self._tokens, self._index + 2):
            self._advance(2)
            this = exp.Exists(this=self.query())
            self.expect_type(TokenType.R_PAREN, ") at the end of the sub-query")
            self._parse_within(this)
        else:
            this = super()._parse_function_call(*args, **kwargs)
        if (
            isinstance(this, exp.Anonymous)
            and this.name.upper() == "WSTREAM"
            and self.at_type(TokenType.L_BRACKET)
        ):
            this.meta[WINDOW] = parse_window(self)
        return self._mark_extent(first, respell(this))

    def _parse_in(self, this: exp.Expr | None, alias: bool = False) -> exp.In:
        found = super()._parse_in(this, alias)
        if found.args.get("query") is not None:
            self._parse_within(found)
        return found

    def _parse_equality(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        first = self._curr
        found = super()._parse_equality(*args, **kwargs)
        asked = in_query(found)
        if asked is None:
            return found
        self._parse_within(asked)
        self._mark_extent(first, asked)
        return asked if isinstance(found, exp.EQ) else self._mark_extent(first, exp.Not(this=asked))

    def _parse_within(self, condition: exp.Expr) -> None:
        """WITHIN and a duration behind a sub-query, and whether it is after a tuple or before."""
        if not self.at("WITHIN"):
            return
        self._advance()
        duration = parse_duration(self, "WITHIN")
        if not self.at("AFTER", "BEFORE"):
            self.fail("AFTER or BEFORE behind the duration of WITHIN", near=("AFTER", "BEFORE"))
        condition.meta[WITHIN] = (duration, self.advance().text.upper() == "AFTER")

    def _parse_unary(self) -> exp.Expr | None:
        """APPROXIMATE before a call; elsewhere it may be a column."""
        first = self._curr
        if not self.at("APPROXIMATE") or self.at_type(TokenType.IDENTIFIER):
            return super()._parse_unary()
        kinds = [t.token_type for t in self._tokens[self._index + 1 : self._index + 3]]
        if len(kinds) < 2 or kinds[0] not in self.FUNC_TOKENS or kinds[1] is not TokenType.L_PAREN:
            return super()._parse_unary()
        self._advance()
        call = self._parse_function()
        if call is not None:
            call.meta[APPROXIMATE] = "ESTIMATE"
        return self._mark_extent(first, call)

    def _parse_interval(self, *args: Any, **kwargs: Any) -> Any:
        first = self._curr
        text = self._next if self.at("INTERVAL") else self._curr
        found = super()._parse_interval(*args, **kwargs)
        plain = found.this if isinstance(found, exp.Add) else found
        named = text.token_type is TokenType.STRING and re.search("[a-zA-Z]", text.text)
        if plain is not None and named:
            # SQLGlot would leave out what it does not know, as in '1 day 02:03:04'.
            plain.set("this", exp.Literal.string(text.text))
            plain.set("unit", None)
        return self._mark_extent(first, found)

    def _parse_paren(self) -> exp.Expr | None:
        first = self._curr
        return self._mark_extent(first, super()._parse_paren())

    def _mark_extent(self, first: Token, this: exp.Expr | None) -> exp.Expr | None:
        if this is not None:
            mark(this, first, self._prev)
        return this

    def _parse_escape(self, this: exp.Expr | None) -> exp.Expr | None:
        """ESCAPE and a text; the binder judges which."""
        if not self._match(TokenType.ESCAPE):
            return this
        if not self.at_string():
            self.fail("one character in quotes after ESCAPE", remedy="write for example ESCAPE '!'")
        return exp.Escape(this=this, expression=self._parse_string())

    def _parse_limit(
        self, this: exp.Expr | None = None, top: bool = False, skip_limit_token: bool = False
    ) -> exp.Expr | None:
        """TOP and FREQUENT are clauses only before a number; elsewhere they may be columns."""
        if top and self.at("FREQUENT") and self._next.token_type is TokenType.NUMBER:
            return self._parse_frequent()
        if top and self._next.token_type not in (TokenType.NUMBER, TokenType.L_PAREN):
            return None
        first = self._curr
        limited = super()._parse_limit(this, top, skip_limit_token)
        return limited if limited is this else self._mark_extent(first, limited)

    def _parse_fetch(self) -> exp.Expr | None:
        """``FETCH FIRST 3 ROWS ONLY``, which is LIMIT 3."""
        first = self._curr
        self._advance()
        if not self.at("FIRST", "NEXT"):
            self.fail("FIRST after FETCH", remedy="write LIMIT and the number of rows")
        self._advance()
        count = self._parse_number() or exp.Literal.number(1)
        if not self.at("ROW", "ROWS"):
            self.fail("a number and ROWS ONLY", remedy="write LIMIT and the number of rows")
        self._advance()
        if not self.at("ONLY"):
            ties = "write RANK() OVER (ORDER BY x) <= n after QUALIFY for rows that tie"
            self.fail("ONLY after ROWS", remedy=ties if self.at("WITH") else "")
        self._advance()
        return self._mark_extent(first, exp.Limit(expression=count))

    def _parse_frequent(self) -> exp.Expr | None:
        """FREQUENT k stands where TOP k does."""
        first = self._curr
        self._advance()
        limited = exp.Limit(expression=self._parse_number())
        limited.meta.update({"top": True, FREQUENT: True})
        return self._mark_extent(first, limited)

    # Table references.

    def _parse_table(self, *_args: Any, **_kwargs: Any) -> exp.Expr:
        return parse_table(self, self.query)

    def _parse_join(self, *args: Any, **kwargs: Any) -> exp.Join | None:
        """SQLGlot tries what follows a comma and forgets why it failed; we do not."""
        if self._match(TokenType.COMMA):
            return exp.Join(this=self._parse_table(), kind=",")
        join = super()._parse_join(*args, **kwargs)
        if join is not None and join.this.args.get("joins"):
            self.fail(
                "ON before the next JOIN", token=self._prev,
                remedy="write each ON directly after its JOIN, or a sub-query in parentheses",
            )  # fmt: skip
        return join


class Cql(Dialect):
    """The dialect: double quotes hold names, single quotes texts."""

    NULL_ORDERING = "nulls_are_last"

    def to_json_path(self, path: exp.Expr | None) -> exp.Expr | None:
        """The path after an arrow as it is written: what it means is the binder's to say."""
        return path

    class Tokenizer(tokens.Tokenizer):
        """SQLGlot's words, less those that swallow the rest of a statement unparsed."""

        IDENTIFIERS: ClassVar[list[Any]] = ['"', "`"]
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            **{
                word: kind
                for word, kind in tokens.Tokenizer.KEYWORDS.items()
                if kind not in tokens.Tokenizer.COMMANDS and word not in ("/*+", "DOUBLE PRECISION")
            },
            "TOP": TokenType.TOP,
        }
        COMMANDS: ClassVar[set[TokenType]] = set()

    Parser = CqlParser
