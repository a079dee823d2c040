"""Which tuples of a stream a part of a plan has: a window, conditions, columns.

Selections, projections and one window over one stream or relation can be put in one form: the
tuples of a window that satisfy some conditions, as some expressions, all over the stream's own
columns. In that form it is seen whether tuples that are held for one query are all that another
needs (``follow_from``): the conditions that held them back are among its own, and what it wants of
each tuple can be computed from what is kept of it. Conditions are compared as they are written: a
weaker one that is written differently is not recognised.

A selection above a window of rows is not put in this form: such a window is of the rows before the
selection, and what is held is a part of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from windrow.core.time import BEGINNING
from windrow.plan.expressions import (
    Call,
    Column,
    Expression,
    conjuncts,
    render,
    replace_columns,
)
from windrow.plan.nodes import (
    NegativeTuples,
    Node,
    Projection,
    RelationScan,
    Selection,
    StreamScan,
    Window,
)
from windrow.plan.nodes.window_specs import (
    PARTITIONED,
    NowWindow,
    RangeWindow,
    RowsWindow,
    SessionWindow,
    UnboundedWindow,
    WindowSpec,
)
from windrow.plan.physical.stages import plain


@dataclass(frozen=True)
class WindowContents:
    """See the module. Columns of expressions have no names; those of a relation have no ``spec``.

    ``partition`` are the keys of a window that is PARTITION BY.
    """

    source: StreamScan | RelationScan
    spec: WindowSpec | None
    columns: tuple[Expression, ...]
    conditions: frozenset[Expression] = frozenset()
    partition: tuple[Expression, ...] = ()

    @property
    def stream(self) -> str:
        """The lower-case name of the stream or relation."""
        return self.source.name.lower()

    def as_columns(self, expressions: tuple[Expression, ...]) -> WindowContents:
        """The same tuples as expressions over these columns."""
        return replace(self, columns=tuple(self._own(e) for e in expressions))

    def _own(self, expression: Expression) -> Expression:
        """An expression over these columns as one over those of the stream."""
        return replace_columns(plain(expression), lambda c: self.columns[c.index])

    def selected_by(self, predicate: Expression) -> WindowContents | None:
        """Those that satisfy one more predicate."""
        if isinstance(self.spec, PARTITIONED):
            return None
        found = (self._own(part) for part in conjuncts(predicate))
        return replace(self, conditions=self.conditions | frozenset(found))

    def in_window(self, spec: WindowSpec) -> WindowContents | None:
        """Those of a window, if these are in none."""
        if not isinstance(self.spec, UnboundedWindow):
            return None
        spec = replace(spec, internal=False)
        if not isinstance(spec, PARTITIONED):
            return replace(self, spec=spec)
        keys = tuple(self.columns[k] for k in spec.partition_by)
        return replace(self, spec=replace(spec, partition_by=()), partition=keys)


def contents_of(node: Node) -> WindowContents | None:
    """The tuples of a node in that form; None if it has none."""
    match node:
        case StreamScan() | RelationScan():
            columns = tuple(Column(i, "", f.type) for i, f in enumerate(node.columns))
            spec = UnboundedWindow() if isinstance(node, StreamScan) else None
            return WindowContents(node, spec, columns)
        case NegativeTuples():
            below = contents_of(node.input)
            # Of these nobody knows when they leave, which tells where in a slide they came.
            return None if below is None or slides(below.spec) else below
    if not isinstance(node, Selection | Projection | Window):
        return None
    below = contents_of(node.input)
    if below is None:
        return None
    match node:
        case Projection():
            return below.as_columns(tuple(c.expression for c in node.columns))
        case Selection():
            return below.selected_by(node.predicate)
        case Window():
            return below.in_window(node.spec)


@dataclass(frozen=True)
class Derivation:
    """How wanted tuples come of held ones: the ``conditions`` that are left to check, and the
    ``columns``, both over the held columns."""

    conditions: tuple[Expression, ...]
    columns: tuple[Expression, ...]


def follow_from(
    wanted: WindowContents, held: WindowContents, more: Mapping[Expression, int] | None = None
) -> Derivation | None:
    """How wanted tuples come of held ones, whatever their windows; None if they do not.

    ``more`` are expressions over the stream that are known beside the held columns, and the
    columns that they are.
    """
    known = {**dict(more or {}), **{e: i for i, e in reversed([*enumerate(held.columns)])}}
    if held.stream != wanted.stream or not held.conditions <= wanted.conditions:
        return None
    if isinstance(wanted.spec, PARTITIONED) and held.conditions != wanted.conditions:
        return None  # rows are counted, and sessions end, after the conditions
    left = tuple(sorted(wanted.conditions - held.conditions, key=repr))
    names = [f.name for f in wanted.source.columns]
    conditions = [_over(e, known, names) for e in left]
    columns = [_over(e, known, names) for e in wanted.columns]
    if None in conditions or None in columns:
        return None
    return Derivation(
        tuple(e for e in conditions if e is not None), tuple(e for e in columns if e is not None)
    )


def _over(
    expression: Expression, known: Mapping[Expression, int], names: Sequence[str]
) -> Expression | None:
    """An expression over the stream as one over the columns that are known; those of the stream
    have ``names``, which errors say."""
    if expression in known:
        named = replace_columns(expression, lambda c: replace(c, name=names[c.index]))
        return Column(known[expression], render(named), expression.type)
    if isinstance(expression, Call):
        args = [_over(a, known, names) for a in expression.args]
        found = tuple(a for a in args if a is not None)
        return replace(expression, args=found) if len(found) == len(args) else None
    return None if isinstance(expression, Column) else expression


def interval_at(spec: WindowSpec, now: int) -> tuple[int, int] | None:
    """A window holds at ``now`` the tuples after the first of these instants, up to the second.

    None for windows that are not of time.

    >>> interval_at(RangeWindow(10), 25), interval_at(RangeWindow(10, slide=5), 28)
    ((15, 25), (15, 25))
    """
    match spec:
        case RangeWindow(length=length, slide=slide):
            upto = now if slide is None else now // slide * slide
            return max(upto - length, BEGINNING), max(upto, BEGINNING)
        case NowWindow():
            return max(now - 1, BEGINNING), now
        case UnboundedWindow():
            return BEGINNING, now
    return None


def slides(spec: WindowSpec | None) -> bool:
    """Whether a window moves by more than a tick, or a row, at a time."""
    return isinstance(spec, RangeWindow | RowsWindow) and spec.slide is not None


def tells_apart(held: WindowSpec | None, wanted: WindowSpec | None) -> bool:
    """Whether what is known of when the tuples of a window of time came is enough for another.

    One that slides by s knows of a tuple between which two of its *bounds* it came: multiples of s,
    and those less its length T. Who slides by a multiple of s, and has a length that differs from 0
    or T by a multiple of s, has no other bounds.

    >>> held = RangeWindow(25, slide=10)
    >>> [tells_apart(held, RangeWindow(n, slide=20)) for n in (15, 25, 30, 32)]
    [True, True, True, False]
    >>> tells_apart(held, RangeWindow(25, slide=5)), tells_apart(RangeWindow(25), held)
    (False, True)
    """
    if not (isinstance(held, RangeWindow) and held.slide is not None):
        return True
    if not isinstance(wanted, RangeWindow) or wanted.slide is None or wanted.slide % held.slide:
        return False
    return wanted.length % held.slide in (0, held.length % held.slide)


def is_held_by(wanted: WindowContents, held: WindowContents, now: int, since: int) -> bool:
    """Whether all tuples of a window at ``now`` are held in another; all after ``since`` came in.

    One of time is part of a longer one that can tell its tuples apart; sessions, and the rows of
    each key, only of themselves. For one of rows see ``last_rows``.
    """
    if held.spec is None or wanted.spec is None:
        return held.spec is wanted.spec
    needed, has = interval_at(wanted.spec, now), interval_at(held.spec, now)
    if needed is not None:
        enough = has is not None and max(has[0], since) <= needed[0]
        return enough and tells_apart(held.spec, wanted.spec)
    if isinstance(wanted.spec, RowsWindow) and not wanted.partition:
        return False
    same = wanted.spec == held.spec and wanted.partition == held.partition
    return since == BEGINNING and same


def goes_on_from(wanted: WindowContents, held: WindowContents) -> bool:
    """Whether sessions, or the rows of each key, go on as they would if they are given what another
    such window holds: fewer rows of a key, or sessions with a shorter gap, or by more keys.

    What is less than a gap apart for some key is so for all together. The tuples of sessions that
    have ended by then leave as soon as they are given.
    """
    match wanted.spec, held.spec:
        case RowsWindow(count=fewer), RowsWindow(count=count) if wanted.partition:
            return wanted.partition == held.partition and fewer <= count
        case SessionWindow(gap=shorter), SessionWindow(gap=gap):
            return shorter <= gap and set(held.partition) <= set(wanted.partition)
    return False


def last_rows(spec: RowsWindow, count: int) -> range:
    """The numbers, from 0 on, of the rows in a window when so many have come.

    >>> last_rows(RowsWindow(3), 7), last_rows(RowsWindow(3, slide=2), 7)
    (range(4, 7), range(3, 6))
    """
    slide = spec.slide or 1
    upto = count // slide * slide
    return range(max(upto - spec.count, 0), upto)
