"""CREATE STREAM and CREATE RELATION: columns, the column that holds the time, files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath

from windrow.core.errors import BindError
from windrow.core.file_formats import WORDS, is_compressed
from windrow.core.schema import Field, Schema, Type
from windrow.core.text_encoding import UNPACK
from windrow.core.time import FOREVER, Clock
from windrow.cql.statement_tree import ColumnDefinition, CreateRelation, CreateStream, FileClause
from windrow.cql.syntax_tree import Duration, Unlimited
from windrow.plan.binder.scope import did_you_mean
from windrow.plan.binder.window_ticks import in_ticks
from windrow.plan.catalog import RelationDeclaration, StreamDeclaration
from windrow.plan.nodes import FileSource
from windrow.plan.nodes.stream_relation import CsvOptions


def bind_stream(statement: CreateStream) -> StreamDeclaration:
    schema = schema_of(statement.columns, statement.name.text)
    timestamp = _timestamp(statement, schema)
    clock = Clock.TIMESTAMP if schema[timestamp].type is Type.TIMESTAMP else Clock.INTEGER
    slack = in_ticks(statement.slack, clock, "SLACK", least=0) if statement.slack else 0
    name, source = statement.name.text, source_of(statement.source)
    refuse_nested_text(source, statement.columns)
    ahead, idle = _ahead(statement.ahead, clock), _microseconds(statement.idle, "IDLE AFTER")
    return StreamDeclaration(
        name, schema, timestamp, clock, slack, source, statement.span, ahead, idle
    )


def _ahead(limit: Duration | Unlimited | None, clock: Clock) -> int | None:
    if isinstance(limit, Duration):
        return in_ticks(limit, clock, "AHEAD", least=0)
    return None if limit is None else FOREVER


def _microseconds(limit: Duration | Unlimited | None, what: str, least: int = 1) -> int | None:
    """A duration on the clock on the wall, which has no ticks of its own."""
    if not isinstance(limit, Duration):
        return None if limit is None else FOREVER
    if limit.unit is None:
        raise BindError(
            span=limit.span, expected=f"a unit of time for {what}", found=str(limit.amount),
            remedy=f"write for example {what} {limit.amount} SECONDS",
        )  # fmt: skip
    return in_ticks(limit, Clock.TIMESTAMP, what, least)


def bind_relation(statement: CreateRelation) -> RelationDeclaration:
    schema = schema_of(statement.columns, statement.name.text)
    source = source_of(statement.source, headless=False)
    refuse_nested_text(source, statement.columns)
    names = [f.name.lower() for f in schema]
    key: list[int] = []
    for column in statement.primary_key:
        wanted = column.text.lower()
        if wanted not in names:
            raise BindError(
                f"there is no column {column.text} to be a key", span=column.span,
                remedy=did_you_mean(wanted, [f.name for f in schema]),
            )  # fmt: skip
        if names.index(wanted) in key:
            raise BindError(f"the key names {column.text} twice", span=column.span)
        key.append(names.index(wanted))
    ahead = _microseconds(statement.ahead, "AHEAD", least=0)
    idle = _microseconds(statement.idle, "IDLE AFTER")
    return RelationDeclaration(
        statement.name.text, schema, statement.retroactive, source, statement.span, tuple(key),
        ahead, idle,
    )  # fmt: skip


def schema_of(columns: tuple[ColumnDefinition, ...], qualifier: str) -> Schema:
    """The declared columns; BindError if a name is given twice."""
    fields: list[Field] = []
    for column in columns:
        if column.name.text.lower() in (f.name.lower() for f in fields):
            raise BindError(f"the column {column.name.text} is declared twice", span=column.span)
        fields.append(Field(column.name.text, column.type or Type.STRING, qualifier))
    return Schema(tuple(fields))


def refuse_nested_text(source: FileSource | None, columns: tuple[ColumnDefinition, ...]) -> None:
    """BindError if files of CSV are to have values inside of values."""
    for column in columns:
        if source is not None and source.format == "csv" and column.type and column.type.is_nested:
            raise BindError(
                "a field of CSV has no values inside", span=column.span,
                expected="FORMAT json or parquet", found=f"{column.type.value} in FORMAT csv",
                remedy="declare it STRING, and read it with ->> if it is JSON",
            )  # fmt: skip


def _timestamp(statement: CreateStream, schema: Schema) -> int:
    """The column of TIMESTAMP BY; by default ``ts``, or the only TIMESTAMP column."""
    names = [f.name.lower() for f in schema]
    if statement.timestamp is not None:
        wanted, span = statement.timestamp.text.lower(), statement.timestamp.span
        if wanted not in names:
            raise BindError(
                f"there is no column {statement.timestamp.text} to take the time from", span=span,
                remedy=did_you_mean(wanted, [f.name for f in schema]),
            )  # fmt: skip
    else:
        times = [f.name.lower() for f in schema if f.type is Type.TIMESTAMP]
        span = statement.name.span
        if "ts" in names:
            wanted = "ts"
        elif len(times) == 1:
            wanted = times[0]
        else:
            raise BindError(
                f"it is not clear which column of {statement.name.text} holds the time", span=span,
                expected="a column called ts, or one TIMESTAMP column",
                found=f"{len(times)} TIMESTAMP columns", remedy="write TIMESTAMP BY and the column",
            )  # fmt: skip
    index = names.index(wanted)
    kind = schema[index].type
    if kind is not Type.TIMESTAMP and not kind.integral:
        raise BindError(
            span=span, expected="a TIMESTAMP, BIGINT or INT column to take the time from",
            found=f"{schema[index].name} {kind.value}",
        )  # fmt: skip
    return index


_FORMAT_HINTS = {
    **dict.fromkeys(("tsv", "tab"), "write FORMAT csv (SEPARATOR '\\t')"),
    **dict.fromkeys(("xz", "zip", "7z", "br", "snappy"), UNPACK),
    **dict.fromkeys(("xlsx", "xls", "ods"), "save the sheet as CSV"),
    "avro": "write the rows as Parquet",
}
"""What to do with formats and endings that are none of ours."""


def format_of(clause: FileClause, formats: dict[str, str], default: str | None) -> str:
    """What FORMAT says, or else the ending of the path, or else ``default``."""
    if clause.format is not None:
        found = formats.get(clause.format.text.lower())
        if found is None:
            raise BindError(
                span=clause.format.span, expected="the format " + ", ".join(sorted(set(formats))),
                found=clause.format.text,
                remedy=_FORMAT_HINTS.get(clause.format.text.lower())
                or did_you_mean(clause.format.text, formats),
            )  # fmt: skip
        return found
    path = PurePath(clause.path)
    path = path.with_suffix("") if is_compressed(path) else path
    guessed = formats.get(path.suffix.lstrip(".").lower(), default)
    if guessed is None:
        raise BindError(
            span=clause.span, expected="FORMAT after the path", found="none",
            remedy=_FORMAT_HINTS.get(path.suffix.lstrip(".").lower())
            or "write FORMAT csv, FORMAT json or FORMAT parquet",
        )  # fmt: skip
    return guessed


def source_of(clause: FileClause | None, *, headless: bool = True) -> FileSource | None:
    """The files of a stream, or of a relation, whose files need a header (not ``headless``)."""
    if clause is None:
        return None
    form = format_of(clause, WORDS, None)
    return FileSource(clause.path, form, _csv_options(clause, form, headless=headless))


def _csv_options(clause: FileClause, form: str, *, headless: bool) -> CsvOptions:
    options = CsvOptions()
    for name, value in clause.options:
        word = CSV_WORDS.get(name.text.upper())
        if form != "csv" or word is None:
            raise BindError(
                span=name.span, expected="SEPARATOR, QUOTE or HEADER of FORMAT csv",
                found=f"{name.text} of FORMAT {form}", remedy=did_you_mean(name.text, CSV_WORDS)
                if form == "csv" else f"FORMAT {form} has no options",
            )  # fmt: skip
        if word == "header":
            if value.lower() not in ("true", "false"):
                raise BindError(span=name.span, expected="HEADER true or false", found=value)
            if value.lower() == "false" and not headless:
                raise BindError(
                    "files of a relation need a header, which says whether they have the columns "
                    "instant and change", span=name.span, remedy="write one into the files",
                )  # fmt: skip
            options = replace(options, header=value.lower() == "true")
            continue
        value = {"\\t": "\t", "tab": "\t"}.get(value.lower(), value)  # noqa: PLW2901
        one = len(value) == 1 and value.isascii() and value not in "\r\n\0"
        if not one and not (word == "quote" and value == ""):
            raise BindError(
                span=name.span, expected=f"one ASCII character for {name.text}", found=repr(value)
            )
        if word == "quote":
            options = replace(options, quote=value)
        else:
            options = replace(options, separator=value)
    if options.separator == options.quote:
        raise BindError(
            "SEPARATOR and QUOTE are the same character", span=clause.span,
            remedy="write QUOTE '' if fields are never quoted",
        )  # fmt: skip
    return options


CSV_WORDS = {
    "SEPARATOR": "separator", "DELIMITER": "separator", "DELIM": "separator", "SEP": "separator",
    "QUOTE": "quote", "HEADER": "header",
}  # fmt: skip
"""What options of FORMAT csv are called, here and elsewhere."""
