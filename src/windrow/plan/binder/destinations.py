"""INTO: where the results of a query go, and where they must not."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import PurePath

from windrow.core.errors import BindError
from windrow.core.file_formats import WORDS
from windrow.cql.syntax_tree import FileClause
from windrow.plan.binder.scope import Context
from windrow.plan.binder.stream_declarations import format_of
from windrow.plan.catalog import Destination, RelationDeclaration, StreamDeclaration
from windrow.plan.nodes import FileSource, Node, RelationScan, StreamScan, walk


def destination(into: FileClause | None, plan: Node, context: Context) -> Destination | None:
    """Where results go; two queries that write to one place would remove each other's."""
    if into is None:
        return None
    kind = format_of(into, {**WORDS, "console": "console"}, "parquet")
    if kind == "console":
        if into.limit is not None and into.limit < 0:
            raise BindError(span=into.span, expected="a LIMIT of 0 or more", found=str(into.limit))
        return Destination(into.path, kind, into.limit)
    other = context.catalog.writers.get(PurePath(into.path))
    if other is not None:
        raise BindError(
            f"{other} writes its results into '{into.path}' already", span=into.span,
            remedy="give each query a directory of its own",
        )  # fmt: skip
    for scan in walk(plan):
        if isinstance(scan, StreamScan | RelationScan):
            _refuse_own_input(into, kind, scan.name, context)
    return Destination(into.path, kind)


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
