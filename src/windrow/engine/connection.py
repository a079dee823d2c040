"""The Python door: declare, push, advance, look, wherever the queries run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.text_forms import Instant
from windrow.core.errors import InputError, ScriptError
from windrow.core.time import Clock
from windrow.core.warnings import WindrowWarning, warn_caller
from windrow.cql.script_parameters import Values
from windrow.engine.clocks import on_clocks_of_files, replace_queries
from windrow.engine.function_declarations import declare_function, load_functions
from windrow.engine.handles import ArchiveHandle, ByName, Executed, Handle, SubscriptionsHandle
from windrow.engine.notebook_html import Plan, rows_html
from windrow.engine.plan_texts import plan_text, texts_of_script
from windrow.engine.runtime import Run, Runtime
from windrow.plan.catalog import Catalog
from windrow.plan.jobs import Days, Matches
from windrow.plan.program import Compiled, compile_script
from windrow.streams.pushed_rows import columns_of
from windrow.streams.relations import RelationMonitor


class Connection:
    """Streams, views and queries, in this process or on a SparkSession.

    >>> import windrow
    >>> db = windrow.connect()
    >>> [busy] = db.execute('''
    ...     CREATE STREAM hits (ts BIGINT, page STRING);
    ...     SELECT page, COUNT(*) AS n FROM hits [RANGE 10 SECONDS] GROUP BY page;
    ... ''')
    >>> db.push("hits", {"ts": [1, 2, 2], "page": ["a", "b", "a"]})
    >>> db.advance(to=5)
    >>> busy.answer().to_pylist()
    [{'page': 'a', 'n': 2}, {'page': 'b', 'n': 1}]
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.catalog = Catalog()
        self.queries: ByName[Handle] = ByName()
        self.archives: ByName[ArchiveHandle] = ByName()
        self.subscriptions: ByName[SubscriptionsHandle] = ByName()
        self._runs: list[Run] = []
        self._warned: set[str] = set()
        self._lock = RLock()  # what moves the answers, and who looks at several of them

    def execute(self, cql: str, parameters: Values | None = None) -> Executed:
        """Carry out a script; the queries that it defines, in order.

        ``parameters`` are values for ``:name`` (by name) or for ``?`` and ``$1`` (in order); they
        are never read as CQL. The declaration of a query once more gives the query that there is.
        What SHOW, DESCRIBE and EXPLAIN say is ``tables`` and ``plans`` of what is returned.

        Nothing is declared if any statement is wrong. A query sees what is pushed after it,
        what running queries hold of the windows that it needs (``Handle.complete_from``), and all
        of the files that its streams and relations are ``FROM``: what is there by now is read
        here, and what comes later by ``advance``.
        """
        runtime = self._runtime
        with self._moving():
            compiled = self._compile(cql, parameters)
            dropped = {declaration.name.lower() for declaration in compiled.dropped}
            with runtime.all_or_nothing():
                if dropped:
                    runtime.drop(dropped)
                catalog, runs = self._start(compiled, dropped)
                runtime.read()
            self.catalog = catalog
            self._forget(dropped)
            self._hand_out(runs)
            self._tell()
        handles = [self.queries[name] for name in compiled.named]
        plans = [Plan(plan_text(of, runtime, self._runs)) for of in compiled.explains]
        return Executed(handles, compiled.listings, plans)

    def function(
        self,
        name: str,
        function: Callable[..., Any],
        *,
        returns: str | type | None = None,
        takes: Sequence[str | type] | None = None,
        vectorised: bool = False,
    ) -> None:
        """Declare a Python function, to be called in queries that are made from now on.

        It takes the values of one row and is not called where one of them is NULL; ``vectorised``
        it takes Arrow arrays and gives one. ``takes`` and ``returns`` are types of CQL, or ``int``
        and the like; without them the annotations say which. The same values must give the same
        result whenever it is called. On Spark workers import it, so it has to be in a module that
        they have (``--py-files``).

        The same function again, or one of the same code, changes nothing: a cell of a notebook can
        be run twice. Another one replaces it, unless a view or query calls the old one.

        >>> import windrow
        >>> db = windrow.connect()
        >>> db.function("area", lambda w, h: w * h, takes=["DOUBLE", "DOUBLE"], returns="DOUBLE")
        >>> _ = db.execute("CREATE STREAM s (ts BIGINT, w DOUBLE, h DOUBLE);")
        >>> [query] = db.execute("SELECT area(w, h) AS a FROM s [ROWS 1];")
        >>> db.push("s", {"ts": [1], "w": [2.0], "h": [1.5]})
        >>> db.advance(to=1)
        >>> query.answer().to_pylist()
        [{'a': 3.0}]
        """
        with self._lock:
            in_process, before = self._runtime.in_process, self.catalog.find(str(name))
            self.execute(
                declare_function(name, function, takes, returns, vectorised, in_process, before)
            )

    def _forget(self, dropped: Collection[str]) -> None:
        """Hold nothing of what was dropped."""
        for handles in (self.queries, self.archives):
            for name in [name for name in handles if name.lower() in dropped]:
                handles.pop(name).drop()
        for name in [name for name in self.subscriptions if name.lower() in dropped]:
            del self.subscriptions[name]
        self._runs = [run for run in self._runs if _names_of(run) - set(dropped)]

    def _start(self, compiled: Compiled, dropped: Collection[str]) -> tuple[Catalog, Sequence[Run]]:
        """What there is with the script, and everything that it runs, started."""
        known = self.catalog.declarations.keys() - set(dropped)
        queries = {query.name for query in compiled.queries}
        running = [name for name in self.queries if name.lower() not in dropped]
        catalog = on_clocks_of_files(compiled.catalog, running)
        archives = [a for a in catalog.archives if a.name.lower() not in known]
        jobs = self._runtime.jobs(
            [q for q in catalog.queries if q.name in queries], archives, catalog
        )
        return catalog, self._runtime.start(jobs, catalog)

    def _hand_out(self, runs: Sequence[Run]) -> None:
        """Handles of what was started."""
        added: dict[str, Handle] = {}
        self._runs += [run for run in runs if run not in self._runs]
        for run in runs:
            new = {n: m for n, m in run.job.members.items() if m.name not in self.queries}
            for number, member in new.items():
                if isinstance(member.deliver, Days):
                    self.archives[member.name] = ArchiveHandle(run, number, self._warn_once)
                    continue
                added[member.name] = Handle(run, number, self._warn_once)
                if isinstance(member.deliver, Matches):
                    self.subscriptions[member.name] = SubscriptionsHandle(added[member.name])
        self.queries.update(added)

    def explain(self, cql: str, parameters: Values | None = None) -> Plan:
        """The plans of the queries in ``cql``, which are not added; notebooks show colours.

        The name of a query alone stands for its plan.
        """
        if _checked_text(cql).lower() in map(str.lower, self.queries):
            quoted = cql.replace('"', '""')
            cql = f'EXPLAIN "{quoted}"'
        compiled = self._compile(cql, parameters)
        return Plan("\n\n".join(texts_of_script(compiled, self._runtime, self._runs)))

    def _compile(self, cql: str, values: Values | None = None) -> Compiled:
        """The script with its plans chosen by what has been observed of the streams so far."""
        cql = _checked_text(cql).removeprefix(
            "\ufeff"
        )  # what some editors put before the text of a file
        strategy = self._runtime.strategy
        try:
            compiled = compile_script(cql, self.catalog, strategy, values=values)
            load_functions(compiled.catalog, self.catalog, cql)
        except ScriptError as error:
            error.add_note(error.excerpt())  # where a traceback is all that is shown
            raise
        for warning in compiled.warnings:
            warn_caller(warning)
        wanted = [*compiled.queries, *(request.query for request in compiled.explains)]
        plans = [query.plan for query in wanted]
        statistics = self._runtime.inputs.statistics(plans)
        if statistics is None or not plans:
            return compiled
        return compile_script(cql, self.catalog, strategy, statistics, values)

    def push(self, stream: str, data: Any) -> None:
        """Give rows to a stream: an Arrow table or batch, a pandas or polars frame, or dicts.

        A relation takes updates (``instant``, ``change``, its columns), or rows without the
        first two, which are inserted at the next open instant. Rows that do not fit the declared
        types, are further ahead than AHEAD allows or come too late are put aside: they are counted
        (``rejected``, ``late``), a warning says so once per stream, and ``quarantined`` has the
        newest of them; all are in the quarantine if there is one.
        """
        runtime = self._runtime
        with self._moving():
            monitor = runtime.inputs.monitor(stream)
            if isinstance(monitor, RelationMonitor):
                data = columns_of(data, monitor.declaration)
                self._put_on_clock(stream.lower(), monitor.clock_of(data))
            runtime.inputs.accept(stream, data)
            self._step()

    def _put_on_clock(self, name: str, clock: Clock | None) -> None:
        """Put a relation, and the queries over it, on the clock of its first updates."""
        if self._runtime.put_on_clock(name, clock):
            members = [m for run in self._runs for m in run.job.members.values()]
            found = {m.name: m.query for m in members if not isinstance(m.deliver, Days)}
            self.catalog = replace_queries(self.catalog, found)

    def query(self, sql: str, parameters: Values | None = None) -> pa.Table:
        """Answer one SELECT over answers, relations and live windows, as they are now.

        ``parameters`` are values for ``$name`` (by name) or for ``?`` and ``$1`` (in order).

        Every query is a table under its name, with what ``answer`` gives; so is every relation, on
        Spark as far as queries hold its columns. A stream, or a view that is one, may have a window
        clause and is that window, if running queries hold its tuples; without a clause it is the
        longest that is held. Other views are evaluated over what is held, and ``busy_summaries``
        are the summaries of sub-windows that the query ``busy`` keeps. All are of one moment
        between two pushes, also if another thread pushes meanwhile, and streams go on while DuckDB,
        whose SQL it is, works. The metadata of the answer's schema say as of which instant each
        table is (``windrow.instants``).

        >>> import windrow
        >>> db = windrow.connect()
        >>> _ = db.execute('''
        ...     CREATE STREAM hits (ts BIGINT, page STRING);
        ...     CREATE QUERY busy AS
        ...         SELECT page, COUNT(*) AS n FROM hits [RANGE 10 SECONDS] GROUP BY page;
        ... ''')
        >>> db.push("hits", {"ts": [1, 2, 2], "page": ["a", "b", "a"]})
        >>> db.advance(to=5)
        >>> db.query("SELECT AVG(n) AS mean FROM busy").to_pylist()
        [{'mean': 1.5}]
        >>> db.query("SELECT page, ts FROM hits [RANGE 4 SECONDS] ORDER BY page").to_pylist()
        [{'page': 'a', 'ts': 2}, {'page': 'b', 'ts': 2}]
        """
        from windrow.engine.sql_moment import take_moment  # noqa: PLC0415 - DuckDB

        sql = _checked_text(sql, "SQL", "one SELECT")
        with self._lock:
            moment = take_moment(sql, self.catalog, self.queries, self._runs, self._runtime)
        return moment.answer(parameters)

    def stream(self, name: str, frame: Any) -> None:
        """Read a declared stream from a streaming DataFrame; its columns are found by name.

        That is for a connection on Spark; an embedded one has ``push``.
        """
        self._runtime.read_frame(name, frame)

    def changes_stream(self, query: str) -> Any:
        """The changes of a query INTO files, as a streaming DataFrame for any other job on Spark.

        That is for a connection on Spark; an embedded one has ``Handle.stream``.
        """
        return self._runtime.changes_frame(self.queries[query].name)

    def advance(self, to: Instant) -> None:
        """Close every instant up to ``to``, on all streams whose clock understands it.

        Files that have come to where streams and relations are ``FROM`` are read first.
        """
        inputs = self._runtime.inputs
        with self._moving():
            inputs.check_instant(to)
            inputs.look()
            self._runtime.read()
            inputs.advance(to)
            self._step()

    def advance_to_last_row(self) -> None:
        """Close every instant up to the last row of the files that are there by now.

        Rows of those instants that come later are late.
        """
        inputs = self._runtime.inputs
        with self._moving():
            inputs.look()
            self._runtime.read()
            inputs.advance_to_last_row()
            self._step()

    @contextmanager
    def _moving(self) -> Iterator[None]:
        """Nobody else moves or looks meanwhile; listeners hear of it when others may again."""
        try:
            with self._lock:
                yield
        finally:
            self._runtime.tell()

    def _step(self) -> None:
        try:
            self._runtime.step()
        finally:
            self._tell()

    def count_rejected(self, stream: str) -> int:
        """How many rows of the stream did not fit its declaration, or were ahead of it."""
        return self._runtime.inputs.monitor(stream).rejected

    def count_late(self, stream: str) -> int:
        """How many rows of the stream came too late."""
        return self._runtime.inputs.monitor(stream).late

    def quarantined_rows(self, stream: str) -> pa.Table:
        """The newest thousand rows of the stream that were put aside, with the reasons.

        ``file`` is NULL for rows that were pushed, ``row`` for what is true of a whole file. On
        Spark those of files and DataFrames are there when a query has read them, which ``changes``
        and ``answer`` wait for.
        """
        self._runtime.inputs.monitor(stream)  # or it is an error
        return self._runtime.inputs.quarantined_rows(stream)

    def close(self) -> None:
        """Stop all queries, forget everything, and let others write where results went."""
        self._runtime.close()
        self.catalog, self._runs, self._warned = Catalog(), [], set()
        self.queries, self.archives, self.subscriptions = ByName(), ByName(), ByName()

    def _tell(self) -> None:
        """Warn whoever called of rows that were put aside, and of values that were lost."""
        inputs = self._runtime.inputs
        self._warn_once((name, inputs.refusal_warning(name)) for name in inputs.refused.streams)
        self._warn_once(self._runtime.losses())

    def _warn_once(self, found: Iterable[tuple[str, WindrowWarning]]) -> None:
        """Give those warnings whose subject nobody was warned of before."""
        for subject, warning in found:
            if subject not in self._warned:
                self._warned.add(subject)
                warn_caller(warning)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def __repr__(self) -> str:
        streams = len(self._runtime.inputs.monitors)
        return f"<windrow connection: streams {streams}, queries {len(self.queries)}>"

    def _repr_html_(self) -> str:
        """Streams and queries, and how far they have come; nothing is waited for."""
        monitors = self._runtime.inputs.monitors.values()
        streams = [
            (m.declaration.name, m.accepted, m.rejected, m.late, _when(m.top, m.declaration.clock))
            for m in monitors
        ]
        queries = [
            (h.name, h.declaration.plan.pattern.name, h.rows_in, h.rows_out,
             _when(h.now, h.declaration.clock))
            for h in self.queries.values()
        ]  # fmt: skip
        return rows_html(("stream", "rows", "rejected", "late", "last time"), streams) + rows_html(
            ("query", "pattern", "rows in", "changes", "as of"), queries
        )


def _checked_text(
    text: object, where: str = "execute", expected: str = "the text of a script"
) -> str:
    if isinstance(text, str):
        return text
    raise InputError(
        where=where,
        expected=expected,
        found=type(text).__name__,
        remedy="of a file, read the text: Path(name).read_text()",
    )


def _when(instant: int | None, clock: Clock) -> object:
    """An instant as people read it."""
    if instant is None or clock is Clock.INTEGER:
        return instant
    return str(np.datetime64(instant, "us")).replace("T", " ")


def _names_of(run: Run) -> set[str]:
    return {member.name.lower() for member in run.job.members.values()}
