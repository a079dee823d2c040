"""What this version can run, and which buffer each piece of state is kept in."""

from __future__ import annotations

from windrow.core.errors import NotExecutableError
from windrow.core.patterns import UpdatePattern
from windrow.plan.catalog import ArchiveDeclaration, Declaration, SubscriptionsDeclaration
from windrow.plan.nodes import (
    DuplicateElimination,
    Every,
    GroupBy,
    Join,
    Negation,
    Node,
    OutputWindow,
    RelationScan,
    StreamKind,
    TopK,
    ToStream,
    Window,
    walk,
)
from windrow.plan.windows import RowsWindow

EXECUTABLE_AGGREGATES = frozenset({"SUM", "COUNT", "AVG", "MIN", "MAX"})

BUFFERS = {
    UpdatePattern.MONOTONIC: "list",
    UpdatePattern.WEAKEST: "FIFO of basic windows",
    UpdatePattern.WEAK: "calendar queue by expiry",
    UpdatePattern.STRICT: "hash on the tuple",
}
"""The state buffer of an input by its update pattern (Golab 2006, 3.5.2)."""
GROUPS = "array by group"
LAST_ROWS = "ring of the last rows"


def not_executable(node: Node) -> NotExecutableError | None:
    """The first construct of the plan that this version cannot run, as an error to raise."""
    for part in walk(node):
        error = _missing(part)
        if error is not None:
            return error
    return None


def declaration_not_executable(declaration: Declaration) -> NotExecutableError | None:
    """Why this version cannot do what a declaration other than a query asks for."""
    match declaration:
        case ArchiveDeclaration():
            return NotExecutableError("CREATE ARCHIVE", span=declaration.span)
        case SubscriptionsDeclaration():
            return NotExecutableError("CREATE SUBSCRIPTIONS", span=declaration.span)
    return None


def _missing(node: Node) -> NotExecutableError | None:
    match node:
        case Negation():
            return NotExecutableError(node.form.value, span=node.span)
        case RelationScan():
            kind = "a relation" if node.retroactive else "an NRR"
            return NotExecutableError(f"reading {kind} ({node.name})", span=node.span)
        case TopK():
            return NotExecutableError(
                "TOP k (ORDER BY ... LIMIT k)", span=node.span,
                remedy="leave it out to get the whole answer",
            )  # fmt: skip
        case OutputWindow():
            return NotExecutableError("WSTREAM", span=node.span)
        case ToStream(kind=StreamKind.ISTREAM_RESTORE | StreamKind.RSTREAM_RESTORE):
            return NotExecutableError(node.kind.value, span=node.span)
        case GroupBy():
            return _missing_aggregate(node)
    return None


def _missing_aggregate(node: GroupBy) -> NotExecutableError | None:
    for aggregate in node.aggregates:
        span = aggregate.span or node.span
        if aggregate.function not in EXECUTABLE_AGGREGATES:
            return NotExecutableError(aggregate.function, span=span)
        if aggregate.distinct and aggregate.function in ("SUM", "AVG"):
            return NotExecutableError(
                f"{aggregate.function}(DISTINCT)", span=span,
                remedy="aggregate over a sub-query with SELECT DISTINCT",
            )  # fmt: skip
    return None


def buffer_for(consumer: Node, source: Node) -> str | None:
    """How ``consumer`` keeps what comes from its input ``source``; None if it keeps nothing."""
    match consumer:
        case Join(left=left, right=right):
            # An NRR's tuples meet the other side as it passes by, so that side is not kept.
            partner = right if source is left else left
            if isinstance(partner, RelationScan) and not partner.retroactive:
                return None
            return BUFFERS[source.pattern]
        case Negation() | TopK():
            return BUFFERS[source.pattern]
        case DuplicateElimination():
            return BUFFERS[source.pattern]
        case GroupBy():
            kept = source.pattern is not UpdatePattern.MONOTONIC
            return f"{BUFFERS[source.pattern]}, {GROUPS}" if kept else GROUPS
        case Window(spec=RowsWindow()):
            return LAST_ROWS
        case ToStream(kind=StreamKind.ISTREAM):
            return None
        case ToStream() | Every() | OutputWindow():
            return BUFFERS[source.pattern]
    return None
