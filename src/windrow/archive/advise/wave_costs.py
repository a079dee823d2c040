"""The measures of section 4 for a scheme, a technique and a number of constituents.

Nothing is approximated by a closed formula: the scheme itself is run for a period, the days
after which its shape returns, and what it does is priced. Where W/n is a whole number the
results are those of the formulas in the tests.

What is spent and what is held is counted in days, before any parameter puts a price on it. A
constituent is read while it is updated, so shadows of it are kept until the switch; a temporary
index is read by nobody and is updated where it lies, unless it is to stay packed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from windrow.archive.advise.parameters import Measures, Parameters, Spread, UpdateTechnique
from windrow.archive.wave.operations import Add, Build, Copy, Delete, Operation, Rename, Step
from windrow.archive.wave.scheme_state import Scheme, is_constituent
from windrow.archive.wave.schemes import scheme_of


@dataclass(frozen=True)
class Effort:
    """Days built, added and deleted; days of unpacked and of packed index copied."""

    built: int = 0
    added: int = 0
    deleted: int = 0
    copied: int = 0
    smart_copied: int = 0

    def __add__(self, other: Effort) -> Effort:
        return Effort(
            self.built + other.built,
            self.added + other.added,
            self.deleted + other.deleted,
            self.copied + other.copied,
            self.smart_copied + other.smart_copied,
        )

    def seconds(self, of: Parameters) -> float:
        return (
            self.built * of.build
            + self.added * of.add
            + self.deleted * of.delete
            + self.copied * of.copy
            + self.smart_copied * of.smart_copy
        )


@dataclass(frozen=True, order=True)
class DaysHeld:
    """Days in packed and in other indexes."""

    packed: int = 0
    unpacked: int = 0

    def __add__(self, other: DaysHeld) -> DaysHeld:
        return DaysHeld(self.packed + other.packed, self.unpacked + other.unpacked)

    def __sub__(self, other: DaysHeld) -> DaysHeld:
        return DaysHeld(self.packed - other.packed, self.unpacked - other.unpacked)

    @property
    def days(self) -> int:
        return self.packed + self.unpacked

    def megabytes(self, of: Parameters) -> float:
        return self.packed * of.packed + self.unpacked * of.unpacked


@dataclass(frozen=True)
class DayEffort:
    """One day of one scheme under one technique.

    ``pre`` is all work but the transition: what is done before the data arrives and what
    prepares later days. ``shown`` is what queries read once the day is in, ``resting`` that
    and the temporaries, ``peaks`` the most that is held at any moment of the step.
    """

    pre: Effort
    transition: Effort
    shown: DaysHeld
    resting: DaysHeld
    peaks: tuple[DaysHeld, ...]


def highest(moments: set[DaysHeld]) -> tuple[DaysHeld, ...]:
    """Those of which none covers another: one of them is the peak, whatever S and S' are."""
    kept: list[DaysHeld] = []
    for moment in sorted(moments, reverse=True):
        if not kept or moment.unpacked > kept[-1].unpacked:
            kept.append(moment)
    return tuple(kept)


NOTHING = DaysHeld()


class Meter:
    """Carries steps out on sizes alone and notes what each takes.

    In-place: the index changes where it lies; deleting cannot begin before the new day is
    there, or the window would be a day short. Simple shadow: a constituent is copied first,
    which needs no new data, and the copy takes the changes. Packed shadow: what is added is
    built, then one pass over the index leaves out the deleted and takes in the built; a copy
    that is then added to needs no pass of its own.
    """

    def __init__(self, technique: UpdateTechnique) -> None:
        self.technique = technique
        self._indexes: dict[str, DaysHeld] = {}
        self._total = NOTHING  # of all indexes and all that is pinned
        self._shown = NOTHING  # of the constituents
        self._pinned: dict[str, DaysHeld] = {}
        self._unwritten: dict[str, DaysHeld] = {}
        self._pre = self._transition = Effort()
        self._moments: set[DaysHeld] = set()

    def step(self, step: Step) -> DayEffort:
        self._pre = self._transition = Effort()
        self._moments = set()
        self._note()
        self._pass(step.before, in_transition=False)
        # What is deleted from a constituent waits for what will be added to it.
        unseen = [name for name in self._unwritten if not is_constituent(name)]
        self._write_out(unseen, in_transition=False)
        self._pass(step.transition, in_transition=True)
        self._write_out(self._unwritten, in_transition=True)
        self._unpin()
        self._pass(step.after, in_transition=False)
        self._write_out(self._unwritten, in_transition=False)
        return DayEffort(
            self._pre, self._transition, self._shown, self._total, highest(self._moments)
        )

    def _pass(self, operations: Iterable[Operation], *, in_transition: bool) -> None:
        for operation in operations:
            self._carry_out(operation, in_transition)
            self._note()

    def _carry_out(self, operation: Operation, now: bool) -> None:
        if isinstance(operation, Build):
            self._pin(operation.target)
            self._put(operation.target, DaysHeld(packed=len(operation.days)))
            self._spend(Effort(built=len(operation.days)), now)
        elif isinstance(operation, Add | Delete):
            change = len(operation.days) * (1 if isinstance(operation, Add) else -1)
            if self.technique is UpdateTechnique.PACKED_SHADOW:
                self._rewrite(operation.target, change, now)
            else:
                self._modify(operation.target, change, now)
        elif isinstance(operation, Copy):
            self._copy(operation.source, operation.target, now)
        elif isinstance(operation, Rename):
            self._pin(operation.target)
            self._write_out([operation.source], in_transition=now)
            self._put(operation.target, self._remove(operation.source))
        else:
            self._remove(operation.target)

    def _modify(self, target: str, change: int, now: bool) -> None:
        held = self._indexes[target]
        shadowed = self.technique is UpdateTechnique.SIMPLE_SHADOW
        if shadowed and is_constituent(target) and target not in self._pinned:
            self._pin(target)
            self._spend(_copy_effort(held), False)
        self._put(target, DaysHeld(unpacked=held.days + change))
        in_sight = is_constituent(target) and not shadowed
        effort = Effort(added=change) if change > 0 else Effort(deleted=-change)
        self._spend(effort, now or in_sight)

    def _rewrite(self, target: str, change: int, now: bool) -> None:
        if target not in self._unwritten:
            self._pin(target)
            self._unwritten[target] = self._indexes[target]
        self._put(target, DaysHeld(packed=self._indexes[target].days + change))
        if change > 0:
            self._spend(Effort(built=change), now)
            self._note(DaysHeld(packed=change))  # the new days' own index, until it is merged
            self._write_out([target], in_transition=now)

    def _copy(self, source: str, target: str, now: bool) -> None:
        self._write_out([source], in_transition=now)
        self._pin(target)
        self._put(target, self._indexes[source])
        if self.technique is UpdateTechnique.PACKED_SHADOW:
            self._unwritten[target] = DaysHeld()
        else:
            self._spend(_copy_effort(self._indexes[source]), now)

    def _write_out(self, names: Iterable[str], *, in_transition: bool) -> None:
        """The one pass over a packed index; what it replaces is there until it ends."""
        for name in [name for name in names if name in self._unwritten]:
            replaced = self._unwritten.pop(name)
            if name not in self._pinned:
                self._note(replaced)
            self._spend(Effort(smart_copied=self._indexes[name].days), in_transition)

    def _put(self, name: str, held: DaysHeld) -> None:
        self._remove(name)
        self._total += held
        if is_constituent(name):
            self._shown += held
        self._indexes[name] = held

    def _remove(self, name: str) -> DaysHeld:
        held = self._indexes.pop(name, NOTHING)
        self._total -= held
        if is_constituent(name):
            self._shown -= held
        return held

    def _pin(self, target: str) -> None:
        if target in self._indexes and target not in self._pinned and is_constituent(target):
            self._pinned[target] = self._indexes[target]
            self._total += self._indexes[target]

    def _unpin(self) -> None:
        for held in self._pinned.values():
            self._total -= held
        self._pinned.clear()

    def _spend(self, effort: Effort, in_transition: bool) -> None:
        if in_transition:
            self._transition += effort
        else:
            self._pre += effort

    def _note(self, besides: DaysHeld = NOTHING) -> None:
        self._moments.add(self._total + besides)


def _copy_effort(held: DaysHeld) -> Effort:
    return Effort(copied=held.unpacked, smart_copied=held.packed)


def measures(
    scheme: str, technique: UpdateTechnique, window: int, n: int, of: Parameters
) -> Measures:
    days = efforts(scheme, window, n)[technique]
    probed = n if of.probe_indexes is None else min(n, of.probe_indexes)
    scanned = n if of.scan_indexes is None else min(n, of.scan_indexes)
    entries = Spread.of(day.shown.days * of.bucket for day in days).average
    shown = Spread.of(day.shown.megabytes(of) for day in days).average
    pieces = 1 + of.runs * Spread.of(day.shown.unpacked for day in days).average / n
    probe = probed * pieces * of.seek + probed / n * entries / of.transfer
    scan = scanned * pieces * of.seek + scanned / n * shown / of.transfer
    transition = Spread.of(day.transition.seconds(of) for day in days)
    pre = Spread.of(day.pre.seconds(of) for day in days)
    return Measures(
        space=Spread.of(day.resting.megabytes(of) for day in days),
        transition_space=Spread.of(max(m.megabytes(of) for m in day.peaks) for day in days),
        probe=probe,
        scan=scan,
        transition=transition,
        pre_transition=pre,
        work=transition.average + pre.average + of.probes * probe + of.scans * scan,
    )


@lru_cache(maxsize=4096)
def efforts(scheme: str, window: int, n: int) -> dict[UpdateTechnique, tuple[DayEffort, ...]]:
    """A period's days in the steady state, by technique; costs O(W) steps of the scheme."""
    return walk_period(scheme_of(scheme), window, n)


def walk_period(
    scheme: Scheme, window: int, n: int
) -> dict[UpdateTechnique, tuple[DayEffort, ...]]:
    """As ``efforts``, for a scheme that ``SCHEMES`` need not have."""
    meters = {technique: Meter(technique) for technique in UpdateTechnique}
    state, step = scheme.start(window, n)
    period = max(1, window + 1 - scheme.fewest)  # the lazy schemes' last constituent is one day
    noted: dict[UpdateTechnique, list[DayEffort]] = {technique: [] for technique in UpdateTechnique}
    for meter in meters.values():
        meter.step(step)
    for passed in range(window + period):
        state, step = scheme.advance(state, state.day + 1)
        for technique, meter in meters.items():
            day = meter.step(step)
            if passed >= window:
                noted[technique].append(day)
    return {technique: tuple(days) for technique, days in noted.items()}
