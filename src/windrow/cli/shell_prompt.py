"""Statements typed on a terminal: history, completion, several lines; by prompt_toolkit."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession

    from windrow.core.schema import Schema
    from windrow.engine.connection import Connection

HISTORY = "WINDROW_HISTORY"
"""The variable that names another file than ``~/.windrow_history``."""
KEYWORDS = (
    "SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "DISTINCT", "AS", "AND",
    "OR", "NOT", "EXISTS", "IN", "LIKE", "BETWEEN", "UNION", "EXCEPT", "INTERSECT", "VALUES",
    "WITH", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", "ON", "USING", "QUALIFY",
    "WITHIN", "RANGE", "ROWS", "NOW", "SESSION", "UNBOUNDED", "PARTITION BY", "SLIDE", "EVERY",
    "ISTREAM", "DSTREAM", "RSTREAM", "INTO", "FORMAT", "TIMESTAMP BY", "SLACK", "CREATE STREAM",
    "CREATE RELATION", "CREATE NRR", "CREATE VIEW", "CREATE QUERY", "CREATE OR REPLACE QUERY",
    "CREATE FUNCTION", "CREATE SUBSCRIPTIONS", "CREATE ARCHIVE", "DROP", "SHOW STREAMS",
    "SHOW QUERIES", "SHOW VIEWS", "SHOW RELATIONS", "SHOW FUNCTIONS", "DESCRIBE", "EXPLAIN",
    "EXPLAIN COST", "SECONDS", "MINUTES", "HOURS", "DAYS",
)  # fmt: skip
LATER_WORDS = tuple(dict.fromkeys(word for phrase in KEYWORDS for word in phrase.split()[1:]))
"""Words that do not begin what they belong to."""


WORDS = ("quit", "exit", ".quit", ".exit", "help", ".help")
"""What leaves other shells, or explains them: taken without a semicolon."""


def completions(word: str, names: Iterable[str]) -> list[str]:
    """What a word may become: names first, then keywords, in the case of what was typed.

    >>> completions("se", ["sensor", "ts"]), completions("STR", ["ts"])
    (['sensor', 'select', 'session', 'seconds'], ['STREAM', 'STREAMS'])
    """
    if not word:
        return []
    start = word.lower()
    found = [_quoted(name) for name in dict.fromkeys(names) if name.lower().startswith(start)]
    known = dict.fromkeys((*KEYWORDS, *LATER_WORDS))
    keywords = [keyword for keyword in known if keyword.lower().startswith(start)]
    return [*found, *(k.lower() if word.islower() else k for k in keywords)]


def _quoted(name: str) -> str:
    """A name as it is written in a statement."""
    return name if name.replace("_", "a").isalnum() else '"' + name.replace('"', '""') + '"'


def names_in(connection: Connection) -> Iterator[str]:
    """Everything declared, and the columns of it."""
    for declaration in connection.catalog.declarations.values():
        yield declaration.name
        schema: Schema | None = getattr(getattr(declaration, "plan", declaration), "schema", None)
        yield from () if schema is None else schema.unique_names()


def make_session(connection: Connection) -> PromptSession[str]:
    """What asks for a line, with the history and the completion of this connection's names."""
    from prompt_toolkit import PromptSession  # noqa: PLC0415 - only a terminal needs it
    from prompt_toolkit.completion import Completer, Completion  # noqa: PLC0415
    from prompt_toolkit.history import FileHistory  # noqa: PLC0415

    class Names(Completer):
        """Completes the word before the cursor."""

        def get_completions(self, document: Any, complete_event: Any) -> Iterator[Completion]:
            word = document.get_word_before_cursor()
            for text in completions(word, names_in(connection)):
                yield Completion(text, start_position=-len(word))

    place = Path(os.environ.get(HISTORY) or Path.home() / ".windrow_history")
    return PromptSession(history=FileHistory(str(place)), completer=Names())


def read_from_terminal(connection: Connection) -> Iterator[str]:
    """Statements and commands as they are typed, until Ctrl-D; Ctrl-C drops what was typed."""
    from windrow.cql.parser import is_whole  # noqa: PLC0415 - as the connection, loaded late

    session = make_session(connection)
    waiting = ""
    while True:
        try:
            waiting += session.prompt("    ...> " if waiting else "windrow> ") + "\n"
        except KeyboardInterrupt:
            waiting = ""
            continue
        except EOFError:
            return
        alone = waiting.strip()
        if not alone:
            waiting = ""
        elif alone.startswith("\\") or alone in WORDS or is_whole(waiting):
            yield waiting.removesuffix("\n")
            waiting = ""
