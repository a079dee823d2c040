"""ISTREAM-RESTORE and RSTREAM-RESTORE: periodic reports of a query that runs continually.

SLIDE says when to report here, not when the windows move: between two reports the query is
evaluated as if there were no SLIDE, so that results which come and go in between are not lost
(Golab 2006, 3.3.4).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from windrow.core.errors import BindError, Span
from windrow.core.time import Clock
from windrow.plan.describe import duration
from windrow.plan.nodes import AppendOnly, Every, Node, OutputWindow, StreamKind, ToStream, Window
from windrow.plan.nodes.rebuild import map_inputs
from windrow.plan.nodes.window_specs import RangeWindow

BOUNDARIES = (ToStream, AppendOnly, OutputWindow, Every)
"""Below these is another query, which keeps the rhythm that it was given."""


def bind_restore(plan: Node, kind: StreamKind, every: int | None, clock: Clock, span: Span) -> Node:
    """``plan`` reported with restore semantics; ``every`` is the period of EVERY, if it stands."""
    body = plan.input if isinstance(plan, AppendOnly) else plan
    slides = set(_slides(body)) | ({every} if every is not None else set())
    if not slides:
        raise BindError(
            f"{kind.value} restores what periodic evaluation would miss (Golab 2006, 3.3.4), and "
            "nothing here is periodic",
            span=span, expected="a rhythm", found="none",
            remedy="write SLIDE in the windows, or EVERY and a period after the query",
        )  # fmt: skip
    if len(slides) > 1:
        found = " and ".join(duration(s, clock) for s in sorted(slides))
        raise BindError(
            f"{kind.value} reports at one rhythm (Golab 2006, 3.4)", span=span,
            expected="the same SLIDE in all windows of the query", found=found,
            remedy="make them equal",
        )  # fmt: skip
    continual = _without_slides(body)
    if isinstance(plan, AppendOnly):
        continual = replace(plan, input=continual)
    return ToStream(continual, kind, slides.pop(), span=span)


def _slides(plan: Node) -> Iterator[int]:
    match plan:
        case Window(spec=RangeWindow(slide=int(slide))):
            yield slide
        case Window():
            return
    if not isinstance(plan, (Window, *BOUNDARIES)):
        for child in plan.inputs:
            yield from _slides(child)


def _without_slides(plan: Node) -> Node:
    match plan:
        case Window(spec=RangeWindow() as spec):
            return replace(plan, spec=replace(spec, slide=None))
        case Window():
            return plan
    return plan if isinstance(plan, BOUNDARIES) else map_inputs(plan, _without_slides)
