"""One-time SQL over what a connection holds at one moment; DuckDB answers it over Arrow.

A table is the answer of a query, or a relation, taken while nothing moves: Arrow never changes, so
DuckDB can take its time, in another thread too, while the streams go on. It reads the tables where
they are, and sees nothing else: no files, no network, no extensions, no variables of Python.

Cost: one copy of each answer that the SQL names (none, if nothing has changed since the last time),
and DuckDB's work.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterable, Mapping
from concurrent.futures import Future

import duckdb
import pyarrow as pa
from sqlglot import exp, parse
from sqlglot.errors import SqlglotError

from windrow.core.errors import InputError
from windrow.cql.script_parameters import Values, check_values
from windrow.engine.sql_errors import problem_of

SECONDS = 0.05
"""Between two attempts to stop a query."""
INSTANTS = b"windrow.instants"
"""In the metadata of an answer's schema: as of which instant each of its tables is."""
_ANSWERING = ([duckdb.StatementType.SELECT], [duckdb.StatementType.EXPLAIN])
_SETTINGS = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "lock_configuration": "true",
}


def tables_in(sql: str) -> set[str]:
    """Lower-case names that may be tables of the text; all its words, if only DuckDB can read it.

    What WITH defines is none of them, unless it is made of a table of its own name.

    >>> sorted(tables_in("WITH w AS (SELECT * FROM Busy) SELECT * FROM w JOIN hosts USING (ip)"))
    ['busy', 'hosts']
    >>> tables_in("WITH busy AS (SELECT * FROM busy WHERE bytes > 9) SELECT * FROM busy")
    {'busy'}
    """
    try:
        trees = [tree for tree in parse(sql, dialect="duckdb") if tree is not None]
    except SqlglotError:
        trees = []
    if not trees or any(isinstance(tree, exp.Command) for tree in trees):
        return set(re.findall(r"\w+", sql.lower()))
    named = (table for tree in trees for table in tree.find_all(exp.Table))
    return {table.name.lower() for table in named if not _is_defined(table)}


def _is_defined(table: exp.Table) -> bool:
    """Whether a name means what a WITH defines, of which it is behind or, if RECURSIVE, inside."""
    inside: exp.Expr = table
    while (around := inside.parent) is not None:
        with_ = around if isinstance(around, exp.With) else around.args.get("with_")
        if with_ is not None and with_ is not inside:
            known = with_.expressions
            if with_ is around and not with_.args.get("recursive"):
                known = known[: known.index(inside)]
            if table.name.lower() in (part.alias.lower() for part in known):
                return True
        inside = around
    return False


def answer_sql(
    sql: str,
    tables: Mapping[str, pa.Table],
    instants: Mapping[str, int | None],
    remedy: str,
    parameters: Values | None = None,
) -> pa.Table:
    """The answer to one SELECT; the remedy is for whoever asks for a table that is none."""
    check_values(parameters)
    with duckdb.connect(":memory:") as connection:
        for name, table in tables.items():
            connection.register(name, table)
        for name, value in _SETTINGS.items():
            connection.execute(f"SET {name} = {value}")
        try:
            check_statement(connection, sql)
            answer = run_sql(connection, sql, parameters)
        except duckdb.Error as error:
            columns = [name for table in tables.values() for name in table.column_names]
            problem = problem_of(error)
            about_tables = problem.of_table or sql.strip(" ;\n").isidentifier()
            remedy = (
                unquoted_words(connection, sql, columns)
                or problem.suggestion
                or (remedy if about_tables else "")
            )
            raise InputError(where="SQL", found=problem.found, remedy=remedy) from error
    return answer.replace_schema_metadata(instants_as_metadata(instants))


def instants_as_metadata(instants: Mapping[str, int | None]) -> dict[bytes | str, bytes | str]:
    """What the schema of an answer says of its tables."""
    return {INSTANTS: json.dumps(instants)}


def check_statement(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Refuse anything but one SELECT."""
    if [statement.type for statement in connection.extract_statements(sql)] not in _ANSWERING:
        raise InputError(where="SQL", expected="one SELECT", found=sql)


def unquoted_words(connection: duckdb.DuckDBPyConnection, sql: str, columns: Iterable[str]) -> str:
    """What to do about columns in a text that are words of SQL, such as ``at``; else nothing."""
    words = set(re.findall(r'(?<!["\w])\w+(?!["\w])', re.sub(r"'[^']*'", "", sql.lower())))
    keywords = "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category <> 'unreserved'"
    reserved = {word for (word,) in connection.execute(keywords).fetchall()}
    found = sorted({name.lower() for name in columns} & words & reserved)
    quoted = ", ".join(f'"{name}"' for name in found)
    return (
        f"{', '.join(found)}: a word of DuckDB's SQL; as a column write {quoted}" if found else ""
    )


def run_sql(
    connection: duckdb.DuckDBPyConnection, query: str, parameters: Values | None = None
) -> pa.Table:
    """DuckDB hears no Ctrl-C, so it works beside this thread, which does."""
    work: Future[pa.Table] = Future()

    def answer() -> None:
        try:
            work.set_result(connection.sql(query, params=parameters).to_arrow_table())
        except Exception as error:
            work.set_exception(error)

    beside = threading.Thread(target=answer, daemon=True)
    try:
        beside.start()
        return work.result()
    except KeyboardInterrupt:
        while beside.is_alive():  # what comes before the query has begun is lost on DuckDB
            connection.interrupt()
            beside.join(SECONDS)
        raise
