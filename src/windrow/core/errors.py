"""One family of errors. Each says where, what was expected, what was found, what to do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """A stretch of source text; lines and columns count from 1, ``length`` is in characters."""

    line: int
    column: int
    length: int = 1

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


def excerpt_of(source: str, span: Span | None) -> str:
    """The line of ``source`` where the span begins, with the span underlined."""
    lines = source.splitlines()
    if span is None or not 1 <= span.line <= len(lines):
        return ""
    line = lines[span.line - 1]
    number = f"{span.line:>3} | "
    column = span.column - 1
    width = max(1, min(span.length, len(line) - column))
    pad = "".join("\t" if c == "\t" else " " for c in line[:column])
    return f"{number}{line}\n{' ' * (len(number) - 2)}| {pad}{'^' * width}"


class WindrowError(Exception):
    """Base of every error that Windrow raises on purpose.

    ``where`` names the place (a position in a script, a file and row, an argument),
    ``expected`` and ``found`` what was wrong with it, ``remedy`` what to do. The parts
    that do not apply are empty; the message is those that do, in that order.
    """

    def __init__(
        self,
        message: str = "",
        *,
        where: str = "",
        expected: str = "",
        found: str = "",
        remedy: str = "",
    ) -> None:
        self.where, self.expected, self.found, self.remedy = where, expected, found, remedy
        self.message = message
        parts = [message] if message else []
        if expected:
            parts.append(f"expected {expected}")
        if found:
            parts.append(f"found {found}")
        if remedy:
            parts.append(remedy)
        text = "; ".join(parts)
        super().__init__(f"{where}: {text}" if where else text)


class ScriptError(WindrowError):
    """Something in a CQL script is wrong, or not executable; knows the place and can draw it."""

    def __init__(
        self,
        message: str = "",
        *,
        span: Span | None = None,
        source: str = "",
        expected: str = "",
        found: str = "",
        remedy: str = "",
    ) -> None:
        self.span, self.source = span, source
        super().__init__(
            message,
            where=str(span) if span else "",
            expected=expected,
            found=found,
            remedy=remedy,
        )

    def with_source(self, source: str) -> ScriptError:
        """Attach the script's text, so that ``excerpt`` can underline the offending part."""
        if not self.source:
            self.source = source
        return self

    def excerpt(self) -> str:
        """The offending line with the offending text underlined, or nothing if it is unknown.

        >>> error = ScriptError("no such column", span=Span(1, 8, 3), source="SELECT sry FROM s")
        >>> print(error.excerpt())
          1 | SELECT sry FROM s
            |        ^^^
        """
        return excerpt_of(self.source, self.span)


class ParseError(ScriptError):
    """The text is not CQL."""


class BindError(ScriptError):
    """The text is CQL, but a name, a type or a window in it is wrong."""


class AnswerReadError(BindError):
    """A query reads what another one answers; one-time SQL can."""


class NotExecutableError(ScriptError):
    """The construct parses and has a plan, but this version cannot run it."""

    def __init__(self, construct: str, *, span: Span | None = None, remedy: str = "") -> None:
        self.construct = construct
        super().__init__(f"{construct} is not executable yet", span=span, remedy=remedy)


class InputError(WindrowError):
    """A source cannot be read at all (a bad row is quarantined instead)."""


class NotHeldError(InputError):
    """SQL asks for a window of tuples that no running query holds."""


class QuarantineError(InputError):
    """Refused rows cannot be written down; nothing is wrong with the file that they are of."""


class DataError(WindrowError):
    """A value met while a query runs cannot be computed with: a CAST that fails, say."""

    def inside(self, query: str) -> DataError:
        """The same error, saying which query met it.

        >>> print(DataError(where="CAST(a AS INT)", found="'x'").inside("load"))
        query load, CAST(a AS INT): found 'x'
        """
        return DataError(
            self.message,
            where=", ".join(filter(None, (f"query {query}", self.where))),
            expected=self.expected,
            found=self.found,
            remedy=self.remedy,
        )


class StateError(WindrowError):
    """A checkpoint or a piece of saved state cannot be used."""
