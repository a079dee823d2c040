"""CREATE ARCHIVE, CREATE SUBSCRIPTIONS, and INTO: where results go, and where they must not."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import PurePath

from windrow.core.errors import BindError
from windrow.core.file_formats import WORDS
from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Schema
from windrow.core.time import FOREVER, Clock
from windrow.cql.statement_tree import CreateArchive, CreateSubscriptions, FileClause
from windrow.cql.syntax_tree import Duration, Name
from windrow.plan.binder.from_clause import named_plan
from windrow.plan.binder.scope import Context, clock_of, did_you_mean
from windrow.plan.binder.stream_declarations import format_of
from windrow.plan.binder.window_ticks import in_ticks
from windrow.plan.catalog import (
    ArchiveDeclaration,
    Destination,
    QueryDeclaration,
    RelationDeclaration,
    StreamDeclaration,
    SubscriptionsDeclaration,
)
from windrow.plan.nodes import FileSource, GroupBy, Node, RelationScan, StreamScan, Subscribe, walk
from windrow.plan.physical.tuple_lifetime import longest_life

SCHEMES = ("DEL", "REINDEX", "REINDEX+", "REINDEX++", "WATA", "RATA", "GRID")
TECHNIQUES = {
    "PACKED": "packed shadow",
    "SHADOW": "simple shadow",
    "INPLACE": "in-place",
    "ATREST": "packed at rest",
}
RUNS = {"arrow": "arrow", "parquet": "parquet"}
CONSTITUENTS = 4


def bind_archive(statement: CreateArchive, context: Context) -> ArchiveDeclaration:
    plan = named_plan(statement.on, context)
    scheme = statement.scheme.text.upper()
    if scheme not in SCHEMES:
        raise BindError(
            span=statement.scheme.span, expected="a scheme: " + ", ".join(SCHEMES), found=scheme,
            remedy=did_you_mean(scheme, SCHEMES),
        )  # fmt: skip
    _check_pattern(statement, plan, scheme)
    technique = statement.technique.text.upper() if statement.technique else None
    if technique is not None and technique not in TECHNIQUES:
        assert statement.technique is not None
        raise BindError(
            span=statement.technique.span, found=technique,
            expected="an update technique: " + ", ".join(TECHNIQUES),
            remedy=did_you_mean(technique, TECHNIQUES),
        )  # fmt: skip
    if scheme == "GRID" and technique is not None:
        assert statement.technique is not None
        raise BindError(
            "a GRID has no update technique to choose", span=statement.technique.span,
            remedy=f"remove {technique}",
        )  # fmt: skip
    if scheme != "GRID" and statement.expiries is not None:
        raise BindError(
            f"{scheme} takes one number, that of its constituents", span=statement.scheme.span,
            remedy=f"write {scheme}({statement.constituents})",
        )  # fmt: skip
    for number in (statement.constituents, statement.expiries):
        if number is not None and number < 1:
            raise BindError(
                span=statement.scheme.span, expected="at least one constituent", found=str(number)
            )
    clock = clock_of(plan, statement.span) or context.catalog.clock
    window, day = _days(statement.window, clock)
    if scheme == "GRID":
        _check_room(statement, plan, window, day)
    into = statement.into
    path = statement.name.text if into is None else into.path
    kind = "arrow" if into is None else format_of(into, RUNS, "arrow")
    other = context.catalog.writers.get(PurePath(path))
    if other is not None:
        raise BindError(
            f"{other} writes into '{path}' already", span=statement.span,
            remedy="give each archive a directory of its own: INTO 'path'",
        )  # fmt: skip
    declared = context.catalog.find(statement.on.text)
    assert declared is not None
    names = plan.schema.unique_names()
    key = tuple(names[_index_of(name, plan.schema, statement.on.text)] for name in statement.key)
    return ArchiveDeclaration(
        statement.name.text, declared.name, key, window, day, scheme,
        statement.constituents or CONSTITUENTS, statement.expiries, technique, plan, clock, path,
        kind, statement.span,
    )  # fmt: skip


def _check_pattern(statement: CreateArchive, plan: Node, scheme: str) -> None:
    """Streams are kept by day, results by expiry, and what is withdrawn unforeseen not at all."""
    on, pattern = statement.on, plan.pattern
    if pattern is UpdatePattern.STRICT or isinstance(plan, RelationScan | GroupBy):
        raise BindError(
            f"{on.text} withdraws results at any time (its update pattern is "
            f"{pattern.name}), and an archive must know when each record expires",
            span=on.span,
            remedy="archive a stream, or the insertions into a view: ISTREAM(...)",
        )
    lasting = pattern is UpdatePattern.MONOTONIC
    if lasting == (scheme == "GRID"):
        raise BindError(
            f"{on.text} is a stream, whose records all live as long as the window" if lasting
            else f"the records of {on.text} have lifetimes of their own",
            span=statement.scheme.span,
            expected="a scheme of days, such as WATA(4)" if lasting else "GRID(4, 4)",
            found=scheme,
        )  # fmt: skip


def _days(window: Duration, clock: Clock) -> tuple[int, int]:
    """The window and a day of it in ticks: a day is one of what the window counts in."""
    total = in_ticks(window, clock, "WINDOW")
    count = int(window.amount)
    if count != window.amount or total % count:
        raise BindError(
            span=window.span, expected="a whole number of days (or hours, or minutes)",
            found=str(window.amount), remedy="write 36 HOURS rather than 1.5 DAYS",
        )  # fmt: skip
    return total, total // count


def _check_room(statement: CreateArchive, plan: Node, window: int, day: int) -> None:
    """A grid has room for lives as long as its window, and no more partitions than days."""
    life, on = longest_life(plan), statement.on.text
    unit = statement.window.unit or "TICK"
    if life == FOREVER:
        raise BindError(
            f"some records of {on} never expire, and a GRID is for records that do",
            span=statement.on.span, remedy="give each stream in it a window, [RANGE ...]",
        )  # fmt: skip
    if life > window:
        least = f"{-(-life // day)} {unit}S"
        raise BindError(
            f"a record of {on} may live longer than the window", span=statement.window.span,
            expected=f"{least} or more", found=str(statement.window.amount),
            remedy=f"write WINDOW {least}",
        )  # fmt: skip
    days, rows = window // day, statement.constituents or CONSTITUENTS
    columns = statement.expiries or rows
    if max(rows, columns) > days:
        side = min(days, CONSTITUENTS)
        raise BindError(
            span=statement.scheme.span, found=f"{rows} x {columns}",
            expected=f"at most {days} partitions each way, as many as {unit}S in the window",
            remedy=f"write GRID({side}, {side})",
        )  # fmt: skip


def bind_subscriptions(
    statement: CreateSubscriptions, context: Context
) -> SubscriptionsDeclaration:
    plan = named_plan(statement.on, context)
    if plan.pattern is not UpdatePattern.MONOTONIC:
        raise BindError(
            f"{statement.on.text} withdraws results (its update pattern is {plan.pattern.name}), "
            "and a match cannot be withdrawn",
            span=statement.on.span,
            remedy="subscribe to a stream, or to a view made one with ISTREAM(...)",
        )
    columns = tuple(_index_of(name, plan.schema, statement.on.text) for name in statement.columns)
    repeated = next((n for i, n in enumerate(columns) if n in columns[:i]), None)
    if repeated is not None:
        raise BindError(
            f"the column {plan.schema[repeated].name} is given twice", span=statement.span
        )
    for name, _ in statement.source.options:
        raise BindError(
            "files of subscriptions have no options", span=name.span,
            remedy="separate their columns by commas, below a header",
        )  # fmt: skip
    source = FileSource(statement.source.path, format_of(statement.source, WORDS, None))
    clock = clock_of(plan, statement.span) or context.catalog.clock
    plan = Subscribe(plan, source, columns, clock, span=statement.span)
    return SubscriptionsDeclaration(
        statement.name.text, statement.on.text, tuple(plan.attributes), source, plan, clock,
        destination(statement.into, plan, context), statement.span, statement.text,
    )  # fmt: skip


def _index_of(name: Name, schema: Schema, what: str) -> int:
    known = [f.name.lower() for f in schema]
    if name.text.lower() not in known:
        raise BindError(
            f"there is no column {name.text} in {what}", span=name.span,
            remedy=did_you_mean(name.text, [f.name for f in schema]),
        )  # fmt: skip
    return known.index(name.text.lower())


def destination(
    into: FileClause | None, plan: Node, context: Context, clock: Clock | None = None
) -> Destination | None:
    """Where results go. Queries with the same columns may share a place, if they have a ``clock``;
    the results of others there would remove each other's."""
    if into is None:
        return None
    kind = format_of(into, {**WORDS, "console": "console"}, "parquet")
    if kind == "console":
        if into.limit is not None and into.limit < 0:
            raise BindError(span=into.span, expected="a LIMIT of 0 or more", found=str(into.limit))
        return Destination(into.path, kind, into.limit)
    if kind == "csv":
        _refuse_nested(into, plan)
    other = context.catalog.writers.get(PurePath(into.path))
    if other is not None:
        mine = _of_table(plan, clock, Destination(into.path, kind))
        _check_same_table(into, mine, other, context)
    for scan in walk(plan):
        if isinstance(scan, StreamScan | RelationScan):
            _refuse_own_input(into, kind, scan.name, context)
    return Destination(into.path, kind)


def _refuse_nested(into: FileClause, plan: Node) -> None:
    """BindError if a column has values inside, which a field of CSV cannot have."""
    for field in plan.schema:
        if field.type.is_nested:
            raise BindError(
                span=into.span, expected="FORMAT parquet or json", found="FORMAT csv",
                remedy=f"{field.name} is {field.type.value}, and a field of CSV has no values "
                "inside",
            )  # fmt: skip


def _check_same_table(
    into: FileClause, mine: dict[str, str] | None, other: str, context: Context
) -> None:
    """BindError if results cannot be rows of one table with those of another query."""
    found = context.catalog.find(other)
    theirs = None
    if isinstance(found, QueryDeclaration) and found.into is not None:
        theirs = _of_table(found.plan, found.clock, found.into)
    if mine is None or theirs is None:
        raise BindError(
            f"{other} writes its results into '{into.path}' already", span=into.span,
            remedy="give each query a directory of its own",
        )  # fmt: skip
    differs = next((what for what, value in mine.items() if value != theirs[what]), None)
    if differs is not None:
        raise BindError(
            f"{other} writes its results into '{into.path}' already, and these cannot be rows of "
            "the same table", span=into.span, expected=f"{differs} {theirs[differs]}",
            found=mine[differs], remedy="make them equal, or give each a directory of its own",
        )  # fmt: skip


def _of_table(plan: Node, clock: Clock | None, into: Destination) -> dict[str, str] | None:
    """What the results of queries have in common that share a table, each under what it is called;
    None if they have one for themselves. The clock of a query over relations only may be another
    when updates come."""
    if clock is None or not any(isinstance(node, StreamScan) for node in walk(plan)):
        return None
    return {
        "FORMAT": into.format,
        "the columns": ", ".join(f"{f.name} {f.type.value}" for f in plan.schema),
        "the clock": clock.value,
        "results of": "a stream" if plan.pattern is UpdatePattern.MONOTONIC else "a relation",
    }


def _refuse_own_input(into: FileClause, kind: str, name: str, context: Context) -> None:
    """A stream takes all files below its directory: it would take in what comes of it."""
    found = context.catalog.find(name)
    source = found.source if isinstance(found, StreamDeclaration | RelationDeclaration) else None
    if source is not None and _takes(source, into, kind):
        raise BindError(
            f"the results would be read as rows of {name}, which are all files in '{source.path}'",
            span=into.span,
            remedy="write them to a directory that does not lie in there",
        )


def _takes(source: FileSource, into: FileClause, kind: str) -> bool:
    """Whether a file of results would be one of the source: in its directory, or of its pattern."""
    path = PurePath(into.path)
    if path.is_relative_to(source.path):
        return True
    result = (path / f"batch-00000000-00000.{'jsonl' if kind == 'json' else kind}").parts
    wild = PurePath(source.path).parts
    return len(wild) == len(result) and all(map(fnmatchcase, result, wild))
