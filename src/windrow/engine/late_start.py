"""A query that comes when its streams have had rows: filled with what running queries hold.

A window of the new query is *filled* with tuples that an operator of another query holds, each with
the instant at which it came, as if the stream had brought them. Where those are all that the window
would have by now, the answer at that moment is that of a query which ran from the beginning, and so
are all later ones: an answer is a function of the contents of its windows (Golab 2006, Definition
3.1). How the answer came about is not told: the first changes of a filled query are its answer at
the instant at which it *begins*; of a stream nothing that happened before then comes out.

If what is held does not reach back far enough, the window gets what there is, and the start says
from which instant on answers are complete: when all that is missing would have left. What depends
on more than the contents of windows is not filled: WSTREAM, RSTREAM and the restore forms,
non-retroactive relations, joins of INTERNAL windows and what is kept of their results, shared
selections.

A window that slides holds tuples by the part of a slide in which they came. Nobody can say which of
them came up to an instant in between: all windows of a stream are taken as of the same instant if
one of them slides. A window of rows begins with the rows that another one holds, and goes on
counting from the number of the first; it gets all that it would have, or none. So do open sessions,
and the last rows of each key, which other such windows hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from windrow.core.time import BEGINNING, FOREVER, Clock
from windrow.engine.live_windows import Choice, LiveWindow, derivation_from
from windrow.plan.nodes import (
    AppendOnly,
    ConstantRows,
    DuplicateElimination,
    Every,
    GroupBy,
    Join,
    MatchFlag,
    MultiJoin,
    Negation,
    NegativeTuples,
    Node,
    Projection,
    RelationScan,
    Selection,
    SlidingGroupBy,
    StreamKind,
    StreamScan,
    TopK,
    ToStream,
    Union,
    Unnest,
    Window,
    walk,
)
from windrow.plan.nodes.window_specs import (
    PARTITIONED,
    NowWindow,
    RangeWindow,
    UnboundedWindow,
    WindowSpec,
)
from windrow.plan.sharing.shared_synopses import SharedSynopses
from windrow.plan.window_contents import WindowContents, contents_of, goes_on_from, tells_apart
from windrow.streams.monitor import tick_text

OF_CONTENTS = (
    AppendOnly, ConstantRows, DuplicateElimination, Every, GroupBy, Join, MatchFlag, MultiJoin,
    Negation, NegativeTuples, Projection, RelationScan, Selection, SlidingGroupBy, StreamScan, TopK,
    ToStream, Union, Unnest, Window,
)  # fmt: skip
"""Nodes whose output depends on nothing but what is in windows now; some of them not always."""

KEEPING = (
    DuplicateElimination,
    GroupBy,
    Join,
    MatchFlag,
    MultiJoin,
    Negation,
    SlidingGroupBy,
    TopK,
)
"""Nodes that keep what they are given; of what is never withdrawn that is all there ever was."""


@dataclass(frozen=True)
class FillPoint:
    """The input of a window: the number of the node, counted from the leaves up; what it is of the
    stream; the window over it; and the periods of EVERY above."""

    number: int
    node: Node
    contents: WindowContents
    spec: WindowSpec
    periods: tuple[int, ...]

    def complete_from(self, after: int) -> int:
        """The first instant at which a window that has all tuples after one is complete."""
        if after == BEGINNING:
            return BEGINNING
        match self.spec:
            case RangeWindow(length=length, slide=slide):
                found = _up(after + length, slide or 1)
            case NowWindow():
                found = after + 1
            case _:
                return FOREVER
        return self.shown_from(found)

    def shown_from(self, instant: int) -> int:
        """The first instant at which what is complete from an instant on is shown."""
        return _shown_from(instant, self.periods)


def relations_shown_from(plan: Node, instants: Mapping[str, int], *, began: bool) -> int:
    """The first instant at which the answer has what relations hold from some instants on, by their
    lower-case names: EVERY shows what they held before, which nobody knows any more.

    FOREVER if the answer goes by when their rows came: an NRR is one that tuples met which came
    before, if streams ``began``, and an ISTREAM of a relation has what was new then.
    """
    held = {name: instant for name, instant in instants.items() if instant > BEGINNING}
    return max(
        (
            _shown_from(FOREVER if _is_of_past(node, above, began) else held[name], _periods(above))
            for _, node, above in _with_ancestors(plan)
            if isinstance(node, RelationScan) and (name := node.name.lower()) in held
        ),
        default=BEGINNING,
    )


def _is_of_past(relation: RelationScan, above: Sequence[Node], began: bool) -> bool:
    """Whether it makes a difference when the rows of a relation came. To an ISTREAM at the top of a
    plan it does not: what that said before is past."""
    if began and not relation.retroactive:
        return True
    return any(
        began or not any(isinstance(each, StreamScan) for each in walk(node))
        for place, node in enumerate(above)
        if not isinstance(node, OF_CONTENTS)
        or (place and _is_of_history(node, above[0], above[:place]))
    )


def _shown_from(instant: int, periods: Sequence[int]) -> int:
    for period in reversed(periods):
        instant = _up(instant, period)
    return instant


def _up(instant: int, period: int) -> int:
    """The first multiple of a period not before an instant; where time ends, its end."""
    return min(-(-instant // period) * period, FOREVER)


def fill_points(plan: Node) -> list[FillPoint] | None:
    """Where the tuples of streams come into windows; None if contents of windows are not enough."""
    if not all(isinstance(node, OF_CONTENTS) for node in walk(plan)):
        return None
    if any(_is_of_history(node, plan, above) for _, node, above in _with_ancestors(plan)):
        return None
    found = [
        _fill_point(number, node, above)
        for number, node, above in _with_ancestors(plan)
        if isinstance(above[-1] if above else None, Window | SlidingGroupBy)
        or (
            isinstance(node, StreamScan)
            and not any(isinstance(a, Window | SlidingGroupBy) for a in above)
        )
    ]
    return None if None in found else [point for point in found if point is not None]


def _is_of_history(node: Node, plan: Node, above: Sequence[Node]) -> bool:
    match node:
        case AppendOnly():
            return any(isinstance(each, KEEPING) for each in above)
        case ToStream(kind=kind):
            return node is not plan or kind not in (StreamKind.ISTREAM, StreamKind.DSTREAM)
        case RelationScan(retroactive=retroactive):
            return not retroactive
    return False


def _with_ancestors(plan: Node) -> Iterator[tuple[int, Node, tuple[Node, ...]]]:
    """The nodes of a plan from the leaves up, numbered, with those above each."""
    numbers = count()

    def visit(node: Node, above: tuple[Node, ...]) -> Iterator[tuple[int, Node, tuple[Node, ...]]]:
        for child in node.inputs:
            yield from visit(child, (*above, node))
        yield next(numbers), node, above

    return visit(plan, ())


def _fill_point(number: int, node: Node, above: tuple[Node, ...]) -> FillPoint | None:
    parent = above[-1] if above else None
    spec = parent.spec if isinstance(parent, Window | SlidingGroupBy) else UnboundedWindow()
    below = contents_of(node)
    contents = None if below is None else below.in_window(spec)
    if contents is None:
        return None
    return FillPoint(number, node, contents, spec, _periods(above))


def _periods(above: Sequence[Node]) -> tuple[int, ...]:
    return tuple(node.period for node in above if isinstance(node, Every))


@dataclass(frozen=True)
class LateStart:
    """What a query that comes late is filled with, by the numbers of its nodes.

    Answers are complete from ``complete_from`` on (FOREVER if nobody knows when), and changes begin
    with the answer at ``begins``, if anything is filled. ``since`` says of each stream after which
    instant all of its tuples are there.
    """

    fills: Mapping[int, Choice]
    complete_from: int
    begins: int
    since: Mapping[str, int]

    @property
    def since_when(self) -> int | None:
        """From which instant on answers are complete; None: from the first one on."""
        found = max(self.complete_from, self.begins)
        return None if found == BEGINNING else found

    def held_upto(self, stream: str) -> int:
        """Up to where all windows of a stream are filled that are."""
        return min(c.window.now for c in self.fills.values() if c.wanted.stream == stream)

    @property
    def first_rows(self) -> dict[int, int]:
        """The numbers of the rows with which windows of rows begin, by those of the nodes."""
        return {
            number: choice.window.numbers.start
            for number, choice in self.fills.items()
            if choice.window.numbers is not None
        }

    def words(self, clock: Clock) -> str:
        """For EXPLAIN."""
        sources = [
            f"{c.window.clause(clock)} from {c.window.owner}"
            for c in self.fills.values()
            if c.wanted.spec is not None
        ]
        filled = f"filled with {', '.join(sources)}" if sources else "begins empty"
        if self.complete_from == FOREVER:
            return f"late: {filled}; its answers do not have what came before"
        since = self.since_when
        when = "at once" if since is None else f"from instant {tick_text(since, clock)}"
        return f"late: {filled}; complete {when}"


def words_of_running(complete_from: int | None, clock: Clock) -> str | None:
    """For EXPLAIN of a query that runs; None if it has missed nothing."""
    if complete_from is None:
        return None
    if complete_from == FOREVER:
        return "late: its answers do not have what came before"
    return f"late: complete from instant {tick_text(complete_from, clock)}"


def words_of_member(group: SharedSynopses, name: str, clock: Clock) -> str | None:
    """For EXPLAIN of a query that would join others which share synopses; None if it has missed
    nothing."""
    member = group.sharing.member(name)
    if member.arrival is None:
        return None
    sharing = {member.query.name for member in group.sharing.members}
    others = ", ".join(sorted(sharing - {name})[:1])
    since = member.complete_from
    if since == FOREVER:
        return f"late: it shares synopses with {others}; its answers do not have what came before"
    when = "at once" if since is None else f"from instant {tick_text(since, clock)}"
    return f"late: it shares synopses with {others}; complete {when}"


def late_start(
    points: Sequence[FillPoint] | None,
    windows: Sequence[LiveWindow],
    missed: Mapping[str, int],
    timestamps: Mapping[str, int],
    now: int,
) -> LateStart | None:
    """How a plan starts at ``now`` whose streams have ``missed`` rows up to some instants.

    None if it has missed nothing. ``points`` are those of the plan (``fill_points``), or of what it
    is cut into; those of one number are filled with the same tuples. ``timestamps`` are the columns
    of streams that say when a tuple came.
    """
    if not missed:
        return None
    if points is None:
        return LateStart({}, FOREVER, now, missed)
    choices = _choices([p for p in points if p.contents.stream in missed], windows, timestamps)
    fills: dict[int, Choice] = {}
    complete, since = BEGINNING, dict.fromkeys(missed, BEGINNING)
    for point, choice in choices:
        stream = point.contents.stream
        after = missed[stream]
        if choice is not None:
            reach = choice.window.complete_after
            if reach is None:  # of rows, all of them
                complete = max(complete, point.shown_from(choice.window.now))
            unbounded = isinstance(point.spec, UnboundedWindow)
            if reach is None or (reach < after and (reach == BEGINNING or not unbounded)):
                fills[point.number], after = choice, BEGINNING if reach is None else reach
        complete = max(complete, point.complete_from(after))
        since[stream] = max(since[stream], after)
    latest = max((choice.window.whole_at for choice in fills.values()), default=now)
    return LateStart(fills, complete, max(now, min(complete, latest)), since)


def _choices(
    points: Sequence[FillPoint], windows: Sequence[LiveWindow], timestamps: Mapping[str, int]
) -> list[tuple[FillPoint, Choice | None]]:
    """The live window for each point. Of one that slides and has gone on further than another of
    its stream nothing can be taken as of the other's instant: without it, then. Nor can it be said
    of one of rows which number the first row after that instant has, if it holds none before."""
    found = [
        (p, _choice([q for q in points if q.number == p.number], windows, timestamps))
        for p in points
    ]
    reached: dict[str, int] = {}
    for point, choice in found:
        if choice is not None:
            stream, now = point.contents.stream, choice.window.now
            reached[stream] = min(reached.get(stream, now), now)
    ahead = [
        choice.window
        for point, choice in found
        if choice is not None and not _is_known_at(reached[point.contents.stream], choice.window)
    ]
    left = [window for window in windows if not any(window is other for other in ahead)]
    return _choices(points, left, timestamps) if ahead else found


def _is_known_at(instant: int, window: LiveWindow) -> bool:
    """Whether it is known what a window had at an instant, of the rows that it has now."""
    if window.now == instant:
        return True
    counts = window.numbers is not None and bool((window.take()().ts[:1] > instant).any())
    return window.has_own_times and not counts


def _choice(
    points: Sequence[FillPoint], windows: Sequence[LiveWindow], timestamps: Mapping[str, int]
) -> Choice | None:
    """Of the live windows that serve all points of a node the one that reaches back furthest."""
    wanted, found = points[0].contents, []
    unnamed = tuple(str(i) for i in range(len(wanted.columns)))
    for window in windows:
        if all(_serves(window, point.contents) for point in points):
            derivation = derivation_from(window, wanted, timestamps.get(wanted.stream))
            if derivation is not None:
                held = replace(wanted, spec=window.contents.spec)
                found.append(Choice(window, held, unnamed, derivation))
    return min(found, key=_reach, default=None)


def _serves(window: LiveWindow, wanted: WindowContents) -> bool:
    """Whether a live window can fill a window: one of rows or sessions if it has all of it, one of
    time if it tells its tuples apart, however far back it reaches."""
    if isinstance(wanted.spec, PARTITIONED):
        whole = window.since == BEGINNING and goes_on_from(wanted, window.contents)
        return whole or window.has_all_of(wanted)
    return window.complete_after is not None and tells_apart(window.contents.spec, wanted.spec)


def _reach(choice: Choice) -> int:
    after = choice.window.complete_after
    return BEGINNING if after is None else after
