"""What a connection hands out: queries, archives and subscriptions, and what a script shows.

A connection has its handles by name; as in CQL, a name may be written in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from html import escape
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from windrow.columns.text_forms import Instant, instant
from windrow.core.errors import InputError, StateError, WindrowError
from windrow.core.time import BEGINNING, Clock
from windrow.core.warnings import WindrowWarning
from windrow.engine.change_log import Hear, TakeBatch
from windrow.engine.notebook_html import Plan, rows_html, table_html
from windrow.engine.progress import Lateness
from windrow.engine.runtime import Run
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.listing import Listing
from windrow.result_files.change_table import sort_by_rank
from windrow.result_files.identity import CHANGE, INSTANT, changes_schema
from windrow.subscriptions.predicates import Id

H = TypeVar("H")


class ByName(dict[str, H]):
    """A dict that finds a name in any case, and says which names there are if there is none such.

    >>> ByName(Busy=1)["busy"]
    1
    >>> ByName(Busy=1)["bussy"]
    Traceback (most recent call last):
    KeyError: 'there is no bussy; did you mean Busy?'
    """

    def __missing__(self, name: str) -> H:
        known = {known.lower(): known for known in self}
        wanted = str(name).lower()
        if wanted in known:
            return self[known[wanted]]
        near = get_close_matches(wanted, known, 1)
        listed = f"there is {', '.join(self)}" if self else "nothing has been declared yet"
        raise KeyError(
            f"there is no {name}; " + (f"did you mean {known[near[0]]}?" if near else listed)
        )


Warn = Callable[[Iterable[tuple[str, WindrowWarning]]], None]
"""Gives each warning once, told apart by what it is about."""


class Handle:
    """A query of a connection: its changes, and its answer.

    >>> import windrow
    >>> db = windrow.connect()
    >>> [high] = db.execute('''
    ...     CREATE STREAM bids (ts BIGINT, price BIGINT);
    ...     SELECT MAX(price) AS top FROM bids [RANGE 10 SECONDS];
    ... ''')
    >>> db.push("bids", {"ts": [1, 2, 20], "price": [7, 9, 5]})
    >>> high.changes().to_pylist()[:2]
    [{'instant': 1, 'change': '+', 'top': 7}, {'instant': 2, 'change': '-', 'top': 7}]
    """

    def __init__(self, run: Run, number: int, warn: Warn) -> None:
        self._started: Run | None = run
        self._number, self._warn = number, warn
        self._name = run.job.members[number].name

    @property
    def _run(self) -> Run:
        if self._started is None:
            raise StateError(
                "it was dropped, and has no answer any more",
                where=f"query {self._name}",
                remedy="connection.queries has those that there are",
            )
        return self._started

    def drop(self) -> None:
        """Hold nothing of it any more: DROP has ended it."""
        self._started = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def declaration(self) -> QueryDeclaration:
        """The query as it was declared, with its plan."""
        return self._run.job.members[self._number].query

    @property
    def now(self) -> int | None:
        """The last instant that is part of the answer; None before the first."""
        return self._run.now

    @property
    def complete_from(self) -> int | None:
        """From which instant on its answers are those of a query that ran from the beginning.

        None if it has missed no rows of its streams, or shares synopses that have them all: then
        they are from its first answer on. It is FOREVER of ``windrow.core.time`` (2**63 - 1) if
        what it has missed will never be irrelevant, or nobody knows when it is.
        """
        return self._run.complete_for(self._number)

    @property
    def lateness(self) -> Lateness | None:
        """Whether it is late, and has been; None without a ``max_delay``, or if it has no SLIDE.

        A late query is answered for fewer instants than its SLIDE asks for, and each change says
        for which; ``answer`` is the one for ``answered``.
        """
        delay = self._run.delay(self._number)
        return None if delay is None else Lateness.of(delay, self._run.job.clock)

    @property
    def rows_in(self) -> int:
        """Rows of its streams, and updates of its relations, so far."""
        return self._run.rows_in

    @property
    def rows_out(self) -> int:
        """Changes so far."""
        return self._run.rows_out(self._number)

    def changes(self, *, drain: bool = False) -> pa.Table:
        """All changes so far: ``instant``, ``change`` (``+`` or ``-``), then the columns.

        Those that were drained before are left out, and ``drain`` makes it so for these. Changes of
        a query INTO files are read from there; embedded, others are kept in memory until they are
        drained.
        """
        self._catch_up()
        query = self.declaration
        schema = changes_schema(query.plan.schema, query.clock)
        return self._run.consumers(self._number).table(schema, drain=drain)

    def stream(self) -> Iterator[pa.RecordBatch]:
        """The changes that were not drained, batch by batch, until there is none by now.

        A batch is drained when the next is asked for.
        """
        self._catch_up()
        return self._run.consumers(self._number).stream()

    def on_change(self, listener: Hear) -> None:
        """Call ``listener`` with all changes that were not drained, and then with all that come.

        It gets a batch at a time and drains it: embedded whenever rows or time have come to the
        connection, on Spark from a thread of its own. There an error that it raises ends that, and
        is raised again by whoever looks at the query next.
        """
        self._run.consumers(self._number).hear(listener)

    def foreach_batch(self, function: TakeBatch) -> None:
        """Call ``function(changes, batch)`` once for every micro-batch that has changes, in order.

        ``changes`` is a table as ``changes()`` returns it, and drained by the call. On Spark
        ``batch`` is the number of the micro-batch, and the function is called when its results are
        published and before it is over. If the function raises, or the process dies, the same
        batch comes again when the query goes on from its checkpoint: whoever writes elsewhere
        makes that idempotent by the number. What was published before there was a function comes
        first, possibly several micro-batches at once under the number of the last. Embedded, the
        numbers count from 0 in each process.
        """
        self._run.consumers(self._number).each_batch(function)

    def answer(self) -> pa.Table:
        """The relation at the last closed instant; of a stream, all that came out undrained."""
        self._run.refuse_if_stopped()
        if self._run.job.members[self._number].is_stream:
            return self.changes().drop_columns([INSTANT, CHANGE])
        self._catch_up()
        return sort_by_rank(self._run.live_rows(self._number), self.declaration.plan)

    def summaries(self) -> Callable[[], pa.Table] | None:
        """The summaries of sub-windows that it keeps, to be made a table of; None if none."""
        self._run.refuse_if_stopped()
        return self._run.summaries(self._number)

    def closed_instant(self) -> int | None:
        """The instant that ``answer`` holds for, when all that has come is worked off: ``now``, or
        an earlier one if the query is late.
        """
        self._catch_up()
        lateness = self.lateness
        return self.now if lateness is None else lateness.answered

    def _catch_up(self) -> None:
        self._run.catch_up()
        self._warn(self._run.losses())

    def stop(self) -> None:
        """Nobody will look at it any more; one that writes files works off what has come first."""
        self._run.stop(self._number)

    def __repr__(self) -> str:
        if self._started is None:
            return f"<query {self.name}: dropped>"
        return f"<query {self.name}: {self._run.state(self._number)}>"

    def _repr_html_(self) -> str:
        """Its answer, as a table."""
        try:
            answer = self.answer()
        except WindrowError as error:
            return f"<p>{escape(str(error))}</p>"
        return table_html(answer, repr(self)[1:-1])

    def plot(self, y: str | None = None, *, by: str | None = None, ax: Any = None) -> Any:
        """Draw a column of the answer over time, a line for each value of the column ``by``.

        ``y`` is the last column if it is not given. The lines are made of ``changes()``: each is a
        step function, with a gap where the answer has no row. Returns Matplotlib's axes, which are
        ``ax`` if they are given. At every instant a line needs one row of the answer at most.
        """
        from windrow.engine.answer_plot import draw_answer  # noqa: PLC0415 - Matplotlib

        return draw_answer(self.changes(), self.name, y, by, ax)


class ArchiveHandle(Handle):
    """An archive of a connection; what it holds is asked by probes and scans."""

    @property
    def path(self) -> Path:
        """Where it is."""
        path = self._run.destination(self._number)
        assert path is not None, "an archive has a directory"
        return path

    @property
    def waiting(self) -> int:
        """Rows of days that are not over; those of the others are in the archive by now."""
        self._catch_up()
        return self._run.waiting or 0

    def changes(self, *, drain: bool = False) -> pa.Table:
        """Nothing: they are in the archive and nowhere else."""
        return pa.table({})

    def answer(self) -> pa.Table:
        """Nothing: an archive is asked by probes and scans."""
        return pa.table({})

    def _repr_html_(self) -> str:
        """Where it is, and how many rows are in."""
        return f"<p>{escape(f'archive {self.name} in {self.path}: {self.rows_out:,} rows')}</p>"


class SubscriptionsHandle:
    """Subscriptions that can be changed while their stream runs.

    A change takes effect at an instant that is still open: rows from then on see it, whatever has
    been pushed already. Without ``at`` it is the first open one. On Spark subscriptions are what
    their files say, and changes from Python are refused.
    """

    def __init__(self, query: Handle) -> None:
        self._query, self._name = query, query.name

    @property
    def _run(self) -> Run:
        return self._query._run  # noqa: SLF001 - of the same module

    def add(self, subscriptions: Any, at: Instant | None = None) -> int:
        """Add entries (see ``windrow.subscriptions.entry_columns``); returns how many."""
        return self._run.subscriptions.add(subscriptions, self._open(at))

    def drop(self, ids: Id | Iterable[Id], at: Instant | None = None) -> int:
        """End all entries of these subscriptions; returns how many there were."""
        return self._run.subscriptions.drop(ids, self._open(at))

    def _open(self, at: Instant | None) -> int | None:
        now = self._run.now
        if at is None:
            return None if now is None else now + 1
        if self._run.job.clock is Clock.INTEGER and not isinstance(at, int | np.integer):
            raise InputError(
                where=f"subscriptions {self._name}", expected="an integer instant", found=repr(at)
            )
        wanted = instant(at)
        if wanted <= (BEGINNING if now is None else now):
            raise InputError(
                where=f"subscriptions {self._name}",
                expected=f"an instant after {now}, the last one that is closed",
                found=str(wanted),
                remedy="leave at out for the first open instant",
            )
        return wanted

    def __len__(self) -> int:
        """How many entries there are."""
        return len(self._run.subscriptions)

    def __repr__(self) -> str:
        return f"<subscriptions {self._name}: {len(self):,} entries>"


class Executed(list[Handle]):
    """The queries of a script, in order; what it asked to be shown beside them.

    >>> import windrow
    >>> db = windrow.connect()
    >>> done = db.execute("CREATE STREAM hits (ts BIGINT, page STRING); SHOW STREAMS;")
    >>> len(done), done.tables[0].to_pylist()[0]["columns"]
    (0, 'ts BIGINT, page STRING')
    """

    def __init__(
        self, handles: Sequence[Handle], listings: Sequence[Listing], plans: Sequence[Plan]
    ) -> None:
        super().__init__(handles)
        self.listings, self.plans = list(listings), list(plans)

    @property
    def tables(self) -> list[pa.Table]:
        """What SHOW and DESCRIBE say."""
        return [table_of(listing) for listing in self.listings]

    def __repr__(self) -> str:
        shown = [table.to_pandas().to_string(index=False) for table in self.tables]
        handles = [super().__repr__()] if self or not (shown or self.plans) else []
        return "\n\n".join([*handles, *shown, *self.plans])

    def _repr_html_(self) -> str:
        tables = (
            rows_html(listing.headings, listing.rows, listing.title) for listing in self.listings
        )
        parts = [*(h._repr_html_() for h in self), *tables, *(p._repr_html_() for p in self.plans)]
        return "".join(parts)


def table_of(listing: Listing) -> pa.Table:
    """A listing as Arrow."""
    columns = [[row[i] for row in listing.rows] for i in range(len(listing.headings))]
    fields = [pa.field(heading, pa.string()) for heading in listing.headings]
    return pa.table(columns, schema=pa.schema(fields))
