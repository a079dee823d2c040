"""Wave index schemes: which operations a new day asks for (Shivakumar, Garcia-Molina 1997, 3).

Six pure state machines, in the order of the paper, and ``scheme_of``, which knows them by the names
that a script and a manifest use. Something else carries the operations out.
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.archive.errors import SchemeError
from windrow.archive.wave.operations import (
    Add,
    Build,
    Copy,
    Days,
    Delete,
    Drop,
    Operation,
    Rename,
    Step,
)
from windrow.archive.wave.scheme_state import (
    Chunk,
    Scheme,
    State,
    clusters,
    due_today,
    flatten,
    make_step,
    require_next,
    start_scheme,
)

TEMP = "Temp"


class Del:
    """The day that expires is deleted from its constituent, the new one added there (3.1, Table 1).

    A hard window. Needs an index that can delete entries one by one, unless packed shadows
    are used. Each day: one day deleted, one added, in one constituent of W/n days.
    """

    name = "DEL"
    hard = True
    fewest = 1

    def start(self, window: int, n: int, first_day: int = 1) -> tuple[State, Step]:
        return start_scheme(self, window, n, first_day)

    def advance(self, state: State, day: int) -> tuple[State, Step]:
        expired = require_next(self, state, day) - state.window
        target = state.holder(expired)
        return make_step(state, day, (Add(target, (day,)),), before=(Delete(target, (expired,)),))


class Reindex:
    """The constituent that loses a day is built anew, with the new day in its place (3.2, Table 2).

    A hard window, always packed, and nothing is ever deleted from an index. Each day W/n
    days are indexed, so it suits small windows and many constituents.
    """

    name = "REINDEX"
    hard = True
    fewest = 1

    def start(self, window: int, n: int, first_day: int = 1) -> tuple[State, Step]:
        return start_scheme(self, window, n, first_day)

    def advance(self, state: State, day: int) -> tuple[State, Step]:
        expired = require_next(self, state, day) - state.window
        target = state.holder(expired)
        kept = tuple(d for d in state.indexes[target] if d != expired)
        return make_step(state, day, (Build(target, (*kept, day)),))


class ReindexPlus:
    """What was indexed since the cluster began to expire is not indexed again (3.3, Table 4).

    ``Temp`` collects the new days of the cluster that is expiring; each day the constituent
    becomes a copy of it, to which the days that have not expired yet are added. While a
    cluster of c days expires, (c + 1)/2 days a day are indexed, half of what REINDEX does,
    all of them between the arrival of the new data and its being queryable.
    """

    name = "REINDEX+"
    hard = True
    fewest = 1

    def start(self, window: int, n: int, first_day: int = 1) -> tuple[State, Step]:
        return start_scheme(self, window, n, first_day, after=lambda _: (Build(TEMP, ()),))

    def advance(self, state: State, day: int) -> tuple[State, Step]:
        expired = require_next(self, state, day) - state.window
        target = state.holder(expired)
        old = set(state.indexes[target]) - set(state.indexes[TEMP]) - {expired}
        new = Add(TEMP, (day,))
        if not old:
            return make_step(state, day, (new, Rename(TEMP, target)), after=(Build(TEMP, ()),))
        return make_step(state, day, (new, Copy(TEMP, target), Add(target, tuple(sorted(old)))))


@dataclass(frozen=True)
class ReindexPlusPlus:
    """The constituents of the coming days stand ready, each short of one day (3.4, Table 5).

    When a cluster of c days begins to expire there is a ladder of temporary indexes: ``Tk``
    holds its last k days, for k from 0 to c - 1. Each day the highest rung takes the new day
    and becomes the constituent; then the rungs below it take the new day as well. So the new
    data waits for one day's indexing only.

    The ladder of the next cluster is indexed a day at a time while this one is in use, under
    the names ``Next1``, ``Next2``...; with ``spread`` off, all of it once this one is used up,
    as the paper's table has it. With n = 1 there is no spreading: the next cluster is complete
    only when it begins to expire.
    """

    spread: bool = True
    name = "REINDEX++"
    hard = True
    fewest = 1

    def start(self, window: int, n: int, first_day: int = 1) -> tuple[State, Step]:
        def ladder(parts: list[Days]) -> tuple[Operation, ...]:
            return Build("T0", ()), *flatten(_ladder("T", parts[0]))

        return start_scheme(self, window, n, first_day, after=ladder)

    def advance(self, state: State, day: int) -> tuple[State, Step]:
        expired = require_next(self, state, day) - state.window
        target = state.holder(expired)
        old = sum(1 for name, _ in state.temporaries if name.startswith("T")) - 1
        transition = (Add(f"T{old}", (day,)), Rename(f"T{old}", target))
        after: tuple[Operation, ...] = tuple(Add(f"T{k}", (day,)) for k in reversed(range(old)))
        before: tuple[Operation, ...] = ()
        next_day = expired + old + 1  # the first of the cluster that expires after this one
        if self.spread and len(state.constituents) > 1:
            chunks = _ladder("Next", state.indexes[state.holder(next_day)])
            done = sum(1 for name, _ in state.temporaries if name.startswith("Next"))
            before = due_today(chunks, done, next_day + state.window - day)
            if old == 0:
                renames = (Rename(f"Next{k + 1}", f"T{k + 1}") for k in range(len(chunks)))
                after = (Build("T0", ()), *renames)
        elif old == 0:
            then, _ = make_step(state, day, transition)
            ladder = flatten(_ladder("T", then.indexes[then.holder(next_day)]))
            after = (Build("T0", ()), *ladder)
        return make_step(state, day, transition, before=before, after=after)


def _ladder(prefix: str, days: Days) -> list[Chunk]:
    """The rungs of a cluster from the lowest but T0 up; each indexes one day."""
    rungs: list[Chunk] = []
    for k, added in enumerate(reversed(days[1:]), start=1):
        rung = f"{prefix}{k}"
        if k == 1:
            rungs.append((Build(rung, (added,)),))
        else:
            rungs.append((Copy(f"{prefix}{k - 1}", rung), Add(rung, (added,))))
    return rungs


class Wata:
    """Wait and throw away: nothing is deleted but whole constituents (3.5, Table 3).

    A soft window: expired days stay visible until the whole constituent goes. The start
    leaves the last constituent a single day and spreads the W - 1 others evenly; that is the
    optimal lazy deletion: at most W + ceil((W - 1)/(n - 1)) - 1 days are held, where other
    splits (Table 6) hold more. Each day one day is indexed and nothing else happens.
    """

    name = "WATA"
    hard = False
    fewest = 2

    def start(self, window: int, n: int, first_day: int = 1) -> tuple[State, Step]:
        return start_scheme(self, window, n, first_day, wait_clusters)

    def advance(self, state: State, day: int) -> tuple[State, Step]:
        expired = require_next(self, state, day) - state.window
        oldest = state.holder(expired)
        if state.indexes[oldest][-1] == expired:
            return make_step(state, day, (Drop(oldest), Build(oldest, ()), Add(oldest, (day,))))
        return make_step(state, day, (Add(state.holder(state.day), (day,)),))


def wait_clusters(days: range, n: int) -> list[Days]:
    """The first window as WATA and RATA cut it: all but the last day in n - 1 parts, then that."""
    return [*clusters(days[:-1], n - 1), (days[-1],)]


@dataclass(frozen=True)
class Rata:
    """Reindex and throw away: the oldest constituent is replaced each day (3.6, Table 7).

    A hard window at WATA's transition time. ``Td`` is the temporary index that takes the
    oldest constituent's place on day d: the days of it that have not expired by then.

    The temporaries of the next cluster are indexed a day at a time while the one before it
    expires, so at most two days are indexed on any day; with ``spread`` off, all of them on
    the day before the first is needed, as the paper's table has it. With n = 2 they always
    are: the next cluster is complete only then.
    """

    spread: bool = True
    name = "RATA"
    hard = True
    fewest = 2

    def start(self, window: int, n: int, first_day: int = 1) -> tuple[State, Step]:
        def replacements(parts: list[Days]) -> tuple[Operation, ...]:
            return flatten(_replacements(parts[0], window))

        return start_scheme(self, window, n, first_day, wait_clusters, replacements)

    def advance(self, state: State, day: int) -> tuple[State, Step]:
        expired = require_next(self, state, day) - state.window
        oldest, newest = state.holder(expired), state.holder(state.day)
        used_up = state.indexes[oldest] == (expired,)
        transition: tuple[Operation, ...] = (Build(oldest, (day,)),)
        if not used_up:
            transition = (Add(newest, (day,)), Rename(f"T{day}", oldest))
        following_cluster = state.holder(state.indexes[oldest][-1] + 1)
        if following_cluster == newest and not used_up:  # it still grows
            return make_step(state, day, transition)
        days = state.indexes[following_cluster]
        chunks = _replacements(days, state.window)
        if not self.spread:
            after = flatten(chunks) if used_up else ()
            return make_step(state, day, transition, after=after)
        first = days[0] + state.window
        done = len(state.indexes.get(f"T{first}", ()))
        return make_step(state, day, transition, before=due_today(chunks, done, first - day))


def _replacements(days: Days, window: int) -> list[Chunk]:
    """The cluster without its first day, without its first two, and so on.

    The largest of them, needed first, grows from the cluster's last day backwards; before
    each growth it is copied to the one that is needed a day earlier than the copy before.
    """
    largest = f"T{days[0] + window}"
    chunks: list[Chunk] = []
    for i, added in enumerate(reversed(days[1:])):
        if i == 0:
            chunks.append((Build(largest, (added,)),))
        else:
            copy = f"T{days[-i] + window - 1}"
            chunks.append((Copy(largest, copy), Add(largest, (added,))))
    return chunks


SCHEMES: dict[str, Scheme] = {
    scheme.name: scheme
    for scheme in (Del(), Reindex(), ReindexPlus(), ReindexPlusPlus(), Wata(), Rata())
}
"""In the order of the paper."""


def scheme_of(name: str) -> Scheme:
    """The scheme of that name, in any case.

    >>> state, step = scheme_of("wata").start(window=3, n=2)
    >>> state.constituents
    (('I1', (1, 2)), ('I2', (3,)))
    """
    if name.upper() not in SCHEMES:
        raise SchemeError(where=f"scheme {name}", expected=", ".join(SCHEMES), found=name)
    return SCHEMES[name.upper()]
