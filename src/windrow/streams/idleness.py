"""How long a stream may be silent before it holds nobody back: IDLE AFTER.

A query over several streams waits for the slowest. A stream that has brought no row for IDLE AFTER,
by the clock on the wall, is *idle*: the others go on without it. If all are silent, time stays. The
first row that it brings wakes it up, and is judged as always: what lies at or before an instant
that a query has closed meanwhile is late there. An update of a relation cannot be left out, since
later ones would delete what never came; it takes effect at the first instant that is still open.
"""

from __future__ import annotations

from windrow.core.time import FOREVER, MICROSECONDS
from windrow.plan.catalog import StreamDeclaration

DEFAULT = 10 * MICROSECONDS["MINUTE"]
"""For directories that are watched: twice as long as the usual writers of files take for one."""


def idle_after(declaration: StreamDeclaration, *, watched: bool) -> int:
    """Microseconds of silence after which the stream is idle; FOREVER if it never is."""
    if declaration.idle is not None:
        return declaration.idle
    return DEFAULT if watched else FOREVER
