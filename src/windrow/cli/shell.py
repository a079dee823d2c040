"""``windrow shell``: statements and their answers, one after the other, in this process.

On a terminal there are history, completion and several lines for a statement. If standard input is
a pipe, its statements are carried out in order, and the first that fails ends it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from windrow.cli.console import err, out, print_warning
from windrow.cli.error_messages import errors_in_words, read_script
from windrow.cli.explain import print_listings
from windrow.cli.options import Overwrite, Verbose
from windrow.cli.shell_prompt import read_from_terminal
from windrow.core.errors import AnswerReadError, InputError, ScriptError, WindrowError
from windrow.core.warnings import WindrowWarning

if TYPE_CHECKING:
    import pyarrow as pa

    from windrow.engine.connection import Connection

HELP = """\
A statement ends with a semicolon and may take several lines.
  SELECT ...;         its answer now; nothing of it stays
  CREATE QUERY ...;   a query that stays; \\a shows its answer later
  SHOW STREAMS;  DESCRIBE name;  EXPLAIN query;  DROP QUERY name;
Commands stand alone on a line:
  \\d            all declarations
  \\d NAME       the columns of one
  \\a [NAME]     the answers of all queries, or of one
  \\c NAME       the changes of a query so far
  \\sql SELECT   one-time SQL over answers, relations and windows
  \\advance TO   close all instants up to TO, a number or a time
  \\i FILE       the statements of a file
  \\? \\q         this help; leave (also Ctrl-D)
Files of streams are read when a query over them is made, up to their last row."""


def shell(
    script: Annotated[
        Path | None,
        typer.Argument(
            metavar="[SCRIPT]", help="Statements to begin with, from a file.", show_default=False
        ),
    ] = None,
    quarantine: Annotated[
        Path | None,
        typer.Option(
            metavar="DIRECTORY", help="Write rows that cannot be used here.", show_default=False
        ),
    ] = None,
    overwrite: Overwrite = False,
    verbose: Verbose = False,
) -> None:
    """Type statements and see their answers; or pipe them in.

    It runs in this process, without Spark. \\? lists its commands.

    \b
    Examples:
      windrow shell
      windrow shell traffic.cql
      echo "SHOW FUNCTIONS;" | windrow shell
    """
    with errors_in_words(verbose=verbose):
        import windrow  # noqa: PLC0415 - what takes longer to load than the prompt

        with windrow.connect(quarantine=quarantine, overwrite=overwrite) as connection:
            session = Session(connection)
            if script is not None:
                session.run_file(script)
            if not sys.stdin.isatty():
                session.run_all(sys.stdin)
                return
            out().print("Windrow. \\? for help, \\q to leave.")
            for text in read_from_terminal(connection):
                if not session.attempt(text):
                    return


class Session:
    """What has been declared, and the way from a text to what is printed for it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._commands: dict[str, Callable[[str], None]] = {
            "d": self._describe,
            "a": self._answers,
            "c": self._changes,
            "sql": self._sql,
            "advance": self._advance,
            "i": lambda rest: self.run_file(Path(rest)),
            "?": lambda _: out().print(HELP),
            "h": lambda _: out().print(HELP),
        }

    def attempt(self, text: str) -> bool:
        """Carry out a statement or a command; an error is said. False if it means to leave.

        Ctrl-C ends what is carried out, and not the shell.
        """
        if text.strip() in LEAVE:
            return False
        if text.strip() in ASK:
            text = "\\?"
        try:
            self.run(text)
        except WindrowError as error:
            complain(error)
        except OSError as error:
            complain(InputError(where=str(error.filename), found=str(error.strerror)))
        except KeyboardInterrupt:
            err().print("interrupted")
        except typer.Exit:  # a file had an error, which has been said
            pass
        return True

    def run_all(self, lines: Iterable[str], name: str = "standard input") -> None:
        """Statements and commands in order; the first that fails is the error."""
        from windrow.cql.parser import is_whole  # noqa: PLC0415 - as above

        waiting, begun = "", 1
        for number, line in enumerate(lines, 1):
            alone = line.strip()
            if not waiting.strip() and (alone.startswith("\\") or alone in (*LEAVE, *ASK)):
                if alone in LEAVE:
                    return
                self.run("\\?" if alone in ASK else line)
                continue
            if not waiting.strip():
                waiting, begun = "", number
            waiting += line
            if is_whole(waiting):
                self._run_at(begun, waiting, name)
                waiting = ""
        if waiting.strip():
            self._run_at(begun, waiting, name)

    def _run_at(self, line: int, text: str, name: str) -> None:
        """A statement that begins on a line of what was piped in: errors count lines from there."""
        try:
            self.run("\n" * (line - 1) + text)
        except ScriptError as error:
            complain(error, f"{name}: ")
            raise typer.Exit(2) from None

    def run_file(self, path: Path) -> None:
        """The statements of a file."""
        self.run_all(read_script(path).splitlines(keepends=True), str(path))

    def run(self, text: str) -> None:
        """Carry out a command, or statements one after the other, and print what comes of them."""
        if text.lstrip().startswith("\\"):
            word, _, rest = text.strip().removeprefix("\\").partition(" ")
            command = self._commands.get(word)
            if command is None:
                raise InputError(
                    where=f"\\{word}", expected="a command of the shell", found="none of them",
                    remedy="\\? lists them",
                )  # fmt: skip
            command(rest.strip().rstrip(";"))
            return
        from windrow.cql.parser import statement_texts  # noqa: PLC0415 - as above

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", WindrowWarning)
            for statement in statement_texts(text):
                self._execute(statement)
        for warning in caught:
            if isinstance(warning.message, WindrowWarning):
                print_warning(warning.message)

    def _execute(self, text: str) -> None:
        """A bare SELECT is a question: it is answered, and dropped. One that reads what a query
        answers is one-time SQL.
        """
        from windrow.cql.parser import words_of  # noqa: PLC0415 - as above

        connection = self._connection
        before = set(connection.queries)
        try:
            done = connection.execute(text)
        except AnswerReadError:
            if words_of(text)[0][1] not in ("SELECT", "WITH"):
                raise
            self._sql(text.strip().rstrip(";"))
            return
        try:
            connection.advance_to_last_row()
            print_listings(done.listings)
            for plan in done.plans:
                out().print(plan)
            for handle in done:
                self._print_answer(handle.name)
        finally:  # also of one that failed, or was interrupted
            for handle in done:
                created = handle.declaration.text.lstrip().upper().startswith("CREATE")
                if not created and handle.name not in before and handle.declaration.into is None:
                    connection.execute(f'DROP QUERY "{handle.name}"')

    def _print_answer(self, name: str) -> None:
        from windrow.cli.answers import SHOWN, answer_table, count_of  # noqa: PLC0415 - as above
        from windrow.cli.console import instant  # noqa: PLC0415
        from windrow.plan.nodes.relational import ranks  # noqa: PLC0415

        handle = self._connection.queries[name]
        answer, query = handle.answer(), handle.declaration
        when = instant(handle.now, query.clock)
        out().print(f"{name} at {when}: {count_of(answer.num_rows, 'row')}", style="bold")
        out().print(answer_table(answer, ordered=bool(ranks(query.plan))), soft_wrap=False)
        if answer.num_rows > SHOWN:
            out().print(f"... and {answer.num_rows - SHOWN:,} more")

    def _describe(self, name: str) -> None:
        from windrow.plan.listing import LISTS, show  # noqa: PLC0415 - as above

        if name:
            quoted = name.replace('"', '""')
            print_listings(self._connection.execute(f'DESCRIBE "{quoted}"').listings)
            return
        found = [show(kind, self._connection.catalog) for kind in LISTS]
        print_listings([listing for listing in found if listing.rows])
        if not any(listing.rows for listing in found):
            out().print("nothing is declared yet")

    def _answers(self, name: str) -> None:
        for known in [self._known(name)] if name else list(self._connection.queries):
            self._print_answer(known)

    def _changes(self, name: str) -> None:
        self._print_rows(self._connection.queries[self._known(name)].changes())

    def _known(self, name: str) -> str:
        names = {known.lower(): known for known in self._connection.queries}
        if name.lower() not in names:
            raise InputError(
                where=name or "\\c", expected=f"one of {', '.join(names.values()) or 'no queries'}",
                found="no such query",
            )  # fmt: skip
        return names[name.lower()]

    def _sql(self, sql: str) -> None:
        self._print_rows(self._connection.query(sql))

    def _print_rows(self, rows: pa.Table) -> None:
        from windrow.cli.answers import answer_table  # noqa: PLC0415 - as above

        out().print(answer_table(rows, ordered=True, shown=LAST), soft_wrap=False)
        if rows.num_rows > LAST:
            out().print(f"... and {rows.num_rows - LAST:,} more")

    def _advance(self, to: str) -> None:
        text = to.strip(" '\"")
        if not text:
            raise InputError(where="\\advance", expected="a number or a time", found="nothing")
        number = text.isascii() and text.removeprefix("-").isdigit()
        self._connection.advance(to=int(text) if number else text)


LEAVE = ("\\q", "quit", "exit", "quit;", "exit;", ".quit", ".exit")
ASK = ("help", "help;", ".help")
LAST = 100
"""Rows of changes, and of one-time SQL, that are printed."""


def complain(error: WindrowError, where: str = "") -> None:
    """Say what is wrong, and underline it."""
    err().print(f"error: {where}{error}")
    if isinstance(error, ScriptError) and (excerpt := error.excerpt()):
        err().print(excerpt)
