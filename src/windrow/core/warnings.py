"""What is legal and was probably not meant: said once, and nothing stops.

Python shows them by ``warnings.warn``, so that filters, ``-W error`` and ``catch_warnings`` work as
for any other; the command line prints them to standard error.
"""

from __future__ import annotations

import sys
import warnings

from windrow.core.errors import Span, excerpt_of


class WindrowWarning(UserWarning):
    """Base of every warning that Windrow gives.

    ``where`` names the place, ``message`` says what is odd about it, ``remedy`` what to do.
    """

    def __init__(self, message: str, *, where: str = "", remedy: str = "") -> None:
        self.message, self.where, self.remedy = message, where, remedy
        text = "; ".join(filter(None, (message, remedy)))
        super().__init__(f"{where}: {text}" if where else text)


class ScriptWarning(WindrowWarning):
    """Something in a CQL script is legal and useless; equal ones are one."""

    def __init__(self, message: str, *, span: Span, source: str, remedy: str = "") -> None:
        self.span, self.source = span, source
        super().__init__(message, where=str(span), remedy=remedy)

    def excerpt(self) -> str:
        """The line in question, with what it is about underlined."""
        return excerpt_of(self.source, self.span)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ScriptWarning) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


def warn_caller(warning: WindrowWarning) -> None:
    """Give a warning in the name of whoever called Windrow, from however far inside."""
    frame, level = sys._getframe(1), 2  # noqa: SLF001 - Python 3.11 has no skip_file_prefixes
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("windrow."):
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level)
